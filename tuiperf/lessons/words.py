"""Numbers as the lessons write them: short, without zeros that say nothing, with their unit."""

from __future__ import annotations

from tuiperf.rules import quantities


def rate(bps: float) -> str:
    """A rate in decimal bits: 941 Mbit/s, 2.5 Gbit/s."""
    return _trimmed(quantities.rate(bps))


def size(count_bytes: float) -> str:
    """An amount in decimal bytes: 2.5 MB."""
    return _trimmed(quantities.size(count_bytes))


def milliseconds(time_us: float) -> str:
    """A short time: 20 ms, 0.35 ms."""
    return _trimmed(quantities.milliseconds(time_us)) if time_us >= 10 else f"{time_us:.0f} us"


def percent(share: float) -> str:
    """A share of 1: 94 %, 0.1 %."""
    return _trimmed(quantities.percent(share))


def binary_size(count_bytes: float) -> str:
    """An amount in the steps of 1024 that -w takes where it is one of them, else as `size`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count_bytes >= unit and count_bytes % unit == 0:
            return f"{count_bytes / unit:.0f} {name}"
    return size(count_bytes)


def count(value: float) -> str:
    """A whole number, its thousands apart."""
    return f"{value:,.0f}".replace(",", " ") if value >= 10_000 else f"{value:.0f}"


def duration(time_s: float) -> str:
    """A time that somebody waits: 8.5 s, 3 min 20 s, 2 h 5 min."""
    if time_s < 1:
        return milliseconds(time_s * 1e6)
    if time_s < 99.5:
        return _trimmed(f"{time_s:.{0 if time_s >= 20 else 1}f} s")
    minutes, seconds = divmod(round(time_s), 60)
    if minutes < 100:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{count(hours / 24)} days"


def _trimmed(text: str) -> str:
    number, space, unit = text.rpartition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number + space + unit
