"""Made states of a sweep, for what shows them: no rules and no clock in it."""

from __future__ import annotations

from tests.sweep.made import Pretended, Way, swept, verdict
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec
from tuiperf.rules.verdict import Confidence
from tuiperf.sweep import experiments
from tuiperf.sweep.known import Limits, Mode
from tuiperf.sweep.state import Row, SweepState, limits_json

LIMITED = Pretended(
    Way(verdict("lossy", Confidence.MEDIUM, kind="unknown"), 82e6, 1.03, loss=0.0068),
    Way(verdict("line-rate"), 941e6),
)
FULL = Pretended(
    Way(verdict("path-full", Confidence.HIGH), 940e6),
    Way(verdict("path-full", Confidence.HIGH), 938e6),
)
HOST = "lab-b"


def state_of(path: Pretended = LIMITED, *, mode: Mode = Mode.USUAL, host: str = HOST) -> SweepState:
    """The state after a whole sweep over a pretended path."""
    limits = Limits.of(mode)
    known, end = swept(path, limits)
    state = SweepState(spec=ClientSpec(host), limits=limits, idle=known.idle)
    state.started = ev.SweepStarted(
        0.0, "made", "tuiperf", "Linux", 1.7e9, ClientSpec(host).to_json(), limits_json(limits)
    )
    at_s = 0.0
    for number, done in enumerate(known.done, start=1):
        state.rows.append(Row(number, done.step, at_s, done))
        at_s += done.lasted_s
    state.t_s = at_s
    state.ended = ev.SweepEnded(at_s, end.reason, end.text)
    return state


def running(steps: int = 3, path: Pretended = LIMITED) -> SweepState:
    """The same while the step after so many runs."""
    state = state_of(path)
    state.ended = None
    state.rows = state.rows[: steps + 1]
    state.rows[-1].done = None
    state.t_s = state.rows[-1].began_s
    return state


def waiting() -> SweepState:
    """Before the first test."""
    state = state_of()
    state.ended, state.idle, state.t_s = None, None, 0.0
    state.rows = [Row(1, experiments.look(state.known(elapsed_s=0.0)), 0.0)]
    return state
