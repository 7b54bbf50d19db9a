"""The screen of a guided sweep: its steps with their reasons, the running one live, the verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.worker import Worker

from tuiperf.report.sweep_markdown import markdown
from tuiperf.sweep.drive import Order, Sweep
from tuiperf.sweep.plan import End, next_step
from tuiperf.sweep.state import SweepState
from tuiperf.view.help import SWEEP_KEYS
from tuiperf.view.keys import Key
from tuiperf.view.rows import Glyphs, Row, escape, to_text
from tuiperf.view.sweep import Moment, why_title
from tuiperf.view.sweep_page import page_rows
from tuiperf.widgets.sweep_panels import SoFar, Steps, SweepHeading, SweepKeys, SweepView, WhyStep

from .sheets import HelpScreen, QuestionScreen

SUMMARY_WIDTH = 79
LEAVE_S = 3.0

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]

MakeSweep = Callable[[Order], Sweep]


class SweepScreen(Screen[None]):
    """A sweep, going on or over. What comes next the plan decides, here it is only shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "skip", "Skip the step", id="sweep.skip"),
        Binding("space", "pause", "Pause", id="sweep.pause"),
        Binding("enter", "accept", "Accept what is known", id="sweep.accept"),
        Binding("plus,equals_sign", "more", "More certainty", id="sweep.more"),
        Binding("ctrl+c", "interrupt", "Stop", show=False, id="sweep.interrupt"),
        Binding("b", "why", "Explain the verdict", id="sweep.why"),
        Binding("y", "copy", "Copy the page", id="sweep.copy"),
        Binding("e", "export", "Write a report", id="sweep.export"),
        Binding("j,down", "scroll_rows(1)", "Down", show=False),
        Binding("k,up", "scroll_rows(-1)", "Up", show=False),
        Binding("question_mark,f1", "help", "Help", id="sweep.help"),
        Binding("escape", "back", "Back", show=False),
        Binding("q", "quit", "Quit", id="sweep.quit"),
    ]

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        order: Order | None = None,
        state: SweepState | None = None,
        make: MakeSweep = Sweep,
        recording: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self.page = SweepView(state or SweepState(), glyphs=glyphs)
        self.recording = order.spec.recording if order else recording
        self.sweep = make(order) if order else None
        self._clock = clock
        self._shown: tuple[object, ...] = ()
        self._worker: Worker[None] | None = None
        self._broke = ""
        self._judged = -1

    def compose(self) -> ComposeResult:
        page = self.page
        yield SweepHeading(page, id="sweep-heading")
        yield Steps(page, id="steps", classes="panel")
        with Container(id="sweep-bottom"):
            yield WhyStep(page, id="why-step", classes="panel")
            yield SoFar(page, id="so-far", classes="panel")
        yield SweepKeys(page)

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        if self.sweep is not None:
            self._worker = self.run_worker(self._follow(self.sweep), exit_on_error=False)
        self.tick()

    async def _follow(self, sweep: Sweep) -> None:
        try:
            await sweep.run()
        except Exception as error:
            self._broke = f"the sweep broke off: {type(error).__name__}: {error}"
            self._say(self._broke, "error")

    @property
    def running(self) -> bool:
        """True while there are steps to come."""
        return self.sweep is not None and not self.sweep.over and not self._broke

    async def leave(self) -> None:
        """End in order: the running test is stopped, what it showed counts."""
        if self.sweep is None:
            return
        self.sweep.stop()
        until_s = self._clock() + LEAVE_S
        while self.running and self._clock() < until_s:
            await asyncio.sleep(0.02)
        await self.sweep.close()
        self._take()

    async def abandon(self) -> None:
        """Let go of the engine at once."""
        if self.sweep is not None:
            self.sweep.stop()
            await self.sweep.close()

    def outcome(self) -> int:
        """The exit code of a sweep that stands as this one."""
        return self.page.state.exit_code

    # The page

    def tick(self) -> None:
        """Take what is new, and show it unless something lies on top."""
        self._take()
        if self.is_mounted and self.app.screen is self and self._news():
            self.sync()

    def _take(self) -> None:
        page, sweep = self.page, self.sweep
        if sweep is not None:
            page.state = sweep.state
            page.moment = Moment(sweep.elapsed_s, sweep.waiting_s, sweep.paused)
        finished = sum(row.done is not None for row in page.state.rows)
        if finished != self._judged or not page.verdicts:
            self._judged = finished
            page.verdicts = page.state.conclusion().verdicts

    def _news(self) -> bool:
        page = self.page
        session = page.state.session
        now = (
            len(page.state.rows),
            self._judged,
            page.state.ended,
            round(page.moment.elapsed_s, 1),
            round(page.moment.waiting_s, 1),
            page.moment.paused,
            session.t_s if session else 0.0,
        )
        changed, self._shown = now != self._shown, now
        return changed

    def sync(self) -> None:
        """Show the page."""
        page = self.page
        self.set_class(page.explaining, "-why")
        steps, why, so_far = (
            self.query_one(Steps),
            self.query_one(WhyStep),
            self.query_one(SoFar),
        )
        steps.border_title = "Steps"
        steps.border_subtitle = "x skips a step" if self.running else ""
        why.border_title = why_title(page.state, page.glyphs)
        so_far.border_title = "Verdict" if page.state.ended else "Verdict so far"
        so_far.border_subtitle = "b closes it" if page.explaining else "b explains it"
        keys = self.query_one(SweepKeys)
        keys.keys = self._keys()
        for widget in (self.query_one(SweepHeading), steps, why, so_far, keys):
            widget.redraw()

    def _keys(self) -> list[Key]:
        last = [Key("?", "Help"), Key("q", "Quit")]
        both = [Key("b", "Why?"), Key("y", "Copy"), Key("e", "Report")]
        if not self.running:
            return [*both, *last]
        pause = Key("space", "Go on" if self.page.moment.paused else "Pause")
        return [
            Key("x", "Skip"),
            pause,
            Key("enter", "Accept"),
            Key("+", "Surer"),
            *both,
            *last,
        ]

    # What the user wants

    def action_skip(self) -> None:
        if self.running and self.sweep is not None:
            self.sweep.skip()
            self._say("Skipping this step.")

    def action_pause(self) -> None:
        if self.running and self.sweep is not None:
            self.sweep.pause()
            self.tick()

    def action_accept(self) -> None:
        if self.running and self.sweep is not None:
            self.sweep.accept()
            self._say("Ending with what is known.")

    def action_more(self) -> None:
        if not self.running or self.sweep is None:
            self._say("The sweep is over; tuiperf sweep --thorough runs all experiments.")
            return
        known = self.page.state.known(elapsed_s=self.sweep.elapsed_s, wishes=1)
        if isinstance(next_step(known), End) and self.page.state.current is None:
            self._say("No experiment is left that would tell more.")
            return
        self.sweep.more()
        self._say("One experiment more, after the cause is settled.")

    def action_interrupt(self) -> None:
        if self.running and self.sweep is not None:
            self.sweep.stop()
            self._say("Stopping; what is known stays.")
        else:
            self._say("Press q to quit.")

    def action_why(self) -> None:
        self.page.explaining = not self.page.explaining
        self.page.explained = 0
        self.sync()

    def action_back(self) -> None:
        if self.page.explaining:
            self.action_why()
        else:
            self.call_later(self.run_action, "app.go('home')")

    def action_scroll_rows(self, step: int) -> None:
        if self.page.explaining:
            self.query_one(SoFar).scroll_rows(step)
        else:
            self.query_one(Steps).scroll_rows(-step)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs, SWEEP_KEYS))

    def action_copy(self) -> None:
        text = "\n".join(to_text(row) for row in self.page_rows(SUMMARY_WIDTH))
        self.app.copy_to_clipboard(text)
        self._write(self._path(".txt"), text + "\n", "Copied, if this terminal allows it;")

    def action_export(self) -> None:
        state = self.page.state
        self._write(self._path(".md"), markdown(state, state.conclusion()), "The report is")

    def _write(self, path: Path, text: str, done: str) -> None:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            self._say(f"Not written: {path}: {error.strerror}", "error")
            return
        self._say(f"{done} in {path}")

    def _path(self, suffix: str) -> Path:
        name = Path(self.recording).name.split(".json")[0] if self.recording else "tuiperf-sweep"
        return Path.cwd() / f"{name}{suffix}"

    def action_quit(self) -> None:
        if not self.running:
            self._quit(True)
            return
        question = "The sweep is still going. Stop it and quit?"
        self.app.push_screen(QuestionScreen(question, self.page.glyphs), self._quit)

    def _quit(self, really: bool | None) -> None:
        if really:
            self.run_worker(self._leave_app(), exit_on_error=False)

    async def _leave_app(self) -> None:
        await self.app.action_quit()

    def page_rows(self, width: int) -> list[Row]:
        """The end page, as it stands now."""
        state = self.page.state
        return page_rows(state, state.conclusion(), width, self.page.glyphs, self.recording)

    def _say(self, text: str, severity: Any = "information") -> None:
        self.app.notify(escape(text), severity=severity, timeout=4, markup=False)
