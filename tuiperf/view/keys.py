"""The line of keys at the foot of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .rows import UNICODE, Glyphs, Row, fit


class Key(NamedTuple):
    """A key, what it does in a word, and the action behind it."""

    key: str
    label: str
    action: str


def shown_keys(keys: Sequence[Key], width: int) -> list[tuple[int, Key]]:
    """The keys that fit, each with its first cell; the first and the last two stay longest."""
    kept = list(keys)
    while len(kept) > 1 and _length(kept) > width:
        del kept[-3 if len(kept) > 3 else -2 if len(kept) > 2 else 0]
    placed = []
    at = 1
    for each in kept:
        placed.append((at, each))
        at += len(each.key) + len(each.label) + 3
    return placed


def key_row(keys: Sequence[Key], width: int, glyphs: Glyphs = UNICODE) -> Row:
    """The keys and their words, exactly `width` cells."""
    row: Row = [(" ", "text")]
    for _, each in shown_keys(keys, width):
        row += [(each.key, "key"), (f" {each.label}  ", "muted")]
    return fit(_trimmed(row), width, glyphs)


def action_at(keys: Sequence[Key], width: int, x: int) -> str | None:
    """The action under a cell of the line."""
    for at, each in shown_keys(keys, width):
        if at <= x < at + len(each.key) + 1 + len(each.label):
            return each.action
    return None


def _length(keys: Sequence[Key]) -> int:
    return 1 + sum(len(each.key) + len(each.label) + 3 for each in keys) - 2


def _trimmed(row: Row) -> Row:
    text, role = row[-1]
    return [*row[:-1], (text.rstrip(), role)]
