"""What the whole sweep says: verdicts, the best number of connections, what stays open. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tuiperf.rules.quantities import percent, rate
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Direction

from . import experiments
from .known import Kind, Known, Reading
from .opinion import Opinion
from .plan import MAY_SHARE, RANK, opinions
from .suitability import Use, uses

BEST_SHARE = 0.95  # fewer connections that reach so much of the best are preferred
SHARED_MOST = 1.12
"""Both together over the faster one alone. Measured 0.99 on one medium, 1.23 where deep queues hold
acknowledgements back, 1.9 on full duplex."""
BUSY = 0.85
HOSTS = frozenset({"slow-reader", "offered-less", "host-limited"})
CODES = {Level.FINE: 0, Level.LOOK: 1, Level.FAULT: 2, Level.PENDING: 3}


@dataclass(frozen=True)
class Best:
    """The fewest connections that carry nearly the most, in one direction."""

    way: Direction
    streams: int
    goodput_bps: float
    tried: tuple[tuple[int, float], ...]  # connections and goodput in bit/s, all that was tried


@dataclass(frozen=True)
class Conclusion:
    """The end of a sweep, or how it would end now."""

    verdicts: tuple[Verdict, ...]  # the first one first; there is always one
    settled: bool
    best: tuple[Best, ...]
    uses: tuple[Use, ...]
    open: tuple[str, ...]  # what was left open, and who could tell
    rfc6349: dict[str, Any]
    code: int  # the exit code: 0 healthy, 1 limited by a setting, 2 fault, 3 not settled

    @property
    def first(self) -> Verdict:
        return self.verdicts[0]


def conclude(known: Known) -> Conclusion:
    """Judge all that is known."""
    held = opinions(known)
    verdicts = _verdicts(known, held)
    measured = [each for each in held if each.verdict is not None]
    settled = bool(measured) and all(each.settled for each in measured)
    first = verdicts[0]
    return Conclusion(
        verdicts,
        settled,
        tuple(filter(None, (_best(known, way) for way in Direction))),
        uses(known, first),
        _open(known, held),
        _rfc6349(known),
        _code(first),
    )


def _code(first: Verdict) -> int:
    doubtful = first.id in ("no-limit-found", "cannot-tell", "still-ramping")
    unsure = doubtful and first.confidence is Confidence.LOW
    return 3 if unsure else CODES[first.level]


def _verdicts(known: Known, held: list[Opinion]) -> tuple[Verdict, ...]:
    shared = _shared_medium(known)
    firsts = [_directed(each) for each in held if each.verdict is not None]
    signs = [
        _named(verdict, each.way)
        for each in held
        if (base := known.baseline(each.way)) is not None
        for verdict in base.verdicts[1:]
    ]
    findings = [each for each in (known.idle.findings if known.idle else ()) if _counts(each)]
    firsts = _hosts_first(firsts)
    rest = sorted([*firsts[1:], *signs, *findings], key=lambda verdict: RANK[verdict.level])
    found = _once([*([shared] if shared else []), *firsts[:1], *rest])
    return tuple(found) or (_nothing(known),)


def _hosts_first(firsts: list[Verdict]) -> list[Verdict]:
    """A host that pauses sends and reads in bursts, and these overflow queues the other way."""
    if len(firsts) > 1 and firsts[1].id in HOSTS and _may_be_bursts(firsts[0]):
        return firsts[::-1]
    return firsts


def _may_be_bursts(verdict: Verdict) -> bool:
    """Loss that is not proven to be a line's."""
    proven = dict(verdict.qualifier).get("kind") == "path-loss"
    return verdict.id == "lossy" and not (proven and verdict.confidence is Confidence.HIGH)


def _counts(finding: Verdict) -> bool:
    return finding.level in (Level.FAULT, Level.LOOK)


def _directed(held: Opinion) -> Verdict:
    assert held.verdict is not None
    return _named(held.verdict, held.way)


def _named(verdict: Verdict, way: Direction) -> Verdict:
    """With its direction, as a sweep has two of them."""
    pairs = {"direction": way.value, **dict(verdict.qualifier)}
    return replace(verdict, qualifier=tuple(pairs.items()))


def _once(verdicts: list[Verdict]) -> list[Verdict]:
    seen: set[tuple[str, str]] = set()
    kept = []
    for each in verdicts:
        key = each.id, dict(each.qualifier).get("direction", "")
        if key not in seen:
            seen.add(key)
            kept.append(each)
    return kept


def _nothing(known: Known) -> Verdict:
    failed = [each for each in known.done if each.outcome == "failed"]
    begun = any(each.step.test for each in known.done)
    problem = failed[-1].problem if failed else "nothing was measured"
    if not begun:
        problem = "the first test is not over yet"
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell",
        short=problem,
        claim=f"Cannot tell: {problem}.",
    )


def _shared_medium(known: Known) -> Verdict | None:
    """Both directions at once carry no more than one of them alone."""
    alone = [known.baseline(way) for way in Direction]
    beside = [known.reading(Kind.BIDIR, way) for way in Direction]
    if None in alone or None in beside:
        return None
    one = [each for each in alone if each is not None]
    two = [each for each in beside if each is not None]
    if any(each.verdict.id not in MAY_SHARE for each in one) or _hosts_busy(two):
        return None
    most = max(each.goodput_bps or 0.0 for each in one)
    together = sum(each.goodput_bps or 0.0 for each in two)
    if not most or together > SHARED_MOST * most:
        return None
    return Verdict(
        id="shared-medium",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="One medium, 2 ways",
        short=f"{rate(together)} together",
        claim=(
            "both directions share one medium (radio, half duplex or a common limit): together "
            f"they carry {rate(together)}, one alone {rate(most)}."
        ),
        because=(
            f"alone: {rate(one[0].goodput_bps or 0.0)} there, {rate(one[1].goodput_bps or 0.0)} "
            "back",
            f"at once: {rate(two[0].goodput_bps or 0.0)} there, {rate(two[1].goodput_bps or 0.0)} "
            f"back, {percent(together / most)} of the faster one alone",
        ),
        ruled_out=("full duplex: each direction would keep its rate",),
        next=(
            "on radio that is how it works; plan with the sum of both directions",
            "on a cable half duplex is a fault: check speed and duplex at both of its ends",
        ),
    )


def _hosts_busy(readings: list[Reading]) -> bool:
    return any(max(each.busy_share, each.far_busy_share) >= BUSY for each in readings)


def _best(known: Known, way: Direction) -> Best | None:
    base = known.baseline(way)
    if base is None or not base.goodput_bps:
        return None
    tried = {1: base.goodput_bps}
    for each in known.readings(Kind.PARALLEL, way):
        tried[each.streams] = each.goodput_bps or 0.0
    if len(tried) < 2:
        return None
    most = max(tried.values())
    streams = min(count for count, bps in tried.items() if bps >= BEST_SHARE * most)
    return Best(way, streams, tried[streams], tuple(sorted(tried.items())))


def _rfc6349(known: Known) -> dict[str, Any]:
    found = {way.value: base.rfc6349 for way in Direction if (base := known.baseline(way))}
    return {way: metrics for way, metrics in found.items() if metrics}


def _open(known: Known, held: list[Opinion]) -> tuple[str, ...]:
    """Questions without an answer, and what only a tuiperf at the far end could see."""
    told = []
    for each in held:
        if each.wants and each.question:
            told.append(f"{experiments.words(each.way, known.host)}: {each.question}")
        if each.verdict is not None:
            told += _far_end_alone(known, each.verdict, each.way)
    return tuple(dict.fromkeys(told))


def _far_end_alone(known: Known, verdict: Verdict, way: Direction) -> list[str]:
    host = known.host or "the far end"
    forward = way is Direction.FORWARD
    doubtful = verdict.confidence is not Confidence.HIGH
    if verdict.id in ("window-limited", "slow-reader") and forward and doubtful:
        side = dict(verdict.qualifier).get("side", "receiver")
        if side != "sender":
            return [
                f"whether {host}'s buffer is small or its program reads slowly is seen at {host} "
                f"alone: run tuiperf sweep there, towards this host"
            ]
    if verdict.confidence is Confidence.LOW and not forward:
        return [
            f"{host} sends, and its kernel's own account is seen there alone: run tuiperf sweep "
            f"at {host}, towards this host"
        ]
    return []
