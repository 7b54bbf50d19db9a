"""A UDP stream's sender: batches of datagrams, each of exactly the size asked for.

The kernel is asked for as little work as it can do: segments (UDP_SEGMENT, udp(7)) of many
datagrams in one message, several messages in one sendmmsg(). The wire carries the same datagrams
either way. What this system, this path or this size of datagrams does not allow is found out at the
first attempt, and the next simpler way is taken.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Callable
from typing import Optional, Protocol

from . import counters as shared
from . import mmsg, udp_pacing
from .allowance import Allowance
from .counters import Counters
from .mmsg import Messages, Part
from .udp_header import Heads, WallClock, layout
from .udp_plan import MAX_DATAGRAM_BYTES, SOL_UDP, UDP_SEGMENT, Plan

SEGMENT_LIMITS = (128, 64)
"""Datagrams in a message: UDP_MAX_SEGMENTS of linux/udp.h, 64 in older kernels."""

MESSAGES_A_CALL = 64
_SEGMENTS_A_CALL = 512
_SEGMENTED_MESSAGES = 8
_IP_MTU, _IPV6_MTU = 14, 24  # include/uapi/linux/in.h and in6.h
_IPV4_HEADERS_BYTES, _IPV6_HEADERS_BYTES = 28, 48
_DIGITS = b"0123456789"
_NO_ROOM_S = 50e-6
_TROUBLE_S = 0.001
_PATIENCE_S = 1.0

_UNSEGMENTABLE = (errno.EMSGSIZE, errno.EINVAL, errno.EIO, errno.EOPNOTSUPP, errno.ENOPROTOOPT)
# What an ICMP message of somebody on the path, or a passing state of this host, brings about.
_PASSING = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN)


class Outlet(Protocol):
    """One way to hand datagrams to the kernel, `most` at a time."""

    most: int

    def send(self, first: int, count: int, now_ns: int) -> int:
        """Send datagrams numbered from `first` on; returns how many went, at most `count`.

        Raises OSError when none did.
        """


class _Store:
    """Datagrams of payload in one buffer, each with its head's place."""

    def __init__(self, plan: Plan, count: int) -> None:
        self.size = plan.block_bytes
        self.stride = -(-self.size // 8) * 8
        payload = os.urandom(self.stride)
        if plan.repeating_payload:
            payload = (_DIGITS * (self.stride // len(_DIGITS) + 1))[: self.stride]
        self.data = bytearray(payload * count)
        self.heads = Heads(self.data, count, self.stride, layout(plan.counters_64bit))

    @property
    def dense(self) -> bool:
        """True when datagrams stand without gaps between them."""
        return self.stride == self.size

    def parts(self, first: int, count: int) -> list[Part]:
        """Where `count` datagrams stand."""
        at = first * self.stride
        if self.dense:
            return [Part(self.data, at, count * self.size)]
        return [Part(self.data, at + k * self.stride, self.size) for k in range(count)]

    def view(self, index: int = 0) -> memoryview:
        return memoryview(self.data)[index * self.stride :][: self.size]


class _Batches:
    """sendmmsg(), each message with up to `segments` datagrams."""

    def __init__(self, sock: socket.socket, plan: Plan, segments: int, useful: int) -> None:
        if segments > 1:
            segments = min(segments, max(2, useful))
            messages = min(_SEGMENTED_MESSAGES, max(1, _SEGMENTS_A_CALL // segments))
        else:
            messages = MESSAGES_A_CALL
        messages = min(messages, -(-useful // segments))
        self.most = segments * messages
        self._segments = segments
        self._sock = sock
        self._fd = sock.fileno()
        self._store = _Store(plan, self.most)
        self._first = self._store.view()
        self._messages = Messages(
            [self._store.parts(index * segments, segments) for index in range(messages)]
        )

    def send(self, first: int, count: int, now_ns: int) -> int:
        self._store.heads.fill(first, count, now_ns)
        if count == 1:
            self._sock.send(self._first)
            return 1
        segments = self._segments
        whole, rest = divmod(count, segments)
        if not rest:
            return self._messages.send(self._fd, whole) * segments
        self._cut(whole, rest)
        try:
            return min(count, self._messages.send(self._fd, whole + 1) * segments)
        finally:
            self._cut(whole, segments)

    def _cut(self, message: int, count: int) -> None:
        if self._store.dense:
            self._messages.resize_part(message, count * self._store.size)
        else:
            self._messages.use_parts(message, count)


class _Segments:
    """One message of many datagrams, without ctypes."""

    def __init__(self, sock: socket.socket, plan: Plan, segments: int, useful: int) -> None:
        self.most = min(segments, max(2, useful))
        self._sock = sock
        self._store = _Store(plan, self.most)
        self._views = [self._store.view(index) for index in range(self.most)]

    def send(self, first: int, count: int, now_ns: int) -> int:
        self._store.heads.fill(first, count, now_ns)
        return self._sock.sendmsg(self._views[:count]) // self._store.size


class _Single:
    """One datagram a call."""

    most = 1

    def __init__(self, sock: socket.socket, plan: Plan) -> None:
        self._sock = sock
        self._store = _Store(plan, 1)
        self._view = self._store.view()

    def send(self, first: int, count: int, now_ns: int) -> int:
        self._store.heads.fill(first, 1, now_ns)
        self._sock.send(self._view)
        return 1


class Ladder:
    """The ways to send, the best first. `useful`: more a call than this are never wanted."""

    def __init__(self, sock: socket.socket, plan: Plan, useful: int = MAX_DATAGRAM_BYTES) -> None:
        self._sock = sock
        self._plan = plan
        self._useful = useful
        self._rungs = [*self._segment_counts(), 1]
        self.segments = 1
        self.outlet: Outlet = self._best()

    def _segment_counts(self) -> list[int]:
        """What to try, in datagrams a message; nothing where segments make no sense."""
        size = self._plan.block_bytes
        if not self._plan.offload or self._useful < 2 or size > largest_whole_bytes(self._sock):
            return []
        fits = MAX_DATAGRAM_BYTES // size
        counts = {min(fits, limit) for limit in SEGMENT_LIMITS}
        return sorted((count for count in counts if count > 1), reverse=True)

    def step_down(self) -> bool:
        """Go on with the next simpler way. False when there is none."""
        if not self._rungs:
            return False
        self.outlet = self._best()
        return True

    def _best(self) -> Outlet:
        while self._rungs:
            self.segments = self._rungs.pop(0)
            if self._set_segment(self._plan.block_bytes if self.segments > 1 else 0):
                break
        segmented: Callable[..., Outlet] = _Batches if mmsg.load() else _Segments
        if self.segments > 1 or segmented is _Batches:
            return segmented(self._sock, self._plan, self.segments, self._useful)
        return _Single(self._sock, self._plan)

    def _set_segment(self, size: int) -> bool:
        try:
            self._sock.setsockopt(SOL_UDP, UDP_SEGMENT, size)
        except OSError:
            return size == 0  # a system without segments needs none switched off
        return True


def largest_whole_bytes(sock: socket.socket) -> int:
    """The largest datagram that the path's MTU lets through in one piece, as far as is known."""
    six = sock.family == socket.AF_INET6
    try:
        if six:
            mtu = sock.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU)
        else:
            mtu = sock.getsockopt(socket.IPPROTO_IP, _IP_MTU)
    except OSError:
        return 0
    return mtu - (_IPV6_HEADERS_BYTES if six else _IPV4_HEADERS_BYTES)


class _Troubles:
    """What to do when the kernel does not take a datagram."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._since_s: Optional[float] = None
        self.no_buffer = 0

    def heed(self, error: OSError) -> None:
        """Make the next attempt better. Raises the error again when there is no use."""
        number = error.errno
        if number in (errno.EAGAIN, errno.EINTR):
            return
        if number == errno.ENOBUFS:
            self.no_buffer += 1
            time.sleep(_NO_ROOM_S)
        elif number in _PASSING:
            now_s = time.monotonic()
            self._since_s = self._since_s or now_s
            if now_s - self._since_s > _PATIENCE_S:
                raise error
            time.sleep(_TROUBLE_S)
        elif number not in _UNSEGMENTABLE or not self._ladder.step_down():
            raise error


def send(sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> None:
    """The sender's loop, in its worker: from the opening of the gate to the end of the phase."""
    words, base = counters.words, counters.base(slot)
    ladder = Ladder(sock, plan, _useful(plan))
    troubles, clock = _Troubles(ladder), WallClock()
    allowance = Allowance(counters, slot, plan.block_bytes)
    words[base + shared.SEGMENTS] = ladder.segments
    os.read(counters.gate, 1)
    pace = _pace(plan, ladder.outlet.most, counters.started_s)
    size, limit = plan.block_bytes, shared.LIMIT
    packets_at, sent_at = base + shared.PACKETS, base + shared.SENT
    sent = 0
    try:
        while words[shared.PHASE] == shared.RUN:
            count = min(pace.next_count(sent), ladder.outlet.most)
            limited = count > 0 and words[limit] > 0
            if limited:
                count = allowance.claim(count * size) // size
            if not count:
                continue
            try:
                sent += ladder.outlet.send(sent + 1, count, clock.now_ns())
                words[packets_at] = sent
                words[sent_at] = sent * size
            except OSError as error:
                if words[shared.PHASE] == shared.RUN:
                    troubles.heed(error)
                    words[base + shared.NO_BUFFER] = troubles.no_buffer
                    words[base + shared.SEGMENTS] = ladder.segments
            if limited:
                allowance.settle()
    except OSError as error:
        allowance.settle()
        words[base + shared.ERRNO] = error.errno or 0
        words[base + shared.STATE] = shared.FAILED
        return
    words[base + shared.STATE] = shared.ENDED


def _useful(plan: Plan) -> int:
    if not plan.rate_bps:
        return MAX_DATAGRAM_BYTES
    a_piece = plan.rate_bps / 8 / plan.block_bytes * udp_pacing.PIECE_S
    return max(1, plan.burst_blocks, int(min(a_piece, MAX_DATAGRAM_BYTES)))


def _pace(plan: Plan, most: int, start_s: float) -> udp_pacing.Pace:
    if not plan.rate_bps:
        return udp_pacing.Flood(most)
    rate, size = plan.rate_bps, plan.block_bytes
    if plan.burst_blocks:
        return udp_pacing.Bursts(rate, size, plan.burst_blocks, most, start_s)
    return udp_pacing.Steady(rate, size, most, start_s)
