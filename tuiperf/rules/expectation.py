"""What a cabling crew expects of a link: "1G/full", "100M", "10G"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuiperf.evidence import link_modes

_FORM = re.compile(
    r"([0-9]{1,6}(?:\.[0-9])?)\s?([MGT]?)"
    r"(?:b|bit|bits|bps|b/s|bit/s|bits/s|be|base-?tx?)?"
    r"(?:[\s/,-](full|half)(?:[\s-]?duplex)?)?\Z",
    re.IGNORECASE,
)
_MBPS: dict[str, float] = {"": 1, "M": 1, "G": 1000, "T": 1_000_000}
LEAST_MBPS = 10
"""No Ethernet is slower: somebody who writes 1 means 1G."""


@dataclass(frozen=True)
class Expectation:
    """A speed in Mbit/s, and a duplex where one was named."""

    speed_mbps: int
    duplex: str | None = None

    def __str__(self) -> str:
        return f"{speed(self.speed_mbps)}{f', {self.duplex} duplex' if self.duplex else ''}"


def read(text: str) -> Expectation | None:
    """Read "1G/full", "10GbE" or "1000baseT/Full"; a number without a letter is Mbit/s.

    None for what is no speed of a link.
    """
    found = _FORM.match(text.strip())
    if found is None:
        return None
    mbps = round(float(found[1]) * _MBPS[found[2].upper()], 3)
    if mbps < LEAST_MBPS or mbps != int(mbps):
        return None
    return Expectation(int(mbps), found[3].lower() if found[3] else None)


def speed(mbps: float) -> str:
    """A link's speed as people say it: 100 Mbit/s, 2.5 Gbit/s."""
    return link_modes.in_words(mbps)
