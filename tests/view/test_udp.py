"""UDP on the screen and in the summary: offered is not arrived, and nobody guesses losses."""

from __future__ import annotations

from typing import Any

import pytest

from tests import made_udp
from tests.made_udp import Losses
from tuiperf.rules.book import judge
from tuiperf.session import Session
from tuiperf.view import cards, heading, intervals, summary
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, row_width, to_text

RECEIVED = ["Lost", "%", "Jitter", "ms", "Lost", "Datagrams"]
SOME = Losses(lost=10, late=2, duplicates=1, host_dropped=3, jitter_s=0.0123)


def table(session: Session, width: int = 78) -> list[str]:
    return [to_text(row).rstrip() for row in intervals.interval_rows(session, width, 4)]


def card_values(session: Session) -> list[tuple[str, str]]:
    return [(card.title, card.value) for card in cards.cards(session)]


def summed_up(session: Session) -> str:
    return "\n".join(to_text(row) for row in summary.summary_rows(session, judge(session), 79))


def test_a_receiver_sees_losses_and_jitter() -> None:
    session = made_udp.session(made_udp.spec(reverse=True), SOME, ended=False)
    titles, newest, *_ = table(session)
    assert titles.split() == ["Seconds", "Mbit/s", *RECEIVED]
    assert newest.split()[:2] == ["4–5", "9.900"]
    assert newest.split()[-4:] == ["0.900", "12.300", "9", "1000"]
    assert card_values(session) == [
        ("THROUGHPUT", "9.900"),
        ("LOST", "1.0"),
        ("JITTER", "12.300"),
        ("LATE", "10"),
    ]


def test_the_heading_names_the_rate_that_is_offered() -> None:
    session = made_udp.session(made_udp.spec(parallel=2))
    assert "UDP ×2 10 Mbit/s" in to_text(heading.heading_rows(session, 100)[0])


def test_the_first_columns_fit_beside_the_verdict() -> None:
    session = made_udp.session(made_udp.spec(reverse=True), SOME)
    assert table(session, 39)[0].split() == ["Seconds", "Mbit/s", "Lost", "%", "Jitter", "ms"]


def test_a_sender_sees_what_it_offers() -> None:
    session = made_udp.session(made_udp.spec(), SOME, ended=False)
    titles, newest, *_ = table(session)
    assert titles.split() == ["Seconds", "Mbit/s", "Datagrams", "Lost", "Jitter"]
    assert newest.split()[-3:] == ["1000", "far", "side"]
    assert card_values(session) == [
        ("OFFERED", "10.0"),
        ("LOST", "far side"),
        ("JITTER", "far side"),
        ("LATE", "far side"),
    ]


def test_at_the_end_a_sender_knows_as_well() -> None:
    session = made_udp.session(made_udp.spec(), SOME)
    assert card_values(session) == [
        ("ARRIVED THERE", "9.9"),
        ("LOST", "0.900"),
        ("JITTER", "12.300"),
        ("LATE", "far side"),
    ]


def test_both_directions_in_one_table() -> None:
    session = made_udp.session(made_udp.spec(bidir=True), SOME, ended=False)
    lines = table(session)
    assert "far side" in lines[1]
    assert lines[2].split()[-4:] == ["0.900", "12.300", "9", "1000"]


def test_the_summary_of_a_receiver() -> None:
    text = summed_up(made_udp.session(made_udp.spec(reverse=True), SOME))
    assert "  goodput       9.900 Mbit/s" in text
    assert "  offered      10.000 Mbit/s" in text
    assert "  lost         50 of 5000 datagrams, 1.0 %" in text
    assert "about 15 of them by this host itself" in text
    assert "  jitter       12.300 ms" in text
    assert "  order        10 came late, by up to 7 places; 5 came twice" in text
    assert "retransmits" not in text


def test_the_summary_of_a_sender_that_was_told_nothing() -> None:
    text = summed_up(made_udp.session(made_udp.spec(), SOME, ended=False))
    assert "  lost         not known" in text


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("test", [{}, {"reverse": True}, {"bidir": True, "parallel": 3}])
def test_rows_are_exact(glyphs: Glyphs, ended: bool, test: dict[str, Any]) -> None:
    session = made_udp.session(made_udp.spec(**test), SOME, ended=ended)
    for width in (1, 17, 39, 80, 200):
        rows = intervals.interval_rows(session, width, 9, glyphs)
        for card in cards.cards(session):
            rows += cards.card_rows(card, session, width, 5, glyphs)
        assert {row_width(row) for row in rows} == {width}
    for row in summary.summary_rows(session, judge(session), 60, glyphs):
        assert row_width(row) <= 60
