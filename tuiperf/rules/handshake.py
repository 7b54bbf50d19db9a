"""`ecn-marked` and `middlebox`: what the two ends agreed on, and what the path did to it."""

from __future__ import annotations

from . import signs
from .facts import Facts
from .quantities import percent, rate
from .verdict import Confidence, Level, Verdict

MARKED_LEAST = 10  # packets
MARKED_SHARE = 5e-4  # of those delivered; measured 0.5 % with cubic, 15 to 69 % with BBR


def ecn_marked(facts: Facts) -> Verdict | None:
    """A queue marks packets instead of dropping them: congestion is told without loss."""
    if signs.hosts_busy(facts) or facts.marked is None or facts.marked < MARKED_LEAST:
        return None
    share = facts.marked_share
    if share is not None and share < MARKED_SHARE:
        return None
    part = f", {percent(share)}" if share is not None else ""
    return Verdict(
        id="ecn-marked",
        level=Level.FINE,
        confidence=Confidence.HIGH,
        title="Path marks (ECN)",
        short=f"{facts.marked} packets{part}",
        claim=(
            f"{facts.words}: the slowest hop is full and marks packets instead of dropping them; "
            "that is how it should be."
        ),
        because=(
            f"{facts.marked} packets carried a congestion mark{part} (tcpi_delivered_ce)",
            f"goodput {rate(facts.goodput_bps or 0.0)}",
        ),
        ruled_out=_no_loss(facts),
        explanation=(
            "a router sets CE when its queue grows, and the sender slows down (RFC 3168, 5)",
            f"marked: {facts.marked} of the packets delivered; from {MARKED_LEAST} on it is told",
        ),
    )


def _no_loss(facts: Facts) -> tuple[str, ...]:
    if facts.retransmitted_share is None:
        return ()
    return (f"loss: {percent(facts.retransmitted_share)} of the bytes were sent again",)


_SHORT = {"selective acknowledgements": "SACK"}  # what fits a narrow panel


def middlebox(facts: Facts) -> Verdict | None:
    """TCP options are missing that every system of the last twenty years offers."""
    if not facts.absent_options:
        return None
    names = " and ".join(facts.absent_options)
    scaled = "window scaling" in facts.absent_options
    effect = ": no window above 64 KB is possible" if scaled else ""
    return Verdict(
        id="middlebox",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="TCP options lost",
        short=f"no {_SHORT.get(facts.absent_options[0], facts.absent_options[0])}",
        claim=(
            f"{facts.words}: the connection runs without {names}{effect}. A device on the path "
            f"removes that, or {facts.peer} has it switched off."
        ),
        because=(f"the handshake ended without {names} (tcpi_options)",),
        next=(
            f"on {facts.peer}: sysctl net.ipv4.tcp_sack net.ipv4.tcp_timestamps "
            "net.ipv4.tcp_window_scaling (1 is on)",
            "if all are 1, look at firewalls and accelerators on the way",
        ),
        explanation=(
            "an option is used only when both SYN packets carry it (RFC 7323, 1.3; RFC 2018, 2)",
        ),
    )
