"""`tuiperf keys`: every action, the keys that do it, and the file that gives it others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from tuiperf import keymap
from tuiperf.actions import ACTIONS
from tuiperf.cli.printer import Printer
from tuiperf.cli.values import UsageError
from tuiperf.view.rows import escape

USAGE_CODE = 1
MISTAKE_CODE = 1


def run(words: Sequence[str]) -> int:
    """Print them; the exit code is 1 when the file of keys has a mistake."""
    printer = Printer(sys.stdout, sys.stderr)
    try:
        parser().parse_args(list(words))
    except UsageError as error:
        printer.complain(f"parameter error - {escape(error.text)}")
        return USAGE_CODE
    keys = keymap.load()
    printer.lines(lines(keys.wanted))
    for problem in keys.problems:
        printer.complain(f"warning - {escape(problem)}")
    return printer.code(MISTAKE_CODE if keys.problems else 0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf keys --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `keys`."""
    return _Parser(
        prog="tuiperf keys",
        description="Every action, its name for keys.toml, and its keys now and usually.",
        allow_abbrev=False,
    )


def lines(wanted: Mapping[str, str]) -> Iterator[str]:
    """The page, at most 79 columns where the user's own keys are short."""
    yield f"Keys of your own go into {escape(str(keymap.path()))}, a line for each action:"
    yield '  "run.stop" = "s,f5"'
    yield ""
    yield _line("action", "keys", "what it does")
    for name, action in ACTIONS.items():
        keys = wanted.get(name, action.keys)
        yield _line(name, keys, action.text)
        if keys != action.keys:
            yield _line("", f"usually {action.keys}", "").rstrip()


def _line(name: str, keys: str, text: str) -> str:
    return f"{name:<15}  {keys:<20}  {text}"
