"""`unsteady` and `shared-medium`: others use the path, or its two directions use one medium."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from tuiperf.session import Session

from . import motion, signs
from .facts import Facts
from .quantities import milliseconds, percent, rate, times
from .verdict import Confidence, Level, Verdict

UNSTEADY_SHARE = {True: 0.8, False: 0.74, None: 0.74}
"""Slow half-seconds over fast ones, by `loss_based`; measured 0.5 to 0.78 with other traffic, 0.75
where BBR meets jitter."""
FALL_LEAST_S = 1.5  # so long below 80 % after having been faster
FALL_RTTS = 10  # BBR looks for the least RTT, and recovers, within so many
TAKEN_SHARE, TAKEN_LEAST_S, TAKEN_GROWTH = 0.9, 3.0, 0.96
"""The same where the queue never empties, how long, and the late half over the early one. With
other traffic measured 0.57 to 0.88, 3.5 s and more, at most 0.91; without it 0.66 and more, at most
3 s, 0.94 and more."""
TAKEN_VARIES = 0.05  # rttvar over RTT at most: delay that varies by itself looks like a queue
TAKEN_SPREAD, TAKEN_CWND_USED, TAKEN_WAITS = 0.2, 0.9, 0.1
TAKEN_EVEN = 0.5
"""Half seconds alike, less than this: where most are, the fast ones held what a filled hole let
through. Measured 0.17 to 0.33 with other traffic, 0.57 at 150 ms after an overflow."""
UNSTEADY_LEAST_BUCKETS = 6
HELD_BACK = 0.15  # rttvar over RTT
LOSES_ALWAYS = 0.6  # share of the samples with losses; measured up to 0.33 with other traffic
TURNS_CORRELATION = -0.7  # of the two directions' half-seconds
TURNS_SCATTER = 0.03  # both must move for that to mean something
TOGETHER_SCATTER = 0.5  # the sum moves this much less than each


def unsteady(facts: Facts) -> Verdict | None:
    """The rate falls while the queue stays full: somebody else has the rest."""
    return _falls_far(facts) or _taken(facts)


def _taken(facts: Facts) -> Verdict | None:
    """A queue that is never empty is served at the path's full rate all the time: what a loss-based
    flow no longer gets of it, others get. That holds for small shares as well."""
    moves = facts.motion
    if not facts.loss_based or moves.slow_share is None or not moves.best_bps:
        return None
    if not moves.least_rtt_us or not facts.min_rtt_us or signs.hosts_busy(facts):
        return None
    waited_us = moves.least_rtt_us - facts.min_rtt_us
    standing = moves.least_rtt_us >= signs.QUEUE_INFLATION * facts.min_rtt_us
    if not standing or waited_us < signs.QUEUE_LEAST_US or signs.comes_in_bursts(facts):
        return None
    falls = (
        moves.slow_share < TAKEN_SHARE
        and moves.dips_s >= TAKEN_LEAST_S
        and (facts.growth or 1.0) <= TAKEN_GROWTH
        and (moves.even_share or 0.0) < TAKEN_EVEN
    )
    if not falls or facts.timeouts or not _always_full(facts):
        return None
    slow_bps = moves.slow_share * moves.best_bps
    return Verdict(
        id="unsteady",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Path is shared",
        short=f"down to {rate(slow_bps)}",
        claim=(
            f"{facts.words}: the rate falls for {moves.dips_s:.1f} s although the path stays full: "
            "other traffic takes the rest, or its capacity varies."
        ),
        because=(
            f"the slowest half seconds carry {rate(slow_bps)}, the fastest {rate(moves.best_bps)}",
            f"the RTT never fell below {milliseconds(moves.least_rtt_us)}, "
            f"{times(moves.least_rtt_us / facts.min_rtt_us)} the minimum: a queue stood all the "
            "time, so the slowest hop never was idle",
        ),
        ruled_out=(
            "this sender: an idle one would leave the queue empty",
            "loss: an overflow of the own queue leaves the rate as it is while the queue stands",
        ),
        next=("run it again at another hour, or three times in a row, and compare",),
        explanation=(
            "a hop with a queue sends at its full rate; rate of this flow + of others = capacity",
            f"slow / fast = {percent(moves.slow_share)}; below {percent(TAKEN_SHARE)} for "
            f"{TAKEN_LEAST_S:g} s and no moment without a queue: others are there",
        ),
    )


def _always_full(facts: Facts) -> bool:
    """Nothing but the queue can have held the flow back."""
    losing = facts.loss_spread if facts.here_sends else facts.out_of_order_spread
    if (losing or 0.0) > TAKEN_SPREAD:
        return False
    if not facts.here_sends:
        return True
    waits = (facts.rwnd_limited_share or 0.0) + (facts.sndbuf_limited_share or 0.0)
    if waits > TAKEN_WAITS or (facts.cwnd_used or 0.0) < TAKEN_CWND_USED:
        return False
    return (facts.rttvar_us or 0.0) < TAKEN_VARIES * (facts.rtt_us or 0.0)


def _falls_far(facts: Facts) -> Verdict | None:
    """Slow for a while, by so much that a full queue in the slow half seconds is enough."""
    moves = facts.motion
    if (
        moves.slow_share is None
        or moves.slow_share >= UNSTEADY_SHARE[facts.loss_based]
        or not moves.best_bps
    ):
        return None
    if moves.falls_s < max(FALL_LEAST_S, FALL_RTTS * (facts.rtt_us or 0.0) / 1e6):
        return None
    losing = facts.loss_spread if facts.here_sends else facts.out_of_order_spread
    if facts.timeouts or (losing or 0.0) >= LOSES_ALWAYS:
        return None  # a lossy path is uneven by itself
    if not moves.slow_rtt_us or not facts.min_rtt_us or signs.hosts_busy(facts):
        return None
    if (facts.rttvar_us or 0.0) >= HELD_BACK * (facts.rtt_us or 0.0):
        return None  # the far host holds acknowledgements back
    inflation = moves.slow_rtt_us / facts.min_rtt_us
    waited_us = moves.slow_rtt_us - facts.min_rtt_us
    if inflation < signs.QUEUE_INFLATION or waited_us < signs.QUEUE_LEAST_US:
        return None
    slow_bps = moves.slow_share * moves.best_bps
    limit = percent(UNSTEADY_SHARE[facts.loss_based])
    return Verdict(
        id="unsteady",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Path is shared",
        short=f"down to {rate(slow_bps)}",
        claim=(
            f"{facts.words}: the rate falls to {percent(moves.slow_share)} at times although the "
            "path stays full: other traffic takes the rest, or its capacity varies."
        ),
        because=(
            f"the slowest half seconds carry {rate(slow_bps)}, the fastest {rate(moves.best_bps)}",
            f"in the slow ones the RTT is {times(inflation)} the minimum "
            f"({milliseconds(moves.slow_rtt_us)}): a queue is full all the same",
        ),
        ruled_out=("this sender: an idle one would leave the queue empty",),
        next=("run it again at another hour, or three times in a row, and compare",),
        explanation=(
            "slow / fast = 10th percentile / 90th percentile of the half seconds",
            f"= {percent(moves.slow_share)}; below {limit} and a queue full: others are there",
        ),
    )


def shared_medium(session: Session, both: Sequence[Facts]) -> Verdict | None:
    """In a test of both directions: what one gains the other loses."""
    if len(both) != 2 or any(signs.hosts_busy(each) for each in both):
        return None
    series = [_rates(session, each) for each in both]
    count = min(map(len, series))
    if count < UNSTEADY_LEAST_BUCKETS:
        return None
    there, here = (each[:count] for each in series)
    told = correlation(there, here)
    alone = min(variation(there), variation(here))
    together = variation([one + other for one, other in zip(there, here, strict=True)])
    if told is None or told > TURNS_CORRELATION:
        return None
    if alone < TURNS_SCATTER or together > TOGETHER_SCATTER * alone:
        return None
    sum_bps = (sum(there) + sum(here)) / count
    return Verdict(
        id="shared-medium",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="One medium, 2 ways",
        short=f"{rate(sum_bps)} together",
        claim=(
            "both directions take turns on one medium (radio, half duplex or a shared limit): "
            f"together they carry {rate(sum_bps)}."
        ),
        because=(
            f"what one direction gains the other loses: correlation {told:.2f}",
            f"each varies by {percent(alone)} or more, their sum by {percent(together)}",
        ),
        next=(
            "test each direction alone: on a shared medium each carries nearly the sum",
            "half duplex on a cable is a fault: check speed and duplex at both of its ends",
        ),
        explanation=(
            "correlation of the two directions' half seconds; near -1, they share one capacity",
            f"measured: {told:.2f}; from {TURNS_CORRELATION:g} on it is a verdict",
        ),
    )


def _rates(session: Session, facts: Facts) -> list[float]:
    ticks = list(session.flows[facts.direction].ticks)
    begin_s = facts.omit_s + facts.elapsed_s - facts.steady_s
    steady = [tick for tick in ticks if tick.test_s - tick.span_s >= begin_s - 1e-6]
    return [each.goodput_bps for each in motion.buckets(steady)]


def variation(values: Sequence[float]) -> float:
    """Standard deviation over mean."""
    mean = sum(values) / len(values)
    if mean <= 0:
        return 0.0
    return sqrt(sum((each - mean) ** 2 for each in values) / len(values)) / mean


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's correlation, None where one of them is constant."""
    mean_one, mean_other = sum(one) / len(one), sum(other) / len(other)
    both = sum((x - mean_one) * (y - mean_other) for x, y in zip(one, other, strict=True))
    squares = sum((x - mean_one) ** 2 for x in one) * sum((y - mean_other) ** 2 for y in other)
    return both / sqrt(squares) if squares > 0 else None
