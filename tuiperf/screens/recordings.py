"""The screen of past runs: open one, replay it, delete it, put two side by side."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker

from tuiperf import recording
from tuiperf.events import Event
from tuiperf.feed import Feed
from tuiperf.recording import RecordingError
from tuiperf.rules.book import judge
from tuiperf.rules.compare import compare
from tuiperf.runs import PastRun, listing
from tuiperf.session import Session, reduce
from tuiperf.view.help import RECORDINGS_KEYS
from tuiperf.view.keys import Key
from tuiperf.view.rows import Glyphs, escape
from tuiperf.widgets.recordings_panels import (
    Below,
    RecordingsHeading,
    RecordingsKeys,
    RecordingsPage,
    RecordingsWidget,
    Runs,
)
from tuiperf.widgets.rows import RowsWidget

from .run import RunScreen
from .sheets import HelpScreen, QuestionScreen

if TYPE_CHECKING:
    from tuiperf.app import TuiperfApp

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]


class RecordingsScreen(Screen[None]):
    """The list of recordings. Files are read in a thread, the screen does not wait for them."""

    CSS = """
    RecordingsScreen {
        layout: vertical;
        RecordingsKeys { height: 1; }
        #runs { height: 1fr; }
        #below { height: 9; }
        &.-tall #below { height: 15; }
        &.-low #below { height: 7; }
        &.-flat #below, &.-slim #below { display: none; }
        &.-full #runs { display: none; }
        &.-full #below { display: block; height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="past.open"),
        Binding("p", "replay", "Replay in its own time", id="past.replay"),
        Binding("space", "mark", "Mark A and B", id="past.mark"),
        Binding("c", "full", "The comparison alone", id="past.compare"),
        Binding("r", "rerun", "Run again", id="past.rerun"),
        Binding("e", "export", "Copy it here", id="past.export"),
        Binding("d,delete", "delete", "Delete", id="past.delete"),
        Binding("j,down", "choose(1)", "Down", show=False, id="past.down"),
        Binding("k,up", "choose(-1)", "Up", show=False, id="past.up"),
        Binding("ctrl+d,pagedown", "choose(8)", "Down", show=False),
        Binding("ctrl+u,pageup", "choose(-8)", "Up", show=False),
        Binding("g,home", "choose(-100000)", "Top", show=False),
        Binding("G,end", "choose(100000)", "End", show=False),
        Binding("question_mark,f1", "help", "Help", id="past.help"),
        Binding("escape", "back", "Back", show=False),
        Binding("q,ctrl+c", "quit", "Quit", id="past.quit"),
    ]

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        load: Callable[[], list[PastRun]] = listing,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self.page = RecordingsPage(glyphs)
        self._load = load
        self._clock = clock

    def compose(self) -> ComposeResult:
        page = self.page
        yield RecordingsHeading(page, id="heading")
        yield Runs(page, id="runs", classes="panel")
        yield Below(page, id="below", classes="panel")
        yield RecordingsKeys(page, id="keys")

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        self.sync()

    def on_screen_resume(self) -> None:
        """Shown again, perhaps after a run: read the list anew."""
        self._work(self._read)

    def _work(self, work: Callable[[], Coroutine[Any, Any, None]]) -> Worker[None]:
        """Do this beside the screen; what was begun before of its kind is given up."""
        return self.run_worker(work, group=work.__name__, exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        page = self.page
        page.reading = True
        page.runs = await asyncio.to_thread(self._load)
        page.reading = False
        page.now_s = self._clock()
        page.selected = max(0, min(page.selected, len(page.runs) - 1))
        self.sync()
        await self._look()

    async def _look(self) -> None:
        """What the lower panel tells: of two marked runs, else of the selected one."""
        page = self.page
        page.problem = ""
        marked = [each for each in (page.first, page.second) if each is not None]
        wanted = marked if len(marked) == 2 else [page.chosen] if page.chosen else []
        try:
            read = [await asyncio.to_thread(_session, run) for run in wanted if not run.sweep]
        except RecordingError as error:
            page.problem, read = self.page.glyphs.text(str(error)), []
        page.told = 0
        page.comparison = compare(*read) if len(read) == 2 else None
        page.verdicts = judge(read[0]) if len(read) == 1 else ()
        self.sync()

    # As a screen of the app

    def tick(self) -> None:
        """Nothing moves here by itself but a replay, which is a screen of its own."""
        top = self.app.screen
        if isinstance(top, PastScreen):
            top.tick()

    async def leave(self) -> None:
        """Nothing is running here."""

    async def abandon(self) -> None:
        """Nothing is running here."""

    def outcome(self) -> int:
        """The exit code."""
        return 0

    # The page

    def sync(self) -> None:
        """Show the page as it is now."""
        page = self.page
        self.set_class(page.full, "-full")
        title = "A against B" if page.comparison else "Verdict of the selected run"
        for selector, name, hint in (
            ("#runs", "Runs", "space marks A and B"),
            ("#below", title, "j/k scroll, c back" if page.full else "c shows it alone"),
        ):
            widget = self.query_one(selector, RecordingsWidget)
            widget.border_title = name
            widget.border_subtitle = hint
        self.query_one(RecordingsKeys).keys = self._keys()
        for each in self.query(RowsWidget):
            each.redraw()

    def _keys(self) -> list[Key]:
        enter = "enter" if self.page.glyphs.ascii else "⏎"
        keys = [Key(enter, "Open"), Key("p", "Replay"), Key("space", "Mark"), Key("c", "Compare")]
        keys += [Key("r", "Rerun"), Key("e", "Export"), Key("d", "Delete")]
        return [*keys, Key("?", "Help"), Key("q", "Quit")]

    # What the reader can do

    @property
    def _app(self) -> TuiperfApp:
        return cast("TuiperfApp", self.app)

    def _again(self) -> None:
        self.sync()
        self._work(self._look)

    def action_choose(self, step: int) -> None:
        page = self.page
        if page.full:
            self.query_one(Below).scroll_rows(step)
            return
        page.selected = max(0, min(page.selected + step, len(page.runs) - 1))
        self._again()

    def action_mark(self) -> None:
        """The first mark is A, the second B; a third begins anew."""
        page, run = self.page, self.page.chosen
        if run is None or run.sweep:
            self._say("Only single runs can be put side by side.")
            return
        if run == page.first:
            page.first, page.second = page.second, None
        elif run == page.second:
            page.second = None
        elif page.first is None or page.second is not None:
            page.first, page.second = run, None
        else:
            page.second = run
        self._again()

    def action_full(self) -> None:
        if self.page.comparison is None and not self.page.full:
            self._say("Mark two runs first: space marks A, then B.")
            return
        self.page.full = not self.page.full
        self.sync()

    def action_open(self) -> None:
        self._work(self._open)

    async def _open(self) -> None:
        run = self.page.chosen
        if run is None:
            return
        if run.sweep:
            self._say(f"A sweep: tuiperf replay {run.path}")
            return
        try:
            session = await asyncio.to_thread(_session, run)
        except RecordingError as error:
            self._say(str(error))
            return
        self.app.push_screen(PastScreen(self.page.glyphs, run, session=session))

    def action_replay(self) -> None:
        run = self.page.chosen
        if run is None or run.sweep:
            self._say("Only single runs are replayed in their own time.")
            return
        self.app.push_screen(PastScreen(self.page.glyphs, run))

    def action_rerun(self) -> None:
        run = self.page.chosen
        if run is not None:
            self._app.ask_run(run.spec)

    def action_export(self) -> None:
        run = self.page.chosen
        if run is None:
            return
        target = Path.cwd() / run.path.name
        try:
            if target.resolve() != run.path.resolve():
                shutil.copyfile(run.path, target)
        except OSError as error:
            self._say(f"Not exported: {target}: {error.strerror}")
            return
        self._say(f"The recording is copied here: tuiperf replay {target.name}")

    def action_delete(self) -> None:
        run = self.page.chosen
        if run is not None:
            question = f"Delete the recording of {run.peer}? It cannot be had back."
            sheet = QuestionScreen(question, self.page.glyphs)
            self.app.push_screen(sheet, partial(self._delete, run))

    def _delete(self, run: PastRun, really: bool | None) -> None:
        if not really:
            return
        try:
            run.path.unlink(missing_ok=True)
        except OSError as error:
            self._say(f"Not deleted: {run.path}: {error.strerror}")
            return
        page = self.page
        page.runs = [each for each in page.runs if each != run]
        page.first = None if page.first == run else page.first
        page.second = None if page.second == run else page.second
        page.selected = max(0, min(page.selected, len(page.runs) - 1))
        self._again()

    def action_back(self) -> None:
        if self.page.full:
            self.action_full()
        else:
            self.call_later(self.run_action, "app.go('home')")

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs, RECORDINGS_KEYS))

    async def action_quit(self) -> None:
        self._app.action_leave_app()

    def _say(self, text: str) -> None:
        self.app.notify(escape(text), timeout=4, markup=False)


def _session(run: PastRun) -> Session:
    """In a thread. Raises RecordingError."""
    return recording.replay_run(run.path)


class ReplayFeed:
    """A recorded run in its own time; stopped, it goes to its end at once."""

    def __init__(self, path: Path) -> None:
        self.session = Session()
        self._path = path
        self._stopped = asyncio.Event()

    async def run(self) -> str:
        try:
            await self._play(recording.read_run(self._path))
        except RecordingError as error:
            return str(error)
        return ""

    async def _play(self, events: Iterator[Event]) -> None:
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        for event in events:
            wait_s = begun_s + event.t_s - loop.time()
            if wait_s > 0 and not self._stopped.is_set():
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), wait_s)
            self.session = reduce(self.session, event)

    def stop(self) -> None:
        self._stopped.set()

    async def close(self) -> None:
        self._stopped.set()


class PastScreen(RunScreen):
    """A recorded run, finished or as it went. Leaving it leads back to the list."""

    def __init__(self, glyphs: Glyphs, run: PastRun, session: Session | None = None) -> None:
        path = str(run.path)

        def make_feed() -> tuple[Feed, str]:
            return ReplayFeed(run.path), path

        feeds = make_feed if session is None else None
        super().__init__(judge, glyphs, make_feed=feeds, session=session, recording=path)

    def action_quit(self) -> None:
        self.call_later(self._come_back)

    def action_back(self) -> None:
        if self.page.explaining:
            self.action_why()
        else:
            self.action_quit()

    def _keys(self) -> list[Key]:
        names = {"Stop": "To the end", "Rerun": "Replay"}
        keys = [Key(each.key, names.get(each.label, each.label)) for each in super()._keys()[:-1]]
        return [*keys, Key("q", "List")]

    async def _come_back(self) -> None:
        await self.abandon()
        self.dismiss()
