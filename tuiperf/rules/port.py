"""`duplex-mismatch`, `link-degraded` and `shared-medium` as this host's own link tells them.

Only with facts of the link: a path that loses packets in collisions looks like any lossy one.
"""

from __future__ import annotations

from . import signs
from .facts import Facts
from .quantities import counted, line_rate, percent
from .verdict import Confidence, Level, Verdict

DAMAGE_LEAST = 5  # frames over one test
LOSING_SHARE = 1e-4  # of the bytes sent again: below it half duplex does not hurt here


def duplex_mismatch(facts: Facts) -> Verdict | None:
    """Half duplex here, and packets get lost: the other end of the cable most likely is full."""
    if facts.link_duplex != "half" or not facts.link_bps:
        return None
    share = facts.retransmitted_share or facts.far_retransmitted_share or 0.0
    collisions = dict(facts.link_damage).get("collisions", 0)
    if share < LOSING_SHARE and collisions < DAMAGE_LEAST:
        return None
    return Verdict(
        id="duplex-mismatch",
        level=Level.FAULT,
        confidence=Confidence.HIGH if collisions else Confidence.MEDIUM,
        title="Duplex mismatch",
        short=f"{line_rate(facts.link_bps)} half",
        claim=(
            "this host's link runs at half duplex and loses packets when both ends send: its "
            "other end most likely is set to full duplex."
        ),
        because=(
            f"the link has {line_rate(facts.link_bps)}, half duplex (ethtool)",
            f"{percent(share)} of the bytes were sent again",
            f"{counted(collisions, 'collision')} during the test",
        ),
        next=("set both ends to autonegotiation: one forced end makes the other fall to half",),
        explanation=(
            "a port that is forced does not negotiate; its partner must assume half duplex "
            "(IEEE 802.3, 28.2)",
        ),
    )


def link_degraded(facts: Facts) -> Verdict | None:
    """Error counters of our own link grew during the test."""
    found = [(words, count) for words, count in facts.link_damage if words != "collisions"]
    total = sum(count for _, count in found)
    if total < DAMAGE_LEAST:
        return None
    return Verdict(
        id="link-degraded",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Link damages frames",
        short=f"{total} in this test",
        claim="this host's own link damages frames: cable, plug, optics or port are bad.",
        because=tuple(f"{count} {words}" for words, count in found),
        next=("tuiperf link tells what the port knows; then change the cable and try again",),
        explanation=("counters of the device before and after the data (/proc/net/dev)",),
    )


def on_the_air(facts: Facts) -> Verdict | None:
    """Our link is a radio: both directions and the neighbours share its air."""
    if facts.link_class != "wireless" or not signs.network_judged(facts):
        return None
    return Verdict(
        id="shared-medium",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Radio link here",
        short="the air is shared",
        claim="this host sends by radio: its rate and delay vary with distance and neighbours.",
        because=("the device of this connection is a wireless one",),
        next=("run it once by cable: what differs is the radio's part",),
    )
