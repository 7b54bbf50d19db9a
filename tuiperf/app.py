"""The terminal app: its modes, the run that goes on behind them, and what it leaves behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from tuiperf import guards

_HZ = guards.set_pace()  # before Textual is imported, which reads its frame rate then

from textual.app import App, SystemCommand  # noqa: E402
from textual.binding import Binding, BindingType  # noqa: E402
from textual.screen import Screen  # noqa: E402
from textual.worker import Worker  # noqa: E402

from tuiperf import (  # noqa: E402
    glance,
    keymap,
    modes,
    recording,
    theme,
)
from tuiperf.engine.spec import ClientSpec  # noqa: E402
from tuiperf.feed import EngineFeed, Feed  # noqa: E402
from tuiperf.remembering import remember_run, remember_sweep  # noqa: E402
from tuiperf.rules.book import judge  # noqa: E402
from tuiperf.screens.run import Judge, RunScreen  # noqa: E402
from tuiperf.session import Session  # noqa: E402
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, Row, escape  # noqa: E402
from tuiperf.view.summary import summary_rows  # noqa: E402
from tuiperf.view.terminal_text import painted  # noqa: E402
from tuiperf.widgets.status import StatusLine  # noqa: E402

FeedFactory = Callable[[], tuple[Feed, str]]

TTY_POLL_S = 1.0
CROSSING_HZ = 1.0
"""Screen updates a second while they cross the path under test."""


class AppScreen(Protocol):
    """What the app wants of the screen of a mode."""

    def tick(self) -> None:
        """Take what is new, and show it."""

    def abandon(self) -> Awaitable[None]:
        """Let go of what is running, at once."""

    def leave(self) -> Awaitable[None]:
        """End what is running, in order."""

    def outcome(self) -> int:
        """The exit code."""


class TuiperfApp(App[None]):
    """Holds the screen of each mode, its pace, and the guards of the terminal.

    `start` is the mode to open. `screens` are made already; all others are made when they are
    first gone to. The peer of `spec` is not remembered when it is `passing`, gone with the app.
    """

    TITLE = "tuiperf"
    CSS_PATH = "tuiperf.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding("ctrl+z", "suspend_process", "To the shell", show=False, id="app.suspend"),
        Binding("ctrl+r", "go('run')", "Show the run", show=False, id="app.show"),
        Binding("n", "new_run", "New run", show=False, id="app.new"),
        Binding("colon", "command_palette", "Commands", show=False, id="app.palette"),
        *(
            Binding(each.key, f"go('{each.name}')", each.title, show=False, id=f"app.{each.name}")
            for each in modes.MODES
        ),
    ]

    def __init__(
        self,
        glyphs: Glyphs = UNICODE,
        *,
        make_feed: FeedFactory | None = None,
        session: Session | None = None,
        recording: str = "",
        judge: Judge = judge,
        start: str = "run",
        screens: Mapping[str, Screen[Any]] | None = None,
        spec: ClientSpec | None = None,
        keep: bool = True,
        passing: bool = False,
        keys: keymap.Keys = keymap.NONE,
        meter: guards.ByteMeter | None = None,
        hz: float = _HZ,
        live: bool = True,
    ) -> None:
        super().__init__(ansi_color=True if theme.no_color() else None)
        self.glyphs = glyphs
        self.opened: dict[str, AppScreen] = {}
        self.start = start
        self.keys = keys
        self._judge = judge
        self._passing = (spec.host, spec.port) if passing and spec is not None else None
        self._swept: object = None
        self._keep = keep
        self._meter = meter
        self._hz = hz
        self._live = live
        self._leaving = False
        self._crossing = False
        self._paced_for: object = None
        self._shown_s = 0.0
        self._forget_signals: Callable[[], None] | None = None
        self.register_theme(theme.DARK)
        self.register_theme(theme.LIGHT)
        self._made = dict(screens or {})
        if make_feed is not None or session is not None:
            self._made["run"] = self._new_run_screen(
                make_feed=make_feed, session=session, recording=recording, spec=spec
            )
        for mode in modes.MODES:
            self.add_mode(mode.name, self._maker_of(mode))

    # Modes

    def _maker_of(self, mode: modes.Mode) -> Callable[[], Screen[Any]]:
        def make() -> Screen[Any]:
            screen = self._made.pop(mode.name, None) or mode.make(self)
            self.opened[mode.name] = cast(AppScreen, screen)
            return screen

        return make

    def _new_run_screen(self, **given: Any) -> RunScreen:
        self._run_screen = RunScreen(self._judge, self.glyphs, on_over=self._run_over, **given)
        return self._run_screen

    _run_screen: RunScreen | None = None

    @property
    def run_screen(self) -> RunScreen:
        """The screen of the run that is shown, or the last one."""
        if self._run_screen is None:
            raise LookupError("no run was begun")
        return self._run_screen

    @property
    def has_run(self) -> bool:
        """There is a run, going on or over."""
        return self._run_screen is not None

    @property
    def running(self) -> bool:
        """A run goes on now."""
        return self._run_screen is not None and self._run_screen.running

    @property
    def _sweeping(self) -> bool:
        return bool(getattr(self.opened.get("sweep"), "running", False))

    @property
    def base(self) -> Screen[Any]:
        """The lowest screen of the mode that is shown: all others lie over it."""
        return self.screen_stack[0]

    def on_mount(self) -> None:
        wanted = theme.default_theme()
        self.theme = wanted if wanted in self.available_themes else theme.DARK.name
        self.set_keymap(dict(self.keys.wanted))
        self.switch_mode(self.start)
        self._add_status()
        for problem in self.keys.problems:
            self.notify(escape(problem), severity="warning", timeout=10, markup=False)
        self.app_resume_signal.subscribe(self, lambda _: self.screen.refresh(layout=True))
        if not self._live:
            return
        self.set_interval(1 / self._hz, self._tick)
        if not self.is_headless:
            self._forget_signals = guards.on_end_signals(self._leave_by_signal)
            self.set_interval(TTY_POLL_S, self._look_for_terminal)

    def action_go(self, mode: str) -> None:
        """Show a mode; the run's when there is none yet is asked for first."""
        if mode == "run" and not self.has_run:
            self.action_new_run()
            return
        if mode == "sweep" and not {"sweep"} & {*self.opened, *self._made}:
            self.ask_sweep()
            return
        self.switch_mode(mode)
        self._add_status()

    def _add_status(self) -> None:
        """A line about the run, on every screen but its own."""
        screen = self.base
        if self.current_mode == "run" or screen.query(StatusLine):
            return
        if not screen.is_mounted:
            self.call_after_refresh(self._add_status)
            return
        if screen.query("#keys"):
            screen.mount(StatusLine(self.glyphs), before="#keys")

    def check_link(self, towards: str) -> None:
        """Show the link check, of the link towards this host or address."""
        from tuiperf.evidence.gather import Plan
        from tuiperf.screens.link import LinkScreen

        screen = self.opened.get("link")
        if screen is None:
            self._made["link"] = LinkScreen(Plan(towards), self.glyphs)
        elif towards and isinstance(screen, LinkScreen) and screen.plan.asked != towards:
            screen.plan = replace(screen.plan, asked=towards)
            screen.action_again()
        self.action_go("link")

    sweep_spec: ClientSpec = ClientSpec("")

    def ask_sweep(self, peer: str = "") -> None:
        """Ask whom to sweep towards, then begin."""
        from tuiperf.cli.form import Form
        from tuiperf.screens.settings import SettingsScreen

        if self.running:
            self._say("Stop the run first: a sweep would disturb it.")
        elif "sweep" in self.opened:
            self.action_go("sweep")
        else:
            sheet = SettingsScreen(Form.of_sweep(peer), self.glyphs)
            self.push_screen(sheet, self._begin_sweep)

    def _begin_sweep(self, spec: ClientSpec | None) -> None:
        if spec is not None:
            path = recording.default_path(spec.host) if self._keep else None
            self.sweep_spec = replace(spec, recording=str(path) if path else "")
            self._made["sweep"] = modes.named("sweep").make(self)
            self.action_go("sweep")

    # The run

    def action_new_run(self) -> None:
        """Ask what to measure, with what is known already filled in."""
        known = self._run_screen.spec if self._run_screen is not None else None
        self.ask_run(known)

    def ask_run(self, spec: ClientSpec | None, peer: str = "") -> None:
        """Ask with this test filled in, then begin it."""
        from tuiperf.cli.form import Form
        from tuiperf.screens.settings import SettingsScreen

        if self.running or self._sweeping:
            self._say("Stop what is running first: a new run would disturb it.")
            return
        self.push_screen(SettingsScreen(Form.of(spec, peer), self.glyphs), self._asked)

    def _asked(self, spec: ClientSpec | None) -> None:
        if spec is not None:
            self.begin(spec)

    def begin(self, spec: ClientSpec) -> None:
        """Begin a run and show it."""
        path = recording.default_path(spec.host) if self._keep else None
        spec = replace(spec, recording=str(path) if path else "")
        maker = _feeds(spec)
        if self._run_screen is None:
            self._made["run"] = self._new_run_screen(make_feed=maker, spec=spec)
        else:
            self._run_screen.open(maker, spec)
        self.action_go("run")

    def _run_over(self, screen: RunScreen) -> None:
        """Remember whom we measured, where runs are recorded at all."""
        spec = screen.spec
        if spec is None or not screen.recording or (spec.host, spec.port) == self._passing:
            return
        remember_run(screen.page.session, screen.page.verdicts, spec)

    def _sweep_over(self) -> None:
        """The same for a sweep, once."""
        sweep = getattr(self.opened.get("sweep"), "sweep", None)
        if sweep is None or sweep is self._swept or not sweep.over:
            return
        self._swept = sweep
        if sweep.order.spec.recording:
            remember_sweep(sweep.state, sweep.order.spec)

    # Time passes

    def _tick(self) -> None:
        if self._meter is not None and self._meter.stalled:
            return
        now_s = time.monotonic()
        if self._crossing and now_s - self._shown_s < 0.9 / CROSSING_HZ:
            return
        self._shown_s = now_s
        self.tick()

    def tick(self) -> None:
        """Let every screen take what is new."""
        for screen in list(self.opened.values()):
            if cast(Screen[Any], screen).is_mounted:
                screen.tick()
        self._sweep_over()
        if self._run_screen is not None and self.screen_stack:
            self._pace_for(self._run_screen)
            seen = self.current_mode == "run"
            for line in self.base.query(StatusLine):
                line.take(self._run_screen.page, self.running, seen)
            self._run_screen.page.seen |= seen and not self.running

    def _pace_for(self, screen: RunScreen) -> None:
        """Write less while this session crosses the path under test."""
        connection = screen.page.session.connection
        if connection is not None and connection is not self._paced_for:
            self._paced_for = connection
            self._crossing = glance.crosses(connection.local_host)

    def _look_for_terminal(self) -> None:
        if guards.terminal_gone():
            self._leave_by_signal(signal.SIGHUP)

    # The end

    def _leave_by_signal(self, number: int) -> None:
        """A first SIGINT ends things in order, as it does elsewhere; all else is for at once."""
        orderly = number == signal.SIGINT and not self._leaving
        self._leaving = True
        leave = self.action_quit() if orderly else self._leave(128 + number)
        self.run_worker(leave, exit_on_error=False)

    async def _leave(self, code: int) -> None:
        await self._abandon()
        self.exit(return_code=code)

    async def _abandon(self) -> None:
        for screen in list(self.opened.values()):
            await screen.abandon()

    async def action_quit(self) -> None:
        for screen in list(self.opened.values()):
            await screen.leave()
        self._sweep_over()
        first = self.opened.get(self.start)
        self.exit(return_code=first.outcome() if first is not None else 0)

    def action_leave_app(self) -> None:
        """Quit, but not a run that goes on without asking."""
        from tuiperf.screens.sheets import QuestionScreen

        if not self.running:
            self._end()
            return
        question = "The run is still going. Stop it and quit?"
        self.push_screen(QuestionScreen(question, self.glyphs), self._really)

    def _end(self) -> Worker[None]:
        return self.run_worker(self.action_quit, exit_on_error=False)

    def _really(self, really: bool | None) -> None:
        if really:
            self._end()

    async def on_unmount(self) -> None:
        if self._forget_signals is not None:
            self._forget_signals()
        await self._abandon()

    def farewell_rows(self, width: int) -> list[Row]:
        """What stays on the normal screen: the summary of the last run."""
        screen = self._run_screen
        if screen is None:
            return []
        page = screen.page
        return summary_rows(
            page.session,
            page.verdicts,
            width,
            self.glyphs,
            units=page.units,
            recording=screen.recording,
        )

    # Commands

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the palette offers: every mode, a new run, and Textual's own."""
        for mode in modes.MODES:
            if mode.name != self.current_mode:
                yield SystemCommand(mode.title, mode.help, lambda m=mode.name: self.action_go(m))
        yield SystemCommand("New run", "Choose what to measure", self.action_new_run)
        for command in super().get_system_commands(screen):
            if command.title != "Keys":
                yield command

    def _say(self, text: str) -> None:
        self.notify(escape(text), timeout=4, markup=False)


def _feeds(spec: ClientSpec) -> FeedFactory:
    """Engines for one test; a rerun is recorded beside the run before."""
    runs = count(1)

    def make_feed() -> tuple[Feed, str]:
        path = numbered(spec.recording, next(runs))
        return EngineFeed(replace(spec, recording=path)), path

    return make_feed


def run_app(
    spec: ClientSpec,
    *,
    ascii: bool = False,
    mouse: bool = False,
    keep: bool = True,
    passing: bool = False,
) -> int:
    """Run a test on the live screen, then print its summary; returns the exit code.

    Needs a terminal on standard input, output and error. Without a recording path nothing is kept,
    nor of later runs unless `keep`. A peer that is `passing`, as a demo's, is not remembered.
    """
    return show(
        lambda glyphs, **rest: TuiperfApp(
            glyphs, make_feed=_feeds(spec), spec=spec, keep=keep, passing=passing, **rest
        ),
        ascii=ascii,
        mouse=mouse,
    )


def run_mode(start: str, *, ascii: bool = False, mouse: bool = False) -> int:
    """Open the app in a mode; returns the exit code."""
    return show(
        lambda glyphs, **rest: TuiperfApp(glyphs, start=start, **rest), ascii=ascii, mouse=mouse
    )


def numbered(path: str, number: int) -> str:
    """The recording's path of a rerun: runs of one screen do not overwrite each other."""
    if not path or number == 1:
        return path
    stem, dot, suffix = Path(path).name.partition(".json")
    return str(Path(path).with_name(f"{stem}-{number}{dot}{suffix}"))


def run_replay(path: str, *, ascii: bool = False, mouse: bool = False) -> int:
    """Show the run that a recording holds; 1 with a line on stderr when it cannot be read."""
    try:
        session = recording.replay_run(path)
    except recording.RecordingError as error:
        print(f"tuiperf: error - {escape(str(error))}", file=sys.stderr)
        return 1
    return show_session(session, ascii=ascii, mouse=mouse, recording=path)


def show_session(
    session: Session, *, ascii: bool = False, mouse: bool = False, recording: str = ""
) -> int:
    """Show a finished run; `recording` is the file it came from. Returns the exit code."""
    return show(
        lambda glyphs, **rest: TuiperfApp(
            glyphs, session=session, recording=recording, spec=session.client, **rest
        ),
        ascii=ascii,
        mouse=mouse,
    )


def show(make: Callable[..., TuiperfApp], *, ascii: bool = False, mouse: bool = False) -> int:
    """Open an app, then print what it leaves behind; returns the exit code.

    `make` gets the glyphs, and `meter` and `keys` by name.
    """
    glyphs = ASCII if ascii or guards.needs_ascii() else UNICODE
    with guards.metered() as meter:
        app = make(glyphs, meter=meter, keys=keymap.load())
        app.run(mouse=mouse)
    _print(app.farewell_rows(_width()))
    return app.return_code or 0


def _width() -> int:
    try:
        return min(100, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return 80


def _print(rows: Iterable[Row]) -> None:
    lines = [painted(row, not theme.no_color()) for row in rows]
    if not lines:
        return
    try:
        print("\n".join(lines), flush=True)
    except OSError:
        return
