"""The terminal app of the lessons alone, as `tuiperf learn` opens it."""

from __future__ import annotations

from tuiperf import guards
from tuiperf.app import AppScreen, ShellApp
from tuiperf.screens.lessons import LessonsScreen
from tuiperf.view.rows import ASCII, UNICODE, Glyphs


class LessonApp(ShellApp):
    """Holds the screen of the lessons."""

    def __init__(
        self,
        screen: LessonsScreen,
        *,
        meter: guards.ByteMeter | None = None,
        live: bool = True,
    ) -> None:
        super().__init__(meter=meter, live=live)
        self.lessons_screen = screen

    @property
    def first(self) -> AppScreen:
        return self.lessons_screen


def run_lessons(number: int | None, *, ascii: bool = False) -> int:
    """Open a lesson on the screen, the first one for None; returns the exit code.

    Needs a terminal on standard input, output and error.
    """
    glyphs: Glyphs = ASCII if ascii or guards.needs_ascii() else UNICODE
    with guards.metered() as meter:
        app = LessonApp(LessonsScreen(glyphs, number or 1), meter=meter)
        app.run(mouse=False)
    return app.return_code or 0
