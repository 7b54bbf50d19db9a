"""The grid as it was recorded: no lab, only the rules."""

from __future__ import annotations

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


@pytest.mark.parametrize("for_choosing", [True, False], ids=["choosing", "other"])
def test_first_verdicts_of_each_half(outcomes: list[Outcome], for_choosing: bool) -> None:
    found = score(half(outcomes, for_choosing))
    assert found.right >= 0.9, misses(half(outcomes, for_choosing))
    assert found.wrong <= 0.02, misses(half(outcomes, for_choosing))


def test_healthy_paths_give_few_alarms(outcomes: list[Outcome]) -> None:
    found = score([each for each in outcomes if each.case.cause in HEALTHY])
    assert found.healthy >= 50
    assert found.false_alarms <= 0.05, misses(outcomes)


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
