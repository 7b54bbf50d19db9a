"""Idle round-trip times to a host: ICMP without rights where allowed, else TCP or UDP probes."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import statistics
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import probing
from .gaps import Gaps, reason

PROBES = 10
SPACING_S = 0.1
WAIT_S = 0.7
"""How long after the last probe an answer is waited for."""

_UDP_PORT = 33434  # traceroute's, where nothing listens
_ANSWERED = (0, errno.ECONNREFUSED)  # a refusal is an answer as well


@dataclass(frozen=True)
class Latency:
    """Round trips in milliseconds, in the order of the probes; lost ones are not among them."""

    method: str  # "icmp", "tcp 5201", "udp"
    sent: int
    rtts_ms: tuple[float, ...] = ()
    error: str = ""  # why nothing could be sent or was answered, where that is known

    @property
    def lost(self) -> int:
        return self.sent - len(self.rtts_ms)

    @property
    def least_ms(self) -> float | None:
        return min(self.rtts_ms, default=None)

    @property
    def median_ms(self) -> float | None:
        return statistics.median(self.rtts_ms) if self.rtts_ms else None

    @property
    def jitter_ms(self) -> float | None:
        """The mean difference of neighbours (RFC 3393's variation, without its sign)."""
        if len(self.rtts_ms) < 2:
            return None
        steps = [abs(b - a) for a, b in zip(self.rtts_ms, self.rtts_ms[1:], strict=False)]
        return statistics.fmean(steps)


def measure(
    address: str,
    gaps: Gaps,
    *,
    probes: int = PROBES,
    spacing_s: float = SPACING_S,
    wait_s: float = WAIT_S,
    port: int = 5201,
) -> Latency:
    """Round trips to an address. Takes at most probes × spacing + wait, three times over."""
    found = None
    try:
        found = _by_icmp(address, probes, spacing_s, wait_s)
        if found.rtts_ms:
            return found
    except OSError as error:
        if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
            return Latency("icmp", 0, error=reason(error))
        gaps.failed("ICMP", error, "CAP_NET_RAW, or a group in net.ipv4.ping_group_range")
    for attempt in (_by_tcp, _by_udp):
        other = attempt(address, port, max(1, probes // 2), spacing_s, wait_s)
        if other.rtts_ms:
            return other
        found = found or other
    assert found is not None
    return found


def _by_icmp(address: str, probes: int, spacing_s: float, wait_s: float) -> Latency:
    probe, raw = probing.echo_socket(address)
    with probe:
        probe.connect(probing.place(address, 0))
        with contextlib.suppress(OSError):
            probing.want_errors(probe)
        identifier = os.getpid() & 0xFFFF
        exchange = _Exchange(
            send=lambda number: probe.send(
                probing.echo_request(probe.family, identifier, number, 16)
            ),
            receive=lambda: _echo(probe, raw, identifier),
        )
        return exchange.run(probe, "icmp", probes, spacing_s, wait_s)


def _echo(probe: socket.socket, raw: bool, identifier: int) -> int | None:
    try:
        reply = probing.echo_reply(probe.family, probe.recv(2048))
    except OSError:
        probing.next_error(probe)
        return None
    if reply is None or (raw and reply[0] != identifier):
        return None
    return reply[1]


def _by_udp(address: str, _: int, probes: int, spacing_s: float, wait_s: float) -> Latency:
    """Datagrams to ports where nothing listens: the far end's "port unreachable" is the answer."""
    try:
        with socket.socket(probing.family_of(address), socket.SOCK_DGRAM) as probe:
            probing.want_errors(probe)

            def send(number: int) -> int:
                place = probing.place(address, _UDP_PORT + number)
                return probe.sendto(struct.pack("!I", number), place)

            def receive() -> int | None:
                queued = probing.next_error(probe)
                if queued is None or queued.error != errno.ECONNREFUSED:
                    return None
                return queued.port - _UDP_PORT

            return _Exchange(send, receive).run(probe, "udp", probes, spacing_s, wait_s)
    except OSError as error:
        return Latency("udp", 0, error=reason(error))


@dataclass
class _Exchange:
    """Probes that are sent in a rhythm while their answers come in any order."""

    send: Callable[[int], int]
    receive: Callable[[], int | None]

    def run(
        self, probe: socket.socket, method: str, probes: int, spacing_s: float, wait_s: float
    ) -> Latency:
        probe.setblocking(False)
        begun_s = time.monotonic()
        sent_s: dict[int, float] = {}
        rtts_ms: dict[int, float] = {}
        error = ""
        until_s = begun_s + (probes - 1) * spacing_s + wait_s
        while len(rtts_ms) < probes and (now_s := time.monotonic()) < until_s:
            due_s = begun_s + len(sent_s) * spacing_s
            if len(sent_s) < probes and now_s >= due_s:
                number = len(sent_s)
                sent_s[number] = time.monotonic()
                try:
                    self.send(number)
                except OSError as failure:
                    error = reason(failure)
                continue
            limit_s = due_s if len(sent_s) < probes else until_s
            if _readable(probe, limit_s - now_s):
                number = -1 if (answer := self.receive()) is None else answer
                if number in sent_s and number not in rtts_ms:
                    rtts_ms[number] = (time.monotonic() - sent_s[number]) * 1e3
        in_order = tuple(rtts_ms[number] for number in sorted(rtts_ms))
        return Latency(method, len(sent_s), in_order, "" if in_order else error)


def _readable(probe: socket.socket, wait_s: float) -> bool:
    poll = select.poll()
    poll.register(probe, select.POLLIN | select.POLLERR)
    return bool(poll.poll(max(0.0, wait_s) * 1e3))


def _by_tcp(address: str, port: int, probes: int, spacing_s: float, wait_s: float) -> Latency:
    """The time a connection takes to be accepted or refused, one after another."""
    rtts_ms = []
    error = ""
    for _ in range(probes):
        begun_s = time.monotonic()
        try:
            number = _connect(address, port, wait_s)
        except OSError as failure:
            number = failure.errno or errno.EIO
        if number in _ANSWERED:
            rtts_ms.append((time.monotonic() - begun_s) * 1e3)
            time.sleep(max(0.0, spacing_s - (time.monotonic() - begun_s)))
        else:
            error = os.strerror(number).lower()
            break
    return Latency(f"tcp {port}", max(1, len(rtts_ms)), tuple(rtts_ms), error)


def _connect(address: str, port: int, wait_s: float) -> int:
    """The errno that a connection ends with, 0 when it is accepted."""
    with socket.socket(probing.family_of(address), socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        probe.settimeout(wait_s)
        try:
            probe.connect(probing.place(address, port))
        except TimeoutError:
            return errno.ETIMEDOUT
        except OSError as error:
            return error.errno or errno.EIO
        return 0
