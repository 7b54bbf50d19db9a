"""Read small files of /proc and /sys: bounded, and never an exception."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 1 << 20


def text(path: str | Path, limit: int = MAX_BYTES) -> str | None:
    """The file's text without blanks at its ends, None when it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(limit).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def number(path: str | Path) -> int | None:
    """A file that holds one whole number."""
    return whole(text(path, 64))


def numbers(path: str | Path) -> tuple[int, ...] | None:
    """A file that holds whole numbers and blanks."""
    content = text(path, 1024)
    if content is None:
        return None
    found = [whole(word) for word in content.split()]
    return tuple(each for each in found if each is not None) if None not in found else None


def whole(word: str | None) -> int | None:
    """A decimal number of at most 20 digits, None for anything else."""
    if word is None or len(word) > 21:
        return None
    digits = word[1:] if word[:1] == "-" else word
    return int(word) if digits.isascii() and digits.isdigit() else None
