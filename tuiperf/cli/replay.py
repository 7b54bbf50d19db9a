"""A recorded run again: the plain page or the JSON document, with the numbers it had."""

from __future__ import annotations

from tuiperf.cli.options import OutputSettings
from tuiperf.cli.page import PlainPage, look_of
from tuiperf.cli.printer import Printer
from tuiperf.recording import RecordingError, read
from tuiperf.rules.book import diagnosis, judge
from tuiperf.session import Session, reduce


def run(path: str, output: OutputSettings, *, ascii_only: bool) -> int:
    """Print a recording; 1 when it cannot be read. Raises UsageError 17."""
    with Printer.open(output.logfile) as printer:
        try:
            if output.json:
                _document(path, printer)
            else:
                _page(path, output, printer, ascii_only)
        except RecordingError as error:
            glyphs = look_of(output, printer, ascii_only).glyphs
            printer.complain(f"error - {glyphs.text(str(error))}")
            return printer.code(1)
        return printer.code(0)


def _page(path: str, output: OutputSettings, printer: Printer, ascii_only: bool) -> None:
    page = PlainPage(judge, look_of(output, printer, ascii_only))
    for event in read(path):
        printer.lines(page.lines(event))
        if printer.gone:
            return
    _need_a_run(path, page.session)
    printer.lines(page.closing())


def _document(path: str, printer: Printer) -> None:
    from tuiperf.report.iperf3_json import JsonReport, dump

    session, report = Session(), JsonReport()
    for event in read(path):
        reduce(session, event)
        report.feed(event)
    _need_a_run(path, session)
    printer.lines([dump(report.document(diagnosis(session)))])


def _need_a_run(path: str, session: Session) -> None:
    if session.run is None:
        raise RecordingError(f"{path}: holds no run")
