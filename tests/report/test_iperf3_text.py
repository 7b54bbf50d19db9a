"""Golden texts. Lines of tables keep their trailing blanks, so they are written in quotes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.made import Made, lines_of, listening, without
from tuiperf import events as ev
from tuiperf.report.iperf3_text import TextReport, TextSettings, failure_line, interrupt_line

SEPARATOR = "- - - - - - - - - - - - - - - - - - - - - - - - -"
RULE = "-----------------------------------------------------------"
OPENED = "[  5] local 192.0.2.1 port 40001 connected to 192.0.2.2 port 5201"


def text_of(made: Made, **settings: object) -> list[str]:
    report = TextReport(TextSettings(**settings))  # type: ignore[arg-type]
    return lines_of(report, made.whole())


def test_forward_client() -> None:
    assert text_of(Made()) == [
        "Connecting to host lab-b, port 5201",
        OPENED,
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  5]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "",
        "iperf Done.",
    ]


def test_reverse_client_shows_the_senders_retransmits_only_in_the_summary() -> None:
    assert text_of(Made(reverse=True)) == [
        "Connecting to host lab-b, port 5201",
        "Reverse mode, remote host lab-b is sending",
        OPENED,
        "[ ID] Interval           Transfer     Bitrate",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec    7            sender",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "",
        "iperf Done.",
    ]


def test_a_sender_that_does_not_know_its_retransmits_has_no_column() -> None:
    made = Made(reverse=True)
    remote = ev.Results(
        3.0, "remote", None, 1.0, 1.0, 0.0, 0, (ev.StreamResult(1, 9_995_000, None, 0.0, 2.01),)
    )
    events = [remote if getattr(e, "side", "") == "remote" else e for e in made.whole()]
    assert lines_of(TextReport(), events)[-6:-2] == [
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate",
        "[  5]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  sender",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
    ]


def test_parallel_streams_have_a_sum_and_separators() -> None:
    assert text_of(Made(parallel=3))[4:] == [
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[  7]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[  9]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[SUM]   0.00-1.00   sec  14.3 MBytes   120 Mbits/sec    9             ",
        SEPARATOR,
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        "[  7]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        "[  9]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        "[SUM]   1.00-2.00   sec  14.3 MBytes   120 Mbits/sec    0             ",
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  5]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "[  7]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  7]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "[  9]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  9]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "[SUM]   0.00-2.00   sec  28.6 MBytes   120 Mbits/sec    9             sender",
        "[SUM]   0.00-2.01   sec  28.6 MBytes   119 Mbits/sec                  receiver",
        "",
        "iperf Done.",
    ]


def test_bidirectional_client_with_two_streams_each_way() -> None:
    assert text_of(Made(bidir=True, parallel=2))[5:] == [
        "[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5][TX-C]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[  7][TX-C]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[SUM][TX-C]   0.00-1.00   sec  9.54 MBytes  80.0 Mbits/sec    6             ",
        "[  9][RX-C]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[ 11][RX-C]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[SUM][RX-C]   0.00-1.00   sec  9.54 MBytes  80.0 Mbits/sec                  ",
        SEPARATOR,
        "[  5][TX-C]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        "[  7][TX-C]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        "[SUM][TX-C]   1.00-2.00   sec  9.54 MBytes  80.0 Mbits/sec    0             ",
        "[  9][RX-C]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[ 11][RX-C]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[SUM][RX-C]   1.00-2.00   sec  9.54 MBytes  80.0 Mbits/sec                  ",
        SEPARATOR,
        "[ ID][Role] Interval           Transfer     Bitrate         Retr",
        "[  5][TX-C]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  5][TX-C]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "[  7][TX-C]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  7][TX-C]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "[SUM][TX-C]   0.00-2.00   sec  19.1 MBytes  80.0 Mbits/sec    6             sender",
        "[SUM][TX-C]   0.00-2.01   sec  19.1 MBytes  79.6 Mbits/sec                  receiver",
        "[  9][RX-C]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec    7            sender",
        "[  9][RX-C]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "[ 11][RX-C]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec    7            sender",
        "[ 11][RX-C]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "[SUM][RX-C]   0.00-2.01   sec  19.1 MBytes  79.6 Mbits/sec   14             sender",
        "[SUM][RX-C]   0.00-2.00   sec  19.1 MBytes  80.0 Mbits/sec                  receiver",
        "",
        "iperf Done.",
    ]


def test_omitted_intervals_are_marked_and_not_summed_up() -> None:
    assert text_of(Made(omit_s=1))[2:7] == [
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec   12    583 KBytes       (omitted)",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec    0    583 KBytes       ",
        SEPARATOR,
    ]
    receiving = text_of(Made(omit_s=1, reverse=True, parallel=2))
    assert receiving[5:9] == [
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  (omitted)",
        "[  7]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  (omitted)",
        "[SUM]   0.00-1.00   sec  9.54 MBytes  80.0 Mbits/sec                  (omitted)",
        SEPARATOR,
    ]


def test_without_intervals_there_is_one_row_and_no_omitted_one() -> None:
    assert text_of(Made(interval_s=0.0, omit_s=1))[1:6] == [
        OPENED,
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate         Retr",
    ]


def test_verbose_client() -> None:
    assert text_of(Made(interval_s=0.0, omit_s=1, rate_bps=40_000_000), verbose=True) == [
        "tuiperf 9.9",
        "Linux lab 6.1.0 #1 SMP x86_64",
        "Control connection MSS 1448",
        "Time: Mon, 30 Nov 2026 22:00:16 GMT",
        "Connecting to host lab-b, port 5201",
        "      Cookie: 2bcccccccccccccccccccccccccccccccccc",
        "      TCP MSS: 1448 (default)",
        "      Target Bitrate: 40000000",
        OPENED,
        "Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 1 seconds, "
        "10 second test, tos 0",
        "Finished omit period, starting real test",
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3    583 KBytes       ",
        SEPARATOR,
        "Test Complete. Summary Results:",
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  5]   0.00-2.01   sec  9.53 MBytes  39.8 Mbits/sec                  receiver",
        "CPU Utilization: local/sender 2.5% (0.5%u/2.0%s), remote/receiver 4.2% (1.0%u/3.2%s)",
        "snd_tcp_congestion cubic",
        "rcv_tcp_congestion bbr",
        "",
        "iperf Done.",
    ]


@pytest.mark.parametrize(
    ("test", "mss", "length"),
    [
        ({"mss_bytes": 1000}, "      TCP MSS: 1000", "10 second test, tos 0"),
        ({"total_bytes": 4096, "time_s": 0}, "      TCP MSS: 1448 (default)", "4096 bytes to send"),
        (
            {"total_blocks": 12, "tos": 16},
            "      TCP MSS: 1448 (default)",
            "12 blocks to send, tos 16",
        ),
    ],
)
def test_verbose_names_the_mss_and_what_ends_the_test(
    test: dict[str, Any], mss: str, length: str
) -> None:
    lines = text_of(Made(**test), verbose=True)
    assert mss in lines
    assert any(line.startswith("Starting Test:") and length in line for line in lines)


def test_verbose_reverse_client_has_no_cpu_line_and_turns_the_algorithms() -> None:
    lines = text_of(Made(reverse=True), verbose=True)
    assert lines[-4:-2] == ["snd_tcp_congestion bbr", "rcv_tcp_congestion cubic"]
    assert not [line for line in lines if line.startswith("CPU")]


def test_verbose_bidirectional_client_has_both_cpu_lines_with_what_it_sends() -> None:
    lines = text_of(Made(bidir=True), verbose=True)
    sender = lines.index(
        "CPU Utilization: local/sender 2.5% (0.5%u/2.0%s), remote/receiver 4.2% (1.0%u/3.2%s)"
    )
    assert lines[sender + 1 : sender + 4] == [
        "CPU Utilization: local/receiver 2.5% (0.5%u/2.0%s), remote/sender 4.2% (1.0%u/3.2%s)",
        "snd_tcp_congestion cubic",
        "rcv_tcp_congestion bbr",
    ]
    assert lines[-4:-2] == ["snd_tcp_congestion bbr", "rcv_tcp_congestion cubic"]


def test_server_of_a_forward_test_and_the_next_banner() -> None:
    events = [listening(), *Made("server").whole(), listening(2)]
    assert lines_of(TextReport(), events) == [
        RULE,
        "Server listening on 5201 (test #1)",
        "Reachable at every IPv6 address",
        RULE,
        "Accepted connection from 192.0.2.1, port 40000",
        "[  5] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 40001",
        "[ ID] Interval           Transfer     Bitrate",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        RULE,
        "Server listening on 5201 (test #2)",
        RULE,
    ]


def test_server_serves_several_tests_with_fresh_headings() -> None:
    report = TextReport()
    first = lines_of(report, Made("server").whole())
    assert lines_of(report, Made("server").whole()) == first


def test_server_of_a_reverse_test_shows_its_own_line() -> None:
    assert text_of(Made("server", reverse=True))[-3:] == [
        SEPARATOR,
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
    ]


def test_bidirectional_server_receives_first() -> None:
    lines = text_of(Made("server", bidir=True, parallel=2))
    assert [line[:11] for line in lines[6:12]] == [
        "[  5][RX-S]",
        "[  7][RX-S]",
        "[SUM][RX-S]",
        "[  9][TX-S]",
        "[ 11][TX-S]",
        "[SUM][TX-S]",
    ]
    assert lines[-7:] == [
        "[ ID][Role] Interval           Transfer     Bitrate         Retr",
        "[  5][RX-S]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "[  7][RX-S]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "[SUM][RX-S]   0.00-2.00   sec  19.1 MBytes  80.0 Mbits/sec                  receiver",
        "[  9][TX-S]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[ 11][TX-S]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[SUM][TX-S]   0.00-2.00   sec  19.1 MBytes  80.0 Mbits/sec    6             sender",
    ]


def test_verbose_server() -> None:
    report = TextReport(TextSettings(verbose=True, tool="tuiperf 9.9", system="Linux lab"))
    events = [listening(), *Made("server").whole(), listening(2)]
    assert lines_of(report, events) == [
        "tuiperf 9.9",
        "Linux lab",
        RULE,
        "Server listening on 5201 (test #1)",
        "Reachable at every IPv6 address",
        RULE,
        "Time: Mon, 30 Nov 2026 22:00:16 GMT",
        "Accepted connection from 192.0.2.1, port 40000",
        "      Cookie: 2bcccccccccccccccccccccccccccccccccc",
        "      TCP MSS: 0 (default)",
        "[  5] local 192.0.2.2 port 5201 connected to 192.0.2.1 port 40001",
        "Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, "
        "10 second test, tos 0",
        "[ ID] Interval           Transfer     Bitrate",
        "[  5]   0.00-1.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        "[  5]   1.00-2.00   sec  4.77 MBytes  40.0 Mbits/sec                  ",
        SEPARATOR,
        "Test Complete. Summary Results:",
        "[ ID] Interval           Transfer     Bitrate",
        "[  5] (sender statistics not available)",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        "rcv_tcp_congestion cubic",
        RULE,
        "Server listening on 5201 (test #2)",
        RULE,
    ]


def test_verbose_server_that_sends() -> None:
    assert text_of(Made("server", reverse=True, parallel=2), verbose=True)[-9:] == [
        "[ ID] Interval           Transfer     Bitrate         Retr",
        "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  5] (receiver statistics not available)",
        "[  7]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender",
        "[  7] (receiver statistics not available)",
        "[SUM]   0.00-2.00   sec  19.1 MBytes  80.0 Mbits/sec    6             sender",
        "[SUM] (receiver statistics not available)",
        "CPU Utilization: local/sender 2.5% (0.5%u/2.0%s), remote/receiver 4.2% (1.0%u/3.2%s)",
        "snd_tcp_congestion cubic",
    ]


def test_the_format_changes_rates_only() -> None:
    line = text_of(Made(), unit_format="K")[3]
    assert line == "[  5]   0.00-1.00   sec  4.77 MBytes  4883 KBytes/sec    3    583 KBytes       "


def test_a_title_heads_every_line_of_a_client_and_none_of_a_server() -> None:
    plain = text_of(Made())
    assert text_of(Made(), title="west") == [f"west:  {line}" for line in plain]
    assert text_of(Made("server"), title="west") == text_of(Made("server"))


def test_timestamps_head_every_line() -> None:
    report = TextReport(TextSettings(timestamps="%Y ", title="t"), wall_time_s=lambda: 1.8e9)
    lines = lines_of(report, Made().whole())
    assert lines[0] == "2027 t:  Connecting to host lab-b, port 5201"
    assert all(line.startswith("2027 t:  ") for line in lines)


def test_server_output_stands_between_the_summary_and_the_end() -> None:
    events = Made().whole()
    events.insert(-1, ev.ServerOutput(3.05, "first\nsecond\tpart\n"))
    assert lines_of(TextReport(), events)[-7:] == [
        "",
        "Server output:",
        "first",
        "second\tpart",
        "",
        "",
        "iperf Done.",
    ]


def test_server_output_as_json() -> None:
    events = Made().whole()
    events.insert(-1, ev.ServerOutput(3.05, None, {"end": {"n": 1}}))
    assert lines_of(TextReport(), events)[-9:-2] == [
        "",
        "Server JSON output:",
        "{",
        '\t"end":\t{',
        '\t\t"n":\t1',
        "\t}",
        "}",
    ]


class TestPartialRuns:
    def test_no_far_end_no_receiver_line_and_the_summary_comes_with_the_failure(self) -> None:
        made = Made(parallel=2)
        report = TextReport()
        before = [*made.opening(), made.interval(0.0, 1.0, retransmits=3)]
        lines_of(report, [*before, made.interval(1.0, 1.5)])
        assert report.lines(made.results("local", 1.5, 7_500_000, 3)) == []
        assert report.lines(ev.Failed(2.0, 109, "control socket has closed unexpectedly")) == [
            SEPARATOR,
            "[ ID] Interval           Transfer     Bitrate         Retr",
            "[  5]   0.00-1.50   sec  7.15 MBytes  40.0 Mbits/sec    3            sender",
            "[  7]   0.00-1.50   sec  7.15 MBytes  40.0 Mbits/sec    3            sender",
            "[SUM]   0.00-1.50   sec  14.3 MBytes  80.0 Mbits/sec    6             sender",
        ]
        assert report.lines(ev.RunEnded(2.1, "failed")) == []

    def test_no_far_end_no_sender_line(self) -> None:
        events = without(Made(reverse=True).whole()[:-1], ev.RunEnded)
        events = [event for event in events if getattr(event, "side", "") != "remote"]
        lines = lines_of(TextReport(), [*events, ev.RunEnded(3.0, "interrupted", "Interrupt(2)")])
        assert lines[-3:] == [
            SEPARATOR,
            "[ ID] Interval           Transfer     Bitrate",
            "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec                  receiver",
        ]

    def test_without_results_the_intervals_are_summed_up(self) -> None:
        events = [*without(Made(omit_s=1).whole(), ev.Results, ev.RunEnded)]
        lines = lines_of(TextReport(), [*events, ev.Failed(3.0, 109, "gone")])
        assert lines[-1] == (
            "[  5]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    3            sender"
        )

    def test_an_interrupted_run_with_both_results_ends_without_the_last_word(self) -> None:
        events = [*without(Made().whole(), ev.RunEnded), ev.RunEnded(3.0, "interrupted")]
        lines = lines_of(TextReport(), events)
        assert lines[-1].endswith("receiver")
        assert len([line for line in lines if "1.00-2.00" in line]) == 1

    def test_a_run_without_data_prints_no_table(self) -> None:
        made = Made()
        events = [made.opening()[0], ev.Failed(1.0, 103, "refused"), ev.RunEnded(1.0, "failed")]
        assert lines_of(TextReport(), events) == []

    def test_a_stream_that_the_far_end_left_out_has_no_line_and_there_is_no_sum(self) -> None:
        made = Made(parallel=2)
        remote = made.results("remote", 2.0, 9_995_000)
        short = ev.Results(3.0, "remote", None, 0.0, 0.0, 0.0, -1, remote.streams[:1])
        events = [short if getattr(e, "side", "") == "remote" else e for e in made.whole()]
        receivers = [line for line in lines_of(TextReport(), events) if line.endswith("receiver")]
        assert [line[:5] for line in receivers] == ["[  5]"]


def test_control_bytes_of_peers_never_reach_the_terminal() -> None:
    hostile = "\x1b[2J\x07\n\x9b"
    connected = ev.Connected(0.1, hostile, 1, hostile, 2, hostile, 1, 1)
    opened = ev.StreamOpened(0.3, 1, 5, True, hostile, 1, hostile, 2)
    made = Made("server")
    events: list[ev.Event] = [
        ev.RunStarted(0.0, "x", "client", hostile, hostile, 0.0, {"host": hostile}),
        connected,
        ev.Agreed(0.2, made.test.to_parameters(hostile)),
        opened,
        *Made().whole()[4:-3],
        made.results("local", 2.0, 1, 1, hostile),
        made.results("remote", 2.0, 1, 1, hostile),
        ev.ServerOutput(3.0, hostile),
        ev.ServerOutput(3.0, None, {hostile: hostile}),
    ]
    lines = lines_of(TextReport(TextSettings(title=hostile, verbose=True)), events)
    assert len(lines) > 15
    assert all(char == "\t" or char.isprintable() for line in lines for char in line)
    assert "\\x1b[2J" in lines[0]


def test_failure_lines() -> None:
    assert failure_line(ev.Failed(1.0, 121, "busy\x1b")) == "error - busy\\x1b"
    assert failure_line(ev.RunEnded(1.0, "completed")) == ""
    assert failure_line(ev.RunEnded(1.0, "interrupted", "Interrupt(2)")) == (
        "interrupt - the client has terminated by signal Interrupt(2)"
    )
    assert interrupt_line("server", None) == "interrupt - the server has terminated"
