"""Whole UDP tests between our own ends: every figure agrees, and what goes wrong has an end."""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.driving import OurServer, Run, client_spec, run
from tuiperf.engine import client, link_speed, udp_drops, udp_notes, udp_socket
from tuiperf.engine.link_speed import Link, link_of
from tuiperf.engine.spec import TestSpec
from tuiperf.events import Agreed, Interval, Note, OptionRead, Results, StreamOpened, StreamSample

RATE_BPS = 20_000_000
SIZE = 1250


@pytest.fixture(scope="module")
def server() -> Iterator[OurServer]:
    with OurServer() as ours:
        yield ours


def spec(**settings: Any) -> TestSpec:
    base = {"protocol": "udp", "time_s": 1, "rate_bps": RATE_BPS, "block_bytes": SIZE}
    return TestSpec(**{**base, **settings})


def both(server: OurServer, test: TestSpec, **settings: Any) -> tuple[Run, Run]:
    """The client's run and the server's."""
    ours = run(client_spec(server.port, test, **settings))
    assert ours.outcome == "completed"
    return ours, server.run_of(ours)


WAYS = [{}, {"reverse": True}, {"bidir": True}, {"parallel": 3}, {"parallel": 2, "bidir": True}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("more", [{}, {"udp_counters_64bit": True, "block_bytes": 1001}])
def test_both_ends_agree(server: OurServer, way: dict[str, Any], more: dict[str, Any]) -> None:
    test = spec(**way, **more)
    ours, theirs = both(server, test)
    for here, there in ((ours, theirs), (theirs, ours)):
        told = {row.stream: row for row in there.remote.streams}
        for row in here.local.streams:
            assert told[row.stream].bytes == row.bytes
            assert told[row.stream].packets == row.packets
            assert told[row.stream].lost_packets == row.lost_packets
            assert row.bytes == (row.packets - row.lost_packets) * test.block_bytes
    sent = [row.udp for row in ours.local.streams if row.udp]
    assert len(sent) == test.streams
    wanted = RATE_BPS / 8 / test.block_bytes
    assert all(0 < figures.packets < 1.3 * wanted for figures in sent)


def test_intervals_and_samples_add_up(server: OurServer) -> None:
    ours, theirs = both(server, spec(reverse=True), interval_s=0.25)
    for end in (ours, theirs):
        (total,) = end.local.streams
        rows = [row for interval in end.all(Interval) for row in interval.streams]
        assert sum(row.bytes for row in rows) == total.bytes
        assert sum(row.udp.packets for row in rows if row.udp) == total.packets
        last = end.all(StreamSample)[-1]
        assert last.udp and last.udp.packets == total.packets


def test_the_omitted_part_is_told_apart(server: OurServer) -> None:
    ours, theirs = both(server, spec(omit_s=1))
    (sent,), (received,) = ours.local.streams, theirs.local.streams
    for row in (sent, received):
        assert row.omitted_packets and row.udp
        assert row.udp.packets == row.packets - row.omitted_packets
        assert row.udp.packets * SIZE == row.bytes
    (told,) = ours.remote.streams
    assert told.omitted_packets == received.omitted_packets


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [{"total_bytes": 100_001}, {"total_blocks": 81}])
def test_a_limit_is_met_in_whole_datagrams(
    server: OurServer, limit: dict[str, int], reverse: bool
) -> None:
    test = spec(time_s=0, reverse=reverse, parallel=2, **limit)
    ours, theirs = both(server, test)
    for end in (ours, theirs):
        assert sum(row.packets for row in end.local.streams) == 81
        assert sum(row.bytes for row in end.local.streams) == 81 * SIZE


def test_the_size_follows_the_control_connection(server: OurServer) -> None:
    ours, _ = both(server, spec(block_bytes=0))
    size = ours.one(Agreed).parameters["len"]
    assert 16 <= size <= 65_507
    (row,) = ours.local.streams
    assert row.bytes == row.packets * size


def test_what_a_user_should_know_beforehand(server: OurServer) -> None:
    ours, _ = both(server, spec())
    assert ours.notes["offered_rate"].startswith("UDP is sent at 20 Mbit/s")
    assert {reading.name for reading in ours.all(OptionRead)} == {"send_buffer", "receive_buffer"}


def test_a_lost_request_of_one_stream_is_repeated(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_requests(monkeypatch, {1})
    ours, theirs = both(server, spec())
    assert ours.local.streams[0].packets == theirs.local.streams[0].packets
    assert "retry" not in ours.notes


def test_a_lost_request_that_cannot_be_repeated_begins_anew(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_requests(monkeypatch, {1})
    ours, theirs = both(server, spec(parallel=2))
    assert "beginning once more" in ours.notes["retry"]
    assert len(ours.all(StreamOpened)) == 2
    assert [row.lost_packets for row in theirs.local.streams] == [0, 0]


def test_a_path_that_loses_every_request(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_requests(monkeypatch, set(range(1, 9)))
    monkeypatch.setattr(client, "RETRY_AFTER_S", 0.1)
    ours = run(client_spec(server.port, spec(parallel=2)))
    assert ours.failure.code == 203
    assert "lossy" in ours.failure.text


@pytest.mark.parametrize("way", [{}, {"reverse": True}])
def test_a_lost_answer_is_told_by_the_start_of_the_test(
    server: OurServer, monkeypatch: pytest.MonkeyPatch, way: dict[str, Any]
) -> None:
    monkeypatch.setattr(udp_socket, "_answered", lambda sock, server_sends: False)
    ours, theirs = both(server, spec(**way))
    (here,), (there,) = ours.local.streams, theirs.local.streams
    assert max(here.lost_packets, there.lost_packets) == 0
    assert min(here.packets, there.packets) > 1000


def lose_requests(monkeypatch: pytest.MonkeyPatch, numbers: set[int]) -> None:
    """Let the requests of these numbers, counted from 1, get lost."""
    ask, asked = udp_socket._ask, []

    def lossy(sock: socket.socket) -> None:
        asked.append(sock)
        if len(asked) not in numbers:
            ask(sock)

    monkeypatch.setattr(udp_socket, "_ask", lossy)


def test_a_server_without_udp_is_found_out(server: OurServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", server.port))
        ours = run(client_spec(server.port, spec()))
    assert ours.failure.code == 202
    assert ours.failure.remote


def test_a_stop_while_requests_are_unanswered(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_requests(monkeypatch, {1, 2, 3})
    ours = run(client_spec(server.port, spec()), lambda event, stops: stops.request(1))
    assert ours.outcome == "interrupted"


def test_a_stopped_test_keeps_its_figures(server: OurServer) -> None:
    ours = run(client_spec(server.port, spec(time_s=30)), stop_after_s=0.3)
    assert ours.outcome == "interrupted"
    assert ours.local.streams[0].packets > 0
    assert ours.remote.streams[0].packets > 0


def test_nothing_is_left_of_a_test(server: OurServer) -> None:
    both(server, spec())
    before = sorted(os.listdir(f"/proc/{server.process.pid}/fd"))  # noqa: PTH208
    for _ in range(3):
        both(server, spec(total_bytes=10_000, time_s=0, parallel=4))
    assert sorted(os.listdir(f"/proc/{server.process.pid}/fd")) == before  # noqa: PTH208
    assert server.workers == []


def test_this_hosts_own_drops_are_told(server: OurServer) -> None:
    """A receiver with a tiny buffer that nobody reads: the kernel drops, the path does not."""
    test = spec(reverse=True, rate_bps=0, block_bytes=1400, window_bytes=4096)
    ours, _ = both(server, test)
    (row,) = ours.local.streams
    assert row.udp and row.udp.missing_packets
    assert row.udp.host_dropped_packets
    assert row.udp.host_dropped_packets <= row.udp.missing_packets
    assert "receive buffer" in ours.notes["host_drops"]


class TestNotes:
    def test_tcp_has_none(self) -> None:
        assert udp_notes.of_test(TestSpec(), "127.0.0.1", 1448) == []

    def test_a_rate_above_the_link(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(link_speed, "link_of", lambda host: Link("eth0", 10**9))
        test = spec(rate_bps=600_000_000, parallel=2)
        codes = {code: text for _, code, text in udp_notes.of_test(test, "192.0.2.1", 1448)}
        assert codes["above_link"].startswith("1.2 Gbit/s are to be sent, eth0 carries 1 Gbit/s")
        for fitting in (spec(), dataclasses.replace(test, reverse=True), spec(rate_bps=0)):
            notes = udp_notes.of_test(fitting, "192.0.2.1", 1448)
            assert "above_link" not in {code for _, code, _ in notes}

    def test_datagrams_longer_than_the_path(self) -> None:
        notes = udp_notes.of_test(spec(block_bytes=8192), "192.0.2.1", 1448)
        assert ("warning", "fragments") in {(level, code) for level, code, _ in notes}

    @pytest.mark.parametrize(
        ("bps", "text"),
        [
            (1_048_576, "1.05 Mbit/s"),
            (500, "500 bit/s"),
            (10**10, "10 Gbit/s"),
            (2500, "2.5 kbit/s"),
        ],
    )
    def test_rates_in_words(self, bps: int, text: str) -> None:
        assert udp_notes.rate_text(bps) == text


def test_loopback_has_no_speed() -> None:
    assert link_of("127.0.0.1") is None
    assert link_of("::1") is None
    assert link_of("203.0.113.77") is None
    assert link_of("no address") is None


def test_this_hosts_counters() -> None:
    now = udp_drops.read()
    assert now is not None
    assert now.since(now) == (0, 0)
    assert now.since(udp_drops.HostDrops(0, 0)) == now


def test_kinds_of_events_that_a_udp_run_has(server: OurServer) -> None:
    ours, _ = both(server, spec(parallel=2))
    assert [result.side for result in ours.all(Results)] == ["local", "remote"]
    assert ours.local.congestion is None
    assert ours.local.sender_has_retransmits == 0
    assert ours.remote.sender_has_retransmits == -1
    assert not [note for note in ours.all(Note) if note.level == "warning"]
