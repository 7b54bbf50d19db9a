"""Files, cores, limits, MPTCP and JSON streams beside Debian's iperf3, in both roles."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import server as our_command
from tests.cli.commands import tuiperf
from tests.engine.driving import OurServer, client_spec, run, short
from tests.interop.iperf3 import iperf3_client, iperf3_server
from tuiperf.events import Interval

CONTENT = os.urandom(2_000_003)
CUBIC = ("-C", "cubic")
PACED = (*CUBIC, "-b", "40M", "-t", "1", "-i", "0.5")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


# ---------------------------------------------------------------------- -F


def test_our_file_arrives_whole_at_a_stock_server(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with iperf3_server("-1", "-J", "-F", str(target)) as server:
        done = run(client_spec(server.port, short(time_s=60), file=str(source)))
        document = server.document()
    assert done.outcome == "completed"
    assert target.read_bytes() == CONTENT
    assert document["end"]["sum_received"]["bytes"] == done.local.streams[0].bytes == len(CONTENT)


def test_a_stock_clients_file_arrives_whole_at_our_server(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with OurServer(file=str(target)) as server:
        client = iperf3_client(server.port, *CUBIC, "-F", str(source))
        server.next_run()
    assert client.error == ""
    assert target.read_bytes() == CONTENT
    assert client.total("sum_sent") == client.total("sum_received") == len(CONTENT)


def test_a_stock_servers_file_comes_to_ours(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with iperf3_server("-1", "-J", "-F", str(source)) as server:
        done = run(client_spec(server.port, short(reverse=True), file=str(target)))
    assert done.outcome == "completed"
    assert target.read_bytes() == CONTENT


def test_our_servers_file_comes_to_a_stock_client(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    with OurServer(file=str(source)) as server:
        client = iperf3_client(server.port, *CUBIC, "-R", "-t", "1", "-F", str(target))
    assert client.error == ""
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("way", [(), ("-R",)])
def test_a_files_lines_and_members_are_iperf3s(
    source: Path, tmp_path: Path, way: tuple[str, ...]
) -> None:
    file = ("-F", str(tmp_path / "target" if way else source))
    words = (*CUBIC, *way, "-n", "131072", *file)
    with our_command(tmp_path) as (_, port):
        theirs = iperf3_client(port, *words).document
        ours = json.loads(
            tuiperf(tmp_path, "-c", "127.0.0.1", "-p", str(port), "-J", *words).stdout
        )
        shown = tuiperf(tmp_path, "-c", "127.0.0.1", "-p", str(port), *words).stdout
    (their_stream,), (our_stream,) = theirs["end"]["streams"], ours["end"]["streams"]
    assert list(our_stream) == list(their_stream)
    assert _types(our_stream["diskfile"]) == _types(their_stream["diskfile"])
    size = our_stream["diskfile"]["size"]
    assert our_stream["diskfile"]["percent_sent"] == 131_072 * 100 // size
    lines = shown.splitlines()
    (at,) = (index for index, line in enumerate(lines) if line.startswith(8 * " " + "Sent "))
    assert lines[at - 1].rstrip().endswith("sender")
    assert lines[at].endswith(f"({131_072 * 100 // size}%) of {file[1]}")


def _types(members: dict[str, Any]) -> dict[str, type]:
    return {key: type(value) for key, value in members.items()}


# ---------------------------------------------------------------------- what travels


def test_the_servers_core_reaches_a_stock_server() -> None:
    with iperf3_server("-1", "-J") as server:
        done = run(client_spec(server.port, short(server_core=0), core=0))
        assert "error" not in server.document()
    assert done.outcome == "completed"


def test_a_stock_clients_options_reach_our_server() -> None:
    with OurServer(bind_host="") as server:
        for words in (
            ("-A", "0,0"),
            ("--snd-timeout", "5000"),
            ("--pacing-timer", "500"),
            ("-6", "-L", "7"),
        ):
            host = "::1" if "-6" in words else "127.0.0.1"
            client = iperf3_client(server.port, *CUBIC, "-n", "1M", *words, host=host)
            assert client.error == ""
            assert client.total("sum_received") > 0


def test_ours_reach_a_stock_server() -> None:
    settings = {
        "snd_timeout_ms": 5000,
        "keepalive_idle_s": 20,
        "keepalive_interval_s": 3,
        "keepalive_count": 4,
    }
    test = short(total_bytes=1_000_000, time_s=0, pacing_timer_us=500, flow_label=7)
    with iperf3_server("-1", "-J") as server:
        done = run(client_spec(server.port, test, host="::1", **settings))
        assert "error" not in server.document()
    assert done.outcome == "completed"


def test_a_stock_server_without_mptcp_measures_tcp() -> None:
    with iperf3_server("-1", "-J") as server:
        done = run(client_spec(server.port, short(mptcp=True)))
        assert server.document()["end"]["sum_received"]["bytes"] > 0
    assert done.option("mptcp").effective == 0
    assert done.all(Interval)


# ---------------------------------------------------------------------- --json-stream


@pytest.mark.parametrize("way", [(), ("-R",), ("--bidir",), ("-P", "2")])
def test_a_streams_parts_have_the_members_of_iperf3s_document(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    with iperf3_server() as server:
        done = tuiperf(
            tmp_path, "-c", "127.0.0.1", "-p", str(server.port), "--json-stream", *PACED, *way
        )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    with iperf3_server() as server:
        theirs = iperf3_client(server.port, *PACED, *way).document
    assert [line["event"] for line in lines] == ["start", "interval", "interval", "end"]
    start, interval, end = lines[0]["data"], lines[1]["data"], lines[-1]["data"]
    assert set(theirs["start"]) <= set(start)
    assert set(theirs["end"]) == set(end)
    assert set(theirs["intervals"][0]) == set(interval)
    for ours, stock in (
        (interval["sum"], theirs["intervals"][0]["sum"]),
        (end["sum_sent"], theirs["end"]["sum_sent"]),
    ):
        assert set(stock) == set(ours)
    for name in ("sum_sent", "sum_received"):
        assert end[name]["bytes"] > 0


def test_the_full_document_follows_where_it_is_asked_for(tmp_path: Path) -> None:
    with our_command(tmp_path) as (_, port):
        words = ("-c", "127.0.0.1", "-p", str(port), *PACED)
        done = tuiperf(tmp_path, *words, "--json-stream-full-output")
    assert done.returncode == 0
    *events, rest = done.stdout.split("\n", 4)
    assert [json.loads(each)["event"] for each in events] == ["start", *["interval"] * 2, "end"]
    document = json.loads(rest)
    assert document["end"] == json.loads(events[-1])["data"]
    assert document["intervals"] == [json.loads(each)["data"] for each in events[1:-1]]


def test_a_failure_is_an_error_event_with_exit_code_1(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "-c", "127.0.0.1", "-p", "1", "--json-stream")
    assert (done.returncode, done.stderr) == (1, "")
    error, end = map(json.loads, done.stdout.splitlines())
    assert error["event"] == "error"
    assert "nothing listens" in error["data"]
    assert end == {"event": "end", "data": {}}


def test_debugging_shows_more_with_its_level(tmp_path: Path) -> None:
    counts = []
    with our_command(tmp_path) as (_, port):
        for level in ("-d1", "-d"):
            done = tuiperf(tmp_path, "-c", "127.0.0.1", "-p", str(port), level, *PACED)
            lines = [line for line in done.stdout.splitlines() if line.startswith("DEBUG ")]
            kinds = [json.loads(line.removeprefix("DEBUG "))["kind"] for line in lines]
            assert {"agreed", "test_started", "results"} <= set(kinds)
            counts.append(len(kinds))
            assert ("stream_sample" in kinds) == (level == "-d")
    assert counts[0] < counts[1]
