"""`tuiperf sweep` as a user runs it: words, codes, text, JSON, report, replay; on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.commands import TUIPERF, environment, on_a_terminal, tuiperf
from tests.engine.driving import PROMPT_S
from tests.interop.iperf3 import free_port, iperf3_server
from tests.sweep import events
from tests.sweep.test_state import write
from tuiperf.cli.main import _says_only_where
from tuiperf.cli.sweep import order_of, parser
from tuiperf.cli.values import UsageError
from tuiperf.sweep.known import Mode


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sweep"], "HOST"),
        (["sweep", "lab-b", "-R"], "-R"),
        (["sweep", "lab-b", "--budget", "1k"], "too little"),
        (["sweep", "lab-b", "--budget", "much"], "much"),
        (["sweep", "lab-b", "--max-rate", "1"], "too slow"),
        (["sweep", "lab-b", "--wait", "soon"], "seconds"),
        (["sweep", "lab-b", "--wait", "000000999999999"], "seconds"),
        (["sweep", "lab-b", "-p", "0"], "port"),
        (["sweep", "lab-b:1", "-p", "2"], "two ports"),
        (["sweep", "lab-b", "--quick", "--thorough"], "not allowed"),
        (["sweep", "lab-b", "--tui", "--json"], "exclude"),
        (["sweep", "lab-b", "--report", "/nowhere/r.md"], "cannot write"),
    ],
)
def test_what_cannot_be_followed_is_one_line_and_64(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    done = tuiperf(tmp_path, *words)
    assert done.returncode == 64
    assert len(done.stderr.splitlines()) == 1
    assert complaint in done.stderr
    assert done.stdout == ""


def test_the_words_become_an_order() -> None:
    words = ["[2001:db8::7]:5300", "--thorough", "--budget", "500MB", "--max-rate", "200M"]
    order = order_of(parser().parse_args([*words, "--wait", "5", "-6", "--no-record"]))
    assert (order.spec.host, order.spec.port, order.spec.family) == ("2001:db8::7", 5300, 6)
    assert order.limits.mode is Mode.THOROUGH
    assert (order.limits.budget_bytes, order.limits.max_rate_bps) == (500_000_000, 200_000_000)
    assert (order.wait_s, order.spec.recording) == (5.0, "")
    with pytest.raises(UsageError):
        order_of(parser().parse_args(["lab-b", "-B", "x", "-p", "99999"]))


def test_only_a_bare_host_asks_why() -> None:
    assert _says_only_where(["lab-b"])
    assert _says_only_where(["lab-b", "-p", "5300", "-6", "--ascii"])
    assert not _says_only_where(["run", "lab-b"])
    assert not _says_only_where(["lab-b", "-t", "10"])
    assert not _says_only_where(["-R", "lab-b"])


def test_without_a_server_it_ends_with_69_and_the_reason(tmp_path: Path) -> None:
    port = str(free_port())
    done = tuiperf(tmp_path, "sweep", "127.0.0.1", "-p", port)
    assert done.returncode == 69
    assert "nothing listens on" in " ".join(done.stdout.split())
    document = json.loads(tuiperf(tmp_path, "sweep", "127.0.0.1", "-p", port, "-J").stdout)
    assert document["end"]["reason"] == "unreachable"
    assert document["verdicts"][0]["id"] == "cannot-tell"


def test_a_recorded_sweep_is_shown_again_as_text_and_as_json(tmp_path: Path) -> None:
    path = write(tmp_path / "sweep.jsonl.gz", events.sweep())
    shown = tuiperf(tmp_path, "replay", str(path))
    assert shown.returncode == 0
    assert "one cubic connection" in shown.stdout
    assert "RFC 6349" in shown.stdout
    document = json.loads(tuiperf(tmp_path, "replay", str(path), "--json").stdout)
    assert [step["step"] for step in document["steps"]] == ["look", "forward", "reverse"]
    assert document["end"]["reason"] == "settled"


def test_a_stock_server_is_swept_within_a_budget(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    with iperf3_server() as server:
        done = tuiperf(
            tmp_path,
            *("sweep", f"127.0.0.1:{server.port}", "--quick", "--json"),
            *("--budget", "60MB", "--max-rate", "40M", "--report", str(report)),
        )
    document = json.loads(done.stdout)
    assert [step["step"] for step in document["steps"]][:3] == ["look", "forward", "reverse"]
    assert document["end"]["bytes"] <= 60e6
    for step in document["steps"]:
        for reading in step.get("readings", []):
            assert reading["bits_per_second"] <= 44e6
    assert done.returncode == document["exit_code"]
    text = report.read_text(encoding="utf-8")
    assert "## Steps" in text
    recording = Path(document["recording"])
    again = json.loads(tuiperf(tmp_path, "replay", str(recording), "-J").stdout)
    assert again["verdicts"] == document["verdicts"]
    assert again["steps"] == document["steps"]


def test_ctrl_c_ends_with_what_is_known(tmp_path: Path) -> None:
    with iperf3_server() as server:
        words = ["sweep", f"127.0.0.1:{server.port}", "--max-rate", "20M", "--plain"]
        with subprocess.Popen(
            [*TUIPERF, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(tmp_path),
            text=True,
        ) as child:
            assert child.stdout is not None
            deadline_s = time.monotonic() + PROMPT_S
            for line in child.stdout:
                if "reverse" in line or time.monotonic() > deadline_s:
                    break
            os.kill(child.pid, signal.SIGINT)
            rest, errors = child.communicate(timeout=PROMPT_S)
    assert "interrupted; this is what was known by then" in " ".join(rest.split())
    assert "Rate as asked" in rest
    assert errors == ""
    assert child.returncode == 0


def test_a_bare_host_on_a_terminal_opens_the_sweep(tmp_path: Path) -> None:
    code, shown = on_a_terminal(
        tmp_path, f"127.0.0.1:{free_port()}", once=b"UNREACHABLE", press=b"q"
    )
    assert "Sweep" in shown
    assert code == 69
