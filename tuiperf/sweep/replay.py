"""A recorded sweep again: its events folded to the same state, so the same verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuiperf import recording
from tuiperf.events import Event, StepEnded, SweepEnded, SweepStarted

from .state import SweepState, fold


def holds_sweep(path: str | Path) -> bool:
    """True for a sweep's recording; False for a run's, and for what cannot be read."""
    try:
        return isinstance(next(recording.read(path), None), SweepStarted)
    except recording.RecordingError:
        return False


def states(path: str | Path) -> Iterator[tuple[SweepState, Event]]:
    """The growing state after each event. One that was cut off gets an end.

    Raises RecordingError in one line.
    """
    state = SweepState()
    for event in recording.read(path):
        yield fold(state, event), event
    if state.ended is not None:
        return
    row = state.current
    if row is not None:
        last = StepEnded(state.t_s, row.number, "failed", "the recording ends here")
        yield fold(state, last), last
    end = SweepEnded(state.t_s, "cut off", "the recording ends before the sweep does")
    yield fold(state, end), end


def replay(path: str | Path) -> SweepState:
    """The whole sweep. Raises RecordingError."""
    state = SweepState()
    for grown, _ in states(path):
        state = grown
    return state
