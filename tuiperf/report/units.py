"""Amounts and rates as iperf3 prints them (the rules of its units.c)."""

from __future__ import annotations

import math

_BYTE_LABELS = ("Byte", "KByte", "MByte", "GByte", "TByte")
_BIT_LABELS = ("bit", "Kbit", "Mbit", "Gbit", "Tbit")
_LAST = len(_BYTE_LABELS) - 1
_FIXED = {"K": 1, "M": 2, "G": 3, "T": 4}
# iperf3 multiplies with these; dividing would round some numbers at a boundary the other way.
_PER_BYTES = (1.0, 1 / 1024, 1 / 1024 / 1024, 1 / 1024 / 1024 / 1024, 1 / 1024**4)
_PER_BITS = (1.0, 1 / 1000, 1 / 1000 / 1000, 1 / 1000 / 1000 / 1000, 1 / 1000 / 1000 / 1000 / 1000)

FORMATS = "kmgtKMGTaA"


def unit(count_bytes: float, unit_format: str) -> str:
    """An amount of bytes as four places, a blank and a label, such as `1.25 MByte`.

    `unit_format` is a letter of FORMATS: upper-case for bytes in steps of 1024, lower-case for bits
    in steps of 1000; k, m, g and t name the step, a takes the one that fits (no more than T).
    """
    in_bytes = unit_format.isupper()
    number = _float(count_bytes) * (1 if in_bytes else 8)
    step = _FIXED.get(unit_format.upper())
    if step is None:
        step = _fitting_step(number, 1024.0 if in_bytes else 1000.0)
    number *= (_PER_BYTES if in_bytes else _PER_BITS)[step]
    label = (_BYTE_LABELS if in_bytes else _BIT_LABELS)[step]
    if number < 9.995:
        return f"{number:4.2f} {label}"
    if number < 99.95:
        return f"{number:4.1f} {label}"
    return f"{number:4.0f} {label}"


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _fitting_step(number: float, ratio: float) -> int:
    step = 0
    while number >= ratio and step < _LAST:
        number /= ratio
        step += 1
    return step


def transfer(count_bytes: float) -> str:
    """The Transfer and Cwnd columns: bytes in the step that fits, whatever `-f` says."""
    return f"{unit(count_bytes, 'A')}s"


def bitrate(bytes_per_s: float, unit_format: str) -> str:
    """The Bitrate column."""
    return f"{unit(bytes_per_s, unit_format)}s/sec"
