"""The grid as it was recorded: no lab, only the rules."""

from __future__ import annotations

import re

import pytest

from tests.accuracy import record
from tests.accuracy.__main__ import carried, outcome
from tests.accuracy.cases import HEALTHY
from tests.accuracy.scoring import Outcome, misses, score
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Level


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [outcome(case, run) for case, run in carried()]


def half(outcomes: list[Outcome], for_choosing: bool) -> list[Outcome]:
    return [each for each in outcomes if each.case.for_choosing is for_choosing]


def test_both_halves_are_large(outcomes: list[Outcome]) -> None:
    assert len(half(outcomes, True)) >= 300
    assert len(half(outcomes, False)) >= 300


@pytest.mark.parametrize(
    ("for_choosing", "least"), [(True, 0.97), (False, 0.92)], ids=["choosing", "other"]
)
def test_first_verdicts_of_each_half(
    outcomes: list[Outcome], for_choosing: bool, least: float
) -> None:
    found = score(half(outcomes, for_choosing))
    assert found.right >= least, misses(half(outcomes, for_choosing))
    assert found.wrong <= 0.01, misses(half(outcomes, for_choosing))


def test_healthy_paths_give_few_alarms(outcomes: list[Outcome]) -> None:
    found = score([each for each in outcomes if each.case.cause in HEALTHY])
    assert found.healthy >= 50
    assert found.false_alarms <= 0.01, misses(outcomes)


def test_a_record_reads_back_as_it_was_written() -> None:
    first = next(iter(carried()))[1]
    assert record.unpack(record.pack(first)) == first


def comes_back(run: record.Record) -> bool:
    """A first verdict, live four times a second, that gives way and returns."""
    told: list[str] = []
    for session in record.prefixes(run):
        verdict = judge(session)[0]
        if verdict.level is not Level.PENDING and (not told or told[-1] != verdict.id):
            told.append(verdict.id)
    return len(told) != len(set(told))


def test_live_verdicts_do_not_flap() -> None:
    runs = [run for _, run in carried("profiles")]
    flapping = [run.name for run in runs if comes_back(run)]
    assert len(flapping) <= 0.04 * len(runs), flapping


KINDS = {
    "path-loss": {"lossy", "bursty-loss", "lossy-reverse", "duplex-mismatch", "collisions"},
    "policed": {"policed"},
    "shallow-queue": {"shallow-queue"},
}


def test_a_kind_of_loss_is_said_only_where_it_is_so(outcomes: list[Outcome]) -> None:
    kinds = [(dict(o.first.qualifier).get("kind"), o.case) for o in outcomes]
    told = [(kind, case) for kind, case in kinds if kind in KINDS]
    assert {kind for kind, _ in told} == set(KINDS)
    wrong = [(kind, case.name) for kind, case in told if case.cause not in KINDS[str(kind)]]
    assert len(wrong) <= 0.02 * len(told), wrong


def test_after_the_end_nothing_is_said_to_be_known_later(outcomes: list[Outcome]) -> None:
    told = [verdict for each in outcomes for verdict in each.verdicts]
    words = [f"{v.title} {v.short} {v.claim} {' '.join(v.because)}" for v in told]
    late = [text for text in words if re.search(r"tell yet|reached yet|so far|data to judge", text)]
    assert not late


def test_a_rate_that_is_not_the_whole_runs_is_explained(outcomes: list[Outcome]) -> None:
    told = [v for each in outcomes for v in each.verdicts if v.id == "path-full"]
    explained = [v for v in told if any("the whole run's is" in line for line in v.because)]
    assert 0.1 * len(told) < len(explained) < len(told)
