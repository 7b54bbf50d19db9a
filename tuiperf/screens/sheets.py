"""Screens that lie over another one: help, and a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuiperf.view.help import RUN_KEYS, help_rows, question_rows
from tuiperf.view.rows import Glyphs
from tuiperf.widgets.own_keys import own_keys
from tuiperf.widgets.panels import Sheet

_HELP_WIDTH = 60
_QUESTION_WIDTH = 46


class HelpScreen(ModalScreen[None]):
    """The keys and signs of a screen, a run's where no others are named."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,space", "dismiss", "Back"),
    ]

    def __init__(self, glyphs: Glyphs, keys: Sequence[tuple[str, str]] = RUN_KEYS) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._keys = keys

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii, "-ascii")

    def compose(self) -> ComposeResult:
        width = max(20, min(_HELP_WIDTH, self.app.size.width - 4))
        keys = own_keys(self.app.screen_stack[-2]).sheet(self._keys)
        rows = help_rows(width, self._glyphs, keys, far=self._keys is RUN_KEYS)
        sheet = Sheet(rows, id="help")
        sheet.styles.width = width + 2
        sheet.styles.height = min(len(rows) + 2, self.app.size.height)
        sheet.border_title = "Keys and signs"
        sheet.border_subtitle = "esc back"
        yield sheet

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
