"""Reads what is typed for a slider, as the options of tuiperf take it: 1G, 42ms, 256K, 0.1%."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z%]*)\Z", re.ASCII)
_FACTORS = {
    "rate": {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12},
    "size": {"": 1.0, "k": 1024.0, "m": 1024.0**2, "g": 1024.0**3, "t": 1024.0**4},
    "time": {"us": 1.0, "": 1e3, "ms": 1e3, "s": 1e6},
    "share": {"": 1.0, "%": 0.01},
    "count": {"": 1.0},
}
_ENDINGS = {"rate": ("bit/s", "bps"), "size": ("ib", "b")}


class Reader:
    """Reads a text into a number between `least` and `most`.

    `kind` is rate (bit/s), size (bytes), time (us, bare numbers are ms), share (of 1) or count.
    """

    def __init__(self, kind: str, least: float, most: float) -> None:
        self._kind = kind
        self._least = least
        self._most = most

    def __call__(self, text: str) -> float:
        """The number. Raises ValueError with a line for the user."""
        found = _NUMBER.match(text.strip()) if len(text) <= 40 else None
        unit = self._bare(found.group(2).lower()) if found else ""
        if not found or unit not in _FACTORS[self._kind]:
            raise ValueError(f"'{text[:40]}' is no {self._kind}: write {_EXAMPLES[self._kind]}")
        value = float(found.group(1)) * _FACTORS[self._kind][unit]
        if not self._least <= value <= self._most:
            raise ValueError(f"'{text}' is out of reach here")
        return round(value) if self._kind == "count" else value

    def _bare(self, unit: str) -> str:
        for ending in _ENDINGS.get(self._kind, ()):
            unit = unit.removesuffix(ending)
        return unit


_EXAMPLES = {"rate": "1G", "size": "256K", "time": "42ms", "share": "0.1%", "count": "8"}
