"""The rule book: which rules there are, in which order they are asked, and what comes of it.

The order is the argument: what makes a measurement void comes before the hosts, these before the
windows, and the windows before what the path does. A rule that does not hold clearly says nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tuiperf.session import Direction, Session

from . import datagrams, loss, pace, path, window
from .facts import Facts, derive
from .verdict import Confidence, Level, Verdict

Rule = Callable[[Facts], Verdict | None]

RULES: tuple[Rule, ...] = (
    pace.too_early,
    pace.silent,
    pace.unknown_stack,
    path.host_limited,
    pace.ramping,
    pace.offered_less,
    path.slow_reader,
    window.judge,
    loss.judge,
    path.path_full,
    path.unclear,
    path.no_limit_found,
)

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
    verdicts = [_first(each) for each in facts]
    if len(facts) > 1:
        verdicts = [
            _with_direction(verdict, each.direction)
            for verdict, each in zip(verdicts, facts, strict=True)
        ]
    return sorted(verdicts, key=lambda verdict: _RANK[verdict.level])


def diagnosis(session: Session) -> dict[str, Any]:
    """What a JSON report holds under "diagnosis"."""
    return {"verdicts": [verdict.to_json() for verdict in judge(session)]}


def _first(facts: Facts) -> Verdict:
    for rule in RULES:
        verdict = rule(facts)
        if verdict is not None:
            return verdict
    raise AssertionError("the last rule always holds")


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
            else "Cannot tell yet; missing: data to judge."
        ),
    )
