from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.report.made import COOKIE, SYSTEM, Made, without
from tuiperf import events as ev
from tuiperf.report.iperf3_json import JsonReport, dump

START = ["connected", "version", "system_info"]
MEETING = ["cookie", "tcp_mss_default", "target_bitrate", "fq_rate"]
BUFFERS = ["sock_bufsize", "sndbuf_actual", "rcvbuf_actual"]
TEST_START = [
    *["protocol", "num_streams", "blksize", "omit", "duration", "bytes", "blocks", "reverse"],
    *["tos", "target_bitrate", "bidir", "fqrate", "interval", "gso", "gro"],
]
SPAN = ["start", "end", "seconds", "bytes", "bits_per_second"]
SNAPSHOT = ["retransmits", "snd_cwnd", "snd_wnd", "rtt", "rttvar", "pmtu", "reorder"]
EXTREMES = ["max_snd_cwnd", "max_snd_wnd", "max_rtt", "min_rtt", "mean_rtt"]
CPU = [f"{side}_{what}" for side in ("host", "remote") for what in ("total", "user", "system")]


def document_of(events: Iterable[ev.Event], diagnosis: Any = None) -> Any:
    """The document as a reader gets it."""
    report = JsonReport()
    for event in events:
        report.feed(event)
    return json.loads(dump(report.document(diagnosis)))


class TestStart:
    def test_client(self) -> None:
        start = document_of(Made(rate_bps=40_000_000, fq_rate_bps=7).whole())["start"]
        assert list(start) == [
            *START,
            "timestamp",
            "connecting_to",
            *MEETING,
            *BUFFERS,
            "test_start",
        ]
        assert start["connected"] == [
            {
                "socket": 5,
                "local_host": "192.0.2.1",
                "local_port": 40001,
                "remote_host": "192.0.2.2",
                "remote_port": 5201,
            }
        ]
        assert start["version"] == "tuiperf 9.9"
        assert start["system_info"] == SYSTEM
        assert start["timestamp"] == {
            "time": "Mon, 30 Nov 2026 22:00:16 GMT",
            "timesecs": 1796076016,
            "timemillisecs": 1796076016450,
        }
        assert start["connecting_to"] == {"host": "lab-b", "port": 5201}
        assert start["cookie"] == COOKIE
        assert start["tcp_mss_default"] == 1448
        assert start["target_bitrate"] == 40_000_000
        assert start["fq_rate"] == 7
        assert [start[key] for key in BUFFERS] == [0, 16384, 131072]
        assert list(start["test_start"]) == TEST_START
        assert list(start["test_start"].values()) == [
            *["TCP", 1, 131072, 0, 10, 0, 0, 0, 0, 40_000_000, 0, 7, 1, 0, 0]
        ]

    def test_a_set_mss_has_another_key(self) -> None:
        start = document_of(Made(mss_bytes=1000).whole())["start"]
        assert start["tcp_mss"] == 1000
        assert "tcp_mss_default" not in start

    def test_a_limit_on_bytes_leaves_no_duration(self) -> None:
        start = document_of(Made(total_bytes=77, time_s=10).whole())["start"]
        assert start["test_start"]["duration"] == 0
        assert start["test_start"]["bytes"] == 77

    def test_server(self) -> None:
        start = document_of(Made("server").whole())["start"]
        expected = [*START, *BUFFERS, "timestamp", "accepted_connection", *MEETING, "test_start"]
        assert list(start) == expected
        assert start["accepted_connection"] == {"host": "192.0.2.1", "port": 40000}
        assert start["tcp_mss_default"] == 0

    def test_server_of_a_paced_test_tells_the_rate_first(self) -> None:
        start = document_of(Made("server", rate_bps=5).whole())["start"]
        assert list(start)[3:6] == ["target_bitrate", "sock_bufsize", "sndbuf_actual"]
        assert start["target_bitrate"] == 5


class TestIntervals:
    def test_sender(self) -> None:
        intervals = document_of(Made().whole())["intervals"]
        assert [list(each) for each in intervals] == [["streams", "sum"]] * 2
        stream = intervals[0]["streams"][0]
        assert list(stream) == ["socket", *SPAN, *SNAPSHOT, "omitted", "sender"]
        assert list(stream.values()) == [
            *[5, 0, 1, 1, 5_000_000, 40_000_000, 3, 596_992, 108_544, 1001, 3, 1500, 0, False, True]
        ]
        assert list(intervals[0]["sum"]) == [*SPAN, "retransmits", "omitted", "sender"]

    def test_receiver(self) -> None:
        interval = document_of(Made(reverse=True).whole())["intervals"][0]
        assert list(interval["streams"][0]) == ["socket", *SPAN, "omitted", "sender"]
        assert list(interval["sum"]) == [*SPAN, "omitted", "sender"]
        assert interval["sum"]["sender"] is False

    @pytest.mark.parametrize(("role", "first_sends"), [("client", True), ("server", False)])
    def test_bidirectional_sums_go_by_direction(self, role: str, first_sends: bool) -> None:
        interval = document_of(Made(role, bidir=True, parallel=2).whole())["intervals"][0]
        assert list(interval) == ["streams", "sum", "sum_bidir_reverse"]
        assert [row["sender"] for row in interval["streams"]] == [
            *[first_sends] * 2,
            *[not first_sends] * 2,
        ]
        assert interval["sum"]["sender"] is first_sends
        assert interval["sum_bidir_reverse"]["sender"] is not first_sends
        assert interval["sum"]["bytes"] == 10_000_000

    def test_seconds_are_kept_in_single_precision(self) -> None:
        made = Made()
        events = [*made.opening(), made.interval(1.000102, 2.000097)]
        stream = document_of(events)["intervals"][0]["streams"][0]
        assert stream["seconds"] == 0.999994993209839
        rate_bps = stream["bytes"] * 8 / 0.99999499320983887
        assert stream["bits_per_second"] == pytest.approx(rate_bps, rel=1e-15)

    def test_omitted_ones_are_there_and_marked(self) -> None:
        intervals = document_of(Made(omit_s=1).whole())["intervals"]
        assert [each["sum"]["omitted"] for each in intervals] == [True, False, False]

    def test_without_intervals_there_is_one(self) -> None:
        intervals = document_of(Made(interval_s=0.0, omit_s=1).whole())["intervals"]
        assert [each["sum"]["omitted"] for each in intervals] == [False]


class TestEnd:
    def test_forward(self) -> None:
        end = document_of(Made(parallel=2).whole())["end"]
        assert list(end) == [
            "streams",
            "sum_sent",
            "sum_received",
            "cpu_utilization_percent",
            "sender_tcp_congestion",
            "receiver_tcp_congestion",
        ]
        sender, receiver = end["streams"][1]["sender"], end["streams"][1]["receiver"]
        assert list(sender) == [
            *["socket", *SPAN, "retransmits", "reorder", *EXTREMES, "sender"],
        ]
        assert list(sender.values()) == [
            *[7, 0, 2, 2, 10_000_000, 40_000_000, 3, 0, 596_992, 108_544, 1002, 1001, 1001, True]
        ]
        assert list(receiver) == ["socket", *SPAN, "sender"]
        assert receiver == {
            "socket": 7,
            "start": 0,
            "end": 2.01,
            "seconds": 2,  # the local one, as in iperf3
            "bytes": 9_995_000,
            "bits_per_second": pytest.approx(9_995_000 * 8 / 2.01),
            "sender": True,
        }
        assert end["sum_sent"] == {
            "start": 0,
            "end": 2,
            "seconds": 2,
            "bytes": 20_000_000,
            "bits_per_second": 80_000_000,
            "retransmits": 6,
            "sender": True,
        }
        assert end["sum_received"] == {
            "start": 0,
            "end": 2.01,
            "seconds": 2.01,
            "bytes": 19_990_000,
            "bits_per_second": pytest.approx(19_990_000 * 8 / 2.01),
            "sender": True,
        }
        assert list(end["cpu_utilization_percent"]) == CPU
        assert list(end["cpu_utilization_percent"].values()) == [2.5, 0.5, 2, 4.25, 1, 3.25]
        assert end["sender_tcp_congestion"] == "cubic"
        assert end["receiver_tcp_congestion"] == "bbr"

    def test_reverse_has_the_peers_retransmits_and_nothing_else_of_it(self) -> None:
        end = document_of(Made(reverse=True).whole())["end"]
        sender = end["streams"][0]["sender"]
        assert sender["retransmits"] == 7
        assert [sender[key] for key in ("reorder", *EXTREMES)] == [0] * 6
        assert sender["end"] == sender["seconds"] == 2.01
        assert sender["sender"] is False
        assert end["sum_sent"]["retransmits"] == 7
        assert end["sum_received"]["bytes"] == 10_000_000
        assert (end["sender_tcp_congestion"], end["receiver_tcp_congestion"]) == ("bbr", "cubic")

    def test_bidirectional(self) -> None:
        end = document_of(Made(bidir=True).whole())["end"]
        assert list(end)[1:5] == [
            "sum_sent",
            "sum_received",
            "sum_sent_bidir_reverse",
            "sum_received_bidir_reverse",
        ]
        assert end["sum_sent"]["bytes"] == end["sum_received_bidir_reverse"]["bytes"] == 10_000_000
        assert end["sum_sent_bidir_reverse"]["retransmits"] == 7
        assert end["sum_sent_bidir_reverse"]["sender"] is False

    def test_server_gives_the_clients_figures_but_not_its_retransmits(self) -> None:
        end = document_of(Made("server").whole())["end"]
        assert list(end["streams"][0]["sender"]) == ["socket", *SPAN, "sender"]
        assert end["sum_sent"]["bytes"] == 9_995_000
        assert end["sum_received"]["bytes"] == 10_000_000
        assert list(end)[-1] == "receiver_tcp_congestion"
        assert "sender_tcp_congestion" not in end

    def test_what_the_far_end_did_not_tell_is_null(self) -> None:
        events = without(Made().whole(), ev.RunEnded)
        events = [event for event in events if getattr(event, "side", "") != "remote"]
        document = document_of([*events, ev.Failed(3.0, 109, "gone"), ev.RunEnded(3.0, "failed")])
        end = document["end"]
        assert end["sum_sent"]["bytes"] == 10_000_000
        assert end["sum_received"]["bytes"] is None
        assert end["sum_received"]["bits_per_second"] is None
        assert end["streams"][0]["receiver"]["bytes"] is None
        assert end["cpu_utilization_percent"]["remote_total"] is None
        assert document["error"] == "gone"

    def test_without_results_the_intervals_are_summed_up(self) -> None:
        events = without(Made(omit_s=1).whole(), ev.Results, ev.RunEnded)
        end = document_of(events)["end"]
        assert end["sum_sent"]["bytes"] == 10_000_000
        assert end["sum_sent"]["retransmits"] == 3
        assert end["cpu_utilization_percent"]["host_total"] is None


class TestTop:
    def test_order_of_everything(self) -> None:
        events = Made(title="west", extra_data="x").whole()
        events.insert(-1, ev.ServerOutput(3.05, "their text"))
        events[-1] = ev.RunEnded(3.1, "interrupted", "Interrupt(2)")
        document = document_of(events, {"verdicts": []})
        assert list(document) == [
            "start",
            "intervals",
            "end",
            "title",
            "extra_data",
            "server_output_text",
            "error",
            "diagnosis",
        ]
        assert document["title"] == "west"
        assert document["error"] == ("interrupt - the client has terminated by signal Interrupt(2)")
        assert document["diagnosis"] == {"verdicts": []}

    def test_a_good_run_has_no_more_than_it_must(self) -> None:
        assert list(document_of(Made().whole())) == ["start", "intervals", "end"]

    def test_server_output_as_json(self) -> None:
        events = Made().whole()
        events.insert(-1, ev.ServerOutput(3.05, None, {"end": {}}))
        assert document_of(events)["server_output_json"] == {"end": {}}

    def test_a_refused_connection(self) -> None:
        made = Made()
        failed = ev.Failed(1.0, 103, "unable to connect to server: Connection refused", 111)
        document = document_of([made.opening()[0], failed, ev.RunEnded(1.0, "failed")])
        assert document == {
            "start": {"connected": [], "version": "tuiperf 9.9", "system_info": SYSTEM},
            "intervals": [],
            "end": {},
            "error": "unable to connect to server: Connection refused",
        }

    def test_an_error_before_any_run(self) -> None:
        report = JsonReport("tuiperf 9.9", "Linux")
        report.feed(ev.Failed(0.0, 102, "address in use"))
        assert report.document() == {
            "start": {"connected": [], "version": "tuiperf 9.9", "system_info": "Linux"},
            "intervals": [],
            "end": {},
            "error": "address in use",
        }

    def test_the_next_test_of_a_server_begins_afresh(self) -> None:
        events = Made("server").whole()
        assert document_of([*events, *events]) == document_of(events)


def test_whole_numbers_have_no_point() -> None:
    report = JsonReport()
    for event in Made().whole():
        report.feed(event)
    text = dump(report.document())
    assert '\t\t\t"bits_per_second":\t40000000,\n' in text
    assert ".0," not in text
