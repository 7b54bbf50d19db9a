"""Numbers as text: one unit and one number of decimals for a whole run, so columns never jump."""

from __future__ import annotations

import math
from typing import NamedTuple

from tuiperf.session import Session

CHOICE_S = 1.0
"""Seconds of data after which a run's units are settled."""


class RateUnit(NamedTuple):
    """A unit of rates, in decimal bits as the field uses them, and its fixed decimals."""

    name: str
    bps: float
    decimals: int

    def number(self, rate_bps: float | None) -> str:
        return "-" if rate_bps is None else f"{rate_bps / self.bps:.{self.decimals}f}"

    def text(self, rate_bps: float | None) -> str:
        return f"{self.number(rate_bps)} {self.name}"


SLOW = RateUnit("Mbit/s", 1e6, 3)
USUAL = RateUnit("Mbit/s", 1e6, 1)
FAST = RateUnit("Gbit/s", 1e9, 2)


class Units(NamedTuple):
    """The units of one run's page."""

    rate: RateUnit = USUAL
    rtt_decimals: int = 1
    settled: bool = False

    def in_bytes(self) -> Units:
        """The same with rates in decimal bytes: MB/s for Mbit/s."""
        name, bps, decimals = self.rate
        return self._replace(rate=RateUnit(name.replace("bit", "B"), bps * 8, decimals + 1))

    def rtt(self, rtt_us: float | None) -> str:
        """A round-trip time in milliseconds."""
        return "-" if rtt_us is None else f"{rtt_us / 1000:.{self.rtt_decimals}f}"


def units_of(session: Session) -> Units:
    """Choose a run's units from its first data and its idle RTT.

    A page that grows with its run keeps its first settled choice.
    """
    peak_bps = _early_peak_bps(session)
    if peak_bps >= 2e9:
        rate = FAST
    elif 0 < peak_bps < 1e7:
        rate = SLOW
    else:
        rate = USUAL
    settled = session.test_s >= CHOICE_S or session.ended is not None
    return Units(rate, _rtt_decimals(_idle_rtt_us(session)), settled)


def _early_peak_bps(session: Session) -> float:
    peak_bps = 0.0
    for flow in session.flows.values():
        for tick in flow.ticks:
            if tick.test_s > CHOICE_S + 0.2 and peak_bps:
                break
            peak_bps = max(peak_bps, tick.goodput_bps)
    return peak_bps


def _idle_rtt_us(session: Session) -> int | None:
    if session.connection and session.connection.connect_rtt_us:
        return session.connection.connect_rtt_us
    known = [flow.min_rtt_us for flow in session.flows.values() if flow.min_rtt_us]
    return min(known, default=None)


def _rtt_decimals(rtt_us: int | None) -> int:
    if rtt_us is None or rtt_us >= 10_000:
        return 1
    return 2 if rtt_us >= 1000 else 3


def size(count_bytes: float | None) -> str:
    """An amount of data in decimal units with three digits or more: 3.53 GB, 212 KB."""
    if count_bytes is None:
        return "-"
    for name, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if abs(count_bytes) >= factor:
            return f"{count_bytes / factor:.2f} {name}"
    if abs(count_bytes) >= 1e4:
        return f"{count_bytes / 1e3:.0f} KB"
    return f"{count_bytes:.0f} bytes"


def kilobytes(count_bytes: float | None) -> str:
    """Whole decimal kilobytes, for columns and cards whose heading names the unit."""
    return "-" if count_bytes is None else f"{count_bytes / 1000:.0f}"


def jitter_ms(jitter_s: float | None) -> str:
    """Jitter in milliseconds, as iperf3 writes it, for columns and cards that name the unit."""
    return "-" if jitter_s is None else f"{jitter_s * 1000:.3f}"


def seconds(value_s: float, decimals: int = 1) -> str:
    return f"{value_s:.{decimals}f} s"


def share(part: float, whole: float) -> str:
    """A percentage with as many decimals as a small one needs."""
    percent = 100 * part / whole if whole > 0 else 0.0
    if percent == 0:
        return "0 %"
    if percent < 0.001:
        return "< 0.001 %"
    if percent < 1:
        return f"{percent:.3f} %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def nice_ceiling(value: float) -> float:
    """A round number (1, 1.2, 1.5, 2, …, 8 of a power of ten) a little above `value`."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    wanted = value * 1.04
    power = 10.0 ** math.floor(math.log10(wanted))
    for step in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0):
        if wanted <= step * power * (1 + 1e-9):
            return step * power
    return 10.0 * power
