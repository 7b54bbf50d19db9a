"""A screen without a terminal: run it, press keys, read its text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from textual.pilot import Pilot

from tests import made
from tuiperf import events as ev
from tuiperf.app import TuiperfApp
from tuiperf.feed import Feed, ListFeed
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Session
from tuiperf.view.rows import UNICODE, Glyphs

T = TypeVar("T")

WINDOW = Verdict(
    "window-limited",
    Level.LOOK,
    Confidence.HIGH,
    "Window-limited",
    "256 KB, 12 ms",
    "The far end's window of 256 KB, not the path, sets the speed.",
    ("the window was full in 94 % of the samples",),
    ("loss: no retransmits",),
    ("tuiperf lab-b -P 4",),
    (),
    ("256 KB / 11.8 ms = 178 Mbit/s",),
)


def fixed_verdict(_: Session) -> Sequence[Verdict]:
    return (WINDOW,)


class Bench:
    """An app under test, without timers: `look` takes what the feed has and shows it."""

    def __init__(self, app: TuiperfApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.screen = app.run_screen

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.look()

    async def look(self) -> None:
        await self.pilot.pause()
        self.screen.tick()
        await self.pilot.pause()

    def text(self) -> str:
        """The screen as it would be drawn."""
        screen = self.app.screen
        lines = screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in lines)

    def toasts(self) -> list[str]:
        return [each.message for each in self.app._notifications]


Case = Callable[[Bench], Awaitable[T]]


def on_screen(
    case: Case[T],
    events: Sequence[ev.Event] = (),
    ending: Sequence[ev.Event] = (),
    *,
    size: tuple[int, int] = (80, 24),
    glyphs: Glyphs = UNICODE,
    recording: str = "",
    feeds: Callable[[], Feed] | None = None,
) -> T:
    """Run a case against a screen that shows these events."""

    def make_feed() -> tuple[Feed, str]:
        return (feeds() if feeds else ListFeed(events, ending)), recording

    async def run() -> T:
        app = TuiperfApp(glyphs, make_feed=make_feed, judge=fixed_verdict, live=False)
        async with app.run_test(size=size, notifications=True) as pilot:
            bench = Bench(app, pilot)
            await bench.look()
            return await case(bench)

    return asyncio.run(run())


def going_on(**test: object) -> tuple[list[ev.Event], list[ev.Event]]:
    """A run in its 24th second, and what comes when it is stopped."""
    client = made.spec("lab-b", **{"time_s": 30, "congestion": "cubic", **test})
    path = made.Path()
    so_far = made.part(client, path, seconds=23.4)
    return so_far, made.closing(client, so_far, "interrupted")
