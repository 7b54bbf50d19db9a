"""The parts of the home screen: each shows the rows of one builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tuiperf.glance import Glance
from tuiperf.peers import Peer
from tuiperf.view.home import Question, heading_rows, machine_rows, peer_rows, question_rows
from tuiperf.view.keys import Key, key_row
from tuiperf.view.rows import Glyphs, Row

from .own_keys import own_keys
from .rows import RowsWidget


@dataclass
class HomePage:
    """What the screen shows. The screen writes it, widgets read it."""

    glyphs: Glyphs
    questions: Sequence[Question]
    glance: Glance = field(default_factory=Glance)
    peers: Sequence[Peer] = ()
    selected: int = 0
    scrolled: int = 0
    now_s: float = 0.0

    @property
    def peer(self) -> Peer | None:
        """The peer that the reader has selected."""
        return self.peers[self.selected] if self.selected < len(self.peers) else None


class HomeWidget(RowsWidget):
    """A part of the screen that shows a page."""

    def __init__(self, page: HomePage, *, id: str, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.page = page


class HomeHeading(HomeWidget):
    """Title and rule."""

    def build(self, width: int, height: int) -> list[Row]:
        return heading_rows(self.page.glance, width, self.page.glyphs)[:height]


class Questions(HomeWidget):
    """What one can find out."""

    def build(self, width: int, height: int) -> list[Row]:
        return question_rows(
            own_keys(self.screen).questions(self.page.questions), width, height, self.page.glyphs
        )


class Machine(HomeWidget):
    """This machine at a glance."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        toward = page.peer.target if page.peer else ""
        return machine_rows(page.glance, width, height, page.glyphs, toward=toward)


class Peers(HomeWidget):
    """Peers measured before, and which of them is selected."""

    def build(self, width: int, height: int) -> list[Row]:
        page = self.page
        room = max(1, height - 1)
        page.scrolled = max(min(page.scrolled, page.selected), page.selected - room + 1)
        return peer_rows(
            page.peers,
            width,
            height,
            page.glyphs,
            selected=page.selected,
            offset=page.scrolled,
            now_s=page.now_s,
        )


class HomeKeys(HomeWidget):
    """The line of keys."""

    raised = True
    keys: Sequence[Key] = ()

    def build(self, width: int, height: int) -> list[Row]:
        return [key_row(own_keys(self.screen).footer(self.keys), width, self.page.glyphs)]
