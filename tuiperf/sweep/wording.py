"""Verdicts that experiments make of a first verdict: confirmed, doubted, or told more closely."""

from __future__ import annotations

from dataclasses import replace

from tuiperf.rules.quantities import milliseconds, percent, rate, times
from tuiperf.rules.verdict import Confidence, Level, Verdict

from .known import Reading

HOST_BUSY = 0.7  # of a core
FAULT_SHARE = 2e-4  # of the packets lost on a line: cubic keeps a quarter of 1 Gbit/s at 20 ms


def confirmed(verdict: Verdict, line: str, confidence: Confidence) -> Verdict:
    """The same, with what an experiment showed."""
    return replace(verdict, because=(*verdict.because, line), confidence=confidence)


def alike(verdict: Verdict, other: Verdict) -> Verdict:
    """The same cause as in the other direction, where an experiment has settled it."""
    line = "the other direction shows the same, and more connections settled it there"
    return replace(verdict, because=(*verdict.because, line), confidence=other.confidence)


def too_large(verdict: Verdict, words: str, small: Reading) -> Verdict:
    """Full packets vanish, smaller ones pass."""
    return replace(
        verdict,
        id="mtu-blackhole",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="MTU black hole",
        claim=(
            f"{words}: full packets vanish and smaller ones pass: some hop takes less than a "
            "packet's size and does not say so."
        ),
        because=(
            *verdict.because,
            f"with segments of 1200 bytes {rate(small.goodput_bps or 0.0)} arrive",
        ),
        ruled_out=("a firewall: it would drop the small packets of the test as well",),
        next=(
            "let ICMP type 3 code 4 (IPv6: type 2) pass, or lower the MTU at the tunnel's ends",
            "at the sender, as root: sysctl -w net.ipv4.tcp_mtu_probing=1",
        ),
    )


def nothing_passes(verdict: Verdict, words: str) -> Verdict:
    """Small segments vanish as well."""
    return replace(
        verdict,
        id="data-blocked",
        level=Level.FAULT,
        confidence=Confidence.MEDIUM,
        title="Data is dropped",
        claim=f"{words}: connections open, but data is dropped, whatever the size of its packets.",
        because=(*verdict.because, "segments of 1200 bytes do not arrive either"),
        ruled_out=("packets too large for the path: small ones would arrive",),
        next=("look for a firewall or a middlebox that follows connections on the way",),
        qualifier=(),
    )


def line_loss(
    verdict: Verdict,
    words: str,
    base: Reading,
    *,
    paced: Reading | None = None,
    growth: float | None = None,
    faster: float | None = None,
) -> Verdict:
    """The line loses packets whatever is sent."""
    lines = []
    if paced is not None:
        lines.append(
            f"paced at {rate(paced.goodput_bps or 0.0)} it still loses "
            f"{percent(paced.lost_share or 0.0)}, before {percent(base.lost_share or 0.0)}"
        )
    if growth is not None:
        lines.append(f"4 connections carry {times(growth)} as much: each is slowed by itself")
    if faster is not None:
        lines.append(f"BBR, which passes over losses, carries {times(faster)} as much")
    lost = percent(base.lost_share) if base.lost_share else "some"
    strong = paced is not None or (growth or 0.0) > 2.5
    return replace(
        verdict,
        id="lossy",
        level=Level.FAULT if (base.lost_share or 0.0) >= FAULT_SHARE else Level.LOOK,
        confidence=Confidence.HIGH if strong else Confidence.MEDIUM,
        title="Packets get lost",
        short=f"{lost} lost on the line",
        claim=(
            f"{words}: the line loses {lost} of the packets whatever the rate, and "
            f"{base.congestion or 'the sender'} slows down at each loss."
        ),
        because=(*verdict.because, *lines),
        ruled_out=(
            *verdict.ruled_out,
            "a rate limiter or a short queue: pacing and more connections would not behave so",
        ),
        next=(
            "look for errors on the ports, cables, optics and radio links of that direction: "
            "tuiperf link, ethtool -S, the switches' counters",
            "until then: several connections (-P 4), or BBR at the sender "
            "(sysctl -w net.ipv4.tcp_congestion_control=bbr)",
        ),
        qualifier=(("direction", base.way.value), ("kind", "path-loss")),
    )


def limiter(
    verdict: Verdict,
    words: str,
    base: Reading,
    four: Reading,
    *,
    kind: str,
    paced: Reading | None,
) -> Verdict:
    """Bursts are dropped: by a rate limiter ("policed") or by a queue too short for them."""
    carried = max(four.goodput_bps or 0.0, base.goodput_bps or 0.0)
    waited_us = (four.rtt_us or 0.0) - (four.min_rtt_us or four.rtt_us or 0.0)
    lines = [
        f"{four.streams} connections carry {rate(four.goodput_bps or 0.0)}, one "
        f"{rate(base.goodput_bps or 0.0)}: the limit is of all together",
        f"the round trip of those is {milliseconds(four.rtt_us or 0.0)}, "
        f"{milliseconds(waited_us)} above the least",
    ]
    if paced is not None:
        lines.append(
            f"paced at {rate(paced.goodput_bps or 0.0)}, {percent(paced.lost_share or 0.0)} are "
            f"lost, before {percent(base.lost_share or 0.0)}"
        )
    limited = kind == "policed"
    return replace(
        verdict,
        id="lossy",
        level=Level.LOOK,  # it does what somebody has set
        confidence=Confidence.HIGH if paced is not None else Confidence.MEDIUM,
        title="Rate limiter" if limited else "Queue too short",
        short=f"drops above {rate(carried)}" if limited else f"fills at {rate(carried)}",
        claim=(
            f"{words}: a rate limiter drops what exceeds about {rate(carried)} at once."
            if limited
            else f"{words}: the queue at {rate(carried)} is too short: bursts overflow it."
        ),
        because=(*verdict.because, *lines),
        ruled_out=(
            *verdict.ruled_out,
            "a lossy line: it would lose as many paced packets"
            if paced is not None
            else "a lossy line: four connections would carry four times as much",
        ),
        next=_limiter_advice(limited, carried),
        qualifier=(("direction", base.way.value), ("kind", kind)),
    )


def _limiter_advice(limited: bool, carried_bps: float) -> tuple[str, ...]:
    below = f"{max(1, round(0.95 * carried_bps / 1e6))}mbit"
    shaping = f"at the sender, as root: tc qdisc replace dev DEV root tbf rate {below} "
    if limited:
        return (
            "ask whoever limits the rate to queue what exceeds it, or to allow larger bursts",
            f"{shaping}burst 32k latency 50ms",
        )
    return (
        "give that port a queue of at least the path's content, bandwidth times delay",
        "let the sender pace: BBR, or fq (as root: tc qdisc replace dev DEV root fq)",
    )


def full_for_all(verdict: Verdict, words: str, base: Reading, four: Reading) -> Verdict:
    """No rule names a limit, and several connections get no more than one: it is all's."""
    growth = (four.goodput_bps or 0.0) / (base.goodput_bps or 1.0)
    line = f"{four.streams} connections carry {times(growth)} as much: it is what all get together"
    if max(base.busy_share, base.far_busy_share) >= HOST_BUSY:
        return confirmed(verdict, line, Confidence.MEDIUM)
    return replace(
        verdict,
        id="path-full",
        level=Level.FINE,
        confidence=Confidence.MEDIUM,
        title="Path is full",
        short=rate(base.goodput_bps or 0.0),
        claim=f"{words}: the path carries all it can, {rate(base.goodput_bps or 0.0)}.",
        because=(*verdict.because, line),
    )


def more_together(verdict: Verdict, words: str, base: Reading, four: Reading) -> Verdict:
    """One connection does not fill what several do, and its kernel names no limit."""
    growth = (four.goodput_bps or 0.0) / (base.goodput_bps or 1.0)
    return replace(
        verdict,
        id="per-connection",
        level=Level.LOOK,
        confidence=Confidence.LOW,
        title="One is not enough",
        short=f"{times(growth)} with {four.streams}",
        claim=(
            f"{words}: one connection carries {rate(base.goodput_bps or 0.0)}, {four.streams} "
            f"together {rate(four.goodput_bps or 0.0)}: something limits each one."
        ),
        because=(*verdict.because, f"{four.streams} connections carry {times(growth)} as much"),
        next=(
            f"use {four.streams} connections (-P {four.streams}) where the program can",
            "tuiperf sweep --thorough looks longer: rare loss needs many seconds to show",
        ),
        qualifier=(),
    )
