"""`host-limited` by what the kernel of this host tells: it drops packets itself, or has no time.

All of these are counters of the whole host, known when the data has ended.
"""

from __future__ import annotations

from . import signs
from .facts import Facts
from .quantities import counted, percent
from .verdict import Confidence, Level, Verdict

DROPS_LEAST = 10  # packets; the host's other traffic loses a few at times
DROPS_SHARE = 0.5  # of what the sender sent again: then most of it was lost here
CORE_BUSY = 0.8  # of one core, with packets or stolen: no time is left for more


def drops(facts: Facts) -> Verdict | None:
    """This host loses packets on their way in or out, as many as most of those sent again."""
    found = facts.sent_drops if facts.here_sends else facts.received_drops
    total = sum(count for _, count in found)
    again = facts.retransmits_total if facts.here_sends else facts.far_retransmits
    if total < DROPS_LEAST or not again or total < DROPS_SHARE * again:
        return None
    side = "sender" if facts.here_sends else "receiver"
    return Verdict(
        id="host-limited",
        level=Level.FAULT,
        confidence=Confidence.MEDIUM,
        title="This host drops",
        short=counted(total, "packet"),
        claim=f"{facts.words}: this host itself drops packets, the path most likely does not.",
        because=(
            *(f"{count} were dropped {where}" for where, count in found),
            f"the sender sent {again} packets again",
            *_squeezes(facts),
        ),
        next=_advice(facts),
        qualifier=(("side", side),),
        explanation=(
            "the kernel counts what it drops itself; before and after the data, whole host",
            f"dropped here / sent again = {total} / {again}; from {percent(DROPS_SHARE)} on most "
            "losses are this host's",
        ),
    )


def _squeezes(facts: Facts) -> tuple[str, ...]:
    if not facts.squeezed or facts.here_sends:
        return ()
    times = counted(facts.squeezed, "time")
    return (f"{times} a core had no time left for what it had received (softnet_stat, squeezed)",)


def _advice(facts: Facts) -> tuple[str, ...]:
    if facts.here_sends:
        return (
            "look: tc -s qdisc show: the queue before the device overflows; fq or fq_codel and a "
            "longer txqueuelen help",
        )
    return (
        "as root: sysctl -w net.core.netdev_max_backlog=5000 net.core.netdev_budget=600",
        "look: tuiperf link tells of ring sizes and which core takes the interrupts",
    )


def no_time(facts: Facts) -> Verdict | None:
    """One core is full with the network's interrupts, or the hypervisor gives it no time."""
    share, stolen = facts.softirq_share, facts.steal_share or 0.0
    if share is None or share < CORE_BUSY or signs.queue_built(facts):
        return None
    if signs.at_line_rate(facts) or signs.offer_reached(facts) or facts.same_host:
        return None
    taken = stolen >= share / 2
    return Verdict(
        id="host-limited",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="This host is busy",
        short=f"{percent(share)} of a core",
        claim=(
            f"{facts.words}: the hypervisor gives this machine too little CPU time."
            if taken
            else f"{facts.words}: one core of this host is full with the network's interrupts."
        ),
        because=(
            f"the busiest core spent {percent(share)} of its time on packets or was not given it "
            f"({percent(stolen)} stolen; /proc/stat, softirq and steal)",
            *_squeezes(facts),
        ),
        ruled_out=(f"a full path: {signs.rtt_words(facts)}",),
        next=(
            ("ask for a machine with CPU time of its own; neighbours take it",)
            if taken
            else (
                "tuiperf link tells which core takes the interrupts; receive packet steering "
                "(rps_cpus) spreads them",
            )
        ),
        qualifier=(("side", "sender" if facts.here_sends else "receiver"),),
        explanation=(
            "(softirq + steal) / time of one core, before and after the data",
            f"= {percent(share)}; from {percent(CORE_BUSY)} on it sets the pace",
        ),
    )
