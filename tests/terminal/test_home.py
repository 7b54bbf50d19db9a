"""The whole app in a real terminal: every screen, with a run towards a real server behind them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.emulator import ALT_OFF, PATIENCE_S, Emulator

TUIPERF = [sys.executable, "-m", "tuiperf"]


@pytest.fixture
def port() -> Iterator[int]:
    """A server of our own on loopback."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        number = int(sock.getsockname()[1])
    server = subprocess.Popen(
        [*TUIPERF, "-s", "-p", str(number), "-B", "127.0.0.1"], stdout=subprocess.DEVNULL
    )
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", number)) == 0:
                break
        time.sleep(0.1)
    yield number
    server.terminate()
    server.wait(10)


def test_through_every_screen_with_a_run_behind_them(port: int, tmp_path: Path) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path)}
    with Emulator([*TUIPERF, "home"], env=env) as terminal:
        terminal.wait_for("What would you like to find out?")
        terminal.send(b"n")
        terminal.wait_for("What to measure")
        terminal.send(f"127.0.0.1:{port}".encode())
        terminal.wait_for(f"tuiperf run 127.0.0.1:{port}")
        terminal.send(b"\t\t\t8\t\t100M\r")
        terminal.wait_for("RUNNING")
        for key, words in ((b"\x1b", "Recent peers"), (b"3", "Link check"), (b"5", "Recordings")):
            terminal.send(key)
            terminal.wait_for(words)
            terminal.wait_for("^r shows it")
        terminal.send(b"4")
        terminal.wait_for("Lesson 1")
        terminal.send(b"\x12")
        terminal.wait_for("DONE")
        terminal.send(b"0")
        terminal.wait_for(f"127.0.0.1:{port}")
        terminal.send(b"5")
        terminal.wait_for("1 run, 1 peer")
        terminal.send(b"q")
        assert terminal.wait_end() == 0
        assert terminal.restored
        left = bytes(terminal.output).rpartition(ALT_OFF)[2].decode()
    assert "goodput" in left


def test_without_a_terminal_it_says_what_one_can_do(tmp_path: Path) -> None:
    done = subprocess.run(
        TUIPERF, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True
    )
    for words in ("tuiperf run HOST", "tuiperf sweep HOST", "tuiperf link", "tuiperf learn"):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
