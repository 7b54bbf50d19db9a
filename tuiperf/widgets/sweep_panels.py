"""The parts of a sweep's screen: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tuiperf.rules.verdict import Verdict
from tuiperf.sweep.state import SweepState
from tuiperf.view.keys import Key, key_row
from tuiperf.view.rows import UNICODE, Glyphs, Row
from tuiperf.view.sweep import Moment, heading_rows, step_rows, why_rows
from tuiperf.view.verdicts import clamp_explanation, explanation_rows, verdict_rows

from .own_keys import own_keys
from .rows import RowsWidget


@dataclass
class SweepView:
    """What the screen shows. The screen writes it, widgets read it."""

    state: SweepState = field(default_factory=SweepState)
    moment: Moment = field(default_factory=Moment)
    verdicts: Sequence[Verdict] = ()
    glyphs: Glyphs = UNICODE
    scrolled: int = 0  # rows of the table scrolled back
    explaining: bool = False
    explained: int = 0  # rows of the explanation scrolled away


class SweepWidget(RowsWidget):
    """A part of the screen that shows a sweep."""

    def __init__(self, page: SweepView, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class SweepHeading(SweepWidget):
    """Title and progress."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return heading_rows(page.state, page.moment, width, page.glyphs)[:height]


class Steps(SweepWidget):
    """The table of steps."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return step_rows(page.state, width, height, page.glyphs, page.scrolled)

    def scroll_rows(self, step: int) -> None:
        """Scroll back for positive steps, no further than the table goes."""
        page = self.page
        most = max(0, len(page.state.rows) + 1 - self.size.height)
        page.scrolled = max(0, min(most, page.scrolled + step))
        self.redraw()


class WhyStep(SweepWidget):
    """Why the running step is run."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return why_rows(page.state, width, height, page.glyphs)


class SoFar(SweepWidget):
    """The verdict so far; in full when asked why."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        if page.explaining:
            return explanation_rows(page.verdicts, width, height, page.glyphs, page.explained)
        return verdict_rows(page.verdicts, width, height, page.glyphs)

    def scroll_rows(self, step: int) -> None:
        """Scroll the explanation, no further than it goes."""
        page = self.page
        page.explained = clamp_explanation(
            page.verdicts, self.size, page.glyphs, page.explained + step
        )
        self.redraw()


class SweepKeys(RowsWidget):
    """The line of keys."""

    raised = True

    def __init__(self, page: SweepView) -> None:
        super().__init__(id="keys")
        self._page = page
        self.keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self._page.glyphs)]
