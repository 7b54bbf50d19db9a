"""A lesson as rows: heading, the list of lessons, a page to read, a calculator, a question."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.lessons.questions import LETTERS, Question
from tuiperf.lessons.text import FORMULA, ITEM, OWN, Block, Lesson, Page

from .prose import first_fitting, wrapped_runs
from .rows import UNICODE, Glyphs, Row, blank, cell_width, ends, fill, fit, row_width

LESSON_KEYS = (
    ("space, n", "the next page, then the next lesson"),
    ("p, backspace", "the page before"),
    ("], [", "the next lesson, the one before"),
    ("left, right", "move the slider"),
    ("up, down", "choose a slider"),
    ("r", "put the sliders back"),
    ("a, b, c", "answer the question"),
    ("t", "try it on a live path, made for it here"),
    ("tab", "text, calculator, question where one fits"),
    ("j, k", "scroll the text"),
    ("esc", "one step back, to the home screen"),
    ("^p, :", "all commands, and themes"),
    ("q", "quit"),
)
"""Every key of the lessons' screen, and what it does."""

OWN_NUMBERS, EXAMPLE_NUMBERS = "your own numbers", "example numbers"


def heading_rows(
    lesson: Lesson, page: int, width: int, glyphs: Glyphs = UNICODE, *, of: int = 8, own: bool
) -> list[Row]:
    """Title and progress, each exactly `width` cells; `page` counts from 0."""
    if width < 1:
        return [[], []]
    note = OWN_NUMBERS if own else EXAMPLE_NUMBERS
    place = f"Lesson {lesson.number} of {of}"
    left: Row = [(" tuiperf", "title"), (f"  {place}", "strong")]
    right: Row = [(note, "ok" if own else "muted"), (" ", "text")]
    bar = f"  {glyphs.divider}  "
    room = width - row_width(left) - row_width(right) - cell_width(bar) - 2
    title = first_fitting((lesson.title, lesson.title.partition(":")[0], lesson.short), room)
    if title:
        left += [(bar, "rule"), (title, "text")]
    elif row_width(left) + row_width(right) + 1 > width:
        right = []
    inner = max(0, width - 2)
    done = round(inner * (page + 1) / len(lesson.pages))
    line: Row = [
        (" ", "text"),
        (glyphs.line * done, "data"),
        (glyphs.thin * (inner - done), "track"),
        (" ", "text"),
    ]
    return [ends(left, right, width, glyphs), fit(line, width, glyphs)]


def list_rows(
    lessons: Sequence[Lesson],
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    at: int,
    solved: frozenset[int],
) -> list[Row]:
    """The lessons, which of them is open, and whose question was answered right."""
    if width < 1 or height < 1:
        return []
    rows = []
    for lesson in lessons:
        here, done = lesson.number == at, lesson.number in solved
        rows.append(
            fit(
                [
                    (glyphs.edge if here else " ", "key"),
                    (f"{glyphs.ok if done else ' '} ", "ok"),
                    (f"{lesson.number} ", "muted"),
                    (lesson.short, "strong" if here else "text"),
                ],
                width,
                glyphs,
            )
        )
    rows += [blank(width), fit([(f" {len(solved)} of {len(lessons)} answered", "muted")], width)]
    return fill(rows, width, height)


def page_rows(
    page: Page,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    offset: int = 0,
    later: Sequence[Page] = (),
) -> list[Row]:
    """What there is to read, exactly `width` by `height` cells; `offset` rows are scrolled away.

    Of the `later` pages those are shown that fit whole.
    """
    if width < 1 or height < 1:
        return []
    rows = reading_rows(page, width, glyphs)
    offset = clamp(offset, len(rows), height)
    for each in later:
        more = reading_rows(each, width, glyphs)
        if len(rows) + 2 + len(more) > height:
            break
        rows += [blank(width), fit([(f" {each.title}", "label")], width, glyphs), *more]
    return fill(rows[offset:], width, height)


def clamp(offset: int, length: int, height: int) -> int:
    """The nearest offset that still fills a panel of this height."""
    return max(0, min(offset, length - height))


def reading_rows(page: Page, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The whole page, as many rows as it takes, each exactly `width` cells."""
    rows: list[Row] = []
    before = ""
    for block in page.blocks:
        together = before == block.kind == ITEM or FORMULA in (before, block.kind)
        if before and not together:
            rows.append(blank(width))
        rows += _block(block, width, glyphs)
        before = block.kind
    return rows


def _block(block: Block, width: int, glyphs: Glyphs) -> list[Row]:
    indent, role = 1, "text"
    if block.kind == FORMULA:
        indent, role = 3, "data"
    elif block.kind == ITEM:
        indent = 3
    elif block.kind == OWN:
        indent, role = 3, "ok"
    runs = [(text, role if each == "text" else each) for text, each in block.runs()]
    rows = []
    for number, line in enumerate(wrapped_runs(runs, width - indent - 1, glyphs)):
        head = " " * indent
        if number == 0 and block.kind in (ITEM, OWN):
            head = f" {glyphs.dot if block.kind == ITEM else glyphs.edge} "
        rows.append(fit([(head, "muted" if block.kind == ITEM else "ok"), *line], width, glyphs))
    return rows


def question_rows(
    question: Question,
    answered: str,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """The question and its answers; once one is chosen, which is right and why."""
    if width < 1 or height < 1:
        return []
    inner = width - 2
    rows = _paragraph(question.text, inner, "strong", glyphs)
    rows += _answers(question, answered, inner, glyphs)
    if answered:
        right = answered == question.letter
        word = "Right. " if right else f"No: {question.letter}. "
        role = "ok" if right else "fault"
        rows += wrapped_runs([(word, role), (question.working, "text")], inner, glyphs)
    return fill([fit([(" ", "text"), *row], width, glyphs) for row in rows], width, height)


def _paragraph(text: str, width: int, role: str, glyphs: Glyphs) -> list[Row]:
    return wrapped_runs([(text, role)], width, glyphs)


def _answers(question: Question, answered: str, width: int, glyphs: Glyphs) -> list[Row]:
    """The three in one line where they fit, else one below the other."""
    each = [
        _answer(letter, text, question, answered, glyphs)
        for letter, text in zip(LETTERS, question.answers, strict=True)
    ]
    widths = [row_width(row) for row in each]
    column = max(*widths, min(22, width // 3 - 2))
    if 3 * column + 4 > width:
        column = 0
    if not column and sum(widths) + 4 > width:
        return each
    line: Row = []
    for row, wide in zip(each, widths, strict=True):
        line += [*row, (" " * (max(0, column - wide) + 2), "text")]
    return [line]


def _answer(letter: str, text: str, question: Question, answered: str, glyphs: Glyphs) -> Row:
    mark, role = " ", "text"
    if answered and letter == question.letter:
        mark, role = glyphs.ok, "ok"
    elif answered == letter:
        mark, role = glyphs.fault, "fault"
    return [(f"{mark} ", role), (letter, "key"), (f"  {glyphs.text(text)}", role)]


def try_rows(
    lesson: Lesson, cause: str, width: int, glyphs: Glyphs = UNICODE, why_not: str = ""
) -> list[Row]:
    """What trying the lesson on a live path does, and what to watch; or why it cannot be."""
    rows: list[Row] = [blank(width)]
    for text, role in (
        (f"The path: {cause}.", "text"),
        (f"Watch: {lesson.watch}", "strong"),
        ("It is made on this machine and taken away afterwards, as by", "muted"),
        (lesson.command, "data"),
    ):
        for line in wrapped_runs([(text, role)], width - 4, glyphs):
            rows.append(fit([("  ", "text"), *line], width, glyphs))
        if role != "muted":
            rows.append(blank(width))
    if why_not:
        for line in wrapped_runs([(why_not, "fault")], width - 4, glyphs):
            rows.append(fit([("  ", "text"), *line], width, glyphs))
        back: Row = [("  esc", "key"), (" back to the lesson", "text")]
        return [*rows, blank(width), fit(back, width, glyphs), blank(width)]
    keys: Row = [("  enter", "key"), (" begin    ", "text"), ("esc", "key"), (" not now", "text")]
    return [*rows, fit(keys, width, glyphs), blank(width)]
