"""The parts of the lessons' screen: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tuiperf.lessons.calculators import Calculator, calculator
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.numbers import numbers
from tuiperf.lessons.own import OwnRun
from tuiperf.lessons.questions import Question, question
from tuiperf.lessons.text import NUMBERS, Lesson, Page, lesson, lessons
from tuiperf.view.calculator import calculator_rows
from tuiperf.view.keys import Key, key_row
from tuiperf.view.lesson import (
    clamp,
    heading_rows,
    list_rows,
    page_rows,
    question_rows,
    reading_rows,
)
from tuiperf.view.rows import UNICODE, Glyphs, Row

from .own_keys import own_keys
from .rows import RowsWidget


@dataclass
class LessonPage:
    """What the screen shows. The screen writes it, widgets read it."""

    glyphs: Glyphs = UNICODE
    case: Case = field(default_factory=Case)
    number: int = 1
    at: int = 0  # the page of the lesson
    scrolled: int = 0
    chosen: int = 0  # slider
    answered: str = ""
    solved: frozenset[int] = frozenset()
    moved: dict[int, Calculator] = field(default_factory=dict)

    @property
    def lesson(self) -> Lesson:
        return lesson(self.number)

    @property
    def texts(self) -> list[Page]:
        """The open page and those after it, with their numbers."""
        known = numbers(self.case)
        return [each.filled(known) for each in self.lesson.pages[self.at :]]

    @property
    def calculator(self) -> Calculator:
        """The lesson's calculator as the reader left it."""
        if self.number not in self.moved:
            self.moved[self.number] = calculator(self.number, self.case)
        return self.moved[self.number]

    @property
    def question(self) -> Question:
        return question(self.number, self.case)

    def open(self, number: int, at: int = 0) -> None:
        """Go to a page; -1 is a lesson's last."""
        if number != self.number:
            self.answered, self.chosen = "", 0
        self.number = max(NUMBERS[0], min(number, NUMBERS[-1]))
        self.at = at % len(self.lesson.pages)
        self.scrolled = 0

    def turn(self, step: int) -> bool:
        """To the next page or the one before, across lessons; False where there is none."""
        at = self.at + step
        if 0 <= at < len(self.lesson.pages):
            self.open(self.number, at)
        elif self.number + step in NUMBERS:
            self.open(self.number + step, 0 if step > 0 else -1)
        else:
            return False
        return True

    def move(self, steps: int) -> None:
        """Move the chosen slider."""
        self.moved[self.number] = self.calculator.moved(self.chosen, steps)

    def choose(self, step: int) -> None:
        """Choose another slider."""
        self.chosen = (self.chosen + step) % len(self.calculator.sliders)

    def reset(self) -> None:
        """Put the sliders back."""
        self.moved.pop(self.number, None)

    def answer(self, letter: str) -> bool:
        """Answer the question; True when that is right."""
        self.answered = letter
        right = letter == self.question.letter
        if right:
            self.solved = self.solved | {self.number}
        return right

    def take(self, run: OwnRun | None) -> None:
        """Go on with the numbers of this run, or with the example's."""
        self.case = case_of(run)
        self.moved.clear()
        self.answered = ""


class LessonWidget(RowsWidget):
    """A part of the screen that shows a page."""

    def __init__(self, page: LessonPage, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class LessonHeading(LessonWidget):
    """Title and progress."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        own = page.case.run is not None
        return heading_rows(page.lesson, page.at, width, page.glyphs, own=own)[:height]


class LessonList(LessonWidget):
    """All lessons, and which is open."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return list_rows(lessons(), width, height, page.glyphs, at=page.number, solved=page.solved)


class Reader(LessonWidget):
    """The page to read."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        first, *later = page.texts
        return page_rows(first, width, height, page.glyphs, offset=page.scrolled, later=later)

    def scroll_rows(self, step: int) -> None:
        """Scroll, no further than it goes."""
        page = self.page
        length = len(reading_rows(page.texts[0], self.size.width, page.glyphs))
        page.scrolled = clamp(page.scrolled + step, length, self.size.height)
        self.redraw()


class CalculatorPanel(LessonWidget):
    """Sliders, and what follows from them."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return calculator_rows(page.calculator, page.chosen, width, height, page.glyphs)


class QuestionPanel(LessonWidget):
    """The question, and whether the answer is right."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return question_rows(page.question, page.answered, width, height, page.glyphs)


class LessonKeys(LessonWidget):
    """The line of keys."""

    raised = True
    keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self.page.glyphs)]
