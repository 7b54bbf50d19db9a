"""The rule book: which rules there are, in which order they are asked, and what comes of it.

The order is the argument: what makes a measurement void comes before the hosts, these before the
windows, and the windows before what the path does. A rule that does not hold clearly says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tuiperf.session import Direction, Session

from . import (
    datagrams,
    delay,
    handshake,
    lines,
    local,
    loss,
    order,
    pace,
    path,
    port,
    rfc6349,
    sharing,
    stops,
    window,
)
from .facts import Facts, derive
from .quantities import rate
from .verdict import Confidence, Level, Verdict

Rule = Callable[[Facts], Verdict | None]

LIMITS: tuple[Rule, ...] = (
    stops.black_hole,
    pace.too_early,
    stops.silent,
    pace.unknown_stack,
    stops.outage,
    path.host_limited,
    local.drops,
    local.no_time,
    pace.ramping,
    pace.offered_less,
    path.slow_reader,
    window.judge,
    path.slow_sender,
    port.duplex_mismatch,
    loss.judge,
    lines.judge,
    path.path_full,
    path.hosts_pace,
    path.unclear,
    path.no_limit_found,
)
"""What sets the speed: the first one that holds."""

SIGNS: tuple[Rule, ...] = (
    port.link_degraded,
    order.reordered,
    order.duplicated,
    delay.jitter,
    delay.bufferbloat,
    sharing.unsteady,
    handshake.ecn_marked,
    handshake.middlebox,
    port.on_the_air,
)
"""What else is true of the path: all that hold. Where nothing is wrong with the speed, these come
before it."""

HEALTHY = frozenset({"path-full", "line-rate", "slow-hop", "no-limit-found", "offered-less"})
SURE = frozenset(
    {"link-degraded", "reordered", "duplicated", "ecn-marked", "middlebox", "unsteady"}
)
"""Signs that may speak while the limit is still unclear."""
NOT_BESIDE = {
    "lossy": frozenset({"unsteady", "jitter"}),
    "window-limited": frozenset({"unsteady", "jitter", "bufferbloat"}),
    "slow-reader": frozenset({"unsteady", "jitter", "bufferbloat"}),
    "outage": frozenset({"unsteady", "jitter", "reordered", "bufferbloat"}),
    "duplex-mismatch": frozenset({"unsteady", "jitter", "link-degraded"}),
    "host-limited": frozenset({"unsteady", "jitter", "bufferbloat"}),
}
"""Signs that the limit itself explains."""

WHOLE_DIFFERS = 0.02  # the whole run's mean and the steady part's, from which on both are told

_RANK = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}


def judge(session: Session) -> list[Verdict]:
    """The verdicts of a session so far, the first one first; there is always one.

    A pure function of the session: asked again it answers the same, asked of a longer session it
    keeps what it said unless the facts change. One verdict for each direction that carries data.
    """
    if session.test is not None and session.test.udp and session.flows:
        return _of_datagrams(session)
    facts = derive(session)
    if not facts:
        return [_nothing_yet(session)]
    ways = [_of_direction(each) for each in facts]
    if len(facts) > 1:
        ways = [
            [_with_direction(verdict, each.direction) for verdict in verdicts]
            for verdicts, each in zip(ways, facts, strict=True)
        ]
    ways.sort(key=lambda verdicts: _RANK[verdicts[0].level])
    both = sharing.shared_medium(session, facts)
    return [*([both] if both else []), *(verdict for verdicts in ways for verdict in verdicts)]


def diagnosis(session: Session) -> dict[str, Any]:
    """What a JSON report holds under "diagnosis"."""
    told: dict[str, Any] = {"verdicts": [verdict.to_json() for verdict in judge(session)]}
    metrics = rfc6349.metrics(session)
    if metrics:
        told["rfc6349"] = metrics
    return told


def _of_direction(facts: Facts) -> list[Verdict]:
    """What limits one direction and what else is true of it, the more important one first."""
    rule, limit = next((rule, told) for rule in LIMITS if (told := rule(facts)) is not None)
    limit = _beside_the_whole(limit, facts)
    if rule is pace.ramping and facts.over and (varies := delay.jitter(facts)) is not None:
        return [varies, limit]  # cubic takes jitter for a queue and leaves its quick start
    waits = limit.level is Level.PENDING and rule is not path.unclear
    if waits or limit.id == "mtu-blackhole":
        return [limit]
    beside = NOT_BESIDE.get(limit.id, frozenset())
    found = [verdict for rule in SIGNS if (verdict := rule(facts)) is not None]
    names = {verdict.id for verdict in found}
    beside |= frozenset({"unsteady"}) if "jitter" in names else frozenset()
    found = [verdict for verdict in found if verdict.id not in beside]
    found.sort(key=lambda verdict: _RANK[verdict.level])
    if rule is path.unclear:
        sure = [verdict for verdict in found if verdict.id in SURE]
        return sure or [limit]
    ahead = limit.id in HEALTHY and found and _RANK[found[0].level] <= _RANK[limit.level]
    return [found[0], limit, *found[1:]] if ahead else [limit, *found]


def _beside_the_whole(verdict: Verdict, facts: Facts) -> Verdict:
    """Where a verdict tells the rate of the steady part, say why the run's own mean is another."""
    steady_bps, whole_bps = facts.goodput_bps, facts.whole_bps
    if not steady_bps or not whole_bps or abs(whole_bps / steady_bps - 1) < WHOLE_DIFFERS:
        return verdict
    if rate(steady_bps) not in verdict.claim:
        return verdict
    start_s = facts.elapsed_s - facts.steady_s
    line = (
        f"{rate(steady_bps)} is the mean without the first {start_s:.1f} s, in which TCP starts; "
        f"the whole run's is {rate(whole_bps)}"
    )
    return replace(verdict, because=(*verdict.because, line))


def _of_datagrams(session: Session) -> list[Verdict]:
    ways = [way for way in Direction if way in session.flows]
    verdicts = [datagrams.judge(session, way) for way in ways]
    if len(ways) > 1:
        verdicts = [
            _with_direction(verdict, way) for verdict, way in zip(verdicts, ways, strict=True)
        ]
    return sorted(verdicts, key=lambda verdict: _RANK[verdict.level])


def _with_direction(verdict: Verdict, direction: Direction) -> Verdict:
    pairs = dict((("direction", direction.value), *verdict.qualifier))
    return replace(verdict, qualifier=tuple(pairs.items()))


def _nothing_yet(session: Session) -> Verdict:
    over = session.ended is not None or session.failure is not None
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell" if over else "Cannot tell yet",
        short="no data was seen" if over else "waits for data",
        claim=(
            "Cannot tell: no data was seen in this run."
            if over
            else "Cannot tell yet; missing: the first data."
        ),
    )
