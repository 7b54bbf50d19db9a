"""Recordings: where the complete records of runs lie, and how to read them back.

`engine.record` writes them while a run goes on; here they are found, read, replayed and pruned.
"""

from __future__ import annotations

import os
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tuiperf.events import Event, EventError, Note, RunEnded, RunStarted, from_line
from tuiperf.session import Session, reduce

SUFFIX = ".jsonl.gz"
KEEP_FILES = 200
KEEP_BYTES = 512 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b"


class RecordingError(Exception):
    """A recording that cannot be read; the text is one line for the user."""


def directory() -> Path:
    """Where recordings are kept: the XDG state directory's folder of tuiperf."""
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return root / "tuiperf" / "runs"


def default_path(host: str) -> Path | None:
    """A new recording's path, in a directory that exists; None where none can be made.

    Older recordings are pruned here, so that all of them stay within KEEP_FILES and KEEP_BYTES.
    """
    try:
        folder = directory()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _prune(folder)
    except (OSError, RuntimeError):
        return None
    if not os.access(folder, os.W_OK):
        return None
    peer = re.sub(r"[^A-Za-z0-9.-]+", "_", host)[:64].strip(".") or "peer"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{stamp}-{peer}-{os.getpid()}{SUFFIX}"


def _prune(folder: Path) -> None:
    found = []
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            stat = path.stat()
        except OSError:
            continue
        found.append((stat.st_mtime, stat.st_size, path))
    total_bytes = 0
    for index, (_, size_bytes, path) in enumerate(sorted(found, reverse=True)):
        total_bytes += size_bytes
        if index >= KEEP_FILES - 1 or total_bytes > KEEP_BYTES:
            path.unlink(missing_ok=True)


def read(path: str | Path) -> Iterator[Event]:
    """Yield a recording's events, gzipped or plain, also while it is still being written.

    Raises RecordingError, in one line, for what cannot be opened or is no recording; a last line
    that was cut off is left out.
    """
    number = 0
    try:
        for line in lines(Path(path)):
            number += 1
            if line.strip():
                yield from_line(line.decode("utf-8", "surrogateescape"))[1]
    except EventError as error:
        raise RecordingError(f"{path}: line {number} is no event of a run: {error}") from None
    except zlib.error:
        raise RecordingError(f"{path}: not a recording, or a damaged one") from None
    except OSError as error:
        raise RecordingError(f"cannot read {path}: {error.strerror}") from None
    if not number:
        raise RecordingError(f"{path}: holds no events")


def read_run(path: str | Path) -> Iterator[Event]:
    """As `read`, for a run that is over: where its recording was cut off, it gets an end.

    Raises RecordingError too for what does not begin as a run begins.
    """
    last: Event | None = None
    for event in read(path):
        if last is None and not isinstance(event, RunStarted):
            raise RecordingError(f"{path}: holds no run, or one of a newer tuiperf")
        last = event
        yield event
    if last is not None and not isinstance(last, RunEnded):
        yield Note(last.t_s, "warning", "recording", "the recording ends before the run does")
        yield RunEnded(last.t_s, "interrupted")


def replay(path: str | Path) -> Session:
    """Fold what a recording holds so far into a session. Raises RecordingError."""
    return _folded(path, read(path))


def replay_run(path: str | Path) -> Session:
    """Fold a whole recording into the session it was; see `read_run`. Raises RecordingError."""
    return _folded(path, read_run(path))


def _folded(path: str | Path, events: Iterable[Event]) -> Session:
    session = Session()
    for event in events:
        session = reduce(session, event)
    if session.run is None:
        raise RecordingError(f"{path}: holds no run")
    return session


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a recording, gzipped or plain, a last one that was cut off left out."""
    rest = b""
    for data in _chunks(path):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole
        if len(rest) > MAX_LINE_BYTES:
            raise EventError("the line is too long")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        start = file.read(_CHUNK_BYTES)
        if not start.startswith(_GZIP_MAGIC):
            while start:
                yield start
                start = file.read(_CHUNK_BYTES)
            return
        unzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while start:
            data = unzip.decompress(start, _CHUNK_BYTES)
            yield data
            start = unzip.unconsumed_tail or file.read(_CHUNK_BYTES)
        yield unzip.flush()
