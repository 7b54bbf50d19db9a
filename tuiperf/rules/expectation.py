"""What a cabling crew expects of a link: "1G/full", "100M", "10G"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"(\d{1,6}(?:\.\d)?)([MG]?)(?:bit/s|bps|b)?(?:/(full|half))?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Expectation:
    """A speed in Mbit/s, and a duplex where one was named."""

    speed_mbps: int
    duplex: str | None = None

    def __str__(self) -> str:
        return f"{speed(self.speed_mbps)}{f', {self.duplex} duplex' if self.duplex else ''}"


def read(text: str) -> Expectation | None:
    """Read "1G/full"; a number without a letter is Mbit/s. None for what is none."""
    found = _FORM.match(text.strip())
    if found is None:
        return None
    factor = 1000 if found[2].upper() == "G" else 1
    mbps = round(float(found[1]) * factor)
    return Expectation(mbps, found[3].lower() if found[3] else None) if mbps else None


def speed(mbps: float) -> str:
    """A link's speed as people say it: 100 Mbit/s, 2.5 Gbit/s."""
    return f"{mbps:g} Mbit/s" if mbps < 1000 else f"{mbps / 1000:g} Gbit/s"
