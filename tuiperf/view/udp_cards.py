"""The instruments of a UDP test besides its rate: losses, jitter, what came late."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tuiperf.events import UdpFigures
from tuiperf.session import Datagrams, Direction, Session, Tick, datagrams

from .numbers import jitter_ms, share
from .readings import FAR_SIDE, directions, sends_here


class Instrument(NamedTuple):
    """A card's words and numbers, without its looks."""

    name: str
    title: str
    value: str
    unit: str
    note: str
    direction: Direction | None
    reading: Callable[[Tick], float | None]
    counts: bool = False


def instruments(session: Session) -> list[Instrument]:
    """Losses, jitter and lateness where this end receives, else of what it sends."""
    ways = directions(session)
    way = next((each for each in ways if not sends_here(session, each)), ways[0])
    found = datagrams(session, way)
    known = found is not None and found.lost is not None
    return [
        _lost(session, way, found if known else None),
        _jitter(session, way, found if known else None),
        _late(session, way, found if known else None),
    ]


def _unknown(session: Session, way: Direction) -> str:
    return FAR_SIDE if sends_here(session, way) and session.streams else ""


def _lost(session: Session, way: Direction, found: Datagrams | None) -> Instrument:
    value, note = _unknown(session, way), ""
    if found is not None:
        value = share(found.lost or 0, found.total or 0).removesuffix(" %")
        note = f"{found.lost} of {found.total}"
    return Instrument("lost", "LOST", value, "%", note, way, _reader(session, way, "lost"), True)


def _jitter(session: Session, way: Direction, found: Datagrams | None) -> Instrument:
    value = _unknown(session, way) if found is None else jitter_ms(found.jitter_s)
    return Instrument("jitter", "JITTER", value, "ms", "", way, _reader(session, way, "jitter"))


def _late(session: Session, way: Direction, found: Datagrams | None) -> Instrument:
    value, note = FAR_SIDE if sends_here(session, way) else "", ""
    if found is not None and found.late is not None:
        value = str(found.late)
        note = f"{found.duplicates} twice" if found.duplicates else ""
    return Instrument(
        "late", "LATE", value, "total", note, way, _reader(session, way, "late"), True
    )


_READINGS: dict[str, Callable[[UdpFigures], float]] = {
    "lost": lambda udp: udp.missing_packets,
    "jitter": lambda udp: udp.jitter_s,
    "late": lambda udp: udp.late_packets,
}


def _reader(session: Session, way: Direction, name: str) -> Callable[[Tick], float | None]:
    """What one tick adds to a card's history: nothing where only the far end knows it."""
    if sends_here(session, way):
        return lambda tick: None
    return lambda tick: _READINGS[name](tick.udp) if tick.udp else None
