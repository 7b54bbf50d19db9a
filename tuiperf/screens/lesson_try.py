"""A lesson tried on a live path: the question before, the run, and the way back to the lesson."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuiperf import recording
from tuiperf.cli.options import parse
from tuiperf.engine.spec import ClientSpec
from tuiperf.feed import EngineFeed, Feed
from tuiperf.lab import profiles
from tuiperf.lessons.text import Lesson
from tuiperf.rules.book import judge
from tuiperf.session import Session
from tuiperf.view.help import RUN_KEYS
from tuiperf.view.keys import Key
from tuiperf.view.lesson import try_rows
from tuiperf.view.rows import Glyphs
from tuiperf.widgets.panels import Sheet

from .run import RunScreen
from .sheets import HelpScreen

_WIDTH = 64
_PROBE = """
from tuiperf.lab import namespaces
from tuiperf.lab.errors import LabError
try:
    namespaces.make()
except LabError as error:
    print(error)
"""

MakeFeed = Callable[[], tuple[Feed, str]]


async def why_no_lab() -> str:
    """Why no path can be made here, in words; "" where it can. Tried in a process of its own."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _PROBE,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said, _ = await child.communicate()
    return said.decode("utf-8", "replace").strip()


class LabFeed(EngineFeed):
    """The engine on the near side of a path of the lab, which is there for this run alone."""

    def __init__(self, spec: ClientSpec, profile: str) -> None:
        engine = [sys.executable, "-m", "tuiperf.engine"]
        super().__init__(
            spec, [sys.executable, "-m", "tuiperf", "lab", "run", profile, "--", *engine]
        )

    async def run(self) -> str:
        lost = await super().run()
        reason = lost.partition("error - ")[2]
        if self.session.run is None and reason:
            return f"This path cannot be made here: {reason}. The lesson goes on without it"
        return lost


def lab_feed(lesson: Lesson) -> tuple[Feed, str]:
    """A feed for a run along the lesson's path, and where it is recorded ("" nowhere)."""
    spec = spec_of(lesson)
    path = recording.default_path(f"lab-{lesson.path}")
    kept = str(path) if path else ""
    return LabFeed(replace(spec, recording=kept), lesson.path), kept


def spec_of(lesson: Lesson) -> ClientSpec:
    """The test that shows what the lesson is about."""
    from tuiperf.lab.topology import ADDRESSES

    options = profiles.load(lesson.path).options
    words = ["run", ADDRESSES["far"], "-C", "cubic", *options, *lesson.options]
    spec = parse(words).client
    if spec is None:
        raise ValueError(f"lesson {lesson.number}: {' '.join(words)} is no test")
    return spec


class TrySheet(ModalScreen[bool]):
    """What will be tried, and whether to begin; or why it cannot be."""

    CSS = """
    TrySheet {
        align: center middle;
        background: $background 60%;
        &.-ascii Sheet { border: ascii $primary; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,t,y", "answer(True)", "Begin"),
        Binding("escape,n,q", "answer(False)", "Not now"),
    ]

    def __init__(self, lesson: Lesson, glyphs: Glyphs, why_not: str) -> None:
        super().__init__()
        self._lesson = lesson
        self._glyphs = glyphs
        self._why_not = why_not

    def compose(self) -> ComposeResult:
        width = max(20, min(_WIDTH, self.app.size.width - 4))
        cause = profiles.load(self._lesson.path).cause
        why = f"No live path can be made here: {self._why_not}." if self._why_not else ""
        rows = try_rows(self._lesson, cause, width, self._glyphs, why)
        sheet = Sheet(rows, id="try")
        sheet.styles.width = width + 2
        sheet.styles.height = min(len(rows) + 2, self.app.size.height)
        sheet.border_title = "Try it on a live path"
        yield sheet

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii, "-ascii")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer and not self._why_not)


class TryScreen(RunScreen):
    """A run along a path of the lab. Leaving it leads back to the lesson, not out of the app."""

    def __init__(self, make_feed: MakeFeed, glyphs: Glyphs) -> None:
        super().__init__(judge, glyphs, make_feed=make_feed)

    @property
    def result(self) -> Session:
        """What was measured."""
        return self.page.session

    def action_quit(self) -> None:
        self.run_worker(self._come_back(), exit_on_error=False)

    def action_back(self) -> None:
        if self.page.explaining:
            self.action_why()
        else:
            self.action_quit()

    def action_help(self) -> None:
        keys = [each for each in RUN_KEYS if each[0] != "q"]
        self.app.push_screen(HelpScreen(self.page.glyphs, [*keys, ("q, esc", "to the lesson")]))

    def _keys(self) -> list[Key]:
        return [*super()._keys()[:-1], Key("q", "Lesson")]

    async def _come_back(self) -> None:
        await self.leave()
        self.dismiss()
