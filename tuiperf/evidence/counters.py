"""Counters to be read twice: of the card, of the host's receive path, of TCP and UDP, of queues.

Sources: Documentation/networking/statistics.rst, snmp_counter.rst; net/core/net-procfs.c.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from . import ethtool_reader, files, interfaces
from .gaps import Gaps
from .netlink import attributes, string
from .netlink_socket import NETLINK_ROUTE, Netlink

TCP_EXT = (
    "TCPTimeouts",
    "TCPSpuriousRTOs",
    "TCPDSACKRecv",
    "TCPSACKReorder",
    "TCPLostRetransmit",
    "ListenDrops",
    "TCPBacklogDrop",
    "TCPRcvQDrop",
)
UDP = ("InErrors", "RcvbufErrors", "SndbufErrors", "InCsumErrors")

_RTM_GETQDISC = 38
_TCMSG = struct.Struct("=BxxxiIII")
_ROOT = 0xFFFFFFFF  # TC_H_ROOT
_NO_QUEUES = ("ingress", "clsact")  # they hold filters: what those drop is policy
_NET = "/proc/thread-self/net"  # the namespace of the thread that reads


@dataclass(frozen=True)
class Softnet:
    """The host's receive path, all cores together (/proc/net/softnet_stat)."""

    processed: int = 0
    dropped: int = 0
    squeezed: int = 0  # the time for one round ran out with frames left


@dataclass(frozen=True)
class Qdisc:
    """One queue of an interface."""

    kind: str
    root: bool
    drops: int = 0
    backlog_bytes: int = 0


@dataclass(frozen=True)
class Counts:
    """All counters at one moment, `t_s` on the monotonic clock."""

    t_s: float
    nic: Mapping[str, int] = field(default_factory=dict)
    standard: Mapping[str, int] = field(default_factory=dict)
    driver: Mapping[str, int] = field(default_factory=dict)
    softnet: Softnet | None = None
    tcp: Mapping[str, int] = field(default_factory=dict)
    udp: Mapping[str, int] = field(default_factory=dict)
    qdiscs: tuple[Qdisc, ...] = ()
    carrier_changes: int | None = None


@dataclass(frozen=True)
class Window:
    """What was counted between two moments. A counter that went backwards is left out."""

    seconds: float
    nic: Mapping[str, int] = field(default_factory=dict)
    standard: Mapping[str, int] = field(default_factory=dict)
    driver: Mapping[str, int] = field(default_factory=dict)
    softnet: Softnet | None = None
    tcp: Mapping[str, int] = field(default_factory=dict)
    udp: Mapping[str, int] = field(default_factory=dict)
    qdisc_drops: int | None = None
    carrier_changes: int | None = None


def take(interface: interfaces.Interface, gaps: Gaps) -> Counts:
    """Read all counters now. Never raises."""
    again = interfaces.read_one(interface.index) or interface
    standard, driver = ethtool_reader.counters(interface.name)
    received = softnet_text()
    netstat, snmp = files.text(f"{_NET}/netstat"), files.text(f"{_NET}/snmp")
    for what, content in (("softnet", received), ("TCP's counters", netstat)):
        if content is None:
            gaps.note(what, "/proc/net cannot be read")
    return Counts(
        t_s=now_s(),
        nic=again.counters,
        standard=standard,
        driver=driver,
        softnet=softnet(received),
        tcp=pairs(netstat or "", "TcpExt", TCP_EXT),
        udp=pairs(snmp or "", "Udp", UDP),
        qdiscs=qdiscs(interface.index, gaps),
        carrier_changes=again.carrier_changes,
    )


def softnet_text() -> str | None:
    """The kernel's table of its receive path."""
    return files.text(f"{_NET}/softnet_stat")


def now_s() -> float:
    """The clock of `Counts.t_s`."""
    return time.monotonic()


def difference(before: Counts, after: Counts) -> Window:
    """What was counted between two looks."""
    softnet_delta = None
    if before.softnet and after.softnet:
        parts = [
            max(0, getattr(after.softnet, name) - getattr(before.softnet, name))
            for name in ("processed", "dropped", "squeezed")
        ]
        softnet_delta = Softnet(*parts)
    drops: int | None = None
    if before.qdiscs and [q.kind for q in before.qdiscs] == [q.kind for q in after.qdiscs]:
        drops = max(0, qdisc_drops(after) - qdisc_drops(before))
    changes = None
    if before.carrier_changes is not None and after.carrier_changes is not None:
        changes = max(0, after.carrier_changes - before.carrier_changes)
    return Window(
        seconds=after.t_s - before.t_s,
        nic=_grown(before.nic, after.nic),
        standard=_grown(before.standard, after.standard),
        driver=_grown(before.driver, after.driver),
        softnet=softnet_delta,
        tcp=_grown(before.tcp, after.tcp),
        udp=_grown(before.udp, after.udp),
        qdisc_drops=drops,
        carrier_changes=changes,
    )


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {
        name: count - before[name]
        for name, count in after.items()
        if name in before and count >= before[name]
    }


def qdisc_drops(counts: Counts) -> int:
    """Drops of an interface's queues: the root counts its children's, where there is one."""
    queues = [each for each in counts.qdiscs if each.kind not in _NO_QUEUES]
    roots = sum(each.drops for each in queues if each.root)
    return max(roots, sum(each.drops for each in queues if not each.root))


def softnet(text: str | None) -> Softnet | None:
    """/proc/net/softnet_stat: a line a core, hexadecimal: processed, dropped, squeezed, …"""
    if not text:
        return None
    totals = [0, 0, 0]
    for line in text.splitlines()[:8192]:
        words = line.split()
        try:
            numbers = [int(word, 16) for word in words[:3]]
        except ValueError:
            return None
        if len(numbers) < 3:
            return None
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
    return Softnet(*totals)


def pairs(text: str, section: str, wanted: Iterable[str]) -> dict[str, int]:
    """/proc/net/netstat and snmp: a line of names, a line of numbers, each begun by its section."""
    lines = [line.split() for line in text.splitlines()[:256] if line.startswith(f"{section}:")]
    if len(lines) < 2:
        return {}
    known = {
        name: number
        for name, word in zip(lines[0][1:], lines[1][1:], strict=False)
        if (number := files.whole(word)) is not None
    }
    return {name: known[name] for name in wanted if name in known}


def qdiscs(interface_index: int, gaps: Gaps) -> tuple[Qdisc, ...]:
    """The queues of an interface. Never raises."""
    try:
        with Netlink(NETLINK_ROUTE) as kernel:
            body = _TCMSG.pack(0, interface_index, 0, 0, 0)
            bodies = kernel.ask(_RTM_GETQDISC, body, dump=True)
    except OSError as error:
        gaps.failed("queues", error)
        return ()
    found = [decode_qdisc(body) for body in bodies]
    return tuple(each[1] for each in found if each and each[0] == interface_index)


def decode_qdisc(body: bytes) -> tuple[int, Qdisc] | None:
    """The body of RTM_NEWQDISC: the interface's index and the queue."""
    if len(body) < _TCMSG.size:
        return None
    _, index, _, parent, _ = _TCMSG.unpack_from(body)
    found = attributes(body[_TCMSG.size :])
    queue = attributes(found.get(7, b"")).get(3, b"")
    backlog, drops = struct.unpack_from("=4xII", queue) if len(queue) >= 12 else (0, 0)
    return index, Qdisc(string(found.get(1)) or "?", parent == _ROOT, drops, backlog)
