"""The largest packet that a path carries whole, and whether larger ones vanish without a word.

Packets with DF are sent (RFC 1191, RFC 8201); a router that cannot pass one ought to name its MTU.
Where no router does but small packets pass, sizes are halved between them (RFC 8899's search).
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import time
from dataclasses import dataclass

from . import probing
from .gaps import Gaps, reason

LEAST_IPV4_BYTES, LEAST_IPV6_BYTES = 576, 1280
LARGEST_PROBE_BYTES = 9216
ROUNDS = 24


@dataclass(frozen=True)
class PathMtu:
    """What was found. `mtu_bytes` is None when nothing answered; `named_by` the router that told.

    `black_hole`: packets above `mtu_bytes` vanish although no router said that they are too large.
    """

    mtu_bytes: int | None
    tried_bytes: int
    black_hole: bool = False
    named_by: str = ""
    method: str = "icmp"
    error: str = ""


@dataclass(frozen=True)
class _Answer:
    passed: bool
    named_bytes: int = 0  # the MTU that a router, or this host itself, names
    offender: str = ""
    local: bool = False


class _Probe:
    """Sends one packet of a given size and tells what came of it."""

    def __init__(self, address: str) -> None:
        self.family = probing.family_of(address)
        self.overhead_bytes = 40 if self.family == socket.AF_INET6 else 20
        self._number = 0
        self._address = address
        self._identifier = os.getpid() & 0xFFFF
        try:
            self.socket, self._raw = probing.echo_socket(address)
            self.method = "icmp"
        except PermissionError:
            self.socket = socket.socket(self.family, socket.SOCK_DGRAM)
            self._raw = False
            self.method = "udp"
        try:
            self.socket.setblocking(False)
            probing.want_errors(self.socket)
            probing.never_fragment(self.socket)
            if self.method == "icmp":
                self.socket.connect((address, 0))
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> _Probe:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def try_size(self, size_bytes: int, wait_s: float) -> _Answer:
        """Send a packet of this size, IP header and all, and wait for what it meets."""
        self._number += 1
        inside = size_bytes - self.overhead_bytes
        try:
            if self.method == "icmp":
                self.socket.send(
                    probing.echo_request(self.family, self._identifier, self._number, inside)
                )
            else:
                self.socket.sendto(bytes(max(0, inside - 8)), (self._address, self._port))
        except OSError as error:
            if error.errno != errno.EMSGSIZE:
                raise
            return self._errors() or _Answer(False, local=True)
        return self._await(time.monotonic() + wait_s)

    @property
    def _port(self) -> int:
        return 33434 + self._number

    def _await(self, until_s: float) -> _Answer:
        poll = select.poll()
        poll.register(self.socket, select.POLLIN | select.POLLERR)
        while (left_s := until_s - time.monotonic()) > 0:
            if not poll.poll(left_s * 1e3):
                break
            answer = self._errors() or self._reply()
            if answer is not None:
                return answer
        return _Answer(False)

    def _reply(self) -> _Answer | None:
        if self.method == "udp":
            return None
        with contextlib.suppress(OSError):
            reply = probing.echo_reply(self.family, self.socket.recv(65536))
            own = reply is not None and (not self._raw or reply[0] == self._identifier)
            if own and reply is not None and reply[1] == self._number & 0xFFFF:
                return _Answer(True)
        return None

    def _errors(self) -> _Answer | None:
        while (queued := probing.next_error(self.socket)) is not None:
            if queued.error == errno.EMSGSIZE:
                return _Answer(False, queued.mtu_bytes, queued.offender, queued.local)
            if queued.error == errno.ECONNREFUSED and queued.port == self._port:
                return _Answer(True)
        return None


def find(
    address: str, first_bytes: int, gaps: Gaps, *, wait_s: float = 0.4, limit_s: float = 3.0
) -> PathMtu:
    """Probe a path, beginning with packets of `first_bytes` (the interface's MTU). Never raises."""
    least = LEAST_IPV6_BYTES if ":" in address else LEAST_IPV4_BYTES
    first = min(max(first_bytes, least), LARGEST_PROBE_BYTES)
    try:
        with _Probe(address) as probe:
            if probe.method == "udp":
                gaps.needs_rights(
                    "path MTU by ICMP", "CAP_NET_RAW, or a group in net.ipv4.ping_group_range"
                )
            return _search(probe, first, least, wait_s, time.monotonic() + limit_s)
    except OSError as error:
        return PathMtu(None, first, error=reason(error))


def _search(probe: _Probe, first: int, least: int, wait_s: float, until_s: float) -> PathMtu:
    if not _passes(probe, least, wait_s):
        error = "even small packets are not answered"
        return PathMtu(None, first, method=probe.method, error=error)
    size, named_by, silent = first, "", 0
    low, high = least, first + 1
    for _ in range(ROUNDS):
        if high - low <= 1 or time.monotonic() >= until_s:
            break
        answer = probe.try_size(size, wait_s)
        if answer.passed:
            low = max(low, size)
        else:
            high = min(high, size)
            silent += not answer.named_bytes and not answer.local
            named_by = answer.offender or named_by
        size = _next_size(answer, low, high)
    settled = high - low <= 8
    black_hole = settled and silent > 1 and not named_by and high <= first
    return PathMtu(low, first, black_hole, named_by, probe.method)


def _passes(probe: _Probe, size: int, wait_s: float) -> bool:
    return any(probe.try_size(size, wait_s).passed for _ in range(2))


COMMON_SIZES = (9000, 1500, 1492, 1480, 1476, 1460, 1450, 1420, 1400, 1380, 1280)
"""MTUs of Ethernet, PPPoE, tunnels and mobile networks: tried first where no router names one."""


def _next_size(answer: _Answer, low: int, high: int) -> int:
    """The next size to try, between what passed and what did not."""
    if low < answer.named_bytes < high:
        return answer.named_bytes
    if answer.passed and high - low > 1 and low in COMMON_SIZES:
        return low + 1
    for size in COMMON_SIZES:
        if low < size < high:
            return size
    return (low + high) // 2
