"""The sheet that lists this host's interfaces, to choose one from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuiperf.view.interfaces import Choice, choice_rows
from tuiperf.view.link import clamp
from tuiperf.view.rows import Glyphs, Row
from tuiperf.widgets.rows import RowsWidget

_WIDTH = 92


class _Choices(RowsWidget):
    """The list, and which line of it is selected."""

    raised = True

    def __init__(self, offered: Sequence[Choice], selected: int, glyphs: Glyphs) -> None:
        super().__init__(id="interfaces")
        self.add_class("sheet")
        self.offered = offered
        self.selected = selected
        self._glyphs = glyphs
        self._offset = 0

    def build(self, width: int, height: int) -> list[Row]:
        self.selected, self._offset = clamp(self.selected, len(self.offered), height, self._offset)
        return choice_rows(
            self.offered,
            width,
            height,
            self._glyphs,
            selected=self.selected,
            offset=self._offset,
        )


class InterfaceScreen(ModalScreen[str]):
    """Choose an interface; None when nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "choose(1)", "Down"),
        Binding("k,up", "choose(-1)", "Up"),
        Binding("ctrl+d,pagedown", "choose(6)", "Down", show=False),
        Binding("ctrl+u,pageup", "choose(-6)", "Up", show=False),
        Binding("g,home", "choose(-1000)", "Top"),
        Binding("G,end", "choose(1000)", "End"),
        Binding("enter,space", "take", "Look at it"),
        Binding("escape,q,i", "dismiss", "Back"),
    ]

    def __init__(self, offered: Sequence[Choice], here: str, glyphs: Glyphs) -> None:
        super().__init__()
        names = [each.asked for each in offered]
        selected = names.index(here) if here in names else 0
        self._list = _Choices(offered, selected, glyphs)
        self._ascii = glyphs.ascii
        self._enter = "enter" if glyphs.ascii else "⏎"

    def on_mount(self) -> None:
        self.set_class(self._ascii, "-ascii")

    def compose(self) -> ComposeResult:
        sheet = self._list
        sheet.styles.width = max(20, min(_WIDTH, self.app.size.width - 2))
        sheet.styles.height = min(len(sheet.offered) + 2, max(3, self.app.size.height - 2))
        sheet.border_title = "Interfaces"
        sheet.border_subtitle = f"j/k select, {self._enter} look at it, esc back"
        yield sheet

    def action_choose(self, step: int) -> None:
        last = len(self._list.offered) - 1
        self._list.selected = max(0, min(self._list.selected + step, last))
        self._list.redraw()

    def action_take(self) -> None:
        self.dismiss(self._list.offered[self._list.selected].asked)

    async def action_dismiss(self, result: str | None = None) -> None:
        self.dismiss(result)
