"""The server's UDP port: who is let in, from which address answers come, what comes twice."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tuiperf.engine.errors import EngineError
from tuiperf.engine.sockets import LocalEnd, address_text
from tuiperf.engine.udp_door import Door
from tuiperf.engine.udp_header import ANSWER, REQUEST, REQUESTS
from tuiperf.engine.udp_socket import UdpOptions

OPTIONS = UdpOptions(1400)
SETTLE_S = 0.02  # loopback delivers at once; this is for what must not come


class House:
    """A listening TCP socket with one control connection, and the door beside it."""

    def __init__(self, stack: ExitStack, family: int, host: str, bound: bool) -> None:
        self.stack = stack
        listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        any_host = "::" if family == socket.AF_INET6 else "0.0.0.0"
        listener.bind((host if bound else any_host, 0))
        listener.listen()
        self.port = listener.getsockname()[1]
        self.host = host
        stack.enter_context(socket.create_connection((host, self.port)))
        self.control, client = listener.accept()
        stack.enter_context(self.control)
        self.door = Door(
            self.control, LocalEnd(host if bound else ""), address_text(client), OPTIONS
        )
        stack.callback(self.door.close)

    def guest(self, called: str = "", source: str = "") -> socket.socket:
        """A client's socket that calls the server by some address."""
        called = called or self.host
        family = socket.AF_INET6 if ":" in called else socket.AF_INET
        sock = self.stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
        if source:
            sock.bind((source, 0))
        sock.connect((called, self.port))
        sock.settimeout(5)
        return sock

    def accept(self, most: int = 9) -> list[socket.socket]:
        time.sleep(SETTLE_S)
        taken = self.door.accept(most)
        for sock in taken:
            self.stack.enter_context(sock)
        return taken


Open = Callable[..., House]


@pytest.fixture
def house() -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda family=socket.AF_INET, host="127.0.0.1", bound=False: House(
            stack, family, host, bound
        )


@pytest.mark.parametrize(
    ("family", "host"),
    [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET6, "127.0.0.1"),
        (socket.AF_INET6, "::1"),
    ],
)
@pytest.mark.parametrize("request_bytes", REQUESTS)
def test_a_request_gets_an_answer_and_a_socket(
    house: Open, family: int, host: str, request_bytes: bytes
) -> None:
    at = house(family, host)
    guest = at.guest()
    guest.send(request_bytes)
    (stream,) = at.accept()
    assert guest.recv(10) == ANSWER
    guest.send(b"data")
    stream.setblocking(True)
    assert stream.recv(10) == b"data"
    stream.send(b"back")
    assert guest.recv(10) == b"back"


def test_the_answer_comes_from_the_address_that_was_called(house: Open) -> None:
    at = house()
    guest = at.guest("127.0.0.77", source="127.0.0.1")  # connected: other senders are not heard
    guest.send(REQUEST)
    (stream,) = at.accept()
    assert guest.recv(10) == ANSWER
    assert stream.getsockname()[0] == "127.0.0.77"


def test_a_door_of_one_address(house: Open) -> None:
    at = house(bound=True)
    guest = at.guest()
    guest.send(REQUEST)
    assert len(at.accept()) == 1
    elsewhere = at.guest("127.0.0.9", source="127.0.0.1")
    with pytest.raises(ConnectionRefusedError):
        elsewhere.send(REQUEST)
        elsewhere.recv(10)


def test_strangers_are_not_heard(house: Open) -> None:
    at = house()
    stranger = at.guest(source="127.0.0.2")
    stranger.send(REQUEST)
    assert at.accept() == []
    guest = at.guest()
    guest.send(REQUEST)
    (stream,) = at.accept()
    stranger.send(b"x" * 1400)
    with pytest.raises(BlockingIOError):
        stream.recv(10)


def test_what_is_no_request(house: Open) -> None:
    at = house()
    guest = at.guest()
    for data in (b"", b"x", b"12345", bytes(65_507)):
        guest.send(data)
    assert at.accept() == []
    guest.send(REQUEST)
    assert len(at.accept()) == 1


def test_a_request_that_comes_twice_is_one_stream(house: Open) -> None:
    at = house()
    guest = at.guest()
    guest.send(REQUEST)
    guest.send(REQUEST)
    (stream,) = at.accept()
    assert [guest.recv(10), guest.recv(10)] == [ANSWER, ANSWER]
    guest.send(REQUEST)
    assert at.accept() == []
    assert guest.recv(10) == ANSWER
    with pytest.raises(BlockingIOError):
        stream.recv(10)


def test_no_more_streams_than_are_missing(house: Open) -> None:
    at = house()
    guests = [at.guest() for _ in range(3)]
    for guest in guests:
        guest.send(REQUEST)
    assert len(at.accept(2)) == 2
    assert len(at.accept(1)) == 1
    assert [guest.recv(10) for guest in guests] == [ANSWER] * 3


def test_streams_do_not_mix(house: Open) -> None:
    at = house()
    guests = [at.guest() for _ in range(4)]
    for guest in guests:
        guest.send(REQUEST)
    streams = at.accept()
    for number, guest in enumerate(guests):
        guest.send(bytes([number]))
    for number, stream in enumerate(streams):
        stream.setblocking(True)
        assert stream.recv(10) == bytes([number])


def test_a_port_that_somebody_has(house: Open) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder, ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        stack.enter_context(socket.create_connection(listener.getsockname()))
        control = stack.enter_context(listener.accept()[0])
        holder.bind(("127.0.0.1", listener.getsockname()[1]))
        with pytest.raises(EngineError) as raised:
            Door(control, LocalEnd(), "127.0.0.1", OPTIONS)
    assert (raised.value.code, raised.value.errno) == (202, errno.EADDRINUSE)
    assert "UDP port" in raised.value.text
