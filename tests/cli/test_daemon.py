"""`tuiperf -s -D`: in the background, its pid file and log, and what keeps it from starting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.servers import COMMAND, PATIENCE_S, OurCli
from tests.engine.driving import eventually, is_running
from tests.interop.iperf3 import free_port

ROOT = str(Path(__file__).parents[2])


def start(folder: Path, port: int, *options: str) -> subprocess.CompletedProcess[str]:
    """Start it in `folder`; it must end its first process by itself."""
    return subprocess.run(
        [*COMMAND, "-s", "-D", "-B", "127.0.0.1", "-p", str(port), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_it_serves_in_the_background(tmp_path: Path) -> None:
    port = free_port()
    done = start(tmp_path, port, "-I", "pid", "--logfile", "log", "--forceflush", "-F", "data")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    pid = int((tmp_path / "pid").read_text())
    try:
        assert os.getsid(pid) == pid and str(Path(f"/proc/{pid}/cwd").readlink()) == "/"
        assert {str(Path(f"/proc/{pid}/fd/{fd}").readlink()) for fd in range(3)} == {"/dev/null"}
        assert OurCli.client(port, "-n", "1000", "-C", "cubic").code == 0
        assert (tmp_path / "data").stat().st_size == 1000
        second = start(tmp_path, free_port(), "-I", "pid")
        assert second.returncode == 1 and "still runs" in second.stderr
        log = (tmp_path / "log").read_text()
        assert [f"(test #{n})" in log for n in (1, 2, 3)] == [True, True, False]
        assert "Reachable at 127.0.0.1" in log
    finally:
        os.kill(pid, signal.SIGTERM)
    assert eventually(lambda: not is_running(pid))
    assert not (tmp_path / "pid").exists()
    assert "the server has terminated by signal Terminated(15)" in (tmp_path / "log").read_text()


def test_what_keeps_it_from_listening_is_told_at_the_terminal(tmp_path: Path) -> None:
    with OurCli.server() as server:
        done = start(tmp_path, server.port, "-I", "pid")
    assert done.returncode == 1
    assert "the port is in use" in done.stderr
    assert not (tmp_path / "pid").exists()


@pytest.mark.parametrize(("folder", "code"), [("", 0), ("not there/", 1)])
def test_the_pid_file_is_whole_when_the_first_process_ends(
    folder: str, code: int, tmp_path: Path
) -> None:
    program = f"""
import time
from tuiperf.cli.daemon import PidFile, go_on_in_background

class Slow(PidFile):
    def write(self):
        time.sleep(0.3)
        super().write()

go_on_in_background(Slow({folder + "pid"!r}))
time.sleep(30)
"""
    words = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == code
    if folder:
        assert b"pid file" in done.stderr.lower()
    else:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)


def test_a_client_has_no_background() -> None:
    words = [*COMMAND, "-c", "127.0.0.1", "-D"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "server only: --daemon" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--server-bitrate-limit 10M/70", "invalid time interval"),
        ("--server-bitrate-limit ten", "invalid unit value"),
        ("--time-skew-threshold 0", "skew threshold must be a positive number"),
        ("--rsa-private-key-path f", "private key and a user credential file"),
        ("--rsa-private-key-path f --authorized-users-path g", "'f': No such file"),
    ],
)
def test_words_that_are_wrong(words: str, told: str, tmp_path: Path) -> None:
    done = start(tmp_path, free_port(), *words.split())
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("tuiperf: parameter error - ") and told in line
