"""A sweep's rows: golden pages at three sizes, exact sizes for any state, no foreign characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweep.states import FULL, LIMITED, running, state_of, waiting
from tuiperf.sweep.known import Mode
from tuiperf.sweep.state import SweepState
from tuiperf.view.rows import ASCII, ROLES, UNICODE, Glyphs, Row, row_width, to_text
from tuiperf.view.sweep import Moment, heading_rows, step_rows, why_rows, why_title
from tuiperf.view.sweep_page import page_rows
from tuiperf.view.verdicts import verdict_rows

GOLDEN = Path(__file__).parent / "golden"
SIZES = {"60x20": (60, 20), "80x24": (80, 24), "120x35": (120, 35)}
HOSTILE = "\x1b[31mevil\u202e\n名前"


def screen(state: SweepState, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """The parts of the screen one below the other."""
    room = height - 2
    verdicts = state.conclusion().verdicts
    return [
        *heading_rows(state, Moment(12.3), width, glyphs),
        *step_rows(state, width, room - 2 * (room // 3), glyphs),
        *why_rows(state, width, room // 3, glyphs),
        *verdict_rows(verdicts, width, room // 3, glyphs),
    ]


def told(rows: list[Row]) -> str:
    return "\n".join(to_text(row) for row in rows) + "\n"


@pytest.mark.parametrize("size", SIZES)
def test_the_running_sweep_at_every_size(size: str) -> None:
    shown = told(screen(running(), *SIZES[size], UNICODE))
    assert shown == (GOLDEN / f"sweep-{size}.txt").read_text(encoding="utf-8")


def test_the_end_page() -> None:
    state = state_of()
    shown = told(page_rows(state, state.conclusion(), 79, UNICODE, "sweep.jsonl.gz"))
    assert shown == (GOLDEN / "sweep-page.txt").read_text(encoding="utf-8")


def test_the_end_page_in_ascii() -> None:
    state = state_of(FULL, mode=Mode.THOROUGH)
    shown = told(page_rows(state, state.conclusion(), 79, ASCII))
    assert shown.isascii()
    assert shown == (GOLDEN / "sweep-page-ascii.txt").read_text(encoding="utf-8")


states = st.sampled_from(
    [
        SweepState(),
        waiting(),
        running(),
        running(4),
        state_of(),
        state_of(FULL, mode=Mode.THOROUGH),
        state_of(LIMITED, host=HOSTILE),
    ]
)


@settings(max_examples=150, deadline=None)
@given(states, st.integers(1, 200), st.integers(1, 60), st.sampled_from([UNICODE, ASCII]))
def test_every_row_has_exactly_the_width_asked(
    state: SweepState, width: int, height: int, glyphs: Glyphs
) -> None:
    parts = (
        heading_rows(state, Moment(1.0, 2.0, True), width, glyphs),
        step_rows(state, width, height, glyphs, 2),
        why_rows(state, width, height, glyphs),
    )
    assert [len(part) for part in parts[1:]] == [height, height]
    for row in (row for part in parts for row in part):
        assert row_width(row) == width
        assert {role for _, role in row} <= set(ROLES)
        assert all(char.isprintable() for text, _ in row for char in text)
    assert why_title(state, glyphs).isprintable()
    if glyphs.ascii:
        assert told([row for part in parts for row in part]).isascii()


def test_what_is_waited_for_is_said() -> None:
    assert "SERVER BUSY, 8 s" in told(heading_rows(running(), Moment(3.0, 8.0), 80))
    assert "PAUSED" in told(heading_rows(running(), Moment(3.0, 0.0, True), 80))
    assert "SETTLED" in told(heading_rows(state_of(), Moment(), 80))


def test_each_running_step_says_why_and_what_it_would_mean() -> None:
    shown = " ".join(told(why_rows(running(), 100, 8)).split())
    assert "does the loss stay?" in shown
    assert "it stays: the line loses packets" in shown
    assert "it goes: a short queue" in shown
