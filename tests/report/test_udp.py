"""UDP in iperf3's text and document: the lines of real runs, and figures that add up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.report.made import Made, lines_of
from tuiperf import events as ev
from tuiperf.report.iperf3_json import JsonReport
from tuiperf.report.iperf3_text import TextReport, TextSettings

SIZE = 1000
JITTER_S = 12.5e-6


class MadeUdp(Made):
    """A run of 625 datagrams of 1000 bytes a second, of which 5 are lost."""

    def __init__(self, role: str = "client", **test: Any) -> None:
        super().__init__(role, protocol="udp", block_bytes=SIZE, rate_bps=5_000_000, **test)

    def udp(self, stream: int, seconds: float = 1.0, lost: int = 5) -> ev.UdpFigures:
        packets = round(625 * seconds)
        if self.sends(stream):
            return ev.UdpFigures(packets)
        return ev.UdpFigures(packets, lost, 3, JITTER_S, lost + 1, 2, 1, 4, 0)

    def interval(
        self, start_s: float, end_s: float, *, omitted: bool = False, retransmits: int = 0
    ) -> ev.Interval:
        rows = []
        for stream in self.streams:
            udp = self.udp(stream, end_s - start_s)
            carried = (udp.packets - udp.lost_packets) * SIZE
            row = ev.StreamInterval(stream, self.sends(stream), start_s, end_s, carried, udp=udp)
            rows.append(row)
        return ev.Interval(end_s + 0.4, start_s, end_s, omitted, tuple(rows))

    def results(
        self,
        side: str,
        seconds: float,
        carried: int,
        retransmits: int = 0,
        congestion: str = "cubic",
    ) -> ev.Results:
        rows = []
        omit_s = self.test.omit_s
        for stream in self.streams:
            sender = self.sends(stream) is (side == "local")
            packets, lost = round(625 * (2 + omit_s)), 0 if sender else 5 * (2 + omit_s)
            rows.append(
                ev.StreamResult(
                    stream,
                    1_250_000 if sender else 1_240_000,
                    None,
                    0.0,
                    seconds,
                    0.0 if sender else JITTER_S,
                    lost,
                    packets,
                    0 if sender else 5 * omit_s,
                    625 * omit_s,
                    self.udp(stream, 2.0, 10) if side == "local" else None,
                )
            )
        return ev.Results(seconds + 1, side, None, 2.5, 0.5, 2.0, 0, tuple(rows))


def text_of(made: Made, **settings: Any) -> list[str]:
    return lines_of(TextReport(TextSettings(**settings)), made.whole())


def document_of(made: Made) -> Any:
    report = JsonReport()
    for event in made.whole():
        report.feed(event)
    return report.document()


class TestText:
    def test_a_sending_client(self) -> None:
        assert text_of(MadeUdp())[2:] == [
            "[ ID] Interval           Transfer     Bitrate         Total Datagrams",
            "[  5]   0.00-1.00   sec   610 KBytes  5.00 Mbits/sec  625  ",
            "[  5]   1.00-2.00   sec   610 KBytes  5.00 Mbits/sec  625  ",
            "- - - - - - - - - - - - - - - - - - - - - - - - -",
            "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams",
            "[  5]   0.00-2.00   sec  1.19 MBytes  5.00 Mbits/sec  0.000 ms  0/1250 (0%)  sender",
            "[  5]   0.00-2.01   sec  1.18 MBytes  4.94 Mbits/sec  0.013 ms  10/1250 (0.8%)  "
            "receiver",
            "",
            "iperf Done.",
        ]

    def test_a_receiving_client_tells_what_came_out_of_order(self) -> None:
        lines = text_of(MadeUdp(reverse=True))
        assert lines[3:5] == [
            "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams",
            "[  5]   0.00-1.00   sec   605 KBytes  4.96 Mbits/sec  0.013 ms  5/625 (0.8%)  ",
        ]
        assert lines[8:11] == [
            "[  5]   0.00-2.01   sec  1.19 MBytes  4.98 Mbits/sec  0.000 ms  0/1250 (0%)  sender",
            "[SUM]  0.0- 2.0 sec  3 datagrams received out-of-order",
            "[  5]   0.00-2.00   sec  1.18 MBytes  4.96 Mbits/sec  0.013 ms  10/1250 (0.8%)  "
            "receiver",
        ]

    def test_both_directions(self) -> None:
        lines = text_of(MadeUdp(bidir=True))
        assert lines[3:6] == [
            "[ ID][Role] Interval           Transfer     Bitrate         Jitter    "
            "Lost/Total Datagrams",
            "[  5][TX-C]   0.00-1.00   sec   610 KBytes  5.00 Mbits/sec            625  ",
            "[  7][RX-C]   0.00-1.00   sec   605 KBytes  4.96 Mbits/sec  0.013 ms  5/625 (0.8%)  ",
        ]

    def test_sums(self) -> None:
        lines = [line for line in text_of(MadeUdp(parallel=2)) if line.startswith("[SUM]")]
        assert lines[0] == "[SUM]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec  1250  "
        assert lines[-1] == (
            "[SUM]   0.00-2.01   sec  2.37 MBytes  9.87 Mbits/sec  0.013 ms  20/2500 (0.8%)  "
            "receiver"
        )

    def test_what_was_omitted_does_not_count(self) -> None:
        lines = text_of(MadeUdp(omit_s=1))
        assert lines[3].endswith("  625  (omitted)")
        assert "10/1250 (0.8%)  receiver" in lines[-3]

    def test_a_far_end_that_does_not_tell_what_was_omitted(self) -> None:
        made = MadeUdp(omit_s=1)
        remote = made.results("remote", 2.0, 0)
        old = tuple(
            replace(row, omitted_packets=None, omitted_lost_packets=None) for row in remote.streams
        )
        events = [
            replace(event, streams=old)
            if isinstance(event, ev.Results) and event.side == "remote"
            else event
            for event in made.whole()
        ]
        lines = lines_of(TextReport(), events)
        assert lines[-3].endswith("0.013 ms  Unknown/1250  receiver")

    def test_the_words_of_a_verbose_report(self) -> None:
        lines = text_of(MadeUdp(), verbose=True)
        assert not [line for line in lines if "MSS" in line and "TCP" in line]
        assert any(line.startswith("Starting Test: protocol: UDP, 1 streams") for line in lines)


class TestDocument:
    def test_the_start(self) -> None:
        start = document_of(MadeUdp(gso=True, gro=True))["start"]
        assert not [key for key in start if key.startswith("tcp_mss")]
        test = start["test_start"]
        assert (test["protocol"], test["blksize"], test["gso"], test["gro"]) == ("UDP", 1000, 1, 1)

    def test_the_keys_of_real_documents(self) -> None:
        common = ["socket", "start", "end", "seconds", "bytes", "bits_per_second"]
        losses = ["jitter_ms", "lost_packets", "packets", "lost_percent"]
        sent, received = document_of(MadeUdp()), document_of(MadeUdp(reverse=True))
        row = sent["intervals"][0]["streams"][0]
        assert list(row) == [*common, "packets", "omitted", "sender"]
        row = received["intervals"][0]["streams"][0]
        assert list(row) == [*common, *losses, "omitted", "sender"]
        assert list(received["intervals"][0]["sum"]) == [*common[1:], *losses, "omitted", "sender"]
        end = sent["end"]
        assert list(end) == [
            "streams",
            "sum",
            "sum_sent",
            "sum_received",
            "cpu_utilization_percent",
        ]
        assert list(end["streams"][0]["udp"]) == [*common, *losses, "out_of_order", "sender"]
        for key in ("sum", "sum_sent", "sum_received"):
            assert list(end[key]) == [*common[1:], *losses, "sender"]

    def test_the_figures(self) -> None:
        end = document_of(MadeUdp())["end"]
        stream = end["streams"][0]["udp"]
        assert (stream["bytes"], stream["packets"], stream["lost_packets"]) == (1_250_000, 1250, 10)
        assert stream["lost_percent"] == pytest.approx(0.8)
        assert stream["bits_per_second"] == pytest.approx(5e6)
        assert (end["sum"]["end"], end["sum"]["bytes"]) == (2.01, 1_250_000)
        assert end["sum"]["bits_per_second"] == pytest.approx(5e6)
        assert (end["sum_sent"]["lost_packets"], end["sum_sent"]["sender"]) == (0, True)
        assert end["sum_received"]["bytes"] == 1_240_000
        assert end["sum_received"]["jitter_ms"] == pytest.approx(0.0125)
        assert end["sum_received"]["sender"] is False

    def test_out_of_order_as_the_receiving_end_counts_it(self) -> None:
        assert document_of(MadeUdp())["end"]["streams"][0]["udp"]["out_of_order"] == 0
        received = document_of(MadeUdp(reverse=True))
        assert received["end"]["streams"][0]["udp"]["out_of_order"] == 3

    def test_both_directions(self) -> None:
        end = document_of(MadeUdp(bidir=True))["end"]
        assert [key for key in end if key.startswith("sum")] == [
            "sum",
            "sum_sent",
            "sum_received",
            "sum_bidir_reverse",
            "sum_sent_bidir_reverse",
            "sum_received_bidir_reverse",
        ]

    def test_what_the_far_end_did_not_tell_is_null(self) -> None:
        made = MadeUdp()
        report = JsonReport()
        for event in made.whole():
            if getattr(event, "side", "") != "remote":
                report.feed(event)
        end = report.document()["end"]
        assert end["sum_received"]["bytes"] is None
        assert end["streams"][0]["udp"]["lost_packets"] is None
        assert end["sum_sent"]["packets"] == 1250
