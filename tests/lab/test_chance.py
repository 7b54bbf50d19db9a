"""Draws of chance: the right share, the right bursts, the same whatever the cut."""

from __future__ import annotations

import itertools
import random

import pytest

from tuiperf.lab.chance import Bursty, Independent

COUNT = 200_000


def places(model: Independent | Bursty, sizes: list[int]) -> list[int]:
    found, at = [], 0
    for size in sizes:
        found += [at + place for place in model.picks(size)]
        at += size
    return found


@pytest.mark.parametrize("share", [0.001, 0.05, 0.5])
def test_each_segment_is_picked_with_the_share_that_was_asked(share: float) -> None:
    picked = places(Independent(share, random.Random(1)), [45] * (COUNT // 45))
    deviation = (COUNT * share * (1 - share)) ** 0.5
    assert abs(len(picked) - COUNT * share) < 4 * deviation
    assert picked == sorted(set(picked))


def test_nothing_and_everything_are_shares_too() -> None:
    assert not places(Independent(0.0, random.Random(1)), [1000])
    assert places(Independent(1.0, random.Random(1)), [3, 2]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("make", [Independent, Bursty])
def test_the_picks_do_not_depend_on_how_segments_come_together(make: type) -> None:
    def model() -> Independent | Bursty:
        rng = random.Random(7)
        return Bursty(0.02, 3, rng) if make is Bursty else Independent(0.02, rng)

    one_by_one = places(model(), [1] * 5000)
    assert places(model(), [45] * 111 + [5]) == one_by_one
    assert places(model(), [5000]) == one_by_one


def test_bursts_have_the_mean_share_and_the_mean_length_that_were_asked() -> None:
    picked = places(Bursty(0.01, 5, random.Random(3)), [COUNT])
    bursts = 1 + sum(b - a > 1 for a, b in itertools.pairwise(picked))
    assert 0.007 < len(picked) / COUNT < 0.013
    assert 4 < len(picked) / bursts < 6
