"""The guided sweep over a few known faults, now, in the lab: the right end, and soon enough.

A sweep that is not right is run once more and the second one counts, for one stall of the machine
would be more than the share allowed.
"""

from __future__ import annotations

import pytest

from tests.accuracy.sweeps import REDUCED, run

VALID_LEAST = 0.6  # of the sweeps; a machine with less to spare proves nothing


@pytest.mark.alone
def test_sweeps_end_with_the_right_cause(lab_here: None) -> None:
    found = {each.name: each for each in run(REDUCED)}
    assert len(found) >= VALID_LEAST * len(REDUCED)
    doubted = [each.name for each in found.values() if not each.right]
    found |= {each.name: each for each in run(doubted)}
    told = [each.words() for each in found.values()]
    assert all(each.right for each in found.values()), told
    assert not any(each.wrong for each in found.values()), told
    assert all(each.steps >= 3 for each in found.values()), told
