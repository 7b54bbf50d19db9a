"""The driver: runs the plan's steps through the engine child and keeps one recording of them all.

It owns the time and the waiting, nothing else: what comes next the plan says, and what was found is
folded from the same events that the recording holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuiperf import __version__, recording
from tuiperf.engine.measure import system_text
from tuiperf.engine.record import Record
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.events import Event, Looked, Note, StepEnded, SweepEnded, SweepStarted
from tuiperf.feed import EngineFeed, Feed
from tuiperf.session import Session

from . import look as looking
from .known import Kind, Limits, Step
from .plan import End, next_step
from .state import SweepState, fold, limits_json, step_event

WATCH_S = 0.1
HANG_S = 15.0  # beyond what a step should take
BUSY_CODE = 121
BUSY_AGAIN_S = 2.0
BETWEEN_CODES = frozenset({103, 104, 108, 109})
"""What a stock server answers while it opens its listening socket again after a test."""
BETWEEN_S, BETWEEN_TRIES = 0.5, 4
UDP_TRIES = 2  # one datagram lost in the handshake fails a UDP test
WAIT_S = 60.0

MakeFeed = Callable[[ClientSpec], Feed]
Look = Callable[[str, int, int, float], Looked]
Tell = Callable[[Event], None]


@dataclass(frozen=True)
class Order:
    """What a sweep is asked to do. `spec` holds the host; its test is not used."""

    spec: ClientSpec
    limits: Limits = field(default_factory=Limits)
    wait_s: float = WAIT_S  # for a server that is busy

    @classmethod
    def towards(cls, spec: ClientSpec) -> Order:
        """A usual sweep towards where this spec leads."""
        return cls(replace(spec, test=TestSpec()))


class Sweep:
    """One sweep. `state` is what is known so far; the methods are the user's wishes."""

    def __init__(
        self,
        order: Order,
        *,
        make_feed: MakeFeed = EngineFeed,
        look: Look = looking.look,
        tell: Tell | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.order = order
        self.state = SweepState()
        self.waiting_s = 0.0  # how long a busy server will still be waited for
        self.paused = False
        self.problem = ""  # of the recording
        self._make_feed, self._look = make_feed, look
        self._tell = tell or (lambda event: None)
        self._clock = clock
        self._begun_s = clock()
        self._paused_s = 0.0
        self._feed: Feed | None = None
        self._record: Record | None = None
        self._wishes = 0
        self._skip = self._accept = self._interrupted = self._hurry = False

    @property
    def elapsed_s(self) -> float:
        """Since the sweep began, pauses left out."""
        return self._clock() - self._begun_s - self._paused_s

    @property
    def over(self) -> bool:
        return self.state.ended is not None

    @property
    def _ending(self) -> bool:
        """True once no further test may begin."""
        return self._interrupted or self._accept

    # Wishes

    def skip(self) -> None:
        """End the running step; what it showed does not count."""
        self._skip = True
        self._stop_feed()

    def pause(self) -> None:
        """Start no further step, or go on."""
        self.paused = not self.paused

    def accept(self) -> None:
        """End with what is known."""
        self._accept = True
        self._stop_feed()

    def more(self) -> None:
        """Run one experiment more than the answer needs."""
        self._wishes += 1

    def stop(self) -> None:
        """End, as for Ctrl+C: the running test ends in order and what it showed counts. Asked a
        second time, nothing is waited for."""
        self._hurry = self._interrupted
        self._interrupted = True
        self._stop_feed()

    def _stop_feed(self) -> None:
        if self._feed is not None:
            self._feed.stop()

    # The run

    async def run(self) -> None:
        """Run to the end. Nothing is raised for what goes wrong on the path."""
        self._begun_s = self._clock()
        self._open_record()
        try:
            with tempfile.TemporaryDirectory(prefix="tuiperf-") as folder:
                self._take(self._started())
                while isinstance(step := self._next(), Step):
                    await self._run_step(step, Path(folder))
                    await self._rest()
                self._take(SweepEnded(self.elapsed_s, step.reason, step.text))
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of the engine and of the recording."""
        if self._feed is not None:
            await self._feed.close()
        if self._record is not None:
            self._record.close()

    def _next(self) -> Step | End:
        known = self.state.known(
            elapsed_s=self.elapsed_s, accepted=self._accept, interrupted=self._interrupted
        )
        step = next_step(replace(known, wishes=self._wishes))
        if self._wishes and isinstance(next_step(known), End):
            self._wishes -= 1
        return step

    def _started(self) -> SweepStarted:
        spec = replace(self.order.spec, recording="")
        return SweepStarted(
            0.0,
            uuid.uuid4().hex[:12],
            f"tuiperf {__version__}",
            system_text(),
            time.time(),
            spec.to_json(),
            limits_json(self.order.limits),
        )

    async def _run_step(self, step: Step, folder: Path) -> None:
        self._skip = False
        number = len(self.state.rows) + 1
        self._take(step_event(step, number, self.elapsed_s))
        if step.kind is Kind.LOOK:
            spec = self.order.spec
            self._take(
                await asyncio.to_thread(
                    self._look, spec.host, spec.port, spec.family, self.elapsed_s
                )
            )
            self._take(StepEnded(self.elapsed_s, number, "done"))
            return
        outcome, problem, code = await self._measure(step, folder / f"{number}.jsonl.gz")
        self._take(StepEnded(self.elapsed_s, number, outcome, problem, code))

    async def _measure(self, step: Step, kept: Path) -> tuple[str, str, int]:
        """Run the engine, again where the server was only not ready; outcome, problem, code."""
        assert step.test is not None
        spec = replace(self.order.spec, test=step.test, recording=str(kept))
        until_s = self._clock() + self.order.wait_s
        tries = 0
        while True:
            session, lost = await self._run_engine(spec, step)
            self._keep(kept)
            failure = session.failure
            if self._skip:
                return "skipped", "", 0
            if failure is None and not lost:
                return ("done" if session.started else "failed"), "", 0
            code = failure.code if failure else 0
            tries += 1
            again = await self._may_try_again(step, code, tries, until_s, session)
            if self._skip:
                return "skipped", "", 0
            if not again or self._ending:
                return "failed", failure.text if failure else lost, code

    async def _may_try_again(
        self, step: Step, code: int, tries: int, until_s: float, session: Session
    ) -> bool:
        """Wait for a server that is busy, or that is just opening its door again."""
        if self._ending:
            return False
        if code == BUSY_CODE:
            return await self._wait_for_server(until_s)
        served = any(row.done and row.done.readings for row in self.state.rows)
        if code in BETWEEN_CODES and served and session.started is None:
            await asyncio.sleep(BETWEEN_S)
            return tries < BETWEEN_TRIES
        return bool(step.test and step.test.udp) and session.started is None and tries < UDP_TRIES

    async def _wait_for_server(self, until_s: float) -> bool:
        left_s = until_s - self._clock()
        if left_s <= 0:
            return False
        self.waiting_s = left_s
        text = f"the server is busy with another test; waiting, {left_s:.0f} s at most"
        self._take(Note(self.elapsed_s, "info", "waiting", text))
        again_s = self._clock() + min(BUSY_AGAIN_S, left_s)
        while self._clock() < again_s and not (self._ending or self._skip):
            await asyncio.sleep(WATCH_S)
            self.waiting_s = max(0.0, until_s - self._clock())
        self.waiting_s = 0.0
        return True

    async def _run_engine(self, spec: ClientSpec, step: Step) -> tuple[Session, str]:
        feed = self._feed = self._make_feed(spec)
        running = asyncio.ensure_future(feed.run())
        begun_s = self._clock()
        stopped = self._ending
        try:
            while not running.done():
                await asyncio.wait([running], timeout=WATCH_S)
                self.state.session = feed.session
                lasted_s = self._clock() - begun_s
                if not stopped and self._time_is_up(feed.session, step, lasted_s):
                    stopped = True
                    feed.stop()
                if lasted_s > step.seconds + HANG_S or self._hurry:
                    break
            lost = running.result() if running.done() else "it did not end in time"
        finally:
            await feed.close()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            self._feed = None
        self.state.session = feed.session
        return feed.session, lost

    @staticmethod
    def _time_is_up(session: Session, step: Step, lasted_s: float) -> bool:
        """A run that bytes end is ended by its time too; one that hangs is asked to end."""
        if step.test is not None and step.test.limited:
            return session.test_s >= step.seconds - 1 or lasted_s > step.seconds + HANG_S / 2
        return lasted_s > step.seconds + HANG_S / 2

    async def _rest(self) -> None:
        begun_s = self._clock()
        while self.paused and not self._ending:
            await asyncio.sleep(WATCH_S)
            self._paused_s += self._clock() - begun_s
            begun_s = self._clock()

    # Events

    def _take(self, event: Event) -> None:
        """Fold, keep and tell one of the sweep's own events."""
        if isinstance(event, Note):
            self.state.notes.append(event)
        else:
            fold(self.state, event)
        self._write(event)
        self._tell(event)

    def _keep(self, kept: Path) -> None:
        """Copy what the engine recorded of a step."""
        with contextlib.suppress(recording.RecordingError):
            for event in recording.read(kept):
                self._write(event)

    def _open_record(self) -> None:
        path = self.order.spec.recording
        if not path:
            return
        try:
            self._record = Record(path)
        except OSError as error:
            self.problem = f"nothing is recorded: {path}: {error.strerror}"

    def _write(self, event: Event) -> None:
        if self._record is None:
            return
        self._record.write(event)
        if self._record.error is not None and not self.problem:
            self.problem = f"the recording breaks off: {self._record.error.strerror}"
