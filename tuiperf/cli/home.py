"""`tuiperf` alone: the app's first screen, or in plain text a short page of what one can do."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from tuiperf import peers
from tuiperf.cli.options import OutputSettings
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import Terminal, choose, may_colour
from tuiperf.cli.values import UsageError
from tuiperf.glance import Glance, glance
from tuiperf.peers import Peer
from tuiperf.view.home import ago, machine_rows, rate_text
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, Row, escape, pad, pad_left, to_text, wrap
from tuiperf.view.terminal_text import painted

USAGE_CODE = 1
NO_SCREEN_CODE = 2
WIDTH = 79

COMMANDS = (
    ("tuiperf run HOST", "how fast is this path? a test, live"),
    ("tuiperf sweep HOST", "why is it slower than it should be? about 2 min"),
    ("tuiperf link [HOST]", "is the link itself healthy? no peer needed"),
    ("tuiperf learn [N]", "what does this number mean? eight lessons"),
    ("tuiperf recordings", "has anything changed? past runs; compare A B"),
    ("tuiperf demo", "try it on a path made here"),
    ("tuiperf -s", "be the server that others measure towards"),
    ("tuiperf --help", "every option"),
)
"""What one would like to find out, and the command that does."""


def run(words: Sequence[str]) -> int:
    """Do what the words after `home` ask for and return the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    try:
        asked = parser().parse_args(list(words))
    except UsageError as error:
        printer.complain(f"parameter error - {escape(error.text)}")
        return USAGE_CODE
    if asked.forget:
        return _forget(asked.forget, printer)
    surface = "tui" if asked.tui else "plain" if asked.plain else "auto"
    opening = choose(OutputSettings(surface=surface, ascii=asked.ascii), Terminal.here())
    if opening.refused:
        printer.complain(f"error - the screen cannot open: {opening.why}")
        return NO_SCREEN_CODE
    if opening.screen:
        from tuiperf.app import run_mode

        return run_mode("home", ascii=opening.ascii, mouse=asked.mouse)
    glyphs = ASCII if opening.ascii else UNICODE
    colour = may_colour(printer.stream)
    rows = page_rows(peers.load(), glance(), glyphs, time.time())
    printer.lines(painted(row, colour) for row in rows)
    return printer.code(0)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf home --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `home`."""
    made = _Parser(
        prog="tuiperf home",
        description="Where to begin: what one can find out, this machine, peers measured before.",
        allow_abbrev=False,
    )
    made.add_argument("--forget", metavar="PEER", help="forget a peer, or 'all'; recordings stay")
    made.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    made.add_argument("--mouse", action="store_true", help="let the screen take the mouse")
    surface = made.add_mutually_exclusive_group()
    surface.add_argument("--plain", action="store_true", help="text instead of the screen")
    surface.add_argument("--tui", action="store_true", help="the screen, or an error")
    return made


def _forget(peer: str, printer: Printer) -> int:
    done = peers.forget_all() if peer == "all" else peers.forget(peer)
    if done:
        return 0
    printer.complain(f"error - no peer '{escape(peer)}' is remembered")
    return 1


def page_rows(known: Sequence[Peer], seen: Glance, glyphs: Glyphs, now_s: float) -> list[Row]:
    """The plain page, each row at most WIDTH cells."""
    rows: list[Row] = [[("tuiperf  ", "title"), ("what would you like to find out?", "strong")], []]
    rows += [
        [(f"  {pad(command, 22)}", "key"), (glyphs.text(text), "text")]
        for command, text in COMMANDS
    ]
    rows += [[], [("This machine  ", "label"), (glyphs.text(seen.host), "strong")]]
    rows += [_stripped(row) for row in machine_rows(seen, WIDTH - 1, 8, glyphs) if to_text(row)]
    if known:
        rows += [[], [("Recent peers", "label")]]
    for peer in known:
        rows += _peer(peer, glyphs, now_s)
    return rows


def _peer(peer: Peer, glyphs: Glyphs, now_s: float) -> list[Row]:
    sign = {"fine": "ok", "look": "look", "fault": "fault"}.get(peer.level, "pending")
    row: Row = [
        (f"  {pad(glyphs.text(peer.target), 30)}", "strong"),
        (f"{pad_left(rate_text(peer.goodput_bps), 9)} Mbit/s  ", "text"),
        (f"{getattr(glyphs, sign) if peer.title else ' '} ", sign),
        (pad(glyphs.text(peer.title), 18), "text"),
        (f" {ago(peer.when_s, now_s)}", "muted"),
    ]
    command = shlex.join(["tuiperf", "run", peer.target, *peer.words])
    return [row, *([(f"    {line}", "muted")] for line in wrap(glyphs.text(command), WIDTH - 4))]


def _stripped(row: Row) -> Row:
    return [(" ", "text"), *row]
