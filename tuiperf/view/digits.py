"""Numbers three rows high, drawn with box lines."""

from __future__ import annotations

from .rows import Glyphs

HEIGHT = 3

_LINES = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": ("╺┓ ", " ┃ ", "╺┻╸"),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    ".": (" ", " ", "•"),
}
_ASCII = {
    "0": (" _ ", "| |", "|_|"),
    "1": ("   ", "  |", "  |"),
    "2": (" _ ", " _|", "|_ "),
    "3": (" _ ", " _|", " _|"),
    "4": ("   ", "|_|", "  |"),
    "5": (" _ ", "|_ ", " _|"),
    "6": (" _ ", "|_ ", "|_|"),
    "7": (" _ ", "  |", "  |"),
    "8": (" _ ", "|_|", "|_|"),
    "9": (" _ ", "|_|", " _|"),
    ".": (" ", " ", "."),
}


def drawable(number: str) -> bool:
    """True when every character can be drawn large."""
    return bool(number) and all(char in _LINES for char in number)


def big(number: str, glyphs: Glyphs) -> list[str]:
    """The three rows of a number. Raises KeyError for a character that is no digit and no point."""
    shapes = [(_ASCII if glyphs.ascii else _LINES)[char] for char in number]
    return ["".join(shape[row] for shape in shapes) for row in range(HEIGHT)]


def big_width(number: str) -> int:
    return sum(len(_LINES[char][0]) for char in number)
