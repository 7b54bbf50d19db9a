"""Results on the wire: what iperf3 needs is in ours, what any iperf3 writes is read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tuiperf.engine import results
from tuiperf.engine.errors import EngineError
from tuiperf.engine.framing import parse_json_frame
from tuiperf.events import Results, StreamResult

OURS = Results(
    t_s=1.0,
    side="local",
    congestion="cubic",
    cpu_total_percent=44.3,
    cpu_user_percent=4.3,
    cpu_system_percent=40.0,
    sender_has_retransmits=1,
    streams=(
        StreamResult(1, 2_076_835_840, 57, 0.0, 1.001536),
        StreamResult(3, 1000, None, 0.0, 1.0),
    ),
)

UNTOLD = StreamResult(0, 0, omitted_lost_packets=None, omitted_packets=None)

# As iperf3 sends them, see its send_results().
REQUIRED = {"cpu_util_total", "cpu_util_user", "cpu_util_system", "sender_has_retransmits"}
REQUIRED_OF_A_STREAM = {"id", "bytes", "retransmits", "jitter", "errors", "packets"}


def wire(**changes: Any) -> dict[str, Any]:
    """The other side's results, one stream, with changes to that stream."""
    row = {"id": 1, "bytes": 5000, "retransmits": 3, "jitter": 0, "errors": 0, "packets": 0}
    return {
        "cpu_util_total": 10,
        "cpu_util_user": 4,
        "cpu_util_system": 6,
        "sender_has_retransmits": 1,
        "congestion_used": "reno",
        "streams": [row | {"start_time": 0, "end_time": 1.5} | changes],
    }


def test_ours_have_every_key_an_iperf3_needs() -> None:
    document = results.to_json(OURS)
    assert document.keys() >= REQUIRED
    for row in document["streams"]:
        assert row.keys() >= REQUIRED_OF_A_STREAM
        assert ("omitted_errors" in row) == ("omitted_packets" in row) is True
    assert [row["retransmits"] for row in document["streams"]] == [57, -1]


def test_what_we_write_we_read() -> None:
    text = json.dumps(results.to_json(OURS)).encode()
    assert results.from_json(parse_json_frame(text), 1.0) == replace(OURS, side="remote")


def test_the_other_sides_results_are_read() -> None:
    read = results.from_json(wire(), 2.0)
    assert (read.side, read.t_s, read.congestion) == ("remote", 2.0, "reno")
    assert read.streams == (replace(UNTOLD, stream=1, bytes=5000, retransmits=3, end_s=1.5),)


@pytest.mark.parametrize("unknown", [-1, 18446744073709551615, 4294967295, None, "many", True])
def test_unknown_retransmits_in_every_spelling(unknown: Any) -> None:
    text = json.dumps(wire(retransmits=unknown)).encode()
    assert results.from_json(parse_json_frame(text), 0.0).streams[0].retransmits is None


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("bytes", 5000.9, 5000),
        ("bytes", -1, 0),
        ("bytes", "5000", 0),
        ("bytes", 2**63 - 1, 2**63 - 1),
        ("end_time", 0, None),
        ("end_time", "soon", None),
        ("jitter", 0.002, 0.002),
    ],
)
def test_odd_numbers(key: str, value: Any, read: Any) -> None:
    names = {"bytes": "bytes", "end_time": "end_s", "jitter": "jitter_s"}
    row = results.from_json(wire(**{key: value}), 0.0).streams[0]
    assert getattr(row, names[key]) == read


def test_numbers_that_are_none_do_not_leave_as_json() -> None:
    text = json.dumps(wire(jitter=float("nan"), end_time=float("inf"))).encode()
    row = results.from_json(parse_json_frame(text), 0.0).streams[0]
    assert (row.jitter_s, row.end_s) == (0.0, None)


def test_old_results_lack_much() -> None:
    old = {"streams": [{"id": 1, "bytes": 7}]}
    read = results.from_json(old, 0.0)
    assert read.congestion is None
    (row,) = read.streams
    assert row == replace(UNTOLD, stream=1, bytes=7)


def test_keys_in_any_case() -> None:
    read = results.from_json({"Streams": [{"ID": 4, "Bytes": 9}]}, 0.0)
    assert (read.streams[0].stream, read.streams[0].bytes) == (4, 9)


@pytest.mark.parametrize("streams", [None, "none", {}, 7])
def test_results_without_streams_are_an_error(streams: Any) -> None:
    with pytest.raises(EngineError) as raised:
        results.from_json({"streams": streams}, 0.0)
    assert raised.value.code == 117


@pytest.mark.parametrize("number", [None, "1", True, float("nan")])
def test_a_stream_without_a_number_is_an_error(number: Any) -> None:
    with pytest.raises(EngineError) as raised:
        results.from_json(wire(id=number), 0.0)
    assert raised.value.code == 208


def test_a_peer_does_not_make_us_keep_a_million_streams() -> None:
    many = {"streams": [{"id": number, "bytes": 1} for number in range(100_000)]}
    assert len(results.from_json(many, 0.0).streams) == 256
