"""What the command costs before it does anything: modules loaded, time to answer."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

HEAVY = ("textual", "rich", "psutil", "pyroute2")
ROUNDS = 15
VERSION = "import sys; sys.argv[1:] = ['--version']; from tuiperf.cli.main import entry; entry()"
YARDSTICK = "import argparse, json, socket"


def loaded_by(code: str) -> set[str]:
    program = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_parsing_loads_nothing_heavy() -> None:
    modules = loaded_by(
        "import tuiperf.cli.main; from tuiperf.cli.options import parse; parse(['-c', 'x', '-P2'])"
    )
    assert "tuiperf.cli.options" in modules
    assert not modules & set(HEAVY)


def test_measuring_in_plain_text_loads_nothing_heavy() -> None:
    modules = loaded_by("import tuiperf.cli.iperf3, tuiperf.cli.plain, tuiperf.cli.replay")
    assert "tuiperf.cli.page" in modules
    assert not modules & set(HEAVY)


def test_importing_main_loads_next_to_nothing() -> None:
    ours = {name for name in loaded_by("import tuiperf.cli.main") if name.startswith("tuiperf")}
    assert ours == {"tuiperf", "tuiperf.cli", "tuiperf.cli.main"}


def seconds_of(code: str) -> float:
    began_s = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True, timeout=60)
    return time.perf_counter() - began_s


def test_version_answers_about_as_fast_as_python_starts() -> None:
    for code in (VERSION, YARDSTICK):  # both have their bytecode compiled
        seconds_of(code)
    pairs = [(seconds_of(VERSION), seconds_of(YARDSTICK)) for _ in range(ROUNDS)]
    ours_s, theirs_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = ours_s / theirs_s
    print(f"\ntuiperf --version / python3 -c '{YARDSTICK}' = {ratio:.2f} (median of {ROUNDS})")
    assert ratio <= 2.0
