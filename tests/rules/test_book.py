from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules import recordings, steady
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.engine.tcp_info import FIELDS
from tuiperf.rules.book import diagnosis, judge
from tuiperf.rules.facts import derive
from tuiperf.rules.pace import too_early
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Session, reduce

TITLE_CELLS, SHORT_CELLS = 18, 24


def fits_its_panel(verdict: Verdict) -> bool:
    return len(verdict.title) <= TITLE_CELLS and len(verdict.short) <= SHORT_CELLS


def test_before_any_data_it_waits() -> None:
    (verdict,) = judge(Session())
    assert (verdict.id, verdict.level) == ("cannot-tell", Level.PENDING)
    assert verdict.short == "waits for data"


def test_a_run_without_data_cannot_be_told() -> None:
    session = reduce(Session(), ev.Failed(0.1, 103, "refused"))
    (verdict,) = judge(session)
    assert verdict.short == "no data was seen"


def test_too_early_says_how_many_seconds_more() -> None:
    (verdict,) = judge(steady.session(1.5))
    assert verdict.id == "cannot-tell"
    assert verdict.short == "needs 2 more seconds"


def test_a_test_too_short_says_how_long_it_should_be() -> None:
    (verdict,) = judge(steady.session(2.0, over=True))
    assert verdict.short == "needs a longer test"
    assert verdict.next == ("run it again with -t 4",)


def test_what_was_seen_is_never_rounded_up_to_what_is_needed() -> None:
    (facts,) = derive(steady.session(2.0, over=True, min_rtt_us=1))
    verdict = too_early(replace(facts, steady_s=1.97))
    assert verdict is not None
    assert verdict.because == ("1.9 s of steady data; 2.0 s are needed at 0.001 ms of RTT",)


def test_a_long_path_needs_longer() -> None:
    # 20 RTTs of 200 ms are 4 s, after a warm-up of 15 RTTs
    (verdict,) = judge(steady.session(5.0, min_rtt_us=200_000, rtt_us=200_000))
    assert verdict.short == "needs 3 more seconds"


def test_what_is_asked_and_carried_is_no_limit() -> None:
    (verdict,) = judge(steady.session(rate_bps=100e6, test={"rate_bps": 100_000_000}))
    assert (verdict.id, verdict.level) == ("offered-less", Level.FINE)


def test_a_full_path() -> None:
    session = steady.session(rate_bps=94.1e6, rtt_us=80_000, unacked_packets=5_000)
    (verdict,) = judge(session)
    assert verdict.id == "path-full"
    # 94.1 Mbit/s for 40 ms more than the minimum
    assert "about 470 KB wait in a queue" in verdict.because[0]


def test_nothing_delivered() -> None:
    session = steady.session(rate_bps=0.0, growing={"total_rto_events": 1.0})
    (verdict,) = judge(session)
    assert (verdict.id, verdict.level) == ("mtu-blackhole", Level.FAULT)
    assert "-M 1200" in verdict.next[0]


def test_loopback_is_told_as_such() -> None:
    (verdict,) = judge(steady.session(local_host="10.0.0.2"))
    assert verdict.id == "no-limit-found"
    assert verdict.claim == (
        "here → far: 500 Mbit/s is what this host's CPU and memory carry; no network is measured."
    )


def test_a_rising_rate_is_no_limit() -> None:
    session = Session()
    made = steady.session(0.0)
    assert made.run is not None and made.connection is not None
    for event in (made.run, made.connection, ev.Agreed(0.0, TestSpec().to_parameters("x"))):
        reduce(session, event)
    reduce(session, next(iter(made.streams.values())).opened)
    for tick in range(61):
        at_s = tick / 10
        tcp = {"min_rtt_us": 40_000, "rtt_us": 40_000, "bytes_acked_bytes": int(1e6 * at_s**3)}
        reduce(session, ev.StreamSample(at_s, tick, at_s, 1, True, 0, None, tcp))
    (verdict,) = judge(session)
    assert (verdict.id, verdict.level) == ("still-ramping", Level.PENDING)


def test_both_directions_are_judged_and_the_worse_comes_first() -> None:
    session = steady.session(8.0, rate_bps=94.1e6, rtt_us=80_000)
    reduce(session, ev.StreamOpened(0.0, 9, 6, False, "10.0.0.1", 40009, "10.0.0.2", 5201))
    for tick in range(81):
        at_s = tick / 10
        tcp = {
            "min_rtt_us": 40_000,
            "rcv_rtt_us": 40_000,
            "rcv_ssthresh_bytes": 500_000,
            "rcv_ooopack_packets": 0,
        }
        carried = int(96e6 * at_s / 8)
        reduce(session, ev.StreamSample(at_s, 100 + tick, at_s, 9, False, carried, 0, tcp))
    verdicts = judge(session)
    assert [verdict.id for verdict in verdicts] == ["window-limited", "path-full"]
    assert dict(verdicts[0].qualifier) == {"direction": "reverse", "side": "receiver"}
    assert dict(verdicts[1].qualifier) == {"direction": "forward"}


def test_the_json_form() -> None:
    told = diagnosis(steady.session(**steady.window_full()))
    (verdict,) = json.loads(json.dumps(told))["verdicts"]
    assert verdict["id"] == "window-limited"
    assert verdict["side"] == "receiver"
    assert list(verdict)[:4] == ["id", "side", "level", "confidence"]


def test_every_verdict_of_every_recording_fits_its_panel() -> None:
    for run in recordings.carried():
        for verdict in judge(recordings.session_of(run)):
            assert fits_its_panel(verdict), verdict
            assert verdict.claim.endswith(".")


COUNTERS = st.one_of(
    st.none(), st.integers(0, 100), st.integers(0, 2**32), st.integers(0, 2**64 - 1)
)
TCP = st.one_of(
    st.none(),
    st.dictionaries(st.sampled_from([field.name for field in FIELDS]), COUNTERS, max_size=60),
)
TESTS: st.SearchStrategy[TestSpec] = st.builds(
    TestSpec,
    omit_s=st.integers(0, 3),
    parallel=st.integers(1, 3),
    reverse=st.booleans(),
    window_bytes=st.sampled_from([0, 1, 65_536, 400 * 1024, 512 << 20]),
    rate_bps=st.sampled_from([0, 1, 10**6, 2**62]),
    fq_rate_bps=st.sampled_from([0, 1, 10**9]),
    congestion=st.sampled_from(["", "cubic", "bbr", "x" * 20]),
)


@st.composite
def any_run(draw: st.DrawFn) -> list[ev.Event]:
    test = draw(TESTS)
    host = draw(st.sampled_from(["10.0.0.2", "10.0.0.9"]))
    events: list[ev.Event] = [
        ev.RunStarted(0.0, "r", "client", "t", "", 0.0, ClientSpec("far", test=test).to_json()),
        ev.Connected(0.0, "10.0.0.2", 1, host, 5201, "", draw(st.none() | st.integers(0, 10**7))),
        ev.Agreed(0.0, test.to_parameters("t")),
    ]
    sends = {number: draw(st.booleans()) for number in range(draw(st.integers(0, 3)))}
    for number, each in sends.items():
        events.append(ev.StreamOpened(0.0, number, 5, each, "a", 1, "b", 2))
    at_s = 0.0
    for tick in range(draw(st.integers(0, 40))):
        at_s += draw(st.sampled_from([0.0, 1e-9, 0.1, 0.1, 0.5, 1000.0]))
        for number, each in sends.items():
            tcp: Any = draw(TCP)
            count = draw(st.integers(0, 2**63))
            unread = draw(st.none() | st.integers(0, 2**31))
            events.append(ev.StreamSample(at_s, tick, at_s, number, each, count, unread, tcp))
    share = draw(st.floats(0, 10))
    events.append(ev.HostSample(at_s, at_s, share, share, draw(st.none() | st.floats(0, 10))))
    if draw(st.booleans()):
        rows = tuple(
            ev.StreamResult(number, draw(st.integers(0, 2**63)), draw(st.none() | st.integers(0)))
            for number in sends
        )
        for side in ("local", "remote"):
            events.append(ev.Results(at_s, side, test.congestion or None, share, 0, 0, 1, rows))
    return events


@given(any_run())
@settings(deadline=None, max_examples=150)
def test_any_run_is_judged(events: list[ev.Event]) -> None:
    session = Session()
    for event in events:
        reduce(session, event)
    verdicts = judge(session)
    assert verdicts
    for verdict in verdicts:
        assert fits_its_panel(verdict), verdict
        assert verdict.claim and verdict.id
    json.dumps(diagnosis(session), allow_nan=False)
