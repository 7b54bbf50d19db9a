"""What somebody who asks for a UDP test should know before its figures are read."""

from __future__ import annotations

from . import link_speed
from .spec import TestSpec


def of_test(test: TestSpec, local_host: str, mss_bytes: int) -> list[tuple[str, str, str]]:
    """Notes for a client: level, code and text each. None for a test of another protocol."""
    if not test.udp:
        return []
    return [*_offered(test), *_too_fast(test, local_host), *_too_long(test, mss_bytes)]


def _offered(test: TestSpec) -> list[tuple[str, str, str]]:
    if not test.rate_bps:
        return []
    rate = rate_text(test.rate_bps)
    each = " in each connection" if test.parallel > 1 else ""
    text = f"UDP is sent at {rate}{each}: that is the rate offered, not a result"
    return [("info", "offered_rate", text)]


def _too_fast(test: TestSpec, local_host: str) -> list[tuple[str, str, str]]:
    """A rate above the speed of this host's own link, in the direction that it sends."""
    if test.reverse or not test.rate_bps:
        return []
    link = link_speed.link_of(local_host)
    offered_bps = test.rate_bps * test.parallel
    if link is None or offered_bps <= link.bps:
        return []
    text = (
        f"{rate_text(offered_bps)} are to be sent, {link.name} carries {rate_text(link.bps)}: "
        "the rest floods the link and is dropped"
    )
    return [("warning", "above_link", text)]


def _too_long(test: TestSpec, mss_bytes: int) -> list[tuple[str, str, str]]:
    if not mss_bytes or test.block_bytes <= mss_bytes:
        return []
    text = (
        f"datagrams of {test.block_bytes} bytes are longer than the path's {mss_bytes}: "
        "they travel in fragments, and one lost fragment loses the whole"
    )
    return [("warning", "fragments", text)]


def rate_text(rate_bps: int) -> str:
    """A rate in decimal bits, such as 1.05 Mbit/s."""
    for name, factor in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if rate_bps >= factor:
            return f"{rate_bps / factor:.3g} {name}"
    return f"{rate_bps} bit/s"
