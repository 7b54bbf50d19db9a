"""When datagrams are due, with a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuiperf.engine import udp_pacing
from tuiperf.engine.udp_pacing import PIECE_S, QUANTUM_S, Bursts, Flood, Pace, Steady

SIZE = 1250  # bytes: 10,000 bits


class Clock:
    """Moves by sleeps, which last a little longer than asked for, and a bit when looked at."""

    def __init__(self, late_s: float = 0.0) -> None:
        self.now_s = 1000.0
        self.late_s = late_s
        self.longest_s = 0.0

    def monotonic(self) -> float:
        self.now_s += 1e-8
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.longest_s = max(self.longest_s, seconds)
        self.now_s += seconds + self.late_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(udp_pacing, "time", made)
    return made


def run(pace: Pace, clock: Clock, seconds: float, each_s: float = 0.0) -> list[tuple[float, int]]:
    """When how many were sent, for so long; each datagram takes `each_s` to send."""
    calls, sent, end_s = [], 0, clock.now_s + seconds
    while clock.now_s < end_s:
        count = pace.next_count(sent)
        if count:
            calls.append((clock.now_s, count))
            sent += count
            clock.now_s += count * each_s + 1e-7
    return calls


def total(calls: list[tuple[float, int]]) -> int:
    return sum(count for _, count in calls)


@settings(deadline=None)
@given(
    st.sampled_from([10**6, 10**7, 10**8, 10**9, 5 * 10**9]),
    st.floats(0, 200e-6),
    st.sampled_from([1, 64, 368]),
)
def test_the_rate_is_met_however_late_the_host_wakes(
    rate_bps: int, late_s: float, most: int
) -> None:
    clock = Clock(late_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(udp_pacing, "time", clock)
        pace = Steady(rate_bps, SIZE, most, clock.now_s)
        start_s = clock.now_s
        calls = run(pace, clock, min(0.2, 3e8 / rate_bps))
        due = rate_bps / 10_000 * (clock.now_s - start_s)
    if rate_bps / 10_000 * (late_s + 2e-6) < most / 4:
        slack = 1 + pace.together + rate_bps / 10_000 * 3 * (late_s + PIECE_S)
        assert due - slack <= total(calls) <= due + 1


def test_the_number_sent_is_right_at_every_moment(clock: Clock) -> None:
    start_s = clock.now_s
    sent = 0
    for when_s, count in run(Steady(10**6, SIZE, 1, start_s), clock, 3.0):
        sent += count
        assert sent == pytest.approx((when_s - start_s) * 100, abs=0.51)


def test_slow_datagrams_go_one_by_one_and_fast_ones_in_quanta(clock: Clock) -> None:
    assert {count for _, count in run(Steady(10**7, SIZE, 368, clock.now_s), clock, 0.2)} == {1}
    fast = run(Steady(10**9, SIZE, 368, clock.now_s), clock, 0.2)
    assert max(count for _, count in fast) <= 2 * 10**5 * QUANTUM_S


def test_what_a_pause_missed_follows_evenly(clock: Clock) -> None:
    rate_bps = 10**9
    pace = Steady(rate_bps, SIZE, 368, clock.now_s)
    start_s = clock.now_s
    sent = total(run(pace, clock, 0.05))
    clock.now_s += 0.02
    piece = rate_bps / 10_000 * PIECE_S
    while sent < (clock.now_s - start_s) * rate_bps / 10_000 - 2 * pace.together:
        count = pace.next_count(sent)
        assert count <= piece
        sent += count
    assert clock.now_s - start_s == pytest.approx(0.09, rel=0.1)


def test_a_host_that_cannot_keep_up_does_not_sleep(clock: Clock) -> None:
    pace = Steady(10**9, SIZE, 64, clock.now_s)
    calls = run(pace, clock, 0.5, each_s=20e-6)  # twice as long as there is
    assert total(calls) > 0.95 * 0.5 / 20e-6


def test_a_very_slow_stream_looks_up_often(clock: Clock) -> None:
    run(Steady(100, SIZE, 1, clock.now_s), clock, 3.0)
    assert clock.longest_s <= 0.05


def test_bursts_come_whole_and_average_out(clock: Clock) -> None:
    calls = run(Bursts(10**8, SIZE, 100, 64, clock.now_s), clock, 1.0)
    assert [count for _, count in calls[:4]] == [64, 36, 64, 36]
    assert total(calls) == pytest.approx(10_000, abs=100)


def test_without_a_rate_a_call_takes_about_two_milliseconds(clock: Clock) -> None:
    slow = run(Flood(368), clock, 2.0, each_s=1e-4)
    assert slow[-1][1] == pytest.approx(20, abs=2)
    fast = run(Flood(368), clock, 1.0, each_s=1e-6)
    assert fast[-1][1] == 368
    crawling = run(Flood(368), clock, 5.0, each_s=0.05)
    assert crawling[-1][1] == 1
