"""A measured run in few bytes: the events that rules read, samples as columns of differences.

One JSON object a run: what the case was, how late the lab's relay ran, the events but samples and
intervals, and for each stream its samples. A column that never changes is one number; a column
with unknown values is left out. What the rules do not read is not kept.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from tuiperf import events as ev
from tuiperf.session import Session, reduce

FOLDER = Path(__file__).parent / "recordings"

KEPT = (
    "rto_us",
    "backoff",
    "snd_mss_bytes",
    "rcv_mss_bytes",
    "unacked_packets",
    "pmtu_bytes",
    "rcv_ssthresh_bytes",
    "rtt_us",
    "rttvar_us",
    "snd_cwnd_packets",
    "reordering_packets",
    "rcv_rtt_us",
    "total_retrans_packets",
    "bytes_acked_bytes",
    "bytes_received_bytes",
    "notsent_bytes",
    "min_rtt_us",
    "delivery_rate_bytes_per_s",
    "busy_time_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
    "delivered_packets",
    "delivered_ce_packets",
    "bytes_sent_bytes",
    "bytes_retrans_bytes",
    "dsack_dups_packets",
    "reord_seen_events",
    "rcv_ooopack_packets",
    "snd_wnd_bytes",
    "total_rto_events",
    "received_ce_packets",
    "ecn",
    "ecn_seen",
    "timestamps",
    "sack",
    "wscale",
    "delivery_rate_app_limited",
    "pacing_rate_bytes_per_s",
    "last_data_recv_ms",
    "data_segs_in_packets",
)
_HEAD = ("tick", "test_ms", "transferred_bytes", "unread_bytes")
_DROPPED = (ev.StreamSample, ev.Interval)

Json = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """A run of a case. `relay` holds the lab's counters, {} of a lab without a relay."""

    name: str
    relay: Json
    events: tuple[ev.Event, ...]


def session_of(record: Record) -> Session:
    """Play a record to its end."""
    session = Session()
    for event in record.events:
        reduce(session, event)
    return session


def prefixes(record: Record, step_s: float = 0.25) -> Iterator[Session]:
    """Play a record and give the growing session as a screen sees it, each `step_s`."""
    session = Session()
    shown_s = 0.0
    for event in record.events:
        reduce(session, event)
        if isinstance(event, ev.StreamSample) and event.test_s >= shown_s + step_s:
            shown_s = event.test_s
            yield session
    yield session


def pack(record: Record) -> str:
    """One line."""
    lines = [
        json.loads(ev.to_line(event, 0))
        for event in record.events
        if not isinstance(event, _DROPPED)
    ]
    samples = [event for event in record.events if isinstance(event, ev.StreamSample)]
    streams = {event.stream: event.sends for event in samples}
    packed = [
        {
            "stream": stream,
            "sends": sends,
            "columns": _columns([each for each in samples if each.stream == stream]),
        }
        for stream, sends in streams.items()
    ]
    offset_s = samples[0].t_s - samples[0].test_s if samples else 0.0
    document = {
        "name": record.name,
        "relay": record.relay,
        "offset_s": round(offset_s, 4),
        "events": lines,
        "streams": packed,
    }
    return json.dumps(document, separators=(",", ":"))


def _columns(samples: list[ev.StreamSample]) -> Json:
    rows: list[dict[str, int | None]] = [
        {
            "tick": each.tick,
            "test_ms": round(each.test_s * 1000),
            "transferred_bytes": each.transferred_bytes,
            "unread_bytes": each.unread_bytes,
            **{name: (each.tcp or {}).get(name) for name in KEPT},
        }
        for each in samples
    ]
    columns: Json = {}
    for name in (*_HEAD, *KEPT):
        values = [row[name] for row in rows]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            if known:
                columns[name] = {"sparse": values}
            continue
        changes = [after - before for before, after in pairwise(known)]
        columns[name] = known[0] if not any(changes) else [known[0], *changes]
    return columns


def unpack(line: str) -> Record:
    """The record of a line; its events in the order of their times."""
    data = json.loads(line)
    found = [ev.from_line(json.dumps(each))[1] for each in data["events"]]
    for stream in data["streams"]:
        found += _samples(stream, float(data["offset_s"]))
    return Record(data["name"], data["relay"], tuple(sorted(found, key=attrgetter("t_s"))))


def _samples(stream: Json, offset_s: float) -> Iterator[ev.StreamSample]:
    columns = stream["columns"]
    count = max((len(each) for each in columns.values() if isinstance(each, list)), default=1)
    full = {name: _full(column, count) for name, column in columns.items()}
    for index in range(count):
        row = {name: column[index] for name, column in full.items()}
        head = {name: row.pop(name, None) for name in _HEAD}
        test_s = (head["test_ms"] or 0) / 1000
        yield ev.StreamSample(
            test_s + offset_s,
            head["tick"] or 0,
            test_s,
            stream["stream"],
            stream["sends"],
            head["transferred_bytes"] or 0,
            head["unread_bytes"],
            {name: value for name, value in row.items() if value is not None},
        )


def _full(column: Any, count: int) -> list[int | None]:
    if isinstance(column, dict):
        return list(column["sparse"])
    return list(accumulate(column)) if isinstance(column, list) else [column] * count


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records into one file, always the same bytes for the same records."""
    path.parent.mkdir(exist_ok=True)
    text = "".join(pack(each) + "\n" for each in records)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())


def read(path: Path) -> list[Record]:
    """All the records of a file."""
    return [unpack(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
