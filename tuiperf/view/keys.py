"""The line of keys at the foot of a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .rows import UNICODE, Glyphs, Row, fit


class Key(NamedTuple):
    """A key, and what it does in a word."""

    key: str
    label: str


def shown_keys(keys: Sequence[Key], width: int) -> list[Key]:
    """The keys that fit; the first ones and the last two stay longest."""
    kept = list(keys)
    while len(kept) > 1 and _length(kept) > width:
        del kept[max(0, len(kept) - 3)]
    return kept


def key_row(keys: Sequence[Key], width: int, glyphs: Glyphs = UNICODE) -> Row:
    """The keys and their words, exactly `width` cells."""
    row: Row = [(" ", "text")]
    for each in shown_keys(keys, width):
        row += [(each.key, "key"), (f" {each.label}  ", "muted")]
    return fit(_trimmed(row), width, glyphs)


def _length(keys: Sequence[Key]) -> int:
    return 1 + sum(len(each.key) + len(each.label) + 3 for each in keys) - 2


def _trimmed(row: Row) -> Row:
    text, role = row[-1]
    return [*row[:-1], (text.rstrip(), role)]
