"""`line-rate` and `slow-hop`: goodput is exactly what an Ethernet of a usual speed carries."""

from __future__ import annotations

from . import signs
from .facts import Facts
from .quantities import line_rate, milliseconds, percent, rate, times
from .verdict import Confidence, Level, Verdict

FAST_BPS = 1e9  # the speed that ports have had for twenty years: slower ones are worth a look
NEAR_RTT_US = 5000.0  # within one site; on longer paths 100 Mbit/s may be what was bought
LOSS_MOST = {True: 0.03, False: 0.1, None: 0.03}  # BBR overfills short queues and goes on


def judge(facts: Facts) -> Verdict | None:
    """At a line rate, or None. A slow one on a short path is a hop to look for."""
    line_bps = signs.line_rate_bps(facts)
    if line_bps is None or not signs.network_judged(facts):
        return None
    if (facts.retransmitted_share or facts.far_retransmitted_share or 0.0) > LOSS_MOST[
        facts.loss_based
    ]:
        return None
    link_bps = facts.link_bps
    if link_bps is not None and link_bps > signs.ABOVE_LINE * line_bps:
        return _slow_hop(facts, line_bps, link_bps)
    if link_bps is None and line_bps < FAST_BPS:
        near = (facts.min_rtt_us or NEAR_RTT_US) < NEAR_RTT_US
        return _slow_hop(facts, line_bps, None) if near and facts.waited_us > 0 else None
    return _line_rate(facts, line_bps)


def _line_rate(facts: Facts, line_bps: float) -> Verdict:
    own = facts.link_bps is not None
    return Verdict(
        id="line-rate",
        level=Level.FINE,
        confidence=Confidence.HIGH if own else Confidence.MEDIUM,
        title="At line rate",
        short=f"{rate(facts.goodput_bps or 0.0)} of {line_rate(line_bps)}",
        claim=(
            f"{facts.words}: {rate(facts.goodput_bps or 0.0)} is all that an Ethernet of "
            f"{line_rate(line_bps)} carries; nothing is wrong."
        ),
        because=_because(facts, line_bps),
        ruled_out=_ruled_out(facts),
        explanation=_explanation(facts, line_bps),
    )


def _slow_hop(facts: Facts, line_bps: float, link_bps: float | None) -> Verdict:
    known = f"this host's link has {line_rate(link_bps)}" if link_bps else ""
    return Verdict(
        id="slow-hop",
        level=Level.LOOK,
        confidence=Confidence.HIGH if link_bps else Confidence.MEDIUM,
        title="A slow port",
        short=f"{line_rate(line_bps)} on the way",
        claim=(
            f"{facts.words}: one hop runs at {line_rate(line_bps)}: "
            f"{rate(facts.goodput_bps or 0.0)} is exactly what such a port carries."
        ),
        because=tuple(filter(None, (*_because(facts, line_bps), known))),
        ruled_out=_ruled_out(facts),
        next=(
            f"look for the port at {line_rate(line_bps)}: a damaged pair in a cable, an old "
            "switch or phone in between, a forced speed",
            "tuiperf link shows this host's own port",
        ),
        explanation=_explanation(facts, line_bps),
    )


def _because(facts: Facts, line_bps: float) -> tuple[str, ...]:
    share = (facts.motion.typical_bps or 0.0) / line_bps
    return (
        f"goodput is {percent(share)} of {line_rate(line_bps)}, what is left beside the headers",
        f"{percent(facts.motion.even_share or 0.0)} of the half seconds carry the same within 2 %",
    )


def _ruled_out(facts: Facts) -> tuple[str, ...]:
    lines = []
    if facts.retransmitted_share is not None:
        lines.append(f"loss: {percent(facts.retransmitted_share)} of the bytes were sent again")
    if facts.inflation is not None and signs.queue_built(facts):
        lines.append(
            f"the hosts: a queue is full before that port (RTT {times(facts.inflation)} the "
            f"minimum, +{milliseconds(facts.waited_us)})"
        )
    return tuple(lines)


def _explanation(facts: Facts, line_bps: float) -> tuple[str, ...]:
    payload, frame = signs.frame_bytes(facts)
    return (
        "goodput = line rate * payload / bytes on the wire (IEEE 802.3: preamble, frame, gap)",
        f"{line_rate(line_bps)} * {payload} / {frame} = {rate(line_bps * payload / frame)}; "
        f"measured: {rate(facts.goodput_bps or 0.0)}",
    )
