"""RFC 6349's three metrics of a TCP test, and how steady it was, for the JSON report.

The ideal rate that the RFC wants known beforehand is that of an Ethernet port, where goodput is
exactly that, and else the fastest half second; `ideal_from` says which.
"""

from __future__ import annotations

from typing import Any

from tuiperf.session import Session

from . import signs
from .facts import Facts, derive

WIDE_SCATTER = 0.1


def metrics(session: Session) -> dict[str, Any]:
    """By direction ("forward", "reverse"); {} of other tests and while nothing is known.

    transfer_time_ratio: ideal over measured rate of the whole test (RFC 6349, 4.1).
    tcp_efficiency_percent: bytes sent that were not sent again (4.2).
    buffer_delay_percent: mean of the RTT under load over the minimum, less 100 % (4.3); ours is
    the median.
    """
    if session.test is not None and session.test.udp:
        return {}
    return {facts.direction.value: _of(facts) for facts in derive(session) if facts.goodput_bps}


def _of(facts: Facts) -> dict[str, Any]:
    ideal_bps, source = _ideal(facts)
    scatter = facts.scatter
    return {
        "transfer_time_ratio": _rounded(_ratio(ideal_bps, facts.whole_bps)),
        "ideal_bits_per_second": _rounded(ideal_bps, 0),
        "ideal_from": source,
        "tcp_efficiency_percent": _rounded(_efficiency(facts)),
        "buffer_delay_percent": _rounded(_buffer_delay(facts), 1),
        "whole_mean_bits_per_second": _rounded(facts.whole_bps, 0),
        "steady_mean_bits_per_second": _rounded(facts.goodput_bps, 0),
        "steady_seconds": _rounded(facts.steady_s, 1),
        "interval_scatter_percent": _rounded(None if scatter is None else 100 * scatter, 1),
        "interval_scatter_wide": None if scatter is None else scatter > WIDE_SCATTER,
    }


def _ideal(facts: Facts) -> tuple[float | None, str]:
    line_bps = signs.line_rate_bps(facts)
    if line_bps is not None:
        payload, frame = signs.frame_bytes(facts)
        return line_bps * payload / frame, "Ethernet port"
    return facts.motion.best_bps, "fastest half second"


def _efficiency(facts: Facts) -> float | None:
    share = facts.retransmitted_share
    if share is None:
        share = facts.far_retransmitted_share
    return None if share is None else max(0.0, 100 * (1 - share))


def _buffer_delay(facts: Facts) -> float | None:
    return None if facts.inflation is None else 100 * (facts.inflation - 1)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)
