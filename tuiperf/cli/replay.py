"""A recorded run again: the plain page or the JSON document, with the numbers it had."""

from __future__ import annotations

from tuiperf import __version__
from tuiperf.cli.iperf3 import Stream
from tuiperf.cli.options import OutputSettings
from tuiperf.cli.page import PlainPage, look_of
from tuiperf.cli.printer import Printer
from tuiperf.engine.errors import EngineError
from tuiperf.engine.measure import system_text
from tuiperf.events import Failed
from tuiperf.recording import RecordingError, read_run
from tuiperf.report.iperf3_json import JsonReport, dump
from tuiperf.rules.book import diagnosis, judge
from tuiperf.session import Session, reduce


def run(path: str, output: OutputSettings, *, ascii_only: bool) -> int:
    """Print a recording; 1 when it cannot be read. Raises UsageError 17."""
    with Printer.open(output.logfile) as printer:
        if output.stream:
            return printer.code(_stream(path, printer, output.full))
        if output.json:
            return printer.code(_document(path, printer))
        try:
            _page(path, output, printer, ascii_only)
        except RecordingError as error:
            glyphs = look_of(output, printer, ascii_only).glyphs
            printer.complain(f"error - {glyphs.text(str(error))}")
            return printer.code(1)
        return printer.code(0)


def _page(path: str, output: OutputSettings, printer: Printer, ascii_only: bool) -> None:
    page = PlainPage(judge, look_of(output, printer, ascii_only))
    for event in read_run(path):
        printer.lines(page.lines(event))
        if printer.gone:
            return
    printer.lines(page.closing())
    failure = page.session.failure
    if failure is not None and page.session.started is None:  # no summary tells of it
        printer.complain(f"error - {page.look.glyphs.text(failure.text)}")


def _stream(path: str, printer: Printer, full: bool) -> int:
    """Print a line of JSON for each event; the exit code."""
    shown = Stream(printer, full)
    try:
        for event in read_run(path):
            shown.show(event)
    except RecordingError as error:
        shown.failed(EngineError(0, str(error)))
        return 1
    return 0


def _document(path: str, printer: Printer) -> int:
    """Print one document, also of what cannot be read; the exit code."""
    session, report = Session(), JsonReport()
    try:
        for event in read_run(path):
            reduce(session, event)
            report.feed(event)
    except RecordingError as error:
        report = JsonReport(f"tuiperf {__version__}", system_text())
        report.feed(Failed(0.0, 0, str(error)))
        printer.lines([dump(report.document(None))])
        return 1
    printer.lines([dump(report.document(diagnosis(session)))])
    return 0
