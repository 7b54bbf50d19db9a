"""The numbers that workers and their parent share: plain 64-bit words in shared memory.

Each stream has a slot of 256 bytes, so that no two processors fight for a cache line, and each word
has a single writer: no locks. The first slot holds what the parent tells all workers. What a UDP
receiver writes together is read together: it counts up VERSION before and after.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from typing import NamedTuple

# Phases of a test, in the order they come.
WAIT = 0  # senders stand at the gate, receivers read
RUN = 1
DRAIN = 2  # senders end; receivers read on, what they read no longer counts
STOP = 3  # everybody ends

# States of a worker.
BUSY = 0
AT_LIMIT = 1  # a sender that has nothing left to send, unless the limit is raised
ENDED = 2  # told to
PEER_CLOSED = 3
FAILED = 4  # the connection broke; the slot has the errno
FAULT = 5  # the worker itself broke: a defect of this program
FILE_FAILED = 6  # the file broke; the slot has the errno

SLOT_WORDS = 32
PHASE = 0  # words of the first slot
LIMIT = 1
OMITTED = 2  # 1 once the omitted part is over
STARTED_NS = 3  # of the monotonic clock: what a rate is the average since
SENT = 0  # words of a stream's slot
RECEIVED = 1
BLOCK_BYTES = 2
STATE = 3
ERRNO = 4
USER_US = 5
SYSTEM_US = 6
CLAIMED = 7  # what a write now running, under a limit, may still send
PACKETS = 8  # UDP: sent by a sender; at a receiver the highest number that came
NO_BUFFER = 9  # sends that the system refused for want of room, ENOBUFS
SEGMENTS = 10  # datagrams that one message to the kernel may hold
VERSION = 11  # UDP receiver: odd while it writes the following
ERRORS = 12  # iperf3's count of lost datagrams
OUT_OF_ORDER = 13  # iperf3's
JITTER_NS = 14
LOST = 15
LATE = 16
DUPLICATES = 17
DEEPEST = 18
DATAGRAMS = 19  # that came
MESSAGES = 20  # in which the kernel handed them over

_READ_TRIES = 1000


class UdpCounts(NamedTuple):
    """A UDP stream's counts at one moment, from the first datagram on; engine.udp_accounts."""

    bytes: int = 0
    packets: int = 0
    errors: int = 0
    out_of_order: int = 0
    jitter_ns: int = 0
    lost: int = 0
    late: int = 0
    duplicates: int = 0
    deepest: int = 0
    datagrams: int = 0
    messages: int = 0
    no_buffer: int = 0


class Counters:
    """Shared memory for `streams` workers, and the gate at which their senders wait.

    The words are in `words`, a memoryview of 64-bit integers; workers index it themselves.
    """

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self._memory = mmap.mmap(-1, (streams + 1) * SLOT_WORDS * 8)
        self.words = memoryview(self._memory).cast("q")
        self.gate, self._gate_keeper = os.pipe()
        self._counted: list[int] | None = None
        self._counted_udp: list[UdpCounts] = []

    @staticmethod
    def base(slot: int) -> int:
        """The index of the first word of a stream's slot; slots count from 0."""
        return (slot + 1) * SLOT_WORDS

    @property
    def phase(self) -> int:
        """The phase of the test: WAIT, RUN, DRAIN or STOP."""
        return self.words[PHASE]

    def begin(self, now_s: float) -> None:
        """The test has started: senders with a rate keep it on the average from here on."""
        self.words[STARTED_NS] = int(now_s * 1e9)

    @property
    def started_s(self) -> float:
        """When the test started, by the monotonic clock; now, when nobody has told."""
        return self.words[STARTED_NS] / 1e9 or time.monotonic()

    def release(self) -> None:
        """Let all senders start at once: WAIT becomes RUN."""
        if self.phase == WAIT:
            self.words[PHASE] = RUN
        self._open_gate()

    def drain(self) -> None:
        """Freeze what counts as received; senders end, receivers read on and throw away."""
        if self.phase < DRAIN:
            self.words[PHASE] = DRAIN
            self._counted_udp = [self._read_udp(slot) for slot in range(self.streams)]
            self._counted = list(self.words[SLOT_WORDS + RECEIVED :: SLOT_WORDS])
        self._open_gate()

    def stop(self) -> None:
        """Tell every worker to end. One that waits for its peer needs Worker.wake() besides."""
        self.drain()
        self.words[PHASE] = STOP

    def close(self) -> None:
        """Give the memory and the gate back. Workers that still run are not stopped by this."""
        self._open_gate()
        if self.gate >= 0:
            os.close(self.gate)
            self.gate = -1
        self.words.release()
        with contextlib.suppress(BufferError):
            self._memory.close()

    def _open_gate(self) -> None:
        if self._gate_keeper >= 0:
            os.close(self._gate_keeper)
            self._gate_keeper = -1

    @property
    def limit_bytes(self) -> int:
        """The total all senders together may send; 0 without a limit. May be raised at any time."""
        return self.words[LIMIT]

    @limit_bytes.setter
    def limit_bytes(self, total: int) -> None:
        self.words[LIMIT] = total

    def sent_bytes(self, slot: int) -> int:
        """What the kernel has accepted from this stream's sender."""
        return self.words[self.base(slot) + SENT]

    def received_bytes(self, slot: int) -> int:
        """What this stream's receiver has read, up to the moment of drain()."""
        if self._counted is not None:
            return self._counted[slot]
        return self.words[self.base(slot) + RECEIVED]

    def drained_bytes(self, slot: int) -> int:
        """What this stream's receiver has read since drain(), which does not count."""
        if self._counted is None:
            return 0
        return self.words[self.base(slot) + RECEIVED] - self._counted[slot]

    def bytes(self, slot: int) -> int:
        """What counts for this stream, in its direction."""
        return self.sent_bytes(slot) + self.received_bytes(slot)

    def blocks(self, slot: int) -> int:
        """Whole blocks among bytes()."""
        block_bytes = self.words[self.base(slot) + BLOCK_BYTES]
        return self.bytes(slot) // block_bytes if block_bytes else 0

    def total_sent_bytes(self) -> int:
        """sent_bytes() of all streams."""
        return sum(self.words[SLOT_WORDS + SENT :: SLOT_WORDS])

    def claimed_bytes(self) -> int:
        """What all senders have sent or are about to; never too little.

        Claims are read first: a write that ends between the two readings is then counted twice
        instead of not at all.
        """
        claims = sum(self.words[SLOT_WORDS + CLAIMED :: SLOT_WORDS])
        return claims + self.total_sent_bytes()

    def total_received_bytes(self) -> int:
        """received_bytes() of all streams."""
        if self._counted is not None:
            return sum(self._counted)
        return sum(self.words[SLOT_WORDS + RECEIVED :: SLOT_WORDS])

    def limit_reached(self) -> bool:
        """True once the streams have sent, or have received, as much as the limit allows."""
        limit = self.limit_bytes
        reached = max(self.total_sent_bytes(), self.total_received_bytes())
        return 0 < limit <= reached

    def end_omitted(self) -> None:
        """Tell UDP receivers that the omitted part is over: their jitter begins anew."""
        self.words[OMITTED] = 1

    def udp(self, slot: int) -> UdpCounts:
        """A UDP stream's counts; a receiver's stand still from drain() on."""
        if self._counted_udp and not self.sent_bytes(slot):
            return self._counted_udp[slot]
        return self._read_udp(slot)

    def _read_udp(self, slot: int) -> UdpCounts:
        base, words = self.base(slot), self.words
        for _ in range(_READ_TRIES):
            version = words[base + VERSION]
            held = words[base : base + SLOT_WORDS].tolist()
            if version % 2 == 0 and version == words[base + VERSION]:
                break
        total = held[SENT] + held[RECEIVED]
        found = held[ERRORS : MESSAGES + 1]
        return UdpCounts._make([total, held[PACKETS], *found, held[NO_BUFFER]])

    def state(self, slot: int) -> int:
        """BUSY, AT_LIMIT, or how the worker ended."""
        return self.words[self.base(slot) + STATE]

    def errno(self, slot: int) -> int:
        """The errno a broken connection ended with, 0 for none."""
        return self.words[self.base(slot) + ERRNO]

    def cpu_s(self, slot: int) -> tuple[float, float]:
        """User and system CPU seconds the worker noted when it ended; zeros before."""
        base = self.base(slot)
        return self.words[base + USER_US] / 1e6, self.words[base + SYSTEM_US] / 1e6
