"""One TCP stream: the loop that sends, the loop that receives, each in a worker process.

What the kernel accepted is counted, nothing else.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import socket
import time
from typing import NamedTuple, Union

from . import counters as shared
from . import pacing, sockets, worker
from .allowance import Allowance
from .counters import Counters
from .disk_file import FileBrokenError, FilePayload, write_all
from .payload import UNIT_BYTES, Payload

DEFAULT_BLOCK_BYTES = 131072

_LONGEST_WRITE_BYTES = 1 << 20
_WRITE_S = 0.002  # a write should take no longer at the speed of the line
_REVIEW_S = 0.1
_FEW_STREAMS = 3
_FEW_STREAMS_LENT_BYTES = _LONGEST_WRITE_BYTES
_PACED_STREAMS_COPIED = 2  # from three on lending is level or better
_FEW_STREAMS_READ_BYTES = 512 * 1024
_MANY_STREAMS_READ_BYTES = 128 * 1024  # the buffers of many streams must share the cache
_WAKE_UP_S = 0.0005
_MOST_AWAITED_BYTES = 1 << 20


class Plan(NamedTuple):
    """What a worker does. A limit on bytes is not here: it stands in the counters, for all."""

    sends: bool
    block_bytes: int = DEFAULT_BLOCK_BYTES
    rate_bps: int = 0  # 0: as fast as it goes
    burst_blocks: int = 0
    skip_rx_copy: bool = False  # the kernel drops what was received instead of copying it
    repeating_payload: bool = False
    copy: bool = False  # what is sent is copied into the kernel, not lent to it
    lend: bool = False  # what is sent is lent even where copying is faster
    messages: bool = False  # each write is a message of a block, as SCTP wants it
    file: int = -1  # a descriptor to send from, or to write to; -1 for memory


class Worker(worker.Worker):
    """The process that moves one TCP stream's bytes."""

    @classmethod
    def start(cls, sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> Worker:
        """Start the worker of one connected socket. Senders wait for counters.release().

        The parent keeps its copy of the socket, for TCP_INFO and to wake the worker. Raises
        EngineError 150 when no process can be had.
        """
        counters.words[counters.base(slot) + shared.BLOCK_BYTES] = plan.block_bytes
        if plan.sends and plan.rate_bps:
            pacing.limit_socket(sock, plan.rate_bps)
        loop = _send if plan.sends else _receive
        keep = () if plan.file < 0 else (plan.file,)
        return cls.fork(
            sock, counters, slot, plan.sends, lambda: loop(sock, counters, slot, plan), keep=keep
        )


class _Unpaced:
    """Sizes of writes for a sender without a rate: whole blocks worth about 2 ms of the line."""

    writes = 16  # of the same size, one after the other

    def __init__(self, block_bytes: int, messages: bool) -> None:
        self._block_bytes = block_bytes
        self._most = 1 if messages else max(1, _LONGEST_WRITE_BYTES // block_bytes)
        self._size = block_bytes
        self._reviewed_s = time.monotonic()
        self._reviewed_bytes = 0
        self.review_s = self._reviewed_s + _REVIEW_S  # even if fewer than `writes` were made

    def next_size(self, sent: int) -> int:
        now_s = time.monotonic()
        passed_s = now_s - self._reviewed_s
        moved = sent - self._reviewed_bytes
        if moved >= self.writes * self._size or now_s >= self.review_s:
            blocks = int(moved / max(passed_s, 1e-6) * _WRITE_S / self._block_bytes)
            self._size = max(1, min(blocks, self._most)) * self._block_bytes
            self._reviewed_s, self._reviewed_bytes = now_s, sent
            self.review_s = now_s + _REVIEW_S
        return self._size


class _Paced:
    """Sizes of writes for a sender with a rate. Sleeps until a piece is due."""

    writes = 1
    review_s = 0.0

    def __init__(self, plan: Plan, start_s: float) -> None:
        self._piece = pacing.piece_bytes(plan.rate_bps, plan.block_bytes, plan.burst_blocks)
        burst = plan.burst_blocks > 0
        self._bucket = pacing.Bucket(plan.rate_bps, self._piece, start_s, burst)
        self._due_bytes = 0
        self._most_bytes = plan.block_bytes if plan.messages else _LONGEST_WRITE_BYTES

    def next_size(self, sent: int) -> int:
        if sent >= self._due_bytes:
            pause_s = self._bucket.wait_s(sent, time.monotonic())
            if pause_s > 0:
                time.sleep(pause_s)
                return 0
            self._due_bytes = sent + self._piece
        return min(self._due_bytes - sent, self._most_bytes)


def _payload(sock: socket.socket, plan: Plan, counters: Counters) -> Union[Payload, FilePayload]:
    if plan.file >= 0:
        return FilePayload(plan.file, lend=not plan.copy)
    lent_bytes = 0 if plan.copy else _lent_bytes(sock, plan, counters.streams)
    return Payload(plan.block_bytes, plan.repeating_payload, lent_bytes)


def _lent_bytes(sock: socket.socket, plan: Plan, streams: int) -> int:
    """How much to lend at a time, 0 to copy.

    sendfile(2) takes the socket's lock for every 64 KiB, and each time the kernel's pacing puts its
    timer up anew: one BBR stream on loopback got 14 Gbit/s where a write of 1 MiB got 44.
    """
    if streams <= _PACED_STREAMS_COPIED and not plan.lend and _paced_by_kernel(sock):
        return 0
    return _FEW_STREAMS_LENT_BYTES if streams <= _FEW_STREAMS else UNIT_BYTES


def _paced_by_kernel(sock: socket.socket) -> bool:
    congestion = sockets.congestion_used(sock) or ""
    return congestion.startswith("bbr") or sockets.max_pacing_bps(sock) is not None


def _send(sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> None:
    words, base = counters.words, counters.base(slot)
    payload = _payload(sock, plan, counters)
    os.read(counters.gate, 1)
    pace = (
        _Paced(plan, counters.started_s)
        if plan.rate_bps
        else _Unpaced(plan.block_bytes, plan.messages)
    )
    allowance = Allowance(counters, slot, plan.block_bytes)
    phase, limit, run = shared.PHASE, shared.LIMIT, shared.RUN
    fd, sent_at = sock.fileno(), base + shared.SENT
    clock = time.monotonic
    sent = size = 0
    write = payload.writing(fd, size)
    try:
        while words[phase] == run:
            wanted = pace.next_size(sent)
            limited = wanted > 0 and words[limit] > 0
            if limited:
                wanted = allowance.claim(wanted)
            if not wanted:
                continue
            if wanted != size:
                size, write = wanted, payload.writing(fd, wanted)
            try:
                for _ in range(pace.writes):
                    sent += write()
                    words[sent_at] = sent
                    if words[limit] or words[phase] != run or clock() > pace.review_s:
                        break
            except BlockingIOError:
                pass
            if limited:
                allowance.settle()
    except EOFError:
        allowance.settle()
        words[base + shared.STATE] = shared.AT_LIMIT
        return
    except OSError as error:
        allowance.settle()
        if words[shared.PHASE] == shared.RUN:
            _tell_broken(counters, slot, error)
            return
    words[base + shared.STATE] = shared.ENDED


def _tell_broken(counters: Counters, slot: int, error: OSError) -> None:
    base = counters.base(slot)
    file = isinstance(error, FileBrokenError)
    counters.words[base + shared.ERRNO] = error.errno or 0
    counters.words[base + shared.STATE] = shared.FILE_FAILED if file else shared.FAILED


class _WakeUps:
    """How much must have come before the receiver of one of many streams is woken.

    Waking for each segment costs the host the core that it needs for the data. From about
    2 Gbit/s a stream on it is what half a millisecond brings (SO_RCVLOWAT, socket(7)); below
    it, and always for few streams, whatever is there.
    """

    def __init__(self, sock: socket.socket, many: bool) -> None:
        self._sock = sock
        self._least_bytes = 1
        self._seen = (time.monotonic(), 0)
        self.review_s = self._seen[0] + _REVIEW_S if many else math.inf

    def review(self, now_s: float, received: int) -> None:
        """To be called once `review_s` is over."""
        seen_s, seen_bytes = self._seen
        due = int((received - seen_bytes) / (now_s - seen_s) * _WAKE_UP_S)
        due = min(due, _MOST_AWAITED_BYTES) if due >= _MANY_STREAMS_READ_BYTES else 1
        if not self._least_bytes / 2 < due < self._least_bytes * 2:
            with contextlib.suppress(OSError):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, due)
            self._least_bytes = due
        self._seen = (now_s, received)
        self.review_s = now_s + _REVIEW_S


def _receive(sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> None:
    words, base = counters.words, counters.base(slot)
    few = counters.streams <= _FEW_STREAMS
    size = _FEW_STREAMS_READ_BYTES if few else _MANY_STREAMS_READ_BYTES
    buffer = mmap.mmap(-1, size)
    wake_ups = _WakeUps(sock, many=not few)
    clock = time.monotonic
    _let_senders_finish()
    to_file = plan.file >= 0
    view = memoryview(buffer)
    flags = socket.MSG_TRUNC if plan.skip_rx_copy and not to_file else 0
    received_at = base + shared.RECEIVED
    recv_into = sock.recv_into
    received = 0
    try:
        while words[shared.PHASE] != shared.STOP:
            try:
                got = recv_into(buffer, size, flags)
            except BlockingIOError:
                continue
            if not got:
                break
            if to_file:
                write_all(plan.file, view[:got])
            received += got
            words[received_at] = received
            if clock() > wake_ups.review_s:
                wake_ups.review(clock(), received)
    except OSError as error:
        if words[shared.PHASE] != shared.STOP:
            _tell_broken(counters, slot, error)
            return
    ended = words[shared.PHASE] == shared.STOP
    words[base + shared.STATE] = shared.ENDED if ended else shared.PEER_CLOSED


def _let_senders_finish() -> None:
    """Do not take the core from whoever uses it each time data comes, sched(7): on a host that also
    sends, waiting for more data and reading it at once is faster for both."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
