"""Screens that lie over another one: help, and a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuiperf.view.explanations import explanation_pages
from tuiperf.view.help import RUN_KEYS, help_rows, question_rows
from tuiperf.view.rows import Glyphs, Row
from tuiperf.widgets.own_keys import own_keys
from tuiperf.widgets.panels import Sheet

_HELP_WIDTH = 60
_QUESTION_WIDTH = 46


class HelpScreen(ModalScreen[None]):
    """The keys and signs of a screen, a run's where no others are named; page by page.

    A run's has a page for each card, column and verdict behind them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,space", "dismiss", "Back"),
        Binding("right,n,pagedown,j,down", "turn(1)", "Next page"),
        Binding("left,p,pageup,k,up", "turn(-1)", "Page before"),
    ]

    def __init__(self, glyphs: Glyphs, keys: Sequence[tuple[str, str]] = RUN_KEYS) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._keys = keys
        self._pages: list[tuple[str, list[Row]]] = []
        self._page = 0

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii, "-ascii")

    def compose(self) -> ComposeResult:
        width = max(20, min(_HELP_WIDTH, self.app.size.width - 4))
        keys = own_keys(self.app.screen_stack[-2]).sheet(self._keys)
        of_run = self._keys is RUN_KEYS
        whole = [("Keys and signs", help_rows(width, self._glyphs, keys, far=of_run))]
        whole += explanation_pages(width, self._glyphs) if of_run else []
        room = max(1, self.app.size.height - 2)
        self._pages = [
            (title, rows[at : at + room])
            for title, rows in whole
            for at in range(0, len(rows), room)
        ]
        sheet = Sheet([], id="help")
        sheet.styles.width = width + 2
        self._show(sheet)
        yield sheet

    def _show(self, sheet: Sheet) -> None:
        title, rows = self._pages[self._page]
        sheet.styles.height = min(len(rows) + 2, self.app.size.height)
        sheet.border_title = title
        many = len(self._pages)
        more = f"n next, p before  {self._page + 1}/{many}  " if many > 1 else ""
        sheet.border_subtitle = f"{more}esc back"
        sheet.show(rows)

    def action_turn(self, step: int) -> None:
        """Show another page, no further than there are any."""
        self._page = max(0, min(self._page + step, len(self._pages) - 1))
        self._show(self.query_one(Sheet))

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss(result)


class QuestionScreen(ModalScreen[bool]):
    """A question; True for yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter,q", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
    ]

    def __init__(self, question: str, glyphs: Glyphs) -> None:
        super().__init__()
        self._question = question
        self._glyphs = glyphs

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii, "-ascii")

    def compose(self) -> ComposeResult:
        width = max(20, min(_QUESTION_WIDTH, self.app.size.width - 4))
        rows = question_rows(self._question, width, self._glyphs)
        sheet = Sheet(rows, id="question")
        sheet.styles.width = width + 2
        sheet.styles.height = len(rows) + 2
        yield sheet

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
