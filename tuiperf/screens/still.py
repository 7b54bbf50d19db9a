"""A session that stays as it is while the run goes on."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from tuiperf.session import Session, Thinned

T = TypeVar("T")


def still(session: Session) -> Session:
    """A copy that later events do not reach. Events themselves never change, so they are shared."""
    frozen = copy(session)
    frozen.streams = {}
    for number, stream in session.streams.items():
        held = copy(stream)
        held.samples = _held(stream.samples)
        frozen.streams[number] = held
    frozen.flows = {}
    for direction, flow in session.flows.items():
        kept = copy(flow)
        kept.ticks = _held(flow.ticks)
        frozen.flows[direction] = kept
    frozen.intervals = _held(session.intervals)
    frozen.options = list(session.options)
    frozen.notes = list(session.notes)
    return frozen


def _held(series: Thinned[T]) -> Thinned[T]:
    copied: Thinned[T] = Thinned(series.limit + 1)
    for item in series:
        copied.append(item)
    return copied
