"""Measure a path with packets of our own: round trips by ICMP echo, rates and losses by UDP.

The functions run on one side of a lab, the receiving ones on the other side at the same time, each
in a process of its own: they change its priority.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from array import array
from typing import NamedTuple

from tuiperf.lab.priority import GAUGE, hurry

PORT = 5298
FLOOD_PAYLOAD_BYTES = 1200
COUNT_PAYLOAD_BYTES = 160
HEADER_BYTES = 28  # IPv4 and UDP
ECHO_BYTES = 28 + 56

_SO_TIMESTAMPNS = 35  # include/uapi/asm-generic/socket.h
_UDP_SEGMENT, _UDP_GRO = 103, 104  # include/uapi/linux/udp.h
_SO_RCVBUFFORCE = 33
_BUFFER_BYTES = 32 << 20
_MOST_SEGMENTS = 40
_SLICE_S = 0.001
_SILENCE_S = 0.4


class Round(NamedTuple):
    """The round trips of some echo requests, in seconds, and how many were sent."""

    sent: int
    rtts_s: list[float]


def ping(peer: str, count: int, every_s: float, wait_s: float) -> Round:
    """Send ICMP echo requests at equal distances; the kernels at both ends do the timing."""
    hurry(GAUGE)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sock.connect((peer, 0))
    sent_ns: list[int] = []
    rtts_s: dict[int, float] = {}
    begun_s = time.monotonic()
    end_s = begun_s + count * every_s + wait_s
    while (now_s := time.monotonic()) < end_s and len(rtts_s) < count:
        next_s = begun_s + len(sent_ns) * every_s if len(sent_ns) < count else end_s
        if now_s >= next_s:
            request = struct.pack("!BBHHH", 8, 0, 0, 0, len(sent_ns)) + bytes(56)
            sent_ns.append(time.time_ns())
            sock.send(request)
            continue
        if select.select([sock], [], [], next_s - now_s)[0]:
            number, at_ns = _echo(sock)
            if number < len(sent_ns):
                rtts_s.setdefault(number, (at_ns - sent_ns[number]) / 1e9)
    return Round(len(sent_ns), list(rtts_s.values()))


def _echo(sock: socket.socket) -> tuple[int, int]:
    data, notes, _, _ = sock.recvmsg(256, 256)
    at_ns = time.time_ns()
    for level, kind, value in notes:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(value) >= 16:
            seconds, rest = struct.unpack("@qq", value[:16])
            at_ns = seconds * 10**9 + rest
    return struct.unpack_from("!H", data, 6)[0], at_ns


class Flood(NamedTuple):
    """What arrived of a flood: datagrams and seconds, its beginning left out."""

    datagrams: int
    seconds: float


def listen() -> socket.socket:
    """A UDP socket that waits for a flood or a count."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
    except OSError:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    sock.bind(("", PORT))
    return sock


def receive_flood(ready: int, skip_s: float, take_s: float) -> Flood:
    """Count what arrives from `skip_s` after the first datagram on, for `take_s`."""
    hurry(GAUGE)
    sock = listen()
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 1)
    os.write(ready, b"r")
    buffer = bytearray(65536)
    first_ns = begin_ns = last_ns = total = 0
    while select.select([sock], [], [], 5.0 if not first_ns else _SILENCE_S)[0]:
        size, notes, _, _ = sock.recvmsg_into([buffer], 256)
        at_ns = _time_of(notes)
        first_ns = first_ns or at_ns
        if at_ns < first_ns + skip_s * 1e9:
            continue
        if not begin_ns:
            begin_ns = at_ns
            continue
        total += size
        last_ns = at_ns
        if at_ns > begin_ns + take_s * 1e9:
            break
    return Flood(total // FLOOD_PAYLOAD_BYTES, (last_ns - begin_ns) / 1e9)


def _time_of(notes: list[tuple[int, int, bytes]]) -> int:
    for level, kind, value in notes:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(value) >= 16:
            seconds, rest = struct.unpack("@qq", value[:16])
            return int(seconds * 10**9 + rest)
    return time.time_ns()


def send_flood(peer: str, packets_per_s: float, for_s: float) -> None:
    """Send datagrams of FLOOD_PAYLOAD_BYTES at this rate."""
    hurry(GAUGE)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((peer, PORT))
    batch = max(1, min(_MOST_SEGMENTS, int(packets_per_s * _SLICE_S)))
    payload = bytes(FLOOD_PAYLOAD_BYTES * batch)
    sock.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, FLOOD_PAYLOAD_BYTES)
    begun_s = time.monotonic()
    sent = 0
    while (passed_s := time.monotonic() - begun_s) < for_s:
        if sent > passed_s * packets_per_s:
            time.sleep(min(_SLICE_S, sent / packets_per_s - passed_s))
            continue
        with contextlib.suppress(OSError):
            sock.send(payload)
        sent += batch


class Arrivals(NamedTuple):
    """How a numbered series arrived: different ones, repeated ones, ones behind a later number."""

    distinct: int
    repeated: int
    overtaken: int


def receive_count(ready: int, wait_s: float) -> Arrivals:
    """Take numbered datagrams until none comes for `wait_s`."""
    hurry(GAUGE)
    sock = listen()
    os.write(ready, b"r")
    numbers = array("I")
    buffer = bytearray(4)
    unpack = struct.Struct("!I").unpack
    while select.select([sock], [], [], wait_s if numbers else 5.0)[0]:
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.recv_into(buffer, 4, socket.MSG_DONTWAIT)
                numbers.append(unpack(buffer)[0])
    return arrivals(numbers)


def arrivals(numbers: array[int]) -> Arrivals:
    """Judge a series of numbers by its order; a repeated one is not overtaken."""
    seen: set[int] = set()
    highest = -1
    repeated = overtaken = 0
    for number in numbers:
        if number in seen:
            repeated += 1
            continue
        seen.add(number)
        if number < highest:
            overtaken += 1
        highest = max(highest, number)
    return Arrivals(len(seen), repeated, overtaken)


def send_count(peer: str, count: int, packets_per_s: float) -> None:
    """Send `count` numbered datagrams of COUNT_PAYLOAD_BYTES at this rate."""
    hurry(GAUGE)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((peer, PORT))
    sock.setsockopt(socket.IPPROTO_UDP, _UDP_SEGMENT, COUNT_PAYLOAD_BYTES)
    batch = max(1, min(16, int(packets_per_s * _SLICE_S)))
    rest = bytes(COUNT_PAYLOAD_BYTES - 4)
    begun_s = time.monotonic()
    for first in range(0, count, batch):
        numbers = range(first, min(first + batch, count))
        payload = b"".join(struct.pack("!I", number) + rest for number in numbers)
        wait_s = begun_s + first / packets_per_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        sock.send(payload)
