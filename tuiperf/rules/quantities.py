"""Numbers with their units, as verdicts write them."""

from __future__ import annotations

from math import ceil

_KIB, _MIB = 1 << 10, 1 << 20


def rate(bps: float) -> str:
    """A rate in decimal bits: 516 Mbit/s, 9.87 Mbit/s, 21.0 Gbit/s."""
    if bps >= 1e15:
        return "> 999 Tbit/s"
    for name, unit in (("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= unit:
            return f"{_three_digits(bps / unit)} {name}"
    return f"{bps:.0f} bit/s"


def line_rate(bps: float) -> str:
    """A round rate without decimals: 1 Gbit/s, 100 Mbit/s."""
    return f"{bps / 1e9:g} Gbit/s" if bps >= 1e9 else f"{bps / 1e6:g} Mbit/s"


def size(count_bytes: float) -> str:
    """An amount of data in decimal bytes: 2.78 MB, 171 KB."""
    for name, unit in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count_bytes >= unit:
            return f"{_three_digits(count_bytes / unit)} {name}"
    return f"{count_bytes:.0f} bytes"


def milliseconds(time_us: float) -> str:
    """A short time: 42.1 ms, 0.35 ms, 0.001 ms."""
    if time_us >= 1e9:
        return "> 1000 s"
    if 0 < time_us < 10:
        return f"{time_us / 1000:.3f} ms"
    return f"{_three_digits(time_us / 1000)} ms"


def percent(share: float) -> str:
    """A share of 1 in percent, small ones with two digits that count: 0.11 %, 84 %."""
    value = 100 * share
    if value <= 0:
        return "0 %"
    if value < 0.001:
        return "< 0.001 %"
    for least, decimals in ((10, 0), (1, 1), (0.1, 2)):
        if value >= least:
            return f"{value:.{decimals}f} %"
    return f"{value:.3f} %"


def times(ratio: float) -> str:
    """A ratio: 1.55 times, 3.2 times, 391 times."""
    return f"{ratio:.{0 if ratio >= 10 else 1 if ratio >= 3 else 2}f} times"


def counted(count: int, noun: str) -> str:
    """A count and its noun: 1 pause, 3 pauses."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def option_bytes(count_bytes: float) -> int:
    """Round up to what `option_size` can write: whole MiB, or steps of 64 KiB below one MiB."""
    step = _MIB if count_bytes > _MIB else 64 * _KIB
    return max(1, ceil(count_bytes / step)) * step


def option_size(count_bytes: int) -> str:
    """A size as iperf3's options take it, in powers of 1024: 8M, 512K."""
    if count_bytes % _MIB == 0:
        return f"{count_bytes // _MIB}M"
    return f"{count_bytes // _KIB}K"


def _three_digits(value: float) -> str:
    for least, decimals in ((100, 0), (10, 1)):
        if value >= least:
            return f"{value:.{decimals}f}"
    return f"{value:.2f}"
