"""The app in a real terminal: its start and its end, whatever happens to the terminal."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.terminal.emulator import ALT_OFF, Emulator, children, cpu_s, gone, played
from tuiperf.recording import replay


def test_start_run_and_quit_with_the_summary_on_the_normal_screen(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    with Emulator(played(30, str(recording))) as terminal:
        terminal.wait_for("RUNNING")
        terminal.wait_for("0–1")
        terminal.send(b"q")
        terminal.wait_for("Stop it and quit?")
        terminal.send(b"y")
        assert terminal.wait_end() == 0
        assert terminal.restored
        left = bytes(terminal.output).rpartition(ALT_OFF)[2].decode()
    assert "goodput" in left
    assert "stopped by Interrupt(2)" in left
    assert str(recording) in left
    assert replay(recording).ended is not None


def test_a_run_to_its_end(tmp_path: Path) -> None:
    with Emulator(played(2, str(tmp_path / "a.jsonl"), "--pace", "4")) as terminal:
        terminal.wait_for("DONE")
        terminal.send(b"q")
        assert terminal.wait_end() == 0
        assert terminal.restored


def test_ctrl_c_stops_the_run_and_not_the_app() -> None:
    with Emulator(played(30)) as terminal:
        terminal.wait_for("0–1")
        terminal.send(b"\x03")
        terminal.wait_for("STOPPED")
        terminal.send(b"q")
        assert terminal.wait_end() == 0


def test_an_engine_that_dies_leaves_the_screen_up() -> None:
    with Emulator(played(30, "", "--die", "1.5")) as terminal:
        terminal.wait_for("ENGINE LOST")
        shown = terminal.wait_for("ended with code 3")
        assert "THROUGHPUT" in shown
        terminal.send(b"q")
        assert terminal.wait_end() == 1
        assert terminal.restored


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal_and_ends_the_engine(number: signal.Signals) -> None:
    with Emulator(played(30)) as terminal:
        terminal.wait_for("0–1")
        (engine,) = children(terminal.pid)
        os.kill(terminal.pid, number)
        assert terminal.wait_end() == 128 + number
        assert terminal.restored
        assert gone(engine)


def test_an_interrupt_from_outside_ends_the_run_in_order_and_the_app() -> None:
    with Emulator(played(30)) as terminal:
        terminal.wait_for("0–1")
        (engine,) = children(terminal.pid)
        os.kill(terminal.pid, signal.SIGINT)
        assert terminal.wait_end() == 0
        assert terminal.restored
        left = bytes(terminal.output).rpartition(ALT_OFF)[2].decode()
        assert gone(engine)
    assert "stopped" in left
    assert "MB received" in left


@pytest.mark.parametrize("ignore_hangup", [False, True])
def test_a_closed_window_ends_app_and_engine(ignore_hangup: bool) -> None:
    with Emulator(played(30), ignore_hangup=ignore_hangup) as terminal:
        terminal.wait_for("0–1")
        (engine,) = children(terminal.pid)
        terminal.close()
        terminal.wait_end(reading=False)
        assert gone(engine)


def test_stopped_and_resumed_it_paints_everything_again() -> None:
    command = " ".join(f"'{part}'" for part in played(60))
    with Emulator(["/bin/sh", "-i"], env={"PS1": "ready> ", "ENV": ""}) as terminal:
        terminal.wait_for("ready>")
        terminal.send(command.encode() + b"\n")
        terminal.wait_for("0–1")
        terminal.send(b"\x1a")
        terminal.wait_for_output(ALT_OFF)
        terminal.wait_for("ready>")
        terminal.screen.reset()
        terminal.send(b"fg\n")
        shown = terminal.wait_for("Verdict so far")
        shown = terminal.wait_for("q Quit")
        for words in ("THROUGHPUT", "Intervals", "RUNNING", "Throughput  Mbit/s"):
            assert words in shown
        terminal.send(b"\x11")
        terminal.wait_for("goodput")


def test_a_hung_terminal_does_not_stop_the_app() -> None:
    with Emulator(played(60)) as terminal:
        terminal.wait_for("0–1")
        time.sleep(5)
        terminal.wait_for("4–5")
        terminal.send(b"\x11")
        assert terminal.wait_end() == 0
        assert terminal.restored


def test_no_color_sends_no_colours_of_its_own() -> None:
    with Emulator(played(30), env={"NO_COLOR": "1"}) as terminal:
        shown = terminal.wait_for("0–1")
        assert "█" in shown or "▇" in shown
        terminal.send(b"\x11")
        terminal.wait_end()
        assert b"38;2;" not in terminal.output
        assert b"48;2;" not in terminal.output


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LANG": "C"}, {"LANG": "POSIX"}])
def test_no_utf8_gives_ascii(locale: dict[str, str]) -> None:
    """In the C locale the interpreter itself sets LC_CTYPE, unless LC_ALL is there (PEP 538)."""
    unset = ["env", "-u", "LC_ALL", "-u", "LC_CTYPE", "-u", "LANG"]
    named = [f"{name}={value}" for name, value in locale.items()]
    with Emulator([*unset, *named, *played(30)]) as terminal:
        shown = terminal.wait_for("0-1")
        assert shown.isascii()
        terminal.send(b"\x11")
        terminal.wait_end()


@pytest.mark.alone
def test_the_screen_stays_within_its_budget() -> None:
    """At 80x24 and 4 Hz: at most 15 kB/s to the terminal, and 8 % of a core."""
    with Emulator(played(20)) as terminal:
        terminal.wait_for("1–2")
        begun_s, used_s, written = time.monotonic(), cpu_s(terminal.pid), 0
        while time.monotonic() < begun_s + 6:
            written += terminal.read()
        lasted_s = time.monotonic() - begun_s
        rate = written / lasted_s
        share = (cpu_s(terminal.pid) - used_s) / lasted_s
        print(f"{rate / 1000:.1f} kB/s, {100 * share:.1f} % of a core")
        assert 500 < rate <= 15_000
        assert share <= 0.08
