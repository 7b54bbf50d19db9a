"""The formulas that the lessons calculate with. Times in microseconds, rates in bits a second."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

MATHIS_C = 1.22
"""sqrt(3/2), Mathis et al. 1997, equation 3, with an acknowledgement for every segment."""

MSS_BYTES = 1448
"""What a packet of 1500 bytes carries with IPv4 and TCP timestamps (RFC 7323)."""

IP_TCP_BYTES = {4: 52, 6: 72}
"""IP header, TCP header of 20 bytes and its timestamps of 12, by the version of IP."""

ETHERNET_BYTES = 38
"""Around each packet, IEEE 802.3: preamble 8, addresses and type 14, checksum 4, gap 12."""

LOSS_LEFT_TO_BBR = 0.15
"""BBR's first version keeps its rate up to about this loss: it was designed for 15 %, and sends up
to a quarter more than it sees delivered."""


def bdp_bytes(rate_bps: float, rtt_us: float) -> float:
    """The bandwidth-delay product: what a path holds when it is full (RFC 6349, 3.3.1)."""
    return rate_bps * rtt_us / 8e6


def window_bps(window_bytes: float, rtt_us: float) -> float:
    """One window each round trip is as fast as it gets (RFC 6349, 3.3.1)."""
    return window_bytes * 8e6 / rtt_us if rtt_us > 0 else 0.0


def queued_us(rate_bps: float, waiting_bytes: float) -> float:
    """How long the last byte of a queue waits before a hop of this rate."""
    return waiting_bytes * 8e6 / rate_bps if rate_bps > 0 else 0.0


def mathis_bps(mss_bytes: float, rtt_us: float, loss: float) -> float:
    """What a loss-based sender such as Reno reaches (Mathis et al. 1997); `loss` is a share of 1.

    Good for losses up to about one in a hundred.
    """
    return mss_bytes * 8e6 / rtt_us * MATHIS_C / sqrt(loss)


def mathis_loss(mss_bytes: float, rtt_us: float, rate_bps: float) -> float:
    """The loss, a share of 1, at which `mathis_bps` just gives this rate."""
    return min(1.0, (mss_bytes * 8e6 * MATHIS_C / (rtt_us * rate_bps)) ** 2)


def ethernet_goodput_bps(line_bps: float, mtu_bytes: int, ip: int = 4) -> float:
    """The payload that TCP gets out of an Ethernet port, timestamps on (as Linux has them)."""
    return line_bps * (mtu_bytes - IP_TCP_BYTES[ip]) / (mtu_bytes + ETHERNET_BYTES)


def transfer_s(amount_bytes: float, rate_bps: float) -> float:
    """How long an amount takes at a rate."""
    return amount_bytes * 8 / rate_bps


def chatty_s(round_trips: float, rtt_us: float, amount_bytes: float, rate_bps: float) -> float:
    """A dialogue that waits for each answer before it asks again, and its data."""
    return round_trips * rtt_us / 1e6 + transfer_s(amount_bytes, rate_bps)


def jitter_us(transits_us: Iterable[float]) -> float:
    """The smoothed jitter of RFC 3550, 6.4.1, after these transit times: a sixteenth each step."""
    jitter = 0.0
    before: float | None = None
    for transit in transits_us:
        if before is not None:
            jitter += (abs(transit - before) - jitter) / 16
        before = transit
    return jitter
