"""Remember whom a run or a sweep measured, so that home offers it again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from tuiperf import peers
from tuiperf.cli.words import words_of
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.peers import Peer
from tuiperf.rules.verdict import Verdict
from tuiperf.session import Session
from tuiperf.sweep.state import SweepState


def remember_run(session: Session, verdicts: Sequence[Verdict], spec: ClientSpec) -> bool:
    """Put the peer of a run first; False when it was not reached, or nothing can be written."""
    peer = peers.of_run(session, tuple(verdicts), words_of(spec), time.time())
    return peer is not None and peers.remember(peer)


def remember_sweep(state: SweepState, spec: ClientSpec) -> bool:
    """Put the peer of a sweep first; its test again is a usual run, as no step is the sweep.

    False when no step measured anything, or nothing can be written.
    """
    done = [row.done for row in state.rows if row.done is not None]
    found = [reading.goodput_bps or reading.whole_bps for each in done for reading in each.readings]
    rates = [rate for rate in found if rate]
    if not rates:
        return False
    target, *words = words_of(replace(spec, test=TestSpec()))
    first = state.conclusion().first
    return peers.remember(
        Peer(
            target,
            tuple(words),
            state.idle.address if state.idle else "",
            time.time(),
            max(rates),
            first.level.value,
            first.title,
            "sweep",
        )
    )
