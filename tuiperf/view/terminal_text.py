"""Rows as text for a terminal that scrolls: roles become the sixteen colours, or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from .rows import Run, to_text

_CODES = {
    "strong": "1",
    "title": "1;34",
    "key": "1",
    "label": "2",
    "muted": "2",
    "pending": "2",
    "rule": "2",
    "track": "2",
    "data": "34",
    "ok": "32",
    "look": "33",
    "fault": "31",
}


def painted(row: Iterable[Run], colour: bool = True) -> str:
    """A row for the terminal, without blanks at its end (ECMA-48 SGR codes where wanted)."""
    runs = list(row)
    if not colour:
        return to_text(runs)
    while runs and not runs[-1][0].rstrip():
        runs.pop()
    if runs:
        runs[-1] = (runs[-1][0].rstrip(), runs[-1][1])
    return "".join(
        f"\x1b[{_CODES[role]}m{text}\x1b[0m" if role in _CODES and text.strip() else text
        for text, role in runs
    )
