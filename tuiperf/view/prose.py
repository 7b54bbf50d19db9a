"""Running text in rows: runs of words, some of them stressed, broken into lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .rows import Glyphs, Row, Run, cell_width, cut, joined, row_width

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:\d{3}|[kMGT]?bit/s|[KMGT]i?B|ms|us|s|min|h|%)(?!\w))")
_TIED = "\u00a0"


def wrapped_runs(runs: Iterable[Run], width: int, glyphs: Glyphs) -> list[Row]:
    """Break runs into lines of at most `width` cells, at blanks; a number keeps its unit."""
    width = max(2, width)
    lines: list[Row] = []
    line: Row = []
    for word in _words((_tied(glyphs.text(text)), role) for text, role in runs):
        for part in _pieces(word, width):
            if line and row_width(line) + 1 + row_width(part) > width:
                lines.append(joined(line))
                line = []
            line += [(" ", part[0][1]), *_untied(part)] if line else _untied(part)
    return [*lines, joined(line)] if line else lines


def _tied(text: str) -> str:
    return _BEFORE_UNIT.sub(_TIED, text)


def _untied(row: Row) -> Row:
    return [(text.replace(_TIED, " "), role) for text, role in row]


def _words(runs: Iterable[Run]) -> list[Row]:
    words: list[Row] = [[]]
    for text, role in runs:
        first, *others = text.split(" ")
        for number, piece in enumerate([first, *others]):
            if number:
                words.append([])
            if piece:
                words[-1].append((piece, role))
    return [word for word in words if word]


def _pieces(word: Row, width: int) -> list[Row]:
    """A word that is wider than a line, cut into lines."""
    if row_width(word) <= width:
        return [word]
    text, role = "".join(text for text, _ in word), word[0][1]
    pieces: list[Row] = []
    while text:
        head = cut(text, width, "") or text[0]
        pieces.append([(head, role)])
        text = text[len(head) :]
    return pieces


def first_fitting(texts: Iterable[str], width: int) -> str:
    """The first of these texts that fits, "" when none does."""
    return next((text for text in texts if cell_width(text) <= width), "")
