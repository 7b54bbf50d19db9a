"""This machine's past runs: what a list says of each, read without its samples.

Samples are nine tenths of a recording and none of its totals, so a list skips their lines unread.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tuiperf import recording
from tuiperf.engine.spec import ClientSpec
from tuiperf.events import EventError, RunEnded, RunStarted, SweepStarted, from_line
from tuiperf.recording import RecordingError
from tuiperf.session import Session, datagrams, headline, reduce

MAX_BYTES = 32 * 1024 * 1024
"""Of a recording, unpacked: what lies behind is left unread, so that one file delays no list."""

_SKIPPED = (b'"kind":"stream_sample"', b'"kind":"host_sample"')
_HEAD = 48  # bytes of a line that hold its kind


@dataclass(frozen=True)
class PastRun:
    """One line of the list. None: not known."""

    path: Path
    when_s: float
    peer: str
    test: str  # TCP ×4, UDP, sweep
    way: str  # "to", "from" or "both"
    rate_bps: float | None = None
    rtt_us: float | None = None  # mean of the intervals
    retransmits: int | None = None
    lost_share: float | None = None
    outcome: str = ""  # completed, interrupted, failed, or "" for one that was cut off
    spec: ClientSpec | None = None

    @property
    def sweep(self) -> bool:
        return self.test == "sweep"


def listing(folder: Path | None = None) -> list[PastRun]:
    """The recordings of a folder, the usual one for None, newest first. Never raises.

    What cannot be read is left out.
    """
    found = []
    try:
        for path in (folder or recording.directory()).glob(f"*{recording.SUFFIX}"):
            found.append((path.stat().st_mtime, path))
    except (OSError, RuntimeError):
        return []
    newest = (path for _, path in sorted(found, reverse=True)[: recording.KEEP_FILES])
    return [run for run in map(_glimpse, newest) if run is not None]


def glimpse(path: Path) -> PastRun:
    """What a list says of one recording. Raises RecordingError."""
    session = Session()
    try:
        for line in _telling(recording.lines(path)):
            event = from_line(line.decode("utf-8", "surrogateescape"))[1]
            if isinstance(event, SweepStarted):
                return _sweep(path, event)
            if session.run is None and not isinstance(event, RunStarted):
                raise RecordingError(f"{path}: holds no run")
            reduce(session, event)
            if isinstance(event, RunEnded):
                break
    except (OSError, EventError, ValueError, zlib.error) as error:
        raise RecordingError(f"{path}: {error}") from None
    if session.run is None:
        raise RecordingError(f"{path}: holds no run")
    return _past(path, session)


def _glimpse(path: Path) -> PastRun | None:
    try:
        return glimpse(path)
    except RecordingError:
        return None


def _telling(lines: Iterable[bytes]) -> Iterator[bytes]:
    read_bytes = 0
    for line in lines:
        read_bytes += len(line)
        if read_bytes > MAX_BYTES:
            return
        head = line[:_HEAD]
        if line.strip() and not any(kind in head for kind in _SKIPPED):
            yield line


def _past(path: Path, session: Session) -> PastRun:
    assert session.run is not None
    test = session.test or (session.client.test if session.client else None)
    many = f" ×{test.parallel}" if test is not None and test.parallel > 1 else ""
    results = [headline(session, way) for way in session.flows]
    rates = [each.goodput_bps or each.sent_bps for each in results]
    rtts = [
        row.rtt_us for each in session.intervals for row in each.streams if row.rtt_us is not None
    ]
    again = [each.retransmits for each in results if each.retransmits is not None]
    lost = [found.lost_share for way in session.flows if (found := datagrams(session, way))]
    return PastRun(
        path,
        session.run.wall_time_s,
        session.peer,
        (test.protocol.upper() if test is not None else "?") + many,
        "both" if test and test.bidir else "from" if test and test.reverse else "to",
        next((rate for rate in rates if rate), None),
        sum(rtts) / len(rtts) if rtts else None,
        sum(again) if again else None,
        next((share for share in lost if share is not None), None),
        session.ended.outcome if session.ended else "",
        session.client,
    )


def _sweep(path: Path, event: SweepStarted) -> PastRun:
    spec = ClientSpec.from_json(event.spec)
    return PastRun(path, event.wall_time_s, spec.host, "sweep", "both", spec=spec)
