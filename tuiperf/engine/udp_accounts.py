"""A receiver's accounts of one UDP stream: iperf3's figures, and beside them more honest ones.

iperf3 (its iperf_udp.c) takes every old number for a late datagram that had been counted as lost.
So a duplicate hides a loss. Our own account remembers which numbers are missing and tells late
from duplicate, as far back as WINDOW numbers; a datagram that comes later than that stays lost.

Jitter is that of RFC 3550, 6.4.1 and A.8, over all datagrams in the order they come.
"""

from __future__ import annotations

import array
import operator
import struct
import sys
from typing import NamedTuple

from .udp_header import HEAD_BYTES, NS_PER_S, Layout, Ramps

WINDOW = 32768
"""How many numbers behind the highest one are remembered."""

LARGEST = 1 << 62
"""The highest number believed; what lies beyond it could not be counted in 64 bits."""

_DECAY = 15 / 16
_GAIN = 1 / 16


class Account(NamedTuple):
    """What has been found so far. The first four are iperf3's."""

    highest: int  # the highest number: iperf3's count of packets
    errors: int
    out_of_order: int
    jitter_ns: float
    lost: int  # numbers never seen
    late: int  # came after a higher number
    duplicates: int
    deepest: int  # by how many numbers the latest datagram was late


class _Missing:
    """Which of the last WINDOW numbers have not come: bit k stands for `top` - k."""

    def __init__(self) -> None:
        self._bits = 0
        self._top = 0

    def add_gap(self, first: int, last: int) -> None:
        """The numbers from first to last were skipped."""
        self._raise_top(last)
        count = min(last - first + 1, WINDOW)
        self._bits |= (1 << count) - 1

    def take(self, number: int) -> bool:
        """True when the number was missing; it is so no longer."""
        behind = self._top - number
        bit = 1 << behind if 0 <= behind < WINDOW else 0
        if not self._bits & bit:
            return False
        self._bits ^= bit
        return True

    def _raise_top(self, top: int) -> None:
        shift = top - self._top
        self._bits = self._bits << shift & ((1 << WINDOW) - 1) if shift < WINDOW else 0
        self._top = top


class Accounts:
    """Counts a stream's datagrams in batches of heads that stand side by side in `heads`.

    Times are nanoseconds since 1970.
    """

    def __init__(self, head: Layout, heads: bytearray) -> None:
        self._head = head
        self._heads = heads
        self._unpack = head.unpacker.unpack_from
        self._ramps = Ramps(head)
        words, step = memoryview(heads).cast(head.lane), HEAD_BYTES // head.number_bytes
        self._numbers = words[8 // head.number_bytes :: step]
        self._times = memoryview(heads).cast("Q")[::2]
        self._jitter = _Jitter()
        self._missing = _Missing()
        self.highest = 0
        self._errors = self._out_of_order = 0
        self._lost = self._late = self._duplicates = self._deepest = 0
        self.disturbed = False
        """True once anything but the next number in order has come."""

    @property
    def jitter_ns(self) -> float:
        return self._jitter.ns

    def account(self) -> Account:
        return Account(
            self.highest,
            self._errors,
            self._out_of_order,
            self._jitter.ns,
            self._lost,
            self._late,
            self._duplicates,
            self._deepest,
        )

    def restart_jitter(self) -> None:
        """The omitted part is over: jitter begins anew, the counters run on."""
        self._jitter = _Jitter()

    def add(self, count: int, arrival_ns: int) -> None:
        """Count the datagrams of the first `count` heads, which were read together."""
        if count == 1:
            seconds, microseconds, number = self._unpack(self._heads)
            self._add_number(self._unwrapped(number))
            self._jitter.add(seconds * NS_PER_S + microseconds * 1000, arrival_ns)
            return
        numbers = self._numbers[:count].tobytes()
        if numbers == self._ramps.run(self.highest + 1, count):
            self.highest += count
        else:
            for number in _native(self._head.lane, numbers):
                self._add_number(self._unwrapped(number))
        self._jitter.add_batch(self._times[:count].tobytes(), count, arrival_ns)

    def _unwrapped(self, number: int) -> int:
        """The number with its upper bits, once a counter of 32 bits has been through its range.

        Only a stream that has come near the end of the range can wrap; before that a number that
        is far ahead is a gap, as with iperf3.
        """
        size = 1 << self._head.bits
        turn, low = divmod(self.highest, size)
        if number < size // 4 and low > size - size // 4:
            turn += 1
        elif turn and number > size - size // 4 and low < size // 4:
            turn -= 1
        return min(turn * size + number, LARGEST)

    def _add_number(self, number: int) -> None:
        expected = self.highest + 1
        if number == expected:
            self.highest = number
            return
        self.disturbed = True
        if number > expected:
            self._errors += number - expected
            self._lost += number - expected
            self._missing.add_gap(expected, number - 1)
            self.highest = number
            return
        self._out_of_order += 1
        if self._errors > 0:
            self._errors -= 1
        self._add_old(number)

    def _add_old(self, number: int) -> None:
        behind = self.highest - number
        if self._missing.take(number):
            self._lost -= 1
        elif behind < WINDOW:
            self._duplicates += 1
            return
        self._late += 1
        self._deepest = max(self._deepest, behind)


class _Jitter:
    """Smoothed difference between successive datagrams' times on the way."""

    def __init__(self) -> None:
        self.ns = 0.0
        self._transit_ns = -1  # none yet

    def add(self, sent_ns: int, arrival_ns: int) -> None:
        transit_ns = abs(arrival_ns - sent_ns)
        if self._transit_ns >= 0:
            self.ns += (abs(transit_ns - self._transit_ns) - self.ns) * _GAIN
        self._transit_ns = transit_ns

    def add_batch(self, times: bytes, count: int, arrival_ns: int) -> None:
        """Count datagrams that arrived at one time; `times` are their stamps, one after the other.

        Where the stamps only rise, within one second and on one side of the arrival, the
        differences are those of the stamps, and smoothing them is one sum of products.
        """
        second, stamp = struct.unpack_from(">II", times)
        self.add(second * NS_PER_S + stamp * 1000, arrival_ns)
        if times == times[:8] * count:
            self.ns *= _DECAY ** (count - 1)
            return
        words = _native("I", times).tolist()
        stamps = words[1::2]
        first_ns, last_ns = (second * NS_PER_S + each * 1000 for each in (stamp, stamps[-1]))
        one_side = (first_ns <= arrival_ns) == (last_ns <= arrival_ns)
        if words[-2] == second and one_side and stamps == sorted(stamps):
            rise = sum(map(operator.mul, stamps, _weights(count)))
            self.ns = self.ns * _DECAY ** (count - 1) + rise * 1000
            self._transit_ns = abs(arrival_ns - last_ns)
            return
        for at in range(2, 2 * count, 2):
            self.add(words[at] * NS_PER_S + words[at + 1] * 1000, arrival_ns)


_WEIGHTS: dict[int, list[float]] = {}


def _weights(count: int) -> list[float]:
    """The part each of `count` rising stamps has in the smoothed sum of their differences.

    The difference of stamps i - 1 and i has decayed count - 1 - i times in the end; each stamp
    stands in two differences, with opposite signs.
    """
    known = _WEIGHTS.get(count)
    if known is None:
        share = [0.0] + [_GAIN * _DECAY ** (count - 1 - at) for at in range(1, count)] + [0.0]
        known = _WEIGHTS[count] = [share[at] - share[at + 1] for at in range(count)]
    return known


def _native(lane: str, raw: bytes) -> array.array[int]:
    words = array.array(lane, raw)
    if sys.byteorder == "little":
        words.byteswap()
    return words
