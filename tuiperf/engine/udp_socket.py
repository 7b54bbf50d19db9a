"""UDP data sockets: their options, and how a client asks its server for a stream."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import NamedTuple, Optional

from . import flow_label, sockets
from .errors import EngineError, os_words
from .sockets import ANYWHERE, Address, LocalEnd, OptionReading
from .udp_header import ANSWERS, MAGIC_BYTES, REQUEST

RECEIVE_BUFFER_BYTES = 4 << 20
"""Asked for where no window is: what waits here while the receiver has no processor is not lost."""

ROOM_BYTES = 1024  # that a buffer should have beside one datagram, as with iperf3
REPEAT_S = 1.0
GIVE_UP_S = 10.0
STREAM_CODE = 203
DONT_FRAGMENT_CODE = 145

_POLL_S = 0.05
_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2  # include/uapi/linux/in.h
_IPV6_MTU_DISCOVER, _IPV6_PMTUDISC_DO = 23, 2  # include/uapi/linux/in6.h
_SO_MEMINFO = 55  # include/uapi/asm-generic/socket.h
_MEMINFO = struct.Struct("=9I")
_MEMINFO_DROPS = 8  # SK_MEMINFO_DROPS of include/uapi/linux/sock_diag.h


class UdpOptions(NamedTuple):
    """The options of a UDP data socket; zero means "leave it to the system"."""

    block_bytes: int
    window_bytes: int = 0
    tos: int = 0
    max_pacing_bps: int = 0
    dont_fragment: bool = False
    flow_label: int = 0


class RequestLostError(Exception):
    """No answer came, and asking again could spoil the test: it must begin anew."""


def apply_options(sock: socket.socket, options: UdpOptions) -> None:
    """Set all that was asked for, before connect().

    Raises EngineError: 124/141 window, 125/126 TOS, 140 pacing, 145 don't fragment.
    """
    if options.window_bytes:
        sockets.set_window(sock, options.window_bytes)
    else:
        _make_room(sock, options.block_bytes)
    if options.tos:
        sockets.set_tos(sock, options.tos)
    if options.max_pacing_bps:
        sockets.set_max_pacing_rate(sock, options.max_pacing_bps)
    if options.dont_fragment:
        _forbid_fragments(sock)


def _make_room(sock: socket.socket, block_bytes: int) -> None:
    """Room for one datagram to send and for many to receive, as far as the system grants it."""
    for option, wanted in (
        (socket.SO_SNDBUF, block_bytes + ROOM_BYTES),
        (socket.SO_RCVBUF, max(RECEIVE_BUFFER_BYTES, block_bytes + ROOM_BYTES)),
    ):
        with contextlib.suppress(OSError):
            if sock.getsockopt(socket.SOL_SOCKET, option) < wanted:
                sock.setsockopt(socket.SOL_SOCKET, option, wanted)


def _forbid_fragments(sock: socket.socket) -> None:
    try:
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _IPV6_PMTUDISC_DO)
            # An IPv4 address inside IPv6 heeds the option of IPv4.
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
        else:
            sock.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
    except OSError as error:
        text = f"cannot forbid fragments: {os_words(error.errno or 0)}"
        raise EngineError(DONT_FRAGMENT_CODE, text, error.errno or 0) from None


def read_options(sock: socket.socket, options: UdpOptions) -> list[OptionReading]:
    """Read back the options of a socket, beside what was asked."""
    readings = [
        reading if options.window_bytes else reading._replace(note="")
        for reading in sockets.read_window(sock, options.window_bytes)
    ]
    if options.max_pacing_bps:
        note = "holds for UDP only where the queueing discipline is fq"
        reading = sockets.read_max_pacing_rate(sock, options.max_pacing_bps)
        readings.append(reading._replace(note=note))
    if options.tos:
        readings.append(sockets.read_tos(sock, options.tos)._replace(note=""))
    if options.dont_fragment:
        readings.append(OptionReading("dont_fragment", 1, 1, 1))
    return readings


def dropped_messages(sock: socket.socket) -> Optional[int]:
    """What this host threw away for want of room in the socket's buffer; None where not known.

    The same count as SO_RXQ_OVFL gives with each datagram (sk_drops), read without them
    (SO_MEMINFO, Linux 4.12). Joined datagrams count as one.
    """
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
    except OSError:
        return None
    if len(raw) < _MEMINFO.size:
        return None
    return int(_MEMINFO.unpack(raw)[_MEMINFO_DROPS])


def open_socket(
    remote: Address, local: LocalEnd = ANYWHERE, *, options: UdpOptions
) -> socket.socket:
    """A socket that sends to `remote` and hears nobody else.

    Raises EngineError 203 with what to look at, or with an option's own number.
    """
    sock = socket.socket(remote.family, socket.SOCK_DGRAM)
    try:
        apply_options(sock, options)
        sockets.bind_local(sock, local, STREAM_CODE)
        label = options.flow_label
        sockaddr = flow_label.set_label(sock, remote.sockaddr, label) if label else remote.sockaddr
        try:
            sock.connect(sockaddr)
        except OSError as error:
            text = f"cannot send to {remote.shown}: {os_words(error.errno or 0)}"
            raise EngineError(STREAM_CODE, text, error.errno or 0) from None
    except BaseException:
        sock.close()
        raise
    return sock


def request_stream(
    sock: socket.socket,
    *,
    server_sends: bool,
    last: bool,
    started: Callable[[], bool],
    repeat_s: float = REPEAT_S,
) -> None:
    """Ask the server for a stream until it has it.

    It has it when it answers; when `started` says that the test began (which is looked at twenty
    times a second and may raise), in case the answer was lost; or when data comes that has
    overtaken the answer, which is left in the socket.

    A request that comes to a stream that the server has already would be taken for data by
    iperf3 3.16 and later, and spoil its counts. So the request is repeated only where that cannot
    be: where the server does not receive, or where it would have begun the test, had the last
    request reached it. Raises RequestLostError in all other cases, EngineError 203 after
    GIVE_UP_S or when the server's host refuses.
    """
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    began_s = time.monotonic()
    repeat_due_s = began_s
    while True:
        now_s = time.monotonic()
        if now_s - began_s >= GIVE_UP_S:
            port = sock.getpeername()[1]
            raise EngineError(
                STREAM_CODE,
                f"no answer from UDP port {port} within {GIVE_UP_S:g} s: "
                "suspect a firewall that lets TCP through but not UDP",
            )
        if now_s >= repeat_due_s:
            if repeat_due_s > began_s and not (server_sends or last):
                raise RequestLostError
            _ask(sock)
            repeat_due_s = now_s + repeat_s
        if poll.poll(_POLL_S * 1000) and _answered(sock, server_sends):
            return
        if started():
            return


def _ask(sock: socket.socket) -> None:
    try:
        sock.send(REQUEST)
    except OSError as error:
        raise _refused(sock, error) from None


def _answered(sock: socket.socket, server_sends: bool) -> bool:
    """Look at the datagram that waits; what is neither answer nor data is thrown away."""
    try:
        found = sock.recv(2 * MAGIC_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        if len(found) > MAGIC_BYTES and server_sends:
            return True
        sock.recv(2 * MAGIC_BYTES, socket.MSG_DONTWAIT)
    except (BlockingIOError, InterruptedError):
        return False
    except OSError as error:
        raise _refused(sock, error) from None
    return found in ANSWERS


def _refused(sock: socket.socket, error: OSError) -> EngineError:
    number = error.errno or 0
    port = sock.getpeername()[1]
    reasons = {
        errno.ECONNREFUSED: f"the server's host refuses UDP port {port}",
        errno.EPERM: f"this host's own firewall forbids UDP to port {port}",
        errno.EHOSTUNREACH: "the server's host cannot be reached by UDP",
        errno.ENETUNREACH: "this host has no route to the server's network",
    }
    text = reasons.get(number, f"cannot ask for a UDP stream: {os_words(number)}")
    return EngineError(STREAM_CODE, text, number)
