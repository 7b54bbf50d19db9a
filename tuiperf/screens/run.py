"""The screen of one run: it follows a feed, and offers what can be done about the run."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.worker import Worker

from tuiperf.engine.spec import ClientSpec
from tuiperf.feed import Feed
from tuiperf.rules.hold import Held
from tuiperf.rules.verdict import Verdict
from tuiperf.session import Phase, Session
from tuiperf.view.keys import Key
from tuiperf.view.rows import Glyphs, escape, to_text
from tuiperf.view.summary import summary_rows
from tuiperf.view.verdicts import full_rows
from tuiperf.widgets.own_keys import own_keys
from tuiperf.widgets.page import Page
from tuiperf.widgets.panels import (
    Brief,
    CardWidget,
    Chart,
    Failure,
    Heading,
    Intervals,
    Keys,
    Notice,
    RunWidget,
    Verdicts,
)
from tuiperf.widgets.rows import RowsWidget

from .sheets import HelpScreen, QuestionScreen
from .still import still

Judge = Callable[[Session], Sequence[Verdict]]

JUDGE_EVERY_S = 1.0
LEAVE_S = 2.0
"""How long leaving waits for both ends' results."""

SUMMARY_WIDTH = 79

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]


class RunScreen(Screen[None]):
    """A run, live or finished. Nothing here measures: events come from a feed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,x", "stop", "Stop the run", id="run.stop"),
        Binding("ctrl+c", "interrupt", "Stop the run", show=False, id="run.interrupt"),
        Binding("r", "rerun", "Run again", id="run.rerun"),
        Binding("f", "freeze", "Freeze the screen", id="run.freeze"),
        Binding("b", "why", "Explain the verdict", id="run.why"),
        Binding("p", "each_stream", "Every stream", id="run.streams"),
        Binding("u", "units", "Bytes or bits", id="run.units"),
        Binding("y", "copy", "Copy the summary", id="run.copy"),
        Binding("e", "export", "Export the recording", id="run.export"),
        Binding("j,down", "scroll_rows(1)", "Down", show=False),
        Binding("k,up", "scroll_rows(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown", "scroll_rows(8)", "Down", show=False),
        Binding("ctrl+u,pageup", "scroll_rows(-8)", "Up", show=False),
        Binding("g,home", "scroll_rows(-1000000)", "Top", show=False),
        Binding("G,end", "scroll_rows(1000000)", "End", show=False),
        Binding("question_mark,f1", "help", "Help", id="run.help"),
        Binding("escape", "back", "Back", show=False),
        Binding("q", "quit", "Quit", id="run.quit"),
    ]

    def __init__(
        self,
        judge: Judge,
        glyphs: Glyphs,
        *,
        make_feed: Callable[[], tuple[Feed, str]] | None = None,
        session: Session | None = None,
        recording: str = "",
        spec: ClientSpec | None = None,
        on_over: Callable[[RunScreen], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self.page = Page(session or Session(), glyphs=glyphs)
        self.recording = recording
        self.spec = spec
        self.feed: Feed | None = None
        self._on_over = on_over
        self._judge = Held(judge)
        self._make_feed = make_feed
        self._clock = clock
        self._begun_s = clock()
        self._judged_s: float | None = None
        self._judged_phase: Phase | None = None
        self._shown: tuple[object, ...] = ()
        self._lost = ""
        self._stopping = False
        self._worker: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        page = self.page
        yield Heading(page, id="heading")
        yield Failure(page, id="failure")
        yield Brief(page, id="brief")
        with Horizontal(id="cards"):
            for place in range(4):
                yield CardWidget(page, place)
        yield Notice(page, id="notice", classes="panel")
        yield Chart(page, id="chart", classes="panel")
        with Container(id="bottom"):
            yield Intervals(page, id="intervals", classes="panel")
            yield Verdicts(page, id="verdicts", classes="panel")
        yield Keys(page)

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        if self._make_feed is not None:
            self._begin()
        self.sync()

    # The run

    def open(self, make_feed: Callable[[], tuple[Feed, str]], spec: ClientSpec) -> None:
        """Begin another test in place of the one that is over."""
        self._make_feed = make_feed
        self.spec = spec
        self._begin()
        self.sync()

    def _begin(self) -> None:
        assert self._make_feed is not None
        self.feed, self.recording = self._make_feed()
        page = self.page
        page.session = self.feed.session
        page.verdicts = ()
        page.lost = self._lost = ""
        page.frozen = page.explaining = page.seen = False
        page.scrolled = page.explained = 0
        page.waited_s = 0.0
        page.kept_units = None
        self._stopping = False
        self._begun_s = self._clock()
        self._judged_s = None
        self._worker = self.run_worker(self._follow(self.feed), exit_on_error=False)

    async def _follow(self, feed: Feed) -> None:
        try:
            lost = await feed.run()
        except Exception as error:
            lost = f"the events could not be followed: {type(error).__name__}: {error}"
        finally:
            await feed.close()
        if feed is self.feed:
            self._lost = lost
            self._take()
            if self._on_over is not None:
                self._on_over(self)
            if self._stopping:
                self.app.clear_notifications()  # "Stopping" is no longer true
                self._stopping = False

    @property
    def running(self) -> bool:
        """True while the engine is at work."""
        feed = self.feed
        return feed is not None and feed.session.ended is None and not self._lost

    async def leave(self) -> None:
        """End the run in order: wait a little for its results, then let go of the engine."""
        if self.feed is None:
            return
        if self.running:
            self.feed.stop()
            until_s = self._clock() + LEAVE_S
            while self.running and self._clock() < until_s:
                await asyncio.sleep(0.02)
        await self.feed.close()
        self.page.frozen = False
        self._take()

    async def abandon(self) -> None:
        """Let go of the engine at once; the run ends by itself."""
        if self.feed is None:
            return
        if self.running:
            self.feed.stop()
        await self.feed.close()

    def outcome(self) -> int:
        """0 when the run did what was asked, or was stopped by its user."""
        session = self.page.session
        if session.failure is not None:
            return 1
        return 0 if session.ended is not None and session.ended.outcome != "failed" else 1

    # The page

    def tick(self) -> None:
        """Take what the feed has learned, and show it unless something lies on top."""
        self._take()
        if self.app.screen is self and self._news():
            self.sync()

    def _take(self) -> None:
        page = self.page
        feed = self.feed
        if feed is not None and not page.frozen:
            page.session = feed.session
            page.lost = self._lost
            if not page.over and not page.has_data:
                page.waited_s = self._clock() - self._begun_s
        self._judge_again()

    def _judge_again(self) -> None:
        page = self.page
        now_s = page.session.t_s
        due = self._judged_s is None or abs(now_s - self._judged_s) >= JUDGE_EVERY_S
        if due or page.session.phase is not self._judged_phase:
            page.verdicts = tuple(self._judge(page.session))
            self._judged_s = now_s
            self._judged_phase = page.session.phase

    def _news(self) -> bool:
        page = self.page
        session = page.session
        now = (id(session), session.t_s, session.phase, int(page.waited_s), page.lost, page.frozen)
        changed = now != self._shown
        self._shown = now
        return changed

    def sync(self) -> None:
        """Show the page as it is now."""
        page = self.page
        if page.verdicts == ():
            self._judge_again()
        self.set_class(not page.has_data, "-waiting")
        self.set_class(page.explaining, "-why")
        failure = self.query_one(Failure)
        rows = failure.wanted(self.size.width)
        failure.styles.height = rows
        failure.display = rows > 0
        self._name_panels()
        self.query_one(Keys).keys = self._keys()
        for widget in self.query(RowsWidget):
            widget.redraw()

    def _name_panels(self) -> None:
        page = self.page
        ways = "both ways  " if len(page.session.flows) > 1 else ""
        last = "Verdict" if page.over else "Verdict so far"
        scroll = "j/k scroll"
        why = own_keys(self).first_of("b")
        for widget, title, subtitle in (
            (self.query_one(Chart), f"Throughput  {ways}{page.units.rate.name}", ""),
            (self.query_one(Intervals), "Intervals", scroll),
            (
                self.query_one(Verdicts),
                "Why" if page.explaining else last,
                f"{scroll}  {why} back" if page.explaining else f"{why} explains why",
            ),
        ):
            _name(widget, title, subtitle)

    def _keys(self) -> list[Key]:
        page = self.page
        keys = []
        if self.running:
            keys.append(Key("space", "Stop"))
        elif self._make_feed is not None:
            keys.append(Key("r", "Rerun"))
        keys.append(Key("b", "Back" if page.explaining else "Why?"))
        if self.running or page.frozen:
            keys.append(Key("f", "Go on" if page.frozen else "Freeze"))
        keys += [Key("y", "Copy"), Key("e", "Export")]
        if any(len(page.session.streams_of(way)) > 1 for way in page.session.flows):
            keys.append(Key("p", "Streams"))
        return [*keys, Key("?", "Help"), Key("q", "Quit")]

    # What the reader can do

    def action_stop(self) -> None:
        if self.running and self.feed is not None:
            self.feed.stop()
            self._stopping = True
            self._say("Stopping: waiting for both ends' results.")
        else:
            self._say("Nothing is running.")

    def action_interrupt(self) -> None:
        if self.running:
            self.action_stop()
        else:
            self._say("The run is over. Press q to quit.")

    def action_rerun(self) -> None:
        if self._make_feed is None:
            self._say("This is a recording; there is nothing to run again.")
        elif self.running:
            self._say("Stop the run first: press space.")
        else:
            self._begin()
            self.sync()

    def action_freeze(self) -> None:
        page = self.page
        if page.frozen:
            page.frozen = False
            self._take()
        elif self.running:
            page.session = still(page.session)
            page.frozen = True
        else:
            self._say("Nothing moves: the run is over.")
            return
        self.sync()

    def action_why(self) -> None:
        self.page.explaining = not self.page.explaining
        self.page.explained = 0
        self.sync()

    def action_back(self) -> None:
        if self.page.explaining:
            self.action_why()
        else:
            self.call_later(self.run_action, "app.go('home')")

    def action_each_stream(self) -> None:
        self.page.each_stream = not self.page.each_stream
        self.page.scrolled = 0
        self.sync()

    def action_units(self) -> None:
        """Rates in bytes a second, and back."""
        self.page.in_bytes = not self.page.in_bytes
        self.sync()

    def action_scroll_rows(self, step: int) -> None:
        if self.page.explaining:
            self.query_one(Verdicts).scroll_rows(step)
        else:
            self.query_one(Intervals).scroll_rows(step)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs))

    def action_copy(self) -> None:
        text = self.summary_text()
        if self.page.explaining and self.page.verdicts:
            rows = full_rows(self.page.verdicts[0], SUMMARY_WIDTH, self.page.glyphs)
            text = "\n".join(to_text(row) for row in rows)
        self.app.copy_to_clipboard(text)
        copied = "Copied, if this terminal allows it"
        path = self._text_path()
        try:
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            self._say(f"{copied}; no file: {path}: {error.strerror}", "warning")
            return
        self._say(f"{copied}, and written into {path}")

    def _text_path(self) -> Path:
        if self.recording:
            path = Path(self.recording)
            return path.with_name(path.name.split(".json")[0] + ".txt")
        return Path.cwd() / "tuiperf-summary.txt"

    def action_export(self) -> None:
        if not self.recording:
            self._say("This run has no recording to export.", "warning")
            return
        source = Path(self.recording)
        target = Path.cwd() / source.name
        try:
            if target.resolve() != source.resolve():
                shutil.copyfile(source, target)
        except OSError as error:
            self._say(f"Not exported: {target}: {error.strerror}", "error")
            return
        part = " so far" if self.running else ""
        self._say(f"The recording{part} is copied here: tuiperf replay {target.name}")

    def action_quit(self) -> None:
        if not self.running:
            self._quit(True)
            return
        question = "The run is still going. Stop it and quit?"
        self.app.push_screen(QuestionScreen(question, self.page.glyphs), self._quit)

    def _quit(self, really: bool | None) -> None:
        if really:
            self.run_worker(self._leave_app(), exit_on_error=False)

    async def _leave_app(self) -> None:
        await self.app.action_quit()

    def summary_text(self) -> str:
        """The summary as plain text."""
        rows = summary_rows(
            self.page.session,
            self.page.verdicts,
            SUMMARY_WIDTH,
            self.page.glyphs,
            units=self.page.units,
            recording=self.recording,
        )
        return "\n".join(to_text(row) for row in rows)

    def _say(self, text: str, severity: Any = "information") -> None:
        self.app.notify(escape(text), severity=severity, timeout=4, markup=False)


def _name(widget: RunWidget, title: str, subtitle: str) -> None:
    if str(widget.border_title) != title:
        widget.border_title = title
    if str(widget.border_subtitle) != subtitle:
        widget.border_subtitle = subtitle
