"""When datagrams are due: at a given rate, evenly; without one, in calls of about 2 ms.

Datagram n of a stream falls due (n - 1/2) intervals after the start, so the number sent is right at
every moment, not only in the long run. A host cannot wake often enough for each datagram of a fast
stream: then those of QUANTUM_S go together. After a pause of the host's the missed ones follow at
no more than twice the rate, in small pieces, instead of all at once.
"""

from __future__ import annotations

import time
from typing import Protocol

QUANTUM_S = 100e-6
PIECE_S = 250e-6  # the most that is sent at a time while catching up
CATCH_UP = 2.0  # times the rate

_LONGEST_SLEEP_S = 0.05  # between two looks at the phase of the test
_CALL_S = 0.002  # a call should take no longer at the speed of the line
_REVIEW_S = 0.1
_REVIEW_CALLS = 16


class Pace(Protocol):
    """Tells a sender how many datagrams to send now."""

    def next_count(self, sent: int) -> int:
        """How many may follow the `sent` ones; 0, after a short sleep, when none is due."""


class Steady:
    """A rate, in bits of datagrams a second. `most` is what one call can send."""

    def __init__(self, rate_bps: int, datagram_bytes: int, most: int, start_s: float) -> None:
        self.rate = rate_bps / 8 / datagram_bytes
        self.together = max(1, min(most, int(self.rate * QUANTUM_S)))
        self._piece = min(most, max(self.together, int(self.rate * PIECE_S)))
        self._start_s = start_s
        self._not_before_s = 0.0

    def next_count(self, sent: int) -> int:
        now_s = time.monotonic()
        due = int((now_s - self._start_s) * self.rate + 0.5) - sent
        if due < self.together:
            _sleep(self._start_s + (sent + self.together - 0.5) / self.rate - now_s)
            return 0
        if due <= self._piece and due <= 2 * self.together:
            return due
        if now_s < self._not_before_s:
            _sleep(self._not_before_s - now_s)
            return 0
        due = min(due, self._piece)
        self._not_before_s = now_s + due / self.rate / CATCH_UP
        return due


class Bursts:
    """iperf3's -b RATE/BURST: so many datagrams at once whenever the average has come down."""

    def __init__(
        self, rate_bps: int, datagram_bytes: int, burst: int, most: int, start_s: float
    ) -> None:
        self._rate = rate_bps / 8 / datagram_bytes
        self._burst = burst
        self._most = most
        self._start_s = start_s
        self._until = 0

    def next_count(self, sent: int) -> int:
        if sent >= self._until:
            wait_s = self._start_s + sent / self._rate - time.monotonic()
            if wait_s > 0:
                _sleep(wait_s)
                return 0
            self._until = sent + self._burst
        return min(self._until - sent, self._most)


class Flood:
    """No rate: as many a call as go in about 2 ms, so that counters move evenly."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = min(most, 8)
        self._reviewed_s = time.monotonic()
        self._reviewed_sent = 0

    def next_count(self, sent: int) -> int:
        now_s = time.monotonic()
        passed_s = max(now_s - self._reviewed_s, 1e-6)
        moved = sent - self._reviewed_sent
        if moved >= _REVIEW_CALLS * self._count or passed_s >= _REVIEW_S:
            self._count = max(1, min(self._most, int(moved / passed_s * _CALL_S)))
            self._reviewed_s, self._reviewed_sent = now_s, sent
        return self._count


def _sleep(seconds: float) -> None:
    if seconds > 0:
        time.sleep(min(seconds, _LONGEST_SLEEP_S))
