"""The settings of a run over any screen: a form, and the command line that asks for the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuiperf.cli.form import Form
from tuiperf.engine.spec import ClientSpec
from tuiperf.view.rows import Glyphs, Row, escape
from tuiperf.view.settings import settings_rows
from tuiperf.widgets.rows import RowsWidget

_WIDTH = 72


class Settings(RowsWidget):
    """The form. It takes the keys: a letter is text here and nothing else."""

    can_focus = True
    raised = True
    DEFAULT_CSS = """
    Settings {
        border: round $primary;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $secondary;
        background: $surface;
    }
    """

    def __init__(self, form: Form, glyphs: Glyphs) -> None:
        super().__init__(id="settings")
        self.form = form
        self._glyphs = glyphs
        self.complains = False

    def build(self, width: int, height: int) -> list[Row]:
        form = self.form
        problem = form.read()[1] if self.complains else ""
        return settings_rows(
            form.fields(),
            (form.at, form.cursor),
            (form.command(), problem),
            width,
            height,
            glyphs=self._glyphs,
        )

    def on_key(self, event: events.Key) -> None:
        form = self.form
        keys: dict[str, Callable[[], None]] = {
            "left": lambda: form.turn(-1),
            "right": lambda: form.turn(1),
            "backspace": form.erase,
            "delete": lambda: form.erase(ahead=True),
            "ctrl+u": lambda: form.erase(all_before=True),
            "home": lambda: form.turn(-len(form.texts[form.name])),
            "end": lambda: form.turn(len(form.texts[form.name])),
        }
        if event.key in keys:
            keys[event.key]()
        elif event.is_printable and event.character:
            form.type(event.character)
        else:
            return
        event.stop()
        event.prevent_default()
        self.complains = bool(form.texts["peer"])
        self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        if not self.form.chosen:
            self.form.type(event.text.strip())
            event.stop()
            self.redraw()


class SettingsScreen(ModalScreen[ClientSpec | None]):
    """Asks what to measure; answers with the test, or None."""

    CSS = """
    SettingsScreen { align: center middle; background: $background 60%; }
    SettingsScreen.-ascii Settings { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", "Start", priority=True),
        Binding("tab,down", "go(1)", "Next field", priority=True),
        Binding("shift+tab,up", "go(-1)", "Field before", priority=True),
        Binding("ctrl+y", "copy", "Copy the command", priority=True),
        Binding("escape,ctrl+c", "cancel", "Back", priority=True),
    ]

    def __init__(self, form: Form, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.form = form

    def compose(self) -> ComposeResult:
        sheet = Settings(self.form, self._glyphs)
        sheet.border_title = (
            "Whom to sweep towards" if self.form.names == ("peer",) else "What to measure"
        )
        enter, move = ("enter", "tab") if self._glyphs.ascii else ("⏎", "↑/↓")
        sheet.border_subtitle = f"{move} field, {enter} start, ^y copy, esc back"
        yield sheet

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii, "-ascii")
        self.query_one(Settings).focus()

    def on_resize(self) -> None:
        sheet = self.query_one(Settings)
        sheet.styles.width = max(1, min(_WIDTH, self.app.size.width - 2))
        sheet.styles.height = max(1, min(len(self.form.names) + 8, self.app.size.height))

    def action_go(self, step: int) -> None:
        self.form.go(step)
        self.query_one(Settings).redraw()

    def action_start(self) -> None:
        spec, _ = self.form.read()
        if spec is not None:
            self.dismiss(spec)
            return
        sheet = self.query_one(Settings)
        sheet.complains = True
        sheet.redraw()

    def action_copy(self) -> None:
        command = self.form.command()
        self.app.copy_to_clipboard(command)
        text = f"Copied by OSC 52, where the terminal allows it: {command}"
        self.app.notify(escape(text), timeout=4, markup=False)

    def action_cancel(self) -> None:
        self.dismiss(None)
