"""The reader's own numbers: what the newest recording of this machine has measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tuiperf import recording
from tuiperf.lessons import formulas
from tuiperf.rules.facts import Facts, derive
from tuiperf.session import Direction, Session, datagrams, headline

LINE_RATES_BPS = (1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 4e10, 1e11, 4e11)
MAX_BYTES = 8 * 1024 * 1024
"""Larger recordings take seconds to read, and the lesson does not wait for its numbers."""

MAX_TRIED = 5


@dataclass(frozen=True)
class OwnRun:
    """One direction of a run. None: not known."""

    peer: str
    udp: bool
    goodput_bps: float
    sent_bps: float | None = None
    min_rtt_us: float | None = None
    rtt_us: float | None = None  # median under load
    in_flight_bytes: float | None = None  # of all streams, median
    mss_bytes: int | None = None
    streams: int = 1
    retransmits: int | None = None
    retransmitted_share: float | None = None
    congestion: str = ""
    lost_share: float | None = None
    jitter_us: float | None = None
    link_bps: float | None = None

    @property
    def waited_us(self) -> float | None:
        """What a queue added to the RTT: the median under load over the minimum."""
        if self.rtt_us is None or self.min_rtt_us is None:
            return None
        return max(0.0, self.rtt_us - self.min_rtt_us)

    @property
    def line_bps(self) -> float:
        """The speed of this end's port, or the least usual one that carries the goodput."""
        if self.link_bps and self.link_bps > 0.9 * self.goodput_bps:
            return self.link_bps
        most = formulas.ethernet_goodput_bps(1.0, 9000)
        fitting = (line for line in LINE_RATES_BPS if line * most >= self.goodput_bps)
        return next(fitting, LINE_RATES_BPS[-1])


class Newest:
    """Looks for the newest recorded run that measured something."""

    def __init__(self) -> None:
        self._seen: tuple[float, Path] | None = None

    def news(self) -> OwnRun | None:
        """The run's numbers, None when there is none, or none since it was asked before.

        Reads files, which takes a moment.
        """
        found = _newest_first()
        if not found or found[0] == self._seen:
            return None
        self._seen = found[0]
        return newest(path for _, path in found)


def newest(files: Iterable[Path]) -> OwnRun | None:
    """The first of these recordings that can be read and measured something."""
    for path in files:
        try:
            found = of(recording.replay_run(path))
        except recording.RecordingError:
            continue
        if found is not None:
            return found
    return None


def _newest_first() -> list[tuple[float, Path]]:
    found = []
    try:
        for path in recording.directory().glob(f"*{recording.SUFFIX}"):
            stat = path.stat()
            if 0 < stat.st_size <= MAX_BYTES:
                found.append((stat.st_mtime, path))
    except (OSError, RuntimeError):
        return []
    return sorted(found, reverse=True)[:MAX_TRIED]


def of(session: Session) -> OwnRun | None:
    """The numbers of a run's first direction that carried data, None when none did."""
    udp = bool(session.test and session.test.udp)
    for facts in derive(session):
        result = headline(session, facts.direction)
        goodput = result.goodput_bps or facts.whole_bps
        if goodput is None or not math.isfinite(goodput) or goodput < 1000:
            continue
        if udp:
            return _of_datagrams(session, facts.direction, goodput, result.sent_bps)
        return _of_bytes(facts, goodput, result.sent_bps)
    return None


def _of_bytes(facts: Facts, goodput_bps: float, sent_bps: float | None) -> OwnRun:
    return OwnRun(
        facts.peer,
        False,
        goodput_bps,
        sent_bps,
        facts.min_rtt_us,
        facts.rtt_us,
        facts.in_flight_bytes if facts.here_sends else None,
        facts.mss_bytes,
        facts.streams,
        facts.retransmits_total if facts.here_sends else facts.far_retransmits,
        facts.retransmitted_share if facts.here_sends else facts.far_retransmitted_share,
        facts.congestion or "",
        link_bps=facts.link_bps,
    )


def _of_datagrams(
    session: Session, direction: Direction, goodput_bps: float, sent_bps: float | None
) -> OwnRun:
    found = datagrams(session, direction)
    rtt_us = session.connection.connect_rtt_us if session.connection else None
    return OwnRun(
        session.peer,
        True,
        goodput_bps,
        sent_bps,
        min_rtt_us=rtt_us,
        streams=len(session.streams_of(direction)),
        lost_share=found.lost_share if found else None,
        jitter_us=found.jitter_s * 1e6 if found and found.jitter_s is not None else None,
    )
