"""`tuiperf`: from the words on the command line to what they ask for. Imports nothing early."""

from __future__ import annotations

import errno
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuiperf.cli.options import Invocation
    from tuiperf.cli.terminal import Opening

INTERRUPTED_CODE = 130
NO_SCREEN_CODE = 2
OWN_WORDS = (
    "home", "sweep", "lab", "link", "learn", "recordings", "compare", "keys", "completion", "man"
)  # fmt: skip
"""Commands that read the words behind them by themselves (grammar.OTHER_COMMANDS)."""

WHERE_OPTIONS = ("-p", "--port", "-4", "--version4", "-6", "--version6", "-B", "--bind")
HOW_OPTIONS = ("--tui", "--ascii", "--record", "--no-record")
DISK_TROUBLE = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)


def entry() -> NoReturn:
    """The `tuiperf` command."""
    try:
        code = main(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED_CODE
    except BrokenPipeError:
        from tuiperf.cli.printer import GONE_CODE, silence

        silence(sys.stdout)
        code = GONE_CODE
    except OSError as error:
        if error.errno not in DISK_TROUBLE:
            raise
        from tuiperf.cli.printer import silence

        silence(sys.stdout)
        _complain(f"error - cannot write: {error.strerror}")
        code = 1
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Do what the words ask for and return the exit code."""
    if list(argv) in (["--version"], ["-v"], ["version"]):
        return _version()
    if not argv or argv[0] in OWN_WORDS:
        name = argv[0] if argv else "home"
        run: Callable[[Sequence[str]], int] = import_module(f"tuiperf.cli.{name}").run
        return run(argv[1:])
    from tuiperf.cli.options import UsageError, parse

    try:
        asked = parse(argv)
        if asked.command == "run" and _says_only_where(argv):
            return _find_out(asked)
        return _do(asked)
    except UsageError as error:
        _complain(f"parameter error - {error.text}")
        return 1


def _do(asked: Invocation) -> int:
    if asked.command == "version":
        return _version()
    if asked.command == "help":
        from tuiperf.cli.help import page

        return _say(page())
    for note in asked.notes:
        _complain(f"warning - {note}")
    if asked.command in ("client", "server"):
        from tuiperf.cli import iperf3

        return iperf3.run(asked)
    if asked.command == "replay":
        return _replay(asked)
    return _demo(asked) if asked.command == "demo" else _live(asked)


def _says_only_where(argv: Sequence[str]) -> bool:
    """`tuiperf HOST`: neither the command is named nor anything about what to measure."""
    options = (word.partition("=")[0] for word in argv if word.startswith("-"))
    return argv[0] != "run" and all(name in (*WHERE_OPTIONS, *HOW_OPTIONS) for name in options)


def _find_out(asked: Invocation) -> int:
    """The guided sweep where the terminal has a screen for it; for scripts it stays a run."""
    from tuiperf.cli.terminal import Terminal, choose

    if asked.client is None or not choose(asked.output, Terminal.here()).screen:
        return _do(asked)
    from tuiperf.cli import sweep
    from tuiperf.cli.recorded import recorded
    from tuiperf.sweep.drive import Order

    for note in asked.notes:
        _complain(f"warning - {note}")
    return sweep.sweep(Order.towards(recorded(asked.client, asked.output.record)), asked.output)


def _demo(asked: Invocation) -> int:
    from tuiperf.cli.demo import demo_path
    from tuiperf.engine.errors import EngineError

    try:
        with demo_path(asked, _complain) as towards_it:
            return _live(towards_it)
    except EngineError as error:
        _complain(f"error - {error}")
        return 1


def _live(asked: Invocation) -> int:
    """A run on the screen where the terminal can, in plain text where it cannot."""
    from tuiperf.cli.credentials import logged_in
    from tuiperf.cli.recorded import recorded

    if asked.client is None:
        return 1
    if asked.output.json:
        from tuiperf.cli import iperf3

        return iperf3.run(asked)
    opening = _opening(asked)
    if opening is None:
        return NO_SCREEN_CODE
    spec = logged_in(recorded(asked.client, asked.output.record), asked.login)
    if opening.screen:
        from tuiperf.app import run_app

        return run_app(spec, ascii=opening.ascii, passing=asked.command == "demo")
    from tuiperf.cli import plain

    passing = asked.command == "demo"
    return plain.run(spec, asked.output, ascii_only=opening.ascii, passing=passing)


def _replay(asked: Invocation) -> int:
    from tuiperf.cli import replay
    from tuiperf.sweep.replay import holds_sweep

    if holds_sweep(asked.file):
        from tuiperf.cli import sweep

        return sweep.show(asked.file, asked.output)

    opening = _opening(asked)
    if opening is None:
        return NO_SCREEN_CODE
    if opening.screen:
        from tuiperf.app import run_replay

        return run_replay(asked.file, ascii=opening.ascii)
    return replay.run(asked.file, asked.output, ascii_only=opening.ascii)


def _opening(asked: Invocation) -> Opening | None:
    """How to show it, with a word on stderr when that is not the screen; None: it cannot be."""
    from tuiperf.cli.terminal import Terminal, choose

    opening = choose(asked.output, Terminal.here())
    if opening.refused:
        _complain(f"error - the screen cannot open: {opening.why}")
        return None
    if opening.why:
        _complain(f"plain text, for {opening.why}")
    return opening


def _version() -> int:
    from tuiperf.cli.version import text

    return _say(text())


def _say(text: str) -> int:
    if sys.stdout is not None:
        sys.stdout.write(text)
    return 0


def _complain(text: str) -> None:
    if sys.stderr is not None:
        print(f"tuiperf: {_printable(text)}", file=sys.stderr)


def _printable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
