"""How a UDP stream is asked for, and what its socket is like."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tuiperf.engine import sockets, udp_socket
from tuiperf.engine.errors import EngineError
from tuiperf.engine.udp_header import ANSWERS, REQUEST
from tuiperf.engine.udp_socket import RequestLostError, UdpOptions, request_stream

OPTIONS = UdpOptions(1400)
SOON_S = 0.05


class Ends(NamedTuple):
    """A client's socket, and a server that does what a test wants."""

    ours: socket.socket
    server: socket.socket

    def requests(self) -> int:
        """How many requests have come."""
        self.server.setblocking(False)
        count = 0
        while True:
            try:
                assert self.server.recv(100) == REQUEST
            except BlockingIOError:
                return count
            count += 1

    def say(self, *datagrams: bytes) -> None:
        for datagram in datagrams:
            self.server.sendto(datagram, self.ours.getsockname())


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        remote = sockets.resolve(*server.getsockname())
        with udp_socket.open_socket(remote, options=OPTIONS) as ours:
            yield Ends(ours, server)


def ask(
    ends: Ends, *, server_sends: bool = False, last: bool = True, started_s: float = 60
) -> None:
    """Ask for a stream; the test is said to have started after so many seconds."""
    began_s = time.monotonic()
    request_stream(
        ends.ours,
        server_sends=server_sends,
        last=last,
        started=lambda: time.monotonic() - began_s > started_s,
        repeat_s=SOON_S,
    )


@pytest.mark.parametrize("answer", ANSWERS)
def test_every_peers_answer_is_understood(ends: Ends, answer: bytes) -> None:
    ends.say(b"", b"noise", b"1234", answer)
    ask(ends)
    assert ends.requests() == 1


def test_a_request_that_was_lost_is_repeated_where_the_test_would_have_begun(ends: Ends) -> None:
    ask(ends, started_s=5 * SOON_S)
    assert ends.requests() >= 2


def test_a_request_is_repeated_to_a_server_that_does_not_receive(ends: Ends) -> None:
    ask(ends, server_sends=True, last=False, started_s=5 * SOON_S)
    assert ends.requests() >= 2


def test_a_request_is_never_repeated_where_it_could_be_taken_for_data(ends: Ends) -> None:
    with pytest.raises(RequestLostError):
        ask(ends, last=False)
    assert ends.requests() == 1


def test_the_start_of_the_test_is_an_answer(ends: Ends) -> None:
    ask(ends, started_s=0)
    assert ends.requests() == 1


def test_data_that_overtakes_the_answer_is_an_answer_and_stays(ends: Ends) -> None:
    ends.say(bytes(1400), ANSWERS[0])
    ask(ends, server_sends=True)
    assert [len(ends.ours.recv(2000)) for _ in range(2)] == [1400, 4]


def test_a_refused_port(ends: Ends) -> None:
    ends.server.close()
    with pytest.raises(EngineError) as raised:
        ask(ends)
    assert raised.value.code == 203
    assert "refuses UDP port" in raised.value.text


def test_silence_has_an_end(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(udp_socket, "GIVE_UP_S", 0.2)
    with pytest.raises(EngineError) as raised:
        ask(ends)
    assert "suspect a firewall" in raised.value.text
    assert ends.requests() >= 2


def test_a_wait_that_is_broken_off(ends: Ends) -> None:
    def stopped() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        request_stream(ends.ours, server_sends=False, last=True, started=stopped)


class TestOptions:
    def test_a_large_receive_buffer_unless_a_window_is_chosen(self, ends: Ends) -> None:
        usual = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        before = usual.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        usual.close()
        assert ends.ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= before
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as chosen:
            udp_socket.apply_options(chosen, UdpOptions(1400, window_bytes=20_000))
            assert chosen.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in (20_000, 40_000)
            found = {each.name: each for each in udp_socket.read_options(chosen, UdpOptions(1400))}
        assert found["receive_buffer"].granted in (20_000, 40_000)

    def test_room_for_a_datagram_that_is_larger_than_the_buffer(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 5000)
            udp_socket.apply_options(sock, UdpOptions(65_507))
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 65_507

    @pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
    def test_type_of_service_and_no_fragments(self, family: int) -> None:
        options = UdpOptions(1400, tos=0xB8, dont_fragment=True, max_pacing_bps=10**6)
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            udp_socket.apply_options(sock, options)
            found = {each.name: each for each in udp_socket.read_options(sock, options)}
        assert found["tos"].effective == 0xB8
        assert found["dont_fragment"].effective == 1
        assert found["max_pacing_rate"].effective == 10**6
        assert "fq" in found["max_pacing_rate"].note

    def test_no_fragments_means_that_too_long_datagrams_fail(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            udp_socket.apply_options(sock, UdpOptions(1400, dont_fragment=True))
            mode = sock.getsockopt(socket.IPPROTO_IP, 10)
        assert mode == 2  # IP_PMTUDISC_DO


def test_what_does_not_fit_the_buffer_is_counted_by_socket() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4000)
        receiver.bind(("127.0.0.1", 0))
        sender.connect(receiver.getsockname())
        for number in range(100):
            sender.send(struct.pack(">I", number) + bytes(1000))
        receiver.setblocking(False)
        kept = 0
        with pytest.raises(BlockingIOError):
            while receiver.recv(2000):
                kept += 1
        assert 0 < kept < 100
        assert udp_socket.dropped_messages(receiver) == 100 - kept
        assert udp_socket.dropped_messages(sender) == 0
