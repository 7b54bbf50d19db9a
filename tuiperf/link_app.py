"""The terminal app opened on a link check, and the check's page on the normal screen afterwards."""

from __future__ import annotations

from typing import Any

from tuiperf.app import TuiperfApp, show
from tuiperf.evidence.gather import Plan
from tuiperf.screens.link import LinkScreen, LinkSource
from tuiperf.view.link import plain_rows
from tuiperf.view.rows import UNICODE, Glyphs, Row


class LinkApp(TuiperfApp):
    """The app, with the link check first."""

    def __init__(
        self,
        plan: Plan,
        glyphs: Glyphs = UNICODE,
        *,
        source: LinkSource | None = None,
        **rest: Any,
    ) -> None:
        self.link_screen = LinkScreen(plan, glyphs, source)
        super().__init__(glyphs, start="link", screens={"link": self.link_screen}, **rest)

    def farewell_rows(self, width: int) -> list[Row]:
        page = self.link_screen.page
        rows = plain_rows(page.facts, page.checks, page.verdicts, width, self.glyphs)
        run = super().farewell_rows(width)
        return [*rows, [], *run] if run else rows


def run_link(plan: Plan, *, ascii: bool = False, mouse: bool = False) -> int:
    """Look at a link on the screen, then print the page; returns the exit code.

    Needs a terminal on standard input, output and error.
    """
    return show(lambda glyphs, **rest: LinkApp(plan, glyphs, **rest), ascii=ascii, mouse=mouse)
