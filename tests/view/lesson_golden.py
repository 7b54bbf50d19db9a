"""What lesson pages look like, panel by panel: `python -m tests.view.lesson_golden` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.lessons.made import WINDOW_RUN
from tuiperf.lessons.calculators import calculator
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.numbers import numbers
from tuiperf.lessons.questions import question
from tuiperf.lessons.text import lesson, lessons
from tuiperf.view.calculator import calculator_rows
from tuiperf.view.lesson import heading_rows, list_rows, page_rows, question_rows, try_rows
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, Row

GOLDEN = Path(__file__).parent / "golden"
SIZES = {
    "lesson-60x20": (60, (56, 15), (56, 15), (56, 15), UNICODE),
    "lesson-80x24": (80, (40, 12), (34, 12), (76, 5), UNICODE),
    "lesson-120x35": (120, (46, 22), (44, 22), (116, 6), UNICODE),
    "lesson-ascii-80x24": (80, (40, 12), (34, 12), (76, 5), ASCII),
}
"""The screen's width, and the insides of its panels to read, to calculate and to answer."""

PAGES = ((2, 1, "c"), (5, 0, ""), (7, 2, "a"))
"""A lesson, a page of it, and an answer."""


def rows(name: str) -> Iterator[tuple[int, Row]]:
    """Every row of these pages, and how wide it has to be."""
    width, read, calculate, answer, glyphs = SIZES[name]
    for number, at, answered in PAGES:
        case = case_of(WINDOW_RUN) if number == 2 else Case()
        first, *later = [page.filled(numbers(case)) for page in lesson(number).pages[at:]]
        moved = calculator(number, case).moved(1, 4)
        yield from _of(width, heading_rows(lesson(number), at, width, glyphs, own=number == 2))
        yield from _of(read[0], page_rows(first, *read, glyphs, later=later))
        yield from _of(calculate[0], calculator_rows(moved, 1, *calculate, glyphs))
        asked = question(number, case)
        yield from _of(answer[0], question_rows(asked, answered, *answer, glyphs))
    yield from _more(glyphs)


def _more(glyphs: Glyphs) -> Iterator[tuple[int, Row]]:
    yield from _of(22, list_rows(lessons(), 22, 11, glyphs, at=4, solved=frozenset({1, 4})))
    yield from _of(64, try_rows(lesson(4), "one packet in a thousand is lost", 64, glyphs))
    yield from _of(64, try_rows(lesson(4), "x", 64, glyphs, "user namespaces are switched off"))


def _of(width: int, found: list[Row]) -> Iterator[tuple[int, Row]]:
    return ((width, row) for row in found)


def text(name: str) -> str:
    """All rows as text, a bar at the end of each."""
    return "\n".join("".join(part for part, _ in row) + "|" for _, row in rows(name)) + "\n"


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name in SIZES:
        (GOLDEN / f"{name}.txt").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
