"""The reader's own numbers, out of sessions and recordings."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests import made, made_udp
from tests.lessons.made import UDP_RUN, WINDOW_RUN, window_session
from tuiperf import events as ev
from tuiperf import recording
from tuiperf.lessons import own
from tuiperf.lessons.case import EXAMPLE_RTT_US, Case, case_of
from tuiperf.session import Direction, Session, headline


def write(path: Path, events: list[ev.Event]) -> None:
    lines = (ev.to_line(event, number) + "\n" for number, event in enumerate(events))
    path.write_text("".join(lines), encoding="utf-8")


def test_of_a_tcp_run() -> None:
    session = window_session()
    found = own.of(session)
    assert found is not None
    assert not found.udp
    assert found.min_rtt_us == 11_800
    assert found.goodput_bps == headline(session, Direction.FORWARD).goodput_bps
    assert found.line_bps == 1e9
    assert found.in_flight_bytes and found.rtt_us
    assert found.in_flight_bytes * 8e6 / found.rtt_us == pytest.approx(178e6, rel=0.1)


def test_of_a_udp_run() -> None:
    found = own.of(made_udp.session(made_udp.spec(), made_udp.Losses(lost=30, jitter_s=0.0004)))
    assert found is not None
    assert found.udp
    assert found.lost_share == pytest.approx(0.03)
    assert found.jitter_us == pytest.approx(400)
    assert found.sent_bps == pytest.approx(10e6, rel=0.01)
    case = case_of(found)
    assert case.offered_bps == found.sent_bps


def test_nothing_measured_is_nothing() -> None:
    assert own.of(Session()) is None
    assert own.of(made.session_of(made.opening(made.spec(), made.Path()))) is None


def test_without_a_run_the_example() -> None:
    assert case_of(None) == Case()
    assert case_of(replace(WINDOW_RUN, min_rtt_us=None)).rtt_us == EXAMPLE_RTT_US


@pytest.mark.parametrize(
    ("goodput", "link", "line"),
    [
        (941e6, None, 1e9),
        (990e6, None, 1e9),
        (995e6, None, 2.5e9),
        (94.1e6, 1e9, 1e9),
        (60e9, 1e10, 1e11),
        (9e12, None, 4e11),
    ],
)
def test_the_line_behind_a_goodput(goodput: float, link: float | None, line: float) -> None:
    assert replace(WINDOW_RUN, goodput_bps=goodput, link_bps=link).line_bps == line


def test_each_stream_has_its_part_of_the_window() -> None:
    four = case_of(replace(WINDOW_RUN, in_flight_bytes=1_060_000.0, streams=4))
    assert four.window_bytes == 265_000
    assert case_of(UDP_RUN).window_bytes == Case().window_bytes


def test_the_newest_recording_that_holds_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = recording.directory()
    newest = own.Newest()
    assert newest.news() is None
    folder.mkdir(parents=True)
    good, empty, bad = (folder / f"{name}{recording.SUFFIX}" for name in ("good", "empty", "bad"))
    client = made.spec(time_s=3)
    path = made.Path(loss_at_s=())
    write(good, [*made.opening(client, path), *made.data(client, path)])
    write(empty, made.opening(client, path))
    bad.write_text("no events\n")
    for age, each in enumerate((good, empty, bad)):
        os.utime(each, (1000 + age, 1000 + age))
    found = newest.news()
    assert found is not None
    assert found.peer == "lab-b"
    assert newest.news() is None
    os.utime(good, (2000, 2000))
    assert newest.news() == found
