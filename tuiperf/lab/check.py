"""Measure a lab and hold it against what was asked: `check(lab)` gives the rows.

Limits: a round trip within 0.5 ms or 3 %, a rate within 2 % and never more than 0.5 % above what
was asked, a share of lost packets within the interval in which 99 % of such draws lie.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

from tuiperf.lab import gauges
from tuiperf.lab.run import Lab, Side
from tuiperf.lab.spec import DIRECTIONS, FRAMING_BYTES, Direction

RTT_OFF_S, RTT_OFF_SHARE = 0.0005, 0.03
RATE_BELOW_SHARE, RATE_ABOVE_SHARE = 0.02, 0.005
SURE = 0.99
FEW = 1000  # datagrams; fewer say nothing about a share

PINGS, PING_S = 40, 0.02
FLOOD_SHARE, FLOOD_SKIP_S, FLOOD_TAKE_S = 1.25, 0.4, 1.0
COUNT_MOST, COUNT_S, COUNT_SHARE, COUNT_PPS = 20_000, 1.5, 0.25, 20_000.0

T = TypeVar("T")

_RATE_WIRE_BYTES = gauges.FLOOD_PAYLOAD_BYTES + gauges.HEADER_BYTES + FRAMING_BYTES
_COUNT_WIRE_BYTES = gauges.COUNT_PAYLOAD_BYTES + gauges.HEADER_BYTES + FRAMING_BYTES


@dataclass(frozen=True)
class Row:
    """One line: what, toward whom ("" both), asked, measured, what is allowed, and is it so."""

    what: str
    toward: str
    asked: float
    measured: float
    low: float
    high: float
    unit: str  # "s", "bit/s" or "share"

    @property
    def fine(self) -> bool:
        return self.low <= self.measured <= self.high


def check(lab: Lab) -> Iterator[Row]:
    """Measure round trip, rates, losses, reordering and duplicates of a lab, one after the other.

    The path must be idle. What is off is measured once more, and the second time counts: a busy
    machine can stall any of the processes. Raises LabError when the lab is not there any more.
    """
    yield from _twice(lambda: [_round_trip(lab)])
    for name in DIRECTIONS:
        yield from _twice(partial(_rates, lab, name))
    for name in DIRECTIONS:
        yield from _twice(partial(_shares, lab, name))


def _twice(measure: Callable[[], list[Row]]) -> list[Row]:
    rows = measure()
    return rows if all(row.fine for row in rows) else measure()


def _ends(lab: Lab, name: str) -> tuple[Side, Side]:
    return (lab.near, lab.far) if name == "there" else (lab.far, lab.near)


def _round_trip(lab: Lab) -> Row:
    path = lab.path
    bits = (gauges.ECHO_BYTES + FRAMING_BYTES) * 8
    asked_s = path.rtt_s
    spread_s = path.there.jitter_s + path.here.jitter_s
    for direction in (path.there, path.here):
        asked_s += bits / direction.rate_bps if direction.rate_bps else 0.0
        asked_s += direction.jitter_s / 2
    wait_s = asked_s + spread_s + 0.5
    found = lab.near.call(gauges.ping, lab.peer, PINGS, PING_S, wait_s)
    measured_s = median(found.rtts_s) if found.rtts_s else math.inf
    off_s = max(RTT_OFF_S, asked_s * RTT_OFF_SHARE, spread_s / 4)
    return Row("round trip", "", asked_s, measured_s, asked_s - off_s, asked_s + off_s, "s")


def _rates(lab: Lab, name: str) -> list[Row]:
    direction = lab.path.direction(name)
    limits = [rate for rate in (direction.rate_bps, direction.police_bps) if rate]
    if not limits:
        return []
    asked_bps = min(limits)
    pps = asked_bps * FLOOD_SHARE / 8 / _RATE_WIRE_BYTES
    take_s = max(FLOOD_TAKE_S, 200 / pps)
    send = partial(gauges.send_flood, packets_per_s=pps, for_s=FLOOD_SKIP_S + take_s + 0.2)
    take = partial(gauges.receive_flood, skip_s=FLOOD_SKIP_S, take_s=take_s)
    found = _across(lab, name, take, send)
    bps = found.datagrams * _RATE_WIRE_BYTES * 8 / found.seconds if found.seconds > 0 else 0.0
    passing = _survivors(direction)
    low = asked_bps * passing * (1 - RATE_BELOW_SHARE)
    high = asked_bps * (1 + direction.duplicate) * (1 + RATE_ABOVE_SHARE)
    words = "rate" if direction.rate_bps == asked_bps else "policed rate"
    return [Row(words, name, asked_bps, bps, low, high, "bit/s")]


def _survivors(direction: Direction) -> float:
    """The share of what is on the wire that arrives; outages may fall into a measurement or not."""
    out = direction.outage_s / direction.outage_every_s if direction.outage_s else 0.0
    return (1 - _lost(direction)) * (1 - 3 * out)


def _shares(lab: Lab, name: str) -> list[Row]:
    direction = lab.path.direction(name)
    if direction.collides or direction.outage_s:
        return []
    rates = [rate for rate in (direction.rate_bps, direction.police_bps) if rate]
    pps = min([COUNT_PPS, *(rate * COUNT_SHARE / 8 / _COUNT_WIRE_BYTES for rate in rates)])
    count = int(min(COUNT_MOST, pps * COUNT_S))
    if count < FEW:
        return []
    wait_s = direction.jitter_s + direction.reorder_s + direction.delay_s + 0.3
    take = partial(gauges.receive_count, wait_s=wait_s)
    found = _across(lab, name, take, partial(gauges.send_count, count=count, packets_per_s=pps))
    clumps = _clumping(direction) if direction.burst_loss else 1.0
    low, high = interval(int(count / clumps), _lost(direction))
    missing = 1 - found.distinct / count
    rows = [Row("lost", name, _lost(direction), missing, low, high, "share")]
    for what, hits, asked in (
        ("reordered", found.overtaken, direction.reorder),
        ("duplicated", found.repeated, direction.duplicate),
    ):
        if asked:
            low, high = interval(count, asked)
            rows.append(Row(what, name, asked, hits / count, low, high, "share"))
    return rows


def _lost(direction: Direction) -> float:
    return direction.loss + direction.burst_loss - direction.loss * direction.burst_loss


def _clumping(direction: Direction) -> float:
    """How much more the share of a two-state chain scatters than that of independent losses."""
    begin = direction.burst_loss / (direction.burst_packets * (1 - direction.burst_loss))
    stay = 1 - begin - 1 / direction.burst_packets
    return max(1.0, (1 + stay) / (1 - stay))


def interval(count: int, share: float, sure: float = SURE) -> tuple[float, float]:
    """Between which shares the hits of `count` independent tries lie, with this probability."""
    if share <= 0:
        return 0.0, 0.0
    tail = (1 - sure) / 2
    log_hit, log_miss = math.log(share), math.log1p(-share)
    below = 0.0
    low = None
    for hits in range(count + 1):
        below += math.exp(
            math.lgamma(count + 1)
            - math.lgamma(hits + 1)
            - math.lgamma(count - hits + 1)
            + hits * log_hit
            + (count - hits) * log_miss
        )
        if low is None and below > tail:
            low = hits
        if below >= 1 - tail:
            return (low or 0) / count, hits / count
    return (low or 0) / count, 1.0


def _across(lab: Lab, name: str, take: Callable[[int], T], send: Callable[[str], None]) -> T:
    """Receive at one end while the other sends."""
    sender, receiver = _ends(lab, name)
    reader, writer = os.pipe()
    try:
        taking = receiver.start(take, writer)
        os.read(reader, 1)
        sender.call(send, sender.peer)
        return taking.result()
    finally:
        os.close(reader)
        os.close(writer)
