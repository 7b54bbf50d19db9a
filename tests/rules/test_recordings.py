"""Paths with one known fault, as measured: the first verdict is right, or it is no claim."""

from __future__ import annotations

import pytest

from tests.rules import recordings
from tests.rules.recordings import Recording
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Confidence, Level, Verdict

RUNS = recordings.carried()
CLAIMS = {"window-limited", "lossy"}

SIDE = {"receive-window-limited": "receiver", "send-buffer-limited": "sender"}
LOSS = {"lossy", "policer", "path-limited, shallow queue"}
LOSES_TOO = {"duplex mismatch"}  # its collisions are losses; the finer name is not known yet

# What was done to the path is true here, but something else set the speed.
OTHER_LIMIT = {
    "b3_ge_burst.snd.bbr.0": "window-limited",  # BBR ignores 0.006 %; its send buffer was full
    "b3_ge_burst.rcv.bbr.0": "no-limit-found",  # as above, seen from the receiver
    "b4_loss01_lan.snd.bbr.0": "path-full",  # BBR carries 941 of 941 Mbit/s
    "b4_loss01_lan.rcv.bbr.0": "path-full",
    "x1_P4_loss01.snd.bbr.0": "path-full",  # four BBR streams carry 937 Mbit/s
}


def named(run: Recording) -> str:
    return run.name


def first(run: Recording) -> Verdict:
    return judge(recordings.session_of(run))[0]


def test_all_runs_are_there() -> None:
    assert len(RUNS) == 159
    assert {run.data["cc"] for run in RUNS} == {"cubic", "bbr"}
    assert {run.data["view"] for run in RUNS} == {"snd", "rcv"}


@pytest.mark.parametrize("run", [r for r in RUNS if r.truth in SIDE], ids=named)
def test_a_window_is_found_and_its_side(run: Recording) -> None:
    verdict = first(run)
    side = "either" if "-w" in run.data["args"] else SIDE[run.truth]
    assert verdict.id == "window-limited"
    assert dict(verdict.qualifier)["side"] == side
    inferred = side == "sender" and not run.here_sends
    assert (verdict.confidence is Confidence.LOW) == inferred


@pytest.mark.parametrize("run", [r for r in RUNS if r.truth in LOSS], ids=named)
def test_loss_is_found_and_its_direction(run: Recording) -> None:
    verdict = first(run)
    if run.name in OTHER_LIMIT:
        assert verdict.id == OTHER_LIMIT[run.name]
    elif verdict.id == "offered-less":
        assert {"-b", "--fq-rate"} & set(run.data["args"])
    else:
        assert verdict.id == "lossy"
        direction = "forward" if run.here_sends else "reverse"
        assert dict(verdict.qualifier)["direction"] == direction


@pytest.mark.parametrize("run", [r for r in RUNS if r.truth in LOSS], ids=named)
def test_path_loss_is_never_said_of_a_limiter_or_a_short_queue(run: Recording) -> None:
    kind = dict(first(run).qualifier).get("kind")
    assert kind != "path-loss" or run.truth == "lossy"


@pytest.mark.parametrize(
    "run", [r for r in RUNS if r.truth not in {*SIDE, *LOSS, *LOSES_TOO}], ids=named
)
def test_no_false_alarm_anywhere_else(run: Recording) -> None:
    assert first(run).id not in CLAIMS


@pytest.mark.parametrize("run", [r for r in RUNS if "healthy" in r.truth], ids=named)
def test_healthy_paths_are_no_fault(run: Recording) -> None:
    verdict = first(run)
    assert verdict.id in ("path-full", "no-limit-found")
    assert verdict.level is Level.FINE
