"""A sweep folded from its events, written, and read back the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweep import events
from tuiperf import recording
from tuiperf.engine.record import Record
from tuiperf.events import Event, from_line, to_line
from tuiperf.recording import RecordingError
from tuiperf.report.sweep_json import document
from tuiperf.session import Direction
from tuiperf.sweep import replay
from tuiperf.sweep.known import Kind
from tuiperf.sweep.state import SweepState, fold


def folded(found: list[Event]) -> SweepState:
    state = SweepState()
    for event in found:
        fold(state, event)
    return state


def test_each_step_ends_with_what_its_run_showed() -> None:
    state = folded(events.sweep())
    assert [row.step.kind for row in state.rows] == [Kind.LOOK, Kind.FORWARD, Kind.REVERSE]
    forward = state.known().baseline(Direction.FORWARD)
    assert forward is not None
    assert forward.goodput_bps == pytest.approx(2_780_000 * 8 / 0.042, rel=0.02)
    assert forward.rtt_us == pytest.approx(42_300, rel=0.01)
    assert state.rows[1].done is not None
    assert state.rows[1].done.carried_bytes > 200e6
    assert state.idle is not None and state.idle.least_us == 42_000
    assert state.ended is not None


def test_every_event_of_a_sweep_survives_a_line() -> None:
    for number, event in enumerate(events.sweep()):
        assert from_line(to_line(event, number)) == (number, event)


def write(path: Path, found: list[Event]) -> Path:
    record = Record(str(path))
    for event in found:
        record.write(event)
    record.close()
    return path


def test_a_recording_replays_to_the_same_verdicts(tmp_path: Path) -> None:
    found = events.sweep()
    path = write(tmp_path / "sweep.jsonl.gz", found)
    assert replay.holds_sweep(path)
    again, live = replay.replay(path), folded(found)
    assert again.conclusion() == live.conclusion()
    assert document(again, again.conclusion()) == document(live, live.conclusion())


def test_a_recording_that_was_cut_off_keeps_the_steps_before(tmp_path: Path) -> None:
    state = replay.replay(write(tmp_path / "cut.jsonl.gz", events.sweep(cut=True)))
    assert [row.done.outcome for row in state.rows if row.done] == ["done", "done", "failed"]
    assert state.ended is not None and state.ended.reason == "cut off"


def test_a_runs_recording_is_no_sweep_and_a_sweeps_is_no_run(tmp_path: Path) -> None:
    step = events.sweep()[4:-2]
    assert not replay.holds_sweep(write(tmp_path / "run.jsonl.gz", step))
    assert not replay.holds_sweep(tmp_path / "none.jsonl.gz")
    path = write(tmp_path / "sweep.jsonl.gz", events.sweep())
    with pytest.raises(RecordingError):
        recording.replay_run(path)
