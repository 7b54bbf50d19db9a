"""Runs that tell nothing yet, or nothing about the path: `cannot-tell`, `still-ramping`,
`offered-less`."""

from __future__ import annotations

from math import ceil

from . import signs
from .facts import Facts, warmup_s
from .quantities import milliseconds, rate
from .verdict import Confidence, Level, Verdict

RAMP_S = 5.0
RAMP_RTTS = 40
SILENT_TIMEOUTS = 2  # retransmission timeouts without any progress


def too_early(facts: Facts) -> Verdict | None:
    """Not enough of the steady part has been seen."""
    wanted_s = signs.steady_needed_s(facts)
    if facts.steady_s >= wanted_s:
        return None
    whole_s = max(facts.omit_s, warmup_s(0.0, facts.min_rtt_us)) + wanted_s
    more = max(1, ceil(whole_s - facts.elapsed_s - facts.omit_s))
    missing = f"{more} more second{'s' if more > 1 else ''}"
    step: tuple[str, ...] = ()
    if facts.over:
        missing = "a longer test"
        step = (f"run it again with -t {ceil(whole_s - facts.omit_s) + 1}",)
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell yet",
        short=f"needs {missing}",
        claim=f"{facts.words}: cannot tell yet; missing: {missing}.",
        because=(
            f"{facts.steady_s:.1f} s of steady data so far; {wanted_s:.1f} s are needed "
            f"at {milliseconds(facts.min_rtt_us or 0.0)} of RTT",
        ),
        next=step,
    )


def silent(facts: Facts) -> Verdict | None:
    """Nothing gets through at all."""
    if facts.goodput_bps is None or facts.goodput_bps > 0:
        return None
    timeouts = facts.timeouts or 0
    because = [f"0 bytes were delivered in {facts.steady_s:.1f} s"]
    if timeouts:
        because.append(f"{timeouts} retransmission timeouts (tcpi_total_rto)")
    return Verdict(
        id="cannot-tell",
        level=Level.FAULT if timeouts >= SILENT_TIMEOUTS else Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="No data arrives",
        short=f"0 bytes in {facts.steady_s:.0f} s",
        claim=(
            f"{facts.words}: the connection stands but no data gets through; "
            "missing: data to judge."
        ),
        because=tuple(because),
        next=("try -M 1200: if that works, large packets get lost on the path (MTU)",),
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
    if facts.out_of_order or signs.offer_reached(facts):
        return None
    seconds = ceil(max(RAMP_S, RAMP_RTTS * (facts.min_rtt_us or 0.0) / 1e6))
    return Verdict(
        id="still-ramping",
        level=Level.PENDING,
        confidence=Confidence.MEDIUM,
        title="Still speeding up",
        short=f"{facts.growth:.1f} times in {facts.steady_s / 2:.1f} s",
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
    )
