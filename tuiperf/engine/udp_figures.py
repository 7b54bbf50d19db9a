"""One UDP stream's figures at its end of the path, from the worker's counts and the kernel's."""

from __future__ import annotations

import socket
from typing import NamedTuple, Optional

from tuiperf.events import UdpFigures

from .counters import UdpCounts
from .udp_socket import dropped_messages

NS_PER_S = 1e9


class Reading(NamedTuple):
    """A stream's counts at one moment, and how many of its datagrams this host dropped by then."""

    counts: UdpCounts
    host_dropped: Optional[int] = None

    def since(self, earlier: Optional[Reading]) -> UdpFigures:
        """What has come to it since `earlier`, or since the start. Jitter is that of now."""
        now, before = self.counts, earlier.counts if earlier else UdpCounts()
        dropped = self.host_dropped
        if dropped is not None and earlier and earlier.host_dropped:
            dropped -= earlier.host_dropped
        return UdpFigures(
            now.packets - before.packets,
            now.errors - before.errors,
            now.out_of_order - before.out_of_order,
            now.jitter_ns / NS_PER_S,
            now.lost - before.lost,
            now.late - before.late,
            now.duplicates - before.duplicates,
            now.deepest,
            dropped,
        )


class Gauge:
    """Reads one stream, time after time."""

    def __init__(self, sock: socket.socket, sends: bool) -> None:
        self._sock = sock
        self._sends = sends
        self._seen = UdpCounts()
        self._seen_messages: Optional[int] = 0
        self._dropped = 0.0

    def read(self, counts: UdpCounts) -> Reading:
        """Put the kernel's count of drops beside the worker's counts.

        The kernel counts messages, and a message may hold many datagrams that it has joined: as
        many as those that came lately, on the average. Never more than are missing altogether.
        """
        if self._sends:
            return Reading(counts)
        messages = dropped_messages(self._sock)
        if messages is None or self._seen_messages is None:
            self._seen_messages = None
            return Reading(counts)
        if messages > self._seen_messages:
            self._dropped += (messages - self._seen_messages) * self._a_message(counts)
        self._seen, self._seen_messages = counts, messages
        return Reading(counts, min(round(self._dropped), counts.lost))

    def _a_message(self, counts: UdpCounts) -> float:
        came = counts.datagrams - self._seen.datagrams
        messages = counts.messages - self._seen.messages
        if not messages:
            came, messages = counts.datagrams, counts.messages
        return came / messages if messages else 1.0
