"""A lab measured against what was asked, with packets of our own and with iperf3.

The limits here are wide, since the machine may be busy; `tuiperf lab check` has the narrow ones.
"""

from __future__ import annotations

import json

import pytest

from tests.interop.iperf3 import iperf3_path
from tests.lab.conftest import MakePath
from tuiperf.lab.check import Row, check, interval
from tuiperf.lab.run import Lab

GOODPUT_SHARE = 1448 / 1538  # of what is on the wire: TCP payload with timestamps


def near_enough(row: Row, wider: float) -> bool:
    """Within `wider` times the check's own distance, and never faster than asked."""
    low = row.asked - wider * (row.asked - row.low)
    high = row.high if row.unit == "bit/s" else row.asked + wider * (row.high - row.asked)
    return low <= row.measured <= high


@pytest.mark.alone
@pytest.mark.parametrize("name", ["long-fat-pipe", "lossy-reverse", "fast-ethernet-hop", "policed"])
def test_a_path_is_as_it_was_asked(make_path: MakePath, name: str) -> None:
    lab = make_path(name)
    rows = list(check(lab))
    assert [row.what for row in rows if row.unit == "bit/s"]
    assert [row for row in rows if not near_enough(row, wider=5.0)] == []


@pytest.mark.alone
def test_a_gigabit_at_42_ms_is_reached_and_never_exceeded(make_path: MakePath) -> None:
    lab = make_path({"rate": "1G", "rtt": "42ms"})
    best_bps = max(goodput_bps(lab) for _ in range(2))
    assert 0.9 * 1e9 * GOODPUT_SHARE < best_bps < 1.005 * 1e9 * GOODPUT_SHARE


def goodput_bps(lab: Lab) -> float:
    """The median second of a short test, its first one left out."""
    argv = [iperf3_path(), "-c", lab.peer, "-C", "cubic", "-t", "4", "-R", "-J"]
    document = json.loads(lab.near.run(argv, timeout=60).stdout)
    rates = [each["sum"]["bits_per_second"] for each in document["intervals"][1:]]
    return float(sorted(rates)[len(rates) // 2])


def test_the_interval_of_chance_holds_what_it_promises() -> None:
    assert interval(1000, 0.0) == (0.0, 0.0)
    assert interval(20, 0.5) == (4 / 20, 16 / 20)  # P(X < 4) = 0.13 %, P(X < 5) = 0.59 %
    assert interval(100, 0.5) == (0.37, 0.63)
    low, high = interval(20_000, 0.001)
    assert low == pytest.approx(0.0005, abs=0.0001)
    assert high == pytest.approx(0.0016, abs=0.0001)
