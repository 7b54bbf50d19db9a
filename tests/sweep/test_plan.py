"""The plan: which step comes next, that it ends, and that it keeps within time and budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweep.made import FORWARD, REVERSE, Pretended, Way, answer, kinds, swept, verdict
from tuiperf.rules.verdict import Confidence
from tuiperf.sweep.conclude import conclude
from tuiperf.sweep.experiments import baseline
from tuiperf.sweep.known import Done, Idle, Kind, Known, Limits, Mode, Reading, Step
from tuiperf.sweep.opinion import CAUSES
from tuiperf.sweep.plan import End, next_step

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
FULL = Way(verdict("path-full", HIGH), 940e6)
BASICS = ["look", "forward", "reverse"]
LOSSY = verdict("lossy", MEDIUM, kind="unknown")


def far(there: Way, here: Way = FULL) -> Pretended:
    return Pretended(there, here)


CASES: dict[str, tuple[Pretended, list[str], str]] = {
    "a full path needs no more": (far(FULL), [], "path-full"),
    "loss that stays when paced is the line's": (
        far(Way(LOSSY, 80e6, loss=0.01, paced_loss=0.01)),
        ["paced"],
        "lossy:path-loss",
    ),
    "loss that goes, and no gain with four: a limiter": (
        far(Way(LOSSY, 82e6, 1.03, loss=0.01)),
        ["paced", "parallel 4"],
        "lossy:policed",
    ),
    "the same with a queue in the round trip": (
        far(Way(LOSSY, 82e6, 1.07, loss=0.01, waited_us=1500.0)),
        ["paced", "parallel 4"],
        "lossy:shallow-queue",
    ),
    "loss too rare for pacing to show: four connections first": (
        far(Way(LOSSY, 10e6, 6.0, loss=0.0005)),
        ["parallel 4"],
        "lossy:path-loss",
    ),
    "bursts on a line: gone when paced, yet four carry more": (
        far(Way(LOSSY, 475e6, 1.9, loss=0.0001)),
        ["paced", "parallel 4"],
        "lossy:path-loss",
    ),
    "a window of each connection": (
        far(Way(verdict("window-limited", HIGH, side="receiver"), 516e6, 1.8)),
        ["parallel 4"],
        "window-limited:receiver",
    ),
    "a far sender that four connections do not quicken": (
        far(FULL, Way(verdict("window-limited", LOW, side="sender"), 100e6, 1.0)),
        ["parallel 4"],
        "offered-less",
    ),
    "a far sender's buffer": (
        far(FULL, Way(verdict("window-limited", LOW, side="sender"), 81e6, 4.0)),
        ["parallel 4"],
        "window-limited:sender",
    ),
    "slow start": (
        far(Way(verdict("still-ramping"), 340e6, longer=verdict("path-full", HIGH))),
        ["longer"],
        "path-full",
    ),
    "a full path that is not sure": (
        far(Way(verdict("path-full", MEDIUM), 94e6)),
        ["parallel 4"],
        "path-full",
    ),
    "no limit found, and all get the same": (
        far(Way(verdict("no-limit-found", LOW), 94e6)),
        ["parallel 4"],
        "path-full",
    ),
    "no limit found, and rare loss": (
        far(Way(verdict("no-limit-found", LOW), 94e6, 3.0, loss=0.0001, bbr=5.0)),
        ["parallel 4", "control"],
        "lossy:path-loss",
    ),
    "a busy core": (
        far(Way(verdict("host-limited", MEDIUM, side="sender"), 9e9, 2.0)),
        ["parallel 2"],
        "host-limited:sender",
    ),
    "reordering inferred at a receiver": (
        far(FULL, Way(verdict("reordered", MEDIUM), 282e6, late=300)),
        ["udp"],
        "reordered",
    ),
    "other traffic": (
        far(Way(verdict("unsteady", MEDIUM), 157e6)),
        ["repeat 2", "repeat 3"],
        "unsteady",
    ),
    "a queue that is deep is plain at once": (
        far(Way(verdict("bufferbloat", MEDIUM), 94e6)),
        [],
        "bufferbloat",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_cause_gets_the_experiment_that_tells_it_apart(name: str) -> None:
    path, wanted, first = CASES[name]
    known, end = swept(path)
    assert kinds(known) == [*BASICS, *wanted]
    assert end.reason == "settled"
    found = conclude(known).first
    identity, _, qualifier = first.partition(":")
    assert found.id == identity
    assert not qualifier or qualifier in dict(found.qualifier).values()


def test_a_black_hole_is_tried_with_small_segments_before_anything_else() -> None:
    way = Way(verdict("mtu-blackhole"), 0.0, small_passes=True)
    known, _ = swept(Pretended(way, way))
    assert kinds(known) == ["look", "forward", "mss", "reverse", "mss"]
    assert {each.id for each in conclude(known).verdicts} == {"mtu-blackhole"}
    assert conclude(known).first.confidence is HIGH


def test_data_that_never_passes_is_no_matter_of_packet_size() -> None:
    way = Way(verdict("cannot-tell"), 0.0)
    known, _ = swept(Pretended(way, way))
    assert conclude(known).first.id == "data-blocked"


def test_collisions_show_when_both_send() -> None:
    lossy = Way(LOSSY, 40e6, 1.1, loss=0.019, paced_loss=0.0001)
    full = Way(verdict("path-full", HIGH), 94e6)
    known, _ = swept(Pretended(lossy, full, beside=(0.5, 0.25), rtt_us=2000.0))
    assert kinds(known)[-1] == "both ways"
    assert conclude(known).first.id == "duplex-mismatch"
    known, _ = swept(Pretended(lossy, full, rtt_us=2000.0))
    assert dict(conclude(known).first.qualifier)["kind"] == "policed"


def test_a_shared_medium_shows_when_both_send() -> None:
    full = Way(verdict("path-full", HIGH), 46e6)
    known, _ = swept(Pretended(full, full, beside=(0.53, 0.46), rtt_us=4000.0))
    assert kinds(known)[-1] == "both ways"
    assert conclude(known).first.id == "shared-medium"
    known, _ = swept(Pretended(full, full, beside=(0.97, 0.96), rtt_us=4000.0))
    assert conclude(known).first.id == "path-full"


def test_one_experiment_speaks_for_both_directions_with_one_cause() -> None:
    way = Way(verdict("window-limited", HIGH, side="receiver"), 516e6, 1.8)
    known, _ = swept(Pretended(way, way))
    assert kinds(known) == [*BASICS, "parallel 4"]
    assert conclude(known).settled


def test_a_thorough_sweep_runs_more_and_finds_the_best_number_of_connections() -> None:
    way = Way(verdict("window-limited", HIGH, side="receiver"), 200e6, 4.0)
    known, end = swept(Pretended(way, FULL), Limits.of(Mode.THOROUGH))
    assert {"parallel 2", "parallel 4", "parallel 8", "window", "udp", "both ways"} <= set(
        kinds(known)
    )
    assert "parallel 16" not in kinds(known)  # 8 carried no more than 4
    assert conclude(known).best[0].streams == 4
    assert end.reason in ("settled", "time")


def test_more_certainty_adds_steps() -> None:
    known, _ = swept(far(FULL), wishes=1)
    assert kinds(known)[:3] == BASICS
    assert len(known.done) > 3


def test_nothing_is_sent_after_the_server_was_not_there() -> None:
    def refuse(step: Step) -> Done:
        outcome = "done" if step.kind is Kind.LOOK else "failed"
        return Done(step, outcome, problem="unable to connect", code=103)

    known, end = swept(refuse)
    assert kinds(known) == ["look", "forward"]
    assert end == End("unreachable", "unable to connect", 10)
    assert conclude(known).code == 3


def test_a_step_that_fails_does_not_lose_the_others() -> None:
    path = far(Way(LOSSY, 82e6, 1.03, loss=0.01))

    def half(step: Step) -> Done:
        if step.kind is Kind.REVERSE:
            return Done(step, "failed", problem="the server is gone", code=109)
        return answer(path, step)

    known, _ = swept(half)
    assert "paced" in kinds(known)
    assert conclude(known).first.id == "lossy"


def test_cubic_that_is_not_there_is_replaced_by_the_hosts_own() -> None:
    def refuse(step: Step) -> Done:
        if step.test is not None and step.test.congestion == "cubic":
            return Done(step, "failed", problem="not supported", code=134)
        return answer(far(FULL), step)

    known, _ = swept(refuse)
    assert kinds(known) == ["look", "forward", "forward own control", "reverse own control"]


def test_interrupted_or_accepted_it_ends_with_what_is_known() -> None:
    assert next_step(Known(interrupted=True)) == End(
        "interrupted", "interrupted; this is what was known by then", 12
    )
    step = next_step(Known(accepted=True))
    assert isinstance(step, End) and step.reason == "accepted"


def test_what_a_rate_limit_allows_is_never_exceeded() -> None:
    limits = Limits.of(Mode.THOROUGH, max_rate_bps=20_000_000)
    known, _ = swept(far(Way(LOSSY, 82e6, 1.03, loss=0.01)), limits)
    for each in known.done:
        test = each.step.test
        if test is not None and test.udp:
            assert test.rate_bps <= 20_000_000
        elif test is not None:
            assert 0 < test.fq_rate_bps * test.parallel <= 20_000_000


def test_datagrams_never_exceed_what_tcp_reached() -> None:
    known, _ = swept(far(FULL), Limits.of(Mode.THOROUGH))
    rates = [
        each.step.test.rate_bps
        for each in known.done
        if each.step.kind is Kind.UDP and each.step.test
    ]
    assert rates
    assert max(rates) <= 940e6


readings = st.builds(
    Reading,
    way=st.just(FORWARD),
    verdicts=st.builds(
        lambda name, sure, side: (verdict(name, sure, side=side),),
        st.sampled_from([*CAUSES, "mtu-blackhole", "new-one"]),
        st.sampled_from(list(Confidence)),
        st.sampled_from(["sender", "receiver"]),
    ),
    goodput_bps=st.one_of(st.none(), st.floats(0, 40e9)),
    min_rtt_us=st.one_of(st.none(), st.floats(10, 600_000)),
    rtt_us=st.one_of(st.none(), st.floats(10, 900_000)),
    lost_share=st.one_of(st.none(), st.floats(0, 1)),
    lost_packets=st.one_of(st.none(), st.integers(0, 10_000)),
    late_packets=st.one_of(st.none(), st.integers(0, 100)),
    delivered_any=st.booleans(),
    same_host=st.booleans(),
)
limits_made = st.builds(
    Limits.of,
    st.sampled_from(list(Mode)),
    st.sampled_from([0, 1_000_000, 500_000_000]),
    st.sampled_from([0, 200_000_000]),
)


@settings(max_examples=300, deadline=None)
@given(st.data(), limits_made, st.integers(0, 2))
def test_any_sweep_ends_repeats_nothing_and_keeps_its_limits(
    data: st.DataObject, limits: Limits, wishes: int
) -> None:
    def any_answer(step: Step) -> Done:
        outcome = data.draw(st.sampled_from(["done", "done", "done", "failed", "skipped"]))
        if outcome != "done" or step.test is None:
            code = data.draw(st.sampled_from([0, 103, 134]))
            return Done(step, outcome, code=code, lasted_s=step.seconds)
        ways = (FORWARD, REVERSE) if step.test.bidir else (step.way,)
        found = tuple(replace(data.draw(readings), way=way) for way in ways)
        most = step.most_bytes if limits.budget_bytes else 10**9
        carried = data.draw(st.integers(0, most or 0))
        return Done(step, outcome, found, carried, step.seconds)

    known, _ = swept(any_answer, limits, wishes=wishes)
    keys = [each.step.key for each in known.done]
    assert len(keys) == len(set(keys))
    if limits.budget_bytes:
        assert known.carried_bytes <= limits.budget_bytes
    spent_s, carried = 0.0, 0
    for each in known.done:
        if carried and each.step.kind is not Kind.LOOK:
            assert spent_s + each.step.seconds <= limits.time_s
        spent_s, carried = spent_s + each.lasted_s, carried + each.carried_bytes
    assert conclude(known).verdicts


def test_jitter_that_no_idle_round_trip_shows_is_the_loads() -> None:
    told = (verdict("jitter"), verdict("path-full", HIGH))
    base = answer(far(FULL), baseline(Known(), FORWARD))
    first = replace(base.readings[0], verdicts=told)
    known = Known("lab-b", idle=far(FULL).idle, done=(replace(base, readings=(first,)),))
    assert conclude(known).first.id == "path-full"
    varies = Idle("10.0.0.2", rtts_us=(20_000, 26_000, 34_000, 21_000, 29_000))
    assert conclude(replace(known, idle=varies)).first.id == "jitter"
