"""Pieces and waits of paced sending, without any clock but the one given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.engine import pacing


@pytest.mark.parametrize(
    ("rate_bps", "piece"),
    [
        (1_000, 12),  # something every 100 ms
        (1_000_000, 1448),  # whole segments, 11.6 ms apart
        (100_000_000, 12_500),  # 1 ms
        (1_000_000_000, 125_000),
        (5_000_000_000, 131_072),  # no more than iperf3's usual write
        (100_000_000_000, 1_250_000),  # or 0.1 ms
    ],
)
def test_piece(rate_bps: int, piece: int) -> None:
    assert pacing.piece_bytes(rate_bps, 131_072) == piece


def test_burst_is_counted_in_blocks() -> None:
    assert pacing.piece_bytes(1_000_000, 8192, burst_blocks=10) == 81_920


def test_smallest_rate_sends_something() -> None:
    assert pacing.piece_bytes(1, 131_072) == 1


@given(
    rate_bps=st.integers(1_000, 100_000_000_000),
    start_s=st.floats(0, 1e6),
    wakes_late_s=st.floats(0, 0.02),
)
def test_average_over_many_pieces(rate_bps: int, start_s: float, wakes_late_s: float) -> None:
    piece = pacing.piece_bytes(rate_bps, 131_072)
    bucket = pacing.Bucket(rate_bps, piece, start_s)
    now_s, sent = start_s, 0
    for _ in range(2000):
        wait_s = bucket.wait_s(sent, now_s)
        if wait_s > 0:
            now_s += wait_s + wakes_late_s
        else:
            sent += piece
    due = (now_s - start_s) * rate_bps / 8
    assert abs(sent - due) <= piece + wakes_late_s * rate_bps / 8 + 1e-6 * rate_bps


def test_a_burst_goes_out_at_once_and_then_waits() -> None:
    bucket = pacing.Bucket(8_000, 100, start_s=5.0, burst=True)
    assert bucket.wait_s(0, 5.0) <= 0
    assert bucket.wait_s(100, 5.08) == pytest.approx(0.02)


def test_what_a_pause_cost_is_caught_up() -> None:
    bucket = pacing.Bucket(8_000, 10, start_s=0.0)
    assert bucket.wait_s(1000, 2.0) < 0
    assert bucket.wait_s(1990, 2.0) < 0
    assert bucket.wait_s(2000, 2.0) > 0


def test_never_a_long_sleep() -> None:
    bucket = pacing.Bucket(8, 1, start_s=0.0)
    assert 0 < bucket.wait_s(1, 0.0) <= 0.05
