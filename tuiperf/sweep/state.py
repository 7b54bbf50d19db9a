"""A sweep folded from its events, live or replayed: its steps and what each showed. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tuiperf import events as ev
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Direction, Session, reduce

from .conclude import Conclusion, conclude
from .known import Done, Idle, Kind, Known, Limits, Mode, Step
from .readings import carried_bytes, readings_of

NO_SERVER_CODE = 69  # EX_UNAVAILABLE of sysexits.h


@dataclass
class Row:
    """One step as a page shows it."""

    number: int
    step: Step
    began_s: float
    done: Done | None = None


@dataclass
class SweepState:
    """All that is known of one sweep. Change it through `fold` alone."""

    started: ev.SweepStarted | None = None
    spec: ClientSpec | None = None
    limits: Limits = field(default_factory=Limits)
    idle: Idle | None = None
    rows: list[Row] = field(default_factory=list)
    session: Session | None = None  # of the step that runs
    notes: list[ev.Note] = field(default_factory=list)
    ended: ev.SweepEnded | None = None
    t_s: float = 0.0

    @property
    def host(self) -> str:
        return self.spec.host if self.spec else ""

    @property
    def current(self) -> Row | None:
        """The step that runs."""
        return self.rows[-1] if self.rows and self.rows[-1].done is None else None

    def known(self, **more: Any) -> Known:
        """What the plan reads; `more` are the user's wishes and the time."""
        done = tuple(row.done for row in self.rows if row.done is not None)
        known = Known(self.host, self.limits, self.idle, done, self.t_s)
        return replace(known, **more)

    def conclusion(self) -> Conclusion:
        return conclude(self.known())

    @property
    def exit_code(self) -> int:
        """0 healthy, 1 a setting, 2 a fault, 3 not settled, 69 when no test could be run."""
        if self.ended is not None and self.ended.reason == "unreachable":
            return NO_SERVER_CODE
        return self.conclusion().code


def fold(state: SweepState, event: ev.Event) -> SweepState:
    """Fold one event into the state and return it: the sweep's own, or one of the running step."""
    if isinstance(event, (ev.SweepStarted, ev.StepStarted, ev.Looked, ev.StepEnded, ev.SweepEnded)):
        state.t_s = max(state.t_s, event.t_s)
    if isinstance(event, ev.SweepStarted):
        _started(state, event)
    elif isinstance(event, ev.StepStarted):
        state.rows.append(Row(event.number, step_of(event), event.t_s))
        state.session = Session()
    elif isinstance(event, ev.Looked):
        state.idle = idle_of(event)
    elif isinstance(event, ev.StepEnded):
        _step_ended(state, event)
    elif isinstance(event, ev.SweepEnded):
        state.ended = event
    elif state.session is not None:
        if isinstance(event, ev.RunStarted):
            state.session = Session()  # a step that had to begin anew
        state.session = reduce(state.session, event)
    return state


def _started(state: SweepState, event: ev.SweepStarted) -> None:
    state.started = event
    try:
        state.spec = ClientSpec.from_json(event.spec)
    except EngineError:
        state.spec = None
    state.limits = limits_of(event.limits)


def _step_ended(state: SweepState, event: ev.StepEnded) -> None:
    row = state.current
    if row is None or row.number != event.number:
        return
    session = state.session or Session()
    readings = readings_of(session) if event.outcome == "done" and row.step.test else ()
    row.done = Done(
        row.step,
        event.outcome,
        readings,
        carried_bytes(session),
        max(0.0, event.t_s - row.began_s),
        event.problem,
        event.code,
    )
    state.session = None


def limits_json(limits: Limits) -> dict[str, Any]:
    return {
        "mode": limits.mode.value,
        "budget_bytes": limits.budget_bytes,
        "max_rate_bps": limits.max_rate_bps,
        "time_s": limits.time_s,
    }


def limits_of(data: dict[str, Any]) -> Limits:
    """Read what `limits_json` wrote; what is not understood is as usual."""
    modes = {mode.value: mode for mode in Mode}
    mode = modes.get(str(data.get("mode")), Mode.USUAL)
    numbers = [data.get(name, 0) for name in ("budget_bytes", "max_rate_bps")]
    budget, most = (each if isinstance(each, int) else 0 for each in numbers)
    found = Limits.of(mode, max(0, budget), max(0, most))
    time_s = data.get("time_s")
    known = isinstance(time_s, (int, float)) and not isinstance(time_s, bool)
    return replace(found, time_s=float(time_s)) if known and time_s else found


def step_event(step: Step, number: int, t_s: float) -> ev.StepStarted:
    """A step as an event."""
    return ev.StepStarted(
        t_s,
        number,
        step.kind.value,
        step.variant,
        step.way.value,
        step.why,
        step.outcomes,
        step.seconds,
        _test_json(step.test),
        step.most_bytes,
    )


def _test_json(test: TestSpec | None) -> dict[str, Any]:
    return {} if test is None else dict(ClientSpec("", test=test).to_json()["test"])


def step_of(event: ev.StepStarted) -> Step:
    """An event as a step; a kind of a newer tuiperf becomes a look, which is judged by nothing."""
    kinds = {kind.value: kind for kind in Kind}
    ways = {way.value: way for way in Direction}
    test = None
    try:
        if event.test:
            test = ClientSpec.from_json({"host": "", "test": event.test}).test
    except EngineError:
        test = None
    return Step(
        kinds.get(event.step, Kind.LOOK),
        ways.get(event.way, Direction.FORWARD),
        event.why,
        event.outcomes,
        test,
        event.seconds,
        event.most_bytes,
        event.variant,
    )


def idle_of(event: ev.Looked) -> Idle:
    """What the look found, as the plan reads it."""
    return Idle(
        event.address,
        event.device,
        event.method,
        event.sent,
        event.rtts_us,
        event.path_mtu_bytes,
        event.answers,
        event.problem,
        event.controls,
        tuple(filter(None, map(_verdict_of, event.findings))),
    )


def _verdict_of(data: dict[str, Any]) -> Verdict | None:
    """A verdict read back from its JSON form."""
    try:
        return Verdict(
            id=str(data["id"]),
            level=Level(data["level"]),
            confidence=Confidence(data["confidence"]),
            title=str(data.get("title", data["id"])),
            short=str(data.get("short", "")),
            claim=str(data["claim"]),
            because=tuple(map(str, data["because"])),
            ruled_out=tuple(map(str, data["ruled_out"])),
            next=tuple(map(str, data["next"])),
        )
    except (KeyError, ValueError, TypeError):
        return None
