"""Which segments chance picks: drawn as distances, so that untouched segments cost nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

_NEVER = 1 << 62


class Independent:
    """Picks each segment with the same probability, whatever happened to the others."""

    def __init__(self, share: float, rng: random.Random) -> None:
        self._share = share
        self._rng = rng
        self._left = geometric(share, rng)

    def picks(self, count: int) -> Sequence[int]:
        """The places, from 0, of those picked among the next `count` segments."""
        if self._left >= count:
            self._left -= count
            return ()
        picked = []
        at = self._left
        while at < count:
            picked.append(at)
            at += 1 + geometric(self._share, self._rng)
        self._left = at - count
        return picked


class Bursty:
    """Picks whole bursts: Gilbert's model (1960), a good state and a bad one that loses all.

    With a mean burst of b packets and a mean share of m, a burst ends after each packet with the
    probability 1/b, and begins after each other packet with m/(b*(1-m)).
    """

    def __init__(self, share: float, mean_packets: float, rng: random.Random) -> None:
        self._rng = rng
        self._begin = min(1.0, share / (mean_packets * (1 - share)))
        self._end = 1 / mean_packets
        self._bad = False
        self._left = geometric(self._begin, rng)

    def picks(self, count: int) -> Sequence[int]:
        """The places, from 0, of those picked among the next `count` segments."""
        if not self._bad and self._left >= count:
            self._left -= count
            return ()
        picked: list[int] = []
        at = 0
        while at < count:
            run = min(self._left, count - at)
            if self._bad:
                picked.extend(range(at, at + run))
            at += run
            self._left -= run
            if not self._left:
                self._bad = not self._bad
                self._left = 1 + geometric(self._end if self._bad else self._begin, self._rng)
        return picked


def geometric(share: float, rng: random.Random) -> int:
    """How many failures come before the first success, each try succeeding with `share`."""
    if share <= 0:
        return _NEVER
    if share >= 1:
        return 0
    return int(math.log(1.0 - rng.random()) / math.log1p(-share))
