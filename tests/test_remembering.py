"""Whom a sweep measured is remembered as a peer, with what the sweep found."""

from __future__ import annotations

import asyncio

import pytest

from tests.screens.test_sweep import Standing
from tests.sweep.states import state_of, waiting
from tuiperf import peers
from tuiperf.engine.spec import ClientSpec
from tuiperf.remembering import remember_sweep
from tuiperf.screens.sweep import SweepScreen
from tuiperf.sweep.drive import Order
from tuiperf.sweep_app import SweepApp
from tuiperf.view.rows import UNICODE


def test_a_sweeps_peer_has_its_best_rate_and_first_verdict() -> None:
    state = state_of()
    assert remember_sweep(state, ClientSpec("lab-b", port=5300, family=4))
    (peer,) = peers.load()
    assert (peer.target, peer.words, peer.test) == ("lab-b:5300", ("-4",), "sweep")
    first = state.conclusion().first
    assert (peer.title, peer.level) == (first.title, first.level.value)
    rates = [
        reading.goodput_bps
        for row in state.rows
        if row.done is not None
        for reading in row.done.readings
        if reading.goodput_bps is not None
    ]
    assert peer.goodput_bps == max(rates)


def test_a_sweep_that_measured_nothing_is_not_remembered() -> None:
    assert not remember_sweep(waiting(), ClientSpec("lab-b"))
    assert peers.load() == []


@pytest.mark.parametrize(("recording", "known"), [("", []), ("/nowhere/sweep.jsonl.gz", ["lab-b"])])
def test_the_app_remembers_a_sweep_that_is_over_where_it_is_recorded(
    recording: str, known: list[str]
) -> None:
    order = Order(ClientSpec("lab-b", recording=recording))

    async def go() -> None:
        screen = SweepScreen(UNICODE, order=order, make=lambda asked: Standing(asked, state_of()))
        app = SweepApp(screen, UNICODE, live=False)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.tick()

    asyncio.run(go())
    assert [peer.target for peer in peers.load()] == known
