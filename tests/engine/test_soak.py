"""Two hundred tests in a row on one server, with a fault injected between each two."""

from __future__ import annotations

import itertools
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine import fake_peer
from tests.engine.driving import OurServer, carried, client_spec, eventually, run, short
from tests.engine.fake_peer import ClientSide

TESTS = 200
MOST_BYTES = 100_000_000
SOME_BYTES = 200_000
BUSY_CODE, MOST_TRIES = 121, 1000
DATAGRAM_SIZES = (0, 4, 11, 65507)

Fault = Callable[[OurServer], None]


def silent(server: OurServer) -> None:
    ClientSide(server.port).close()


def garbage(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.say(os.urandom(4000))


def a_reset(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.end)
        guest.close(fake_peer.reset)


def parameters(text: bytes, length: int | None = None) -> Fault:
    def fault(server: OurServer) -> None:
        with ClientSide(server.port) as guest:
            guest.send_cookie()
            size = len(text) if length is None else length
            guest.say(size.to_bytes(4, "big") + text)
            guest.control.shutdown(socket.SHUT_WR)
            guest.heard()

    return fault


def document(**changes: Any) -> Fault:
    return parameters(json.dumps({"tcp": True, **changes}).encode())


def wrong_cookie(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.open_streams)
        guest.open_stream(b"2b%034d\0" % 7)


def cookie_again(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.end)
        guest.open_stream()


def vanishes(before: Callable[[ClientSide], None]) -> Fault:
    def fault(server: OurServer) -> None:
        with ClientSide(server.port) as guest:
            guest.play(until=before)

    return fault


def hundred(server: OurServer) -> None:
    guests = [ClientSide(server.port, b"2b%034d\0" % number) for number in range(100)]
    for guest in guests:
        guest.say(guest.cookie)
    for guest in guests:
        guest.close()


def datagrams(server: OurServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for size in DATAGRAM_SIZES:
            stranger.sendto(bytes(size), ("127.0.0.1", server.port))


def a_results_flood(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.exchange)
        guest.say((1 << 30).to_bytes(4, "big") + b"[" * 10_000)
        guest.heard()


FAULTS: list[Fault] = [
    silent,
    garbage,
    a_reset,
    parameters(b"{" + b" " * 8192),
    parameters(b"{}", 1 << 30),
    parameters(b'{"tcp":' + b"[" * 8000),
    parameters(b'{"tcp":true,"title":"\xff\xfe\xc0"}', 9999),
    document(parallel=0),
    document(parallel=10**9),
    document(time=-1),
    document(num=1e300),
    document(len="x", reverse=1),
    document(title="\x1b]0;x\x07", parallel=-5),
    wrong_cookie,
    cookie_again,
    *(vanishes(step) for step in ClientSide.steps[1:]),
    hundred,
    datagrams,
    a_results_flood,
]
WAYS: list[dict[str, Any]] = [{}, {"reverse": True}, {"bidir": True}, {"protocol": "udp"}]


def serves(server: OurServer, way: dict[str, Any]) -> None:
    """A good client gets its test as soon as the server has noticed the end of the one before."""
    if way.get("protocol") == "udp":
        way = {**way, "rate_bps": 0, "block_bytes": 1000}
    spec = client_spec(server.port, short(total_bytes=SOME_BYTES, **way))
    tries = (run(spec) for _ in range(MOST_TRIES))
    done = next(done for done in tries if done.failed_as != BUSY_CODE)
    assert done.outcome == "completed", done.failure
    assert sum(carried(done.local).values()) >= SOME_BYTES


def peak_bytes(server: OurServer) -> int:
    """The most memory that the server's process has ever had."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def open_files(server: OurServer) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@pytest.mark.alone
def test_two_hundred_tests_with_faults_between_them() -> None:
    with OurServer() as server:
        serves(server, {})
        files = open_files(server)
        for number, fault, way in zip(
            range(TESTS), itertools.cycle(FAULTS), itertools.cycle(WAYS), strict=False
        ):
            fault(server)
            serves(server, way)
            assert peak_bytes(server) < MOST_BYTES, f"after test {number}"
        assert server.process.poll() is None
        assert eventually(lambda: server.workers == [])
        assert eventually(lambda: open_files(server) <= files)
