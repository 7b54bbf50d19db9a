"""The largest packet that a path carries whole, and whether larger ones vanish without a word.

Packets with DF are sent (RFC 1191, RFC 8201); a router that cannot pass one ought to name its MTU.
Where no router does but small packets pass, sizes are halved between them (RFC 8899's search). A
size counts as lost only when several packets of it were: single losses say nothing of sizes.
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
_FIRST_PORT = 33434  # traceroute's, where nothing listens


@dataclass(frozen=True)
class PathMtu:
    """What was found. `mtu_bytes` is None when nothing answered; `named_by` the router that told.

    `black_hole`: packets of `fails_bytes` vanish although no router said that they are too large.
    Not `settled`: the time ran out, and what passes is `mtu_bytes` or more.
    """

    mtu_bytes: int | None
    tried_bytes: int
    black_hole: bool = False
    named_by: str = ""
    method: str = "icmp"
    error: str = ""
    fails_bytes: int | None = None
    settled: bool = True


@dataclass(frozen=True)
class _Answer:
    passed: bool
    named_bytes: int = 0  # the MTU that a router, or this host itself, names
    offender: str = ""
    local: bool = False

    @property
    def silent(self) -> bool:
        """Nothing came back at all: the packet was lost, or such packets always are."""
        return not (self.passed or self.named_bytes or self.local)


class _Probe:
    """Sends one packet of a given size and tells what came of it."""

    def __init__(self, address: str, *, icmp: bool = True) -> None:
        self.family = probing.family_of(address)
        self.overhead_bytes = 40 if self.family == socket.AF_INET6 else 20
        self._number = 0
        self._oldest = 0
        self._address = address
        self._identifier = os.getpid() & 0xFFFF
        self.socket, self._raw, self.method = _socket(address, icmp)
        try:
            self.socket.setblocking(False)
            probing.want_errors(self.socket)
            probing.never_fragment(self.socket)
            if self.method == "icmp":
                self.socket.connect(probing.place(address, 0))
        except OSError:
            self.socket.close()
            raise

    def __enter__(self) -> _Probe:
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def try_size(self, size_bytes: int, wait_s: float) -> _Answer:
        """What a packet of this size meets; when it is lost, what two more of them do."""
        answer = self._try(size_bytes, wait_s, 1)
        return self._try(size_bytes, wait_s, 2) if answer.silent else answer

    def _try(self, size_bytes: int, wait_s: float, packets: int) -> _Answer:
        """Send packets of this size, IP header and all, and wait for what the first one meets."""
        self._oldest = self._number + 1
        for _ in range(packets):
            self._number += 1
            try:
                self._send(size_bytes - self.overhead_bytes)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    raise
                return self._errors() or _Answer(False, local=True)
        return self._await(time.monotonic() + wait_s)

    def _send(self, inside_bytes: int) -> None:
        if self.method == "icmp":
            self.socket.send(
                probing.echo_request(self.family, self._identifier, self._number, inside_bytes)
            )
        else:
            place = probing.place(self._address, _FIRST_PORT + self._number)
            self.socket.sendto(bytes(max(0, inside_bytes - 8)), place)

    def _is_recent(self, number: int) -> bool:
        """True for a packet of the size that is being tried."""
        return self._oldest & 0xFFFF <= number <= self._number & 0xFFFF

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
            if own and reply is not None and self._is_recent(reply[1]):
                return _Answer(True)
        return None

    def _errors(self) -> _Answer | None:
        while (queued := probing.next_error(self.socket)) is not None:
            if queued.error == errno.EMSGSIZE:
                return _Answer(False, queued.mtu_bytes, queued.offender, queued.local)
            if queued.error == errno.ECONNREFUSED and self._is_recent(queued.port - _FIRST_PORT):
                return _Answer(True)
        return None


def _socket(address: str, icmp: bool) -> tuple[socket.socket, bool, str]:
    """A socket, whether it is raw, and by what it probes. Raises OSError."""
    if icmp:
        try:
            return *probing.echo_socket(address), "icmp"
        except PermissionError:
            pass
    return socket.socket(probing.family_of(address), socket.SOCK_DGRAM), False, "udp"


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
            found = _search(probe, first, least, wait_s, time.monotonic() + limit_s)
        if found.black_hole and found.method == "icmp" and found.fails_bytes:
            with _Probe(address, icmp=False) as other:
                if other.try_size(found.fails_bytes, wait_s).passed:
                    why = f"pings of {found.fails_bytes} bytes are refused, other packets pass"
                    return PathMtu(None, first, method="udp", error=why)
        return found
    except OSError as error:
        return PathMtu(None, first, error=reason(error))


def _search(probe: _Probe, first: int, least: int, wait_s: float, until_s: float) -> PathMtu:
    if not probe.try_size(least, wait_s).passed:
        error = "even small packets are not answered"
        return PathMtu(None, first, method=probe.method, error=error)
    size, named_by, vanished = first, "", False
    low, high = least, first + 1
    for _ in range(ROUNDS):
        if high - low <= 1 or time.monotonic() >= until_s:
            break
        answer = probe.try_size(size, wait_s)
        if answer.passed:
            low = max(low, size)
        else:
            high = min(high, size)
            vanished = vanished or answer.silent
            named_by = answer.offender or named_by
        size = _next_size(answer, low, high)
    suspected = vanished and not named_by and high <= first
    return PathMtu(
        low,
        first,
        suspected and _vanish(probe, high, low, wait_s),
        named_by,
        probe.method,
        fails_bytes=high if high <= first else None,
        settled=high - low <= 8,
    )


def _vanish(probe: _Probe, large: int, small: int, wait_s: float) -> bool:
    """The last word before a path is accused: large packets are lost while small ones pass."""
    return probe.try_size(large, wait_s).silent and probe.try_size(small, wait_s).passed


COMMON_SIZES = (1280, 1380, 1400, 1420, 1450, 1460, 1476, 1480, 1492, 1500, 9000)
"""MTUs of Ethernet, PPPoE, tunnels and mobile networks: tried first where no router names one."""


def _next_size(answer: _Answer, low: int, high: int) -> int:
    """The next size to try, between what passed and what did not."""
    if low < answer.named_bytes < high:
        return answer.named_bytes
    common = [size for size in COMMON_SIZES if low < size < high]
    if common:
        return common[len(common) // 2]
    return low + 1 if answer.passed and low in COMMON_SIZES else (low + high) // 2
