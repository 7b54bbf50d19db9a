"""How a flow moves over its steady part: its pauses, its slow half-seconds, its delay's swing.

Reads the ticks of a flow and the samples of its streams; knows no thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, sqrt
from statistics import median

from tuiperf.session import Tick

BUCKET_S = 0.5
BUCKET_RTTS, BUCKET_MOST_S = 3, 1.0
BUCKETS_LEAST = 3
AFTERMATH_S = 0.6  # what was lost in a pause is sent again within so long after it
SLOW_SHARE = 0.8  # of the fastest bucket: slower ones are slow
DIP_SHARE = 0.95  # likewise, where a queue proves that the path was never idle
EVEN_SHARE = 0.02
EXPLAINED_S = 0.5  # a packet sent again is acknowledged as a duplicate within so long


@dataclass(frozen=True)
class Bucket:
    """Half a second of a flow."""

    goodput_bps: float
    rtt_us: float | None  # median
    span_s: float


@dataclass(frozen=True)
class Motion:
    """None means "not known"."""

    scatter: float | None  # coefficient of variation of the half-second buckets
    slow_share: float | None  # the 10th percentile of the buckets' goodput over a fast one's
    falls_s: float  # the longest stay below 80 % of the fastest bucket, after a fast one
    dips_s: float  # the same below 95 %
    slow_rtt_us: float | None  # median RTT in those slow buckets
    least_rtt_us: float | None  # the smallest of the buckets' median RTTs
    best_bps: float | None  # the fastest bucket
    typical_bps: float | None  # the median bucket
    even_share: float | None  # of the buckets, those within 2 % of it
    pauses_s: tuple[float, ...]  # spans without a byte delivered, two ticks and longer
    lost_by_pauses: float | None  # share of the packets sent again within and after such spans


def of(ticks: Sequence[Tick]) -> Motion:
    """The motion of these ticks. On long paths buckets are longer than half a second: a hole that
    is filled lets the bytes of a whole RTT count at once."""
    rtts = [tick.rtt_us for tick in ticks if tick.rtt_us]
    width_s = max(BUCKET_S, BUCKET_RTTS * median(rtts) / 1e6) if rtts else BUCKET_S
    halves = buckets(ticks, min(width_s, BUCKET_MOST_S))
    rates = sorted(each.goodput_bps for each in halves)
    enough = len(rates) >= BUCKETS_LEAST and 0 < rates[-1] < inf
    fast_bps = rates[-2] if enough else 0.0  # one alone may hold what a filled hole let through
    spans = _pauses(ticks)
    return Motion(
        scatter=_variation(rates) if enough else None,
        slow_share=_percentile(rates, 0.1) / fast_bps if enough and fast_bps else None,
        falls_s=_falls(halves, SLOW_SHARE * fast_bps) if enough else 0.0,
        dips_s=_falls(halves, DIP_SHARE * fast_bps) if enough else 0.0,
        slow_rtt_us=_slow_rtt(halves, fast_bps) if enough else None,
        least_rtt_us=min((each.rtt_us for each in halves if each.rtt_us), default=None),
        best_bps=rates[-1] if enough else None,
        typical_bps=median(rates) if enough else None,
        even_share=_even(rates) if enough else None,
        pauses_s=tuple(end - begin for begin, end in spans),
        lost_by_pauses=_lost_by(spans, ticks),
    )


def buckets(ticks: Sequence[Tick], width_s: float = BUCKET_S) -> list[Bucket]:
    """The ticks in buckets of at least this length; a rest is left out."""
    found: list[Bucket] = []
    bits = span_s = 0.0
    rtts: list[float] = []
    for tick in ticks:
        bits += tick.goodput_bps * tick.span_s
        span_s += tick.span_s
        rtts += [tick.rtt_us] if tick.rtt_us else []
        if span_s >= width_s - 0.01:
            if isfinite(bits):
                found.append(Bucket(bits / span_s, median(rtts) if rtts else None, span_s))
            bits, span_s, rtts = 0.0, 0.0, []
    return found


def _variation(rates: Sequence[float]) -> float | None:
    mean = sum(rates) / len(rates)
    if not 0 < mean < inf:
        return None
    return sqrt(sum((each - mean) ** 2 for each in rates) / len(rates)) / mean


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _even(rates: Sequence[float]) -> float:
    middle = median(rates)
    return sum(abs(each - middle) <= EVEN_SHARE * middle for each in rates) / len(rates)


def _falls(halves: Sequence[Bucket], least_bps: float) -> float:
    """Seconds spent below that rate at a stretch; a slow beginning is no fall."""
    longest_s = stay_s = 0.0
    fast_seen = False
    for each in halves:
        slow = each.goodput_bps < least_bps
        fast_seen = fast_seen or not slow
        stay_s = stay_s + each.span_s if slow and fast_seen else 0.0
        longest_s = max(longest_s, stay_s)
    return longest_s


def _slow_rtt(halves: Sequence[Bucket], best_bps: float) -> float | None:
    slow = [each.rtt_us for each in halves if each.goodput_bps < SLOW_SHARE * best_bps]
    known = [rtt_us for rtt_us in slow if rtt_us]
    return median(known) if known else None


def _pauses(ticks: Sequence[Tick]) -> list[tuple[float, float]]:
    """Begin and end of each run of two ticks and more that delivered nothing."""
    found = []
    begin_s = 0.0
    quiet = 0
    for tick in ticks:
        if tick.goodput_bps > 0:
            if quiet >= 2:
                found.append((begin_s, tick.test_s - tick.span_s))
            quiet = 0
            continue
        if not quiet:
            begin_s = tick.test_s - tick.span_s
        quiet += 1
    if quiet >= 2:
        found.append((begin_s, ticks[-1].test_s))
    return found


def _lost_by(spans: Iterable[tuple[float, float]], ticks: Sequence[Tick]) -> float | None:
    total = sum(tick.retransmits or 0 for tick in ticks)
    if not total:
        return None
    near = {
        tick.test_s
        for begin_s, end_s in spans
        for tick in ticks
        if begin_s < tick.test_s <= end_s + AFTERMATH_S
    }
    return sum(tick.retransmits or 0 for tick in ticks if tick.test_s in near) / total


def unasked_duplicates(
    times_s: Sequence[float], retransmits: Sequence[int], duplicates: Sequence[int]
) -> int:
    """Duplicates reported while nothing had been sent again for a while: the network made them.

    The sequences are counters of one stream at the same times; RFC 3708 counts DSACKs likewise.
    """
    found = 0
    asked_s = -inf
    rows = zip(times_s, retransmits, duplicates, strict=True)
    for before, after in pairwise(rows):
        if after[1] > before[1]:
            asked_s = after[0]
        elif after[0] - asked_s > EXPLAINED_S:
            found += max(0, after[2] - before[2])
    return found
