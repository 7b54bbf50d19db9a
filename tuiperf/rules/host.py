"""What a run's HostFacts say, for the rules: growth of counters, the link."""

from __future__ import annotations

from typing import Any

from tuiperf.session import Session

DAMAGE = (
    ("device.rx_errors", "damaged frames received"),
    ("device.rx_frame", "misaligned frames received"),
    ("device.tx_carrier", "losses of the carrier while sending"),
    ("device.collisions", "collisions"),
)
"""Counters that only a bad cable, a bad port or half duplex lets grow (statistics.rst)."""
LARGEST_MBPS = 10_000_000


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
    }


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
