"""The sweep as a user runs it, over a path with a known fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.cli.commands import environment
from tests.lab.conftest import MakePath
from tuiperf.sweep import replay

WAIT_S = 120


def test_a_small_window_is_found_proven_and_kept(make_path: MakePath, tmp_path: Path) -> None:
    lab = make_path({"rate": "100M", "rtt": "30ms", "far": {"tcp_rmem": "96K"}})
    target = f"{lab.peer}:{lab.info['port']}"
    record = tmp_path / "sweep.jsonl.gz"
    words = [sys.executable, "-m", "tuiperf", "sweep", target, "-J", "--record", str(record)]
    done = lab.near.run(words, timeout=WAIT_S, env=environment(tmp_path))
    document = json.loads(done.stdout)
    first = document["verdicts"][0]
    assert (first["id"], first["side"], first["confidence"]) == (
        "window-limited",
        "receiver",
        "high",
    )
    assert document["settled"]
    assert done.returncode == 1
    steps = [step["step"] for step in document["steps"]]
    assert steps[:3] == ["look", "forward", "reverse"]
    assert "parallel" in steps
    assert document["best_parallel"][0]["parallel"] == 4
    assert {step["parameters"]["congestion"] for step in document["steps"][1:3]} == {"cubic"}
    assert document["idle"]["rtts_us"]
    assert document["rfc6349"]["forward"]["tcp_efficiency_percent"] > 99
    again = replay.replay(record).conclusion()
    assert [each.to_json() for each in again.verdicts] == document["verdicts"]
