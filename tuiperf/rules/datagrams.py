"""Verdicts of a UDP test: what arrives of the rate that was offered, and who lost the rest."""

from __future__ import annotations

from tuiperf.session import Datagrams, Direction, Session, datagrams, headline

from . import host
from .quantities import percent, rate
from .verdict import Confidence, Level, Verdict

LEAST_DATAGRAMS = 50
LEAST_S = 2.0
FEW = 0.0005  # a share of losses that voice and video hardly notice
MANY = 0.02
MOST_OF_IT = 0.5
TRY_LESS = 0.9  # of what arrived: a rate that should go through


def judge(session: Session, direction: Direction) -> Verdict:
    """The verdict of one direction. A sender learns of losses when the far end's results come."""
    words = session.words(direction)
    found = datagrams(session, direction)
    result = headline(session, direction)
    if found is None or found.lost_share is None or found.total is None:
        return _unknown(session, words, found)
    if found.total < LEAST_DATAGRAMS or session.measured_s < LEAST_S:
        return _too_few(session, words, found.total)
    offered_bps = _offered_bps(session, result.sent_bps)
    arrived_bps = result.goodput_bps or 0.0
    if found.lost_share < FEW:
        return _all_there(words, found, arrived_bps)
    here_sends = (direction is Direction.FORWARD) == (session.role == "client")
    side = "sender" if here_sends else "receiver"
    where = _dropped_here(session, found, side)
    if found.lost and sum(count for _, count in where) >= MOST_OF_IT * found.lost:
        return _host_drops(words, found, side, where)
    return _lost(words, found, arrived_bps, offered_bps)


def _offered_bps(session: Session, sent_bps: float | None) -> float:
    if sent_bps:
        return sent_bps
    return float(session.test.rate_bps * session.test.parallel) if session.test else 0.0


def _unknown(session: Session, words: str, found: Datagrams | None) -> Verdict:
    over = session.ended is not None
    sent = f"{found.sent} datagrams were sent" if found and found.sent is not None else ""
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell" if over else "Cannot tell yet",
        short="no count from there" if over else "the far end counts",
        claim=(
            f"{words}: cannot tell; missing: the far end's count of what arrived."
            if over
            else f"{words}: what arrives is known to the far end alone, and told at the end."
        ),
        because=(sent,) if sent else (),
        next=() if over else ("-R sends the other way: then losses show while it runs",),
    )


def _too_few(session: Session, words: str, total: int) -> Verdict:
    over = session.ended is not None
    missing = "a longer test" if over else "more datagrams"
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell" if over else "Cannot tell yet",
        short=f"{total} datagrams",
        claim=f"{words}: too little was seen to judge; missing: {missing}.",
        because=(f"{total} datagrams in {session.measured_s:.1f} s",),
    )


def _all_there(words: str, found: Datagrams, arrived_bps: float) -> Verdict:
    return Verdict(
        id="offered-less",
        level=Level.FINE,
        confidence=Confidence.HIGH,
        title="Rate as offered",
        short=_few_lost(found, arrived_bps),
        claim=f"{words}: the path carries the rate that was offered; it may carry more.",
        because=(_counted(found), *_order(found)),
        next=("a higher -b shows where it begins to lose",),
    )


def _few_lost(found: Datagrams, arrived_bps: float) -> str:
    if found.lost:
        return f"{percent(found.lost_share or 0.0)} lost"
    return f"{rate(arrived_bps)}, all there"


def _dropped_here(session: Session, found: Datagrams, side: str) -> tuple[tuple[str, int], ...]:
    """What this host dropped: its socket tells best, the host's counters where it cannot."""
    kernel = host.drops(session, host.UDP_DROPS[side])
    if side == "sender" or found.host_dropped is None:
        return kernel
    socket = ("from this test's own sockets (SK_MEMINFO_DROPS)", found.host_dropped)
    return (socket, *(each for each in kernel if "socket" not in each[0]))


_CLAIMS = {
    "receiver": "the datagrams arrived, and this host dropped them before the receiver read them",
    "sender": "this host dropped the datagrams before they left it",
}
_ADVICE = {
    "receiver": (
        "-w 8M asks for a larger buffer (net.core.rmem_max allows it or not)",
        "a lower -b, or a host with a free core",
    ),
    "sender": (
        "a lower -b: this host's device or its queue carries no more",
        "look: tc -s qdisc show",
    ),
}


def _host_drops(
    words: str, found: Datagrams, side: str, where: tuple[tuple[str, int], ...]
) -> Verdict:
    return Verdict(
        id="udp-host-drops",
        level=Level.FAULT,
        confidence=Confidence.HIGH if "SK_MEMINFO" in where[0][0] else Confidence.MEDIUM,
        title="This host drops",
        short=f"about {sum(count for _, count in where)} datagrams",
        claim=f"{words}: {_CLAIMS[side]}.",
        because=(
            *(f"about {n} of {found.lost} lost datagrams were dropped {at}" for at, n in where),
            _counted(found),
        ),
        next=_ADVICE[side],
        qualifier=(("side", side),),
    )


def _lost(words: str, found: Datagrams, arrived_bps: float, offered_bps: float) -> Verdict:
    share = found.lost_share or 0.0
    many = share >= MANY
    known = found.host_dropped is not None
    ruled_out = (
        (f"this host dropped {found.host_dropped} of them (SK_MEMINFO_DROPS)",) if known else ()
    )
    less = _rate_option(TRY_LESS * arrived_bps)
    return Verdict(
        id="udp-loss",
        level=Level.FAULT if many else Level.LOOK,
        confidence=Confidence.HIGH if known else Confidence.MEDIUM,
        title="Datagrams lost",
        short=f"{percent(share)} of {rate(offered_bps)}",
        claim=(
            f"{words}: {percent(share)} of the datagrams are lost at {rate(offered_bps)} offered; "
            f"{rate(arrived_bps)} arrive."
        ),
        because=(_counted(found), *_order(found)),
        ruled_out=ruled_out,
        next=(
            f"-b {less}: if the losses go, the path is full above it; if they stay, it is lossy",
            *(() if known else ("-R or a look at the far host: its own buffer may have dropped",)),
        ),
    )


def _counted(found: Datagrams) -> str:
    jitter = "" if found.jitter_s is None else f", jitter {found.jitter_s * 1000:.3f} ms"
    return f"{found.lost} of {found.total} datagrams are missing{jitter}"


def _order(found: Datagrams) -> tuple[str, ...]:
    told = []
    if found.late:
        told.append(f"{found.late} came late, by up to {found.deepest} places")
    if found.duplicates:
        told.append(f"{found.duplicates} came twice")
    return tuple(told)


def _rate_option(bps: float) -> str:
    """A rate as -b takes it, two digits."""
    for suffix, unit in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if bps >= unit:
            return f"{float(f'{bps / unit:.2g}'):g}{suffix}"
    return f"{bps:.0f}"
