"""`tuiperf -c` and `tuiperf -s` in iperf3's place: text, JSON, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import (
    TIMEOUT_S,
    TUIPERF,
    environment,
    free_port,
    server,
    tuiperf,
)

SHORT = ("-t", "1", "-C", "cubic")


def towards(port: int, *words: str) -> tuple[str, ...]:
    return ("-c", "127.0.0.1", "-p", str(port), *words)


def test_a_client_prints_iperf3s_text(tmp_path: Path) -> None:
    with server(tmp_path) as (_, port):
        done = tuiperf(tmp_path, *towards(port, *SHORT))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"Connecting to host 127.0.0.1, port {port}"
    assert " local 127.0.0.1 port " in lines[1]
    assert lines[2].startswith("[ ID] Interval           Transfer     Bitrate         Retr  Cwnd")
    assert [line.rstrip().split()[-1] for line in lines[-4:-2]] == ["sender", "receiver"]
    assert lines[-2:] == ["", "iperf Done."]


def test_a_client_prints_one_json_document_with_a_diagnosis(tmp_path: Path) -> None:
    with server(tmp_path) as (_, port):
        done = tuiperf(tmp_path, *towards(port, *SHORT, "-J"))
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert list(document)[:3] == ["start", "intervals", "end"]
    assert document["end"]["sum_received"]["bytes"] > 0
    assert document["diagnosis"]["verdicts"]
    assert "error" not in document


def test_what_a_client_measured_is_recorded_where_it_asks_or_not_at_all(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    with server(tmp_path) as (_, port):
        tuiperf(tmp_path, *towards(port, *SHORT, "--no-record"))
        assert not list(tmp_path.rglob("*.gz"))
        tuiperf(tmp_path, *towards(port, *SHORT, "--record", str(record)))
        assert list(tmp_path.rglob("*.gz")) == [record]
        tuiperf(tmp_path, *towards(port, *SHORT))
    assert len(list((tmp_path / "tuiperf" / "runs").glob("*.gz"))) == 1
    document = json.loads(tuiperf(tmp_path, "replay", str(record), "-J").stdout)
    assert document["end"]["sum_sent"]["bytes"] > 0


def test_a_replay_tells_why_a_run_never_began(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    words = ("-c", "127.0.0.1", "-F", str(tmp_path / "absent"), "--record", str(record))
    first = tuiperf(tmp_path, *words)
    assert first.returncode == 1
    again = tuiperf(tmp_path, "replay", str(record), "--plain")
    assert again.stderr == first.stderr
    assert "unable to open -F file" in again.stderr


def test_run_with_json_is_the_same_document(tmp_path: Path) -> None:
    with server(tmp_path) as (_, port):
        done = tuiperf(tmp_path, "run", f"127.0.0.1:{port}", *SHORT, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["diagnosis"]["verdicts"]
    assert len(list(tmp_path.rglob("*.gz"))) == 1


def test_a_refused_client_says_so_on_stderr(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, *towards(free_port()))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tuiperf: error - ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_failed_client_with_json_says_so_in_the_document(tmp_path: Path, host: str) -> None:
    done = tuiperf(tmp_path, "-c", host, "-p", str(free_port()), "-J")
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert document["error"]
    assert "NaN" not in done.stdout


def interrupted(tmp_path: Path, *words: str) -> tuple[int, str, str]:
    """Run a long test, interrupt it once data flows, and return what came of it."""
    with server(tmp_path) as (served, port):
        with subprocess.Popen(
            [*TUIPERF, *towards(port, "-t", "30", "-C", "cubic", *words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(tmp_path),
        ) as child:
            assert served.stdout is not None
            while b"0.00-1.0" not in served.stdout.readline():
                assert served.poll() is None
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=TIMEOUT_S)
        return child.returncode, out, err


def test_an_interrupted_client_prints_its_summary(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path)
    assert code == 0
    assert err == "tuiperf: interrupt - the client has terminated by signal Interrupt(2)\n"
    assert "sender" in out


def test_an_interrupted_client_with_json_prints_its_document(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "-J")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["intervals"]
    assert "interrupt" in document["error"]


def test_a_server_ends_in_order_on_a_signal(tmp_path: Path) -> None:
    with server(tmp_path) as (served, _):
        served.send_signal(signal.SIGTERM)
        _, err = served.communicate(timeout=TIMEOUT_S)
    assert served.returncode == 0
    assert err == b"tuiperf: interrupt - the server has terminated by signal Terminated(15)\n"


def test_a_one_off_server_prints_its_test_and_ends(tmp_path: Path) -> None:
    with server(tmp_path, "-1") as (served, port):
        assert tuiperf(tmp_path, *towards(port, *SHORT)).returncode == 0
        out, err = served.communicate(timeout=TIMEOUT_S)
    assert (served.returncode, err) == (0, b"")
    assert b"Accepted connection from 127.0.0.1, port " in out
    assert out.rstrip().endswith((b"receiver", b"-" * 59))


def test_a_server_whose_port_is_taken_says_so(tmp_path: Path) -> None:
    with server(tmp_path) as (_, port):
        done = tuiperf(tmp_path, "-s", "-p", str(port))
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("tuiperf: error - ")
        assert done.stderr.count("\n") == 1
        document = json.loads(tuiperf(tmp_path, "-s", "-p", str(port), "-J").stdout)
    assert document["error"]


def documents(text: str) -> list[dict[str, Any]]:
    decoder, found = json.JSONDecoder(), []
    text = text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].strip()
    return found


def test_a_server_with_json_prints_one_document_a_test(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [*TUIPERF, "-s", "-J", "-p", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(tmp_path),
    ) as served:
        try:
            wait_for(tmp_path, port)
            assert tuiperf(tmp_path, *towards(port, *SHORT, "-R")).returncode == 0
        finally:
            served.send_signal(signal.SIGTERM)
            out, err = served.communicate(timeout=TIMEOUT_S)
    assert (served.returncode, err) == (0, "")
    found = documents(out)
    assert len(found) >= 2
    assert all(document["end"]["sum_sent"]["bytes"] >= 0 for document in found[-1:])
    assert all("diagnosis" in document for document in found)


def wait_for(tmp_path: Path, port: int) -> None:
    """Run small tests until one succeeds: the server has then served at least one."""
    for _ in range(50):
        if tuiperf(tmp_path, *towards(port, "-n", "1M", "-C", "cubic")).returncode == 0:
            return
    raise AssertionError("the server does not answer")


def test_a_pid_file_is_held_while_the_server_runs(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with server(tmp_path, "-I", str(file)) as (served, port):
        assert file.read_text().strip() == str(served.pid)
        done = tuiperf(tmp_path, *towards(port, "-I", str(file)))
        assert done.returncode == 1
        assert "belongs to a process that still runs" in done.stderr
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=TIMEOUT_S)
    assert not file.exists()


def test_a_pid_file_of_a_process_that_is_gone_is_taken_over(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with subprocess.Popen(["true"]) as gone:
        file.write_text(f"{gone.pid}\n")
    done = tuiperf(tmp_path, *towards(free_port(), "-I", str(file)))
    assert "nothing listens" in done.stderr
    assert not file.exists()


def test_title_and_log_file(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with server(tmp_path) as (_, port):
        done = tuiperf(tmp_path, *towards(port, *SHORT, "-T", "up", "--logfile", str(log)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"up:  Connecting to host 127.0.0.1, port {port}"


def test_a_reader_that_leaves_ends_the_client_quietly(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with server(tmp_path) as (_, port):
        with subprocess.Popen(
            [*TUIPERF, *towards(port, "-t", "30", "-i", "0.2", "-C", "cubic")],
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
        ) as child:
            os.close(write_end)
            assert os.read(read_end, 10) == b"Connecting"
            os.close(read_end)
            _, err = child.communicate(timeout=TIMEOUT_S)
        assert (child.returncode, err) == (141, b"")


def test_without_the_s_nothing_listens(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "-p", str(free_port()))
    assert done.returncode == 1
    assert "must either be a client (-c) or server (-s)" in done.stderr
