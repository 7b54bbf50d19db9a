"""The terminal app opened on a sweep, and the sweep's page on the normal screen afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tuiperf.app import TuiperfApp, show
from tuiperf.report.sweep_markdown import markdown
from tuiperf.screens.sweep import SweepScreen
from tuiperf.sweep.drive import Order
from tuiperf.sweep.state import SweepState
from tuiperf.view.rows import UNICODE, Glyphs, Row, escape


class SweepApp(TuiperfApp):
    """The app, with a sweep first."""

    def __init__(self, screen: SweepScreen, glyphs: Glyphs = UNICODE, **rest: Any) -> None:
        self.sweep_screen = screen
        super().__init__(glyphs, start="sweep", screens={"sweep": screen}, **rest)

    def farewell_rows(self, width: int) -> list[Row]:
        rows = self.sweep_screen.page_rows(width)
        run = super().farewell_rows(width)
        return [*rows, [], *run] if run else rows


def run_sweep(order: Order, *, ascii: bool = False, report: str = "") -> int:
    """Sweep on the screen, then print the page; returns the exit code.

    Needs a terminal on standard input, output and error.
    """
    made: list[SweepScreen] = []

    def make(glyphs: Glyphs, **rest: Any) -> SweepApp:
        made.append(SweepScreen(glyphs, order=order))
        return SweepApp(made[0], glyphs, **rest)

    code = show(make, ascii=ascii)
    if report and made:
        state = made[0].page.state
        try:
            Path(report).write_text(markdown(state, state.conclusion()), encoding="utf-8")
        except OSError as error:
            print(f"tuiperf: error - {escape(report)}: {error.strerror}", file=sys.stderr)
    return code


def show_sweep(state: SweepState, *, ascii: bool = False, recording: str = "") -> int:
    """Show a recorded sweep; `recording` is its file. Returns the exit code."""
    show(
        lambda glyphs, **rest: SweepApp(
            SweepScreen(glyphs, state=state, recording=recording), glyphs, **rest
        ),
        ascii=ascii,
    )
    return 0
