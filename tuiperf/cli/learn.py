"""`tuiperf learn`: the lessons, on a screen where the terminal can, else as text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from tuiperf.cli.options import OutputSettings
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import Terminal, choose, may_colour
from tuiperf.cli.values import UsageError
from tuiperf.lessons import own
from tuiperf.lessons.calculators import Calculator, calculator
from tuiperf.lessons.case import case_of
from tuiperf.lessons.numbers import numbers
from tuiperf.lessons.questions import LETTERS, question
from tuiperf.lessons.text import NUMBERS, lesson, lessons
from tuiperf.view.lesson_plain import contents_rows, lesson_rows
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, Row, escape
from tuiperf.view.terminal_text import painted

USAGE_CODE = 1
NO_SCREEN_CODE = 2
WIDTH = 79

_DESCRIPTION = """\
Lessons on reading a measurement, with the numbers of your newest recorded run:
1 columns, 2 bandwidth-delay product, 3 window or wire, 4 loss, 5 queues,
6 the link, 7 UDP, 8 when this is the wrong tool. Without a terminal, or with
--plain, a lesson is printed; without N their titles are."""


def run(words: Sequence[str]) -> int:
    """Do what the words after `learn` ask for and return the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    try:
        asked = parser().parse_args(list(words))
        return _learn(asked, printer)
    except UsageError as error:
        printer.complain(f"parameter error - {escape(error.text)}")
        return USAGE_CODE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf learn --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `learn`."""
    made = _Parser(
        prog="tuiperf learn",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("number", nargs="?", type=_number, metavar="N", help="the lesson, 1 to 8")
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="calculate with this, as rtt=100ms; prints",
    )
    made.add_argument("--answer", choices=LETTERS, help="answer the lesson's question; prints")
    made.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    surface = made.add_mutually_exclusive_group()
    surface.add_argument("--plain", action="store_true", help="text instead of the screen")
    surface.add_argument("--tui", action="store_true", help="the screen, or an error")
    return made


def _number(text: str) -> int:
    if text not in map(str, NUMBERS):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no lesson: there are {NUMBERS[0]} to {NUMBERS[-1]}"
        )
    return int(text)


def _learn(asked: argparse.Namespace, printer: Printer) -> int:
    if (asked.set or asked.answer) and asked.number is None:
        raise UsageError(0, "--set and --answer belong to a lesson: tuiperf learn N")
    if (asked.set or asked.answer) and asked.tui:
        raise UsageError(0, "--set and --answer print: --tui does not go with them")
    surface = "tui" if asked.tui else "plain" if asked.plain or asked.set or asked.answer else ""
    opening = choose(OutputSettings(surface=surface or "auto", ascii=asked.ascii), Terminal.here())
    if opening.refused:
        printer.complain(f"error - the screen cannot open: {opening.why}")
        return NO_SCREEN_CODE
    if opening.screen:
        from tuiperf.lesson_app import run_lessons

        return run_lessons(asked.number, ascii=opening.ascii)
    glyphs = ASCII if opening.ascii else UNICODE
    colour = may_colour(printer.stream)
    printer.lines(painted(row, colour) for row in _page(asked, glyphs))
    return printer.code(0)


def _page(asked: argparse.Namespace, glyphs: Glyphs) -> list[Row]:
    if asked.number is None:
        return contents_rows(lessons(), WIDTH, glyphs)
    case = case_of(own.Newest().news())
    return lesson_rows(
        lesson(asked.number),
        numbers(case),
        WIDTH,
        glyphs,
        calculator=_with_settings(calculator(asked.number, case), asked.set),
        question=question(asked.number, case),
        own=case.run is not None,
        answered=asked.answer or "",
    )


def _with_settings(found: Calculator, settings: Sequence[str]) -> Calculator:
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            found = found.set(name, value)
        except ValueError as error:
            raise UsageError(0, f"--set {setting}: {error}") from None
    return found
