"""The calculators: what they say at the numbers of the texts, and that no number breaks them."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lessons.made import UDP_RUN, WINDOW_RUN
from tuiperf.lessons.calculators import (
    Calculator,
    Curve,
    Figure,
    Gauge,
    Pipe,
    Remark,
    calculator,
    transit_times_us,
)
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.sliders import doublings, steps
from tuiperf.lessons.text import NUMBERS
from tuiperf.view.rows import ROLES


def told(found: Calculator) -> dict[str, str]:
    """Its figures and gauges by their labels, the remark under "remark"."""
    texts = {}
    for part in found.parts():
        if isinstance(part, Figure | Gauge | Curve):
            texts[part.label] = part.text
        elif isinstance(part, Remark):
            texts["remark"] = part.text
    return texts


def set_to(lesson: int, *settings_: str, case: Case | None = None) -> Calculator:
    found = calculator(lesson, case or Case())
    for each in settings_:
        found = found.set(*each.split("="))
    return found


def test_the_long_fat_pipe() -> None:
    found = told(set_to(2, "rate=1G", "rtt=42ms", "window=4M"))
    assert found["Holds"] == "5.25 MB = rate × RTT"
    assert found["Speed"] == "799 Mbit/s"
    assert found["Used"] == "80 %"
    assert found["remark"] == "A window of 5.25 MB would fill the pipe."


def test_a_window_beyond_the_pipe_queues() -> None:
    found = set_to(2, "rate=1G", "rtt=20", "window=16M")
    assert told(found)["remark"] == "14.3 MB queue: the RTT grows from 20 ms to 134 ms."
    (pipe,) = (part for part in found.parts() if isinstance(part, Pipe))
    assert pipe.share == 1
    assert pipe.waiting == pytest.approx(5.71, rel=1e-2)


def test_a_window_that_just_fits() -> None:
    found = told(set_to(2, "rate=1G", "rtt=20", "window=2.4M"))
    assert found["remark"] == "The pipe is just full. More window gains nothing."


def test_streams_until_the_wire_is_full() -> None:
    few = told(set_to(3, "rate=1G", "rtt=20", "window=256K", "streams=4"))
    assert few["One"] == "105 Mbit/s a stream"
    assert few["Speed"] == "419 Mbit/s"
    assert "-P 10 or a window of 2.5 MB" in few["remark"]
    enough = told(set_to(3, "rate=1G", "rtt=20", "window=256K", "streams=10"))
    assert enough["remark"] == "Now the wire is the limit, not the window."


def test_loss_and_bbr() -> None:
    found = told(set_to(4, "rate=1G", "rtt=20", "loss=0.1%"))
    assert found["Loss"] == "1 packet in 1000"
    assert found["Speed"] == "22.3 Mbit/s"
    assert found["bbr"] == "about 1 Gbit/s"
    assert told(set_to(4, "rate=1G", "loss=2%"))["bbr"] == "about 980 Mbit/s"
    assert told(set_to(4, "rate=1G", "loss=20%"))["bbr"] == "falls as well"


def test_a_queue_of_half_a_second() -> None:
    found = told(set_to(5, "rate=100M", "rtt=20", "queue=6000000"))
    assert found["Waits"] == "480 ms when it is full"
    assert found["RTT"] == "20 ms → 500 ms"
    assert found["RPM"] == "120 round trips a minute"


def test_line_rates() -> None:
    found = told(set_to(6, "line=100M"))
    assert found["Payload"] == "1448 of 1538 bytes"
    assert found["Share"] == "94.1 %"
    assert found["TCP gets"] == "94.1 Mbit/s"
    assert found["by IPv6"] == "92.8 Mbit/s"
    assert found["Frames"] == "8127 a second"


def test_datagrams_beyond_the_path_are_lost() -> None:
    found = told(set_to(7, "offered=100M", "path=80M", "varies=0"))
    assert found["Arrives"] == "80 Mbit/s"
    assert found["Lost"] == "20 %"
    assert found["Jitter"] == "0 us, smoothed"
    assert told(set_to(7, "offered=10M", "path=80M"))["Lost"] == "0 %"


def test_jitter_of_even_delays_is_a_third_of_their_range() -> None:
    transits = transit_times_us(3000.0, 5000)
    assert 0 <= min(transits) < 100
    assert 2900 < max(transits) <= 3000
    pairs = pairwise(transits)
    assert sum(abs(a - b) for a, b in pairs) / len(transits) == pytest.approx(1000, rel=0.05)


def test_asking_two_hundred_times() -> None:
    found = told(set_to(8, "asks=200", "rtt=40", "data=1K", "rate=1G"))
    assert found["Takes"] == "8 s"
    assert found["2 × rate"] == "8 s"
    assert found["RTT / 2"] == "4 s"
    assert found["Waiting"] == "100 %"
    assert told(set_to(8, "asks=1", "rtt=1", "data=1G", "rate=10M"))["remark"].startswith(
        "Mostly data"
    )


def test_files_are_in_bytes() -> None:
    found = told(set_to(1, "file=10000000000", "goodput=941M"))
    assert found["Takes"] == "85 s"
    assert found["In bytes"] == "118 MB/s"


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("case", [Case(), case_of(WINDOW_RUN), case_of(UDP_RUN)])
@settings(max_examples=40)
@given(moves=st.lists(st.tuples(st.integers(0, 3), st.integers(-30, 30)), max_size=8))
def test_no_place_of_the_sliders_breaks_it(
    number: int, case: Case, moves: list[tuple[int, int]]
) -> None:
    found = calculator(number, case)
    for index, count in moves:
        found = found.moved(index % len(found.sliders), count)
    for part in found.parts():
        if isinstance(part, Gauge | Pipe):
            assert 0 <= part.share <= 1
        if isinstance(part, Figure | Gauge | Remark):
            assert part.role in ROLES
            assert "nan" not in part.text and "inf" not in part.text
        if isinstance(part, Pipe):
            assert math.isfinite(part.waiting) and part.waiting >= 0


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("rtt", "fast", "'fast' is no time: write 42ms"),
        ("rtt", "0", "out of reach"),
        ("rtt", "99999s", "out of reach"),
        ("rate", "1X", "is no rate: write 1G"),
        ("rate", "", "is no rate"),
        ("window", "-1", "is no size"),
        ("delay", "1", "there is no slider 'delay' here; there are rate, rtt, window"),
        ("rtt", "9" * 400, "is no time"),
        ("rtt", "٣", "is no time"),
    ],
)
def test_what_cannot_be_set(name: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        calculator(2, Case()).set(name, text)


def test_a_slider_stands_at_the_readers_own_number() -> None:
    rate, rtt, window = calculator(2, case_of(WINDOW_RUN)).sliders
    assert (rate.value, rtt.value, window.value) == (1e9, 11_800, 265_000)
    assert rtt.moved(1).value == 15_000
    assert rtt.moved(1).moved(-1).value == 11_800
    assert rtt.moved(1000).share == 1 and rtt.moved(-1000).share == 0


def test_round_steps() -> None:
    assert steps(1e6, 2e7) == (1e6, 2e6, 5e6, 1e7, 2e7)
    assert doublings(16384, 65536) == (16384, 32768, 65536)
