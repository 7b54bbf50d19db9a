"""The lessons in a real terminal: read, calculate, answer, try a live path, leave."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.terminal.emulator import ALT_OFF, Emulator
from tuiperf.lessons.own import newest

COMMAND = [sys.executable, "-m", "tuiperf", "learn"]


def test_read_calculate_answer_and_leave(tmp_path: Path) -> None:
    with Emulator([*COMMAND, "2"], env={"XDG_STATE_HOME": str(tmp_path)}) as terminal:
        terminal.wait_for("What a path holds")
        terminal.send(b" ")
        terminal.wait_for("A window too small")
        terminal.send(b"\x1b[B")  # down: the RTT
        terminal.send(b"\x1b[C")  # right
        terminal.wait_for("30 ms")
        terminal.send(b"c")
        terminal.wait_for("Right.")
        terminal.send(b"q")
        assert terminal.wait_end() == 0
        assert terminal.restored


def test_it_opens_at_the_first_lesson(tmp_path: Path) -> None:
    with Emulator(COMMAND, env={"XDG_STATE_HOME": str(tmp_path)}) as terminal:
        terminal.wait_for("tuiperf")
        terminal.wait_for("Goodp")
        terminal.send(b"q")
        assert terminal.wait_end() == 0


def test_a_live_path_and_back(tmp_path: Path) -> None:
    with Emulator([*COMMAND, "8"], env={"XDG_STATE_HOME": str(tmp_path)}) as terminal:
        terminal.wait_for("Programs that ask")
        terminal.send(b"t")
        terminal.wait_for("enter begin")
        terminal.send(b"\r")
        terminal.wait_for("DONE")
        terminal.send(b"q")
        terminal.wait_for("your own numbers")
        terminal.wait_for("Programs that ask")
        terminal.send(b"q")
        assert terminal.wait_end() == 0
        assert terminal.restored
        assert b"Traceback" not in bytes(terminal.output).rpartition(ALT_OFF)[2]
    (recording,) = (tmp_path / "tuiperf" / "runs").iterdir()
    run = newest([recording])
    assert run is not None
    assert run.min_rtt_us == pytest.approx(200_000, rel=0.05)
