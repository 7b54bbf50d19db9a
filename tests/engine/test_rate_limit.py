"""The server's limit on rates: what is asked for, and what is carried, averaged over a window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.driving import OurServer, client_spec, run, short
from tuiperf.engine.errors import EngineError
from tuiperf.engine.rate_limit import RateLimit, check
from tuiperf.engine.spec import ServerSpec, TestSpec

MBIT = 1_000_000


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"rate_bps": 10 * MBIT}, True),
        ({"rate_bps": 10 * MBIT + 1}, False),
        ({"rate_bps": 4 * MBIT, "parallel": 3}, False),
        ({"rate_bps": 4 * MBIT, "bidir": True}, True),
        ({"rate_bps": 6 * MBIT, "bidir": True}, False),
        ({"fq_rate_bps": 11 * MBIT}, False),
        ({}, True),
    ],
)
def test_what_a_client_asks_for(asked: dict[str, Any], allowed: bool) -> None:
    if allowed:
        check(TestSpec(**asked), 10 * MBIT)
    else:
        with pytest.raises(EngineError) as refused:
            check(TestSpec(**asked), 10 * MBIT)
        assert refused.value.code == 27
        assert str(refused.value) == "total required bandwidth is larger than server limit"


def first_refusal(limit: RateLimit, rates_bps: list[float]) -> float | None:
    """When the limit ends a test that carries these rates, each for a second, looked at 10 Hz."""
    carried = 0.0
    for tick in range(len(rates_bps) * 10 + 1):
        now_s = 100 + tick / 10
        try:
            limit.look(now_s, int(carried))
        except EngineError:
            return tick / 10
        carried += rates_bps[min(tick // 10, len(rates_bps) - 1)] / 80
    return None


@pytest.mark.parametrize(
    ("rates", "average_s", "ends_s"),
    [
        ([9.9] * 20, 5.0, None),
        ([20.0] * 20, 5.0, 5.0),
        ([20.0] * 20, 0.0, 5.0),
        ([20.0, 20.0, 0, 0, 0, 0, 0, 0], 5.0, None),  # a burst that the average allows
        ([5.0] * 6 + [20.0] * 6, 5.0, 7.7),  # 5 over the window but for the last 1.7 s
        ([20.0] * 3, 0.1, 0.1),
    ],
)
def test_an_average_over_a_window(
    rates: list[float], average_s: float, ends_s: float | None
) -> None:
    ended_s = first_refusal(RateLimit(10 * MBIT, average_s), [rate * MBIT for rate in rates])
    assert ended_s == (None if ends_s is None else pytest.approx(ends_s, abs=0.31))


def test_no_limit() -> None:
    assert first_refusal(RateLimit(0, 1.0), [1e12] * 10) is None


@pytest.mark.parametrize("average_s", [0.05, 61.0, -1.0])
def test_windows_that_make_no_sense(average_s: float) -> None:
    with pytest.raises(EngineError) as error:
        ServerSpec(rate_limit_average_s=average_s).check()
    assert error.value.code == 28


@pytest.fixture(scope="module")
def limited() -> Iterator[OurServer]:
    with OurServer(rate_limit_bps=50 * MBIT, rate_limit_average_s=0.5) as server:
        yield server


def test_a_client_that_asks_for_too_much_is_refused(limited: OurServer) -> None:
    done = run(client_spec(limited.port, short(rate_bps=51 * MBIT)))
    assert done.failure.code == 27 and done.failure.remote


@pytest.mark.parametrize("way", [{}, {"reverse": True}, {"bidir": True}])
def test_a_test_that_carries_too_much_is_ended(limited: OurServer, way: dict[str, Any]) -> None:
    done = run(client_spec(limited.port, short(time_s=8, **way)))
    assert done.failure.code == 27 and done.failure.remote
    assert limited.run_of(done).failure.code == 27


def test_a_test_below_the_limit_has_its_time(limited: OurServer) -> None:
    done = run(client_spec(limited.port, short(time_s=1, rate_bps=20 * MBIT)))
    assert done.outcome == "completed"
