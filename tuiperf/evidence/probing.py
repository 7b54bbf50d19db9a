"""What probes have in common: ICMP echoes as bytes, and the error queue of a socket.

Layouts: RFC 792, RFC 4443; struct sock_extended_err in include/uapi/linux/errqueue.h, ip(7).
Decoding is pure and never raises; what a stranger's packet says is only ever a number.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from dataclasses import dataclass
from typing import Any

IP_RECVERR, IPV6_RECVERR = 11, 25
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_PROBE = 10, 23, 3
IP_TTL, IPV6_UNICAST_HOPS, IPV6_HOPLIMIT = 2, 16, 52
MSG_ERRQUEUE = 0x2000

_ORIGIN_LOCAL, _ORIGIN_ICMP, _ORIGIN_ICMP6 = 1, 2, 3
_EXTENDED = struct.Struct("=IBBBBII")
_ECHO = struct.Struct("!BBHHH")


@dataclass(frozen=True)
class QueuedError:
    """One entry of an error queue: what went wrong, who says so, about which probe."""

    error: int  # an errno
    local: bool  # this host itself says so
    type: int = 0  # ICMP's type and code
    code: int = 0
    mtu_bytes: int = 0  # with EMSGSIZE: the MTU that the router names
    offender: str = ""  # the router's address
    port: int = 0  # the port that the probe was sent to
    payload: bytes = b""  # as far as the router quotes it

    @property
    def is_expired(self) -> bool:
        """The probe's time to live ran out at a router (ICMP 11, ICMPv6 3)."""
        return not self.local and self.error == errno.EHOSTUNREACH and self.type in (11, 3)


def echo_request(family: int, identifier: int, sequence: int, size_bytes: int) -> bytes:
    """An ICMP echo of `size_bytes` after the IP header. Datagram sockets fill in the rest."""
    kind = 128 if family == socket.AF_INET6 else 8
    padding = bytes(max(0, size_bytes - _ECHO.size))
    unsummed = _ECHO.pack(kind, 0, 0, identifier, sequence & 0xFFFF) + padding
    total = 0 if family == socket.AF_INET6 else checksum(unsummed)
    return _ECHO.pack(kind, 0, total, identifier, sequence & 0xFFFF) + padding


def checksum(data: bytes) -> int:
    """The Internet checksum, RFC 1071."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_reply(family: int, data: bytes) -> tuple[int, int] | None:
    """Identifier and sequence of an echo reply; a raw IPv4 socket gives the IP header as well."""
    if family == socket.AF_INET and data[:1] and data[0] >> 4 == 4:
        data = data[(data[0] & 0xF) * 4 :]
    if len(data) < _ECHO.size:
        return None
    kind, _, _, identifier, sequence = _ECHO.unpack_from(data)
    return (identifier, sequence) if kind == (129 if family == socket.AF_INET6 else 0) else None


def want_errors(probe: socket.socket) -> None:
    """Have ICMP errors queued with their origin. Raises OSError."""
    if probe.family == socket.AF_INET6:
        probe.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
    else:
        probe.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)


def never_fragment(probe: socket.socket) -> None:
    """Send with DF and disregard the path MTU that the kernel remembers. Raises OSError."""
    if probe.family == socket.AF_INET6:
        probe.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_PROBE)
    else:
        probe.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_PROBE)


def next_error(probe: socket.socket) -> QueuedError | None:
    """Take one entry from the error queue, None when it is empty."""
    try:
        payload, ancillary, _, address = probe.recvmsg(2048, 512, MSG_ERRQUEUE)
    except OSError:
        return None
    port = address[1] if isinstance(address, tuple) and len(address) > 1 else 0
    for _, type_, data in ancillary:
        if type_ in (IP_RECVERR, IPV6_RECVERR):
            found = decode_error(data, port, payload)
            if found is not None:
                return found
    return QueuedError(0, local=True)


def decode_error(data: bytes, port: int = 0, payload: bytes = b"") -> QueuedError | None:
    """struct sock_extended_err and the address of the host that sent the error."""
    if len(data) < _EXTENDED.size:
        return None
    number, origin, type_, code, _, info, _ = _EXTENDED.unpack_from(data)
    return QueuedError(
        error=number,
        local=origin not in (_ORIGIN_ICMP, _ORIGIN_ICMP6),
        type=type_,
        code=code,
        mtu_bytes=info if number == errno.EMSGSIZE else 0,
        offender=_address(data[_EXTENDED.size :]),
        port=port,
        payload=payload,
    )


def _address(data: bytes) -> str:
    """A sockaddr_in or sockaddr_in6 in figures."""
    family = int.from_bytes(data[:2], sys.byteorder)
    if family == socket.AF_INET and len(data) >= 8:
        return socket.inet_ntop(socket.AF_INET, data[4:8])
    if family == socket.AF_INET6 and len(data) >= 24:
        return socket.inet_ntop(socket.AF_INET6, data[8:24])
    return ""


def family_of(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def place(address: str, port: int) -> tuple[Any, ...]:
    """A socket's address; "fe80::1%eth0" says by its end which link is meant. Raises OSError."""
    if ":" not in address:
        return address, port
    plain, _, scope = address.partition("%")
    return plain, port, 0, socket.if_nametoindex(scope) if scope else 0


def echo_socket(address: str) -> tuple[socket.socket, bool]:
    """A socket for echoes and whether it is raw. Raises OSError (EACCES) when none is allowed.

    A datagram socket needs no rights but a group in net.ipv4.ping_group_range (icmp(7)).
    """
    family = family_of(address)
    protocol = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
    try:
        return socket.socket(family, socket.SOCK_DGRAM, protocol), False
    except PermissionError:
        return socket.socket(family, socket.SOCK_RAW, protocol), True
