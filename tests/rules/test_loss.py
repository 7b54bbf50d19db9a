from __future__ import annotations

from typing import Any

import pytest

from tests.rules import steady
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Confidence, Level, Verdict


def first(**made: Any) -> Verdict:
    return judge(steady.session(**made))[0]


def test_random_loss_under_cubic_with_hand_computed_mathis() -> None:
    # 0.1 % of 1000-byte packets at 40 ms: 0.2 Mbit/s * 1.22 / sqrt(0.001) = 7.72 Mbit/s
    verdict = first(**steady.losing(1e-3, 8e6))
    assert verdict.id == "lossy"
    assert verdict.qualifier == (("direction", "forward"), ("kind", "path-loss"))
    assert (verdict.level, verdict.confidence) == (Level.FAULT, Confidence.HIGH)
    assert verdict.claim == "here → far: the path loses 0.10 %, and cubic slows down at each loss."
    assert any("about 7.7" in line and "8.00 Mbit/s" in line for line in verdict.because)
    assert verdict.next[0].startswith("try --fq-rate 4M:")


def test_bbr_hides_loss_and_is_no_fault_below_two_percent() -> None:
    verdict = first(congestion="bbr", **steady.losing(1e-2, 300e6))
    assert verdict.id == "lossy"
    assert dict(verdict.qualifier)["kind"] == "unknown"
    assert verdict.level is Level.LOOK
    assert any("-C cubic" in line for line in verdict.next)
    assert first(congestion="bbr", **steady.losing(5e-2, 300e6)).level is Level.FAULT


def test_more_speed_than_mathis_allows_is_no_random_loss() -> None:
    verdict = first(**steady.losing(1e-3, 80e6))
    assert dict(verdict.qualifier)["kind"] == "unknown"
    assert verdict.confidence is Confidence.MEDIUM
    assert "a rate limiter" in verdict.claim


@pytest.mark.parametrize(
    "void",
    [
        pytest.param({"rtt_us": 80_000}, id="a queue overflows"),
        pytest.param({"reord_seen_events": 0, "again": "reord_seen_events"}, id="reordering"),
        pytest.param({"dsack_dups_packets": 10_000}, id="duplicates"),
        pytest.param({"host": (0.9, 0.0)}, id="busy host"),
        pytest.param({"local_host": "10.0.0.2"}, id="loopback"),
        pytest.param({"test": {"rate_bps": 8_000_000}}, id="-b reached"),
    ],
)
def test_never_when_something_else_can_be_the_cause(void: dict[str, Any]) -> None:
    lossy = steady.losing(1e-3, 8e6)
    extra = {key: value for key, value in void.items() if key != "again"}
    if "again" in void:
        extra["growing"] = {**lossy["growing"], void["again"]: 100.0}
        del extra[void["again"]]
    assert first(**{**lossy, **extra}).id not in ("window-limited", "lossy")


def test_three_lost_packets_are_no_verdict() -> None:
    assert first(seconds=6.0, **steady.losing(5e-4, 8e6)).id != "lossy"


def test_loss_towards_here_is_inferred_until_the_far_end_tells() -> None:
    towards = {
        "here_sends": False,
        "rate_bps": 8e6,
        "test": {"congestion": "cubic"},
        "growing": {"rcv_ooopack_packets": 3.0},
    }
    running = first(**towards)
    assert running.id == "lossy"
    assert dict(running.qualifier)["direction"] == "reverse"
    assert running.confidence is Confidence.LOW
    assert any("inferred" in line for line in running.because)
    ended = first(over=True, far=steady.far_results(8, 8_000_000), **towards)
    assert (ended.id, ended.confidence) == ("lossy", Confidence.MEDIUM)
    assert any("counted 8 retransmissions" in line for line in ended.because)
    clean = first(over=True, far=steady.far_results(0, 8_000_000), **towards)
    assert clean.id == "reordered"


def test_under_bbr_only_the_far_end_can_tell_loss_from_reordering() -> None:
    towards = {
        "here_sends": False,
        "rate_bps": 300e6,
        "test": {"congestion": "bbr"},
        "growing": {"rcv_ooopack_packets": 500.0},
    }
    running = first(**towards)
    assert running.id == "cannot-tell"
    assert running.short == "the far sender's count"
    told = steady.far_results(3_000, 300_000_000, "bbr")
    assert first(over=True, far=told, **towards).id == "lossy"


@pytest.mark.parametrize(
    ("local_host", "named"), [("10.0.0.1", True), ("10.0.0.2", False)], ids=["path", "one-host"]
)
def test_only_a_path_can_let_packets_overtake_each_other(local_host: str, named: bool) -> None:
    again = {"reord_seen_events": 10, "dsack_dups_packets": 12, "retransmits": 12}
    growing = {name: float(count) for name, count in again.items()}
    made = steady.session(local_host=local_host, growing=growing)
    assert ("reordered" in [verdict.id for verdict in judge(made)]) is named


def test_packets_that_overtake_each_other_all_the_time_are_not_lost() -> None:
    verdict = first(
        here_sends=False,
        rate_bps=200e6,
        test={"congestion": "cubic"},
        growing={"rcv_ooopack_packets": 500.0},
    )
    assert verdict.id == "reordered"
