"""Paths with one known fault, as measured: the first verdict is right, or it is no claim."""

from __future__ import annotations

import pytest

from tests.rules import recordings
from tests.rules.recordings import Recording
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Confidence, Level, Verdict

RUNS = recordings.carried()

RIGHT: dict[str, tuple[str, ...]] = {
    "path-limited (healthy)": ("path-full", "line-rate"),
    "path-limited at a 100 Mbit/s link": ("slow-hop", "path-full"),
    "path-limited, ECN": ("ecn-marked",),
    "path-limited, bufferbloat": ("bufferbloat",),
    "path-limited, shallow queue": ("lossy",),
    "receive-window-limited": ("window-limited:receiver",),
    "send-buffer-limited": ("window-limited:sender",),
    "receiver-application-limited": ("slow-reader",),
    "application-limited": ("offered-less",),
    "CPU-limited": ("host-limited",),
    "lossy": ("lossy",),
    "policer": ("lossy",),
    "outages": ("outage",),
    "duplex mismatch": ("duplex-mismatch", "lossy"),  # without the link's own facts they are one
    "shared medium": ("shared-medium", "bufferbloat", "path-full"),  # one way of it is a full path
    "reordering": ("reordered",),
    "duplication": ("duplicated",),
    "variable delay": ("jitter", "path-full"),  # a flow that never pauses sees the longest delay
    "competing traffic": ("unsteady",),
    "slow-start-dominated": ("still-ramping", "cannot-tell"),
    "PMTU black hole": ("mtu-blackhole",),
    "iperf3 refuses the window": ("cannot-tell",),
    "UDP below capacity": ("offered-less",),
    "UDP above capacity": ("udp-loss",),
    "UDP lossy": ("udp-loss",),
    "UDP reordering": ("offered-less",),  # nothing is lost; the order stands in its reasons
}

# What was done to the path is there, but another limit is the true one of this run.
OTHER_LIMIT = {
    "a3b_w400K_clamped": "window-limited:either",
    "b3_ge_burst.snd.bbr": "window-limited:sender",  # BBR ignores 0.006 %; its buffer was full
    "b4_loss01_lan.snd.bbr": "line-rate",  # BBR carries 941 of 941 Mbit/s
    "b4_loss01_lan.rcv.bbr": "line-rate",
    "f2_bloat.snd.bbr": "path-full",  # BBR keeps the deep queue empty
    "f2_bloat.rcv.bbr": "path-full",
    "x1_P4_loss01.snd.bbr": "path-full",  # four BBR streams carry 937 Mbit/s
    "x2_udp120_policer": "udp-loss",
    "x2_udp40_duplex": "udp-loss",
    "x2_udp5_loss01": "udp-loss",
    "x2_udp80_policer": "offered-less",
    "x4_omit_200ms": "line-rate",  # with the slow start left out
    "x5_mss1200": "path-full",  # -M 1200 passes
    "x7_b80": "offered-less",  # asked for 80 % of what the path carries, and got it
    "x7_fq80_duplex": "offered-less",
    "x7_fq80_loss01": "offered-less",
    "x7_fq80_loss1lan.snd.bbr": "offered-less",
    "x7_fq80_policer": "offered-less",
    "x7_fq80_shallow": "offered-less",
}

# Not told; each names nothing that is not so.
UNTOLD = {
    "b3_ge_burst.rcv.bbr.0",  # a few bursts that BBR ignores, seen from the receiver
    "e5_cpu_samecore.snd.bbr.0",  # both ends' CPU shares are small: they wait for each other
    "h1_duplex_mismatch.rcv.bbr.0",  # losses in a full queue, and BBR does not mind
}
SHARE_RIGHT = 0.98


def named(run: Recording) -> str:
    return run.name


def first(run: Recording) -> Verdict:
    return judge(recordings.session_of(run))[0]


def wanted(run: Recording) -> tuple[str, ...]:
    for name, verdict in OTHER_LIMIT.items():
        if run.name.startswith(name):
            return (verdict,)
    return RIGHT[run.truth]


def is_right(run: Recording, verdict: Verdict) -> bool:
    told = {verdict.id, *(f"{verdict.id}:{value}" for _, value in verdict.qualifier)}
    return bool(told & set(wanted(run)))


def test_all_runs_are_there() -> None:
    assert len(RUNS) == 193
    assert {run.data["cc"] for run in RUNS} == {"cubic", "bbr", "udp"}
    assert {run.data["view"] for run in RUNS} == {"snd", "rcv"}


@pytest.mark.parametrize("run", [r for r in RUNS if r.name not in UNTOLD], ids=named)
def test_the_first_verdict_is_right(run: Recording) -> None:
    verdict = first(run)
    assert is_right(run, verdict), (verdict.id, verdict.qualifier, verdict.claim)


@pytest.mark.parametrize("run", [r for r in RUNS if r.name in UNTOLD], ids=named)
def test_what_cannot_be_told_is_not_called_something_else(run: Recording) -> None:
    assert first(run).id in ("no-limit-found", "cannot-tell", "path-full")


def test_nearly_all_are_told() -> None:
    right = sum(is_right(run, first(run)) for run in RUNS)
    assert right / len(RUNS) >= SHARE_RIGHT


@pytest.mark.parametrize("run", [r for r in RUNS if r.truth in RIGHT], ids=named)
def test_path_loss_is_never_said_of_a_limiter_or_a_short_queue(run: Recording) -> None:
    kind = dict(first(run).qualifier).get("kind")
    assert kind != "path-loss" or run.truth == "lossy"


@pytest.mark.parametrize("run", [r for r in RUNS if "lossy" in wanted(r)], ids=named)
def test_loss_has_its_direction(run: Recording) -> None:
    verdict = first(run)
    direction = "forward" if run.here_sends else "reverse"
    assert verdict.id != "lossy" or dict(verdict.qualifier)["direction"] == direction


@pytest.mark.parametrize("run", [r for r in RUNS if r.truth == "send-buffer-limited"], ids=named)
def test_a_far_send_buffer_is_only_inferred(run: Recording) -> None:
    inferred = not run.here_sends and "-w" not in run.data["args"]
    assert (first(run).confidence is Confidence.LOW) == inferred


@pytest.mark.parametrize("run", [r for r in RUNS if "healthy" in r.truth], ids=named)
def test_healthy_paths_are_no_fault(run: Recording) -> None:
    assert first(run).level is Level.FINE
