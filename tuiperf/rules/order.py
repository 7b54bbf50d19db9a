"""`reordered` and `duplicated`: packets overtake each other, or come twice. None is lost."""

from __future__ import annotations

from . import loss, signs
from .facts import Facts
from .quantities import percent, rate
from .verdict import Confidence, Level, Verdict

HARMFUL_SHARE = 0.5  # of what was sent again, the far end had already got
HARMFUL_LEAST = 10  # packets
UNASKED_LEAST = 10  # duplicates reported that no retransmission explains
TWICE_SHARE = 0.003  # of the packets; a few are sent again for nothing on any path
DSACK_MORE = 1.2  # duplicates we reported over what the far end sent again
RECEIVED_LEAST = 20
ALWAYS_SPREAD, BBR_MORE = 0.95, 1.9
"""BBR that overfills a queue loses many packets at once: measured 0.3 to 1.3 out of order for each
one sent again; with reordering besides 2 to 8."""
OFTEN_LEAST = 10  # samples with packets out of order


def reordered(facts: Facts) -> Verdict | None:
    """Packets overtake each other, on a path; within one host its cores do that."""
    if facts.same_host:
        return None
    seen = facts.reord_seen or 0
    if facts.here_sends and seen >= signs.REORDERED_LEAST:
        return _reordered(facts, _sent_signs(facts, seen), Confidence.HIGH)
    if not facts.here_sends and (loss.overtaken(facts) or _more_than_lost(facts)):
        lines = (
            f"packets came out of order in {percent(facts.out_of_order_spread or 0.0)} of the "
            f"samples (tcpi_rcv_ooopack), yet {rate(facts.goodput_bps or 0.0)} arrive: so many "
            "losses would hold the sender far below that",
        )
        if _more_than_lost(facts):
            lines = (
                f"packets came out of order in {facts.out_of_order_samples} samples "
                f"(tcpi_rcv_ooopack), yet the far sender sent only {facts.far_retransmits} again",
            )
        return _reordered(facts, lines, Confidence.MEDIUM)
    return None


def _more_than_lost(facts: Facts) -> bool:
    """Packets came out of order more often than the far sender sent any again."""
    often, again = facts.out_of_order_samples, facts.far_retransmits
    if often is None or again is None or often < OFTEN_LEAST:
        return False
    in_flight = _segments_in_flight(facts)
    count = facts.out_of_order or 0
    if in_flight and count > 2 * again * in_flight:
        return True
    always = (facts.out_of_order_spread or 0.0) >= ALWAYS_SPREAD and signs.queue_built(facts)
    if facts.loss_based is False and always and count >= BBR_MORE * again:
        return True
    return often >= 2 * again


def _segments_in_flight(facts: Facts) -> float | None:
    """What is on the way at once, in the segments that this host counts; one loss puts so many
    out of order at most."""
    flight = facts.bdp_bytes
    if not facts.received_segments or not facts.goodput_bps or flight is None:
        return None
    segment = facts.goodput_bps / 8 * facts.steady_s / facts.received_segments
    return max(1.0, flight * max(1.0, facts.inflation or 1.0) / segment) if segment else None


def _sent_signs(facts: Facts, seen: int) -> tuple[str, ...]:
    again, dups = facts.retransmits_total or 0, facts.dsack_dups or 0
    return (
        f"{seen} reorderings were seen in the steady part (tcpi_reord_seen)",
        f"{again} packets were sent again; {dups} of them had arrived already (tcpi_dsack_dups)",
    )


def _harmful(facts: Facts) -> bool:
    again, dups = facts.retransmits_total or 0, facts.dsack_dups or 0
    return again >= HARMFUL_LEAST and dups >= HARMFUL_SHARE * again


def _reordered(facts: Facts, because: tuple[str, ...], confidence: Confidence) -> Verdict:
    cost = ": TCP takes some for lost and slows down" if _harmful(facts) else ""
    return Verdict(
        id="reordered",
        level=Level.LOOK,
        confidence=confidence,
        title="Out of order",
        short=f"{facts.reord_seen} reorderings" if facts.reord_seen else "packets overtake",
        claim=f"{facts.words}: packets overtake each other on the path{cost}.",
        because=because,
        ruled_out=_no_loss(facts),
        next=(
            "look for link bundles and equal-cost routes that spread packets, not flows, and for "
            "radio links",
            "-P 4 does not help: each stream is reordered by itself",
        ),
        qualifier=(("direction", facts.direction.value),),
        explanation=(
            "the kernel counts a reordering when a packet it took for lost turns out to have come "
            "late (RFC 8985, 3)",
            f"seen: {facts.reord_seen or 0}; on paths that keep the order: 0; "
            f"from {signs.REORDERED_LEAST} on it is a verdict",
        ),
    )


def _no_loss(facts: Facts) -> tuple[str, ...]:
    if facts.retransmitted_share is None:
        return ()
    return (f"loss: {percent(facts.retransmitted_share)} of the bytes were sent again",)


def duplicated(facts: Facts) -> Verdict | None:
    """The network delivers packets twice."""
    if signs.hosts_pace(facts) or facts.same_host:
        return None
    if facts.here_sends:
        return _sent_twice(facts)
    told, again = facts.duplicates_received, facts.far_retransmits
    if told is None or again is None or told < RECEIVED_LEAST:
        return None
    if told < DSACK_MORE * again and told < TWICE_SHARE * _packets(facts):
        return None
    return _duplicated(
        facts,
        told,
        f"{told} packets came twice (TcpExt DSACKs sent); the far sender sent {again} again",
    )


def _sent_twice(facts: Facts) -> Verdict | None:
    unasked, told = facts.unasked_dups or 0, facts.dsack_dups or 0
    if facts.reord_seen or (facts.timeouts and unasked < UNASKED_LEAST):
        return None
    if unasked >= UNASKED_LEAST:
        sign = f"{unasked} packets arrived twice that had not been sent again (tcpi_dsack_dups)"
        return _duplicated(facts, unasked, sign)
    if told < RECEIVED_LEAST or told < TWICE_SHARE * _packets(facts):
        return None
    sign = (
        f"{told} packets arrived twice (tcpi_dsack_dups), {percent(told / _packets(facts))} of "
        "all, and none was out of order: too many to have been sent again for nothing"
    )
    return _duplicated(facts, told, sign)


def _packets(facts: Facts) -> float:
    """About how many full packets the test carried."""
    carried = (facts.whole_bps or 0.0) / 8 * facts.elapsed_s
    return max(1.0, carried / (facts.mss_bytes or signs.USUAL_MSS_BYTES))


def _duplicated(facts: Facts, count: int, sign: str) -> Verdict:
    return Verdict(
        id="duplicated",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="Packets come twice",
        short=f"{count} duplicates",
        claim=f"{facts.words}: the network delivers packets twice; they cost some of its capacity.",
        because=(sign,),
        ruled_out=("retransmissions: these are told apart by what was sent again just before",),
        next=(
            "look for a loop of bridges, a mirror port that leaks, or redundant paths (PRP, HSR)",
        ),
        qualifier=(("direction", facts.direction.value),),
        explanation=(
            "a duplicate that nothing sent again explains was made by the network (RFC 3708, 2)",
            f"seen: {count}; from {UNASKED_LEAST} on it is a verdict",
        ),
    )
