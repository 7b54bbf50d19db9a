"""A UDP stream's receiver: reads heads only, many at a time, and keeps the accounts.

While the kernel joins datagrams of one stream (UDP_GRO, udp(7)) it hands over up to 64 KB in one
message; every datagram's head is scattered into one array, and the payload into one small buffer.
Where nothing is joined that would only cost, so then recvmmsg() takes many messages of one datagram
each and lets the kernel drop their payload; once a second the other way is tried again.

The far end sends datagrams of exactly the agreed size, as the protocol wants it: so a message is
cut into pieces of that size. What is too short to hold a head is none of ours.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Optional, Protocol

from . import counters as shared
from . import mmsg
from .counters import Counters
from .mmsg import MSG_WAITFORONE, Messages, Part
from .udp_accounts import Accounts
from .udp_header import ANSWER, HEAD_BYTES, MAGIC_BYTES, NS_PER_S, REQUESTS, WallClock, layout
from .udp_plan import MAX_DATAGRAM_BYTES, SOL_UDP, UDP_GRO, Plan

MESSAGES_A_CALL = 64
JOINED_MESSAGES = 8
MOST_SEGMENTS = 128  # UDP_MAX_SEGMENTS of linux/udp.h
TRIAL_MESSAGES = 256  # after so many the gain of joined datagrams is looked at
WORTHWHILE = 1.5  # datagrams a message
TRY_AGAIN_NS = NS_PER_S

_LEAST_MESSAGE_BYTES = 512  # of the receive buffer, SKB_TRUESIZE(1) of linux/skbuff.h
_BUSY_DATAGRAMS = 8  # a batch this large: more is likely to come at once
_SPINS = 50


class Intake(Protocol):
    """One way to read datagrams. Their heads come to stand side by side."""

    bytes: int  # of the datagrams that the last read brought
    messages: int  # in which they came
    emptied: bool  # nothing more waited

    def read(self, flags: int) -> int:
        """Read; returns the number of datagrams. Raises OSError as recvmsg(2) does."""


class _Reader:
    """What all ways have in common: the array of heads, and datagrams that are no datagrams."""

    def __init__(self, sock: socket.socket, plan: Plan, heads: bytearray) -> None:
        self.bytes = self.messages = 0
        self.emptied = True
        self._sock = sock
        self._fd = sock.fileno()
        self._size = plan.block_bytes
        self._least = layout(plan.counters_64bit).size
        self._heads = memoryview(heads)

    def _keep(self, kept: int, at: int, length: int) -> int:
        """Keep the datagram with the head `at`, unless it is too short. Returns the new count."""
        head = self._heads[at * HEAD_BYTES : (at + 1) * HEAD_BYTES]
        if length < self._least:
            if length == MAGIC_BYTES and bytes(head[:MAGIC_BYTES]) in REQUESTS:
                with contextlib.suppress(OSError):
                    self._sock.send(ANSWER)  # the client asks again: our answer was lost
            return kept
        self._heads[kept * HEAD_BYTES : (kept + 1) * HEAD_BYTES] = head
        self.bytes += min(length, self._size)
        return kept + 1


class _Plain(_Reader):
    """One datagram a call, without ctypes."""

    def read(self, flags: int) -> int:
        length = self._sock.recv_into(self._heads, HEAD_BYTES, flags | socket.MSG_TRUNC)
        self.messages, self.bytes = 1, 0
        return self._keep(0, 0, length)


class _Singles(_Reader):
    """Many messages of one datagram each; of each only the head is copied."""

    def __init__(self, sock: socket.socket, plan: Plan, heads: bytearray) -> None:
        super().__init__(sock, plan, heads)
        places = (Part(heads, at * HEAD_BYTES, HEAD_BYTES) for at in range(MESSAGES_A_CALL))
        self._messages = Messages([[place] for place in places])
        self._whole = struct.pack("=I", self._size) * MESSAGES_A_CALL

    def read(self, flags: int) -> int:
        flags |= socket.MSG_TRUNC | MSG_WAITFORONE
        count = self.messages = self._messages.receive(self._fd, MESSAGES_A_CALL, flags)
        lengths = self._messages.lengths[:count]
        if lengths.tobytes() == self._whole[: 4 * count]:
            self.bytes = count * self._size
            return count
        kept = self.bytes = 0
        for at, length in enumerate(lengths):
            kept = self._keep(kept, at, length)
        return kept


class _Joined(_Reader):
    """Messages of many datagrams that the kernel has joined."""

    def __init__(self, sock: socket.socket, plan: Plan, heads: bytearray) -> None:
        super().__init__(sock, plan, heads)
        self._segments = segments_a_message(plan)
        rest = Part(bytearray(self._size), 0, self._size - HEAD_BYTES)
        self._messages = Messages(
            [
                [
                    part
                    for at in range(index * self._segments, (index + 1) * self._segments)
                    for part in (Part(heads, at * HEAD_BYTES, HEAD_BYTES), rest)
                    if part.length
                ]
                for index in range(JOINED_MESSAGES)
            ]
        )
        self._full = struct.pack("=I", self._segments * self._size) * JOINED_MESSAGES

    def read(self, flags: int) -> int:
        count = self._messages.receive(self._fd, JOINED_MESSAGES, flags | MSG_WAITFORONE)
        self.messages, self.emptied = count, count < JOINED_MESSAGES
        lengths = self._messages.lengths[:count]
        if lengths.tobytes() == self._full[: 4 * count]:
            self.bytes = count * self._segments * self._size
            return count * self._segments
        kept = self.bytes = 0
        for index, length in enumerate(lengths):
            kept = self._keep_message(kept, index * self._segments, length)
        return kept

    def _keep_message(self, kept: int, at: int, length: int) -> int:
        whole, rest = divmod(length, self._size)
        if kept != at:
            moved = self._heads[at * HEAD_BYTES : (at + whole) * HEAD_BYTES]
            self._heads[kept * HEAD_BYTES : (kept + whole) * HEAD_BYTES] = moved
        self.bytes += whole * self._size
        kept += whole
        return self._keep(kept, at + whole, rest) if rest else kept


def segments_a_message(plan: Plan) -> int:
    """How many datagrams of a stream the kernel may join in one message."""
    return min(MOST_SEGMENTS, MAX_DATAGRAM_BYTES // plan.block_bytes)


class Intakes:
    """The best way to read at present."""

    def __init__(self, sock: socket.socket, plan: Plan) -> None:
        self._sock = sock
        batched, segments = mmsg.load(), segments_a_message(plan)
        joins = batched and plan.offload and segments > 1
        self.heads = bytearray(HEAD_BYTES * max(MESSAGES_A_CALL, JOINED_MESSAGES * segments))
        self._joined: Optional[Intake] = _Joined(sock, plan, self.heads) if joins else None
        self._single: Intake = (_Singles if batched else _Plain)(sock, plan, self.heads)
        self._leaving_messages = 0  # may still wait from before
        self._seen_messages = self._seen_datagrams = 0
        self._try_ns = 0
        self.present: Intake = self._single
        if self._joined and self._join(True):
            self.present = self._joined

    def _join(self, on: bool) -> bool:
        try:
            self._sock.setsockopt(SOL_UDP, UDP_GRO, on)
        except OSError:
            return False
        return True

    def review(self, count: int, now_ns: int) -> None:
        """Look at what the last read brought, and change the way for the next one if need be."""
        if self._joined is None:
            return
        if self.present is self._single:
            if now_ns >= self._try_ns and self._join(True):
                self.present = self._joined
            return
        if self._leaving_messages:
            self._leave(now_ns)
            return
        self._seen_messages += self.present.messages
        self._seen_datagrams += count
        if self._seen_messages >= TRIAL_MESSAGES:
            if self._seen_datagrams < WORTHWHILE * self._seen_messages:
                self._join(False)
                room_bytes = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
                self._leaving_messages = room_bytes // _LEAST_MESSAGE_BYTES
            self._seen_messages = self._seen_datagrams = 0

    def _leave(self, now_ns: int) -> None:
        """Once all is read that had been joined before: the queue was empty, or a whole one is
        through; a queue that is always full is never empty."""
        self._leaving_messages = max(0, self._leaving_messages - self.present.messages)
        if self.present.emptied or not self._leaving_messages:
            self._leaving_messages = 0
            self.present, self._try_ns = self._single, now_ns + TRY_AGAIN_NS


def receive(sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> None:
    """The receiver's loop, in its worker. From DRAIN on nothing counts, and nobody waits for us."""
    words, base = counters.words, counters.base(slot)
    intakes, clock = Intakes(sock, plan), WallClock()
    accounts = Accounts(layout(plan.counters_64bit), intakes.heads)
    publish = _Publisher(words, base, accounts)
    words[base + shared.SEGMENTS] = segments_a_message(plan)
    omitting = words[shared.OMITTED] == 0
    misses = _SPINS
    try:
        while words[shared.PHASE] < shared.DRAIN:
            try:
                count = intakes.present.read(0 if misses >= _SPINS else socket.MSG_DONTWAIT)
            except (BlockingIOError, InterruptedError):
                misses += 1
                continue
            except ConnectionError:  # an ICMP message about something this end had sent
                continue
            now_ns = clock.now_ns()
            if omitting and words[shared.OMITTED]:
                omitting = False
                accounts.restart_jitter()
            if count:
                accounts.add(count, now_ns)
                publish(count, intakes.present)
                misses = 0 if count >= _BUSY_DATAGRAMS else _SPINS
            intakes.review(count, now_ns)
    except OSError as error:
        if words[shared.PHASE] < shared.DRAIN:
            words[base + shared.ERRNO] = error.errno or 0
            words[base + shared.STATE] = shared.FAILED
            return
    words[base + shared.STATE] = shared.ENDED


class _Publisher:
    """Writes the accounts where the parent reads them."""

    def __init__(self, words: memoryview, base: int, accounts: Accounts) -> None:
        self._words = words
        self._base = base
        self._accounts = accounts
        self._bytes = self._datagrams = self._messages = 0

    def __call__(self, count: int, intake: Intake) -> None:
        words, base, accounts = self._words, self._base, self._accounts
        self._bytes += intake.bytes
        self._datagrams += count
        self._messages += intake.messages
        words[base + shared.VERSION] += 1
        words[base + shared.RECEIVED] = self._bytes
        words[base + shared.DATAGRAMS] = self._datagrams
        words[base + shared.MESSAGES] = self._messages
        words[base + shared.PACKETS] = accounts.highest
        words[base + shared.JITTER_NS] = int(accounts.jitter_ns)
        if accounts.disturbed:
            found = accounts.account()
            words[base + shared.ERRORS] = found.errors
            words[base + shared.OUT_OF_ORDER] = found.out_of_order
            words[base + shared.LOST] = found.lost
            words[base + shared.LATE] = found.late
            words[base + shared.DUPLICATES] = found.duplicates
            words[base + shared.DEEPEST] = found.deepest
        words[base + shared.VERSION] += 1
