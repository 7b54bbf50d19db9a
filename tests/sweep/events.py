"""Made sweeps: the events a driver would give, with made runs inside."""

from __future__ import annotations

from tests import made
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.session import Direction
from tuiperf.sweep import experiments
from tuiperf.sweep.known import Known, Limits
from tuiperf.sweep.state import limits_json, step_event

SPEC = ClientSpec("lab-b")
WINDOW = made.Path(window_bytes=2_780_000, rtt_us=42_000, loss_at_s=())
FULL = made.Path(rtt_us=42_000, loss_at_s=(2.0,))


def started() -> ev.SweepStarted:
    return ev.SweepStarted(
        0.0, "made", "tuiperf", "Linux", 1.7e9, SPEC.to_json(), limits_json(Limits())
    )


def looked(t_s: float = 1.0) -> ev.Looked:
    trips = (42_000, 42_100, 42_050, 42_030, 42_200)
    return ev.Looked(t_s, "10.20.0.7", "eth0", "icmp", 5, trips, 1500, controls=("cubic", "bbr"))


def run(test: TestSpec, path: made.Path) -> list[ev.Event]:
    """A run's events, with its own times."""
    client = ClientSpec("lab-b", test=test)
    return [*made.opening(client, path), *made.data(client, path), ev.RunEnded(8.0, "completed")]


def sweep(*, cut: bool = False) -> list[ev.Event]:
    """A look and both directions, the first limited by a window; `cut` stops in the third step."""
    known = Known("lab-b")
    found: list[ev.Event] = [started()]
    found += [step_event(experiments.look(known), 1, 0.1), looked(), ev.StepEnded(1.1, 1, "done")]
    for number, way in enumerate(Direction, start=2):
        step = experiments.baseline(known, way)
        assert step.test is not None
        begun_s = 1.1 + 6.5 * (number - 2)
        found.append(step_event(step, number, begun_s))
        found += run(step.test, WINDOW if number == 2 else FULL)
        if cut and number == 3:
            return found[:-20]
        found.append(ev.StepEnded(begun_s + 6.4, number, "done"))
    return [*found, ev.SweepEnded(14.0, "settled", "the cause is settled")]
