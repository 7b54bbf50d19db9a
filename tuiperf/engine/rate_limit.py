"""The server's limit on a client's rate, over all streams and both directions together."""

from __future__ import annotations

from collections import deque
from typing import Optional

from .errors import EngineError
from .spec import TestSpec

LIMIT_CODE = 27
USUAL_AVERAGE_S = 5.0
SHORTEST_AVERAGE_S = 0.1
LOOKS_A_WINDOW = 20


def check(test: TestSpec, limit_bps: int) -> None:
    """Raise EngineError 27 for a test that asks for more than `limit_bps`, as iperf3 3.21 does."""
    most_bps = max(test.rate_bps * test.streams, test.fq_rate_bps * test.streams)
    if limit_bps and most_bps > limit_bps:
        raise EngineError.from_code(LIMIT_CODE)


class RateLimit:
    """Averages what a running test carries over a window that slides."""

    def __init__(self, limit_bps: int, average_s: float) -> None:
        self._limit_bps = limit_bps
        self._average_s = average_s or USUAL_AVERAGE_S
        self._seen: deque[tuple[float, int]] = deque(maxlen=4 * LOOKS_A_WINDOW)

    def look(self, now_s: float, carried_bytes: int) -> None:
        """Raise EngineError 27 when the average is above the limit.

        No verdict falls before the first window is full: a short burst is allowed.
        """
        if not self._limit_bps:
            return
        if self._seen and now_s - self._seen[-1][0] < self._average_s / LOOKS_A_WINDOW:
            return
        self._seen.append((now_s, carried_bytes))
        begin = self._begin_of_window(now_s)
        if begin is None:
            return
        rate_bps = (carried_bytes - begin[1]) * 8 / (now_s - begin[0])
        if rate_bps > self._limit_bps:
            raise EngineError.from_code(LIMIT_CODE)

    def _begin_of_window(self, now_s: float) -> Optional[tuple[float, int]]:
        """The latest look that is a window ago; None before the first window is full."""
        begin = None
        while self._seen and now_s - self._seen[0][0] >= self._average_s:
            begin = self._seen.popleft()
        if begin is not None:
            self._seen.appendleft(begin)
        return begin
