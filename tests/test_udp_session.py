"""What a session keeps of datagrams, and what each end can know of them."""

from __future__ import annotations

from tests import made_udp
from tests.made_udp import Losses
from tuiperf import events as ev
from tuiperf.session import (
    Datagrams,
    Direction,
    Session,
    datagrams,
    headline,
    joined_figures,
    reduce,
)

SOME = Losses(lost=10, late=2, duplicates=1, host_dropped=3)


def test_a_receiver_knows_all_while_it_runs() -> None:
    session = made_udp.session(made_udp.spec(reverse=True), SOME, ended=False)
    found = datagrams(session, Direction.REVERSE)
    assert found == Datagrams(None, 50, 5000, 20e-6, 15, 10, 5, 7)
    assert found.lost_share == 0.01


def test_a_sender_learns_of_losses_at_the_end() -> None:
    client = made_udp.spec()
    session = made_udp.session(client, SOME, ended=False)
    assert datagrams(session, Direction.FORWARD) == Datagrams(5000, None, None, None, None)
    session = made_udp.session(client, SOME)
    found = datagrams(session, Direction.FORWARD)
    assert found == Datagrams(5000, 45, 5000, 20e-6, None)  # iperf3's count: duplicates hide losses
    result = headline(session, Direction.FORWARD)
    assert (result.goodput_bps, result.sent_bps) == (9_900_000, 10_000_000)
    assert result.difference == ""


def test_results_replace_the_sum_of_intervals() -> None:
    session = made_udp.session(made_udp.spec(reverse=True), SOME)
    found = datagrams(session, Direction.REVERSE)
    assert found is not None
    assert (found.sent, found.lost, found.total) == (5000, 50, 5000)


def test_streams_add_up_and_their_jitter_is_a_mean() -> None:
    client = made_udp.spec(reverse=True, parallel=2)
    found = datagrams(made_udp.session(client, SOME), Direction.REVERSE)
    assert found is not None
    assert (found.lost, found.total, found.jitter_s, found.deepest) == (100, 10_000, 20e-6, 7)


def test_tcp_has_none() -> None:
    session = Session()
    assert datagrams(session, Direction.FORWARD) is None


def test_each_tick_holds_what_came_in_it() -> None:
    session = made_udp.session(made_udp.spec(reverse=True), SOME)
    ticks = list(session.flows[Direction.REVERSE].ticks)
    assert [tick.udp.packets for tick in ticks if tick.udp] == [1000] * 5
    assert [tick.udp.host_dropped_packets for tick in ticks if tick.udp] == [3] * 5
    assert [tick.goodput_bps for tick in ticks] == [9_900_000.0] * 5


def test_figures_one_after_the_other_keep_the_last_jitter() -> None:
    first, second = ev.UdpFigures(10, 1, jitter_s=1.0), ev.UdpFigures(20, 2, jitter_s=3.0)
    assert joined_figures([first, None, second]) == ev.UdpFigures(30, 3, jitter_s=3.0)
    together = joined_figures([first, second], side_by_side=True)
    assert together == ev.UdpFigures(30, 3, jitter_s=2.0)
    assert joined_figures([None]) is None


def test_a_long_run_is_thinned_without_losing_a_datagram() -> None:
    session = Session()
    for event in made_udp.events(made_udp.spec(reverse=True), SOME, seconds=3000):
        reduce(session, event)
    ticks = list(session.flows[Direction.REVERSE].ticks)
    assert len(ticks) < 1300
    assert sum(tick.udp.packets for tick in ticks if tick.udp) == 3_000_000
    rows = [row for interval in session.intervals for row in interval.streams]
    assert sum(row.udp.missing_packets for row in rows if row.udp) == 30_000


def test_what_a_line_keeps_of_it_is_read_back() -> None:
    for event in made_udp.events(made_udp.spec(reverse=True), SOME):
        line = ev.to_line(event, 1)
        assert ev.from_line(line) == (1, event)


def test_a_tcp_line_does_not_mention_datagrams() -> None:
    row = ev.StreamInterval(1, True, 0.0, 1.0, 5)
    line = ev.to_line(ev.Interval(1.0, 0.0, 1.0, False, (row,)), 1)
    assert "udp" not in line
    line = ev.to_line(ev.Results(1.0, "local", None, 0, 0, 0, 0, (ev.StreamResult(1, 5),)), 1)
    assert "omitted" not in line
