"""The rows of the lessons: golden pages, exact widths, and what must fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lessons.made import UDP_RUN, WINDOW_RUN
from tests.view import lesson_golden as golden
from tuiperf.lessons.calculators import Calculator, Pipe, Remark, calculator
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.numbers import numbers
from tuiperf.lessons.questions import LETTERS, question
from tuiperf.lessons.text import NUMBERS, lesson, lessons
from tuiperf.view.calculator import calculator_rows
from tuiperf.view.lesson import heading_rows, page_rows, question_rows, reading_rows, try_rows
from tuiperf.view.lesson_plain import contents_rows, lesson_rows
from tuiperf.view.prose import wrapped_runs
from tuiperf.view.rows import ASCII, ROLES, UNICODE, Glyphs, Row, row_width, to_text

CASES = (Case(), case_of(WINDOW_RUN), case_of(UDP_RUN))


def whole(number: int, case: Case, glyphs: Glyphs = UNICODE, answered: str = "") -> list[Row]:
    return lesson_rows(
        lesson(number),
        numbers(case),
        79,
        glyphs,
        calculator=calculator(number, case),
        question=question(number, case),
        own=case.run is not None,
        answered=answered,
    )


@pytest.mark.parametrize("name", golden.SIZES)
def test_the_pages_at_every_size(name: str) -> None:
    assert golden.text(name) == (golden.GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", golden.SIZES)
def test_every_row_is_exactly_as_wide_as_its_panel(name: str) -> None:
    for width, row in golden.rows(name):
        assert row_width(row) == width, to_text(row)
        assert all(role in ROLES for _, role in row)


def test_ascii_is_ascii() -> None:
    assert golden.text("lesson-ascii-80x24").isascii()
    for number in NUMBERS:
        assert "\n".join(map(to_text, whole(number, CASES[1], ASCII, "a"))).isascii()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [(76, 5), (56, 15), (116, 6)])
def test_question_answers_and_working_fit(number: int, case: Case, size: tuple[int, int]) -> None:
    width, height = size
    asked = question(number, case)
    for letter in LETTERS:
        shown = question_rows(asked, letter, width, 40)
        assert not any(to_text(row) for row in shown[height:])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("case", CASES)
def test_the_calculator_fits_a_small_screen(number: int, case: Case) -> None:
    found = calculator(number, case)
    for height in (11, 12):
        shown = [to_text(row) for row in calculator_rows(found, 0, 34, height)]
        assert not any("…" in line for line in shown)
        remark = found.parts()[-1]
        assert isinstance(remark, Remark)
        assert next(line for line in reversed(shown) if line).endswith(remark.text.split()[-1])


def test_the_blank_goes_first_and_then_the_walls_of_the_pipe() -> None:
    found = calculator(2, Case())
    heights = [
        [not to_text(calculator_rows(found, 0, 34, height)[3]), pipe_walls(found, height)]
        for height in (12, 11, 10)
    ]
    assert heights == [[True, True], [False, True], [True, False]]


def pipe_walls(found: Calculator, height: int) -> bool:
    return any("╭" in to_text(row) for row in calculator_rows(found, 0, 34, height))


def test_only_whole_pages_are_added() -> None:
    pages = [page.filled(numbers(Case())) for page in lesson(2).pages]
    first = len(reading_rows(pages[0], 46))
    alone = page_rows(pages[0], 46, first + 3, later=pages[1:])
    assert [to_text(row) for row in alone[first:]] == ["", "", ""]
    both = page_rows(pages[0], 46, first + 8, later=pages[1:])
    assert to_text(both[first + 1]) == " A window too small"


def test_scrolling_stops_at_the_end() -> None:
    page = lesson(2).pages[0].filled(numbers(Case()))
    length = len(reading_rows(page, 40))
    last = page_rows(page, 40, 5, offset=1000)
    assert last == reading_rows(page, 40)[length - 5 :]


@settings(max_examples=150)
@given(
    number=st.sampled_from(list(NUMBERS)),
    width=st.integers(0, 130),
    height=st.integers(0, 40),
    ascii_only=st.booleans(),
)
def test_any_size(number: int, width: int, height: int, ascii_only: bool) -> None:
    glyphs = ASCII if ascii_only else UNICODE
    case = CASES[number % 3]
    page = lesson(number).pages[0].filled(numbers(case))
    for rows in (
        page_rows(page, width, height, glyphs),
        calculator_rows(calculator(number, case), 0, width, height, glyphs),
        question_rows(question(number, case), "a", width, height, glyphs),
    ):
        assert len(rows) == (height if width else 0)
        assert all(row_width(row) == width for row in rows)
    for row in heading_rows(lesson(number), 0, width, glyphs, own=True):
        assert row_width(row) == width
    if width > 3:
        assert all(row_width(row) == width for row in try_rows(lesson(number), "x", width, glyphs))


def pipe(rows: list[Row]) -> tuple[int, int]:
    """How many cells are filled, and how many wait before it."""
    full = sum(len(text) for row in rows for text, role in row if role == "fill12")
    waiting = sum(text.count("█") for row in rows for text, role in row if role == "look15")
    return full, waiting


def test_the_pipe_fills_and_then_data_waits() -> None:
    empty = calculator(2, Case())
    shown = [pipe(calculator_rows(empty.moved(2, step), 2, 44, 20)) for step in range(9)]
    fills, waits = zip(*shown, strict=True)
    assert list(fills) == sorted(fills)
    assert fills[0] < fills[2] < fills[4] == fills[-1]
    assert waits[0] == waits[3] == 0 < waits[-1]
    (part,) = (each for each in empty.parts() if isinstance(each, Pipe))
    assert fills[0] == round(part.share * fills[-1])


@pytest.mark.parametrize("number", NUMBERS)
def test_printed_rows_stay_within_the_page(number: int) -> None:
    for case in CASES:
        assert all(row_width(row) <= 79 for row in whole(number, case))


def test_the_printed_lesson_has_all_of_it() -> None:
    text = "\n".join(map(to_text, whole(2, CASES[1])))
    for part in (
        "Lesson 2: Bandwidth times delay",
        "with your own numbers",
        "2.4  Remember",
        "Your last run had 265 KB in flight",
        "Window   265 KB",
        "answer: tuiperf learn 2 --answer a",
        "tuiperf demo long-fat-pipe",
    ):
        assert part in text
    assert "Right." not in text
    assert "Right. 1 Gbit/s × 23.6 ms" in "\n".join(map(to_text, whole(2, CASES[1], answered="c")))


def test_the_contents() -> None:
    text = "\n".join(map(to_text, contents_rows(lessons(), 40)))
    assert "  8  When this is the wrong tool" in text
    assert all(row_width(row) <= 40 for row in contents_rows(lessons(), 40))


def test_words_wrap_with_their_roles_and_numbers_keep_their_units() -> None:
    runs = [("about ", "text"), ("20 ms", "strong"), (", 1 000 000 of 5 %", "text")]
    lines = wrapped_runs(runs, 11, UNICODE)
    assert [to_text(line) for line in lines] == ["about", "20 ms,", "1 000 000", "of 5 %"]
    assert lines[1] == [("20 ms", "strong"), (",", "text")]
    assert [to_text(line) for line in wrapped_runs([("x" * 7, "text")], 3, UNICODE)] == [
        "xxx",
        "xxx",
        "x",
    ]
    assert wrapped_runs([], 5, UNICODE) == []
