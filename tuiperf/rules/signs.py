"""Signs that several rules read, each with its threshold and where the threshold comes from.

"Measured" means: on an emulator of paths, 1 to 200 ms of RTT, 20 Mbit/s to 1 Gbit/s, cubic and BBR,
each with one known fault; both sides of each threshold were seen there.
"""

from __future__ import annotations

from . import stops
from .facts import Facts
from .quantities import milliseconds, times

STEADY_LEAST_S = 2.0  # fewer steady samples than this judge nothing
STEADY_LEAST_RTTS = 20  # slow start and BBR's first probing are over by then
GROWTH_LEAST = 1.25
"""The second half of the steady part carries this much more than the first: still speeding up.
Measured: 0.9 to 1.1 in steady flows, 5 and more in the first three seconds at 200 ms."""

QUEUE_INFLATION = 1.25  # measured: at most 1.16 without a queue, 1.28 and more with one
QUEUE_LEAST_US = 1000.0  # below this, what looks like a queue may be the hosts
OVERFLOW_INFLATION = 1.35
"""RTT at a loss over the minimum. Measured: at most 1.19 where no queue overflowed, 1.8 and more
where one of the path's own content did."""
SHORT_RTT_US = 900.0  # below this, hosts and not windows set the speed, as a rule

HOSTS_BPS = 5e9  # from here on, on a short path, hosts rather than paths set the speed

GAP_LEAST_US = 5000.0  # 20 Mbit/s bring a packet each 0.6 ms; the kernel counts in 1 to 4 ms

RATIO_LEAST_US = 200.0  # on shorter paths the minimum is the hosts' own and a ratio means nothing
BUSY_SHARE = 0.7  # of a core, running or ready to; measured: 0.75 to 0.99 where CPUs limit
SATURATED_SHARE = 0.85

REACHED_SHARE = 0.97  # of the rate asked with -b or --fq-rate
REACHED_CLEAN_SHARE = 0.9  # the same where nothing else explains the difference
FEW_LOST = 4  # packets sent again in the steady part: fewer explain nothing

REORDERED_LEAST = 20  # tcpi_reord_seen; 0 on every path that keeps the order
DUPLICATES_SHARE = 0.5  # of the retransmissions that the far end had already got

LINE_RATES_BPS = tuple(rate * 1e6 for rate in (10, 100, 1000, 2500, 5000, 10000, 25000, 40000))
WIRE_BYTES = {4: 90, 6: 110}
"""What Ethernet, IP and TCP with timestamps add to the payload of a full packet, gap included."""
USUAL_MSS_BYTES = 1448
ABOVE_LINE = 1.5  # a link this much faster than what goes through it: another hop is the slow one
LINE_RATE_MARGIN = 0.01
LINE_RATE_EVEN = 0.6
"""Share of the half seconds within 2 % of their median: a port paces evenly. The rest is left to
BBR, which stops for 0.2 s every 10 s to measure the RTT."""


def steady_needed_s(facts: Facts) -> float:
    """Seconds of steady samples that a judgement needs on this path."""
    return max(STEADY_LEAST_S, STEADY_LEAST_RTTS * (facts.min_rtt_us or 0.0) / 1e6)


def queue_built(facts: Facts) -> bool:
    """The path holds data in a queue: its bottleneck is busy."""
    if facts.inflation is None or not facts.rtt_us or not facts.min_rtt_us:
        return False
    if comes_in_bursts(facts):
        return False
    waited_us = facts.rtt_us - facts.min_rtt_us
    return facts.inflation >= QUEUE_INFLATION and waited_us >= QUEUE_LEAST_US


def comes_in_bursts(facts: Facts) -> bool:
    """We receive, and find nothing under way most times we look: no queue is full on the path.

    The kernel's estimate of the RTT at a receiver then holds the sender's pauses.
    """
    if facts.here_sends or facts.data_gap_us is None:
        return False
    return facts.data_gap_us >= GAP_LEAST_US


def rtt_flat(facts: Facts) -> bool:
    """The RTT under load is known and no queue shows in it, however short the path is."""
    return facts.inflation is not None and facts.inflation < QUEUE_INFLATION


def rtt_words(facts: Facts) -> str:
    """The RTT under load against the minimum, as a ratio where that means something."""
    loaded_us, least_us = facts.rtt_us or 0.0, facts.min_rtt_us or 0.0
    if least_us < RATIO_LEAST_US:
        return f"the RTT under load is {milliseconds(loaded_us)}"
    return f"the RTT under load is {times(loaded_us / least_us)} the minimum"


def busy_share(facts: Facts) -> float:
    """How much of a core our busiest worker uses or waits for."""
    return (facts.worker_share or 0.0) + (facts.worker_wait_share or 0.0)


def hosts_busy(facts: Facts) -> bool:
    """Either end is short of CPU, or both are one host: the network is not what is measured."""
    far = facts.far_cpu_share or 0.0
    return facts.same_host or busy_share(facts) >= BUSY_SHARE or far >= BUSY_SHARE


def offer_reached(facts: Facts) -> bool:
    """The test carries what -b or --fq-rate asked for, so nothing else limits it."""
    if not facts.rate_asked_bps or facts.goodput_bps is None:
        return False
    clean = (facts.retransmits or 0) < FEW_LOST
    least = REACHED_CLEAN_SHARE if clean else REACHED_SHARE
    return facts.goodput_bps >= least * facts.rate_asked_bps


def at_line_rate(facts: Facts) -> bool:
    """Goodput is what an Ethernet link of a usual speed carries: its own port may set the pace."""
    return line_rate_bps(facts) is not None


def line_rate_bps(facts: Facts) -> float | None:
    """The speed of the Ethernet link whose payload the goodput is, None for none."""
    goodput = facts.motion.typical_bps
    if goodput is None or (facts.motion.even_share or 0.0) < LINE_RATE_EVEN:
        return None
    payload, frame = frame_bytes(facts)
    for line_bps in LINE_RATES_BPS:
        if abs(goodput / (line_bps * payload / frame) - 1) <= LINE_RATE_MARGIN:
            return line_bps
    return None


def frame_bytes(facts: Facts) -> tuple[int, int]:
    """The payload of a full packet, and the bytes it takes on an Ethernet's wire."""
    payload = facts.mss_bytes or USUAL_MSS_BYTES
    if payload < USUAL_MSS_BYTES // 2 or payload > 9000:
        payload = USUAL_MSS_BYTES
    return payload, payload + WIRE_BYTES[facts.family]


def stood_still(facts: Facts) -> bool:
    """The flow stopped for a while and lost much at once: an outage, not a loss rate."""
    return stops.stood_still(facts)


def out_of_order(facts: Facts) -> bool:
    """The sender saw packets overtake each other, or arrive that it had sent again for nothing."""
    duplicates = facts.dsack_dups or 0
    return (facts.reord_seen or 0) >= REORDERED_LEAST or (
        duplicates > 0 and duplicates >= DUPLICATES_SHARE * (facts.retransmits_total or 0)
    )


def hosts_pace(facts: Facts) -> bool:
    """Many Gbit/s over no distance: memory and CPUs are what this measures."""
    short = (facts.min_rtt_us or 0.0) < SHORT_RTT_US
    return short and (facts.goodput_bps or 0.0) >= HOSTS_BPS and not at_line_rate(facts)


def network_judged(facts: Facts) -> bool:
    """Nothing but the network or its windows can limit this flow."""
    hosts = hosts_busy(facts) or hosts_pace(facts)
    return not (hosts or offer_reached(facts) or stood_still(facts))
