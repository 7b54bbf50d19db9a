from __future__ import annotations

import pytest

from tuiperf.rules import quantities


@pytest.mark.parametrize(
    ("bps", "text"),
    [
        (516e6, "516 Mbit/s"),
        (9.87e6, "9.87 Mbit/s"),
        (94.1e6, "94.1 Mbit/s"),
        (2.1e10, "21.0 Gbit/s"),
        (1500, "1.50 kbit/s"),
        (8, "8 bit/s"),
    ],
)
def test_rates(bps: float, text: str) -> None:
    assert quantities.rate(bps) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.84, "84 %"), (0.0123, "1.2 %"), (0.0011, "0.11 %"), (5e-5, "0.005 %"), (0, "0 %")],
)
def test_shares(share: float, text: str) -> None:
    assert quantities.percent(share) == text


@pytest.mark.parametrize(
    ("count_bytes", "rounded", "text"),
    [
        (7_500_000, 8 << 20, "8M"),
        (8 << 20, 8 << 20, "8M"),
        (500_000, 512 << 10, "512K"),
        (1, 64 << 10, "64K"),
    ],
)
def test_sizes_as_options_take_them(count_bytes: float, rounded: int, text: str) -> None:
    assert quantities.option_bytes(count_bytes) == rounded
    assert quantities.option_size(rounded) == text


def test_sizes_and_times() -> None:
    assert quantities.size(2_753_472) == "2.75 MB"
    assert quantities.size(512) == "512 bytes"
    assert quantities.milliseconds(42_100) == "42.1 ms"
    assert quantities.milliseconds(35) == "0.04 ms"
    assert quantities.milliseconds(1) == "0.001 ms"
    assert quantities.milliseconds(0) == "0.00 ms"
    assert quantities.line_rate(2.5e9) == "2.5 Gbit/s"
    assert quantities.line_rate(1e8) == "100 Mbit/s"
