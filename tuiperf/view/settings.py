"""The settings of a run as rows: a form, and the command line that asks for the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .rows import UNICODE, Glyphs, Row, cell_width, cut, fill, fit, pad, wrap

_LABEL = 14


class Field(NamedTuple):
    """One setting. `hint` is shown while it is empty; a choice is turned, not typed."""

    label: str
    text: str
    hint: str = ""
    choice: bool = False


def settings_rows(
    fields: Sequence[Field],
    place: tuple[int, int],
    foot_texts: tuple[str, str],
    width: int,
    height: int,
    *,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """The form, exactly `width` by `height` cells.

    `place` is the field that keys go to and the cursor in it, `foot_texts` the command line and
    what is wrong with it.
    """
    if width < 1 or height < 1:
        return []
    at, cursor = place
    foot = _foot(*foot_texts, width, glyphs)[: max(0, height - 1)]
    room = height - len(foot)
    rows = [_field(each, number == at, cursor, width, glyphs) for number, each in enumerate(fields)]
    spare = room - len(rows)
    if spare >= 2:
        rows = [fit([], width, glyphs), *rows]
    first = max(0, min(at - room + 1, len(rows) - room))
    return [*fill(rows[first:], width, room), *foot]


def _field(each: Field, active: bool, cursor: int, width: int, glyphs: Glyphs) -> Row:
    mark = ("> " if glyphs.ascii else "❯ ") if active else "  "
    head: Row = [(f" {mark}", "key"), (pad(each.label, _LABEL), "strong" if active else "muted")]
    room = max(1, width - _LABEL - 5)
    if each.choice:
        left, right = ("< ", " >") if glyphs.ascii else ("‹ ", " ›")
        edge = "key" if active else "rule"
        text = (glyphs.text(each.text), "strong" if active else "text")
        return fit([*head, (left, edge), text, (right, edge)], width, glyphs)
    if active:
        return fit([*head, *_typed(each, cursor, room, glyphs)], width, glyphs)
    if not each.text:
        return fit([*head, (glyphs.text(each.hint), "pending")], width, glyphs)
    return fit([*head, (cut(glyphs.text(each.text), room, glyphs.ellipsis), "text")], width, glyphs)


def _typed(each: Field, cursor: int, room: int, glyphs: Glyphs) -> Row:
    """The text around its cursor, which is drawn, so that no terminal has to blink it."""
    before, after = glyphs.text(each.text[:cursor]), glyphs.text(each.text[cursor:])
    while before and cell_width(before) > room - 2:
        before = before[1:]
    hint = f" {glyphs.text(each.hint)}" if not each.text else ""
    bar = "_" if glyphs.ascii else "▏"
    return [(before, "strong"), (bar, "key"), (after, "strong"), (hint, "pending")]


def _foot(command: str, problem: str, width: int, glyphs: Glyphs) -> list[Row]:
    """What the form asks for, in the words of the command line, or why it cannot be."""
    rows = [fit([("  the same as", "label")], width, glyphs)]
    for line in wrap(glyphs.text(command), width - 4)[:2]:
        rows.append(fit([("  ", "text"), (line, "data")], width, glyphs))
    if problem:
        mark = f"  {glyphs.look} "
        for index, line in enumerate(wrap(glyphs.text(problem), width - 6)[:2]):
            head = (mark if index == 0 else "    ", "look")
            rows.append(fit([head, (line, "look")], width, glyphs))
    else:
        rows.append(fit([], width, glyphs))
    return [fit([], width, glyphs), *rows]
