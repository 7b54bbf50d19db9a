"""The terminal app: one run, live or replayed, and its summary on the normal screen afterwards."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import ClassVar, Protocol, cast

from tuiperf import guards

_HZ = guards.set_pace()  # before Textual is imported, which reads its frame rate then

from textual.app import App  # noqa: E402
from textual.binding import Binding, BindingType  # noqa: E402
from textual.screen import Screen  # noqa: E402

from tuiperf import recording, theme  # noqa: E402
from tuiperf.engine.spec import ClientSpec  # noqa: E402
from tuiperf.feed import EngineFeed, Feed  # noqa: E402
from tuiperf.rules.book import judge  # noqa: E402
from tuiperf.screens.run import Judge, RunScreen  # noqa: E402
from tuiperf.session import Session  # noqa: E402
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, escape  # noqa: E402
from tuiperf.view.summary import summary_rows  # noqa: E402
from tuiperf.view.terminal_text import painted  # noqa: E402

FeedFactory = Callable[[], tuple[Feed, str]]

TTY_POLL_S = 1.0


class AppScreen(Protocol):
    """What the app wants of the screen that it shows."""

    def tick(self) -> None:
        """Take what is new, and show it."""

    def abandon(self) -> Awaitable[None]:
        """Let go of what is running, at once."""

    def leave(self) -> Awaitable[None]:
        """End what is running, in order."""

    def outcome(self) -> int:
        """The exit code."""


class ShellApp(App[None]):
    """Holds a screen, its pace, and the guards of the terminal."""

    TITLE = "tuiperf"
    CSS_PATH = "tuiperf.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding("ctrl+z", "suspend_process", "To the shell", show=False, id="app.suspend"),
    ]

    def __init__(
        self, *, meter: guards.ByteMeter | None = None, hz: float = _HZ, live: bool = True
    ) -> None:
        super().__init__(ansi_color=True if theme.no_color() else None)
        self._meter = meter
        self._hz = hz
        self._live = live
        self._leaving = False
        self._forget_signals: Callable[[], None] | None = None
        self.register_theme(theme.DARK)
        self.register_theme(theme.LIGHT)

    @property
    def first(self) -> AppScreen:
        """The screen that this app is about."""
        raise NotImplementedError

    def on_mount(self) -> None:
        wanted = theme.default_theme()
        self.theme = wanted if wanted in self.available_themes else theme.DARK.name
        self.push_screen(cast(Screen[None], self.first))
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh(layout=True))
        if not self._live:
            return
        self.set_interval(1 / self._hz, self._tick)
        if not self.is_headless:
            self._forget_signals = guards.on_end_signals(self._leave_by_signal)
            self.set_interval(TTY_POLL_S, self._look_for_terminal)

    def _tick(self) -> None:
        if self._meter is None or not self._meter.stalled:
            self.first.tick()

    def _look_for_terminal(self) -> None:
        if guards.terminal_gone():
            self._leave_by_signal(signal.SIGHUP)

    def _leave_by_signal(self, number: int) -> None:
        """A first SIGINT ends things in order, as it does elsewhere; all else is for at once."""
        orderly = number == signal.SIGINT and not self._leaving
        self._leaving = True
        leave = self.action_quit() if orderly else self._leave(128 + number)
        self.run_worker(leave, exit_on_error=False)

    async def _leave(self, code: int) -> None:
        await self.first.abandon()
        self.exit(return_code=code)

    async def action_quit(self) -> None:
        await self.first.leave()
        self.exit(return_code=self.first.outcome())

    async def on_unmount(self) -> None:
        if self._forget_signals is not None:
            self._forget_signals()
        await self.first.abandon()


class TuiperfApp(ShellApp):
    """Holds the screen of a run."""

    def __init__(
        self,
        glyphs: Glyphs = UNICODE,
        *,
        make_feed: FeedFactory | None = None,
        session: Session | None = None,
        recording: str = "",
        judge: Judge = judge,
        meter: guards.ByteMeter | None = None,
        hz: float = _HZ,
        live: bool = True,
    ) -> None:
        super().__init__(meter=meter, hz=hz, live=live)
        self.run_screen = RunScreen(
            judge, glyphs, make_feed=make_feed, session=session, recording=recording
        )

    @property
    def first(self) -> AppScreen:
        return self.run_screen


def run_app(spec: ClientSpec, *, ascii: bool = False) -> int:
    """Run a test on the live screen, then print its summary; returns the exit code.

    Needs a terminal on standard input, output and error. Without a recording path nothing is kept.
    """
    runs = count(1)

    def make_feed() -> tuple[Feed, str]:
        path = numbered(spec.recording, next(runs))
        return EngineFeed(replace(spec, recording=path)), path

    return _show(ascii, make_feed=make_feed)


def numbered(path: str, number: int) -> str:
    """The recording's path of a rerun: runs of one screen do not overwrite each other."""
    if not path or number == 1:
        return path
    stem, dot, suffix = Path(path).name.partition(".json")
    return str(Path(path).with_name(f"{stem}-{number}{dot}{suffix}"))


def run_replay(path: str, *, ascii: bool = False) -> int:
    """Show the run that a recording holds; 1 with a line on stderr when it cannot be read."""
    try:
        session = recording.replay_run(path)
    except recording.RecordingError as error:
        print(f"tuiperf: error - {escape(str(error))}", file=sys.stderr)
        return 1
    return show_session(session, ascii=ascii, recording=path)


def show_session(session: Session, *, ascii: bool = False, recording: str = "") -> int:
    """Show a finished run; `recording` is the file it came from. Returns the exit code."""
    return _show(ascii, session=session, recording=recording)


def _show(
    ascii: bool,
    *,
    make_feed: FeedFactory | None = None,
    session: Session | None = None,
    recording: str = "",
) -> int:
    glyphs = ASCII if ascii or guards.needs_ascii() else UNICODE
    with guards.metered() as meter:
        app = TuiperfApp(
            glyphs, make_feed=make_feed, session=session, recording=recording, meter=meter
        )
        app.run(mouse=False)
    screen = app.run_screen
    _print_summary(screen, glyphs)
    return app.return_code or 0


def _print_summary(screen: RunScreen, glyphs: Glyphs) -> None:
    page = screen.page
    try:
        width = min(100, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        width = 80
    rows = summary_rows(
        page.session,
        page.verdicts,
        width,
        glyphs,
        units=page.units,
        recording=screen.recording,
    )
    try:
        print("\n".join(painted(row, not theme.no_color()) for row in rows), flush=True)
    except OSError:
        return
