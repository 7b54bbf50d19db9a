"""What a run meets from outside: datagrams of any size and sender, a clock that is set back."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tests.engine.driving import OurServer, client_spec, run, short
from tuiperf.engine.stops import Stops
from tuiperf.events import Event, StreamOpened, TestStarted

SIZES = (0, 4, 11, 65507)


@pytest.fixture(scope="module")
def server() -> Iterator[OurServer]:
    with OurServer() as running:
        yield running


def send_all(source: socket.socket, port: int) -> None:
    for size in SIZES:
        source.sendto(bytes(size), ("127.0.0.1", port))


def test_datagrams_of_strangers_change_nothing(server: OurServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:

        def watch(event: Event, stops: Stops) -> None:
            if isinstance(event, StreamOpened | TestStarted):
                send_all(stranger, server.port)

        test = short(protocol="udp", total_bytes=200_000, block_bytes=1000, rate_bps=20_000_000)
        done = run(client_spec(server.port, test), watch)
    assert done.outcome == "completed"
    (row,) = done.remote.streams
    assert (row.packets, row.lost_packets, row.bytes) == (200, 0, 200_000)


def test_odd_datagrams_of_the_peer_do_not_end_the_test(server: OurServer) -> None:
    """They come from the peer's own address and port, beside its stream."""
    opened: list[StreamOpened] = []

    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, StreamOpened):
            opened.append(event)
        if isinstance(event, TestStarted):
            with socket.socket(fileno=socket.dup(opened[0].fd)) as stream:
                for size in SIZES:
                    stream.send(bytes(size))

    test = short(protocol="udp", total_bytes=100_000, block_bytes=1000, rate_bps=10_000_000)
    done = run(client_spec(server.port, test), watch)
    assert done.outcome == "completed"
    there = server.run_of(done)
    assert there.outcome == "completed"
    (row,) = there.local.streams
    assert row.packets == 100 and row.bytes >= 100_000
    assert run(client_spec(server.port, test)).remote.streams[0].lost_packets == 0


def test_a_clock_that_is_set_back_changes_no_rate(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_s = time.time
    back_s = [0.0]
    monkeypatch.setattr(time, "time", lambda: true_s() - back_s[0])

    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, TestStarted):
            back_s[0] = 3600.0

    test = short(time_s=1, rate_bps=20_000_000, block_bytes=10_000)
    done = run(client_spec(server.port, test, interval_s=0.5), watch)
    assert done.outcome == "completed"
    ends_s = [interval.end_s for interval in done.measured]
    assert ends_s == sorted(ends_s) and all(0 < end_s < 30 for end_s in ends_s)
    assert [event.t_s for event in done.events] == sorted(event.t_s for event in done.events)
    (row,) = done.local.streams
    assert row.end_s is not None and 0.9 < row.end_s < 30
