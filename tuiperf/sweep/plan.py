"""The plan: from what is known to the next step and its reason, or to the end. Pure.

A decision procedure over the open question of each direction, not a list: the worse direction comes
first, and of its experiments the one that settles it with the least time and traffic. A step is
never run twice, and none that time or budget has no room for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tuiperf.rules.verdict import Confidence, Level
from tuiperf.session import Direction

from . import experiments
from .known import Done, Kind, Known, Mode, Reading, Step
from .opinion import MOST_STREAMS, SAME, Opinion, opinion

FORWARD, REVERSE = Direction.FORWARD, Direction.REVERSE
RANK = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}
SURE = {Confidence.HIGH: 0, Confidence.MEDIUM: 1, Confidence.LOW: 2}

NO_SERVER = frozenset({103, 104, 105, 108, 109, 110, 112, 121, 142})
"""iperf3's error numbers after which no other test would get any further."""
FIRST_SHARE = {Kind.FORWARD: 0.4, Kind.REVERSE: 0.5}  # of the budget that is left
HELD_SHARE = 0.9  # of an allowance that is asked for: what is under way comes besides
TELLS_LEAST_S = 2.5  # a run that its bytes end sooner tells nothing
LEAST_SHARE = 0.2  # of what it would carry: paced below that it tells too little
PACED_TO_LAST_S = 4.0
"""What would use up its bytes sooner is paced to last so long: it then tells what the path carries
at least."""
LEAST_BYTES = 200_000
UDP_LEAST_S = 2
MAY_SHARE_BPS, MAY_SHARE_RTT_US, MAY_SHARE_APART = 600e6, 30_000.0, 1.2
"""Radio and half duplex: slower than this, near, and alike in both directions."""
MAY_SHARE = frozenset({"path-full", "bufferbloat", "slow-hop", "no-limit-found", "jitter"})


@dataclass(frozen=True)
class End:
    """No step comes next. `left_out` are the kinds of experiments that were not needed."""

    reason: str  # settled, exhausted, time, budget, accepted, interrupted, unreachable
    text: str
    left_out: int = 0


def next_step(known: Known) -> Step | End:
    """The next step, or why there is none."""
    if known.interrupted or known.accepted:
        return _end(known, "interrupted" if known.interrupted else "accepted")
    if unreachable(known):
        return _end(known, "unreachable")
    short_of = ""
    for step in _wanted(known):
        if known.tried(step):
            continue
        fitted, lacking = _fit(step, known)
        if fitted is not None:
            return fitted
        short_of = short_of or lacking
    return _end(known, short_of or ("settled" if _settled(known) else "exhausted"))


def unreachable(known: Known) -> bool:
    """No test can be run at all."""
    if any(each.readings for each in known.done):
        return False
    return any(each.outcome == "failed" and each.code in NO_SERVER for each in known.done)


def opinions(known: Known) -> list[Opinion]:
    """Both directions, the worse one first."""
    found = [opinion(known, way) for way in (FORWARD, REVERSE)]
    return sorted(found, key=_gravity)


def _gravity(held: Opinion) -> tuple[int, int]:
    if held.verdict is None:
        return 9, 9
    return RANK[held.verdict.level], SURE[held.verdict.confidence]


def _settled(known: Known) -> bool:
    held = [each for each in opinions(known) if each.verdict is not None]
    pending = any(each.verdict.level is Level.PENDING for each in held if each.verdict)
    return bool(held) and not pending and not any(each.wants for each in held)


def _wanted(known: Known) -> Iterator[Step]:
    """Every step that may come now, the best one first; those run already are among them."""
    yield experiments.look(known)
    forward = known.baseline(FORWARD)
    if forward is None:
        yield experiments.baseline(known, FORWARD)
    elif not forward.goodput_bps:
        yield from opinion(known, FORWARD).wants
    if known.baseline(REVERSE) is None:
        yield experiments.baseline(known, REVERSE)
    for held in opinions(known):
        yield from held.wants
    if _may_share(known):
        yield experiments.both_ways(known)
    yield from _more(known)


def _may_share(known: Known) -> bool:
    """Both directions are full at about one rate: they may have one medium between them."""
    there, here = known.baseline(FORWARD), known.baseline(REVERSE)
    if there is None or here is None or there.same_host:
        return False
    rates = sorted((there.goodput_bps or 0.0, here.goodput_bps or 0.0))
    if not 0 < rates[1] < MAY_SHARE_BPS or rates[1] > MAY_SHARE_APART * rates[0]:
        return False
    near = (known.min_rtt_us or MAY_SHARE_RTT_US) < MAY_SHARE_RTT_US
    return near and all(each.verdict.id in MAY_SHARE for each in (there, here))


def _more(known: Known) -> Iterator[Step]:
    """Experiments for more certainty: all of them in a thorough sweep, else the next one, if it was
    wished for."""
    untried = (step for step in _certainty(known) if not known.tried(step))
    if known.limits.mode is Mode.THOROUGH:
        yield from untried
    elif known.wishes:
        yield from islice(untried, 1)


def _certainty(known: Known) -> Iterator[Step]:
    """What would add to the answer, in this order; a fixed list for what both ends can do."""
    for held in opinions(known):
        base = known.baseline(held.way)
        if base is None or held.verdict is None or not base.goodput_bps:
            continue
        yield from _certainty_of(known, held, base)
    if all(known.baseline(way) for way in (FORWARD, REVERSE)):
        yield experiments.both_ways(known)


def _certainty_of(known: Known, held: Opinion, base: Reading) -> Iterator[Step]:
    way = held.way
    half = experiments.udp(known, way)
    if half is not None:
        yield half
    if held.verdict is not None and held.verdict.id == "window-limited":
        yield experiments.window(known, way, base)
    yield from _ladder(known, way)
    yield from _search(known, way)
    if base.lost_packets:
        yield experiments.paced(known, way, base)
    if way is REVERSE or known.idle is None or experiments.BBR in known.idle.controls:
        yield experiments.control(known, way)
    yield experiments.repeat(known, way, 2)
    yield experiments.repeat(known, way, 3)


def _ladder(known: Known, way: Direction) -> Iterator[Step]:
    """2, 4, 8, 16 connections, until the gain fades or a core is full."""
    before = known.baseline(way)
    streams = 2
    while before is not None and streams <= MOST_STREAMS:
        yield experiments.parallel(known, way, streams)
        here = known.reading(Kind.PARALLEL, way, str(streams))
        if here is None or not _gained(before, here):
            return
        before, streams = here, 2 * streams


def _gained(before: Reading, after: Reading) -> bool:
    busy = max(after.busy_share, after.far_busy_share) >= 0.9
    return not busy and (after.goodput_bps or 0.0) >= SAME * (before.goodput_bps or 0.0)


def _search(known: Known, way: Direction) -> Iterator[Step]:
    """From just below what TCP reached downwards, until the datagrams arrive whole."""
    for share in experiments.SEARCH_SHARES:
        step = experiments.udp(known, way, share)
        if step is None:
            return
        yield step
        found = known.reading(Kind.UDP, way, share)
        if found is None or (found.lost_share or 0.0) <= 0.001:
            return


def _fit(step: Step, known: Known) -> tuple[Step | None, str]:
    """The step as time and budget allow it; None and what it is short of."""
    if not _in_time(step, known):
        return None, "time"
    if step.test is None:
        return step, ""
    if step.test.udp:
        return _udp_within(step, known)
    return _tcp_within(step, known)


def _in_time(step: Step, known: Known) -> bool:
    if step.kind is Kind.LOOK or not known.carried_bytes:
        return True
    return known.elapsed_s + step.seconds <= known.limits.time_s


def _left_bytes(known: Known) -> int:
    return known.limits.budget_bytes - known.carried_bytes


def _udp_within(step: Step, known: Known) -> tuple[Step | None, str]:
    test = step.test
    assert test is not None
    if not known.limits.budget_bytes or (step.most_bytes or 0) <= _left_bytes(known):
        return step, ""
    last_s = int(_left_bytes(known) * 8 / test.rate_bps - experiments.COUNTED_AT_ONCE_S)
    if last_s < UDP_LEAST_S:
        return None, "budget"
    shorter = replace(test, time_s=last_s)
    most = int(test.rate_bps / 8 * (last_s + experiments.COUNTED_AT_ONCE_S))
    return replace(step, test=shorter, most_bytes=most), ""


def _tcp_within(step: Step, known: Known) -> tuple[Step | None, str]:
    """With a budget the bytes end a run, and its time only if they do not."""
    test = step.test
    assert test is not None
    expected_bps = _expected_bps(step, known)
    last_s = step.seconds - experiments.OVERHEAD_S
    if not known.limits.budget_bytes:
        about = int(expected_bps / 8 * last_s) or None
        return replace(step, most_bytes=about), ""
    allowed = int(FIRST_SHARE.get(step.kind, 1.0) * _left_bytes(known))
    if allowed < max(LEAST_BYTES, LEAST_SHARE * expected_bps / 8 * min(TELLS_LEAST_S, last_s)):
        return None, "budget"
    each_way = 2 if test.bidir else 1
    held = max(1, int(HELD_SHARE * allowed / each_way))
    each_bps = int(held * 8 / min(PACED_TO_LAST_S, last_s) / test.parallel)
    capped = experiments.no_faster(replace(test, time_s=0, omit_s=0, total_bytes=held), each_bps)
    return replace(step, test=capped, most_bytes=allowed), ""


def _expected_bps(step: Step, known: Known) -> float:
    """What the step will carry a second, by what was seen; 0 for not known."""
    test = step.test
    ways = (FORWARD, REVERSE) if test is not None and test.bidir else (step.way,)
    total = sum(known.reached_bps(way) or known.reached_bps(_other(way)) for way in ways)
    if step.kind is Kind.PARALLEL and test is not None:
        total *= test.parallel  # as much more as it can be at most
    if test is not None and test.fq_rate_bps:
        total = min(total, test.fq_rate_bps * test.parallel * len(ways))
    return total


def _other(way: Direction) -> Direction:
    return REVERSE if way is FORWARD else FORWARD


def _end(known: Known, reason: str) -> End:
    run = {each.step.kind for each in known.done}
    left_out = len([kind for kind in Kind if kind not in run])
    words = {
        "settled": f"the cause is settled; {left_out} kinds of steps were not needed",
        "exhausted": "no experiment is left that would tell more",
        "time": f"what is left would take longer than {known.limits.time_s:.0f} s",
        "budget": "what is left would carry more than the budget allows",
        "accepted": "accepted as it stands",
        "interrupted": "interrupted; this is what was known by then",
        "unreachable": _problem(known) or "no test could be run",
    }
    return End(reason, words[reason], left_out)


def _problem(known: Known) -> str:
    failed: list[Done] = [each for each in known.done if each.outcome == "failed"]
    return failed[-1].problem if failed else ""
