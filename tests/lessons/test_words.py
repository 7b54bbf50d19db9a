"""Numbers as the lessons write them."""

from __future__ import annotations

import pytest

from tuiperf.lessons import words


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (words.rate(1e9), "1 Gbit/s"),
        (words.rate(94.148e6), "94.1 Mbit/s"),
        (words.size(2.5e6), "2.5 MB"),
        (words.size(500), "500 bytes"),
        (words.milliseconds(20_000), "20 ms"),
        (words.milliseconds(350), "0.35 ms"),
        (words.milliseconds(0), "0 us"),
        (words.percent(0.001), "0.1 %"),
        (words.percent(0.2), "20 %"),
        (words.binary_size(262_144), "256 KiB"),
        (words.binary_size(16 << 20), "16 MiB"),
        (words.binary_size(265_000), "265 KB"),
        (words.count(1500), "1500"),
        (words.count(2_002_734), "2 002 734"),
        (words.duration(0.4), "400 ms"),
        (words.duration(8.5), "8.5 s"),
        (words.duration(85.02), "85 s"),
        (words.duration(680), "11 min 20 s"),
        (words.duration(7500), "2 h 5 min"),
        (words.duration(864_000), "10 days"),
    ],
)
def test_short_and_with_a_unit(shown: str, text: str) -> None:
    assert shown == text
