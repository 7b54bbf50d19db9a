"""What a run's HostFacts say, for the rules: growth of counters, the link."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from tuiperf import events as ev
from tuiperf.session import Session

DAMAGE = (
    ("device.rx_errors", "damaged frames received"),
    ("device.rx_frame", "misaligned frames received"),
    ("device.tx_carrier", "losses of the carrier while sending"),
    ("device.collisions", "collisions"),
)
"""Counters that only a bad cable, a bad port or half duplex lets grow (statistics.rst)."""
LARGEST_MBPS = 10_000_000
RECEIVED_DROPS = (
    ("softnet.dropped", "in a core's receive backlog (softnet_stat, dropped)"),
    ("device.rx_dropped", "by the device or its driver (rx_dropped)"),
    ("tcp.TCPRcvQDrop", "in full socket queues (TcpExt TCPRcvQDrop)"),
)
SENT_DROPS = (("device.tx_dropped", "in the queue before the device (tx_dropped)"),)
UDP_DROPS = {
    "receiver": (
        ("udp.RcvbufErrors", "in full socket buffers (Udp RcvbufErrors)"),
        *RECEIVED_DROPS[:2],
    ),
    "sender": (("udp.SndbufErrors", "in full socket buffers (Udp SndbufErrors)"), *SENT_DROPS),
}
"""Counters of packets that this host itself loses, of the whole host: a share of what is missing is
put down to them only where they make up most of it."""
CORES_MOST = 1024


def of(session: Session) -> dict[str, Any]:
    """The fields of Facts that come from HostFacts."""
    speed = _link(session, "speed_mbps")
    physical = _link(session, "class") == "physical"
    known = physical and isinstance(speed, int) and 0 < speed <= LARGEST_MBPS
    damage = [(words, grown(session, name) or 0) for name, words in DAMAGE] if physical else []
    return {
        "wmem_most_bytes": _third(session, "net.ipv4.tcp_wmem"),
        "duplicates_received": _sum(
            grown(session, "tcp.TCPDSACKOldSent"), grown(session, "tcp.TCPDSACKOfoSent")
        ),
        "link_bps": speed * 1e6 if known and isinstance(speed, int) else None,
        "link_duplex": _text(_link(session, "duplex")) if physical else None,
        "link_class": _text(_link(session, "class")),
        "link_damage": tuple((words, count) for words, count in damage if count),
        "received_drops": drops(session, RECEIVED_DROPS),
        "sent_drops": drops(session, SENT_DROPS),
        "squeezed": grown(session, "softnet.squeezed"),
        "steal_share": core_share(session, ("steal_s",)),
        "softirq_share": core_share(session, ("softirq_s", "steal_s")),
    }


def drops(session: Session, names: Sequence[tuple[str, str]]) -> tuple[tuple[str, int], ...]:
    """Where this host lost packets during the test, and how many; () when nowhere or not known."""
    found = [(words, grown(session, name) or 0) for name, words in names]
    return tuple((words, count) for words, count in found if count)


def core_share(session: Session, kinds: Sequence[str]) -> float | None:
    """The largest share of its time that any one core spent on these, None while not known."""
    begin, end = session.host_facts.get("begin"), session.host_facts.get("end")
    if begin is None or end is None or end.t_s <= begin.t_s:
        return None
    shares = []
    for core in range(CORES_MOST):
        names = [f"core{core}.{kind}" for kind in kinds]
        if not any(name in end.counters for name in names):
            break
        known = [_seconds(end, name) - _seconds(begin, name) for name in names]
        shares.append(sum(known) / (end.t_s - begin.t_s))
    return min(1.0, max(0.0, *shares)) if shares else None


def _seconds(facts: ev.HostFacts, name: str) -> float:
    value = facts.counters.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isfinite(value):
        return 0.0
    return float(value)


def grown(session: Session, name: str) -> int | None:
    """How much a counter grew over the test; None while that is not known."""
    begin, end = session.host_facts.get("begin"), session.host_facts.get("end")
    if begin is None or end is None:
        return None
    first, last = _counter(begin.counters.get(name)), _counter(end.counters.get(name))
    if first is None or last is None or last < first:
        return None
    return last - first


def _counter(value: object) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool)
    return value if known and isinstance(value, int) and 0 <= value < 2**64 else None


def _link(session: Session, name: str) -> object:
    newest = session.host_facts.get("end") or session.host_facts.get("begin")
    return newest.link.get(name) if newest else None


def _third(session: Session, name: str) -> int | None:
    """The largest size of tcp_rmem or tcp_wmem: its third number."""
    newest = session.host_facts.get("begin")
    words = str(newest.settings.get(name, "")).split() if newest else []
    known = len(words) == 3 and words[2].isdecimal() and len(words[2]) < 13
    return int(words[2]) if known else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) <= 16 else None


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
