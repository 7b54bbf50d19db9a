"""`tuiperf recordings`: the past runs, on a screen where the terminal can, else as text."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from tuiperf.cli.values import UsageError

USAGE_CODE = 1
NO_SCREEN_CODE = 2
WIDTH = 79


def run(words: Sequence[str]) -> int:
    """Do what the words after `recordings` ask for and return the exit code."""
    from tuiperf.cli.options import OutputSettings
    from tuiperf.cli.printer import Printer
    from tuiperf.cli.terminal import Terminal, choose

    printer = Printer(sys.stdout, sys.stderr)
    try:
        asked = parser().parse_args(list(words))
    except UsageError as error:
        printer.complain(f"parameter error - {error.text}")
        return USAGE_CODE
    surface = "tui" if asked.tui else "plain" if asked.plain else "auto"
    opening = choose(OutputSettings(surface=surface, ascii=asked.ascii), Terminal.here())
    if opening.refused:
        printer.complain(f"error - the screen cannot open: {opening.why}")
        return NO_SCREEN_CODE
    if opening.screen:
        from tuiperf.app import run_mode

        return run_mode("recordings", ascii=opening.ascii, mouse=asked.mouse)
    printer.lines(_page(opening.ascii, printer.stream, asked.files))
    return printer.code(0)


def _page(ascii_only: bool, stream: object, files: bool) -> list[str]:
    from tuiperf import runs
    from tuiperf.cli.terminal import may_colour
    from tuiperf.view.recordings import plain_rows
    from tuiperf.view.rows import ASCII, UNICODE, escape
    from tuiperf.view.terminal_text import painted

    listed = runs.listing()
    if files:
        return [escape(str(each.path)) for each in listed]
    colour = may_colour(stream)  # type: ignore[arg-type]
    rows = plain_rows(listed, WIDTH, ASCII if ascii_only else UNICODE, time.time())
    return [painted(row, colour) for row in rows]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf recordings --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `recordings`."""
    made = _Parser(
        prog="tuiperf recordings",
        description="This machine's past runs, newest first. tuiperf replay shows one again, "
        "tuiperf compare two side by side.",
        allow_abbrev=False,
    )
    made.add_argument("--files", action="store_true", help="print only their files")
    made.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    made.add_argument("--mouse", action="store_true", help="let the screen take the mouse")
    surface = made.add_mutually_exclusive_group()
    surface.add_argument("--plain", action="store_true", help="text instead of the screen")
    surface.add_argument("--tui", action="store_true", help="the screen, or an error")
    return made
