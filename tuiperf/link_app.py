"""The terminal app of the link check, and its page on the normal screen afterwards."""

from __future__ import annotations

import os
import sys

from tuiperf import guards
from tuiperf.app import AppScreen, ShellApp
from tuiperf.evidence.gather import Plan
from tuiperf.screens.link import LinkScreen, LinkSource
from tuiperf.theme import no_color
from tuiperf.view.link import plain_rows
from tuiperf.view.rows import ASCII, UNICODE, Glyphs
from tuiperf.view.terminal_text import painted


class LinkApp(ShellApp):
    """Holds the screen of a link check."""

    def __init__(
        self,
        plan: Plan,
        glyphs: Glyphs = UNICODE,
        *,
        source: LinkSource | None = None,
        meter: guards.ByteMeter | None = None,
        live: bool = True,
    ) -> None:
        super().__init__(meter=meter, live=live)
        self.link_screen = LinkScreen(plan, glyphs, source)

    @property
    def first(self) -> AppScreen:
        return self.link_screen


def run_link(plan: Plan, *, ascii: bool = False) -> int:
    """Look at a link on the screen, then print the page; returns the exit code.

    Needs a terminal on standard input, output and error.
    """
    glyphs = ASCII if ascii or guards.needs_ascii() else UNICODE
    with guards.metered() as meter:
        app = LinkApp(plan, glyphs, meter=meter)
        app.run(mouse=False)
    _print_page(app.link_screen, glyphs)
    return app.return_code or 0


def _print_page(screen: LinkScreen, glyphs: Glyphs) -> None:
    page = screen.page
    try:
        width = min(100, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        width = 80
    rows = plain_rows(page.facts, page.checks, page.verdicts, width, glyphs)
    try:
        print("\n".join(painted(row, not no_color()) for row in rows), flush=True)
    except OSError:
        return
