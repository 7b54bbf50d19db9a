"""`tuiperf sweep HOST`: runs the experiments that settle why a path is slow.

On the screen where the terminal can, else as text; --json and --report for scripts and tickets.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from tuiperf.cli.options import OutputSettings
from tuiperf.cli.page import WIDTH, Look, look_of
from tuiperf.cli.printer import Printer
from tuiperf.cli.recorded import recorded
from tuiperf.cli.terminal import Terminal, choose
from tuiperf.cli.values import UsageError, amount
from tuiperf.cli.values import target as host_of
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import DEFAULT_PORT, ClientSpec
from tuiperf.events import Event, Looked, Note, StepEnded, StepStarted, SweepEnded, SweepStarted
from tuiperf.recording import RecordingError
from tuiperf.report.sweep_json import document, dump
from tuiperf.report.sweep_markdown import markdown
from tuiperf.sweep import replay
from tuiperf.sweep.drive import WAIT_S, Order, Sweep
from tuiperf.sweep.known import TIME_S, Limits, Mode
from tuiperf.sweep.state import SweepState
from tuiperf.view.rows import Row, escape, fit, wrap
from tuiperf.view.sweep_page import idle_words, page_rows
from tuiperf.view.sweep_words import name_of, plan_of, result_of, way_of
from tuiperf.view.verdicts import verdict_line

USAGE_CODE = 64  # EX_USAGE of sysexits.h
INTERRUPTED_CODE = 130
LEAST_BUDGET_BYTES = 1_000_000
LEAST_RATE_BPS = 100_000
MOST_WAIT_S = 86_400

_DESCRIPTION = f"""\
Find out why a path is slow: one test after another, each for a reason that is
told, until the cause is settled; at most {TIME_S[Mode.USUAL]:.0f} s. The far end needs an iperf3
server (iperf3 -s, 3.7 or later) or tuiperf -s.

Exit code: 0 healthy, 1 a setting or something worth a look, 2 a fault, 3 not
settled; 64 and above: no sweep. Ctrl+C ends with what is known by then."""


def run(words: Sequence[str]) -> int:
    """Do what the words after `sweep` ask for and return the exit code."""
    try:
        return _run(parser().parse_args(list(words)))
    except UsageError as error:
        Printer(sys.stdout, sys.stderr).complain(f"parameter error - {error.text}")
        return USAGE_CODE
    except KeyboardInterrupt:
        return INTERRUPTED_CODE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf sweep --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `sweep`."""
    parser = _Parser(
        prog="tuiperf sweep",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("host", metavar="HOST", help="a name or an address, with :PORT if need be")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument(
        "--quick", action="store_true", help=f"at most {TIME_S[Mode.QUICK]:.0f} s, shorter steps"
    )
    depth.add_argument(
        "--thorough",
        action="store_true",
        help=f"all experiments, longer ones, at most {TIME_S[Mode.THOROUGH]:.0f} s",
    )
    add("--budget", type=_budget, default=0, metavar="N[KMG]B", help="carry no more than this")
    add("--max-rate", type=_rate, default=0, metavar="RATE", help="send no faster, as 200M")
    add(
        "--wait",
        type=_wait,
        default=WAIT_S,
        metavar="SECONDS",
        help=f"how long to wait for a busy server ({WAIT_S:.0f})",
    )
    add("--report", metavar="FILE", help="write a report in Markdown")
    add("-J", "--json", action="store_true", help="one JSON document")
    add("-p", "--port", type=_port, help=f"the server's port ({DEFAULT_PORT})")
    family = parser.add_mutually_exclusive_group()
    family.add_argument("-4", dest="family", action="store_const", const=4, help="IPv4 only")
    family.add_argument("-6", dest="family", action="store_const", const=6, help="IPv6 only")
    add("-B", "--bind", default="", metavar="HOST", help="our own address")
    add("--record", metavar="FILE", default="auto", help="keep the sweep in a file")
    add("--no-record", dest="record", action="store_const", const="none", help="keep no file")
    add("--ascii", action="store_true", help="draw with ASCII alone")
    surface = parser.add_mutually_exclusive_group()
    surface.add_argument("--plain", action="store_true", help="text instead of the screen")
    surface.add_argument("--tui", action="store_true", help="the screen, or an error")
    return parser


def _budget(text: str) -> int:
    """Bytes, decimal: 500MB, 2G."""
    size = _amount(text)
    if size < LEAST_BUDGET_BYTES:
        raise argparse.ArgumentTypeError(f"'{text}' is too little to measure with: 1MB or more")
    return size


def _rate(text: str) -> int:
    bps = _amount(text)
    if bps < LEAST_RATE_BPS:
        raise argparse.ArgumentTypeError(f"'{text}' is too slow to measure with: 100K or more")
    return bps


def _amount(text: str) -> int:
    try:
        return amount(1000)(text[:-1] if text[-1:] in "bB" else text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(error.text) from None


def _wait(text: str) -> float:
    if not text.isascii() or not text.isdigit() or len(text) > 6 or int(text) > MOST_WAIT_S:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds up to {MOST_WAIT_S}")
    return float(text)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port number")
    return int(text)


def order_of(asked: argparse.Namespace) -> Order:
    """The sweep that the words ask for. Raises UsageError."""
    where = host_of(asked.host)
    port = asked.port or where.port or DEFAULT_PORT
    if asked.port and where.port not in (None, asked.port):
        raise UsageError(26, f"'{asked.host}' and -p {asked.port} name two ports")
    spec = ClientSpec(
        where.host,
        port=port,
        family=asked.family or 0,
        bind_host=asked.bind,
        bind_device=where.device,
    )
    try:
        spec.check()
    except EngineError as error:
        raise UsageError(error.code, error.text) from None
    spec = recorded(spec, asked.record)
    mode = Mode.QUICK if asked.quick else Mode.THOROUGH if asked.thorough else Mode.USUAL
    limits = Limits.of(mode, asked.budget, asked.max_rate)
    return Order(spec, limits, asked.wait)


def _run(asked: argparse.Namespace) -> int:
    if asked.tui and asked.json:
        raise UsageError(0, "--tui and --json exclude each other")
    _try_report(asked.report)
    order = order_of(asked)
    surface = "tui" if asked.tui else "plain" if asked.plain else "auto"
    output = OutputSettings(json=asked.json, surface=surface, ascii=asked.ascii)
    return sweep(order, output, asked.report or "")


def sweep(order: Order, output: OutputSettings, report: str = "") -> int:
    """Run a sweep on the surface that the settings and the terminal allow."""
    opening = choose(output, Terminal.here())
    with Printer.open("") as printer:
        if opening.refused:
            printer.complain(f"error - the screen cannot open: {opening.why}")
            return USAGE_CODE
        if opening.screen:
            from tuiperf.sweep_app import run_sweep

            return run_sweep(order, ascii=opening.ascii, report=report)
        return _plain(order, output, printer, report, ascii_only=opening.ascii)


def _plain(
    order: Order, output: OutputSettings, printer: Printer, report: str, *, ascii_only: bool
) -> int:
    page = SweepPage(look_of(output, printer, ascii_only))

    def tell(event: Event) -> None:
        if not output.json:
            printer.lines(page.lines(running.state, event))
        if printer.gone:
            running.stop()

    running = Sweep(order, tell=tell)
    asyncio.run(_until_over(running))
    if output.json:
        found = document(running.state, running.state.conclusion(), order.spec.recording)
        printer.lines([dump(found)])
    else:
        printer.lines(page.ending(running.state, order.spec.recording))
    if running.problem:
        printer.complain(f"warning - {page.look.glyphs.text(running.problem)}")
    write_report(running.state, report, printer)
    return printer.code(running.state.exit_code)


def show(path: str, output: OutputSettings) -> int:
    """A recorded sweep again, on the surface that the settings and the terminal allow."""
    opening = choose(output, Terminal.here())
    with Printer.open(output.logfile) as printer:
        try:
            if opening.screen:
                from tuiperf.sweep_app import show_sweep

                return show_sweep(replay.replay(path), ascii=opening.ascii, recording=path)
            return _replayed(path, output, printer, ascii_only=opening.ascii)
        except RecordingError as error:
            printer.complain(f"error - {escape(str(error))}")
            return printer.code(1)


def _replayed(path: str, output: OutputSettings, printer: Printer, *, ascii_only: bool) -> int:
    state = SweepState()
    page = SweepPage(look_of(output, printer, ascii_only))
    for grown, event in replay.states(path):
        state = grown
        if not output.json:
            printer.lines(page.lines(state, event))
        if printer.gone:
            break
    if output.json:
        printer.lines([dump(document(state, state.conclusion(), path))])
    else:
        printer.lines(page.ending(state))
    return printer.code(0)


async def _until_over(running: Sweep) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, running.stop)
    await running.run()


def _try_report(report: str | None) -> None:
    """Know before the sweep that its report can be written. Raises UsageError."""
    if not report:
        return
    try:
        Path(report).open("ab").close()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(0, f"cannot write the report '{report}': {why}") from None


def write_report(state: SweepState, report: str, printer: Printer) -> None:
    """Write the Markdown report, or say why not."""
    if not report:
        return
    try:
        Path(report).write_text(markdown(state, state.conclusion()), encoding="utf-8")
    except OSError as error:
        printer.complain(f"error - cannot write '{report}': {error.strerror}")


class SweepPage:
    """The plain page of a sweep, line by line as it becomes known."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._told: tuple[str, str] = ("", "")

    def lines(self, state: SweepState, event: Event) -> list[str]:
        """What an event adds to the page; the state has it already."""
        return [self.look.painted(row) for row in self._rows(state, event)]

    def ending(self, state: SweepState, recording: str = "") -> list[str]:
        """The end page."""
        rows = page_rows(state, state.conclusion(), WIDTH, self.look.glyphs, recording)
        return ["", *(self.look.painted(row) for row in rows)]

    def _rows(self, state: SweepState, event: Event) -> Iterator[Row]:
        if isinstance(event, SweepStarted):
            yield from self._opening(state)
        elif isinstance(event, StepStarted):
            yield from self._begun(state)
        elif isinstance(event, Looked) and state.idle is not None:
            yield from self._wrapped(idle_words(state.idle), "text")
        elif isinstance(event, StepEnded):
            yield from self._finished(state)
        elif isinstance(event, Note):
            yield from self._wrapped(event.text, "look")
        elif isinstance(event, SweepEnded):
            yield [(f"  {self.look.glyphs.text(event.text)}", "strong")]

    def _opening(self, state: SweepState) -> Iterator[Row]:
        glyphs = self.look.glyphs
        host = state.spec.host if state.spec else ""
        port = f" port {state.spec.port}" if state.spec else ""
        yield [("tuiperf  ", "title"), (glyphs.text(f"sweep towards {host}{port}"), "strong")]
        bounds = state.limits
        limits = [f"at most {bounds.time_s:.0f} s; it stops when the cause is settled"]
        if bounds.budget_bytes:
            limits.append(f"carries {bounds.budget_bytes / 1e6:g} MB at most")
        if bounds.max_rate_bps:
            limits.append(f"sends {bounds.max_rate_bps / 1e6:g} Mbit/s at most")
        for line in limits:
            yield [(f"         {glyphs.text(line)}", "muted")]
        yield []

    def _begun(self, state: SweepState) -> Iterator[Row]:
        glyphs = self.look.glyphs
        row = state.rows[-1]
        step = row.step
        name = glyphs.text(f"{name_of(step)} {way_of(step)}".rstrip())
        took = f"{state.t_s:.0f} s so far" if row.number > 1 else ""
        plan = ", ".join(filter(None, (plan_of(step), took)))
        yield [(f"{row.number:>3}  ", "label"), (name, "strong"), (f"   {plan}", "muted")]
        yield from self._wrapped(step.why, "muted")
        for outcome in step.outcomes:
            yield from self._wrapped(f"{glyphs.dot} {outcome}", "muted", 7)

    def _finished(self, state: SweepState) -> Iterator[Row]:
        row = state.rows[-1]
        done = row.done
        for line in result_of(row):
            yield from self._wrapped(line, "text")
        if done is not None and done.readings:
            first = state.conclusion().first
            told = (first.id, first.confidence.value)
            verdict = done.readings[0].verdict
            yield fit([("   ", "text"), *verdict_line(verdict, WIDTH - 3, self.look.glyphs)], WIDTH)
            if told != self._told and first.id != verdict.id:
                text = f"so far: {first.title}, {first.confidence.value} confidence"
                yield from self._wrapped(text, "strong")
            self._told = told
        yield []

    def _wrapped(self, text: str, role: str, indent: int = 5) -> Iterator[Row]:
        for line in wrap(self.look.glyphs.text(text), WIDTH - indent):
            yield [(" " * indent + line, role)]
