"""Writing the record of a run: complete, readable while it grows, never in the way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.driving import OurServer, client_spec, run, short
from tuiperf.engine.record import Record
from tuiperf.events import (
    Event,
    Interval,
    Note,
    RunEnded,
    RunStarted,
    StreamInterval,
    StreamSample,
    from_line,
)

STARTED = RunStarted(0.0, "id", "client", "tuiperf", "Linux", 1.0, {})
SAMPLE = StreamSample(0.1, 1, 0.1, 1, True, 1000, None, {"rtt_us": 30})
INTERVAL = Interval(1.0, 0.0, 1.0, False, (StreamInterval(1, True, 0.0, 1.0, 1000),))
ENDED = RunEnded(1.1, "completed")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_every_event_in_order_as_gzipped_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    record = Record(str(path))
    events: list[Event] = [STARTED, SAMPLE, INTERVAL, ENDED]
    for event in events:
        record.write(event)
    record.close()
    record.close()
    text = gzip.decompress(path.read_bytes()).decode()
    assert [from_line(line) for line in text.splitlines()] == list(enumerate(events))
    assert record.error is None


def test_what_was_written_is_readable_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    record = Record(str(path))
    record.write(STARTED)
    with pytest.raises(EOFError):
        gzip.decompress(path.read_bytes())
    with gzip.open(path) as file:
        assert json.loads(file.readline())["kind"] == "run_started"
    record.close()


def test_a_full_record_leaves_out_samples_only(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    record = Record(str(path), max_bytes=1)
    for event in (STARTED, SAMPLE, INTERVAL, SAMPLE, ENDED):
        record.write(event)
    record.close()
    kinds = [(line["n"], line["kind"]) for line in lines(path)]
    assert kinds == [(0, "run_started"), (2, "interval"), (4, "run_ended")]


def test_a_path_that_cannot_be_written_raises(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        Record(str(tmp_path / "nowhere" / "run.jsonl.gz"))


def test_a_full_disk_closes_the_record_quietly() -> None:
    record = Record("/dev/full")
    for event in (STARTED, SAMPLE, ENDED):
        record.write(event)
    record.close()
    assert record.error and record.error.errno == 28


def test_a_run_goes_on_without_its_record(tmp_path: Path) -> None:
    with OurServer() as server:
        for path, words in (
            (str(tmp_path / "nowhere" / "run.jsonl.gz"), "no recording: No such file"),
            ("/dev/full", "the recording ends here: No space left"),
        ):
            spec = client_spec(server.port, short(total_bytes=1_000_000), recording=path)
            done = run(spec)
            assert done.outcome == "completed"
            notes = [note for note in done.all(Note) if note.code == "recording"]
            assert len(notes) == 1
            assert notes[0].text.startswith(words)


def test_the_record_of_a_run_holds_its_events(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    with OurServer() as server:
        done = run(client_spec(server.port, short(total_bytes=1_000_000), recording=str(path)))
    text = gzip.decompress(path.read_bytes()).decode()
    assert [from_line(line)[1] for line in text.splitlines()] == done.events
