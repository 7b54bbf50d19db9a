"""Runs from the command line, in plain text, against real servers on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.commands import (
    TIMEOUT_S,
    TUIPERF,
    environment,
    free_port,
    on_a_terminal,
    server,
    tuiperf,
)

CTRL_Q = b"\x11"
DEMO = ("demo", "loopback", "-t", "1", "-C", "cubic")


def test_the_demo_measures_and_says_why_there_is_no_screen(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, *DEMO)
    assert done.returncode == 0
    assert done.stderr == "tuiperf: plain text, for stdin is not a terminal\n"
    lines = done.stdout.splitlines()
    assert lines[0] == "tuiperf  TCP, 1 connection, 1 s, here → 127.0.0.1"
    assert any(line.split()[:1] == ["0–1"] for line in lines)
    assert any("goodput" in line for line in lines)


def test_a_run_is_recorded_and_replays_to_the_same_page(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    first = tuiperf(tmp_path, *DEMO, "--record", str(record))
    again = tuiperf(tmp_path, "replay", str(record), "--plain")
    assert again.returncode == 0
    assert again.stderr == ""
    told = [line for line in first.stdout.splitlines() if not line.startswith("  recording")]
    assert again.stdout.splitlines() == told


def test_a_run_is_recorded_in_the_usual_place_unless_not_wanted(tmp_path: Path) -> None:
    tuiperf(tmp_path, *DEMO, "--plain", "--no-record")
    assert not list(tmp_path.rglob("*.gz"))
    tuiperf(tmp_path, *DEMO, "--plain")
    assert len(list(tmp_path.rglob("*.gz"))) == 1


def test_plain_runs_remember_their_peer_but_a_demo_does_not(tmp_path: Path) -> None:
    def remembered() -> list[tuple[str, list[str]]]:
        file = tmp_path / "tuiperf" / "peers.json"
        found = json.loads(file.read_text(encoding="utf-8"))["peers"] if file.exists() else []
        return [(each["target"], each["words"]) for each in found]

    tuiperf(tmp_path, *DEMO, "--plain")
    assert remembered() == []
    with server(tmp_path) as (_, port):
        words = ("run", f"127.0.0.1:{port}", "--plain", "-t", "1", "-C", "cubic")
        tuiperf(tmp_path, *words, "--no-record")
        assert remembered() == []
        tuiperf(tmp_path, *words)
    assert remembered() == [(f"127.0.0.1:{port}", ["-t", "1", "-C", "cubic"])]


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--plain", "no-such-host.invalid"], 1, "error - no-such-host.invalid does not resolve"),
        (["--tui", "127.0.0.1"], 2, "error - the screen cannot open: stdin is not a terminal"),
        (["replay", "/nonexistent/run"], 1, "error - cannot read /nonexistent/run: No such file"),
        (["x", "--record", "/nonexistent/run"], 1, "cannot write the recording '/nonexistent/run'"),
        (["--plain", "x", "--logfile", "/nonexistent/log"], 1, "unable to open log file: No such"),
        (["--qqq"], 1, "parameter error - unknown option '--qqq'"),
        (["x", "--username", "ann"], 1, "parameter error - you must specify a username"),
        (["x", "-t\x1b[2J"], 1, "parameter error - test duration"),
        (["x\x1b[2J:y"], 1, "parameter error - 'y' in 'x\\x1b[2J:y' is no port number"),
    ],
)
def test_what_goes_wrong_is_one_line(
    tmp_path: Path, words: list[str], code: int, complaint: str
) -> None:
    done = tuiperf(tmp_path, *words)
    assert done.returncode == code
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "plain text, for" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("tuiperf: ")
    assert complaint in lines[0]


def test_a_refused_port_is_named(tmp_path: Path) -> None:
    port = free_port()
    done = tuiperf(tmp_path, "run", f"127.0.0.1:{port}", "--plain")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"tuiperf: error - nothing listens on 127.0.0.1 port {port}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no events"),
        (b"hello\n", "line 1 is no event of a run: not JSON"),
        (b"\x1f\x8b" + b"x" * 50, "not a recording, or a damaged one"),
        (b'{"v":1,"n":0,"kind":"run_ended","t_s":1,"outcome":"completed"}\n', "holds no run"),
    ],
)
def test_a_broken_recording_is_one_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    file = tmp_path / "run"
    file.write_bytes(content)
    done = tuiperf(tmp_path, "replay", str(file), "--plain")
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_broken_recording_is_one_document_with_json(tmp_path: Path) -> None:
    file = tmp_path / "run"
    file.write_bytes(b"hello\n")
    done = tuiperf(tmp_path, "replay", str(file), "-J")
    assert (done.returncode, done.stderr) == (1, "")
    assert "line 1 is no event of a run" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["lab", "list"]])
def test_a_full_disk_is_one_line(tmp_path: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*TUIPERF, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(tmp_path),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "tuiperf: error - cannot write: No space left on device\n"


def test_a_reader_that_leaves_ends_the_run_quietly(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with subprocess.Popen(
        [*TUIPERF, "demo", "loopback", "--plain", "-t", "30", "-i", "0.2", "-C", "cubic"],
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as child:
        os.close(write_end)
        assert os.read(read_end, 7) == b"tuiperf"
        os.close(read_end)
        _, complaints = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 141
    assert complaints == b""


def test_a_pipe_to_head_gets_its_line(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{' '.join(TUIPERF)} --help | head -1",
        shell=True,
        capture_output=True,
        env=environment(tmp_path),
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stdout.startswith(b"tuiperf: measures a network path")
    assert done.stderr == b""


def test_an_interrupt_ends_a_run_with_its_summary(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TUIPERF, "demo", "loopback", "--plain", "-t", "30", "-C", "cubic"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(tmp_path),
    ) as child:
        assert child.stdout is not None
        head: list[str] = []
        while not head or "0–1" not in head[-1]:
            head.append(child.stdout.readline())
            assert head[-1], head
        child.send_signal(signal.SIGINT)
        rest, complaints = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 0
    assert "stopped by Interrupt(2)" in rest
    assert "goodput" in rest
    assert "Traceback" not in complaints


def test_the_demos_server_ends_with_it(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TUIPERF, "demo", "loopback", "--plain", "-t", "30", "-C", "cubic"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        servers = children_of(child.pid)
        assert servers
        child.kill()
    deadline_s = time.monotonic() + 10
    while any(is_running(pid) for pid in servers) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not [pid for pid in servers if is_running(pid)]


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_terminal_gets_colour_unless_it_is_not_wanted(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, *DEMO, "--plain")
    assert code == 0
    assert "\x1b[1m" in shown
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, shown = on_a_terminal(tmp_path, *DEMO, "--plain", env=env)
        assert code == 0
        assert "\x1b" not in shown


def test_a_good_terminal_gets_the_screen_and_keeps_the_summary(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, *DEMO, once=b"\x1b[?1049h", press=CTRL_Q)
    assert code in (0, 1)  # 1: it was left before any data
    assert "plain text" not in shown
    left = shown.rpartition("\x1b[?1049l")[2]
    assert "127.0.0.1" in left
    assert "Traceback" not in shown


def test_a_recording_opens_on_the_screen(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    tuiperf(tmp_path, *DEMO, "--record", str(record))
    code, shown = on_a_terminal(tmp_path, "replay", str(record), once=b"\x1b[?1049h", press=CTRL_Q)
    assert code == 0
    assert "goodput" in shown.rpartition("\x1b[?1049l")[2]


def test_a_dumb_terminal_gets_text_and_the_reason(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, *DEMO, env={"TERM": "dumb"})
    assert code == 0
    assert shown.startswith("tuiperf: plain text, for TERM is dumb")


def test_without_utf8_the_page_is_ascii(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, *DEMO, "--plain", env={"LC_ALL": "C"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "here -> 127.0.0.1" in done.stdout


def test_a_log_file_takes_the_page(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = tuiperf(tmp_path, *DEMO, "--logfile", str(log))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert log.read_text(encoding="utf-8").startswith("tuiperf  TCP, 1 connection, 1 s")


@pytest.mark.parametrize("words", [["--version"], ["-v"], ["version"], ["-c", "x", "-v"]])
def test_version_names_python_kernel_and_features(tmp_path: Path, words: list[str]) -> None:
    done = tuiperf(tmp_path, *words)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 3)
    assert lines[0].startswith("tuiperf ")
    assert "Python 3." in lines[0]
    assert os.uname().release in lines[1]
    assert lines[2].startswith("Optional features available: ")


@pytest.mark.parametrize("words", [["--help"], ["help"], ["-h", "-q"]])
def test_help_is_on_stdout(tmp_path: Path, words: list[str]) -> None:
    done = tuiperf(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tuiperf run HOST" in done.stdout


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{' '.join(TUIPERF)} --version <&- >&-; {' '.join(TUIPERF)} --qqq 2>&-",
        shell=True,
        capture_output=True,
        env=environment(tmp_path),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
