"""Verdicts appear early, and stay: every recording judged four times a second as it grows."""

from __future__ import annotations

import pytest

from tests.rules import recordings
from tests.rules.recordings import Recording
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Level

RUNS = recordings.carried()

# The path itself changed under these: first what was true, then what became true.
CHANGES = {
    "b3_ge_burst.snd.cubic.0": ["window-limited", "lossy"],  # the first burst came at 6 s
    "x7_fq80_ge.snd.cubic.0": ["offered-less", "lossy"],  # likewise
    "k_competing.rcv.cubic.0": ["path-full", "unsteady"],  # the other flow came at 2.5 s
    "k_competing.rcv.bbr.0": ["path-full", "unsteady"],
    "k_competing.snd.cubic.0": ["path-full", "unsteady"],
    "k_competing.snd.bbr.0": ["path-full", "unsteady"],
    # With the end came the far sender's count of retransmissions, and our kernel's of duplicates.
    "h1_duplex_mismatch.rcv.bbr.0": ["path-full", "no-limit-found"],
    "i1_reorder.rcv.bbr.0": ["path-full", "reordered"],
    "i2_reorder_deep.rcv.bbr.0": ["path-full", "reordered"],
    "i3_dup.rcv.bbr.0": ["path-full", "duplicated"],
    "i3_dup.rcv.cubic.0": ["path-full", "duplicated"],
    "m_ecn.rcv.bbr.0": ["path-full", "ecn-marked"],
}

REFINED = [["path-full", "line-rate"], ["path-full", "slow-hop"]]
"""The finer name of the same finding, once it is sure."""

CLEAR = ("a1_", "a1s_", "a3b_", "c_", "c2_", "d_", "b_loss01_data.snd", "b2_loss1_data.snd")
KNOWN_BY_S = 5.0


def story(run: Recording) -> list[tuple[float, str]]:
    """When each first verdict that is no "not yet" appeared."""
    told: list[tuple[float, str]] = []
    for session in recordings.prefixes(run):
        verdict = judge(session)[0]
        if verdict.level is not Level.PENDING and (not told or told[-1][1] != verdict.id):
            told.append((session.test_s, verdict.id))
    return told


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_verdict_once_given_stays(run: Recording) -> None:
    ids = [name for _, name in story(run)]
    assert len(ids) <= 1 or ids in REFINED or ids == CHANGES.get(run.name)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_what_was_known_does_not_become_unknown(run: Recording) -> None:
    seen = [judge(session)[0] for session in recordings.prefixes(run)]
    known = [verdict.level is not Level.PENDING for verdict in seen]
    if run.name not in CHANGES:
        assert known == sorted(known)


@pytest.mark.parametrize(
    "run", [r for r in RUNS if r.name.startswith(CLEAR)], ids=lambda run: run.name
)
def test_clear_cases_are_known_within_five_seconds(run: Recording) -> None:
    assert story(run)[0][0] <= KNOWN_BY_S


def test_judging_changes_nothing() -> None:
    session = recordings.session_of(RUNS[0])
    assert judge(session) == judge(session)
