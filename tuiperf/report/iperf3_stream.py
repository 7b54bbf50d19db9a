"""iperf3's `--json-stream`: the document's parts as they come, each one line of JSON.

The shape is that of 3.18 and newer: `{"event": NAME, "data": ...}` with the events start, interval,
error, server_output_json or server_output_text, and end.
"""

from __future__ import annotations

from typing import Any

from tuiperf import events as ev
from tuiperf.report.cjson import compact
from tuiperf.report.iperf3_json import JsonReport

_AFTER = ("error", "server_output_json", "server_output_text")


class JsonStream:
    """Turns the events of a client's run, or of a server's many, into such lines."""

    def __init__(self, report: JsonReport) -> None:
        self._report = report

    def lines(self, event: ev.Event) -> list[str]:
        """The lines that this event adds, without their ends; often none."""
        known = self._report.interval_count
        self._report.feed(event)
        if isinstance(event, ev.TestStarted):
            return [_line("start", self._report.document()["start"])]
        if isinstance(event, ev.Interval) and self._report.interval_count > known:
            return [_line("interval", self._report.document()["intervals"][-1])]
        return self.end() if isinstance(event, ev.RunEnded) else []

    def end(self) -> list[str]:
        """The last lines of a run; its figures are empty where nothing was measured."""
        document = self._report.document()
        lines = [_line(name, document[name]) for name in _AFTER if name in document]
        return [*lines, _line("end", document["end"])]


def _line(event: str, data: Any) -> str:
    return compact({"event": event, "data": data})
