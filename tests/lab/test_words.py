"""Quantities as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tuiperf.lab import words
from tuiperf.lab.errors import LabError


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (words.rate_bps, "1G", 10**9),
        (words.rate_bps, "2.5g", 2_500_000_000),
        (words.rate_bps, "100 Mbit/s", 10**8),
        (words.rate_bps, "64kbps", 64_000),
        (words.rate_bps, "0", 0),
        (words.size_bytes, "64K", 65536),
        (words.size_bytes, "4MiB", 4 << 20),
        (words.size_bytes, "1500", 1500),
        (words.time_s, "42ms", 0.042),
        (words.time_s, "300us", 0.0003),
        (words.time_s, "1.5s", 1.5),
        (words.share, "0.1%", 0.001),
        (words.share, "0.02", 0.02),
        (words.count, "5", 5.0),
    ],
)
def test_a_quantity_is_read(read: Callable[[str, str], float], text: str, value: float) -> None:
    assert read("key", text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("read", "text", "complaint"),
    [
        (words.rate_bps, "fast", "key: 'fast' is not a number with a unit"),
        (words.rate_bps, "10ms", "is not a rate such as 100M or 1G"),
        (words.rate_bps, "-1G", "key: '-1G' is negative"),
        (words.rate_bps, "1e30", "is too large"),
        (words.size_bytes, "5 parsec", "is not a size"),
        (words.time_s, "42", "is not a time such as 42ms or 1.5s"),
        (words.time_s, "-3ms", "is negative"),
        (words.share, "100%", "leaves nothing"),
        (words.share, "1.5", "leaves nothing"),
        (words.share, "-1%", "is negative"),
        (words.count, "3s", "is not a plain number"),
        (words.rate_bps, "1" * 5000, "is not a number with a unit"),
        (words.rate_bps, "nan", "is not a number with a unit"),
    ],
)
def test_what_is_no_quantity_gets_one_line(
    read: Callable[[str, str], float], text: str, complaint: str
) -> None:
    with pytest.raises(LabError) as error:
        read("key", text)
    assert complaint in str(error.value)
    assert len(str(error.value)) < 120
    assert "\n" not in str(error.value)


def test_a_queue_may_be_given_in_bandwidth_delay_products() -> None:
    assert words.bandwidth_delay_share("1bdp") == 1.0
    assert words.bandwidth_delay_share("0.1 BDP") == 0.1
    assert words.bandwidth_delay_share("64K") is None
