"""The parts of the link check's screen: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.watch import Change
from tuiperf.rules.verdict import Verdict
from tuiperf.view.keys import Key, key_row
from tuiperf.view.link import (
    Series,
    check_rows,
    clamp,
    counter_rows,
    detail_length,
    detail_rows,
    heading_rows,
    summary_rows,
)
from tuiperf.view.link_checks import Check
from tuiperf.view.rows import UNICODE, Glyphs, Row

from .own_keys import own_keys
from .rows import RowsWidget


@dataclass
class LinkPage:
    """What the screen shows. The screen writes it, widgets read it."""

    facts: LinkFacts = field(default_factory=LinkFacts)
    verdicts: Sequence[Verdict] = ()
    checks: Sequence[Check] = ()
    glyphs: Glyphs = UNICODE
    selected: int = 0
    scrolled: int = 0  # rows of the table scrolled away
    told: int = 0  # rows of the detail scrolled away
    full: bool = False  # the detail has the screen to itself
    series: Sequence[Series] = ()
    changes: Sequence[Change] = ()
    note: str = ""

    @property
    def chosen(self) -> Check | None:
        """The check that the reader has selected."""
        return self.checks[self.selected] if self.selected < len(self.checks) else None


class LinkWidget(RowsWidget):
    """A part of the screen that shows a page."""

    def __init__(self, page: LinkPage, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class LinkHeading(LinkWidget):
    """Title and progress."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return heading_rows(page.facts, page.checks, width, page.glyphs, page.note)[:height]


class Checks(LinkWidget):
    """The table of checks, and which of them is selected."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        page.selected, page.scrolled = clamp(page.selected, len(page.checks), height, page.scrolled)
        return check_rows(
            page.checks,
            width,
            height,
            page.glyphs,
            selected=page.selected,
            offset=page.scrolled,
        )


class Detail(LinkWidget):
    """The selected check in full."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return detail_rows(page.chosen, width, height, page.glyphs, page.told)

    def scroll_rows(self, step: int) -> None:
        """Scroll, no further than it goes."""
        page = self.page
        length = detail_length(page.chosen, self.size.width, page.glyphs)
        page.told = max(0, min(page.told + step, length - self.size.height))
        self.redraw()


class LinkSummary(LinkWidget):
    """How many checks of each kind, and what comes first."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        return summary_rows(page.facts, page.checks, page.verdicts, (width, height), page.glyphs)


class Counters(LinkWidget):
    """The last minute of the counters."""

    def build(self, width: int, height: int) -> list[Row]:
        return counter_rows(self.page.series, width, height, self.page.glyphs)


class LinkKeys(LinkWidget):
    """The line of keys."""

    raised = True
    keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self.page.glyphs)]
