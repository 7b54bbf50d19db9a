"""A limit on what all senders of a test together may send, met exactly without a lock."""

from __future__ import annotations

import time

from . import counters as shared
from .counters import Counters

_AT_LIMIT_S = 0.002
_GIVE_WAY_S = 20e-6


class Allowance:
    """This sender's share of what the limit on all senders' bytes still allows."""

    def __init__(self, counters: Counters, slot: int, block_bytes: int) -> None:
        self._counters = counters
        self._base = counters.base(slot)
        self._block_bytes = block_bytes
        self._pause_s = (slot + 1) * _GIVE_WAY_S

    def claim(self, size: int) -> int:
        """The size of the next write; 0, after a short sleep, when nothing is left.

        Near the end each sender takes its share of the rest, in whole blocks. A claim is made
        first and looked at again: of senders who claim the same bytes at the same instant all but
        one, or all, give way and ask again after different pauses. So the limit is met exactly.
        """
        words = self._counters.words
        left = words[shared.LIMIT] - self._counters.claimed_bytes()
        if left <= 0:
            words[self._base + shared.STATE] = shared.AT_LIMIT
            time.sleep(_AT_LIMIT_S)
            return 0
        blocks = -(-left // (self._counters.streams * self._block_bytes))
        claimed = min(size, left, blocks * self._block_bytes)
        words[self._base + shared.CLAIMED] = claimed
        if self._counters.claimed_bytes() > words[shared.LIMIT]:
            words[self._base + shared.CLAIMED] = 0
            time.sleep(self._pause_s)
            return 0
        words[self._base + shared.STATE] = shared.BUSY
        return claimed

    def settle(self) -> None:
        """The write is done and counted."""
        self._counters.words[self._base + shared.CLAIMED] = 0
