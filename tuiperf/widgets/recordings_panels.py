"""The parts of the screen of recordings: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuiperf.rules.compare import Comparison
from tuiperf.rules.verdict import Verdict
from tuiperf.runs import PastRun
from tuiperf.view.compare import all_rows, compare_rows
from tuiperf.view.keys import Key, key_row
from tuiperf.view.recordings import Marks, heading_rows, run_rows
from tuiperf.view.rows import Glyphs, Row, fill, fit
from tuiperf.view.verdicts import verdict_rows

from .own_keys import own_keys
from .rows import RowsWidget


@dataclass
class RecordingsPage:
    """What the screen shows. The screen writes it, widgets read it."""

    glyphs: Glyphs
    runs: Sequence[PastRun] = ()
    reading: bool = True
    selected: int = 0
    scrolled: int = 0
    told: int = 0  # rows of the lower panel scrolled away
    full: bool = False  # the lower panel has the screen to itself
    first: PastRun | None = None
    second: PastRun | None = None
    comparison: Comparison | None = None
    verdicts: Sequence[Verdict] = ()
    problem: str = ""
    now_s: float = 0.0

    @property
    def chosen(self) -> PastRun | None:
        """The run that the reader has selected."""
        return self.runs[self.selected] if self.selected < len(self.runs) else None


class RecordingsWidget(RowsWidget):
    """A part of the screen that shows a page."""

    def __init__(self, page: RecordingsPage, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class RecordingsHeading(RecordingsWidget):
    """Title and rule."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        note = "reading" if page.reading else ""
        return heading_rows(page.runs, width, page.glyphs, note)[:height]


class Runs(RecordingsWidget):
    """The list, and which of them is selected or marked."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        if page.reading and not page.runs:
            return []
        room = max(1, height - 1)
        page.scrolled = max(min(page.scrolled, page.selected), page.selected - room + 1)
        marks = Marks(page.selected, page.first, page.second)
        return run_rows(
            page.runs,
            width,
            height,
            glyphs=page.glyphs,
            marks=marks,
            offset=page.scrolled,
            now_s=page.now_s,
        )


class Below(RecordingsWidget):
    """A against B where two are marked, else what the selected run's verdicts are."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        if page.problem:
            return fill([fit([(f" {page.problem}", "fault")], width, page.glyphs)], width, height)
        if page.comparison is not None:
            return compare_rows(page.comparison, width, height, page.glyphs, offset=page.told)
        return verdict_rows(page.verdicts, width, height, page.glyphs)

    def scroll_rows(self, step: int) -> None:
        """Scroll, no further than it goes."""
        page = self.page
        if page.comparison is None:
            return
        length = len(all_rows(page.comparison, self.size.width, page.glyphs))
        page.told = max(0, min(page.told + step, length - self.size.height))
        self.redraw()


class RecordingsKeys(RecordingsWidget):
    """The line of keys."""

    raised = True
    keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self.page.glyphs)]
