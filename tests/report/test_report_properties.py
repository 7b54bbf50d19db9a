"""Whatever events come, in whatever order: lines for a terminal, and one valid finite document."""

from __future__ import annotations

import json
import unicodedata
from typing import Any, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.made import Made
from tuiperf import events as ev
from tuiperf.engine.spec import TestSpec
from tuiperf.report.iperf3_json import JsonReport, dump
from tuiperf.report.iperf3_text import TextReport, TextSettings, failure_line

numbers = st.integers(-(2**70), 2**70) | st.integers(0, 10)
floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    int: numbers,
    float: floats,
    str: texts,
    ev.Json: st.dictionaries(texts, json_values, max_size=3),
}

parameters = st.builds(
    TestSpec,
    protocol=st.sampled_from(["tcp", "udp"]),
    block_bytes=st.sampled_from([16, 1000]),
    parallel=st.integers(1, 3),
    reverse=st.booleans(),
    bidir=st.booleans(),
    omit_s=st.integers(0, 2),
    title=texts,
    extra_data=texts,
).map(lambda test: test.to_parameters("x"))
specs = st.fixed_dictionaries(
    {}, optional={"host": json_values, "port": json_values, "interval_s": json_values}
)
_SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "spec": specs | st.dictionaries(texts, json_values, max_size=3),
    "parameters": parameters | st.dictionaries(texts, json_values, max_size=3),
    "tcp": st.none(),
    "document": st.none() | st.dictionaries(texts, json_values, max_size=3),
    "role": st.sampled_from(["client", "server", ""]),
    "side": st.sampled_from(["local", "remote"]),
    "outcome": st.sampled_from(["completed", "interrupted", "failed"]),
    "stream": st.sampled_from([1, 3, 4]),
    "end_s": st.none() | floats,  # of results; intervals always have one
    "busiest_wait_share": st.none() | floats,
}


def _applies(name: str, hint: Any) -> bool:
    return name in _SPECIAL and not (name == "end_s" and hint is float)


def event_of(cls: type[Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    known = {name: _BY_TYPE[hint] for name, hint in hints.items() if hint in _BY_TYPE}
    known |= {name: _SPECIAL[name] for name, hint in hints.items() if _applies(name, hint)}
    return st.builds(cls, **{**known, **more})


_SPECIAL["udp"] = st.none() | event_of(ev.UdpFigures)
_SPECIAL["omitted_packets"] = _SPECIAL["omitted_lost_packets"] = st.none() | st.integers(0, 9)

rows = st.lists(event_of(ev.StreamInterval), max_size=4).map(tuple)
results = st.lists(event_of(ev.StreamResult), max_size=4).map(tuple)
_with_streams = {ev.Interval: rows, ev.Results: results}
events = st.one_of(
    *(event_of(kind, streams=inner) for kind, inner in _with_streams.items()),
    *(event_of(kind) for kind in ev.KINDS.values() if kind not in _with_streams),
)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in a document")


def safe(text: str) -> bool:
    """True when nothing in the text moves a cursor, hides, or turns the direction of writing."""
    kinds = {unicodedata.category(char) for char in text}
    return not any(kind.startswith("C") or kind in ("Zl", "Zp") for kind in kinds)


def check(run: list[ev.Event], text_settings: TextSettings) -> None:
    text, report = TextReport(text_settings), JsonReport()
    for event in run:
        report.feed(event)
        for line in text.lines(event):
            assert safe(line.replace("\t", ""))
        if isinstance(event, (ev.Failed, ev.RunEnded)):
            assert safe(failure_line(event))
    dumped = dump(report.document({"verdicts": []}))
    document = json.loads(dumped, parse_constant=_refuse)
    assert list(document)[:3] == ["start", "intervals", "end"]
    assert list(document)[-1] == "diagnosis"
    assert safe(dumped.replace("\t", "").replace("\n", ""))
    dumped.encode("utf-8")


text_settings = st.builds(
    TextSettings,
    unit_format=st.sampled_from("akmgtKMGT"),
    verbose=st.booleans(),
    title=texts,
    timestamps=st.none(),
    tool=texts,
    system=texts,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(events, max_size=25), text_settings)
def test_any_events_in_any_order(run: list[ev.Event], how: TextSettings) -> None:
    check(run, how)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["client", "server"]),
    st.integers(1, 3),
    st.sampled_from([{}, {"reverse": True}, {"bidir": True}]),
    st.lists(st.tuples(st.integers(0, 14), events), max_size=6),
    st.sets(st.integers(0, 12)),
    text_settings,
)
def test_whole_runs_with_events_lost_and_strange_ones_among_them(  # noqa: PLR0917
    role: str,
    parallel: int,
    direction: dict[str, Any],
    strange: list[tuple[int, ev.Event]],
    lost: set[int],
    how: TextSettings,
) -> None:
    whole = Made(role, parallel=parallel, **direction).whole()
    run = [event for number, event in enumerate(whole) if number not in lost]
    for at, event in strange:
        run.insert(at, event)
    check(run, how)
