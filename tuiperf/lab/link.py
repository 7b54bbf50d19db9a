"""One direction of the relay: an arithmetic transmitter. Packets and the time go in; nothing waits.

A packet that arrives at `now` starts on the wire when the wire is free, occupies it for as long as
its bits take, and is due at the other side a delay later. So the backlog of the queue is the time
until the wire is free, and dropping what does not fit costs one comparison. Losses, reordering and
duplicates are drawn for segments, as distances: a super-packet that chance spares passes whole,
another one is cut where it must be.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from dataclasses import asdict, dataclass

from tuiperf.lab import segments
from tuiperf.lab.chance import Bursty, Independent
from tuiperf.lab.segments import Shape
from tuiperf.lab.spec import FRAMING_BYTES, Direction

PIECE_S = 0.001
"""A super-packet longer than this on the wire is cut, so that low rates stay smooth."""


@dataclass
class Counters:
    """What became of the segments so far, and the bytes delivered with their framing."""

    offered: int = 0
    delivered: int = 0
    delivered_bytes: int = 0
    lost: int = 0  # by chance, by outages, by collisions
    queue_dropped: int = 0
    policed: int = 0
    too_big: int = 0
    reordered: int = 0
    duplicated: int = 0
    marked: int = 0
    refused: int = 0  # by the far device: packets, not segments

    def to_json(self) -> dict[str, int]:
        return asdict(self)


class Medium:
    """The wire: when it is free again. Both directions may share one."""

    def __init__(self) -> None:
        self.free_s = 0.0


class Link:
    """One direction. `line` holds (due, packet) in order, `aside` a heap of what comes later."""

    def __init__(self, spec: Direction, seed: int, medium: Medium | None = None) -> None:
        self.medium = medium or Medium()
        self.other: Link | None = None  # the way back: for ICMP errors and collisions
        self.counters = Counters()
        self.line: deque[tuple[float, bytes]] = deque()
        self.aside: list[tuple[float, int, bytes]] = []
        self._rng = random.Random(seed)
        self._number = 0
        self.change(spec)

    def change(self, spec: Direction) -> None:
        """Go on with other properties; what is on the wire stays."""
        rng = self._rng
        self._spec = spec
        self._byte_s = 8 / spec.rate_bps if spec.rate_bps else 0.0
        self._queue_s = spec.queue_bytes * self._byte_s if spec.queue_bytes else float("inf")
        self._most = self._most_segments()
        self._losses: list[Independent | Bursty] = []
        if spec.loss:
            self._losses.append(Independent(spec.loss, rng))
        if spec.burst_loss:
            self._losses.append(Bursty(spec.burst_loss, spec.burst_packets, rng))
        self._reorders = Independent(spec.reorder, rng) if spec.reorder else None
        self._doubles = Independent(spec.duplicate, rng) if spec.duplicate else None
        self._chance = bool(self._losses or spec.reorder or spec.duplicate or spec.collides)
        self._tokens_bytes = float(spec.police_bytes)
        self._tokens_at_s = 0.0
        self._spoiled = 0
        self._last_due_s = 0.0
        self._begun_s: float | None = None
        self._plain = not (
            self._chance
            or spec.mtu_bytes
            or spec.police_bps
            or spec.outage_s
            or spec.mark_s
            or spec.jitter_s
        )

    def _most_segments(self) -> int:
        rate_bps = self._spec.rate_bps
        segment_bits = (1500 + FRAMING_BYTES) * 8
        return max(1, int(rate_bps * PIECE_S / segment_bits)) if rate_bps else 1 << 30

    @property
    def next_s(self) -> float:
        """When the next packet is due; infinity when there is none."""
        due = self.line[0][0] if self.line else float("inf")
        return min(due, self.aside[0][0]) if self.aside else due

    def offer(self, packet: bytes, now_s: float) -> None:
        """Take a packet that arrives now."""
        shape = segments.shape(packet)
        self.counters.offered += shape.segments
        if self._plain and shape.segments <= self._most:
            self._run(packet, shape, 0, shape.segments, now_s)
            return
        first, last = 0, shape.segments
        if self._spec.mtu_bytes:
            first = self._narrow(packet, shape, now_s)
        special = self._draw(last) if self._chance else {}
        at = first
        for place in sorted(special):
            if place >= at:
                self._runs(packet, shape, at, place, now_s)
                self._special(packet, shape, place, special[place], now_s)
                at = place + 1
        self._runs(packet, shape, at, last, now_s)

    def take(self, until_s: float) -> bytes | None:
        """The next packet that is due by then, None when there is none."""
        if self.aside and self.aside[0][0] <= until_s:
            return heapq.heappop(self.aside)[2]
        if self.line and self.line[0][0] <= until_s:
            return self.line.popleft()[1]
        return None

    def _draw(self, count: int) -> dict[int, str]:
        special: dict[int, str] = {}
        if self._doubles:
            special.update(dict.fromkeys(self._doubles.picks(count), "double"))
        if self._reorders:
            special.update(dict.fromkeys(self._reorders.picks(count), "late"))
        for loss in self._losses:
            special.update(dict.fromkeys(loss.picks(count), "lost"))
        for place in range(min(self._spoiled, count)):
            special[place] = "lost"
        self._spoiled = max(0, self._spoiled - count)
        return special

    def _narrow(self, packet: bytes, shape: Shape, now_s: float) -> int:
        """Drop what is too large for the narrowest link; the first segment that is left."""
        mtu = self._spec.mtu_bytes
        if shape.bytes_of(0, 1) <= mtu:
            return 0
        dropped = (
            shape.segments if shape.bytes_of(shape.segments - 1, 1) > mtu else shape.segments - 1
        )
        self.counters.too_big += dropped
        if not self._spec.mtu_silent and self.other is not None:
            error = segments.too_big(segments.cut(packet, shape, 0, 1), mtu)
            if error is not None:
                self.other.offer(error, now_s)
        return dropped

    def _runs(self, packet: bytes, shape: Shape, first: int, last: int, now_s: float) -> None:
        for at in range(first, last, self._most):
            self._run(packet, shape, at, min(self._most, last - at), now_s)

    def _run(self, packet: bytes, shape: Shape, first: int, count: int, now_s: float) -> None:
        admitted = self._admitted(shape, first, count, now_s)
        if admitted:
            piece = segments.cut(packet, shape, first, admitted)
            self._send(piece, admitted, _wire_bytes(shape, first, admitted), now_s)

    def _special(self, packet: bytes, shape: Shape, place: int, what: str, now_s: float) -> None:
        if not self._admitted(shape, place, 1, now_s):
            return
        wire_bytes = _wire_bytes(shape, place, 1)
        if what == "lost":
            self._occupy(wire_bytes, now_s)
            self.counters.lost += 1
            return
        piece = segments.cut(packet, shape, place, 1)
        if what == "late":
            self._send(piece, 1, wire_bytes, now_s, self._spec.reorder_s)
            self.counters.reordered += 1
            return
        self._send(piece, 1, wire_bytes, now_s)
        if self._admitted(shape, place, 1, now_s):
            self._send(piece, 1, wire_bytes, now_s)
            self.counters.duplicated += 1

    def _admitted(self, shape: Shape, first: int, count: int, now_s: float) -> int:
        """How many of the segments the policer and the queue take; the rest is dropped."""
        if self._spec.police_bps:
            passed = self._police(shape, first, count, now_s)
            self.counters.policed += count - passed
            count = passed
        room_s = self._queue_s - (self.medium.free_s - now_s)
        if not count or _wire_bytes(shape, first, count) * self._byte_s <= room_s:
            return count
        each_s = _wire_bytes(shape, first, 1) * self._byte_s
        fits = max(0, min(count, int(room_s / each_s)))
        self.counters.queue_dropped += count - fits
        return fits

    def _police(self, shape: Shape, first: int, count: int, now_s: float) -> int:
        spec = self._spec
        earned = (now_s - self._tokens_at_s) * spec.police_bps / 8
        tokens = min(float(spec.police_bytes), self._tokens_bytes + earned)
        self._tokens_at_s = now_s
        passed = 0
        while passed < count:
            price = _wire_bytes(shape, first + passed, 1)
            if price > tokens:
                break
            tokens -= price
            passed += 1
        self._tokens_bytes = tokens
        return passed

    def _occupy(self, wire_bytes: int, now_s: float) -> tuple[float, float]:
        """Put so many bytes on the wire; when they start and when they are through."""
        medium = self.medium
        start_s = medium.free_s if medium.free_s > now_s else now_s
        medium.free_s = end_s = start_s + wire_bytes * self._byte_s
        other = self.other
        if other is not None and other.medium.free_s > now_s:
            if other._spec.collides:
                other._spoiled += 1
            if self._spec.collides:
                self._spoiled += 1
        return start_s, end_s

    def _send(
        self, piece: bytes, count: int, wire_bytes: int, now_s: float, later_s: float = 0.0
    ) -> None:
        spec = self._spec
        start_s, end_s = self._occupy(wire_bytes, now_s)
        if spec.outage_s and self._is_out(end_s):
            self.counters.lost += count
            return
        if spec.mark_s and start_s - now_s > spec.mark_s:
            changed = segments.marked(piece)
            if changed is not None:
                piece = changed
                self.counters.marked += count
        due_s = end_s + spec.delay_s
        if spec.jitter_s:
            due_s += self._rng.random() * spec.jitter_s
        self.counters.delivered += count
        self.counters.delivered_bytes += wire_bytes
        if later_s:
            self._number += 1
            heapq.heappush(self.aside, (due_s + later_s, self._number, piece))
            return
        self._last_due_s = due_s = max(due_s, self._last_due_s)
        self.line.append((due_s, piece))

    def _is_out(self, at_s: float) -> bool:
        """The first outage begins when half a period has passed since the first packet."""
        spec = self._spec
        if self._begun_s is None:
            self._begun_s = at_s - spec.outage_every_s / 2
        return (at_s - self._begun_s) % spec.outage_every_s < spec.outage_s and (
            at_s - self._begun_s >= spec.outage_every_s
        )


def _wire_bytes(shape: Shape, first: int, count: int) -> int:
    return shape.bytes_of(first, count) + count * FRAMING_BYTES
