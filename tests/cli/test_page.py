"""The plain page: what is printed when, from made runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests import made
from tuiperf import events as ev
from tuiperf.cli.page import Look, PlainPage
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Session

SMALL = Verdict(
    "window-limited",
    Level.LOOK,
    Confidence.HIGH,
    "Window-limited",
    "64 KB",
    "The window is too small for this path.",
    next=("tuiperf lab-b -w 2M",),
)
WAITING = replace(SMALL, id="pending", level=Level.PENDING, title="Cannot tell yet")


def judge(session: Session) -> Sequence[Verdict]:
    return [SMALL] if session.measured_s >= 2 else [WAITING]


def page_of(events: Sequence[ev.Event], look: Look | None = None, recording: str = "") -> list[str]:
    page = PlainPage(judge, look or Look(), recording)
    return [line for event in events for line in page.lines(event)]


def test_the_head_says_who_sends_what_to_whom() -> None:
    lines = page_of(made.run(made.spec(time_s=3)))
    assert lines[0] == "tuiperf  TCP, 1 connection, 3 s, here → lab-b"
    assert lines[1] == "         10.9.0.4 to 10.20.0.7 port 5201, IPv4"
    assert lines[2] == ""
    assert lines[3].split() == ["Seconds", "Mbit/s", "Retr", "RTT", "ms", "Cwnd", "KB"]


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"reverse": True}, "TCP, 1 connection, 10 s, lab-b → here"),
        ({"bidir": True}, "TCP, 2 connections, 10 s, here → lab-b, lab-b → here"),
        ({"parallel": 4}, "TCP, 4 connections, 10 s, here → lab-b"),
        ({"omit_s": 2}, "TCP, 1 connection, 10 s after 2 s left out, here → lab-b"),
        ({"time_s": 0}, "TCP, 1 connection, until stopped, here → lab-b"),
        ({"time_s": 0, "total_bytes": 10}, "TCP, 1 connection, 10 bytes, here → lab-b"),
        ({"time_s": 0, "total_blocks": 7}, "TCP, 1 connection, 7 blocks, here → lab-b"),
    ],
)
def test_the_head_names_test_and_direction(test: dict[str, Any], words: str) -> None:
    lines = page_of(made.opening(ClientSpec("lab-b", test=TestSpec(**test)), made.Path()))
    assert lines[0] == f"tuiperf  {words}"


def test_intervals_come_one_a_line_and_in_order() -> None:
    lines = page_of(three_seconds())
    starts = [line.split("–")[0].strip() for line in lines if "–" in line and "Seconds" not in line]
    assert starts == ["0", "1", "2"]


def three_seconds() -> list[ev.Event]:
    return made.run(made.spec(time_s=3))


def test_a_verdict_is_told_once_when_it_becomes_known() -> None:
    lines = page_of(three_seconds())
    told = [line for line in lines if line.strip() == "▲ Window-limited  64 KB"]
    assert len(told) == 2  # among the intervals and in the summary
    assert lines.index(told[0]) == 6  # after the second interval


def test_a_verdict_that_cannot_be_told_yet_is_no_news() -> None:
    page = PlainPage(lambda session: [WAITING])
    lines = [line for event in three_seconds()[:-3] for line in page.lines(event)]
    assert not any("Cannot tell" in line for line in lines)


def test_the_end_is_the_summary_with_the_recording() -> None:
    lines = page_of(three_seconds(), recording="run.jsonl.gz")
    end = lines[lines.index("tuiperf  TCP · cubic · here → lab-b · 10.20.0.7 port 5201") :]
    text = "\n".join(end)
    assert "goodput" in text
    assert "The window is too small for this path." in text
    assert "tuiperf lab-b -w 2M" in text
    assert "run.jsonl.gz" in text


def test_a_run_that_breaks_off_still_gets_its_summary() -> None:
    events = three_seconds()[:-3]
    page = PlainPage(judge)
    for event in events:
        page.lines(event)
    assert any("still running, 3.0 s measured" in line for line in page.closing())
    page.lines(ev.RunEnded(9.0, "completed"))
    assert page.closing() == []


def test_a_failure_before_any_data_leaves_the_words_to_stderr() -> None:
    page = PlainPage(judge)
    events = [*made.opening(made.spec(), made.Path())[:1], ev.Failed(0.1, 103, "refused")]
    lines = [line for event in [*events, ev.RunEnded(0.2, "failed")] for line in page.lines(event)]
    assert lines == []


def test_ascii_look_is_all_ascii() -> None:
    lines = page_of(made.run(made.spec(time_s=3, bidir=True)), Look(ascii=True))
    assert all(line.isascii() for line in lines)
    assert lines[0] == "tuiperf  TCP, 2 connections, 3 s, here -> lab-b, lab-b -> here"


def test_colour_is_only_in_colour() -> None:
    plain, coloured = (page_of(three_seconds(), Look(colour=colour)) for colour in (False, True))
    assert not any("\x1b" in line for line in plain)
    assert any("\x1b[33m" in line for line in coloured)


@pytest.mark.parametrize(
    ("letter", "name"), [("k", "Kbit/s"), ("g", "Gbit/s"), ("M", "MByte/s"), ("a", "Mbit/s")]
)
def test_a_unit_may_be_fixed(letter: str, name: str) -> None:
    lines = page_of(three_seconds(), Look(unit_format=letter))
    assert lines[3].split()[1] == name


def test_a_fixed_unit_counts_right() -> None:
    bits, mebibytes = (
        [line for line in page_of(three_seconds(), Look(unit_format=each)) if "2–3" in line]
        for each in ("m", "M")
    )
    mbps, mib_per_s = (float(lines[0].split()[1]) for lines in (bits, mebibytes))
    assert mib_per_s == pytest.approx(mbps * 1e6 / 8 / 2**20, abs=0.02)


def test_title_and_time_stand_before_every_line() -> None:
    look = Look(title="up\x1b[2J", timestamps="%Y ")
    lines = page_of(three_seconds(), look)
    assert all(line[4:].startswith(" up\\x1b[2J:") for line in lines)
    assert all(line[:4].isdigit() for line in lines)


def test_what_a_peer_says_cannot_move_the_cursor() -> None:
    note = ev.Note(0.05, "warning", "x", "busy \x1b[2J\n")
    spec = made.spec("evil\x1b]0;x\x07")
    lines = page_of([*made.opening(spec, made.Path()), note])
    assert not any("\x1b" in line or "\n" in line or "\x07" in line for line in lines)
    assert any("busy" in line for line in lines)
