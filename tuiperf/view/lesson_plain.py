"""A lesson as a page that prints: all its text, its numbers, its question, how to try it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuiperf.lessons.calculators import Calculator
from tuiperf.lessons.questions import LETTERS, Question
from tuiperf.lessons.text import Lesson

from .calculator import result_rows
from .lesson import EXAMPLE_NUMBERS, OWN_NUMBERS, question_rows, reading_rows
from .prose import wrapped_runs
from .rows import UNICODE, Glyphs, Row, cut


def lesson_rows(
    lesson: Lesson,
    numbers: Mapping[str, str],
    width: int,
    glyphs: Glyphs = UNICODE,
    *,
    calculator: Calculator,
    question: Question,
    own: bool,
    answered: str = "",
) -> list[Row]:
    """The whole lesson, rows of at most `width` cells."""
    note = OWN_NUMBERS if own else EXAMPLE_NUMBERS
    rows: list[Row] = [
        [("tuiperf  ", "title"), (f"Lesson {lesson.number}: {lesson.title}", "strong")],
        [(f"         with {note}", "muted")],
    ]
    for number, page in enumerate(lesson.pages, 1):
        head = f"{lesson.number}.{number}  {page.title}"
        rows += [[], [(glyphs.text(head), "strong")]]
        rows += reading_rows(page.filled(numbers), width, glyphs)
    rows += [[], [("Calculate", "strong")], *result_rows(calculator, width, glyphs)]
    rows += _how_to_set(lesson, calculator, width, glyphs)
    rows += [[], [("Check yourself", "strong")]]
    rows += _question(question, answered, width, glyphs)
    if not answered:
        rows.append([(f" answer: tuiperf learn {lesson.number} --answer {LETTERS[0]}", "muted")])
    rows += [[], [("Try it on a live path", "strong")]]
    rows.append([(f"   {lesson.command}", "data")])
    rows += _indented(f"Watch: {lesson.watch}", width, glyphs)
    return rows


def contents_rows(lessons: Sequence[Lesson], width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The titles of all lessons, and how to open one."""
    rows: list[Row] = [[("tuiperf  ", "title"), ("Lessons", "strong")], []]
    for each in lessons:
        title = cut(glyphs.text(each.title), width - 5, glyphs.ellipsis)
        rows.append([("  ", "text"), (f"{each.number}  ", "key"), (title, "text")])
    return [*rows, [], [("tuiperf learn 2 opens one", "muted")]]


def _how_to_set(lesson: Lesson, calculator: Calculator, width: int, glyphs: Glyphs) -> list[Row]:
    first = calculator.sliders[0].name.lower()
    names = ", ".join(each.name.lower() for each in calculator.sliders)
    text = f"other numbers: tuiperf learn {lesson.number} --set {first}=VALUE, also for {names}"
    return [[(" ", "text"), *line] for line in wrapped_runs([(text, "muted")], width - 2, glyphs)]


def _question(question: Question, answered: str, width: int, glyphs: Glyphs) -> list[Row]:
    rows = question_rows(question, answered, width, 20, glyphs)
    while rows and not "".join(text for text, _ in rows[-1]).strip():
        rows.pop()
    return rows


def _indented(text: str, width: int, glyphs: Glyphs) -> list[Row]:
    return [[(" ", "text"), *line] for line in wrapped_runs([(text, "text")], width - 2, glyphs)]
