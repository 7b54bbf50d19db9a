"""`tuiperf compare A B`: two recorded runs side by side, as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tuiperf import recording, runs
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import Terminal, may_colour
from tuiperf.cli.values import UsageError
from tuiperf.recording import RecordingError
from tuiperf.rules.compare import compare
from tuiperf.session import Session
from tuiperf.view.compare import all_rows
from tuiperf.view.rows import ASCII, UNICODE, Row, escape
from tuiperf.view.terminal_text import painted

USAGE_CODE = 1
WIDTH = 79


def run(words: Sequence[str]) -> int:
    """Do what the words after `compare` ask for and return the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    try:
        asked = parser().parse_args(list(words))
        named = [path_of(word) for word in (asked.first, asked.second)]
        sessions = [recording.replay_run(path) for path in named]
    except UsageError as error:
        printer.complain(f"parameter error - {escape(error.text)}")
        return USAGE_CODE
    except RecordingError as error:
        printer.complain(f"error - {escape(str(error))}")
        return 1
    glyphs = ASCII if asked.ascii or not Terminal.here().speaks_utf8 else UNICODE
    colour = may_colour(printer.stream)
    rows: list[Row] = [
        [("A  ", "key"), (glyphs.text(_title(sessions[0], named[0])), "text")],
        [("B  ", "key"), (glyphs.text(_title(sessions[1], named[1])), "text")],
        [],
        *all_rows(compare(*sessions), WIDTH, glyphs),
    ]
    printer.lines(painted(row, colour) for row in rows)
    return printer.code(0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf compare --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `compare`."""
    made = _Parser(
        prog="tuiperf compare",
        description="Two recorded runs: what was set differently, and whether the figures differ "
        "by more than the noise, which is the scatter of each run's own intervals.",
        allow_abbrev=False,
    )
    for name, which in (("first", "A"), ("second", "B")):
        made.add_argument(
            name, metavar=which, help="a recording's file, or its number in `tuiperf recordings`"
        )
    made.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    return made


def path_of(word: str) -> Path:
    """The file that a word names: a number is a place in the list. Raises UsageError."""
    if not (word.isascii() and word.isdigit()) or Path(word).exists():
        return Path(word)
    listed = runs.listing()
    if not 1 <= int(word[:9]) <= len(listed):
        raise UsageError(0, f"there is no recording {word}: tuiperf recordings lists {len(listed)}")
    return listed[int(word) - 1].path


def _title(session: Session, path: Path) -> str:
    way = session.words(next(iter(session.flows))) if session.flows else session.peer
    return f"{way}, {path}"
