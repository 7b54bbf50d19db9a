"""Two runs side by side: what is noise, what is more, and which settings differ."""

from __future__ import annotations

import random

import pytest

from tests import made
from tuiperf.rules.compare import compare, judged
from tuiperf.session import Session


def ran(path: made.Path | None = None, **test: object) -> Session:
    return made.session_of(made.run(made.spec("lab-b", **{"time_s": 12, **test}), path))


def noisy(mean: float, count: int, seed: int, spread: float = 10.0) -> list[float]:
    source = random.Random(seed)
    return [source.gauss(mean, spread) for _ in range(count)]


def test_equal_runs_do_not_differ() -> None:
    found = compare(ran(), ran())
    assert [each.name for each in found.changes] == ["Goodput", "RTT under load", "Retransmits"]
    assert all(each.beyond is False for each in found.changes)
    assert found.differing == ()


def test_a_small_window_is_beyond_the_noise_and_named() -> None:
    found = compare(ran(), ran(made.Path(window_bytes=262_144), window_bytes=262_144))
    goodput = found.changes[0]
    assert goodput.beyond
    assert goodput.better == "A"
    assert goodput.share is not None
    assert -0.9 < goodput.share < -0.7
    assert [each.name for each in found.differing] == ["window"]


def test_chance_is_called_a_change_about_one_time_in_twenty() -> None:
    called = [
        judged("x", "", noisy(100, 12, seed), noisy(100, 12, seed + 5000)).beyond
        for seed in range(400)
    ]
    assert 4 <= called.count(True) <= 40


def test_a_change_five_times_the_scatter_of_means_is_found() -> None:
    found = [
        judged("x", "", noisy(100, 12, seed), noisy(120, 12, seed + 5000)) for seed in range(100)
    ]
    assert sum(each.beyond is True for each in found) >= 85
    assert {each.better for each in found if each.beyond} == {"B"}


def test_neighbours_that_are_alike_count_for_less() -> None:
    steps = [100.0, 100.0, 100.0, 110.0, 110.0, 110.0] * 2
    mixed = [100.0, 110.0] * 6
    alike, free = judged("x", "", steps, steps), judged("x", "", mixed, mixed)
    assert alike.noise is not None
    assert free.noise is not None
    assert alike.noise > 1.3 * free.noise


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_intervals_tell_nothing(count: int) -> None:
    change = judged("x", "", [1.0] * count, [2.0] * 10)
    assert change.beyond is None
    assert change.noise is None


def test_less_than_one_percent_is_no_change_however_sure() -> None:
    assert judged("x", "", [1000.0, 1000.1] * 6, [1005.0, 1005.1] * 6).beyond is False
    assert judged("x", "", [1000.0, 1000.1] * 6, [1015.0, 1015.1] * 6).beyond is True
    assert judged("x", "ms", [10.0] * 9, [20.0] * 9, more_is_better=False).better == "A"


def test_the_same_numbers_always_give_the_same() -> None:
    assert compare(Session(), Session()).changes == ()
    assert compare(ran(), ran(reverse=True)).changes == ()
