"""Every builder: exact sizes for any session, and the words and numbers that must be there."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import made
from tests.view.random_sessions import any_session
from tuiperf import events as ev
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Session
from tuiperf.view import cards, chart, heading, intervals, notice, verdicts
from tuiperf.view.help import LINK_KEYS, RUN_KEYS, help_rows, question_rows
from tuiperf.view.keys import Key, key_row
from tuiperf.view.rows import ASCII, ROLES, UNICODE, Glyphs, Row, row_width, to_text

WINDOW = Verdict(
    "window-limited",
    Level.LOOK,
    Confidence.HIGH,
    "Window-limited",
    "256 KB, 12 ms",
    "The sender may have only 256 KB under way.",
    ("the window was full in 94 % of the samples",),
    ("loss: no retransmits",),
    ("try -P 4 or -w 1.5M",),
    (),
    ("256 KB / 11.8 ms = 178 Mbit/s",),
)
LOSS = Verdict("lossy", Level.FAULT, Confidence.LOW, "Lossy", "3.1 %", "3.1 % is sent again.")
FINE = Verdict("clean", Level.FINE, Confidence.HIGH, "Loss is low", "0.006 %", "")

Builder = Callable[[Session, int, int, Glyphs], list[Row]]


def card_block(session: Session, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    card = cards.cards(session, (WINDOW, LOSS))[-1]
    return cards.card_rows(card, session, width, height, glyphs)


BUILDERS: dict[str, Builder] = {
    "intervals": intervals.interval_rows,
    "chart": chart.chart_rows,
    "card": card_block,
    "notice": notice.notice_rows,
    "verdicts": lambda _, w, h, g: verdicts.verdict_rows((WINDOW, LOSS, FINE), w, h, g),
    "why": lambda _, w, h, g: verdicts.explanation_rows((WINDOW, LOSS), w, h, g),
}


def texts(rows: list[Row]) -> list[str]:
    return [to_text(row) for row in rows]


@pytest.mark.parametrize("name", BUILDERS)
@settings(max_examples=60, deadline=None)
@given(
    session=any_session,
    width=st.integers(1, 130),
    height=st.integers(1, 20),
    glyphs=st.sampled_from([UNICODE, ASCII]),
)
def test_rows_are_exact_for_any_session(
    name: str, session: Session, width: int, height: int, glyphs: Glyphs
) -> None:
    rows = BUILDERS[name](session, width, height, glyphs)
    assert len(rows) == height
    for row in rows:
        assert row_width(row) == width
        assert {role for _, role in row} <= set(ROLES)
        assert not glyphs.ascii or to_text(row).isascii()


@settings(max_examples=60, deadline=None)
@given(session=any_session, width=st.integers(1, 130), lost=st.text(max_size=30))
def test_heading_is_exact_for_any_session(session: Session, width: int, lost: str) -> None:
    for glyphs in (UNICODE, ASCII):
        rows = [
            *heading.heading_rows(session, width, glyphs, waited_s=3.3, frozen=True, lost=lost),
            *heading.failure_rows(session, width, glyphs, lost),
        ]
        assert {row_width(row) for row in rows} == {width}


# What must be there


def test_the_table_shows_numbers_of_the_engine() -> None:
    session = made.session_of(made.part(seconds=2.1))
    rows = texts(intervals.interval_rows(session, 48, 4))
    assert rows[0] == " Seconds    Mbit/s   Retr   RTT ms  Cwnd KB"
    newest = next(iter(reversed(list(session.intervals)))).streams[0]
    assert rows[1].split() == [
        "1–2",
        f"{newest.bytes * 8 / 1e6:.1f}",
        "·",
        f"{(newest.rtt_us or 0) / 1000:.1f}",
        f"{(newest.cwnd_bytes or 0) / 1000:.0f}",
    ]
    assert rows[2].split()[0] == "0–1"


def test_streams_are_listed_under_their_sum() -> None:
    session = made.session_of(made.part(made.spec(time_s=10, parallel=3), seconds=2.1))
    rows = texts(intervals.interval_rows(session, 60, 9))
    assert [row.split()[0] for row in rows[1:6]] == ["1–2", "1", "3", "4", "0–1"]
    assert rows[1].split()[1] == "SUM"
    sums, first = (float(rows[at].split()[2 - (at > 1)]) for at in (1, 2))
    assert sums == pytest.approx(3 * first, rel=1e-3)
    everything = texts(intervals.interval_rows(session, 60, 9, each_stream=True))
    assert [row.split()[0] for row in everything[5:9]] == ["0–1", "1", "3", "4"]


def test_both_directions_are_named_in_words() -> None:
    session = made.session_of(made.part(made.spec(time_s=10, bidir=True), seconds=2.1))
    rows = texts(intervals.interval_rows(session, 60, 4))
    assert "here → lab-b" in rows[1]
    assert "lab-b → here" in rows[2]
    assert rows[2].endswith("far side")
    assert [card.title for card in cards.cards(session)][:2] == ["SENT THERE", "RECEIVED HERE"]
    drawn = texts(chart.chart_rows(session, 60, 10))
    assert any("here → lab-b" in row for row in drawn)
    assert any("lab-b → here" in row for row in drawn)


def test_what_only_the_other_end_knows_is_called_far_side() -> None:
    session = made.session_of(made.part(made.spec(time_s=10, reverse=True), seconds=3.1))
    shown = {card.name: card.value for card in cards.cards(session)}
    assert shown["rtt"] == shown["retransmits"] == shown["cwnd"] == "far side"
    assert float(shown["throughput"]) > 800
    rows = texts(intervals.interval_rows(session, 40, 4))
    assert rows[1].endswith("far side")


def test_omitted_intervals_say_so() -> None:
    session = made.session_of(made.part(made.spec(time_s=10, omit_s=2), seconds=3.2))
    rows = texts(intervals.interval_rows(session, 60, 5))
    assert rows[1].split()[0] == "0–1"
    assert rows[2].endswith("omitted")
    assert rows[3].endswith("omitted")


def test_the_table_scrolls_no_further_than_its_end() -> None:
    session = made.session_of(made.part(seconds=9.1))
    rows = texts(intervals.interval_rows(session, 48, 4, offset=1000))
    assert [row.split()[0] for row in rows[1:]] == ["2–3", "1–2", "0–1"]


def test_plain_lines_have_the_same_columns() -> None:
    session = made.session_of(made.part(made.spec(time_s=10, parallel=2), seconds=1.1))
    title = intervals.plain_heading(session)
    lines = intervals.plain_lines(session, next(iter(session.intervals)))
    assert title.split()[:3] == ["Seconds", "Stream", "Mbit/s"]
    assert [line.split()[1] for line in lines] == ["1", "3", "SUM"]
    assert all(len(line) <= 79 for line in lines)
    assert UNICODE.line not in "".join(lines)


def test_a_verdict_line_without_room_cuts_no_number() -> None:
    verdict = replace(WINDOW, short="2.78 MB per 43.1 ms")
    assert to_text(verdicts.verdict_line(verdict, 37)) == " ▲ Window-limited 2.78 MB per 43.1 ms"
    assert to_text(verdicts.verdict_line(verdict, 36)).rstrip() == " ▲ Window-limited 2.78 MB per…"
    assert to_text(verdicts.verdict_line(verdict, 24)).rstrip() == " ▲ Window-limited"


@pytest.mark.parametrize(("level", "role"), [(Level.LOOK, "text"), (Level.PENDING, "muted")])
def test_the_sentence_of_a_verdict_is_not_dimmed(level: Level, role: str) -> None:
    rows = verdicts.verdict_rows((replace(WINDOW, level=level),), 60, 10)
    claim = next(row for row in rows if WINDOW.claim in to_text(row))
    assert {each for text, each in claim if text.strip()} == {role}


@pytest.mark.parametrize("keys", [RUN_KEYS, LINK_KEYS])
def test_every_key_is_told_in_full_on_the_smallest_screen(
    keys: tuple[tuple[str, str], ...],
) -> None:
    told = "\n".join(texts(help_rows(56, UNICODE, keys)))
    assert [text for _, text in keys if text not in told] == []


def test_cards_read_the_instruments() -> None:
    session = made.session_of(made.part(seconds=7.5))
    shown = {card.name: card for card in cards.cards(session, (LOSS, WINDOW))}
    assert 930 < float(shown["throughput"].value) < 950
    assert shown["rtt"].note == "idle 11.8"
    assert shown["retransmits"].value == "0"
    assert shown["throughput"].edge == "fault"
    assert shown["cwnd"].edge == "look"
    assert shown["retransmits"].edge == "fault"
    assert shown["rtt"].edge == "pending"
    tall = texts(cards.card_rows(shown["throughput"], session, 28, 5))
    assert tall[0].split()[1:3] == ["THROUGHPUT", "avg"]
    assert tall[3].endswith("Mbit/s")
    flat = texts(cards.card_rows(shown["throughput"], session, 19, 3))
    assert flat[1] == f"▌ {shown['throughput'].value} Mbit/s"


def test_the_chart_starts_at_zero_and_keeps_its_axis() -> None:
    early = texts(chart.chart_rows(made.session_of(made.part(seconds=5)), 60, 8))
    late = texts(chart.chart_rows(made.session_of(made.part(seconds=25)), 60, 8))
    assert early[0].split()[0] == late[0].split()[0] == "1000"
    assert early[-1] == late[-1]
    assert early[-1].split()[0] == "0"
    assert early[-1].endswith("30 s")
    assert late[-2].count("█") > early[-2].count("█") > 5


def test_the_chart_stays_the_same_until_a_column_is_full() -> None:
    pages: dict[tuple[object, ...], list[str]] = {}
    states = set()
    for tenths in range(20, 60):
        session = made.session_of(made.part(seconds=tenths / 10))
        state = chart.chart_state(session, 60)[1:]
        shown = texts(chart.chart_rows(session, 60, 8))
        assert pages.setdefault(state, shown) == shown
        states.add(state)
    assert 5 <= len(states) <= 10


def test_a_dip_is_marked_but_a_start_is_not() -> None:
    session = made.session_of(made.part(seconds=14))
    rows = chart.chart_rows(session, 108, 10)
    bottom = rows[-2]
    roles = [role for text, role in bottom for _ in text]
    plot = roles[8:]
    seconds_of = [index * 30 / 99 for index in range(len(plot))]
    marked = {
        round(at_s, 1)
        for at_s, role in zip(seconds_of, plot, strict=True)
        if role.startswith(("look", "fault"))
    }
    assert marked
    assert all(7.5 < at_s < 9.5 for at_s in marked)


def test_one_role_a_row_deepens_to_the_baseline() -> None:
    session = made.session_of(made.part(path=made.Path(loss_at_s=()), seconds=20))
    rows = chart.chart_rows(session, 80, 9)
    fills = [[role for _, role in row if role.startswith("fill")] for row in rows[1:-1]]
    assert all(len(set(found)) == 1 for found in fills)
    steps = [int(found[0].removeprefix("fill")) for found in fills]
    assert steps == sorted(steps, reverse=True)
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize(
    ("phase", "waited_s", "words"),
    [
        (1, 0.5, "connecting to lab-b port 5201…"),
        (1, 4.2, "firewall"),
        (2, 4.2, "busy"),
    ],
)
def test_before_the_first_data_it_says_what_is_awaited(
    phase: int, waited_s: float, words: str
) -> None:
    session = made.session_of(made.opening(made.spec(), made.Path())[:phase])
    rows = texts(notice.notice_rows(session, 76, 10, waited_s=waited_s))
    assert words in " ".join(" ".join(rows).split())


def test_a_failure_is_told_with_what_was_measured() -> None:
    session = made.session_of(
        [
            *made.part(seconds=4.3),
            ev.Failed(5.0, 104, "the server closed"),
            ev.RunEnded(5, "failed"),
        ]
    )
    assert heading.state_word(session) == ("FAILED", "fault")
    told = texts(heading.failure_rows(session, 100))
    assert told == [" ■ the server closed. 4.3 s were measured and are kept."]
    nothing = made.session_of(
        [
            *made.opening(made.spec(), made.Path())[:1],
            ev.Failed(
                0.1, 103, "nothing listens on lab-b port 5201: is it running?", errno.ECONNREFUSED
            ),
            ev.RunEnded(0.1, "failed"),
        ]
    )
    shown = " ".join(" ".join(texts(notice.notice_rows(nothing, 76, 10))).split())
    assert "is it running? Nothing was measured." in shown
    assert "tuiperf -s -p 5201" in shown


def test_the_verdict_comes_first_whatever_the_height() -> None:
    for height in range(1, 12):
        rows = texts(verdicts.verdict_rows((WINDOW, FINE), 40, height))
        assert rows[0] == " ▲ Window-limited  256 KB, 12 ms"
    assert any("try -P 4" in row for row in texts(verdicts.verdict_rows((WINDOW,), 44, 8)))


def test_glyphs_tell_levels_apart_without_colour() -> None:
    for glyphs in (UNICODE, ASCII):
        marks = {verdicts.level_glyph(level, glyphs) for level in Level}
        assert len(marks) == len(Level)


def test_why_shows_formula_reasons_and_what_was_ruled_out() -> None:
    shown = " ".join(texts(verdicts.explanation_rows((WINDOW, FINE), 76, 14)))
    for words in ("256 KB / 11.8 ms = 178 Mbit/s", "94 %", "no retransmits", "-w 1.5M", "high"):
        assert words in shown
    assert "Loss is low" in shown


def test_foreign_names_cannot_reach_the_terminal() -> None:
    session = made.session_of(made.part(made.spec("evil\x1b]0;x\x07"), seconds=2))
    row = to_text(heading.heading_rows(session, 118)[0])
    assert "\x1b" not in row
    assert "evil\\x1b]0;x\\x07" in row


def test_units_are_chosen_once() -> None:
    slow = made.session_of(made.part(path=made.Path(rate_bps=4e6, loss_at_s=()), seconds=3))
    fast = made.session_of(made.part(path=made.Path(rate_bps=9.4e9, loss_at_s=()), seconds=3))
    assert cards.cards(slow)[0].unit == "Mbit/s"
    assert len(cards.cards(slow)[0].value.split(".")[1]) == 3
    assert cards.cards(fast)[0].unit == "Gbit/s"
    assert len(cards.cards(fast)[0].value.split(".")[1]) == 2


def test_keys_at_the_end_stay_when_there_is_no_room() -> None:
    keys = [Key("space", "Stop"), Key("b", "Why?"), Key("f", "Freeze"), Key("?", "Help")]
    keys.append(Key("q", "Quit"))
    assert to_text(key_row(keys, 80)) == " space Stop  b Why?  f Freeze  ? Help  q Quit"
    assert to_text(key_row(keys, 38)) == " space Stop  b Why?  ? Help  q Quit"
    assert row_width(key_row(keys, 10)) == 10


def test_sheets_are_exact() -> None:
    for glyphs in (UNICODE, ASCII):
        rows = [*help_rows(60, glyphs), *question_rows("Stop it and quit?", 60, glyphs)]
        assert {row_width(row) for row in rows} == {60}
        assert not any(to_text(row).endswith(("…", "~")) for row in rows)
