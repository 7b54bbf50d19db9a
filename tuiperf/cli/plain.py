"""A run in plain text: the engine in this process, the page as it grows."""

from __future__ import annotations

from tuiperf import __version__
from tuiperf import events as ev
from tuiperf.cli.options import OutputSettings
from tuiperf.cli.page import PlainPage, look_of
from tuiperf.cli.printer import Printer
from tuiperf.engine.client import run_client
from tuiperf.engine.spec import ClientSpec
from tuiperf.engine.stops import AT_ONCE, Stops
from tuiperf.remembering import remember_run
from tuiperf.rules.book import judge


def run(
    spec: ClientSpec, output: OutputSettings, *, ascii_only: bool, passing: bool = False
) -> int:
    """Measure and print; the exit code is 0 unless the run failed. Raises UsageError 17.

    The peer is remembered where the run is recorded, unless it is `passing`, as a demo's.
    """
    with Printer.open(output.logfile) as printer:
        look = look_of(output, printer, ascii_only)
        page = PlainPage(judge, look, spec.recording)
        outcome = _measure(spec, page, printer)
        if spec.recording and not passing:
            remember_run(page.session, judge(page.session), spec)
        failure = page.session.failure
        if failure is not None:
            printer.complain(f"error - {look.glyphs.text(failure.text)}")
        return printer.code(1 if outcome == "failed" else 0)


def _measure(spec: ClientSpec, page: PlainPage, printer: Printer) -> str:
    with Stops.from_signals() as stops:

        def emit(event: ev.Event) -> None:
            printer.lines(page.lines(event))
            if printer.gone:
                stops.request(AT_ONCE)

        return run_client(spec, emit, stops, f"tuiperf {__version__}").outcome
