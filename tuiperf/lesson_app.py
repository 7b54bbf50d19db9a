"""The terminal app opened on the lessons, as `tuiperf learn` does."""

from __future__ import annotations

from typing import Any

from tuiperf.app import TuiperfApp, show
from tuiperf.screens.lessons import LessonsScreen


class LessonApp(TuiperfApp):
    """The app, with the lessons first."""

    def __init__(self, screen: LessonsScreen, **rest: Any) -> None:
        self.lessons_screen = screen
        super().__init__(screen.page.glyphs, start="lessons", screens={"lessons": screen}, **rest)


def run_lessons(number: int | None, *, ascii: bool = False, mouse: bool = False) -> int:
    """Open a lesson on the screen, the first one for None; returns the exit code.

    Needs a terminal on standard input, output and error.
    """
    return show(
        lambda glyphs, **rest: LessonApp(LessonsScreen(glyphs, number or 1), **rest),
        ascii=ascii,
        mouse=mouse,
    )
