"""`tuiperf -c` and `tuiperf -s` in iperf3's place: its text or its JSON, its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tuiperf import __version__
from tuiperf import events as ev
from tuiperf.cli.credentials import logged_in
from tuiperf.cli.daemon import PidFile, go_on_in_background
from tuiperf.cli.options import Invocation, OutputSettings
from tuiperf.cli.printer import Printer
from tuiperf.cli.recorded import recorded
from tuiperf.cli.values import UsageError
from tuiperf.engine.client import run_client
from tuiperf.engine.duties import Duties
from tuiperf.engine.errors import EngineError
from tuiperf.engine.measure import system_text
from tuiperf.engine.server import run_server
from tuiperf.engine.spec import ClientSpec, ServerSpec
from tuiperf.engine.stops import AT_ONCE, Stops
from tuiperf.login import Doorkeeper, LoginSettings
from tuiperf.report.iperf3_json import JsonReport, dump
from tuiperf.report.iperf3_stream import JsonStream
from tuiperf.report.iperf3_text import (
    TextReport,
    TextSettings,
    failure_line,
    interrupt_line,
)
from tuiperf.report.kept_output import KeptOutput
from tuiperf.rules.book import diagnosis
from tuiperf.session import Session, reduce
from tuiperf.view.rows import escape

TOOL = f"tuiperf {__version__}"


class Output(Protocol):
    """Shows a run's events as they come."""

    def show(self, event: ev.Event) -> None: ...

    def failed(self, error: EngineError) -> None:
        """Show an error that came before any run."""
        ...

    def server_output(self) -> dict[str, Any]:
        """The present test's report, as a server sends it to a client that wants it."""
        ...


class Text:
    """iperf3's lines on stdout; errors, warnings and the interrupt on stderr."""

    def __init__(self, printer: Printer, report: TextReport) -> None:
        self._printer = printer
        self._report = report
        self._kept = KeptOutput()

    def show(self, event: ev.Event) -> None:
        lines = self._report.lines(event)
        self._kept.after(event, lines)
        self._printer.lines(lines)
        if isinstance(event, ev.Failed):
            self._printer.complain(failure_line(event))
        elif isinstance(event, ev.Note) and event.level == "warning":
            self._printer.complain(f"warning - {escape(event.text)}")
        elif isinstance(event, ev.Turned):
            who = f"{event.remote_host} port {event.remote_port}"
            self._printer.complain(f"warning - {escape(f'{who} was turned away: {event.why}')}")

    def failed(self, error: EngineError) -> None:
        self._printer.complain(f"error - {escape(str(error))}")

    def server_output(self) -> dict[str, Any]:
        return {"server_output_text": self._kept.text}


class Document:
    """One JSON document a run, with the diagnosis."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._report, self._session = JsonReport(TOOL, system_text()), Session()

    def show(self, event: ev.Event) -> None:
        if isinstance(event, ev.RunStarted):
            self._session = Session()
        reduce(self._session, event)
        self._report.feed(event)
        if isinstance(event, ev.RunEnded):
            self._printer.lines([dump(self._report.document(diagnosis(self._session)))])

    def failed(self, error: EngineError) -> None:
        self._report.feed(ev.Failed(0.0, error.code, str(error), error.errno))
        self._printer.lines([dump(self._report.document(None))])

    def server_output(self) -> dict[str, Any]:
        return {"server_output_json": self._report.document()}


class Stream:
    """One line of JSON an event; with `full` the whole document behind a run's last."""

    def __init__(self, printer: Printer, full: bool) -> None:
        self._printer = printer
        self._report = JsonReport(TOOL, system_text())
        self._stream = JsonStream(self._report)
        self._document = Document(printer) if full else None

    def show(self, event: ev.Event) -> None:
        self._printer.lines(self._stream.lines(event))
        if self._document:
            self._document.show(event)

    def failed(self, error: EngineError) -> None:
        self._stream.lines(ev.Failed(0.0, error.code, str(error), error.errno))
        self._printer.lines(self._stream.end())
        if self._document:
            self._document.failed(error)

    def server_output(self) -> dict[str, Any]:
        return {"server_output_json": self._report.document()}


class Debug:
    """Each event as it comes, in its line of the recording's JSON, before what is shown of it."""

    def __init__(self, printer: Printer, shown: Output, level: int) -> None:
        self._printer = printer
        self._shown = shown
        self._hidden = _HIDDEN_BELOW[level]
        self._number = 0

    def show(self, event: ev.Event) -> None:
        self._number += 1
        if not isinstance(event, self._hidden):
            line = ev.to_line(event, self._number).replace("\x7f", "\\u007f")  # the rest is ASCII
            self._printer.lines([f"DEBUG {line}"])
        self._shown.show(event)

    def failed(self, error: EngineError) -> None:
        self._shown.failed(error)

    def server_output(self) -> dict[str, Any]:
        return self._shown.server_output()


_HIDDEN_BELOW: dict[int, tuple[type[ev.Event], ...]] = {
    1: (ev.StreamSample, ev.HostSample, ev.HostFacts, ev.Interval, ev.OptionRead),
    2: (ev.StreamSample, ev.HostSample, ev.HostFacts),
    3: (ev.StreamSample,),
    4: (),
}


def _output(asked: OutputSettings, printer: Printer) -> Output:
    if asked.stream:
        return Stream(printer, asked.full)
    if asked.json:
        return Document(printer)
    shown = Text(printer, _text_report(asked))
    return Debug(printer, shown, asked.debug) if asked.debug else shown


def run(asked: Invocation) -> int:
    """Do what iperf3 would with the same words. Raises UsageError for files it cannot write."""
    output = asked.output
    with Printer.open(output.logfile) as printer, PidFile(output.pidfile) as pid_file:
        shown = _output(output, printer)
        if asked.server is not None:
            return printer.code(_serve(asked, asked.server, shown, printer, pid_file))
        if asked.client is not None:
            spec = logged_in(recorded(asked.client, output.record), asked.login)
            return printer.code(_measure(spec, shown, printer))
    return 1


def _measure(spec: ClientSpec, shown: Output, printer: Printer) -> int:
    with Stops.from_signals() as stops:

        def emit(event: ev.Event) -> None:
            shown.show(event)
            if printer.gone:
                stops.request(AT_ONCE)

        ended = run_client(spec, emit, stops, TOOL)
    _tell_signal("client", stops, shown, printer)
    return 1 if ended.outcome == "failed" else 0


def _serve(
    asked: Invocation, spec: ServerSpec, shown: Output, printer: Printer, pid_file: PidFile
) -> int:
    duties = Duties(_authorize(asked.login), shown.server_output)
    leaves = asked.output.daemon
    if spec.file:
        spec = replace(spec, file=str(Path(spec.file).absolute()))  # a daemon leaves the directory
    with Stops.from_signals() as stops:

        def emit(event: ev.Event) -> None:
            nonlocal leaves
            if leaves and isinstance(event, ev.Listening):
                leaves = False  # only now: what keeps it from listening is told at the terminal
                go_on_in_background(pid_file)
            shown.show(event)
            if printer.gone:
                stops.request(AT_ONCE)

        try:
            code = run_server(spec, emit, stops, TOOL, duties)
        except EngineError as error:
            shown.failed(error)
            return 1
    _tell_signal("server", stops, shown, printer)
    return code


def _authorize(login: LoginSettings) -> Callable[[str], bool] | None:
    """The check of clients' tokens, where users are known. Raises UsageError for bad files."""
    if not login.of_server:
        return None
    try:
        return Doorkeeper(login).admits
    except EngineError as error:
        raise UsageError(error.code, str(error)) from None


def _tell_signal(role: str, stops: Stops, shown: Output, printer: Printer) -> None:
    if stops.signal_name and isinstance(shown, (Text, Debug)):
        printer.complain(interrupt_line(role, stops.signal_name))


def _text_report(output: OutputSettings) -> TextReport:
    return TextReport(
        TextSettings(
            unit_format=output.unit_format,
            verbose=output.verbose,
            title=output.title,
            timestamps=output.timestamps,
            tool=TOOL,
            system=system_text(),
        )
    )
