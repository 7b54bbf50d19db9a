"""Socket options read back, addresses, and the words for connections that do not come about."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tuiperf.engine import sockets
from tuiperf.engine.errors import EngineError
from tuiperf.engine.sockets import Address, LocalEnd, OptionReading, TcpOptions


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


def address_of(sock: socket.socket, host: str = "127.0.0.1") -> Address:
    return sockets.resolve(host, sock.getsockname()[1])


@contextmanager
def deaf_listener() -> Iterator[Address]:
    """A listener whose queue is full, so that the kernel drops further SYNs."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield address_of(listener)


def readings(sock: socket.socket, options: TcpOptions) -> dict[str, OptionReading]:
    return {reading.name: reading for reading in sockets.read_options(sock, options)}


class TestOptions:
    def test_asked_options_are_in_effect(self, listener: socket.socket) -> None:
        asked = TcpOptions(65536, 1200, True, "cubic", 800_000_000, 0x10)
        with sockets.connect(address_of(listener), options=asked) as sock:
            read = readings(sock, asked)
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert read["nodelay"][1:4] == (1, 1, 1)
        assert read["congestion"][1:4] == ("cubic", "cubic", "cubic")
        assert read["max_pacing_rate"][1:5] == (800_000_000, 800_000_000, 800_000_000, "bit/s")
        assert read["tos"][1:4] == (0x10, 0x10, 0x10)
        mss = read["mss"]
        assert mss.asked == 1200
        assert isinstance(mss.granted, int) and 1100 < mss.granted <= 1200

    def test_window_is_doubled_and_partly_usable(self, listener: socket.socket) -> None:
        asked = TcpOptions(window_bytes=65536)
        with sockets.connect(address_of(listener), options=asked) as sock:
            read = readings(sock, asked)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 131072
        for name in ("send_buffer", "receive_buffer"):
            reading = read[name]
            assert reading[1:5] == (65536, 131072, int(131072 * 0.66), "bytes")
            assert "doubles" in reading.note and "own sizing off" in reading.note

    def test_window_between_the_limit_and_its_double_is_clamped(self) -> None:
        limits = [sockets.sysctl_int(f"core/{name}") or 0 for name in ("wmem_max", "rmem_max")]
        limit = min(limits)
        with socket.socket() as sock:
            sockets.set_window(sock, limit + 1000)
            read = sockets.read_window(sock, limit + 1000)
        assert any(f"_max = {limit}" in reading.note for reading in read)
        assert any(reading.granted == 2 * limit for reading in read)

    def test_window_beyond_the_limit_names_the_cure(self) -> None:
        limit = sockets.sysctl_int("core/wmem_max")
        assert limit is not None
        asked = 2 * limit + 1
        with socket.socket() as sock, pytest.raises(EngineError) as caught:
            sockets.set_window(sock, asked)
        assert caught.value.code == 141
        assert f"sysctl -w net.core.wmem_max={asked}" in caught.value.text
        assert str(2 * limit) in caught.value.text

    def test_nothing_asked_nothing_claimed(self, listener: socket.socket) -> None:
        with sockets.connect(address_of(listener)) as sock:
            read = readings(sock, sockets.DEFAULTS)
            used = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        assert [reading.asked for reading in read.values()] == [None] * 5
        assert read["nodelay"].granted == 0
        assert read["congestion"].granted == used.rstrip(b"\0").decode()
        assert "tos" not in read and "max_pacing_rate" not in read

    @pytest.mark.parametrize("name", ["nosuch", "x" * 60, "nul\0inside", "\N{SNOWMAN}", "\udc80"])
    def test_unknown_congestion_control(self, name: str) -> None:
        with socket.socket() as sock, pytest.raises(EngineError) as caught:
            sockets.set_congestion(sock, name)
        assert caught.value.code == 134
        assert "cubic" in caught.value.text
        assert caught.value.text.isprintable()

    def test_mss_out_of_range(self) -> None:
        with socket.socket() as sock, pytest.raises(EngineError) as caught:
            sockets.set_mss(sock, 5)
        assert (caught.value.code, caught.value.errno) == (123, errno.EINVAL)

    def test_tos_of_ipv6(self) -> None:
        with socket.socket(socket.AF_INET6) as sock:
            sockets.set_tos(sock, 0x28)
            assert sockets.read_tos(sock, 0x28)[1:4] == (0x28, 0x28, 0x28)
            with pytest.raises(EngineError) as caught:
                sockets.set_tos(sock, 256)
        assert caught.value.code == 126

    def test_ecn_bits_stay_with_tcp(self, listener: socket.socket) -> None:
        with sockets.connect(address_of(listener), options=TcpOptions(tos=0x13)) as sock:
            reading = sockets.read_tos(sock, 0x13)
        assert reading.granted == 0x10
        assert "ECN" in reading.note

    def test_no_pacing_limit(self) -> None:
        with socket.socket() as sock:
            assert sockets.max_pacing_bps(sock) is None
            sockets.set_max_pacing_rate(sock, 8)
            assert sockets.max_pacing_bps(sock) == 8

    def test_control_mss(self, listener: socket.socket) -> None:
        with sockets.connect(address_of(listener)) as sock:
            mss = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
            assert sockets.control_mss(sock) == mss > 500
        assert sockets.control_mss(sock) == 0

    def test_unread_bytes(self, listener: socket.socket) -> None:
        with sockets.connect(address_of(listener)) as sock:
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"x" * 300)
                assert sock.recv(100, socket.MSG_WAITALL) == b"x" * 100
                sock.recv(200, socket.MSG_PEEK | socket.MSG_WAITALL)
                assert sockets.unread_bytes(sock) == 200


class TestAddresses:
    def test_names_and_numbers(self) -> None:
        assert sockets.resolve("127.0.0.1", 5201)[2:] == (socket.AF_INET, ("127.0.0.1", 5201))
        six = sockets.resolve("::1", 80, socket.AF_INET6)
        assert six.family == socket.AF_INET6 and six.shown == "::1"

    def test_link_local_with_its_interface(self) -> None:
        loopback = socket.if_nametoindex("lo")
        address = sockets.resolve("fe80::1%lo", 5201)
        assert address.sockaddr[3] == loopback
        assert address.shown == "fe80::1%lo"

    @pytest.mark.parametrize(
        ("sockaddr", "shown"),
        [
            (("10.0.0.1", 1), "10.0.0.1"),
            (("::ffff:10.0.0.1", 1, 0, 0), "10.0.0.1"),
            (("::FFFF:10.0.0.1", 1, 0, 0), "10.0.0.1"),
            (("::ffff:a", 1, 0, 0), "::ffff:a"),
            (("2001:db8::1", 1, 0, 0), "2001:db8::1"),
            (("fe80::1%lo", 1, 0, 1), "fe80::1%lo"),
            (("fe80::1", 1, 0, 999999), "fe80::1%999999"),
        ],
    )
    def test_shown(self, sockaddr: tuple[Any, ...], shown: str) -> None:
        assert sockets.address_text(sockaddr) == shown

    @pytest.mark.parametrize(
        ("host", "family", "words"),
        [
            ("fe80::1", 0, "name the interface"),
            ("fe80::1%nosuch0", 0, "interface called nosuch0"),
            ("127.0.0.1", socket.AF_INET6, "127.0.0.1 has no IPv6 address"),
            ("::1", socket.AF_INET, "::1 has no IPv4 address"),
            ("", 0, "not a host name"),
            ("two..dots", 0, "not a host name"),
            ("x" * 100, 0, "not a host name"),
        ],
    )
    def test_unusable(self, host: str, family: int, words: str) -> None:
        with pytest.raises(EngineError) as caught:
            sockets.resolve(host, 5201, family, code=203)
        assert caught.value.code == 203
        assert words in caught.value.text

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (socket.EAI_NONAME, "is the name right?"),
            (socket.EAI_AGAIN, "no name server answers"),
            (socket.EAI_FAIL, "does not resolve"),
        ],
    )
    def test_names_that_do_not_resolve(
        self, monkeypatch: pytest.MonkeyPatch, number: int, words: str
    ) -> None:
        def fail(*_: object) -> None:
            raise socket.gaierror(number, "no")

        monkeypatch.setattr(socket, "getaddrinfo", fail)
        with pytest.raises(EngineError) as caught:
            sockets.resolve("name\x1b[2J", 5201, socket.AF_INET)
        assert words in caught.value.text
        assert r"name\x1b[2J" in caught.value.text


class TestConnect:
    def test_a_blocking_socket_comes_back(self, listener: socket.socket) -> None:
        with sockets.connect(address_of(listener), timeout_s=5) as sock:
            assert sock.gettimeout() is None
            assert sock.getpeername() == listener.getsockname()

    def test_nothing_listens(self) -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            port = bound.getsockname()[1]
            with pytest.raises(EngineError) as caught:
                sockets.connect(address_of(bound))
        assert (caught.value.code, caught.value.errno) == (103, errno.ECONNREFUSED)
        assert caught.value.text == (
            f"nothing listens on 127.0.0.1 port {port}: is `iperf3 -s` running there?"
        )

    def test_no_answer(self) -> None:
        with deaf_listener() as address, pytest.raises(EngineError) as caught:
            sockets.connect(address, timeout_s=0.3, code=203)
        assert (caught.value.code, caught.value.errno) == (203, errno.ETIMEDOUT)
        assert "no answer from 127.0.0.1" in caught.value.text
        assert "suspect a firewall or a wrong address" in caught.value.text

    def test_waiting_can_be_given_up(self) -> None:
        calls = []

        def check() -> None:
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt

        with deaf_listener() as address, pytest.raises(KeyboardInterrupt):
            sockets.connect(address, check=check)

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (errno.EHOSTUNREACH, "no host answers at that address"),
            (errno.ENETUNREACH, "no route to that network"),
            (errno.EACCES, "own firewall forbids"),
            (errno.EPERM, "own firewall forbids"),
            (errno.ECONNRESET, "reset the connection"),
            (errno.EADDRNOTAVAIL, "still in use by an earlier connection"),
            (errno.ENOBUFS, os.strerror(errno.ENOBUFS)),
        ],
    )
    def test_words_for_what_the_system_says(
        self, monkeypatch: pytest.MonkeyPatch, number: int, words: str
    ) -> None:
        class Failing(socket.socket):
            def connect_ex(self, _: object) -> int:
                return number

        monkeypatch.setattr(socket, "socket", Failing)
        address = Address("server.example", 5201, socket.AF_INET, ("192.0.2.1", 5201))
        with pytest.raises(EngineError) as caught:
            sockets.connect(address)
        assert caught.value.errno == number
        assert "server.example (192.0.2.1)" in caught.value.text
        assert words in caught.value.text

    def test_local_address_and_port(self, listener: socket.socket) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.2", 0))
            port = probe.getsockname()[1]
        local = LocalEnd("127.0.0.2", "lo", port)
        with sockets.connect(address_of(listener), local=local) as sock:
            assert sock.getsockname() == ("127.0.0.2", port)

    def test_local_port_alone(self, listener: socket.socket) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with sockets.connect(address_of(listener), local=LocalEnd(port=port)) as sock:
            assert sock.getsockname()[1] == port

    @pytest.mark.parametrize(
        ("local", "code", "words"),
        [
            (LocalEnd("203.0.113.9"), 103, "no interface of this host has that address"),
            (LocalEnd("::1"), 103, "cannot bind: ::1 has no IPv4 address"),
            (LocalEnd(device="nosuch0"), 143, "there is no such device"),
            (LocalEnd(device="x" * 99), 143, "cannot bind to device"),
        ],
    )
    def test_cannot_bind(
        self, listener: socket.socket, local: LocalEnd, code: int, words: str
    ) -> None:
        with pytest.raises(EngineError) as caught:
            sockets.connect(address_of(listener), local=local)
        assert caught.value.code == code
        assert words in caught.value.text

    def test_local_port_in_use(self, listener: socket.socket) -> None:
        local = LocalEnd("127.0.0.1", port=listener.getsockname()[1])
        with pytest.raises(EngineError) as caught:
            sockets.connect(address_of(listener), local=local)
        assert caught.value.errno == errno.EADDRINUSE
        assert "the port is in use" in caught.value.text

    def test_nothing_stays_open_after_a_failure(self, listener: socket.socket) -> None:
        held = len(list(Path("/proc/self/fd").iterdir()))
        for options in (TcpOptions(congestion="nosuch"), TcpOptions(mss_bytes=1)):
            with pytest.raises(EngineError):
                sockets.connect(address_of(listener), options=options)
        assert len(list(Path("/proc/self/fd").iterdir())) == held
