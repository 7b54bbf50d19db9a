"""What stands at the head of each datagram: when it was sent and its number.

    0  seconds       32 bits, big-endian, the sender's clock
    4  microseconds  32 bits
    8  number        32 bits, or 64 with --udp-counters-64bit; a stream's first datagram has 1

A sender writes the heads of a whole batch with two assignments, a receiver reads them likewise.
"""

from __future__ import annotations

import struct
import time
from typing import Literal, NamedTuple

SHORTEST_DATAGRAM_BYTES = 16
HEAD_BYTES = 16  # of each head in a receiver's array, whatever the width of its number
NS_PER_S = 1_000_000_000

REQUEST = b"9876"
ANSWER = b"6789"
REQUESTS = (REQUEST, b"\x15\xcd\x5b\x07", b"\x07\x5b\xcd\x15")
"""What a client asks with: since iperf3 3.12 the first, before that 123456789 in its byte order."""
ANSWERS = (ANSWER, b"\xb1\x68\xde\x3a", b"\x3a\xde\x68\xb1", b"9876")
"""What a server answers: since 3.12 the first, before that 987654321 in its byte order; from 3.12
to 3.16 a big-endian server sends the digits reversed."""
MAGIC_BYTES = 4


class Layout(NamedTuple):
    """How wide a number is."""

    number_bytes: int

    @property
    def size(self) -> int:
        """The bytes a datagram must have to hold a head."""
        return 8 + self.number_bytes

    @property
    def lane(self) -> Literal["I", "Q"]:
        """The format of a number as an unsigned word."""
        return "Q" if self.number_bytes == 8 else "I"

    @property
    def bits(self) -> int:
        return 8 * self.number_bytes

    @property
    def unpacker(self) -> struct.Struct:
        """Reads seconds, microseconds and number."""
        return struct.Struct(">II" + self.lane)


def layout(counters_64bit: bool) -> Layout:
    return Layout(8 if counters_64bit else 4)


class WallClock:
    """Nanoseconds since 1970 that never jump: the time of day once, then the monotonic clock.

    Receivers of iperf3 before 3.7 compare the head's time with their own clock's; all later ones
    need nothing but differences.
    """

    def __init__(self) -> None:
        self._zero_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        return self._zero_ns + time.monotonic_ns()


class Ramps:
    """Runs of successive numbers as big-endian bytes, made by arithmetic on one long integer."""

    def __init__(self, head: Layout) -> None:
        self._bits = head.bits
        self._size = head.number_bytes
        self._limit = 1 << head.bits
        self._of: dict[int, tuple[int, int]] = {}

    def run(self, first: int, count: int) -> bytes:
        """first, first + 1, …, `count` numbers of them, each cut to its width."""
        first %= self._limit
        if first + count > self._limit:  # they wrap around: not one addition for all of them
            lane = self._size
            return b"".join(
                ((first + index) % self._limit).to_bytes(lane, "big") for index in range(count)
            )
        known = self._of.get(count)
        if known is None:
            ones = sum(1 << self._bits * lane for lane in range(count))
            ramp = sum((count - 1 - lane) << self._bits * lane for lane in range(count))
            known = self._of[count] = (ones, ramp)
        return (first * known[0] + known[1]).to_bytes(self._size * count, "big")


class Heads:
    """The heads of `count` datagrams that stand every `stride` bytes in a buffer.

    `stride` is a multiple of 8, so that heads can be written as words.
    """

    def __init__(self, buffer: bytearray, count: int, stride: int, head: Layout) -> None:
        words = memoryview(buffer)[: count * stride]
        self._buffer = buffer
        self._pack_into = struct.Struct(">II" + head.lane).pack_into
        self._limit = 1 << head.bits
        self._times = words.cast("Q")[0 :: stride // 8]
        first, step = 8 // head.number_bytes, stride // head.number_bytes
        self._lane = head.lane
        self._numbers = words.cast(head.lane)[first::step]
        self._ramps = Ramps(head)

    def fill(self, first: int, count: int, now_ns: int) -> None:
        """Stamp the first `count` datagrams with the time and the numbers from `first` on."""
        seconds, ns = divmod(now_ns, NS_PER_S)
        if count == 1:
            self._pack_into(self._buffer, 0, seconds & 0xFFFFFFFF, ns // 1000, first % self._limit)
            return
        stamp = ((seconds & 0xFFFFFFFF) << 32 | ns // 1000).to_bytes(8, "big")
        self._times[:count] = memoryview(stamp * count).cast("Q")
        run = self._ramps.run(first, count)
        self._numbers[:count] = memoryview(run).cast(self._lane)
