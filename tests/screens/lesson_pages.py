"""The lessons' screen without a terminal, a recording or a lab."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from textual.pilot import Pilot

from tests import made
from tuiperf import events as ev
from tuiperf.feed import Feed, ListFeed
from tuiperf.lesson_app import LessonApp
from tuiperf.lessons.own import OwnRun
from tuiperf.lessons.text import Lesson
from tuiperf.screens.lessons import LessonsScreen
from tuiperf.view.rows import UNICODE, Glyphs

T = TypeVar("T")


class LessonBench:
    """A screen under test, without timers: `look` takes what there is and shows it."""

    def __init__(self, app: LessonApp, pilot: Pilot[None], tried: list[Lesson]) -> None:
        self.app = app
        self.pilot = pilot
        self.screen = app.lessons_screen
        self.tried = tried

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.look()

    async def look(self) -> None:
        for _ in range(3):
            await self.pilot.pause()
            self.screen.tick()
        await self.pilot.pause()

    def text(self) -> str:
        """The screen as it would be drawn."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in lines)

    def toasts(self) -> list[str]:
        return [each.message for each in self.app._notifications]


def on_lessons(
    case: Callable[[LessonBench], Awaitable[T]],
    number: int = 1,
    *,
    runs: Sequence[OwnRun | None] = (),
    size: tuple[int, int] = (80, 24),
    glyphs: Glyphs = UNICODE,
    why_not: str = "",
    events: Sequence[ev.Event] = (),
    ending: Sequence[ev.Event] = (),
) -> T:
    """Run a case. `runs` are what is found each time the newest recording is asked for."""

    async def run() -> T:
        found = iter(runs)
        tried: list[Lesson] = []

        def make_feed(lesson: Lesson) -> tuple[Feed, str]:
            tried.append(lesson)
            return ListFeed(events or made.run(), ending), ""

        async def answer() -> str:
            return why_not

        screen = LessonsScreen(
            glyphs,
            number,
            news=lambda: next(found, None),
            make_feed=make_feed,
            why_not=answer,
        )
        app = LessonApp(screen, live=False)
        async with app.run_test(size=size, notifications=True) as pilot:
            bench = LessonBench(app, pilot, tried)
            await app.workers.wait_for_complete()
            await bench.look()
            return await case(bench)

    return asyncio.run(run())
