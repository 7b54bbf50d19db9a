"""SCTP: its protocol logic over a stand-in, and clear words where the kernel has none."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.engine.driving import client_spec, run, short
from tuiperf.engine import listener, sctp, server
from tuiperf.engine.errors import EngineError
from tuiperf.engine.sctp_door import SctpDoor
from tuiperf.engine.sockets import LocalEnd, TcpOptions
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec
from tuiperf.engine.stops import Stops
from tuiperf.events import Agreed, Event, Listening

COOKIE = b"2babcdefghijklmnopqrstuvwxyz23456723\0"
NO_PROTOCOL = 250  # no kernel has a stream protocol of this number
LOOPBACK = LocalEnd("127.0.0.1")


class Recorder:
    """Stands in for a socket: remembers what is set and bound."""

    family = socket.AF_INET

    def __init__(self) -> None:
        self.options: list[tuple[int, int, bytes]] = []
        self.bound: list[Any] = []

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.options.append((level, option, value))

    def bind(self, name: Any) -> None:
        self.bound.append(name)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 4000


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """TCP in SCTP's place: the same calls, the same order, no kernel module."""
    monkeypatch.setattr(sctp, "PROTOCOL", socket.IPPROTO_TCP)


# ---------------------------------------------------------------------- options


def test_options_are_laid_out_as_the_kernel_reads_them() -> None:
    sock: Any = Recorder()
    sctp.set_streams(sock, 7)
    sctp.set_mss(sock, 1200)
    sctp.set_nodelay(sock)
    assert sock.options == [
        (132, 2, struct.pack("=HHHH", 7, 0, 0, 0)),
        (132, 13, struct.pack("=i", 1200)),
        (132, 3, struct.pack("=i", 1)),
    ]


def test_several_addresses_share_the_port_of_the_first() -> None:
    sock: Any = Recorder()
    sctp.bind_addresses(sock, ["127.0.0.1", "127.0.0.2"], 0)
    assert sock.bound == [("127.0.0.1", 0)]
    ((level, option, packed),) = sock.options
    assert (level, option) == (132, 100)
    assert packed == struct.pack("=H", socket.AF_INET) + b"\x0f\xa0\x7f\0\0\2" + bytes(8)


def test_an_address_of_ipv6_keeps_its_scope() -> None:
    packed = sctp.pack_address(socket.AF_INET6, ("fe80::1", 5201, 0, 3))
    assert packed[2:4] == (5201).to_bytes(2, "big")
    assert packed[8:24] == socket.inet_pton(socket.AF_INET6, "fe80::1")
    assert (len(packed), struct.unpack("=I", packed[24:])) == (28, (3,))


@pytest.mark.parametrize("mss_bytes", [1, 511, 131_073])
def test_an_mss_out_of_range(mss_bytes: int) -> None:
    sock: Any = Recorder()
    with pytest.raises(EngineError) as caught:
        sctp.set_mss(sock, mss_bytes)
    assert (caught.value.code, sock.options) == (123, [])


def test_an_address_that_is_none(stand_in: None) -> None:
    with sctp.stream_socket(socket.AF_INET) as sock, pytest.raises(EngineError) as caught:
        sctp.bind_addresses(sock, ["192.0.2.1"])
    assert caught.value.code == 139
    assert "192.0.2.1" in str(caught.value)


def test_the_parameters_travel_and_come_back() -> None:
    parameters = TestSpec(protocol="sctp", block_bytes=65536).to_parameters("tool")
    assert parameters["sctp"] is True
    assert not {"tcp", "udp"} & set(parameters)
    del parameters["len"]
    read = TestSpec.from_parameters(parameters)
    assert (read.protocol, read.block_bytes, read.udp) == ("sctp", 65536, False)
    with pytest.raises(EngineError) as caught:
        ClientSpec("x", sctp_streams=65_536).check()
    assert caught.value.code == 138


# ---------------------------------------------------------------------- without the kernel


def test_a_client_says_so_before_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sctp, "PROTOCOL", NO_PROTOCOL)
    refused = run(client_spec(1, TestSpec(protocol="sctp")))
    assert refused.failed_as == 18
    assert "modprobe sctp" in refused.failure.text


def test_a_server_tells_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with our_server(monkeypatch, protocol=NO_PROTOCOL) as port:
        monkeypatch.setattr(sctp, "check", lambda: None)
        refused = run(client_spec(port, TestSpec(protocol="sctp")))
        assert (refused.failed_as, refused.failure.remote) == (18, True)
        assert run(client_spec(port)).outcome == "completed"


# ---------------------------------------------------------------------- the door


@pytest.fixture
def door(stand_in: None) -> Iterator[SctpDoor]:
    with socket.socket() as at:  # bound, not listening, and gone before the door opens
        at.bind(("127.0.0.1", 0))
        at.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        name = at.getsockname()
    opened = SctpDoor(_Named(name), LOOPBACK, COOKIE, TcpOptions())  # type: ignore[arg-type]
    yield opened
    opened.close()


class _Named:
    family = socket.AF_INET

    def __init__(self, name: Any) -> None:
        self._name = name

    def getsockname(self) -> Any:
        return self._name


def accepted(door: SctpDoor, most: int = 10) -> list[socket.socket]:
    """What the door gives once all that was sent has come."""
    deadline_s = time.monotonic() + 10
    taken: list[socket.socket] = []
    while time.monotonic() < deadline_s and not taken:
        taken = door.accept(most)
        time.sleep(0.005)
    return taken


def test_the_right_cookie_is_let_in_also_in_pieces(door: SctpDoor) -> None:
    name = door.sockets[0].getsockname()
    with socket.create_connection(name) as slow, socket.create_connection(name) as silent:
        slow.sendall(COOKIE[:10])
        assert door.accept(5) == []
        slow.sendall(COOKIE[10:])
        (taken,) = accepted(door)
        with taken:
            assert taken.getpeername() == slow.getsockname()
        assert len(door.sockets) == 2
        assert silent.fileno() >= 0


def test_a_wrong_cookie_hears_that_it_may_not_enter(door: SctpDoor) -> None:
    with socket.create_connection(door.sockets[0].getsockname()) as stranger:
        stranger.sendall(b"x" * 37)
        stranger.settimeout(10)
        heard = b""
        while not heard:
            assert door.accept(5) == []
            stranger.settimeout(0.05)
            try:
                heard = stranger.recv(1)
            except TimeoutError:
                continue
    assert heard == b"\xff"
    assert len(door.sockets) == 1


def test_no_more_are_taken_than_are_missing(door: SctpDoor) -> None:
    name = door.sockets[0].getsockname()
    callers = [socket.create_connection(name) for _ in range(3)]
    for caller in callers:
        caller.sendall(COOKIE)
    time.sleep(0.1)
    for left in (2, 1, 0):
        (taken,) = accepted(door, 1)
        taken.close()
        assert len(door.sockets) == 1 + left
    for caller in callers:
        caller.close()


# ---------------------------------------------------------------------- whole tests


@contextmanager
def our_server(monkeypatch: pytest.MonkeyPatch, protocol: int) -> Iterator[int]:
    """Our server in a process of its own; its port.

    TCP as a stand-in would meet the TCP listener at the same port, so that one gives way for the
    length of an SCTP test.
    """
    told, telling = os.pipe()
    child = os.fork()
    if not child:
        try:
            _serve(monkeypatch, protocol, telling)
        finally:
            os._exit(1)
    os.close(telling)
    try:
        yield int(os.read(told, 16))
    finally:
        os.close(told)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _serve(monkeypatch: pytest.MonkeyPatch, protocol: int, telling: int) -> None:
    held: list[listener.Listener] = []

    class GivesWay(listener.Listener):
        def __init__(self, spec: ServerSpec) -> None:
            super().__init__(spec)
            held.append(self)

    class StandIn(SctpDoor):
        def __init__(self, *words: Any) -> None:
            sctp.check()
            held[0]._sock.close()
            held[0]._sock = socket.socket()
            super().__init__(*words)

    def emit(event: Event) -> None:
        if isinstance(event, Listening) and event.test_number == 1:
            os.write(telling, str(event.port).encode())

    monkeypatch.setattr(sctp, "PROTOCOL", protocol)
    monkeypatch.setattr(server, "Listener", GivesWay)
    monkeypatch.setattr(server, "SctpDoor", StandIn)
    with Stops(catch_signals=False) as stops:
        server.run_server(ServerSpec(bind_host="127.0.0.1", port=0), emit, stops)


@pytest.mark.parametrize(
    "way", [{}, {"reverse": True}, {"bidir": True}, {"parallel": 3}, {"rate_bps": 20_000_000}]
)
def test_a_whole_test(stand_in: None, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]) -> None:
    test = short(protocol="sctp", block_bytes=65536, congestion="", **way)
    with our_server(monkeypatch, protocol=socket.IPPROTO_TCP) as port:
        done = run(client_spec(port, test, sctp_addresses="127.0.0.1"))
    assert done.outcome == "completed"
    assert done.one(Agreed).parameters["sctp"] is True
    here, there = done.local.streams, done.remote.streams
    assert len(here) == len(there) == test.streams
    assert all(row.bytes > 0 for row in (*here, *there))
