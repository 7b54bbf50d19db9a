"""The look before any load: the way to a host, its idle round trips, its largest packet. Not pure.

Nothing here raises; what cannot be learned is left out. The port is not tried: a server that was
started for one test would take that for it, and the first step tells who answers.
"""

from __future__ import annotations

import socket
import time
from typing import Any

from tuiperf.events import Looked
from tuiperf.evidence import gather, latency, path_mtu, route
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import Gaps
from tuiperf.rules.link import judge_link
from tuiperf.rules.verdict import Level, Verdict

PROBES, SPACING_S, WAIT_S = 12, 0.06, 0.6
MTU_LIMIT_S = 0.8
CONTROLS = ("cubic", "bbr")


def look(host: str, port: int, family: int, t_s: float) -> Looked:
    """Look once, about 2 s at most. `t_s` is the time when it began; the event's is its end."""
    begun_s = time.monotonic()
    found = _look(host, port, family)
    return Looked(t_s + time.monotonic() - begun_s, controls=_controls(), **found)


def _look(host: str, port: int, family: int) -> dict[str, Any]:
    gaps = Gaps()
    address, why = route.resolve(host, family)
    if not address:
        nothing = {"address": "", "device": "", "method": "", "sent": 0, "rtts_us": ()}
        return {**nothing, "problem": why}
    plan = gather.Plan(asked=address, port=port, window_s=0.0, family=family)
    facts = gather.find(plan, gaps)
    if facts.device is not None and not facts.problem:
        facts = gather.look(facts, gaps)
    trips = latency.measure(
        address, gaps, probes=PROBES, spacing_s=SPACING_S, wait_s=WAIT_S, port=port
    )
    return {
        "address": address,
        "device": facts.interface.name if facts.interface else "",
        "method": trips.method,
        "sent": trips.sent,
        "rtts_us": tuple(round(1000 * each) for each in trips.rtts_ms),
        "path_mtu_bytes": _path_mtu(address, facts, trips, gaps),
        "problem": facts.problem or ("" if trips.rtts_ms else trips.error),
        "findings": tuple(map(_json, _findings(facts))),
    }


def _path_mtu(address: str, facts: LinkFacts, trips: latency.Latency, gaps: Gaps) -> int | None:
    mtu = facts.interface.mtu_bytes if facts.interface else None
    if not mtu or not trips.rtts_ms or not trips.method.startswith("icmp"):
        return None
    wait_s = min(0.4, max(0.1, 3 * max(trips.rtts_ms) / 1e3))
    return path_mtu.find(address, mtu, gaps, wait_s=wait_s, limit_s=MTU_LIMIT_S).mtu_bytes


def _findings(facts: LinkFacts) -> list[Verdict]:
    if facts.problem or facts.device is None:
        return []
    return [each for each in judge_link(facts) if each.level in (Level.FAULT, Level.LOOK)]


def _json(verdict: Verdict) -> dict[str, Any]:
    return {**verdict.to_json(), "title": verdict.title, "short": verdict.short}


def _controls() -> tuple[str, ...]:
    """Of the congestion controls that the sweep sets, those this user may have (tcp(7))."""
    return tuple(filter(_may_use, CONTROLS))


def _may_use(name: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode("ascii"))
        except (AttributeError, OSError):  # no such option outside Linux
            return False
    return True
