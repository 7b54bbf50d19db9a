"""The client against our own server: right values in every event, and stops at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.engine.driving import OurServer, Run, carried, client_spec, run, short
from tuiperf.engine.stops import AT_ONCE, GRACEFUL, Stops
from tuiperf.events import (
    Agreed,
    Connected,
    Event,
    HostFacts,
    HostSample,
    Interval,
    Note,
    OptionRead,
    Results,
    RunEnded,
    RunStarted,
    StreamOpened,
    StreamSample,
    TestStarted,
)

SOME_BYTES = 20_000_000


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with OurServer() as server:
        yield server.port


def totals(done: Run) -> dict[int, int]:
    """Bytes of each stream, summed over the intervals that count."""
    sums: dict[int, int] = {}
    for interval in done.measured:
        for row in interval.streams:
            sums[row.stream] = sums.get(row.stream, 0) + row.bytes
    return sums


def test_events_come_in_their_order_and_tell_the_same_story(port: int) -> None:
    done = run(client_spec(port, interval_s=0.5))
    kinds = [
        type(event) for event in done.events if not isinstance(event, (Note, OptionRead, HostFacts))
    ]
    assert kinds[:5] == [RunStarted, Connected, Agreed, StreamOpened, TestStarted]
    assert kinds[-3:] == [Results, Results, RunEnded]
    assert set(kinds[5:-3]) == {StreamSample, HostSample, Interval}
    assert done.outcome == "completed"
    assert done.one(RunStarted).spec["port"] == port
    assert done.one(Connected).remote_port == port
    assert done.one(StreamOpened).remote_port == port
    assert done.one(Agreed).parameters["time"] == 1
    times = [event.t_s for event in done.events]
    assert times == sorted(times)


def test_samples_come_ten_times_a_second_and_count_upwards(port: int) -> None:
    done = run(client_spec(port, interval_s=0))
    samples = done.all(StreamSample)
    assert [sample.tick for sample in samples] == list(range(1, len(samples) + 1))
    assert 8 <= len(samples) <= 12
    counted = [sample.transferred_bytes for sample in samples]
    assert counted == sorted(counted)
    assert counted[-1] == carried(done.local)[1]
    assert all(sample.tcp and sample.tcp["rtt_us"] > 0 for sample in samples)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"reverse": True},
        {"bidir": True},
        {"parallel": 3},
        {"parallel": 2, "reverse": True},
        {"parallel": 2, "bidir": True},
        {"omit_s": 1},
        {"omit_s": 1, "reverse": True},
        {"rate_bps": 40_000_000},
        {"total_bytes": SOME_BYTES},
        {"total_bytes": SOME_BYTES, "reverse": True},
    ],
    ids=str,
)
def test_intervals_add_up_to_the_totals(port: int, settings: dict[str, Any]) -> None:
    done = run(client_spec(port, short(**settings), interval_s=0.3))
    assert totals(done) == carried(done.local)
    for before, after in pairwise(done.measured):
        assert before.end_s == after.start_s
    assert done.measured[0].start_s == 0.0
    assert done.measured[-1].end_s == pytest.approx(done.local.streams[0].end_s, abs=0.05)
    sums = [0] * len(done.local.streams)
    for interval in done.measured:
        for index, row in enumerate(interval.streams):
            sums[index] += row.retransmits or 0
    assert sums == [row.retransmits or 0 for row in done.local.streams]


@pytest.mark.parametrize("direction", [{}, {"reverse": True}, {"bidir": True}], ids=str)
def test_each_end_counts_what_went_its_way(port: int, direction: dict[str, Any]) -> None:
    done = run(client_spec(port, short(parallel=2, **direction), interval_s=0))
    ways = {opened.stream: opened.sends for opened in done.all(StreamOpened)}
    assert list(ways) == [1, 3, 4, 5][: len(ways)]
    here, there = carried(done.local), carried(done.remote)
    assert here.keys() == there.keys() == ways.keys()
    for stream, sends in ways.items():
        sent, received = (here, there) if sends else (there, here)
        assert 0 < received[stream] <= sent[stream]
    for results, sender in ((done.local, True), (done.remote, False)):
        for row in results.streams:
            assert (row.retransmits is not None) == (ways[row.stream] == sender)
    assert done.local.congestion == done.remote.congestion == "cubic"


@pytest.mark.parametrize("bytes_asked", [1, 1000, 131_072, 3_000_001])
@pytest.mark.parametrize("parallel", [1, 4])
def test_a_limit_on_bytes_is_met_exactly(port: int, bytes_asked: int, parallel: int) -> None:
    test = short(total_bytes=bytes_asked, parallel=parallel)
    done = run(client_spec(port, test))
    assert done.outcome == "completed"
    assert sum(carried(done.local).values()) == bytes_asked
    assert sum(carried(done.remote).values()) == bytes_asked
    assert done.one(Agreed).parameters["time"] == 0


def test_a_limit_on_blocks_is_that_many_blocks(port: int) -> None:
    done = run(client_spec(port, short(total_blocks=77, block_bytes=5000, parallel=2)))
    assert sum(carried(done.local).values()) == 77 * 5000
    assert sum(carried(done.remote).values()) == 77 * 5000


@pytest.mark.parametrize("limit", [{"total_bytes": SOME_BYTES}, {"total_blocks": 100}], ids=str)
def test_a_limit_holds_for_what_the_server_sends(port: int, limit: dict[str, int]) -> None:
    done = run(client_spec(port, short(reverse=True, **limit)))
    asked = limit.get("total_bytes") or limit["total_blocks"] * 131_072
    assert carried(done.local) == {1: asked}
    assert carried(done.remote) == {1: asked}


def test_a_limit_counts_after_the_omitted_part(port: int) -> None:
    test = short(total_bytes=SOME_BYTES, omit_s=1, rate_bps=400_000_000)
    done = run(client_spec(port, test, interval_s=0.5))
    assert carried(done.local) == {1: SOME_BYTES}
    assert sum(i.streams[0].bytes for i in done.all(Interval) if i.omitted) > SOME_BYTES


def test_the_omitted_part_is_marked_and_left_out(port: int) -> None:
    done = run(client_spec(port, short(omit_s=1, rate_bps=40_000_000), interval_s=0.5))
    marks = [(interval.omitted, interval.start_s) for interval in done.all(Interval)]
    assert [omitted for omitted, _ in marks] == [True, True, False, False]
    assert marks[0][1] == marks[2][1] == 0.0
    assert carried(done.local)[1] == pytest.approx(5_000_000, rel=0.1)
    assert done.local.streams[0].end_s == pytest.approx(1.0, abs=0.2)


def test_no_intervals_means_one_for_the_whole_test(port: int) -> None:
    done = run(client_spec(port, short(omit_s=1), interval_s=0))
    (whole,) = done.all(Interval)
    assert not whole.omitted
    assert whole.streams[0].bytes == carried(done.local)[1]


def test_a_rate_is_kept(port: int) -> None:
    done = run(client_spec(port, short(rate_bps=40_000_000, parallel=2)))
    for count in carried(done.local).values():
        assert count == pytest.approx(5_000_000, rel=0.1)


def test_a_host_sample_tells_shares_of_a_core(port: int) -> None:
    done = run(client_spec(port, short(time_s=2), interval_s=0))
    for sample in done.all(HostSample):
        assert 0 < sample.busiest_worker_share <= sample.cpu_share + 0.05


# ---------------------------------------------------------------- stops


def test_a_stop_ends_the_test_with_both_ends_results(port: int) -> None:
    done = run(client_spec(port, short(time_s=60)), stop_after_s=0.2)
    assert done.outcome == "interrupted"
    assert totals(done) == carried(done.local)
    assert 0 < carried(done.remote)[1] <= carried(done.local)[1]


@pytest.mark.parametrize("settings", [{"time_s": 0}, {"time_s": 0, "reverse": True}], ids=str)
def test_a_test_without_an_end_runs_until_it_is_stopped(
    port: int, settings: dict[str, Any]
) -> None:
    done = run(client_spec(port, short(**settings)), stop_after_s=0.2)
    assert done.outcome == "interrupted"
    assert carried(done.local)[1] > 0
    assert carried(done.remote)[1] > 0


@pytest.mark.parametrize("kind", [RunStarted, Connected, Agreed, StreamOpened, TestStarted])
@pytest.mark.parametrize("level", [GRACEFUL, AT_ONCE])
def test_a_stop_at_any_moment_ends_the_run(port: int, kind: type[Event], level: int) -> None:
    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, kind):
            stops.request(level)

    done = run(client_spec(port, short(time_s=60, parallel=2)), watch)
    assert done.outcome == "interrupted"
    begun = bool(done.all(TestStarted))
    sides = [results.side for results in done.all(Results)]
    assert sides == (["local", "remote"] if begun and level == GRACEFUL else ["local"] * begun)
    assert run(client_spec(port, short(total_bytes=1000))).outcome == "completed"


def test_stopped_at_once_the_run_still_has_its_own_results(port: int) -> None:
    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, StreamSample):
            stops.request(AT_ONCE)

    done = run(client_spec(port, short(time_s=60)), watch)
    assert done.outcome == "interrupted"
    assert totals(done) == carried(done.local)


# ---------------------------------------------------------------- extremes


@pytest.mark.parametrize(
    "settings",
    [{"parallel": 128}, {"parallel": 128, "reverse": True}, {"parallel": 64, "bidir": True}],
    ids=str,
)
def test_128_streams(port: int, settings: dict[str, Any]) -> None:
    done = run(client_spec(port, short(total_bytes=SOME_BYTES, **settings)))
    assert done.outcome == "completed"
    assert (
        len(done.all(StreamOpened)) == len(carried(done.local)) == len(carried(done.remote)) == 128
    )
    assert totals(done) == carried(done.local)
    here = {opened.stream for opened in done.all(StreamOpened) if opened.sends}
    there = carried(done.remote).keys() - here
    sent = [
        sum(count for stream, count in carried(results).items() if stream in senders)
        for results, senders in ((done.local, here), (done.remote, there))
    ]
    assert max(sent) == SOME_BYTES


def test_a_link_local_address_with_its_interface() -> None:
    """In a network of its own, whose only interface is the one named."""
    program = """
        import json, subprocess
        from tests.engine.driving import OurServer, carried, client_spec, run, short
        from tuiperf.events import Connected

        for words in (
            "link add tp0 type veth peer name tp1",
            "link set lo up",
            "link set tp0 up",
            "link set tp1 up",
            "address add fe80::1/64 dev tp0 nodad",
        ):
            subprocess.run(["ip", *words.split()], check=True)
        with OurServer(bind_host="") as server:
            done = run(client_spec(server.port, short(total_bytes=1000), host="fe80::1%tp0"))
            there = server.next_run()
        bare = run(client_spec(server.port, host="fe80::1"))
        print(json.dumps([
            carried(done.remote)[1],
            done.one(Connected).remote_host,
            there.one(Connected).remote_host,
            bare.failure.text,
        ]))
    """
    namespaces = ["-n"] if os.geteuid() == 0 else ["-rn"]
    found = subprocess.run(
        ["unshare", *namespaces, sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert found.stderr == ""
    received, to, come_from, bare = json.loads(found.stdout)
    assert received == 1000
    assert to == come_from == "fe80::1%tp0"
    assert "name the interface it is reached by" in bare
