"""Sockets and their options: what was asked, what the kernel granted, what it means in effect.

Every option that the kernel may clamp, double or refuse is read back. Options that shape a
connection from its first packet on (window, MSS, congestion control) are set before connect() or
listen(): set afterwards, congestion control keeps what its forerunner left behind.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import os
import select
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import flow_label, mptcp, sctp
from .errors import EngineError

USABLE_SHARE = 0.66
"""How much of a buffer's limit carries payload on usual paths; the rest is the kernel's own
bookkeeping (tcp_win_from_space in net/ipv4/tcp.h, measured 0.65 to 0.70 in both directions)."""

_CONNECT_CONTROL = 103
_POLL_S = 0.1
_SO_MAX_PACING_RATE = 47  # include/uapi/asm-generic/socket.h; Python names it nowhere
_NO_PACING_RATE = (1 << 64) - 1
_SYSCTL = Path("/proc/sys/net")
_LINUX = sys.platform.startswith("linux")


class OptionReading(NamedTuple):
    """One option: what was asked (None: nothing), what was granted, what it comes to."""

    name: str
    asked: int | str | None
    granted: int | str | None
    effective: int | str | None
    unit: str = ""
    note: str = ""


class Address(NamedTuple):
    """An end of a connection: the host as the user wrote it, and what it resolved to."""

    host: str
    port: int
    family: int
    sockaddr: tuple[Any, ...]

    @property
    def shown(self) -> str:
        """The numeric address, an IPv4 address inside IPv6 shown as IPv4."""
        return address_text(self.sockaddr)


class LocalEnd(NamedTuple):
    """Where our own end of a connection shall be: address, device and port; empty means any."""

    host: str = ""
    device: str = ""
    port: int = 0


ANYWHERE = LocalEnd()


class TcpOptions(NamedTuple):
    """The options of a TCP data connection; zero and empty mean "leave it to the system"."""

    window_bytes: int = 0
    mss_bytes: int = 0
    nodelay: bool = False
    congestion: str = ""
    max_pacing_bps: int = 0
    tos: int = 0
    user_timeout_ms: int = 0
    flow_label: int = 0
    mptcp: bool = False
    sctp: bool = False  # of these the options that SCTP has too
    sctp_streams: int = 0
    sctp_addresses: tuple[str, ...] = ()


DEFAULTS = TcpOptions()


def printable(text: str) -> str:
    """A text from outside with everything that could move a terminal's cursor escaped."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def address_text(sockaddr: Any) -> str:
    """The numeric host of a socket address: 10.0.0.1 for ::ffff:10.0.0.1, fe80::1%eth0 whole."""
    host = str(sockaddr[0])
    if host.lower().startswith("::ffff:") and "." in host:
        return host[7:]
    if len(sockaddr) == 4 and sockaddr[3] and "%" not in host:
        return f"{host}%{_interface_name(sockaddr[3])}"
    return host


def _interface_name(index: int) -> str:
    try:
        return socket.if_indextoname(index)
    except OSError:
        return str(index)


def resolve(
    host: str, port: int, family: int = socket.AF_UNSPEC, code: int = _CONNECT_CONTROL
) -> Address:
    """Resolve a host to its first address, as iperf3 does; there is no fallback to a second one.

    Raises EngineError with `code` and the reason: no such name, no answer of the name server, no
    address of the family asked for, a link-local address without its interface.
    """
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        raise EngineError(code, _why_unresolved(host, family, error)) from None
    family, _, _, _, sockaddr = found[0]
    if len(sockaddr) == 4 and not sockaddr[3] and str(sockaddr[0]).lower().startswith("fe80:"):
        raise EngineError(
            code,
            f"{printable(host)} is a link-local address: name the interface it is reached by, "
            f"such as {printable(host)}%eth0",
        )
    return Address(host, port, family, sockaddr)


def _why_unresolved(host: str, family: int, error: Exception) -> str:
    shown = printable(host)
    if isinstance(error, ValueError) or not host:
        return f"'{shown}' is not a host name"
    if error.args[0] == socket.EAI_AGAIN:
        return f"{shown} cannot be resolved now: no name server answers"
    if "%" in host and error.args[0] == socket.EAI_NONAME:
        device = shown.rpartition("%")[2]
        return f"{shown} does not resolve: is there an interface called {device}?"
    if family != socket.AF_UNSPEC and _resolves(host):
        version = "IPv6" if family == socket.AF_INET6 else "IPv4"
        return f"{shown} has no {version} address"
    return f"{shown} does not resolve to an address: is the name right?"


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None, socket.AF_UNSPEC, socket.SOCK_STREAM))
    except OSError:
        return False


def connect(
    remote: Address,
    *,
    code: int = _CONNECT_CONTROL,
    timeout_s: float | None = None,
    local: LocalEnd = ANYWHERE,
    options: TcpOptions = DEFAULTS,
    check: Callable[[], None] | None = None,
) -> socket.socket:
    """Connect to `remote` and return a blocking socket with TCP's options set.

    Without `timeout_s` the system's own limit holds, about two minutes. `check` is called ten times
    a second meanwhile and ends the wait by raising. Raises EngineError with `code` (103 for the
    control connection, 203 for a data connection) and a text that says what to look at, or with an
    option's own number.
    """
    sock = (
        sctp.stream_socket(remote.family)
        if options.sctp
        else mptcp.stream_socket(remote.family, options.mptcp)
    )
    try:
        apply_options(sock, options)
        if options.sctp_addresses:
            sctp.bind_addresses(sock, options.sctp_addresses, local.port)
        else:
            bind_local(sock, local, code)
        if options.flow_label:
            label = options.flow_label
            remote = remote._replace(sockaddr=flow_label.set_label(sock, remote.sockaddr, label))
        _connect(sock, remote, timeout_s, code, check)
        if not options.sctp:
            insist_on_congestion(sock, options.congestion)
    except EngineError as error:
        sock.close()
        if options.mptcp and error.errno in (errno.ENOPROTOOPT, errno.EOPNOTSUPP):
            hint = "this kernel's MPTCP does not take that option"
            raise EngineError(error.code, error.text, error.errno, hint) from None
        raise
    except BaseException:
        sock.close()
        raise
    return sock


def _connect(
    sock: socket.socket,
    remote: Address,
    timeout_s: float | None,
    code: int,
    check: Callable[[], None] | None,
) -> None:
    began_s = time.monotonic()
    sock.setblocking(False)
    failure = sock.connect_ex(remote.sockaddr)
    if failure == errno.EINPROGRESS:
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        while not poll.poll(_POLL_S * 1000):
            if check:
                check()
            if timeout_s is not None and time.monotonic() - began_s >= timeout_s:
                failure = errno.ETIMEDOUT
                break
        else:
            failure = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if failure:
        waited_s = time.monotonic() - began_s
        raise EngineError(code, _why_unconnected(sock, remote, failure, waited_s), failure)
    sock.setblocking(True)


def _why_unconnected(sock: socket.socket, remote: Address, failure: int, waited_s: float) -> str:
    host, port = printable(remote.host), remote.port
    where = host if host == remote.shown else f"{host} ({remote.shown})"
    reasons = {
        errno.ECONNREFUSED: (
            f"nothing listens on {where} port {port}: is `iperf3 -s` running there?"
        ),
        errno.ETIMEDOUT: (
            f"no answer from {where} port {port} within {waited_s:.3g} s: "
            "suspect a firewall or a wrong address"
        ),
        errno.EHOSTUNREACH: f"{where} cannot be reached: no host answers at that address",
        errno.ENETUNREACH: f"{where} cannot be reached: this host has no route to that network",
        errno.ECONNRESET: f"{where} port {port} reset the connection as it was made",
        errno.EADDRNOTAVAIL: (
            f"cannot connect to {where} from port {_local_port(sock)}: "
            "it is still in use by an earlier connection to the same place"
        ),
    }
    for forbidden in (errno.EACCES, errno.EPERM):
        reasons[forbidden] = f"this host's own firewall forbids connections to {where} port {port}"
    system = os.strerror(failure)
    return reasons.get(failure, f"cannot connect to {where} port {port}: {system}")


def _local_port(sock: socket.socket) -> int:
    try:
        return int(sock.getsockname()[1])
    except OSError:
        return 0


def bind_local(sock: socket.socket, local: LocalEnd, code: int = _CONNECT_CONTROL) -> None:
    """Bind a socket to a local address, device and port before it connects or listens.

    Raises EngineError with `code`, or 143 when the device cannot be bound to.
    """
    if local.device:
        bind_device(sock, local.device)
    if not local.host and not local.port:
        return
    any_host = "::" if sock.family == socket.AF_INET6 else "0.0.0.0"
    try:
        end = resolve(local.host or any_host, local.port, sock.family, code)
    except EngineError as error:
        raise EngineError(code, f"cannot bind: {error.text}") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(end.sockaddr)
    except OSError as error:
        where = f"{printable(end.host)} port {local.port}" if local.port else printable(end.host)
        reasons = {
            errno.EADDRNOTAVAIL: "no interface of this host has that address",
            errno.EADDRINUSE: "the port is in use",
            errno.EACCES: "ports below 1024 need root",
        }
        why = reasons.get(error.errno or 0, error.strerror)
        raise EngineError(code, f"cannot bind {where}: {why}", error.errno or 0) from None


def bind_device(sock: socket.socket, device: str) -> None:
    """Bind a socket to a network device (SO_BINDTODEVICE). Raises EngineError 143."""
    name = printable(device)
    option = getattr(socket, "SO_BINDTODEVICE", None)
    if option is None:
        raise EngineError(143, f"cannot bind to device {name}: this system has no such option")
    try:
        sock.setsockopt(socket.SOL_SOCKET, option, device.encode() + b"\0")
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", 0) or 0
        reasons = {
            errno.ENODEV: "there is no such device",
            errno.EPERM: "that needs root on this kernel",
        }
        why = reasons.get(number, str(error))
        raise EngineError(143, f"cannot bind to device {name}: {why}", number) from None


def apply_options(sock: socket.socket, options: TcpOptions) -> None:
    """Set all that was asked for, before connect() or listen().

    Raises EngineError: 122 no delay, 123 MSS, 125/126 TOS, 134 congestion control, 140 pacing,
    124/141 window, 148 the limit on unconfirmed data, 138/139 SCTP's own.
    """
    if options.window_bytes:
        set_window(sock, options.window_bytes)
    if options.tos:
        set_tos(sock, options.tos)
    if options.max_pacing_bps:
        set_max_pacing_rate(sock, options.max_pacing_bps)
    if options.sctp:
        _apply_sctp_options(sock, options)
    else:
        _apply_tcp_options(sock, options)


def _apply_tcp_options(sock: socket.socket, options: TcpOptions) -> None:
    if options.nodelay:
        set_nodelay(sock)
    if options.mss_bytes:
        set_mss(sock, options.mss_bytes)
    if options.congestion:
        set_congestion(sock, options.congestion)
    if options.user_timeout_ms:
        set_user_timeout(sock, options.user_timeout_ms)


def _apply_sctp_options(sock: socket.socket, options: TcpOptions) -> None:
    if options.nodelay:
        sctp.set_nodelay(sock)
    if options.mss_bytes:
        sctp.set_mss(sock, options.mss_bytes)
    if options.sctp_streams:
        sctp.set_streams(sock, options.sctp_streams)


def set_user_timeout(sock: socket.socket, timeout_ms: int) -> None:
    """Let a connection break once what it sent is unconfirmed so long (TCP_USER_TIMEOUT, tcp(7)).

    Raises EngineError 148.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is None:
        raise EngineError(148, "this system has no limit on unconfirmed data (TCP_USER_TIMEOUT)")
    try:
        sock.setsockopt(socket.IPPROTO_TCP, option, timeout_ms)
    except OSError as error:
        raise EngineError.from_code(148, error.errno or 0) from None


def read_options(sock: socket.socket, options: TcpOptions) -> list[OptionReading]:
    """Read back every option of a connected socket, beside what was asked."""
    if options.sctp:
        return read_window(sock, options.window_bytes)
    readings = [
        *read_window(sock, options.window_bytes),
        read_mss(sock, options.mss_bytes),
        read_nodelay(sock, options.nodelay),
        read_congestion(sock, options.congestion),
    ]
    if options.max_pacing_bps:
        readings.append(read_max_pacing_rate(sock, options.max_pacing_bps))
    if options.tos:
        readings.append(read_tos(sock, options.tos))
    if options.mptcp:
        used = int(mptcp.in_use(sock))
        note = "" if used else "the far end or the path does not speak it: plain TCP"
        readings.append(OptionReading("mptcp", 1, used, used, "", note))
    return readings


_BUFFERS = (
    ("send_buffer", socket.SO_SNDBUF, "wmem_max"),
    ("receive_buffer", socket.SO_RCVBUF, "rmem_max"),
)


def set_window(sock: socket.socket, window_bytes: int) -> None:
    """Ask for socket buffers of `window_bytes` in both directions (SO_SNDBUF and SO_RCVBUF).

    Linux clamps to net.core.wmem_max and rmem_max and then doubles, socket(7). As iperf3 does, less
    than asked for is an error: raises EngineError 141 naming the limit and how to raise it, or 124.
    """
    for _, option, limit in _BUFFERS:
        try:
            sock.setsockopt(socket.SOL_SOCKET, option, window_bytes)
            granted = sock.getsockopt(socket.SOL_SOCKET, option)
        except (OSError, OverflowError) as error:
            number = getattr(error, "errno", 0) or 0
            raise EngineError(124, f"cannot set the socket buffer size: {error}", number) from None
        if granted < window_bytes:
            raise EngineError(
                141,
                f"a window of {window_bytes} bytes was asked for, the system grants {granted}: "
                f"net.core.{limit} is too small "
                f"(as root: sysctl -w net.core.{limit}={window_bytes})",
            )


def read_window(sock: socket.socket, asked_bytes: int = 0) -> list[OptionReading]:
    """Read both socket buffers. `effective` is about what they can keep in flight."""
    readings = []
    for name, option, limit in _BUFFERS:
        granted = sock.getsockopt(socket.SOL_SOCKET, option)
        note = "sized by the system as the connection runs"
        if asked_bytes:
            note = _window_note(limit, asked_bytes)
        usable = int(granted * USABLE_SHARE)
        readings.append(OptionReading(name, asked_bytes or None, granted, usable, "bytes", note))
    return readings


def _window_note(limit: str, asked_bytes: int) -> str:
    notes = ["a fixed window switches the system's own sizing off"]
    maximum = sysctl_int(f"core/{limit}")
    if maximum is not None and asked_bytes > maximum:
        notes.insert(0, f"clamped to net.core.{limit} = {maximum}")
    if _LINUX:
        notes.insert(0, "the system doubles the size for its own bookkeeping")
    return "; ".join(notes)


def sysctl_int(name: str) -> int | None:
    """The number in /proc/sys/net/NAME, None where there is none."""
    try:
        return int((_SYSCTL / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def set_mss(sock: socket.socket, mss_bytes: int) -> None:
    """Limit the segment size (TCP_MAXSEG). Raises EngineError 123."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss_bytes)
    except OSError as error:
        raise EngineError(
            123,
            f"the system does not allow a segment size of {mss_bytes} bytes: {error.strerror}",
            error.errno or 0,
        ) from None


def control_mss(sock: socket.socket) -> int:
    """The segment size of a connected TCP socket, 0 where it is not known."""
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    except OSError:
        return 0


def read_mss(sock: socket.socket, asked_bytes: int = 0) -> OptionReading:
    """Read the segment size in use: the least of ours, the peer's and the path's."""
    used = control_mss(sock) or None
    note = ""
    if asked_bytes and used is not None and used != asked_bytes:
        note = "the peer, the path and TCP's own options take their part"
    return OptionReading("mss", asked_bytes or None, used, used, "bytes", note)


def set_nodelay(sock: socket.socket) -> None:
    """Switch Nagle's algorithm (RFC 896) off. Raises EngineError 122."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        raise EngineError(
            122, f"cannot set TCP_NODELAY: {error.strerror}", error.errno or 0
        ) from None


def read_nodelay(sock: socket.socket, asked: bool = False) -> OptionReading:
    """Read whether Nagle's algorithm is off (1)."""
    used = int(bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
    return OptionReading("nodelay", int(asked) or None, used, used)


def set_congestion(sock: socket.socket, name: str) -> None:
    """Choose the congestion control; to be done before connect() or listen().

    Raises EngineError 134 with the names this host has.
    """
    option = getattr(socket, "TCP_CONGESTION", None)
    shown = printable(name)
    if option is None:
        raise EngineError(134, "this system does not let a program choose the congestion control")
    try:
        if sock.proto == mptcp.IPPROTO_MPTCP:  # it takes any name, and stays with its own
            with socket.socket(sock.family, socket.SOCK_STREAM) as plain:
                plain.setsockopt(socket.IPPROTO_TCP, option, name.encode())
        sock.setsockopt(socket.IPPROTO_TCP, option, name.encode())
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", 0) or 0
        raise EngineError(134, _why_no_congestion(shown, number), number) from None


def insist_on_congestion(sock: socket.socket, name: str) -> None:
    """Choose the congestion control once more where a route's own choice took its place.

    A route's `congctl` wins at the handshake over what the socket was told before
    (tcp_ca_dst_init in net/ipv4/tcp_output.c); a locked one stays, which reading back shows.
    """
    if name and congestion_used(sock) != name:
        with contextlib.suppress(EngineError):
            set_congestion(sock, name)


def _why_no_congestion(shown: str, number: int) -> str:
    if number == errno.EPERM:
        return (
            f"congestion control {shown} is reserved to root here "
            "(see net.ipv4.tcp_allowed_congestion_control)"
        )
    available = congestion_available()
    known = f"; there are: {', '.join(available)}" if available else ""
    return f"congestion control {shown} is not supported on this host{known}"


def congestion_available() -> list[str]:
    """The congestion controls loaded on this host, empty where that is not known."""
    try:
        names = (_SYSCTL / "ipv4/tcp_available_congestion_control").read_text(encoding="ascii")
    except OSError:
        return []
    return names.split()


def congestion_used(sock: socket.socket) -> str | None:
    """The congestion control a socket really uses, None where that is not known."""
    option = getattr(socket, "TCP_CONGESTION", None)
    if option is None:
        return None
    try:
        raw = sock.getsockopt(socket.IPPROTO_TCP, option, 16)
    except OSError:
        return None
    return raw.split(b"\0", 1)[0].decode("ascii", "replace")


def read_congestion(sock: socket.socket, asked: str = "") -> OptionReading:
    """Read the congestion control really used."""
    used = congestion_used(sock)
    note = "not what was asked for" if asked and used not in (None, asked) else ""
    return OptionReading("congestion", asked or None, used, used, "", note)


def set_max_pacing_rate(sock: socket.socket, rate_bps: int) -> None:
    """Let the kernel pace the socket at no more than `rate_bps` (SO_MAX_PACING_RATE, socket(7)).

    TCP paces itself, with or without the fq queueing discipline. Raises EngineError 140.
    """
    if not _LINUX:
        raise EngineError(140, "this system does not pace sockets")
    rate_bytes_per_s = max(1, min(rate_bps // 8, _NO_PACING_RATE - 1))
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, struct.pack("=Q", rate_bytes_per_s))
    except OSError as error:
        raise EngineError(
            140, f"cannot set the socket's pacing rate: {error.strerror}", error.errno or 0
        ) from None


def max_pacing_bps(sock: socket.socket) -> int | None:
    """The kernel's pacing limit of a socket in bit/s; None when there is no limit."""
    if not _LINUX:
        return None
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, 8)
    except OSError:
        return None
    if len(raw) < 8:  # kernels before 4.20 know 32 bits
        rate = int.from_bytes(raw, sys.byteorder)
        return None if rate == 0xFFFFFFFF else rate * 8
    (rate,) = struct.unpack("=Q", raw)
    return None if rate == _NO_PACING_RATE else rate * 8


def read_max_pacing_rate(sock: socket.socket, asked_bps: int = 0) -> OptionReading:
    """Read the kernel's pacing limit."""
    used = max_pacing_bps(sock)
    return OptionReading("max_pacing_rate", asked_bps or None, used, used, "bit/s")


def set_tos(sock: socket.socket, tos: int) -> None:
    """Set the byte of DSCP and ECN bits. Raises EngineError 125 (IPv4) or 126 (IPv6)."""
    six = sock.family == socket.AF_INET6
    try:
        if six:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
        else:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    except OSError as error:
        raise EngineError(
            126 if six else 125,
            f"cannot set the type of service to {tos}: {error.strerror}",
            error.errno or 0,
        ) from None


def read_tos(sock: socket.socket, asked: int = 0) -> OptionReading:
    """Read the byte of DSCP and ECN bits; TCP keeps the ECN bits for itself."""
    if sock.family == socket.AF_INET6:
        used = sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    else:
        used = sock.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
    note = "TCP sets the two ECN bits itself" if asked and used != asked else ""
    return OptionReading("tos", asked or None, used, used, "", note)


def unread_bytes(sock: socket.socket) -> int | None:
    """Bytes that wait in a socket's receive queue (FIONREAD, tcp(7)); None where not known."""
    if not _LINUX:
        return None
    return _ask_queue(sock, termios.FIONREAD)


def unsent_bytes(sock: socket.socket) -> int | None:
    """Bytes the far end has not confirmed yet (SIOCOUTQ, tcp(7)); None where not known."""
    return _ask_queue(sock, termios.TIOCOUTQ) if _LINUX else None


def _ask_queue(sock: socket.socket, what: int) -> int | None:
    held = array.array("i", [0])
    try:
        fcntl.ioctl(sock.fileno(), what, held)
    except OSError:
        return None
    return held[0]
