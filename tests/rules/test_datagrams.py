"""Verdicts of UDP tests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests import made_udp
from tests.made_udp import Losses
from tests.rules.test_book import fits_its_panel
from tests.view.random_sessions import any_session
from tuiperf.engine.spec import TestSpec
from tuiperf.rules.book import diagnosis, judge
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Session

DOWN = made_udp.spec(reverse=True)


def first(losses: Losses, *, ended: bool = True, seconds: int = 5, **test: Any) -> Verdict:
    client = made_udp.spec(**{"reverse": True, **test})
    return judge(made_udp.session(client, losses, ended=ended, seconds=seconds))[0]


def test_what_was_offered_arrives() -> None:
    verdict = first(Losses())
    assert (verdict.id, verdict.level) == ("offered-less", Level.FINE)
    assert verdict.short == "10.0 Mbit/s, all there"
    assert "-b" in verdict.next[0]


def test_the_path_loses() -> None:
    verdict = first(Losses(lost=100, late=3, duplicates=1, host_dropped=10))
    assert (verdict.id, verdict.level) == ("udp-loss", Level.FAULT)
    assert "10 % of the datagrams are lost" in verdict.claim
    assert verdict.because[0] == "500 of 5000 datagrams are missing, jitter 0.020 ms"
    assert "15 came late, by up to 7 places" in verdict.because
    assert "5 came twice" in verdict.because
    assert verdict.ruled_out == ("this host dropped 50 of them (SK_MEMINFO_DROPS)",)
    assert verdict.next[0].startswith("-b 8.1M:")


def test_a_little_loss_is_worth_a_look() -> None:
    assert first(Losses(lost=5)).level is Level.LOOK
    assert first(Losses(lost=0)).level is Level.FINE


def test_this_host_loses() -> None:
    verdict = first(Losses(lost=100, host_dropped=90))
    assert (verdict.id, dict(verdict.qualifier)) == ("udp-host-drops", {"side": "receiver"})
    assert verdict.short == "about 450 datagrams"


def test_where_drops_here_are_not_known_they_are_not_ruled_out() -> None:
    verdict = first(Losses(lost=100, host_dropped=None))
    assert verdict.id == "udp-loss"
    assert not verdict.ruled_out
    assert verdict.confidence.value == "medium"


def test_a_sender_waits_for_the_far_end() -> None:
    running = first(Losses(lost=100), ended=False, reverse=False)
    assert (running.id, running.level) == ("cannot-tell", Level.PENDING)
    assert "far end" in running.claim
    assert "-R" in running.next[0]
    assert first(Losses(lost=100), reverse=False).id == "udp-loss"


def test_too_little_to_judge() -> None:
    assert first(Losses(lost=9), seconds=1).id == "cannot-tell"
    few = judge(made_udp.session(made_udp.spec(100_000, reverse=True), seconds=3))[0]
    assert few.short == "30 datagrams"


def test_each_direction_has_its_own() -> None:
    client = made_udp.spec(bidir=True)
    verdicts = judge(made_udp.session(client, Losses(lost=100)))
    assert sorted(dict(verdict.qualifier)["direction"] for verdict in verdicts) == [
        "forward",
        "reverse",
    ]


@settings(deadline=None)
@given(any_session)
def test_any_session_has_a_verdict(session: Session) -> None:
    session.test = TestSpec(protocol="udp", block_bytes=1000, rate_bps=10**6)
    assert judge(session)
    assert diagnosis(session)["verdicts"]


@pytest.mark.parametrize("losses", [Losses(), Losses(lost=100), Losses(lost=900, host_dropped=900)])
@pytest.mark.parametrize("rate_bps", [10_000_000, 9_870_000_000])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_every_verdict_fits_its_panel(
    losses: Losses, rate_bps: int, reverse: bool, ended: bool
) -> None:
    client = made_udp.spec(rate_bps, reverse=reverse)
    session = made_udp.session(client, losses, ended=ended)
    for verdict in judge(session):
        assert fits_its_panel(verdict)
    assert diagnosis(session)["verdicts"]
