"""The screen of the lessons: read a page, move sliders, answer, try it on a live path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from tuiperf.feed import Feed
from tuiperf.lessons import own
from tuiperf.lessons.own import OwnRun
from tuiperf.lessons.text import Lesson
from tuiperf.view.keys import Key
from tuiperf.view.lesson import LESSON_KEYS
from tuiperf.view.rows import Glyphs, escape
from tuiperf.widgets.lesson_panels import (
    CalculatorPanel,
    LessonHeading,
    LessonKeys,
    LessonList,
    LessonPage,
    LessonWidget,
    QuestionPanel,
    Reader,
)
from tuiperf.widgets.rows import RowsWidget

from .lesson_try import TryScreen, TrySheet, lab_feed, why_no_lab
from .sheets import HelpScreen

FACES = ("read", "try", "check")
"""What is shown where only one panel fits."""

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]


class LessonsScreen(Screen[None]):
    """The lessons, open at one of them, with the numbers of the newest recorded run."""

    CSS = """
    LessonsScreen {
        layout: vertical;
        LessonKeys { height: 1; }
        #lesson-top { layout: horizontal; height: 1fr; margin: 0 1; }
        #lesson-list { display: none; width: 24; margin: 0; }
        #reader { width: 1fr; margin: 0; }
        #calculator { width: 36; margin: 0; }
        #question { height: 7; }
        &.-wide #lesson-list { display: block; }
        &.-wide #calculator { width: 46; }
        &.-wide.-tall #question { height: 8; }
        &.-single #calculator, &.-single #question { display: none; }
        &.-single.-face-try #reader { display: none; }
        &.-single.-face-try #calculator { display: block; width: 1fr; }
        &.-single.-face-check #lesson-top { display: none; }
        &.-single.-face-check #question { display: block; height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,n,pagedown", "turn(1)", "Next page", id="lesson.next"),
        Binding("p,backspace,pageup", "turn(-1)", "Page before", id="lesson.before"),
        Binding("right_square_bracket", "lesson(1)", "Next lesson", id="lesson.later"),
        Binding("left_square_bracket", "lesson(-1)", "Lesson before", id="lesson.earlier"),
        Binding("left", "move(-1)", "Slider left", show=False),
        Binding("right", "move(1)", "Slider right", show=False),
        Binding("up", "choose(-1)", "Slider above", show=False),
        Binding("down", "choose(1)", "Slider below", show=False),
        Binding("r", "reset", "Put the sliders back", id="lesson.reset"),
        *(Binding(letter, f"answer('{letter}')", show=False) for letter in "abc"),
        Binding("t", "try", "Try on a live path", id="lesson.try"),
        Binding("tab", "face(1)", "Next panel", show=False, priority=True),
        Binding("shift+tab", "face(-1)", "Panel before", show=False, priority=True),
        Binding("j", "scroll_rows(1)", "Down", show=False),
        Binding("k", "scroll_rows(-1)", "Up", show=False),
        Binding("question_mark,f1", "help", "Help", id="lesson.help"),
        Binding("escape", "back", "Back", show=False),
        Binding("q,ctrl+c", "quit", "Quit", id="lesson.quit"),
    ]

    def __init__(
        self,
        glyphs: Glyphs,
        number: int = 1,
        *,
        news: Callable[[], OwnRun | None] | None = None,
        make_feed: Callable[[Lesson], tuple[Feed, str]] = lab_feed,
        why_not: Callable[[], Awaitable[str]] = why_no_lab,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self.page = LessonPage(glyphs, number=number)
        self.trying: TryScreen | None = None
        self._face = 0
        self._news = news or own.Newest().news
        self._make_feed = make_feed
        self._why_not = why_not

    def compose(self) -> ComposeResult:
        page = self.page
        yield LessonHeading(page, id="heading")
        with Horizontal(id="lesson-top"):
            yield LessonList(page, id="lesson-list", classes="panel")
            yield Reader(page, id="reader", classes="panel")
            yield CalculatorPanel(page, id="calculator", classes="panel")
        yield QuestionPanel(page, id="question", classes="panel")
        yield LessonKeys(page, id="keys")

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        self.sync()

    def on_screen_resume(self) -> None:
        """Shown again, perhaps after a run: its numbers are the newest now."""
        self.run_worker(self._look, thread=True, group="look", exclusive=True, exit_on_error=False)

    def _look(self) -> None:
        """In a thread: recordings take a moment to read."""
        run = self._news()
        if run is not None:
            self.app.call_from_thread(self._take, run)

    def _take(self, run: OwnRun) -> None:
        self.page.take(run)
        self.sync()

    def on_resize(self) -> None:
        self.sync()

    # As a screen of the app

    def tick(self) -> None:
        """Nothing moves here by itself but a run that is being tried."""
        if self.trying is not None:
            self.trying.tick()

    async def leave(self) -> None:
        """End what is being tried, in order."""
        if self.trying is not None:
            await self.trying.leave()

    async def abandon(self) -> None:
        """Let go of what is being tried, at once."""
        if self.trying is not None:
            await self.trying.abandon()

    def outcome(self) -> int:
        """The exit code."""
        return 0

    # The page

    @property
    def single(self) -> bool:
        """Only one panel fits."""
        return self.size.width < 76 or self.size.height < 22

    def open(self, number: int) -> None:
        """Open a lesson at its first page."""
        self.page.open(number)
        if self.is_mounted:
            self.sync()

    def sync(self) -> None:
        """Show the page as it is now."""
        self.set_class(self.single, "-single")
        for number, name in enumerate(FACES):
            self.set_class(number == self._face, f"-face-{name}")
        self._name_panels()
        self.query_one(LessonKeys).keys = self._keys()
        for widget in self.query(RowsWidget):
            widget.redraw()

    def _name_panels(self) -> None:
        page = self.page
        move = "up/down, left/right" if page.glyphs.ascii else "↑/↓ choose, ←/→ move"
        place = f"{page.at + 1} of {len(page.lesson.pages)}"
        for selector, name, hint in (
            ("#lesson-list", "Lessons", "[ and ]"),
            ("#reader", page.lesson.pages[page.at].title, f"{place}  space next"),
            ("#calculator", "Calculate", move),
            ("#question", "Check yourself", "" if page.answered else "a, b or c answers"),
        ):
            widget = self.query_one(selector, LessonWidget)
            if str(widget.border_title) != name:
                widget.border_title = name
            if str(widget.border_subtitle) != hint:
                widget.border_subtitle = hint

    def _keys(self) -> list[Key]:
        arrows = "<>" if self.page.glyphs.ascii else "←→"
        after = FACES[(self._face + 1) % len(FACES)].capitalize()
        keys = [Key("space", "Next"), Key("p", "Back")]
        keys += [Key("tab", after)] if self.single else []
        keys += [Key(arrows, "Slider"), Key("a/b/c", "Answer"), Key("t", "Live path")]
        return [*keys, Key("]", "Lesson"), Key("?", "Help"), Key("q", "Quit")]

    # What the reader can do

    def action_turn(self, step: int) -> None:
        if not self.page.turn(step):
            self._say("That was the last page." if step > 0 else "This is the first page.")
        self._face = 0
        self.sync()

    def action_lesson(self, step: int) -> None:
        self._face = 0
        self.open(self.page.number + step)

    def action_move(self, steps: int) -> None:
        self._show("try")
        self.page.move(steps)
        self.sync()

    def action_choose(self, step: int) -> None:
        self._show("try")
        self.page.choose(step)
        self.sync()

    def action_reset(self) -> None:
        self.page.reset()
        self.sync()

    def action_answer(self, letter: str) -> None:
        self._show("check")
        self.page.answer(letter)
        self.sync()

    def _show(self, face: str) -> None:
        if self.single:
            self._face = FACES.index(face)

    def action_face(self, step: int) -> None:
        if self.single:
            self._face = (self._face + step) % len(FACES)
            self.sync()

    def action_scroll_rows(self, step: int) -> None:
        self.query_one(Reader).scroll_rows(step)

    def action_back(self) -> None:
        if self.single and self._face:
            self._face = 0
            self.sync()
        else:
            self.run_worker(self.app.run_action("go('home')"), exit_on_error=False)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs, LESSON_KEYS))

    async def action_quit(self) -> None:
        if not await self.app.run_action("leave_app"):
            await self.app.action_quit()

    def action_try(self) -> None:
        self.run_worker(self._ask(), group="try", exclusive=True, exit_on_error=False)

    async def _ask(self) -> None:
        lesson = self.page.lesson
        why_not = await self._why_not()
        if await self.app.push_screen_wait(TrySheet(lesson, self.page.glyphs, why_not)):
            self.trying = TryScreen(partial(self._make_feed, lesson), self.page.glyphs)
            await self.app.push_screen_wait(self.trying)
            self._tried(self.trying)
            self.trying = None

    def _tried(self, screen: TryScreen) -> None:
        """Back from the live path: the lesson goes on with its numbers."""
        run = own.of(screen.result)
        if run is not None:
            self.page.take(run)
        self.sync()

    def _say(self, text: str, severity: Any = "information") -> None:
        self.app.notify(escape(text), severity=severity, timeout=4, markup=False)
