"""The parts of a run's screen: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.view.cards import card_rows, cards, one_line
from tuiperf.view.chart import chart_rows, chart_state
from tuiperf.view.heading import failure_rows, heading_rows
from tuiperf.view.intervals import clamp_offset, interval_rows, table_length
from tuiperf.view.keys import Key, key_row
from tuiperf.view.notice import notice_rows
from tuiperf.view.rows import Row, blank
from tuiperf.view.verdicts import clamp_explanation, explanation_rows, verdict_rows

from .own_keys import own_keys
from .page import Page
from .rows import RowsWidget


class RunWidget(RowsWidget):
    """A part of the screen that shows a page."""

    def __init__(self, page: Page, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class Heading(RunWidget):
    """Title and progress line."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return heading_rows(
            page.session,
            width,
            page.glyphs,
            waited_s=page.waited_s,
            frozen=page.frozen,
            lost=page.lost,
        )[:height]


class Failure(RunWidget):
    """What broke a run that had measured something."""

    def wanted(self, width: int) -> int:
        """Rows this needs, 0 when nothing broke or the notice tells it."""
        return len(self.build(width, 3)) if self.page.has_data else 0

    def build(self, width: int, height: int) -> list[Row]:
        return failure_rows(self.page.session, width, self.page.glyphs, self.page.lost)[:height]


class CardWidget(RunWidget):
    """One instrument, by its place."""

    raised = True

    def __init__(self, page: Page, place: int) -> None:
        super().__init__(page, id=f"card-{place}")
        self._place = place

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        shown = cards(page.session, page.verdicts, page.units)
        if self._place >= len(shown):
            return [blank(width)] * height
        return card_rows(shown[self._place], page.session, width, height, page.glyphs)


class Brief(RunWidget):
    """One card and the verdict, for a terminal with room for no more."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        if page.has_data:
            first = cards(page.session, page.verdicts, page.units)[0]
            above = [one_line(first, width, page.glyphs)]
        else:
            above = notice_rows(
                page.session,
                width,
                max(1, height // 2),
                page.glyphs,
                waited_s=page.waited_s,
                lost=page.lost,
            )
        rest = max(0, height - len(above))
        return [*above, *verdict_rows(page.verdicts, width, rest, page.glyphs)][:height]


class Notice(RunWidget):
    """What is awaited, or what broke before any data."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return notice_rows(
            page.session, width, height, page.glyphs, waited_s=page.waited_s, lost=page.lost
        )


class Chart(RunWidget):
    """Goodput over time; drawn anew only when a column is full, which saves most of its cost."""

    _drawn: tuple[object, ...] = ()

    def redraw(self) -> None:
        page = self.page
        state = (*chart_state(page.session, self.size.width), self.size, page.units)
        if state != self._drawn and self.display:
            self._drawn = state
            super().redraw()

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return chart_rows(page.session, width, height, page.glyphs, units=page.units)


class Intervals(RunWidget):
    """The table of report intervals."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return interval_rows(
            page.session,
            width,
            height,
            page.glyphs,
            units=page.units,
            offset=page.scrolled,
            each_stream=page.each_stream,
        )

    def scroll_rows(self, step: int) -> None:
        """Scroll the table, no further than it goes."""
        page = self.page
        height = self.size.height
        lines = table_length(page.session, page.each_stream, height - 1)
        page.scrolled = clamp_offset(page.scrolled + step, lines, height)
        self.redraw()


class Verdicts(RunWidget):
    """The verdict panel; in full when asked why."""

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


class Keys(RowsWidget):
    """The line of keys."""

    raised = True

    def __init__(self, page: Page) -> None:
        super().__init__(id="keys")
        self._page = page
        self.keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self._page.glyphs)]


class Sheet(RowsWidget):
    """Rows that change only when others are shown: help, or a question."""

    raised = True

    def __init__(self, rows: Sequence[Row], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sheet = list(rows)

    def show(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        self._sheet = list(rows)
        self.redraw()

    def build(self, width: int, height: int) -> list[Row]:
        return self._sheet[:height]
