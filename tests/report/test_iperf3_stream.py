"""`--json-stream`: the shape of its events, each made of the same figures as the document."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from tests.report.made import Made
from tuiperf import events as ev
from tuiperf.report.cjson import compact, dump
from tuiperf.report.iperf3_json import JsonReport
from tuiperf.report.iperf3_stream import JsonStream


def told(events: list[ev.Event]) -> list[dict[str, Any]]:
    """The lines of these events, each read back."""
    stream = JsonStream(JsonReport("tool", "system"))
    lines = [line for event in events for line in stream.lines(event)]
    assert all("\n" not in line for line in lines)
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


def document_of(events: list[ev.Event]) -> dict[str, Any]:
    report = JsonReport("tool", "system")
    for event in events:
        report.feed(event)
    document: dict[str, Any] = json.loads(dump(report.document()))
    return document


@pytest.mark.parametrize(
    "settings", [{}, {"reverse": True}, {"bidir": True}, {"parallel": 2, "omit_s": 1}]
)
@pytest.mark.parametrize("role", ["client", "server"])
def test_the_events_are_the_parts_of_the_document(role: str, settings: dict[str, Any]) -> None:
    events = Made(role, **settings).whole()
    lines, document = told(events), document_of(events)
    assert all(list(line) == ["event", "data"] for line in lines)
    names = [line["event"] for line in lines]
    assert names == ["start", *["interval"] * len(document["intervals"]), "end"]
    assert lines[0]["data"] == document["start"]
    assert [line["data"] for line in lines[1:-1]] == document["intervals"]
    assert lines[-1]["data"] == document["end"]


def test_title_and_extra_data_do_not_appear() -> None:
    events = Made(title="a title", extra_data="more").whole()
    text = json.dumps(told(events))
    assert "a title" not in text
    assert "more" not in text


def test_a_failure_before_any_test_is_an_error_and_an_empty_end() -> None:
    stream = JsonStream(JsonReport())
    assert stream.lines(ev.Failed(0.0, 103, "no way\x1b[31m")) == []
    error, end = map(json.loads, stream.end())
    assert error == {"event": "error", "data": "no way\x1b[31m"}
    assert end == {"event": "end", "data": {}}
    assert "\x1b" not in "".join(stream.end())


def test_the_far_servers_output_comes_before_the_end() -> None:
    events = Made().whole()
    output = ev.ServerOutput(9.0, "its text", None)
    lines = told([*events[:-1], output, events[-1]])
    assert lines[-2] == {"event": "server_output_text", "data": "its text"}
    assert lines[-1]["event"] == "end"
    lines = told([*events[:-1], replace(output, text=None, document={"a": 1}), events[-1]])
    assert lines[-2] == {"event": "server_output_json", "data": {"a": 1}}


def test_a_second_run_begins_anew() -> None:
    events = Made("server").whole()
    assert told([*events, *events]) == told(events) * 2


def test_no_number_is_ever_none() -> None:
    assert compact({"a": [math.nan, math.inf, 1.0], "b": {}}) == '{"a":[null,null,1],"b":{}}'
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"a": deep}
    assert compact(deep).endswith("}")


def test_a_files_figures_stand_between_sender_and_receiver() -> None:
    events = Made().whole()
    moved = ev.FileMoved(1.0, "name", 10)
    at = next(i for i, event in enumerate(events) if isinstance(event, ev.Results))
    (stream,) = document_of([*events[:at], moved, *events[at:]])["end"]["streams"]
    assert list(stream) == ["sender", "diskfile", "receiver"]
    file = stream["diskfile"]
    assert (file["size"], file["filename"]) == (10, "name")
    assert file["sent"] == stream["sender"]["bytes"]
    assert file["received"] == stream["receiver"]["bytes"]
    assert file["percent_sent"] == file["sent"] * 10
    assert list(file) == [
        "sent",
        "received",
        "size",
        "percent_sent",
        "percent_received",
        "filename",
    ]


def test_sctp_has_no_members_of_tcp() -> None:
    document = document_of(Made(protocol="sctp", block_bytes=65536).whole())
    assert document["start"]["test_start"]["protocol"] == "SCTP"
    assert not {"tcp_mss", "tcp_mss_default"} & set(document["start"])
    assert set(document["end"]["streams"][0]) == {"sender", "receiver"}
