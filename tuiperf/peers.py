"""Peers that were measured before: a small file in the XDG state directory, newest first.

The file is bounded, written whole and swapped in, and whatever is wrong with it costs only itself:
an entry that cannot be read is left out, a file that cannot be is taken for an empty one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tuiperf import recording
from tuiperf.rules.verdict import Verdict
from tuiperf.session import Session, headline

KEEP = 50
MAX_BYTES = 256 * 1024
MAX_TEXT = 200


@dataclass(frozen=True)
class Peer:
    """One far end, and what its last test gave. `target` is HOST or HOST:PORT as it was typed."""

    target: str
    words: tuple[str, ...] = ()  # the last test's command line behind `tuiperf run`
    address: str = ""
    when_s: float = 0.0  # seconds since 1970
    goodput_bps: float | None = None
    level: str = ""  # that of the first verdict, "" where there was none
    title: str = ""
    test: str = ""  # such as TCP ×4


def path() -> Path:
    """Where peers are remembered."""
    return recording.directory().parent / "peers.json"


def load() -> list[Peer]:
    """The peers that are remembered, newest first; none where the file cannot be read."""
    try:
        with path().open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        found = json.loads(data) if len(data) <= MAX_BYTES else {}
    except (OSError, ValueError, RecursionError, RuntimeError):
        return []
    entries = found.get("peers") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        return []
    peers = [peer for peer in map(_read, entries[:KEEP]) if peer is not None]
    return sorted(peers, key=lambda peer: -peer.when_s)


def remember(peer: Peer) -> bool:
    """Put a peer first; False where nothing can be written."""
    return _change(lambda others: [peer, *(each for each in others if each.target != peer.target)])


def forget(target: str) -> bool:
    """Forget a peer; False when it was not there, or nothing can be written."""
    known = any(peer.target == target for peer in load())
    return known and _change(lambda others: [each for each in others if each.target != target])


def forget_all() -> bool:
    """Forget every peer; False where nothing can be written."""
    return _change(lambda _: [])


def of_run(
    session: Session, verdicts: tuple[Verdict, ...], words: list[str], when_s: float
) -> Peer | None:
    """What to remember of a run; None when it never reached its peer."""
    if session.connection is None or not words:
        return None
    test = session.test
    results = [headline(session, way) for way in session.flows]
    rates = [each.goodput_bps or each.sent_bps for each in results]
    first = verdicts[0] if verdicts else None
    many = f" ×{test.parallel}" if test is not None and test.parallel > 1 else ""
    return Peer(
        words[0],
        tuple(words[1:]),
        session.connection.remote_host,
        when_s,
        next((rate for rate in rates if rate), None),
        first.level.value if first else "",
        first.title if first else "",
        (test.protocol.upper() + many) if test is not None else "",
    )


def _read(entry: Any) -> Peer | None:
    """An entry of the file, None for one that is not as `remember` wrote it."""
    if not isinstance(entry, dict):
        return None
    texts = {name: entry.get(name, "") for name in ("target", "address", "level", "title", "test")}
    words = entry.get("words", [])
    sound = (
        all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts.values())
        and bool(texts["target"])
        and isinstance(words, list)
        and len(words) <= MAX_TEXT
        and all(isinstance(word, str) and len(word) <= MAX_TEXT for word in words)
        and _number(entry.get("when_s", 0.0))
        and (entry.get("goodput_bps") is None or _number(entry["goodput_bps"]))
    )
    if not sound:
        return None
    rate = entry.get("goodput_bps")
    return Peer(
        **texts,
        words=tuple(words),
        when_s=float(entry.get("when_s", 0.0)),
        goodput_bps=float(rate) if rate is not None else None,
    )


def _number(value: Any) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value < 1e18
        and math.isfinite(value)
    )


def _change(change: Any) -> bool:
    try:
        file = path()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(file.with_suffix(".lock")):
            _write(file, change(load())[:KEEP])
    except (OSError, RuntimeError):
        return False
    return True


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two of us at once do not lose each other's entries (flock(2))."""
    with lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(file: Path, peers: list[Peer]) -> None:
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    text = json.dumps({"v": 1, "peers": [asdict(peer) for peer in peers]}, indent=1)
    try:
        draft.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
