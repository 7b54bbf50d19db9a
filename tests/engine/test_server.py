"""The server with good clients: right values, options of one test gone in the next, many tests."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.driving import (
    EngineProcess,
    OurServer,
    Run,
    carried,
    client_spec,
    run,
    short,
)
from tests.engine.fake_peer import ClientSide as Raw
from tuiperf.engine.errors import EngineError
from tuiperf.engine.listener import Listener
from tuiperf.engine.server import run_server
from tuiperf.engine.spec import ServerSpec, TestSpec
from tuiperf.engine.stops import Stops
from tuiperf.events import (
    Agreed,
    Connected,
    Failed,
    HostFacts,
    HostSample,
    Interval,
    Listening,
    Note,
    OptionRead,
    Results,
    RunEnded,
    RunStarted,
    StreamOpened,
    StreamSample,
    TestStarted,
)

SOME_BYTES = 5_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[OurServer]:
    with OurServer(interval_s=0.4) as running:
        yield running


def both(server: OurServer, test: TestSpec, **settings: Any) -> tuple[Run, Run]:
    """One test, as the client and as the server saw it."""
    here = run(client_spec(server.port, test, **settings))
    return here, server.next_run()


def test_events_come_in_their_order(server: OurServer) -> None:
    here, there = both(server, short())
    kinds = [
        type(event)
        for event in there.events
        if not isinstance(event, (Note, OptionRead, HostFacts))
    ]
    kinds = [kind for kind in kinds if kind is not Listening]
    assert kinds[:5] == [RunStarted, Connected, Agreed, StreamOpened, TestStarted]
    assert kinds[-3:] == [Results, Results, RunEnded]
    assert set(kinds[5:-3]) <= {StreamSample, HostSample, Interval}
    assert there.outcome == "completed"
    assert there.one(RunStarted).role == "server"
    assert there.one(Connected).cookie == here.one(Connected).cookie
    assert there.one(Connected).remote_port == here.one(Connected).local_port
    assert there.one(Agreed).parameters["congestion"] == "cubic"
    assert there.one(StreamOpened).remote_port == here.one(StreamOpened).local_port
    listening = server.next(Listening)
    assert listening.port == server.port


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reverse": True},
        {"parallel": 2, "bidir": True},
        {"omit_s": 1},
        {"total_bytes": SOME_BYTES, "parallel": 3},
        {"total_bytes": SOME_BYTES, "reverse": True},
    ],
    ids=str,
)
def test_both_ends_agree_and_intervals_add_up(server: OurServer, settings: dict[str, Any]) -> None:
    here, there = both(server, short(**settings))
    assert carried(here.local) == carried(there.remote)
    assert carried(here.remote) == carried(there.local)
    sums = dict.fromkeys(carried(there.local), 0)
    for interval in there.measured:
        for row in interval.streams:
            sums[row.stream] += row.bytes
    assert sums == carried(there.local)
    ways = {opened.stream: opened.sends for opened in here.all(StreamOpened)}
    assert {opened.stream: not opened.sends for opened in there.all(StreamOpened)} == ways


# ---------------------------------------------------------------- options


def test_options_take_effect_at_both_ends_and_are_gone_in_the_next_test(server: OurServer) -> None:
    odd = short(
        total_bytes=SOME_BYTES,
        bidir=True,
        congestion="reno",
        mss_bytes=900,
        window_bytes=100_000,
        nodelay=True,
        tos=16,
    )
    plain = TestSpec(total_bytes=SOME_BYTES, bidir=True)
    before = both(server, plain)
    odd_here, odd_there = both(server, odd)
    after = both(server, plain)
    for done in (odd_here, odd_there):
        assert done.option("congestion").effective == "reno"
        assert done.local.congestion == "reno"
        assert 800 < int(done.option("mss").effective or 0) <= 900
        assert done.option("nodelay").effective == 1
        assert done.option("tos").effective == 16
        for name in ("send_buffer", "receive_buffer"):
            assert done.option(name).granted == 200_000
    for plain_before, plain_after in zip(before, after, strict=True):
        for name in ("congestion", "mss", "nodelay"):
            first, second = plain_before.option(name), plain_after.option(name)
            assert first.asked is second.asked is None
            assert first.effective == second.effective
        assert plain_after.option("nodelay").effective == 0
        assert int(plain_after.option("mss").effective or 0) > 10_000
        assert plain_after.option("send_buffer").granted != 200_000


def test_congestion_control_that_the_server_lacks_is_noted_and_not_used() -> None:
    with OurServer() as server, Raw(server.port, congestion="no-such") as guest:
        guest.play()
        done = server.next_run()
    assert done.outcome == "completed"
    assert "no-such is not supported" in done.notes["congestion"]
    assert done.local.congestion != "no-such"


def test_a_window_that_cannot_be_had_is_refused() -> None:
    with OurServer() as server, Raw(server.port, window=500_000_000) as guest:
        guest.send_cookie()
        guest.send_parameters()
        guest.open_stream()
        failure = server.next(Failed)
        assert guest.heard() == b"\xfe" + (141).to_bytes(4, "big") + bytes(4)
    assert failure.code == 141
    assert "net.core.wmem_max" in failure.text


# ---------------------------------------------------------------- life of a server


def test_tests_are_counted_and_the_listener_stays() -> None:
    with OurServer() as server:
        for number in (2, 3, 4):
            run(client_spec(server.port, short(total_bytes=1000)))
            server.next_run()
            listening = server.next(Listening)
            assert (listening.test_number, listening.port) == (number, server.port)


def test_one_off_serves_one_test() -> None:
    with OurServer(one_off=True) as server:
        done = run(client_spec(server.port, short(total_bytes=1000)))
        assert done.outcome == "completed"
        assert server.wait() == 0
        assert server.rest().events[-1] == server.rest().one(RunEnded)


def test_one_off_and_idle_for_too_long() -> None:
    with OurServer(one_off=True, idle_timeout_s=1) as server:
        assert server.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_idle_server(number: int) -> None:
    with OurServer() as server:
        server.signal(number)
        assert server.wait() == 0


def test_a_signal_ends_the_test_and_the_client_is_told() -> None:
    with (
        OurServer() as server,
        EngineProcess.client(client_spec(server.port, short(time_s=60))) as far,
    ):
        server.next(StreamSample)
        server.signal(signal.SIGINT)
        assert server.wait() == 0
        there, here = server.rest(), far.rest()
    assert there.outcome == "interrupted"
    assert there.one(RunEnded).signal == "Interrupt(2)"
    assert carried(there.local)[1] > 0
    kinds = [type(event) for event in there.events]
    assert kinds.index(Results) < kinds.index(RunEnded)
    failure = here.failure
    assert (failure.code, failure.remote) == (120, True)
    assert carried(here.local)[1] > 0


def test_a_duration_beyond_the_servers_limit_is_refused() -> None:
    with OurServer(max_duration_s=2) as server:
        for test in (short(time_s=3), short(time_s=2, omit_s=1), short(total_bytes=1000)):
            failure = run(client_spec(server.port, test)).failure
            assert (failure.code, failure.remote) == (37, True)
            assert server.next_run().failure.code == 37
        assert run(client_spec(server.port, short(time_s=1))).outcome == "completed"


def test_a_client_that_sends_nothing_for_too_long() -> None:
    with OurServer(rcv_timeout_ms=300) as server, Raw(server.port, time=60) as guest:
        guest.play(until=Raw.send_data)
        failure = server.next_run().failure
        assert failure.code == 144
        assert guest.heard() == b"\xfe" + (144).to_bytes(4, "big") + bytes(4)


# ---------------------------------------------------------------- the listener


def test_one_listener_takes_both_families() -> None:
    with OurServer(bind_host="") as server:
        assert server.events[0] == Listening(
            server.events[0].t_s, ("0.0.0.0", "::"), server.port, 1
        )
        for host in ("127.0.0.1", "::1"):
            done = run(client_spec(server.port, short(total_bytes=1000), host=host))
            assert done.one(Connected).remote_host == host
            assert server.next_run().one(Connected).remote_host == host


@pytest.mark.parametrize(("family", "takes"), [(4, "127.0.0.1"), (6, "::1")])
def test_a_listener_of_one_family(family: int, takes: str) -> None:
    some = short(total_bytes=1000)
    with OurServer(bind_host="", family=family) as server:
        for host in ("127.0.0.1", "::1"):
            done = run(client_spec(server.port, some, host=host))
            assert done.outcome == ("completed" if host == takes else "failed")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bind_host": "192.0.2.1"}, "no interface of this host has that address"),
        ({"bind_host": "no-such-host.invalid"}, "resolve"),
        ({"bind_device": "nodev0"}, "no such device"),
    ],
)
def test_a_listener_that_cannot_be_opened(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineError, match=words):
        run_server(ServerSpec(port=0, **settings), lambda event: None, Stops(catch_signals=False))


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        spec = ServerSpec(port=taken.getsockname()[1], bind_host="127.0.0.1")
        with pytest.raises(EngineError, match="the port is in use") as raised:
            Listener(spec)
        assert raised.value.code == 102
        with EngineProcess.server(spec) as engine:
            assert engine.wait() == 1
            assert engine.rest().failure.code == 102
