"""Runs that tell nothing yet, or nothing about the path: `cannot-tell`, `still-ramping`,
`offered-less`."""

from __future__ import annotations

from math import ceil, floor

from . import loss, signs
from .facts import Facts, warmup_s
from .quantities import counted, milliseconds, rate, times
from .verdict import Confidence, Level, Verdict

RAMP_S = 5.0
RAMP_RTTS = 40
START_SHARE = 0.8  # whole mean over what it ended with; measured 0.36 to 0.75 for 3 s at 200 ms
MOST_SECONDS = 3600


def too_early(facts: Facts) -> Verdict | None:
    """Not enough of the steady part has been seen."""
    wanted_s = signs.steady_needed_s(facts)
    if facts.steady_s >= wanted_s:
        return None
    whole_s = max(facts.omit_s, warmup_s(0.0, facts.min_rtt_us)) + wanted_s
    more = max(1, ceil(whole_s - facts.elapsed_s - facts.omit_s))
    seen = f"{floor(facts.steady_s * 10) / 10:.1f} s of steady data"
    missing = f"{counted(more, 'more second')}" if more <= MOST_SECONDS else "a long test"
    step: tuple[str, ...] = ()
    if facts.over and _start_only(facts):
        return _mostly_start(facts, ceil(whole_s))
    if facts.over:
        missing = "a longer test"
        step = (f"run it again with -t {ceil(whole_s - facts.omit_s) + 1}",)
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell" if facts.over else "Cannot tell yet",
        short=f"needs {missing}",
        claim=f"{facts.words}: cannot tell{'' if facts.over else ' yet'}; missing: {missing}.",
        because=(
            f"{seen}{'' if facts.over else ' so far'}; "
            f"{wanted_s:.1f} s are needed at {milliseconds(facts.min_rtt_us or 0.0)} of RTT",
        ),
        next=step,
    )


def _start_only(facts: Facts) -> bool:
    """The test ended while TCP's start still weighed on its mean."""
    if not facts.goodput_bps or facts.whole_bps is None:
        return False
    return facts.whole_bps < START_SHARE * facts.goodput_bps


def _mostly_start(facts: Facts, seconds: int) -> Verdict:
    whole, last = facts.whole_bps or 0.0, facts.goodput_bps or 0.0
    omit = ceil(max(RAMP_S, RAMP_RTTS * (facts.min_rtt_us or 0.0) / 1e6))
    return Verdict(
        id="still-ramping",
        level=Level.PENDING,
        confidence=Confidence.MEDIUM,
        title="Too short a test",
        short=f"ends at {rate(last)}",
        claim=(
            f"{facts.words}: most of this test was the start of TCP: its mean is {rate(whole)}, "
            f"its end ran at {rate(last)}."
        ),
        because=(
            f"after {facts.elapsed_s - facts.steady_s:.1f} s the rate is "
            f"{times(last / whole if whole else 0.0)} the mean of the whole test",
            f"the minimum RTT is {milliseconds(facts.min_rtt_us or 0.0)}: TCP doubles its rate "
            "once per RTT at the start",
        ),
        next=(f"run it again with -t {seconds + 1} -O {omit}: the start is left out then",),
        explanation=(
            f"warm-up = 15 RTTs = {milliseconds(15 * (facts.min_rtt_us or 0.0))}; "
            f"a judgement needs {seconds} s in all on this path",
        ),
    )


def unknown_stack(facts: Facts) -> Verdict | None:
    """This system, or this end, knows no RTT: no rule can judge."""
    if facts.min_rtt_us and facts.rtt_us:
        return None
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell",
        short="no TCP counters here",
        claim=(
            f"{facts.words}: cannot tell; missing: the RTT, "
            "which this system does not show for this connection."
        ),
        because=(f"goodput {rate(facts.goodput_bps or 0.0)}",),
    )


def ramping(facts: Facts) -> Verdict | None:
    """The rate still rises: what is seen now is not the path's."""
    if facts.growth is None or facts.growth < signs.GROWTH_LEAST or facts.retransmits:
        return None
    if facts.out_of_order or facts.marked or signs.offer_reached(facts):
        return None
    if loss.burst_at_start(facts):
        return None  # it recovers from a loss
    if not facts.here_sends and (facts.far_retransmits or 0) >= signs.FEW_LOST:
        return None  # it recovers from losses
    seconds = ceil(max(RAMP_S, RAMP_RTTS * (facts.min_rtt_us or 0.0) / 1e6))
    return Verdict(
        id="still-ramping",
        level=Level.PENDING,
        confidence=Confidence.MEDIUM,
        title="Still speeding up",
        short=f"{min(facts.growth, 99.0):.1f} times in {facts.steady_s / 2:.1f} s",
        claim=(
            f"{facts.words}: the rate still rises, so the test is too short to judge."
            if facts.over
            else f"{facts.words}: the rate still rises; the limit is not reached yet."
        ),
        because=(
            f"the second half of the steady part carried {facts.growth:.2f} times the first",
            f"the minimum RTT is {milliseconds(facts.min_rtt_us or 0.0)}",
        ),
        next=(f"run it again with -O {seconds}: the speeding up is left out then",)
        if facts.over
        else (),
        explanation=(
            "second half / first half of the steady part; a flow that has found its limit gives 1",
            f"measured: {min(facts.growth, 99.0):.2f}; from {signs.GROWTH_LEAST:g} on, and nothing "
            "lost, it still rises",
        ),
    )


def offered_less(facts: Facts) -> Verdict | None:
    """The rate asked with -b or --fq-rate is carried: the path was not tried harder."""
    if not signs.offer_reached(facts):
        return None
    goodput_bps = facts.goodput_bps or 0.0
    return Verdict(
        id="offered-less",
        level=Level.FINE,
        confidence=Confidence.HIGH,
        title="Rate as asked",
        short=f"{rate(goodput_bps)}",
        claim=f"{facts.words}: the path carries the rate that was asked; it may carry more.",
        because=(f"asked: {rate(facts.rate_asked_bps)}, carried: {rate(goodput_bps)}",),
        next=("leave -b or --fq-rate out to see what limits the path",),
        explanation=(
            "carried / asked, all streams together",
            f"{rate(goodput_bps)} / {rate(facts.rate_asked_bps)} = "
            f"{min(9.99, goodput_bps / facts.rate_asked_bps):.2f}; from "
            f"{signs.REACHED_CLEAN_SHARE:g} on (with losses {signs.REACHED_SHARE:g}), the test "
            "itself was the limit",
        ),
    )
