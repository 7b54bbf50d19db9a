"""A widget made of rows with roles, which repaints only the cells that changed."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from rich.segment import Segment
from rich.style import Style
from textual.app import RenderResult
from textual.geometry import Region, Size
from textual.message_pump import _MessagePumpMeta
from textual.strip import Strip
from textual.widget import Widget

from tuiperf import theme
from tuiperf.view.rows import Row, cell_width

_SOLID_RUN = 6
"""Full cells in a row from which a blank on a coloured background is worth a run of its own."""


class _Meta(_MessagePumpMeta, ABCMeta):
    """Textual's own class of widgets, and abstract methods."""


class RowsWidget(Widget, metaclass=_Meta):
    """Shows what `build` returns. Call `redraw` when the data behind it may have changed."""

    can_focus = False
    raised = False
    """Lies on the theme's surface colour instead of its background."""

    DEFAULT_CSS = """
    RowsWidget { width: 1fr; height: 1fr; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows: list[Row] = []
        self._built_for = Size(0, 0)
        self._paint: theme.Paint | None = None

    @abstractmethod
    def build(self, width: int, height: int) -> list[Row]:
        """The rows to show, each exactly `width` cells."""

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._repaint)

    def redraw(self) -> None:
        """Build again and repaint what differs from what is shown."""
        size = self.size
        if not size or not self.display:
            return
        before, self._rows = self._rows, self.build(size.width, size.height)
        if size != self._built_for or len(before) != len(self._rows):
            self._built_for = size
            self.refresh()
            return
        regions = [
            Region(0, y, _differs_until(old, new), 1)
            for y, (old, new) in enumerate(zip(before, self._rows, strict=True))
            if old != new
        ]
        if regions:
            self.refresh(*regions)

    def render(self) -> RenderResult:
        return ""

    def render_line(self, y: int) -> Strip:
        if self.size != self._built_for:
            self._built_for = self.size
            self._rows = self.build(self.size.width, self.size.height)
        style = self._colours.styles["text"]
        if y >= len(self._rows):
            return Strip.blank(self.size.width, style)
        strip = Strip(self._segments(self._rows[y]))
        return strip.adjust_cell_length(self.size.width, style)

    @property
    def _colours(self) -> theme.Paint:
        if self._paint is None:
            self._paint = theme.paint(self.app.current_theme, self.raised, theme.no_color())
        return self._paint

    def _repaint(self, _: object) -> None:
        self._paint = None
        self.refresh()

    def _segments(self, row: Row) -> list[Segment]:
        colours = self._colours
        segments: list[Segment] = []
        for text, role in row:
            fill = colours.fills.get(role) if colours.solid else None
            style = colours.styles[role]
            if fill is None or "█" not in text:
                segments.append(Segment(text, style))
            else:
                segments += _solid(text, style, fill)
        return segments


def _solid(text: str, style: Style, fill: Style) -> list[Segment]:
    """Draw long runs of full cells as blanks on a coloured background."""
    if len(text) == text.count("█"):
        return [Segment(" " * len(text), fill)]
    segments = []
    for part in _parts(text):
        full = part[0] == "█" and len(part) >= _SOLID_RUN
        segments.append(Segment(" " * len(part), fill) if full else Segment(part, style))
    return segments


def _parts(text: str) -> list[str]:
    """Cut a text at the edges of its long runs of full cells."""
    parts: list[str] = []
    for char in text:
        if parts and (parts[-1][-1] == "█") == (char == "█"):
            parts[-1] += char
        else:
            parts.append(char)
    joined: list[str] = []
    for part in parts:
        solid = part[0] == "█" and len(part) >= _SOLID_RUN
        if joined and not solid and not _is_solid(joined[-1]):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _is_solid(part: str) -> bool:
    return len(part) >= _SOLID_RUN and part == "█" * len(part)


def _differs_until(old: Row, new: Row) -> int:
    """The cell after the last one that differs, counted from the left."""
    width = sum(cell_width(text) for text, _ in new)
    for (old_text, old_role), (new_text, new_role) in zip(
        reversed(old), reversed(new), strict=False
    ):
        if old_text == new_text and old_role == new_role:
            width -= cell_width(new_text)
            continue
        if old_role == new_role:
            for old_char, new_char in zip(reversed(old_text), reversed(new_text), strict=False):
                if old_char != new_char:
                    break
                width -= cell_width(new_char)
        break
    return max(1, width)
