"""Past runs as rows: the list, what was marked in it, and the heading of its screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from tuiperf.runs import PastRun

from .home import rate_text
from .numbers import share
from .rows import UNICODE, Glyphs, Row, cell_width, cut, ends, fill, fit, pad, pad_left, wrap

NONE_YET = "No run was recorded on this machine yet. Every run is, unless --no-record is given."

_SIGNS = {"completed": "ok", "interrupted": "look", "failed": "fault"}
_WAYS = {"to": "→", "from": "←", "both": "↔"}


def heading_rows(
    runs: Sequence[PastRun], width: int, glyphs: Glyphs = UNICODE, note: str = ""
) -> list[Row]:
    """Title and rule, each exactly `width` cells."""
    if width < 1:
        return [[], []]
    bar = (f"  {glyphs.divider}  ", "rule")
    peers = len({run.peer for run in runs})
    count = f"{len(runs)} run{'s' * (len(runs) != 1)}, {peers} peer{'s' * (peers != 1)}"
    left: Row = [(" tuiperf", "title"), bar, ("Recordings", "strong"), bar, (count, "muted")]
    right: Row = [(f"{glyphs.text(note)} ", "muted")] if note else []
    rule = (glyphs.thin * max(0, width - 2), "track")
    return [ends(left, right, width, glyphs), fit([(" ", "text"), rule], width, glyphs)]


class Marks(NamedTuple):
    """Which of the runs is selected, and which are marked A and B."""

    selected: int = -1
    first: PastRun | None = None
    second: PastRun | None = None

    def letter(self, run: PastRun) -> str:
        return "A" if run == self.first else "B" if run == self.second else " "


NO_MARKS = Marks()


class _Layout(NamedTuple):
    glyphs: Glyphs
    now_s: float
    peer: int
    rtt: bool
    again: bool

    @classmethod
    def fitting(cls, width: int, glyphs: Glyphs, now_s: float) -> _Layout:
        spare = width - 2 - 13 - 10 - 12 - 4
        rtt, again = spare >= 22, spare >= 30
        return cls(glyphs, now_s, max(8, min(40, spare - 9 * rtt - 9 * again)), rtt, again)


def run_rows(
    runs: Sequence[PastRun],
    width: int,
    height: int,
    *,
    glyphs: Glyphs = UNICODE,
    marks: Marks = NO_MARKS,
    offset: int = 0,
    now_s: float = 0.0,
) -> list[Row]:
    """The list with its heading, exactly `width` by `height` cells."""
    if width < 1 or height < 1:
        return []
    if not runs:
        texts = wrap(NONE_YET, width - 4)
        rows = [fit([("  ", "text"), (line, "muted")], width, glyphs) for line in texts]
        return fill([fit([], width, glyphs), *rows], width, height)
    layout = _Layout.fitting(width, glyphs, now_s)
    rows = [_heading(layout, width)]
    for number, run in enumerate(runs[offset : offset + height - 1], offset):
        rows.append(_run(run, marks, number == marks.selected, layout, width))
    return fill(rows, width, height)


def plain_rows(runs: Sequence[PastRun], width: int, glyphs: Glyphs, now_s: float) -> list[Row]:
    """The list as text, each run with the file that holds it."""
    if not runs:
        return [[(NONE_YET, "text")]]
    layout = _Layout.fitting(width, glyphs, now_s)
    rows = [_heading(layout, width)]
    for number, run in enumerate(runs, 1):
        row = _run(run, Marks(), False, layout, width)
        rows += [[(f"{number:>2}", "key"), *_behind(row, 2)]]
    return rows


def _behind(row: Row, cells: int) -> Row:
    text, role = row[0]
    return [(text[cells:], role), *row[1:]]


def _heading(layout: _Layout, width: int) -> Row:
    row: Row = [("   ", "text"), (pad("When", 13), "label"), (pad("Peer", layout.peer), "label")]
    row += [(pad("Test", 10), "label"), (pad_left("Mbit/s", 9), "label")]
    if layout.rtt:
        row.append((pad_left("RTT ms", 9), "label"))
    if layout.again:
        row.append((pad_left("Retr", 9), "label"))
    return fit([*row, ("  ", "text")], width, layout.glyphs)


def _run(run: PastRun, marks: Marks, selected: bool, layout: _Layout, width: int) -> Row:
    glyphs = layout.glyphs
    arrow = (">" if glyphs.ascii else "❯") if selected else " "
    way = glyphs.text(_WAYS.get(run.way, "")) if not run.sweep else ""
    peer = cut(glyphs.text(run.peer), layout.peer - 4, glyphs.ellipsis)
    row: Row = [
        (f"{marks.letter(run)}{arrow} ", "key"),
        (pad(when(run.when_s, layout.now_s), 13), "muted"),
        (f"{peer} ", "strong" if selected else "text"),
        (pad(way, layout.peer - cell_width(peer) - 1), "muted"),
        (pad(glyphs.text(run.test), 10), "muted"),
        (pad_left(rate_text(run.rate_bps), 9), "text"),
    ]
    if layout.rtt:
        rtt = f"{run.rtt_us / 1000:.1f}" if run.rtt_us else "-"
        row.append((pad_left(rtt, 9), "text"))
    if layout.again:
        row.append((pad_left(_again(run), 9), "text"))
    sign = _SIGNS.get(run.outcome, "pending")
    word = "" if run.outcome in ("completed", "") else f" {run.outcome}"
    return fit([*row, (f"  {getattr(glyphs, sign)}", sign), (word, "muted")], width, glyphs)


def _again(run: PastRun) -> str:
    if run.lost_share is not None:
        return share(run.lost_share, 1.0)
    return "-" if run.retransmits is None else str(run.retransmits)


def when(then_s: float, now_s: float) -> str:
    """The time of day for today and yesterday, else the date."""
    then, now = time.localtime(then_s), time.localtime(now_s)
    if then[:3] == now[:3]:
        return time.strftime("today %H:%M", then)
    if then[:3] == time.localtime(now_s - 86400)[:3]:
        return time.strftime("yest. %H:%M", then)
    shape = "%d %b %H:%M" if then[0] == now[0] else "%d %b %Y"
    return time.strftime(shape, then)
