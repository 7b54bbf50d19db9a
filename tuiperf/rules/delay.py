"""`bufferbloat` and `jitter`: what a flow does to delay, and what the path does to it anyway.

They say nothing of speed, so they stand beside the verdict that does.
"""

from __future__ import annotations

from . import signs
from .facts import Facts
from .quantities import milliseconds, percent, rate, size, times
from .verdict import Confidence, Level, Verdict

BLOAT_INFLATION = 3.0
"""RTT under load over the minimum. A queue of one BDP, which single flows want, gives 2."""
BLOAT_LONG_INFLATION = 2.2  # from FAULT_US of delay on, on long paths
BLOAT_LEAST_US = 30_000.0
GRADES = ((30_000.0, "A"), (60_000.0, "B"), (200_000.0, "C"), (400_000.0, "D"))
"""Delay added under load below which a grade holds; F above. The bounds of public speed tests."""
FAULT_US = 200_000.0  # conversation suffers: ITU-T G.114 wants 150 ms one way at most

JITTER_SHARE = 0.02
"""rttvar over RTT, medians. Measured: 0.021 to 0.05 with jitter; 0.019 and, below 0.5 ms of rttvar,
0.037 without it, at 10 ms of RTT and above."""
JITTER_SHARE_MOST = 0.15  # more is a host that holds acknowledgements back
JITTER_LEAST_US = 700.0
JITTER_IDLE_MOST = 0.5  # samples with nothing left to send
JITTER_RTT_LEAST_US = 5000.0  # on short paths the hosts' own timing is of that size


def bufferbloat(facts: Facts) -> Verdict | None:
    """The flow fills a queue that is far too deep."""
    if not signs.queue_built(facts) or signs.hosts_busy(facts):
        return None
    waited_us, inflation = facts.waited_us, facts.inflation or 0.0
    if inflation < (BLOAT_INFLATION if waited_us < FAULT_US else BLOAT_LONG_INFLATION):
        return None
    if waited_us < BLOAT_LEAST_US:
        return None
    mark = grade(waited_us)
    queued = (facts.goodput_bps or 0.0) * waited_us / 8e6
    return Verdict(
        id="bufferbloat",
        level=Level.FAULT if waited_us >= FAULT_US else Level.LOOK,
        confidence=Confidence.HIGH if facts.here_sends else Confidence.MEDIUM,
        title="Bufferbloat",
        short=f"grade {mark}, +{milliseconds(waited_us)}",
        claim=(
            f"{facts.words}: the path is fast, but a queue of {milliseconds(waited_us)} "
            "builds up: calls and pages of others wait in it."
        ),
        because=(
            f"the RTT under load is {milliseconds(facts.rtt_us or 0.0)}, "
            f"{times(inflation)} the minimum of {milliseconds(facts.min_rtt_us or 0.0)}",
            f"about {size(queued)} wait in a queue at {rate(facts.goodput_bps or 0.0)}",
        ),
        ruled_out=("a long path: the minimum RTT is the path's own",),
        next=(
            "switch on fq_codel or CAKE at the slowest hop, with a rate just below the line's",
            "try -C bbr: it keeps queues short",
        ),
        qualifier=(("grade", mark), ("ms", f"{waited_us / 1000:.0f}")),
        explanation=(
            "delay added = RTT under load - minimum RTT",
            f"{milliseconds(facts.rtt_us or 0.0)} - {milliseconds(facts.min_rtt_us or 0.0)} = "
            f"{milliseconds(waited_us)}",
            f"queue = rate * delay / 8 = {size(queued)}",
            "grades: A below 30 ms, B 60, C 200, D 400, then F",
        ),
    )


def grade(waited_us: float) -> str:
    """The grade of a delay added under load."""
    return next((mark for limit_us, mark in GRADES if waited_us < limit_us), "F")


def jitter(facts: Facts) -> Verdict | None:
    """Delay that changes from packet to packet, more than a queue does."""
    varies_us, rtt_us = facts.rttvar_us, facts.rtt_us
    if varies_us is None or not rtt_us or signs.hosts_busy(facts):
        return None
    if (facts.idle_share or 0.0) >= JITTER_IDLE_MOST:
        return None  # what comes in bursts waits by itself
    if (facts.min_rtt_us or 0.0) < JITTER_RTT_LEAST_US or varies_us < JITTER_LEAST_US:
        return None
    share = varies_us / rtt_us
    if not JITTER_SHARE <= share < JITTER_SHARE_MOST:
        return None
    return Verdict(
        id="jitter",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Delay varies",
        short=f"± {milliseconds(varies_us)}",
        claim=(
            f"{facts.words}: the delay varies from packet to packet, by more than the test's own "
            "queue explains."
        ),
        because=(
            f"the RTT varies by {milliseconds(varies_us)} around {milliseconds(rtt_us)} "
            f"(tcpi_rttvar): {percent(share)} of it",
        ),
        next=(
            "look for radio links, links that sleep, and busy routers on the way",
            "ping for a minute without a test: jitter that stays is the path's own",
        ),
        explanation=(
            "rttvar is the kernel's smoothed mean deviation of the RTT (RFC 6298, 2)",
            f"{milliseconds(varies_us)} / {milliseconds(rtt_us)} = {percent(share)}; "
            f"a full queue alone gives at most {percent(JITTER_SHARE)}",
        ),
    )
