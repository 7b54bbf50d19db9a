"""The text that is left when a run is over."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import made
from tests.view.random_sessions import any_session
from tuiperf import events as ev
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Session
from tuiperf.view.rows import ASCII, UNICODE, row_width, to_text
from tuiperf.view.summary import summary_rows

WINDOW = Verdict(
    "window-limited",
    Level.LOOK,
    Confidence.HIGH,
    "Window-limited",
    "256 KB, 12 ms",
    "The sender may have only 256 KB under way.",
    ("the window was full in 94 % of the samples",),
    ("loss: no retransmits",),
    ("try -P 4 or -w 1.5M", "or raise net.ipv4.tcp_rmem"),
)


def page(session: Session, width: int = 79, recording: str = "") -> list[str]:
    return [to_text(row) for row in summary_rows(session, (WINDOW,), width, recording=recording)]


def test_a_run_that_went_well() -> None:
    session = made.session_of(made.run(made.spec(time_s=4), made.Path(loss_at_s=(2.0,))))
    assert page(session, recording="runs/one.jsonl.gz") == [
        "tuiperf  TCP · cubic · here → lab-b · 10.20.0.7 port 5201",
        "  outcome      completed, 4.0 s measured",
        "  goodput      729.6 Mbit/s  364.80 MB received · lab-b",
        "  sent         730.4 Mbit/s  365.20 MB sent     · here",
        "  retransmits  16 segments, 0.006 % of the bytes",
        "  CPU          here 34 %, lab-b 34 %",
        "",
        "▲ Window-limited  256 KB, 12 ms",
        "  The sender may have only 256 KB under way.",
        "  because      the window was full in 94 % of the samples",
        "  ruled out    loss: no retransmits",
        "  next         try -P 4 or -w 1.5M",
        "               or raise net.ipv4.tcp_rmem",
        "  confidence   high",
        "  recording    runs/one.jsonl.gz",
    ]


def test_the_headline_is_what_the_receiver_got_and_a_difference_is_explained() -> None:
    client = made.spec(time_s=2)
    middle = made.data(client, made.Path(loss_at_s=()))
    ending = made.closing(client, middle)
    remote = next(each for each in ending if isinstance(each, ev.Results) and each.side == "remote")
    short = ev.Results(
        remote.t_s,
        "remote",
        "cubic",
        1.0,
        1.0,
        0.0,
        1,
        (ev.StreamResult(1, 100_000_000, None, 0.0, 2.0),),
    )
    events = [*made.opening(client, made.Path()), *middle, ending[0], short, ending[-1]]
    rows = page(made.session_of(events))
    assert rows[2] == "  goodput      400.0 Mbit/s  100.00 MB received · lab-b"
    assert any("were sent but not yet received" in row for row in rows)


def test_reverse_and_bidir_name_both_ends() -> None:
    reverse = page(made.session_of(made.run(made.spec(time_s=2, reverse=True))))
    assert reverse[0].startswith("tuiperf  TCP · cubic · lab-b → here")
    assert reverse[2].endswith("received · here")
    assert reverse[3].endswith("sent     · lab-b")
    both = page(made.session_of(made.run(made.spec(time_s=2, bidir=True))))
    assert "  here → lab-b" in both
    assert "  lab-b → here" in both
    assert sum(row.startswith("  goodput") for row in both) == 2


def test_a_failure_keeps_what_was_measured() -> None:
    session = made.session_of(
        [
            *made.part(seconds=4.3),
            ev.Failed(5.0, 104, "the control socket has closed", awaited="the test's end"),
            ev.RunEnded(5.0, "failed"),
        ]
    )
    rows = page(session)
    assert rows[1] == "  outcome      failed, 4.0 s measured"
    assert rows[2] == "  goodput      not known: the receiver did not report"
    assert rows[3].startswith("  sent ")
    assert "  ■ failed     the control socket has closed" in rows
    assert "  awaited      the test's end" in rows


def test_a_stop_is_no_failure() -> None:
    client = made.spec(time_s=30)
    middle = made.data(client, made.Path(), seconds=3)
    events = [
        *made.opening(client, made.Path()),
        *middle,
        *made.closing(client, middle, "interrupted"),
    ]
    assert (
        page(made.session_of(events))[1] == "  outcome      stopped by Interrupt(2), 3.0 s measured"
    )


def test_an_option_that_was_not_granted_is_told_once() -> None:
    clamped = ev.OptionRead(
        0.05, "window", 4_000_000, 425_984, 212_992, "bytes", "net.core.wmem_max is 212992", 1
    )
    granted = ev.OptionRead(0.05, "congestion", "cubic", "cubic", "cubic", "")
    session = made.session_of([*made.run(made.spec(time_s=1)), clamped, clamped, granted])
    rows = page(session)
    at = next(index for index, row in enumerate(rows) if "asked" in row)
    assert sum("asked" in row for row in rows) == 1
    told = [" ".join(row.split()) for row in rows[at : at + 2]]
    assert told == [
        "window asked 4.00 MB, granted 426 KB, in effect 213 KB",
        "(net.core.wmem_max is 212992)",
    ]


def test_both_buffers_are_named_and_their_note_is_told_once() -> None:
    note = "the system doubles the size"
    read = [
        ev.OptionRead(0.05, name, 400_000, 800_000, 390_000, "bytes", note, 1)
        for name in ("send_buffer", "receive_buffer")
    ]
    rows = [" ".join(row.split()) for row in page(made.session_of([*made.run(), *read]), 120)]
    sizes = "asked 400 KB, granted 800 KB, in effect 390 KB"
    assert f"send buffer {sizes} ({note})" in rows
    assert f"recv buffer {sizes}" in rows


def test_a_far_sender_s_share_of_retransmits_is_not_invented() -> None:
    events = made.run(made.spec(time_s=2, reverse=True))
    own = [
        replace(each, tcp={"bytes_sent_bytes": 37, "bytes_retrans_bytes": 0})
        if isinstance(each, ev.StreamSample)
        else each
        for each in events
    ]
    row = next(row for row in page(made.session_of(own)) if "retransmits" in row)
    assert "of the bytes" not in row


def test_the_difference_stands_with_the_totals_it_explains() -> None:
    client = made.spec(time_s=2)
    middle = made.data(client, made.Path(loss_at_s=()))
    local, remote, end = made.closing(client, middle)
    assert isinstance(remote, ev.Results)
    less = replace(remote, streams=(ev.StreamResult(1, 100_000_000, None, 0.0, 2.0),))
    session = made.session_of([*made.opening(client, made.Path()), *middle, local, less, end])
    labels = [row[2:13].strip() for row in page(session)]
    assert labels.index("retransmits") > labels.index("sent") + 1


def test_notes_of_weight_are_shown() -> None:
    note = ev.Note(0.1, "warning", "clock", "the clock jumped\x1b[2J")
    rows = page(made.session_of([*made.run(made.spec(time_s=1)), note]))
    assert "  note         the clock jumped\\x1b[2J" in rows


@settings(max_examples=80, deadline=None)
@given(session=any_session, width=st.integers(30, 120))
def test_no_row_is_too_wide_and_nothing_foreign_escapes(session: Session, width: int) -> None:
    for glyphs in (UNICODE, ASCII):
        rows = summary_rows(session, (WINDOW,), width, glyphs)
        assert rows
        assert all("\x1b" not in to_text(row) for row in rows)
        assert all(row_width(row) <= width for row in rows)
        assert not glyphs.ascii or all(to_text(row).isascii() for row in rows)
