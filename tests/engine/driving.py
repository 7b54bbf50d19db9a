"""Runs of the engine for tests: the client in this process, anything as a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tuiperf.engine.client import run_client
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec
from tuiperf.engine.stops import Stops
from tuiperf.events import (
    Connected,
    Event,
    Failed,
    Interval,
    Listening,
    Note,
    OptionRead,
    Results,
    RunEnded,
    from_line,
)

PROMPT_S = 20.0  # what takes longer than this hangs

E = TypeVar("E", bound=Event)
P = TypeVar("P", bound="EngineProcess")


class Run:
    """The events of one run, and the ways tests look at them."""

    def __init__(self, events: list[Event] | None = None) -> None:
        self.events = events or []

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def one(self, kind: type[E]) -> E:
        (event,) = self.all(kind)
        return event

    @property
    def outcome(self) -> str:
        assert isinstance(self.events[-1], RunEnded)
        return self.one(RunEnded).outcome

    @property
    def failure(self) -> Failed:
        """The failure of a run that failed: reported once, before the end."""
        assert self.outcome == "failed"
        return self.one(Failed)

    @property
    def failed_as(self) -> int:
        """The number of the failure, 0 for none."""
        return self.failure.code if self.outcome == "failed" else 0

    @property
    def notes(self) -> dict[str, str]:
        return {note.code: note.text for note in self.all(Note)}

    def results(self, side: str) -> Results:
        (found,) = [results for results in self.all(Results) if results.side == side]
        return found

    @property
    def local(self) -> Results:
        return self.results("local")

    @property
    def remote(self) -> Results:
        return self.results("remote")

    @property
    def measured(self) -> list[Interval]:
        """The intervals that count."""
        return [interval for interval in self.all(Interval) if not interval.omitted]

    def option(self, name: str) -> OptionRead:
        """The first reading of an option."""
        return next(reading for reading in self.all(OptionRead) if reading.name == name)


def carried(results: Results) -> dict[int, int]:
    """Bytes of each stream."""
    return {row.stream: row.bytes for row in results.streams}


def client_spec(port: int, test: TestSpec | None = None, **settings: Any) -> ClientSpec:
    """A spec for a server on loopback; the test lasts a third of a second unless said otherwise."""
    host = settings.pop("host", "127.0.0.1")
    return ClientSpec(host=host, port=port, test=test or short(), **settings)


def short(**settings: Any) -> TestSpec:
    """A test as short as a test by time can be, with cubic at both ends."""
    settings.setdefault("congestion", "cubic")
    if not settings.get("total_bytes") and not settings.get("total_blocks"):
        settings.setdefault("time_s", 1)
    return TestSpec(**settings)


Watch = Callable[[Event, Stops], None]


def run(spec: ClientSpec, watch: Watch | None = None, stop_after_s: float | None = None) -> Run:
    """Run a client here. `watch` sees each event as it comes and may ask for a stop; with
    `stop_after_s` the test is stopped, in order, after that much data time."""
    stops = Stops(catch_signals=False)
    done = Run()

    def emit(event: Event) -> None:
        done.events.append(event)
        at_s = getattr(event, "test_s", None)
        if stop_after_s is not None and at_s is not None and at_s >= stop_after_s:
            stops.request(1)
        if watch:
            watch(event, stops)

    with stops:
        ended = run_client(spec, emit, stops)
    assert ended == done.events[-1]
    return done


class EngineProcess:
    """`python -m tuiperf.engine` with a spec, its events read as a test asks for them."""

    def __init__(
        self, asked: dict[str, Any], *, hasty: bool = False, python: str = sys.executable
    ) -> None:
        module = "tests.engine.hasty_engine" if hasty else "tuiperf.engine"
        self.process = subprocess.Popen(
            [python, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
        self.numbers: list[int] = []
        self.events: list[Event] = []
        self.taken = 0
        self._rest = b""
        self.say(json.dumps(asked))

    @classmethod
    def client(cls, spec: ClientSpec, *, python: str = sys.executable) -> EngineProcess:
        return cls({"client": spec.to_json()}, python=python)

    @classmethod
    def server(cls, spec: ServerSpec) -> EngineProcess:
        return cls({"server": spec.to_json()})

    def say(self, line: str) -> None:
        """Write one line to the engine's stdin."""
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        """Signal the engine itself."""
        self.process.send_signal(number)

    def next(self, kind: type[E], timeout_s: float = PROMPT_S) -> E:
        """The next event of this kind; those before it count as seen."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            while self.taken < len(self.events):
                event = self.events[self.taken]
                self.taken += 1
                if isinstance(event, kind):
                    return event
            left_s = deadline_s - time.monotonic()
            assert left_s > 0 and self._read(left_s), f"no {kind.__name__} came: {self.events[-3:]}"

    def next_run(self) -> Run:
        """All the events up to the next end of a run."""
        begun = self.taken
        self.next(RunEnded)
        return Run(self.events[begun : self.taken])

    def run_of(self, client: Run) -> Run:
        """A server's run with this client; those before it count as seen."""
        cookie = client.all(Connected)[-1].cookie
        while True:
            found = self.next_run()
            if cookie in [connected.cookie for connected in found.all(Connected)]:
                return found

    def rest(self) -> Run:
        """Everything from the start to the end of the process."""
        while self._read(PROMPT_S):
            pass
        return Run(self.events)

    def _read(self, timeout_s: float) -> bool:
        assert self.process.stdout
        fd = self.process.stdout.fileno()
        if not select.select([fd], [], [], timeout_s)[0]:
            return False
        data = os.read(fd, 1 << 20)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            number, event = from_line(line.decode())
            self.numbers.append(number)
            self.events.append(event)
        return bool(data)

    def wait(self, timeout_s: float = PROMPT_S) -> int:
        """Wait for the process to end by itself; its exit code."""
        return self.process.wait(timeout_s)

    @property
    def workers(self) -> list[int]:
        """The process's children."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text(encoding="ascii").split()]

    @property
    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End it, whatever it does; it must manage that by itself."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(PROMPT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self: P) -> P:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class OurServer(EngineProcess):
    """Our server in a process of its own, on a free port of loopback."""

    def __init__(
        self, *, hasty: bool = False, python: str = sys.executable, **settings: Any
    ) -> None:
        spec = replace(ServerSpec(port=0, bind_host="127.0.0.1"), **settings)
        super().__init__({"server": spec.to_json()}, hasty=hasty, python=python)
        self.port = self.next(Listening).port


def is_running(pid: int) -> bool:
    """True while a process exists and is more than an unread exit code."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def eventually(condition: Callable[[], bool], timeout_s: float = PROMPT_S) -> bool:
    """True as soon as the condition holds, False when it does not in all that time."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(0.01)
    return True
