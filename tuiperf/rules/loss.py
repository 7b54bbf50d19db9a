"""`lossy`: packets get lost on the path, and not in a queue that the test itself filled.

The RTT at a loss tells the two apart: a queue that overflows has doubled it. What loss costs
depends on the sender's congestion control: cubic slows down at each one, BBR does not up to 15 %.
"""

from __future__ import annotations

from math import sqrt

from . import signs
from .facts import MATHIS_C, Facts
from .quantities import milliseconds, percent, rate, times
from .verdict import Confidence, Level, Verdict

LEAST_PACKETS = signs.FEW_LOST
LEAST_SAMPLES = 2
LEAST_SHARE = {True: 2e-5, False: 5e-4, None: 5e-4}
"""Share of the bytes sent again, by `loss_based`. Measured: 0.005 % in bursts costs cubic half its
speed at 42 ms; BBR lost 0 to 0.02 % in the steady part of clean paths."""
FAULT_SHARE = 1e-3  # at 0.1 % cubic keeps 10 of 1000 Mbit/s at 42 ms; BBR shrugs up to 2 %
BBR_FAULT_SHARE = 0.02  # where BBR v2 and v3 stop probing; v1 ignores it up to 20 %
MATHIS_FITS = (0.4, 2.5)  # measured 0.8 to 1.2 for random loss, 2.6 where few were lost
PROVEN_SHARE, PROVEN_MATHIS = 5e-3, 1.0
"""With so much loss and no more speed than Mathis allows, loss limits even beside a queue."""
PROVEN_SCATTER, PROVEN_UNEVEN_MATHIS = 0.08, 1.5  # a full path, besides, is even
BBR_BROKEN_SHARE, BBR_OVERFLOW_INFLATION = 0.1, 1.8
"""BBR's own overflow of a queue was measured up to 9 %, at 1.8 times the minimum RTT and more."""
BBR_TIMEOUTS, BBR_SPREAD, BBR_SCATTER = 3, 0.6, 0.15
"""A full queue alone, under BBR, makes no timeouts and no uneven rate; measured 8 and 9 timeouts
where frames collide."""
OVERFLOW_AT_LOSS = 1.1  # measured 1.26 where a sample came just after, 1.03 in bursts on a line
OVERFLOW_PEAK = 1.5  # highest RTT over the least; measured 1.05 to 1.4 at limiters, short queues
BBR_FILLED_PEAK, BBR_ALWAYS = 1.3, 0.9
"""BBR that has filled a short queue overflows it again and again; at random, losses are always."""
BBR_PATH_AT_LOSS = 1.25
DOZENS, KIND_LEAST_RTT_US = 20, 5000.0
POLICED_PACKETS, POLICED_EVEN = 20, 0.6
"""The RTT never rose by the time of so many packets, which any queue holds; half seconds alike.
Measured at limiters of 100 Mbit/s: 5 to 17, and 0.67 to 0.75; where frames collide hardly two half
seconds are alike. On faster paths the hosts' own timing is larger than that: no kind is said."""
SHORT_QUEUE_US, SHORT_QUEUE_SHARE = 4000.0, 0.2  # measured at queues of 5 %: 7.4 to 9.5 ms
BURSTS_SCATTER = 0.08
START_LEAST, START_PEAK, START_GROWTH, START_CWND_USED = 20, 1.2, 1.03, 0.9
"""Packets lost at the start, the highest RTT over the least, and how the rate grows afterwards."""
STANDING_INFLATION = 1.2  # a queue stands most of the time; measured at most 1.04 under loss
RECEIVED_SCATTER, RECEIVED_SPREAD = 0.02, 0.2
"""A loss-based flow that keeps its rate so evenly, and loses so rarely, overflows a queue."""
RANDOM_LOST = 3.0  # packets at once; measured 1 to 2.1 at random, 5 and more at a rate limiter
START_BURST = 3.2  # all losses over the steady ones; measured up to 3.0 at random, else 5 to 30
SPREAD_LEAST = {True: 0.0, False: 0.3, None: 0.3}
"""Share of the samples with losses. BBR overflows queues now and then and rests between; measured
0.7 and more under loss, at most 0.4 where queues were full."""
REORDER_SPREAD, REORDER_MATHIS = 0.8, 3.0
"""Out of order in nearly all samples, yet faster than so many losses would allow: reordering."""


def judge(facts: Facts) -> Verdict | None:
    """Lossy, or None."""
    if facts.goodput_bps is None or not signs.network_judged(facts):
        return None
    found = _sent(facts) if facts.here_sends else _received(facts)
    return found or burst_at_start(facts)


def burst_at_start(facts: Facts) -> Verdict | None:
    """The start lost a burst though no queue had built, and the sender has been recovering since.

    That is how a very short queue or a rate limiter meets a loss-based sender on a long path.
    """
    if not facts.loss_based or not signs.rtt_flat(facts) or facts.growth is None:
        return None
    again = (facts.retransmits_total if facts.here_sends else facts.far_retransmits) or 0
    now = (facts.retransmits if facts.here_sends else facts.out_of_order) or 0
    flat = (facts.peak_rtt_us or 0.0) < START_PEAK * (facts.min_rtt_us or 0.0)
    if again < START_LEAST or not flat or not _recovering(facts, again, now):
        return None
    lines = (
        f"{again - now} packets were lost in the first second or two, "
        f"{f'{now} since' if now else 'and none since'}",
        f"the RTT never went above {milliseconds(facts.peak_rtt_us or 0.0)}, so no queue held them",
        f"{facts.congestion} recovers only slowly: the late half carried {facts.growth:.2f} times "
        "the early one",
    )
    return _verdict(facts, None, Confidence.MEDIUM, "unknown", lines)


def _recovering(facts: Facts, again: int, now: int) -> bool:
    """The sender still pays for its start: it grows, or has lost a little again where no queue
    was, and all it may send is under way."""
    growth = facts.growth or 0.0
    if facts.here_sends and (facts.cwnd_used or 0.0) < START_CWND_USED:
        return False
    if now:
        return facts.here_sends and again >= START_BURST * now
    return growth >= START_GROWTH


def _sent(facts: Facts) -> Verdict | None:
    share = facts.retransmitted_share
    if share is None or not _enough(facts, share) or signs.out_of_order(facts):
        return None
    if _overflow_missed(facts):
        return None
    if not _outside_queues(facts, share) or not _long_or_proven(facts):
        return None
    return _verdict(facts, share, _confidence(facts), _kind(facts), _sent_signs(facts, share))


def overflowed(facts: Facts) -> bool:
    """The losses of this sender are those of a queue that it filled itself."""
    return (facts.loss_inflation or 0.0) >= signs.OVERFLOW_INFLATION or _overflow_missed(facts)


def _overflow_missed(facts: Facts) -> bool:
    """Losses by the dozen, faster than random ones allow, and a queue was full at some time: the
    samples, ten a second, may have missed the moment it overflowed."""
    peak = (facts.peak_rtt_us or 0.0) / (facts.min_rtt_us or 1.0)
    ratio = facts.mathis_ratio
    fast = bool(facts.loss_based and ratio and ratio > MATHIS_FITS[1])
    return fast and peak >= OVERFLOW_PEAK and (facts.loss_inflation or 0.0) >= OVERFLOW_AT_LOSS


def _enough(facts: Facts, share: float) -> bool:
    return (
        (facts.retransmits or 0) >= LEAST_PACKETS
        and (facts.loss_samples or 0) >= LEAST_SAMPLES
        and share >= LEAST_SHARE[facts.loss_based]
        and (
            share >= BBR_FAULT_SHARE or (facts.loss_spread or 0.0) >= SPREAD_LEAST[facts.loss_based]
        )
    )


def _outside_queues(facts: Facts, share: float) -> bool:
    """No queue overflowed at the losses, or they explain the speed whatever the queue does."""
    at_loss = facts.loss_inflation
    if at_loss is None:
        return False
    if not facts.loss_based and _broken(facts, share, at_loss):
        return True
    if not signs.queue_built(facts) and at_loss < signs.OVERFLOW_INFLATION:
        return True
    ratio = facts.mathis_ratio
    if not facts.loss_based or ratio is None or share < PROVEN_SHARE:
        return False
    uneven = (facts.scatter or 0.0) >= PROVEN_SCATTER
    return ratio <= (PROVEN_UNEVEN_MATHIS if uneven else PROVEN_MATHIS)


def _broken(facts: Facts, share: float, at_loss: float) -> bool:
    """Under BBR: more loss than its own overflows make, or retransmissions get lost as well."""
    if share >= BBR_BROKEN_SHARE and at_loss < BBR_OVERFLOW_INFLATION:
        return True
    again = (facts.timeouts or 0) >= BBR_TIMEOUTS and (facts.loss_spread or 0.0) >= BBR_SPREAD
    return again and share >= BBR_FAULT_SHARE and (facts.scatter or 0.0) >= BBR_SCATTER


def _long_or_proven(facts: Facts) -> bool:
    """On paths below a millisecond a small loss is often a host's; there Mathis must agree."""
    if (facts.min_rtt_us or 0.0) >= signs.SHORT_RTT_US:
        return True
    return bool(facts.loss_based) and (facts.mathis_ratio or 99.0) <= MATHIS_FITS[1]


def _confidence(facts: Facts) -> Confidence:
    ratio = facts.mathis_ratio
    if facts.loss_based and ratio is not None and MATHIS_FITS[0] <= ratio <= MATHIS_FITS[1]:
        return Confidence.HIGH
    return Confidence.MEDIUM


def _kind(facts: Facts) -> str:
    """What loses the packets, where one run can tell; else a second one, paced, must.

    `path-loss`: single packets, at random. `policed`: a limiter drops by the dozen and holds
    nothing back, so not even BBR's start, twice too fast, raised the RTT; the rate is even.
    `shallow-queue`: that start raised it by what the queue holds, and no further.
    """
    return _kind_of_loss_based(facts) if facts.loss_based else _kind_under_bbr(facts)


def _kind_of_loss_based(facts: Facts) -> str:
    fits = _confidence(facts) is Confidence.HIGH
    single = (facts.lost_at_once or 99.0) <= RANDOM_LOST
    steady = (facts.retransmits_total or 0) <= START_BURST * (facts.retransmits or 0)
    return "path-loss" if fits and single and steady else "unknown"


def _kind_under_bbr(facts: Facts) -> str:
    least_us = facts.min_rtt_us or 0.0
    peak_us = (facts.peak_rtt_us or 0.0) - least_us
    always = (facts.loss_spread or 0.0) >= BBR_ALWAYS
    filled = peak_us >= OVERFLOW_PEAK * least_us - least_us
    if filled and always and (facts.loss_inflation or 9.0) < BBR_PATH_AT_LOSS:
        return "path-loss"  # a queue was there to take what came too fast, and yet they get lost
    if (facts.retransmitted_share or 0.0) < BBR_FAULT_SHARE:
        return "unknown"
    if (facts.lost_at_once or 0.0) < DOZENS or least_us < KIND_LEAST_RTT_US:
        return "unknown"
    if (
        peak_us < _time_us(facts, POLICED_PACKETS)
        and (facts.motion.even_share or 0.0) >= POLICED_EVEN
    ):
        return "policed"
    if SHORT_QUEUE_US <= peak_us < SHORT_QUEUE_SHARE * least_us:
        return "shallow-queue"
    return "unknown"


def _time_us(facts: Facts, packets: int) -> float:
    """How long the path takes for so many full packets."""
    size = facts.mss_bytes or signs.USUAL_MSS_BYTES
    return packets * size * 8e6 / facts.goodput_bps if facts.goodput_bps else 0.0


def _sent_signs(facts: Facts, share: float) -> tuple[str, ...]:
    lines = [
        f"{facts.retransmits} packets were sent again, {percent(share)} of the bytes "
        "(tcpi_bytes_retrans)",
    ]
    if facts.loss_inflation is not None:
        lines.append(
            f"at the losses the RTT was {times(facts.loss_inflation)} the minimum "
            f"({milliseconds(facts.loss_rtt_us or 0.0)})"
        )
    if facts.loss_based and facts.mathis_bps:
        lines.append(
            f"{facts.congestion} reaches about {rate(facts.mathis_bps)} at this loss and RTT "
            f"(Mathis); measured: {rate(facts.goodput_bps or 0.0)}"
        )
    return tuple(lines)


def _received(facts: Facts) -> Verdict | None:
    """We receive: losses show as packets out of order here, their number only at the end."""
    if not signs.rtt_flat(facts) or (facts.min_rtt_us or 0.0) < signs.SHORT_RTT_US:
        return None
    spread = facts.out_of_order_spread
    if (facts.out_of_order_samples or 0) < LEAST_SAMPLES or spread is None:
        return None
    known = facts.far_retransmitted_share
    if facts.loss_based is None or (not facts.loss_based and known is None):
        return None
    if _overflow_here(facts, spread):
        return None
    if (spread < SPREAD_LEAST[facts.loss_based] and not _never_queued(facts)) or overtaken(facts):
        return None
    if known is not None and known < LEAST_SHARE[facts.loss_based]:
        return None
    return _verdict(facts, known, _far_confidence(facts), "unknown", _received_signs(facts))


def _overflow_here(facts: Facts, spread: float) -> bool:
    """We receive: what got lost a queue dropped, now and then or at the start."""
    scatter = facts.scatter or 0.0
    standing = (facts.inflation or 0.0) >= STANDING_INFLATION
    if facts.loss_based and spread < RECEIVED_SPREAD:
        if standing and facts.waited_us >= signs.QUEUE_LEAST_US:
            return True
        least = BURSTS_SCATTER if signs.comes_in_bursts(facts) else RECEIVED_SCATTER
        if scatter < least:
            return True
    peak = (facts.peak_rtt_us or 0.0) / (facts.min_rtt_us or 1.0)
    if not facts.out_of_order_late and peak >= OVERFLOW_PEAK:
        return True
    return not facts.loss_based and peak >= BBR_FILLED_PEAK and spread < BBR_ALWAYS


def _never_queued(facts: Facts) -> bool:
    """BBR lost much over the test though no queue ever held anything: not even its start, which
    sends twice the path's rate, raised the RTT."""
    much = (facts.far_retransmitted_share or 0.0) >= BBR_FAULT_SHARE
    flat = (facts.peak_rtt_us or 0.0) < START_PEAK * (facts.min_rtt_us or 0.0)
    return facts.loss_based is False and much and flat


def overtaken(facts: Facts) -> bool:
    """We receive: packets come out of order so often that losses cannot be the reason."""
    spread = facts.out_of_order_spread
    if not facts.loss_based or spread is None or spread < REORDER_SPREAD:
        return False
    least = _least_loss(facts)
    if least is None or not facts.rtt_us or not facts.mss_bytes:
        return False
    allowed_bps = facts.streams * facts.mss_bytes * 8e6 / facts.rtt_us * MATHIS_C / sqrt(least)
    return (facts.goodput_bps or 0.0) > REORDER_MATHIS * allowed_bps


def _least_loss(facts: Facts) -> float | None:
    """The smallest loss rate that so many samples out of order allow: one packet each."""
    if not facts.goodput_bps or not facts.mss_bytes or not facts.out_of_order_samples:
        return None
    packets = facts.goodput_bps / 8 * facts.steady_s / facts.mss_bytes
    return facts.out_of_order_samples / packets if packets > 0 else None


def _far_confidence(facts: Facts) -> Confidence:
    return Confidence.LOW if facts.far_retransmits is None else Confidence.MEDIUM


def _received_signs(facts: Facts) -> tuple[str, ...]:
    lines = [
        f"packets came out of order in {facts.out_of_order_samples} samples of the steady part "
        "(tcpi_rcv_ooopack)",
        signs.rtt_words(facts),
    ]
    if facts.far_retransmits is not None:
        lines.append(f"the far sender counted {facts.far_retransmits} retransmissions")
    else:
        lines.append("inferred from this end; the far sender counts at the end of the test")
    return tuple(lines)


def _verdict(
    facts: Facts,
    share: float | None,
    confidence: Confidence,
    kind: str,
    because: tuple[str, ...],
) -> Verdict:
    lost = percent(share) if share is not None else "some packets"
    cost = (
        f", and {facts.congestion} slows down at each loss"
        if facts.loss_based
        else f"; {facts.congestion} hides it, other connections suffer"
    )
    return Verdict(
        id="lossy",
        level=_level(facts, share),
        confidence=confidence,
        title="Packets get lost",
        short=f"{percent(share)} sent again" if share is not None else "losses, no queue",
        claim=f"{facts.words}: the path loses {_what(kind, lost)}{cost}.",
        because=because,
        ruled_out=_ruled_out(facts),
        next=_advice(facts, kind),
        qualifier=(("direction", facts.direction.value), ("kind", kind)),
        explanation=_explanation(facts),
    )


def _what(kind: str, lost: str) -> str:
    places = {
        "path-loss": "",
        "policed": " at a rate limiter",
        "shallow-queue": " in a queue that is too short",
    }
    if lost == "some packets":
        return lost
    return lost + places.get(kind, " (on its lines, in a short queue or at a rate limiter)")


def _level(facts: Facts, share: float | None) -> Level:
    fault = FAULT_SHARE if facts.loss_based else BBR_FAULT_SHARE
    return Level.FAULT if share is not None and share >= fault else Level.LOOK


def _ruled_out(facts: Facts) -> tuple[str, ...]:
    lines = []
    if signs.rtt_flat(facts):
        lines.append(f"a full queue: {signs.rtt_words(facts)}")
    if facts.here_sends:
        lines.append(f"reordering: {facts.reord_seen or 0} reorderings were seen")
        lines.append(f"the window: {percent(facts.window_used or 0.0)} of it was in flight")
    elif facts.rcv_window_bytes and facts.bdp_bytes is not None:
        used = facts.bdp_bytes / facts.rcv_window_bytes
        lines.append(f"this host's window: {percent(used)} of it was in flight")
    return tuple(lines)


def _advice(facts: Facts, kind: str) -> tuple[str, ...]:
    half_bps = (facts.goodput_bps or 0.0) / 2 / facts.streams
    paced = f"--fq-rate {max(1, round(half_bps / 1e6))}M"
    lines = [
        f"try {paced}: loss that stays is the line's, loss that goes is a queue's or a limiter's"
    ]
    if kind == "path-loss" or not facts.here_sends:
        lines.append("look for errors on the ports, cables and radio links of that direction")
    if not facts.loss_based:
        lines.append("try -C cubic: it shows what this loss costs other connections")
    elif facts.streams == 1:
        lines.append("try -P 4: four times the speed speaks for random loss")
    if not facts.here_sends:
        lines.append("try --get-server-output: the far sender's retransmits second by second")
    return tuple(lines)


def _explanation(facts: Facts) -> tuple[str, ...]:
    share = facts.retransmitted_share
    if not facts.loss_based or not share or not facts.mathis_bps or not facts.rtt_us:
        return (
            "a loss while no queue is full is the path's: RTT at the loss / minimum RTT < 1.35",
        )
    return (
        "rate = MSS / RTT * 1.22 / sqrt(loss) (Mathis et al. 1997), for each stream",
        f"8 * {facts.mss_bytes} bytes / {milliseconds(facts.rtt_us)} * 1.22 / "
        f"sqrt({percent(share)}) * {facts.streams} = {rate(facts.mathis_bps)}",
        f"measured / that = {facts.mathis_ratio or 0.0:.2f}; near 1, loss alone sets the speed",
    )
