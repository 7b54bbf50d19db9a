"""The routers on the way to a host, without rights: UDP probes with a small time to live.

The routers' ICMP errors arrive in the socket's own error queue (ip(7), IP_RECVERR).
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import probing
from .gaps import reason
from .probing import QueuedError

FIRST_PORT = 33434
MAX_HOPS = 30
BATCH = 5
_OF_EARLIER_PROBES = (
    errno.ECONNREFUSED,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EACCES,
    errno.EMSGSIZE,
)


@dataclass(frozen=True)
class Hop:
    """One router. `address` is "" when it did not answer; `refusal` says why it goes no further."""

    distance: int
    address: str = ""
    rtt_ms: float | None = None
    is_target: bool = False
    refusal: str = ""

    @property
    def is_last(self) -> bool:
        return self.is_target or bool(self.refusal)


@dataclass(frozen=True)
class Hops:
    """The way as far as it answered; `reached` tells that the host itself did."""

    hops: tuple[Hop, ...] = ()
    reached: bool = False
    error: str = ""


def trace(
    address: str, *, max_hops: int = MAX_HOPS, wait_s: float = 0.4, limit_s: float = 3.0
) -> Hops:
    """Probe a few distances at a time, as targets limit the rate of their answers (RFC 4443 2.4).

    Silent ones are asked once more. Takes no longer than `limit_s` and one wait.
    """
    found: dict[int, Hop] = {}
    until_s = time.monotonic() + limit_s
    try:
        with socket.socket(probing.family_of(address), socket.SOCK_DGRAM) as probe:
            probe.setblocking(False)
            probing.want_errors(probe)
            for attempt, distances in _batches(found, max_hops):
                if time.monotonic() >= until_s:
                    break
                base = FIRST_PORT + attempt * (MAX_HOPS + 2)
                sent_s = {each: _send(probe, address, base + each, each) for each in distances}
                _gather(probe, base, sent_s, found, wait_s)
    except OSError as error:
        return Hops(error=reason(error))
    return in_order(found, max_hops)


def _batches(found: dict[int, Hop], max_hops: int) -> Iterator[tuple[int, list[int]]]:
    """What to ask next, by what was found so far: the attempt's number and the distances."""
    silent = 0
    for first in range(1, max_hops + 1, BATCH):
        distances = _missing(found, range(first, min(first + BATCH, max_hops + 1)))
        if not distances:
            break
        yield 0, distances
        silent = 0 if any(each in found for each in distances) else silent + 1
        if silent == 2:
            break
    last = max(found, default=BATCH)
    again = _missing(found, range(1, last + 1))
    if again:
        yield 1, again


def _gather(
    probe: socket.socket,
    base: int,
    sent_s: dict[int, float],
    found: dict[int, Hop],
    wait_s: float,
) -> None:
    """Take errors from the queue until all that is wanted has come, or the time is up."""
    poll = select.poll()
    poll.register(probe, select.POLLERR)
    until_s = time.monotonic() + wait_s
    while (left_s := until_s - time.monotonic()) > 0 and _missing(found, sent_s):
        if not poll.poll(left_s * 1e3):
            return
        while (queued := probing.next_error(probe)) is not None:
            distance = queued.port - base
            if distance in sent_s and distance not in found:
                hop = hop_of(queued, distance, (time.monotonic() - sent_s[distance]) * 1e3)
                if hop is not None:
                    found[distance] = hop


def _missing(found: dict[int, Hop], distances: Iterable[int]) -> list[int]:
    """The distances up to the target that have not answered."""
    end = _end(found)
    return [each for each in distances if each not in found and (end is None or each < end)]


def _end(found: dict[int, Hop]) -> int | None:
    return min((hop.distance for hop in found.values() if hop.is_last), default=None)


def _send(probe: socket.socket, address: str, port: int, distance: int) -> float:
    """Send one probe and return when; an error of an earlier probe may come out here instead."""
    if probe.family == socket.AF_INET6:
        limit = (socket.IPPROTO_IPV6, probing.IPV6_HOPLIMIT, struct.pack("=i", distance))
    else:
        limit = (socket.IPPROTO_IP, probing.IP_TTL, struct.pack("=i", distance))
    for attempt in range(4):
        try:
            probe.sendmsg([struct.pack("!I", distance)], [limit], 0, probing.place(address, port))
            break
        except OSError as error:
            if error.errno not in _OF_EARLIER_PROBES or attempt == 3:
                raise
    return time.monotonic()


def hop_of(queued: QueuedError, distance: int, rtt_ms: float) -> Hop | None:
    """The router that an error tells of; the target's own word is a refused port."""
    if queued.local or not queued.offender:
        return None
    if queued.is_expired:
        return Hop(distance, queued.offender, rtt_ms)
    if queued.error == errno.ECONNREFUSED:
        return Hop(distance, queued.offender, rtt_ms, is_target=True)
    return Hop(distance, queued.offender, rtt_ms, refusal=os.strerror(queued.error).lower())


def in_order(found: dict[int, Hop], max_hops: int) -> Hops:
    """The hops from the nearest to the target, or to the last that answered, silent ones named."""
    end = _end(found)
    last = min(end if end is not None else max(found, default=0), max_hops)
    hops = tuple(found.get(distance, Hop(distance)) for distance in range(1, last + 1))
    return Hops(hops, reached=bool(hops) and hops[-1].is_target)
