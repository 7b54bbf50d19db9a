"""The questions: the right answer is right, whatever the reader's numbers are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lessons.made import UDP_RUN, WINDOW_RUN
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.own import OwnRun
from tuiperf.lessons.questions import Question, question
from tuiperf.lessons.text import NUMBERS


def right(lesson: int, case: Case) -> str:
    found = question(lesson, case)
    return found.answers[found.right]


@pytest.mark.parametrize(
    ("lesson", "answer"),
    [
        (1, "85 s"),  # 80 Gbit at 941 Mbit/s
        (2, "5 MB"),  # 1 Gbit/s times 40 ms
        (3, "-P 10"),  # 1 Gbit/s over 256 KiB / 20 ms
        (4, "44.7 Mbit/s"),  # twice 22.3
        (5, "83.9 ms"),  # 1 MiB at 100 Mbit/s
        (6, "a hop of 100 Mbit/s"),
        (7, "20 %"),
        (8, "4 s"),  # 200 times 20 ms
    ],
)
def test_the_examples_answers(lesson: int, answer: str) -> None:
    assert right(lesson, Case()) == answer


@pytest.mark.parametrize(
    ("lesson", "answer"),
    [
        (1, "7 min 48 s"),  # 80 Gbit at 171 Mbit/s
        (2, "2.95 MB"),  # 1 Gbit/s times 23.6 ms
        (3, "-P 6"),  # 1 Gbit/s over 265 KB / 11.8 ms = 180 Mbit/s
        (6, "a hop of 100 Mbit/s"),
        (8, "2.4 s"),  # 200 times 11.8 ms
    ],
)
def test_the_readers_own_answers(lesson: int, answer: str) -> None:
    assert right(lesson, case_of(WINDOW_RUN)) == answer


def test_a_udp_run_asks_about_its_own_rate() -> None:
    assert "sends 50 Mbit/s" in question(7, case_of(UDP_RUN)).text


def test_a_queue_of_ones_own() -> None:
    run = OwnRun("lab-b", False, 94e6, min_rtt_us=20_000, rtt_us=313_000)
    found = question(5, case_of(run))
    assert found.answers[found.right] == "293 ms"
    assert "3.44 MB" in found.text


runs = st.builds(
    OwnRun,
    peer=st.just("lab-b"),
    udp=st.booleans(),
    goodput_bps=st.floats(1000, 4e11),
    sent_bps=st.none() | st.floats(1000, 4e11),
    min_rtt_us=st.none() | st.floats(5, 2e6),
    rtt_us=st.none() | st.floats(5, 1e7),
    in_flight_bytes=st.none() | st.floats(100, 1e9),
    streams=st.integers(1, 128),
    retransmitted_share=st.none() | st.floats(0, 1),
    link_bps=st.none() | st.sampled_from([1e7, 1e9, 1e10]),
)


@pytest.mark.parametrize("number", NUMBERS)
@settings(max_examples=60)
@given(run=runs)
def test_three_different_answers_whatever_was_measured(number: int, run: OwnRun) -> None:
    found: Question = question(number, case_of(run))
    assert len(set(found.answers)) == 3
    assert 0 <= found.right < 3
    assert found.letter in "abc"
    assert "nan" not in found.text + found.working
