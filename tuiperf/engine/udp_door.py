"""The server's UDP port while a test's streams open.

iperf3 connects the socket that got a request and binds a new one for the next; an unconnected
socket for all streams would do as well, with one process to tell the streams apart. Here the bound
socket stays what it is, and each request gets a socket of its own, bound to the address that was
called (IP_PKTINFO, ip(7)) and connected to the caller. So

* the kernel tells the streams apart, drops what strangers send to them, and counts what it has no
  room for by stream, and each stream has its own worker, as with TCP;
* answers come from the address that was called, on hosts that have several;
* there is no moment without a bound socket, so no request meets a closed port;
* a request that comes twice is recognised wherever it arrives: here by its sender's address, at the
  stream's socket by its four bytes.

Only the host that has the control connection is let in.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any, NamedTuple

from .errors import EngineError, os_words
from .sockets import LocalEnd, address_text, bind_device
from .udp_header import ANSWER, MAGIC_BYTES, REQUESTS
from .udp_socket import UdpOptions, apply_options

LISTEN_CODE = 202
ACCEPT_CODE = 204

_IP_PKTINFO = 8  # include/uapi/linux/in.h
_PKTINFO = struct.Struct("=I4s4s")  # struct in_pktinfo: interface, local address, destination
_PKTINFO6 = struct.Struct("=16sI")  # struct in6_pktinfo: destination, interface
_MOST_A_TURN = 64
_LOOK_BYTES = 64
_ANCILLARY_BYTES = 256


class _Call(NamedTuple):
    """A request: who asks, and the local address it was sent to."""

    caller: Any
    called: Any


class Door:
    """Hands out a connected socket for each request of one client, and answers it.

    `at` is where the control connection arrived. Raises EngineError 202 when the port cannot be
    had.
    """

    def __init__(
        self, at: socket.socket, listen: LocalEnd, client: str, options: UdpOptions
    ) -> None:
        self._family = at.family
        self._port = int(at.getsockname()[1])
        self._device = listen.device
        self._client = client
        self._options = options
        self._fallback = at.getsockname()
        self._streams: dict[Any, socket.socket] = {}
        self._sock = self._bind(at.getsockname() if listen.host else None)

    @property
    def sockets(self) -> list[socket.socket]:
        """What to poll: the port itself and the streams' sockets so far."""
        return [self._sock, *self._streams.values()]

    def _bind(self, name: Any) -> socket.socket:
        try:
            sock = self._socket()
            try:
                sock.bind(name or ("::" if self._six else "0.0.0.0", self._port))
                self._ask_for_called_address(sock)
                sock.setblocking(False)
            except BaseException:
                sock.close()
                raise
        except OSError as error:
            why = os_words(error.errno or 0)
            text = f"unable to start stream listener: UDP port {self._port}: {why}"
            raise EngineError(LISTEN_CODE, text, error.errno or 0) from None
        return sock

    @property
    def _six(self) -> bool:
        return self._family == socket.AF_INET6

    def _socket(self) -> socket.socket:
        sock = socket.socket(self._family, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self._six:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        if self._device:
            bind_device(sock, self._device)
        return sock

    def _ask_for_called_address(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._six:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            else:
                sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)

    def accept(self, most: int) -> list[socket.socket]:
        """Take the requests that have come, `most` new streams; never waits.

        Raises EngineError 204 when a stream cannot have its socket, or with an option's number.
        """
        self._answer_again()
        opened: list[socket.socket] = []
        for _ in range(_MOST_A_TURN):
            if len(opened) >= most:
                break
            call = self._next_call()
            if call is None:
                break
            known = self._streams.get(call.caller)
            sock = known or self._open(call)
            if known is None:
                self._streams[call.caller] = sock
                opened.append(sock)
            with contextlib.suppress(OSError):
                sock.send(ANSWER)
        return opened

    def _next_call(self) -> _Call | None:
        """The next request of our client; what else has come is thrown away."""
        for _ in range(_MOST_A_TURN):
            try:
                data, ancillary, _, caller = self._sock.recvmsg(_LOOK_BYTES, _ANCILLARY_BYTES)
            except OSError:
                return None
            if len(data) == MAGIC_BYTES and address_text(caller) == self._client:
                return _Call(caller, self._called(ancillary))
        return None

    def _called(self, ancillary: list[tuple[int, int, bytes]]) -> Any:
        for level, kind, data in ancillary:
            if level == socket.IPPROTO_IP and kind == _IP_PKTINFO and len(data) >= _PKTINFO.size:
                _, local, _ = _PKTINFO.unpack_from(data)
                return (socket.inet_ntop(socket.AF_INET, local), self._port)
            six = level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO
            if six and len(data) >= _PKTINFO6.size:
                local, interface = _PKTINFO6.unpack_from(data)
                host = socket.inet_ntop(socket.AF_INET6, local)
                scope = interface if host.startswith("fe80:") else 0
                return (host, self._port, 0, scope)
        return self._fallback

    def _open(self, call: _Call) -> socket.socket:
        try:
            sock = self._socket()
            try:
                apply_options(sock, self._options)
                sock.bind(call.called)
                sock.connect(call.caller)
                sock.setblocking(False)
                _empty(sock)
            except BaseException:
                sock.close()
                raise
        except OSError as error:
            text = f"unable to accept a UDP stream: {os_words(error.errno or 0)}"
            raise EngineError(ACCEPT_CODE, text, error.errno or 0) from None
        return sock

    def _answer_again(self) -> None:
        """Answer requests that come to a stream once more: the first answer was lost."""
        for sock in self._streams.values():
            with contextlib.suppress(OSError):
                if sock.recv(_LOOK_BYTES, socket.MSG_PEEK) in REQUESTS:
                    sock.recv(_LOOK_BYTES)
                    sock.send(ANSWER)

    def close(self) -> None:
        """Close the port. The streams' sockets are not closed: they belong to their takers."""
        self._sock.close()
        self._streams = {}


def _empty(sock: socket.socket) -> None:
    """Throw away what came between bind() and connect(), before the client may send data."""
    for _ in range(_MOST_A_TURN):
        try:
            sock.recv(1)
        except OSError:
            return
