"""The measurement by itself, between two sockets of this process: no control connection."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from tests.engine.driving import eventually, is_running
from tuiperf.engine import sockets
from tuiperf.engine.leg import stream_id
from tuiperf.engine.measure import Clock, Measurement
from tuiperf.engine.spec import TestSpec
from tuiperf.events import Event, Interval, OptionRead, Results, StreamOpened

CUBIC = sockets.TcpOptions(congestion="cubic")


class End:
    """One measurement, its events and the far ends of its sockets."""

    def __init__(self, spec: TestSpec, ways: list[bool], interval_s: float = 10.0) -> None:
        self.events: list[Event] = []
        self.measured = Measurement(spec, interval_s, Clock(), self.events.append)
        self.far: list[socket.socket] = []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            address = sockets.resolve(*listener.getsockname())
            for sends in ways:
                self.measured.add_stream(sockets.connect(address, options=CUBIC), sends)
                self.far.append(listener.accept()[0])

    def start(self) -> None:
        self.measured.start_workers()
        self.measured.begin()
        self.measured.release()

    def work(self, seconds: float) -> None:
        """Do what is due, for a while."""
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            time.sleep(max(0.0, min(until_s, self.measured.next_due_s) - time.monotonic()))
            self.measured.work()

    def intervals(self) -> list[Interval]:
        return [event for event in self.events if isinstance(event, Interval)]

    def close(self) -> None:
        pids = [leg.worker.pid for leg in self.measured.legs if leg.worker]
        self.measured.close()
        self.measured.close()
        for sock in self.far:
            sock.close()
        assert not [pid for pid in pids if is_running(pid)]


@pytest.fixture
def ends() -> Iterator[list[End]]:
    made: list[End] = []
    yield made
    for end in made:
        end.close()


def test_stream_numbers_leave_two_out() -> None:
    assert [stream_id(index) for index in range(5)] == [1, 3, 4, 5, 6]


def test_every_stream_is_announced_and_equal_options_once(ends: list[End]) -> None:
    end = End(TestSpec(congestion="cubic"), [True, True, False])
    ends.append(end)
    opened = [event for event in end.events if isinstance(event, StreamOpened)]
    assert [(event.stream, event.sends) for event in opened] == [(1, True), (3, True), (4, False)]
    congestion = [
        event
        for event in end.events
        if isinstance(event, OptionRead) and event.name == "congestion"
    ]
    assert [(event.asked, event.effective) for event in congestion] == [("cubic", "cubic")]


def test_what_a_receiver_got_is_what_was_sent_to_it(ends: list[End]) -> None:
    end = End(TestSpec(), [False, False])
    ends.append(end)
    end.start()
    for count, sock in zip((300_000, 1), end.far, strict=True):
        sock.sendall(b"x" * count)
    assert eventually(lambda: end.measured.counters.total_received_bytes() == 300_001)
    results = end.measured.finish()
    assert [row.bytes for row in results.streams] == [300_000, 1]
    assert [row.retransmits for row in results.streams] == [None, None]
    assert results.sender_has_retransmits == -1


def test_data_after_the_end_does_not_count(ends: list[End]) -> None:
    end = End(TestSpec(), [False])
    ends.append(end)
    end.start()
    end.far[0].sendall(b"x" * 1000)
    assert eventually(lambda: end.measured.counters.total_received_bytes() == 1000)
    results = end.measured.finish()
    end.far[0].sendall(b"x" * 1000)
    assert eventually(lambda: end.measured.counters.drained_bytes(0) == 1000)
    assert results.streams[0].bytes == end.measured.counters.bytes(0) == 1000


def test_a_sender_whose_peer_reads_nothing_ends_and_counts_what_the_kernel_took(
    ends: list[End],
) -> None:
    end = End(TestSpec(), [True])
    ends.append(end)
    end.start()
    assert eventually(lambda: end.measured.counters.total_sent_bytes() > 0)
    results = end.measured.finish()
    end.far[0].settimeout(10)
    got = 0
    while data := end.far[0].recv(1 << 20):
        got += len(data)
    assert results.streams[0].bytes == got


def test_limit_reached_by_either_direction(ends: list[End]) -> None:
    end = End(TestSpec(total_bytes=5000, time_s=0), [False])
    ends.append(end)
    end.start()
    assert not end.measured.limit_reached()
    end.far[0].sendall(b"x" * 5000)
    assert eventually(end.measured.limit_reached)


def test_all_ended_only_when_every_connection_is_gone(ends: list[End]) -> None:
    end = End(TestSpec(), [False, False])
    ends.append(end)
    end.start()
    end.far[0].close()
    assert eventually(lambda: end.measured.newly_ended() == [1])
    assert end.measured.newly_ended() == []
    assert not end.measured.all_ended()
    end.far[1].close()
    assert eventually(end.measured.all_ended)
    assert end.measured.newly_ended() == [3]


def test_a_receiver_is_turned_away_by_a_close_after_at_most_one_byte(ends: list[End]) -> None:
    end = End(TestSpec(bidir=True), [True, False])
    ends.append(end)
    end.start()
    end.work(0.05)
    assert not end.measured.turned_away()
    end.far[1].sendall(b"\xff")
    end.far[1].close()
    assert eventually(end.measured.turned_away)


def test_silence_is_counted_only_where_something_is_received(ends: list[End]) -> None:
    sender, receiver = End(TestSpec(rate_bps=8000), [True]), End(TestSpec(), [False])
    ends.extend((sender, receiver))
    assert receiver.measured.silent_s == 0.0
    for end in ends:
        end.start()
        end.work(0.35)
    assert sender.measured.silent_s == 0.0
    before_s = receiver.measured.silent_s
    assert before_s > 0.3
    receiver.far[0].sendall(b"x")
    receiver.work(0.25)
    assert receiver.measured.silent_s < before_s


def test_intervals_go_on_when_the_planned_end_has_passed(ends: list[End]) -> None:
    """A server's client may be late with TEST_END."""
    end = End(TestSpec(time_s=1), [False], interval_s=0.2)
    ends.append(end)
    end.start()
    end.work(1.75)
    end.measured.finish()
    assert [round(interval.end_s, 1) for interval in end.intervals()][-3:] == [1.4, 1.6, 1.8]


def test_a_sliver_without_data_is_no_interval(ends: list[End]) -> None:
    end = End(TestSpec(time_s=0), [False], interval_s=1.0)
    ends.append(end)
    end.start()
    while not end.intervals():
        end.work(0.005)
    results = end.measured.finish()
    assert len(end.intervals()) == 1
    assert results.streams[0].end_s and results.streams[0].end_s > end.intervals()[0].end_s


def test_a_sliver_with_data_is_an_interval(ends: list[End]) -> None:
    end = End(TestSpec(time_s=0), [False], interval_s=0.5)
    ends.append(end)
    end.start()
    while not end.intervals():
        end.work(0.005)
    end.far[0].sendall(b"x" * 10)
    assert eventually(lambda: end.measured.counters.total_received_bytes() == 10)
    end.measured.finish()
    assert [interval.streams[0].bytes for interval in end.intervals()] == [0, 10]


def test_results_are_the_last_word_and_finish_the_measurement(ends: list[End]) -> None:
    end = End(TestSpec(), [True])
    ends.append(end)
    end.start()
    end.work(0.15)
    assert not end.measured.finished
    results = end.measured.finish()
    assert end.measured.finished
    assert end.events[-1] is results is end.measured.results
    assert isinstance(results, Results)
    assert results.sender_has_retransmits == 1
    assert results.cpu_total_percent == pytest.approx(
        results.cpu_user_percent + results.cpu_system_percent
    )


def test_a_connection_that_is_already_gone_is_not_taken() -> None:
    measured = Measurement(TestSpec(), 1.0, Clock(), lambda event: None)
    with socket.socket() as unconnected, pytest.raises(OSError):
        measured.add_stream(unconnected, True)
    assert measured.legs == []
    measured.close()
