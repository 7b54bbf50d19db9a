"""The line about the run that goes on behind another screen."""

from __future__ import annotations

from tuiperf.view.rows import Glyphs, Row
from tuiperf.view.status import status_row

from .page import Page
from .rows import RowsWidget


class StatusLine(RowsWidget):
    """Shown while a run goes on, and afterwards until its screen was looked at."""

    DEFAULT_CSS = """
    StatusLine { height: 1; display: none; }
    """
    raised = True

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(classes="status")
        self._glyphs = glyphs
        self._page: Page | None = None

    def take(self, page: Page, running: bool, seen: bool) -> None:
        """Show this run, or nothing when it is over and was seen."""
        self._page = page
        self.display = not seen and (running or not page.seen)
        self.redraw()

    def build(self, width: int, height: int) -> list[Row]:
        page = self._page
        if page is None:
            return []
        row = status_row(page.session, page.units, width, self._glyphs, lost=page.lost, key="^r")
        return [row][:height]
