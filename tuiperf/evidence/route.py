"""The way a host is reached by: device, source address, gateway, and the gateway's MAC entry.

Layouts: include/uapi/linux/rtnetlink.h, neighbour.h. Decoding is pure; readers never raise.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import files, probing
from .gaps import Gaps, reason
from .netlink import attribute, attributes, unsigned
from .netlink_socket import NETLINK_ROUTE, Netlink

_RTM_GETROUTE, _RTM_GETNEIGH = 26, 30
_ROUTE = struct.Struct("=BBBBBBBBI")
_NEIGHBOUR = struct.Struct("=BxxxiHBB")
_ADDRESS_BYTES: dict[int, int] = {socket.AF_INET: 4, socket.AF_INET6: 16}
FAMILIES = tuple(_ADDRESS_BYTES)
"""IPv4 and IPv6."""
_LOCAL = 2  # RTN_LOCAL
_MAIN_TABLE = 254
_REFUSED = {6: "blackhole", 7: "unreachable", 8: "prohibited"}
_STATES = (
    (0x02, "reachable"),
    (0x04, "stale"),
    (0x08, "delay"),
    (0x10, "probe"),
    (0x01, "incomplete"),
    (0x20, "failed"),
    (0x40, "no ARP"),
    (0x80, "permanent"),
)

RESOLVE_S = 2.0


@dataclass(frozen=True)
class Route:
    """How a destination is reached. `refusal` says in words why it is not."""

    destination: str = ""
    device: str = ""
    device_index: int | None = None
    source: str = ""
    gateway: str = ""
    local: bool = False  # it is this host itself
    mtu_bytes: int | None = None  # a limit set on the route
    refusal: str = ""


def resolve(host: str, family: int = 0, timeout_s: float = RESOLVE_S) -> tuple[str, str]:
    """A host's first address and "", or "" and why there is none; bounded in time."""
    answer: list[tuple[str, str]] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
            answer.append((_in_figures(found[0][4]), ""))
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            answer.append(("", (why or "no valid name").lower()))

    worker = threading.Thread(target=ask, daemon=True, name="resolve")
    worker.start()
    worker.join(timeout_s)
    if not answer:
        return "", f"its name was not resolved within {timeout_s:g} s"
    return answer[0]


def _in_figures(place: tuple[Any, ...]) -> str:
    """A socket's address without its port; one that is valid on one link alone names that link."""
    address, scope = str(place[0]), place[3] if len(place) > 3 else 0
    return f"{address}%{socket.if_indextoname(scope)}" if scope and "%" not in address else address


def is_link_local(address: str) -> bool:
    """fe80::/10, an address that exists on every link: it says nothing without one (RFC 4007)."""
    plain = address.partition("%")[0]
    return ":" in plain and ipaddress.ip_address(plain).is_link_local


def towards(address: str, gaps: Gaps) -> Route:
    """The route that the kernel takes to an address (RTM_GETROUTE; else a connected UDP socket)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    plain, _, scope = address.partition("%")
    try:
        packed = socket.inet_pton(family, plain)
        index = socket.if_nametoindex(scope) if scope else 0
        with Netlink(NETLINK_ROUTE) as kernel:
            body = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0)
            body += attribute(1, packed)
            if index:
                body += attribute(4, struct.pack("=I", index))
            answers = kernel.ask(_RTM_GETROUTE, body)
    except OSError as error:
        if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL):
            return Route(destination=address, refusal=reason(error))
        gaps.failed("route over netlink", error)
        return _by_socket(address, family)
    found = decode(answers[0]) if answers else None
    return _named(found, address) if found else _by_socket(address, family)


def decode(body: bytes) -> Route | None:
    """The body of RTM_NEWROUTE; None when it is too short."""
    if len(body) < _ROUTE.size:
        return None
    family, _, _, _, _, _, _, type_, _ = _ROUTE.unpack_from(body)
    found = attributes(body[_ROUTE.size :])
    metrics = attributes(found.get(8, b""))
    gateway = address_of(family, found.get(5)) or _via(found.get(18))
    return Route(
        destination=address_of(family, found.get(1)),
        device_index=unsigned(found.get(4)),
        source=address_of(family, found.get(7)),
        gateway=gateway,
        local=type_ == _LOCAL,
        mtu_bytes=unsigned(metrics.get(2)),
        refusal=_REFUSED.get(type_, ""),
    )


def address_of(family: int, value: bytes | None) -> str:
    """An address in figures, "" when the bytes are none."""
    if value is None or len(value) != _ADDRESS_BYTES.get(family):
        return ""
    return socket.inet_ntop(family, value)


def _via(value: bytes | None) -> str:
    """RTA_VIA: a gateway of the other family."""
    if value is None or len(value) < 2:
        return ""
    return address_of(struct.unpack_from("=H", value)[0], value[2:])


def _named(route: Route, address: str) -> Route:
    name = ""
    if route.device_index:
        try:
            name = socket.if_indextoname(route.device_index)
        except OSError:
            name = ""
    return replace(route, destination=address, device=name)


def _by_socket(address: str, family: int) -> Route:
    """What a connected UDP socket tells: the source address; the device by /proc/net/route."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(probing.place(address, 9))
            source = str(probe.getsockname()[0])
    except OSError as error:
        return Route(destination=address, refusal=reason(error))
    table = files.text("/proc/thread-self/net/route") or files.text("/proc/net/route") or ""
    device, gateway = of_proc(table, address) if family == socket.AF_INET else ("", "")
    return Route(destination=address, device=device, source=source, gateway=gateway)


def of_proc(table: str, address: str = "0.0.0.0") -> tuple[str, str]:
    """Device and gateway by /proc/net/route: the longest match, the lowest metric; else "" twice.

    Its numbers are the bytes of the address as a word of this machine.
    """
    wanted = struct.unpack("=I", socket.inet_pton(socket.AF_INET, address))[0]
    best: tuple[tuple[int, int], str, str] | None = None
    for line in table.splitlines()[1:4096]:
        words = line.split()
        try:
            destination, gateway, mask = (int(words[at], 16) for at in (1, 2, 7))
            metric = int(words[6])
            hop = socket.inet_ntop(socket.AF_INET, struct.pack("=I", gateway))
        except (IndexError, ValueError, struct.error):
            continue
        rank = (-bin(mask).count("1"), metric)
        if wanted & mask == destination and (best is None or rank < best[0]):
            best = rank, words[0], "" if gateway == 0 else hop
    return (best[1], best[2]) if best else ("", "")


def default_routes(gaps: Gaps) -> tuple[Route, ...]:
    """The default routes of the main table, IPv4 before IPv6, best metric first."""
    found: list[tuple[int, Route]] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with Netlink(NETLINK_ROUTE) as kernel:
                body = _ROUTE.pack(family, 0, 0, 0, 0, 0, 0, 0, 0)
                bodies = kernel.ask(_RTM_GETROUTE, body, dump=True)
        except OSError as error:
            gaps.failed("routes over netlink", error)
            continue
        found += sorted(_defaults(bodies), key=lambda each: each[0])
    if not found:
        table = files.text("/proc/thread-self/net/route") or ""
        device, gateway = of_proc(table)
        return (Route("default", device, gateway=gateway),) if device else ()
    return tuple(_named(route, "default") for _, route in found)


def _defaults(bodies: Iterable[bytes]) -> list[tuple[int, Route]]:
    routes = []
    for body in bodies:
        route = decode(body)
        if route is None or body[1] != 0 or body[4] != _MAIN_TABLE or not route.device_index:
            continue
        metric = unsigned(attributes(body[_ROUTE.size :]).get(6)) or 0
        routes.append((metric, route))
    return routes


def neighbour_state(address: str, device_index: int | None) -> str:
    """What the neighbour table says of an address: "reachable", "stale", "failed"…; "" unknown."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with Netlink(NETLINK_ROUTE) as kernel:
            bodies = kernel.ask(_RTM_GETNEIGH, _NEIGHBOUR.pack(family, 0, 0, 0, 0), dump=True)
    except OSError:
        return ""
    for body in bodies:
        entry = decode_neighbour(body)
        if entry and entry[0] == address.partition("%")[0] and device_index in (None, entry[1]):
            return entry[2]
    return ""


def decode_neighbour(body: bytes) -> tuple[str, int, str] | None:
    """The body of RTM_NEWNEIGH: address, device's index, state."""
    if len(body) < _NEIGHBOUR.size:
        return None
    family, index, state, _, _ = _NEIGHBOUR.unpack_from(body)
    address = address_of(family, attributes(body[_NEIGHBOUR.size :]).get(1))
    return address, index, next((word for bit, word in _STATES if state & bit), "")
