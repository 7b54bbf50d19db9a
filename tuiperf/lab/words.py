"""Quantities as people write them: 1G, 42ms, 0.1%, 64K. What is none raises LabError."""

from __future__ import annotations

import re

from tuiperf.lab.errors import LabError

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-zA-Z%/]*)\s*\Z")
_LONGEST = 40  # characters; nothing that means anything here is longer

_RATE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_BYTES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_BYTES |= {f"{letter}{tail}": _BYTES[letter] for letter in "kmg" for tail in ("b", "ib")}
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def split(key: str, text: str) -> tuple[float, str]:
    """A number and the unit behind it, in lower case."""
    match = _NUMBER.match(text) if len(text) <= _LONGEST else None
    if match is None:
        raise LabError(f"{key}: {_shown(text)} is not a number with a unit")
    return float(match[1]), match[2].lower()


def rate_bps(key: str, text: str) -> int:
    """Bits a second: 100M, 2.5G, 1Gbit/s. Zero is no limit."""
    number, unit = split(key, text)
    for tail in ("bit/s", "bps", "bit"):
        unit = unit.removesuffix(tail)
    if unit not in _RATE:
        raise LabError(f"{key}: {_shown(text)} is not a rate such as 100M or 1G (bits a second)")
    return int(_positive(key, text, number * _RATE[unit]))


def size_bytes(key: str, text: str) -> int:
    """Bytes: 64K is 65536, 1500 is 1500."""
    number, unit = split(key, text)
    if unit not in _BYTES:
        raise LabError(f"{key}: {_shown(text)} is not a size such as 64K or 1500 (bytes)")
    return int(_positive(key, text, number * _BYTES[unit]))


def time_s(key: str, text: str) -> float:
    """Seconds: 42ms, 300us, 1.5s. A unit must be there: 42 alone could be either."""
    number, unit = split(key, text)
    if unit not in _SECONDS:
        raise LabError(f"{key}: {_shown(text)} is not a time such as 42ms or 1.5s")
    return _positive(key, text, number * _SECONDS[unit])


def share(key: str, text: str) -> float:
    """A share: 0.1% or 0.001, from 0 to less than 100 %."""
    number, unit = split(key, text)
    if unit not in ("", "%"):
        raise LabError(f"{key}: {_shown(text)} is not a share such as 0.1% or 0.001")
    value = _positive(key, text, number / 100 if unit else number)
    if value >= 1:
        raise LabError(f"{key}: {_shown(text)} leaves nothing: a share must be less than 100%")
    return value


def count(key: str, text: str) -> float:
    """A plain number that is not negative."""
    number, unit = split(key, text)
    if unit:
        raise LabError(f"{key}: {_shown(text)} is not a plain number")
    return _positive(key, text, number)


def bandwidth_delay_share(text: str) -> float | None:
    """How many bandwidth-delay products: 1bdp, 0.1bdp. None when it is no such text."""
    match = _NUMBER.match(text) if len(text) <= _LONGEST else None
    if match is None or match[2].lower() != "bdp":
        return None
    return float(match[1])


def _positive(key: str, text: str, value: float) -> float:
    if not 0 <= value <= 1e18:
        word = "negative" if value < 0 else "too large"
        raise LabError(f"{key}: {_shown(text)} is {word}")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")
