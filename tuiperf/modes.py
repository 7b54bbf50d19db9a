"""The modes of the app: which screens there are, under which keys, and how each is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.screen import Screen

    from tuiperf.app import TuiperfApp


@dataclass(frozen=True)
class Mode:
    """One mode. Its screen is imported when it is first shown, so that the first paint is soon."""

    name: str
    key: str
    title: str
    help: str
    make: Callable[[TuiperfApp], Screen[Any]]


def _home(app: TuiperfApp) -> Screen[Any]:
    from tuiperf.screens.home import HomeScreen

    return HomeScreen(app.glyphs)


def _run(app: TuiperfApp) -> Screen[Any]:
    return app.run_screen


def _sweep(app: TuiperfApp) -> Screen[Any]:
    from tuiperf.screens.sweep import SweepScreen
    from tuiperf.sweep.drive import Order

    return SweepScreen(app.glyphs, order=Order.towards(app.sweep_spec))


def _link(app: TuiperfApp) -> Screen[Any]:
    from tuiperf.evidence.gather import Plan
    from tuiperf.screens.link import LinkScreen

    return LinkScreen(Plan(), app.glyphs)


def _lessons(app: TuiperfApp) -> Screen[Any]:
    from tuiperf.screens.lessons import LessonsScreen

    return LessonsScreen(app.glyphs)


def _recordings(app: TuiperfApp) -> Screen[Any]:
    from tuiperf.screens.recordings import RecordingsScreen

    return RecordingsScreen(app.glyphs)


MODES = (
    Mode("home", "0", "Home", "Peers, this machine, what one can find out", _home),
    Mode("run", "1", "Run", "The run, live or over", _run),
    Mode("sweep", "2", "Sweep", "The tests that settle why a path is slow", _sweep),
    Mode("link", "3", "Link check", "What cable, card and path say", _link),
    Mode("lessons", "4", "Lessons", "What the numbers mean, with your own", _lessons),
    Mode("recordings", "5", "Recordings", "Past runs, and two side by side", _recordings),
)
"""All modes, by their keys. Home asks its questions under the same keys."""


def named(name: str) -> Mode:
    """The mode of this name."""
    return next(mode for mode in MODES if mode.name == name)
