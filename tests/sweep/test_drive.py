"""The driver with made feeds: order, failures, waiting, wishes, the recording. No network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sweep import events
from tuiperf import events as ev
from tuiperf.engine.record import Record
from tuiperf.engine.spec import ClientSpec
from tuiperf.session import Direction, Session, reduce
from tuiperf.sweep import drive, replay
from tuiperf.sweep.drive import Order, Sweep
from tuiperf.sweep.known import Kind, Limits


class MadeFeed:
    """A run that is over at once: events into the session and into the step's recording."""

    def __init__(self, spec: ClientSpec, found: list[ev.Event]) -> None:
        self.session = Session()
        self._spec, self._found = spec, found

    async def run(self) -> str:
        record = Record(self._spec.recording)
        for event in self._found:
            self.session = reduce(self.session, event)
            record.write(event)
        record.close()
        return ""

    def stop(self) -> None:
        return

    async def close(self) -> None:
        return


def refused(code: int, text: str = "no") -> list[ev.Event]:
    return [ev.Failed(0.1, code, text), ev.RunEnded(0.1, "failed")]


def sweep(
    answer: Callable[[ClientSpec], list[ev.Event]],
    order: Order | None = None,
    tell: Callable[[ev.Event], None] | None = None,
) -> Sweep:
    return Sweep(
        order or Order(events.SPEC),
        make_feed=lambda spec: MadeFeed(spec, answer(spec)),
        look=lambda host, port, family, t_s: events.looked(t_s),
        tell=tell,
    )


def window_limited(spec: ClientSpec) -> list[ev.Event]:
    path = events.WINDOW
    if spec.test.parallel > 1:
        path = replace(path, window_bytes=path.window_bytes * spec.test.parallel)
    return events.run(spec.test, path)


def test_it_runs_the_plan_to_its_end_and_records_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl.gz"
    order = Order(replace(events.SPEC, recording=str(path)))
    running = sweep(window_limited, order)
    asyncio.run(running.run())
    kinds = [row.step.kind for row in running.state.rows]
    assert kinds[:3] == [Kind.LOOK, Kind.FORWARD, Kind.REVERSE]
    assert running.state.ended is not None and running.state.ended.reason == "settled"
    assert running.state.conclusion().settled
    again = replay.replay(path)
    assert again.conclusion().verdicts == running.state.conclusion().verdicts


def test_cubic_is_set_and_the_far_senders_report_asked_for() -> None:
    asked: list[ClientSpec] = []

    def answer(spec: ClientSpec) -> list[ev.Event]:
        asked.append(spec)
        return window_limited(spec)

    asyncio.run(sweep(answer).run())
    assert [spec.test.congestion for spec in asked[:2]] == ["cubic", "cubic"]
    assert all(spec.test.get_server_output for spec in asked if spec.test.reverse)


def test_a_server_that_is_not_there_ends_it_with_one_reason() -> None:
    running = sweep(lambda spec: refused(103, "unable to connect"))
    asyncio.run(running.run())
    ended = running.state.ended
    assert ended is not None
    assert (ended.reason, ended.text) == ("unreachable", "unable to connect")


def test_a_busy_server_is_waited_for() -> None:
    answers = iter([refused(121), refused(121)])
    told: list[ev.Event] = []
    running = sweep(lambda spec: next(answers, window_limited(spec)), tell=told.append)
    drive_again, drive.BUSY_AGAIN_S = drive.BUSY_AGAIN_S, 0.01
    try:
        asyncio.run(running.run())
    finally:
        drive.BUSY_AGAIN_S = drive_again
    assert sum(isinstance(each, ev.Note) for each in told) == 2
    assert running.state.ended is not None and running.state.ended.reason == "settled"


@pytest.mark.parametrize(
    ("wish", "outcome", "reason"),
    [
        (Sweep.skip, "skipped", ""),
        (Sweep.accept, "failed", "accepted"),
        (Sweep.stop, "failed", "interrupted"),
    ],
)
def test_a_wish_while_a_busy_server_is_waited_for_starts_no_test(
    wish: Callable[[Sweep], None], outcome: str, reason: str
) -> None:
    asked: list[ClientSpec] = []

    def answer(spec: ClientSpec) -> list[ev.Event]:
        asked.append(spec)
        return refused(121, "busy") if len(asked) == 1 else window_limited(spec)

    def tell(event: ev.Event) -> None:
        if isinstance(event, ev.Note):
            wish(running)
        if isinstance(event, ev.StepEnded) and event.number == 2:
            tested.append(len(asked))

    tested: list[int] = []
    running = sweep(answer, tell=tell)
    asyncio.run(running.run())
    done = running.state.rows[1].done
    assert tested == [1]
    assert done is not None and done.outcome == outcome
    assert running.state.ended is not None
    assert not reason or running.state.ended.reason == reason


def test_a_busy_server_is_not_waited_for_longer_than_asked() -> None:
    running = sweep(lambda spec: refused(121, "busy"), Order(events.SPEC, wait_s=0.0))
    asyncio.run(running.run())
    assert running.state.ended is not None and running.state.ended.reason == "unreachable"


def test_a_stock_server_between_two_tests_is_tried_again() -> None:
    seen: list[ClientSpec] = []

    def answer(spec: ClientSpec) -> list[ev.Event]:
        seen.append(spec)
        return refused(103) if len(seen) == 2 else window_limited(spec)

    running = sweep(answer)
    asyncio.run(running.run())
    assert {row.done.outcome for row in running.state.rows if row.done} == {"done"}
    assert len(seen) == len(running.state.rows)  # a look needs no run, one was run twice


def test_a_stop_keeps_what_was_measured() -> None:
    def tell(event: ev.Event) -> None:
        if isinstance(event, ev.StepEnded) and event.number == 2:
            running.stop()

    running = sweep(window_limited, tell=tell)
    asyncio.run(running.run())
    assert running.state.ended is not None and running.state.ended.reason == "interrupted"
    assert running.state.known().baseline(Direction.FORWARD) is not None
    assert len(running.state.rows) == 2


def test_a_skipped_step_does_not_count_and_is_not_run_again() -> None:
    def tell(event: ev.Event) -> None:
        if isinstance(event, ev.StepStarted) and event.step == "reverse":
            running.skip()

    def answer(spec: ClientSpec) -> list[ev.Event]:
        if spec.test.reverse:
            running.skip()
        return window_limited(spec)

    running = sweep(answer, tell=tell)
    asyncio.run(running.run())
    skipped = [row for row in running.state.rows if row.done and row.done.outcome == "skipped"]
    assert [row.step.kind for row in skipped] == [Kind.REVERSE]
    assert running.state.known().baseline(Direction.FORWARD) is not None


def test_a_budget_is_given_to_the_engine_in_bytes() -> None:
    asked: list[ClientSpec] = []

    def answer(spec: ClientSpec) -> list[ev.Event]:
        asked.append(spec)
        return events.run(replace(spec.test, time_s=1, total_bytes=0), events.WINDOW)

    limits = Limits.of(Limits().mode, 400_000_000)
    asyncio.run(sweep(answer, Order(events.SPEC, limits)).run())
    assert asked[0].test.time_s == 0
    assert 0 < asked[0].test.total_bytes <= 0.4 * 400_000_000


def test_what_cannot_be_recorded_is_said_and_the_sweep_goes_on(tmp_path: Path) -> None:
    order = Order(replace(events.SPEC, recording=str(tmp_path / "none" / "x.jsonl.gz")))
    running = sweep(window_limited, order)
    asyncio.run(running.run())
    assert "nothing is recorded" in running.problem
    assert running.state.ended is not None


class HangingFeed(MadeFeed):
    """A run that never ends, as where a far end is silent."""

    async def run(self) -> str:
        await asyncio.sleep(3600)
        return ""


def test_a_second_stop_waits_for_nothing() -> None:
    async def go() -> Sweep:
        running = Sweep(
            Order(events.SPEC),
            make_feed=lambda spec: HangingFeed(spec, []),
            look=lambda host, port, family, t_s: events.looked(t_s),
        )
        going = asyncio.ensure_future(running.run())
        await asyncio.sleep(0.3)
        running.stop()
        running.stop()
        await asyncio.wait_for(going, 5.0)
        return running

    state = asyncio.run(go()).state
    assert state.ended is not None and state.ended.reason == "interrupted"
    assert [row.done.outcome for row in state.rows if row.done] == ["done", "failed"]
