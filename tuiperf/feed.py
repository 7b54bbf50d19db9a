"""Where the screen's events come from: an engine in a process of its own, or a list."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Protocol

from tuiperf import __version__, recording
from tuiperf.engine.spec import ClientSpec
from tuiperf.events import Event, EventError, RunEnded, from_line
from tuiperf.session import Session, reduce
from tuiperf.view.rows import escape

MAX_LINE_BYTES = 8 * 1024 * 1024
MEND_S = 1.5
"""The recording reaches its file about once a second, so a rebuild waits a little longer."""

GOODBYE_S = 3.0
_CHUNK_BYTES = 256 * 1024


class Feed(Protocol):
    """A source of one run's events."""

    session: Session

    async def run(self) -> str:
        """Fold events into `session` until the run is over; why it broke off, or ""."""

    def stop(self) -> None:
        """Ask for the end of the test, with its summary."""

    async def close(self) -> None:
        """Let nothing go on behind."""


class ListFeed:
    """Events that are there already; `hold` keeps the run open after the last one."""

    def __init__(self, events: Sequence[Event], ending: Sequence[Event] = ()) -> None:
        self.session = Session()
        self._events = events
        self._ending = ending
        self._stopped = asyncio.Event()

    async def run(self) -> str:
        for event in self._events:
            self.session = reduce(self.session, event)
        if self._ending:
            await self._stopped.wait()
        for event in self._ending:
            self.session = reduce(self.session, event)
        return ""

    def stop(self) -> None:
        self._stopped.set()

    async def close(self) -> None:
        self._stopped.set()


class EngineFeed:
    """The engine as a child process in a session of its own, so that only we hear the terminal.

    When lines were dropped (we were stopped, or slow) the session is rebuilt from the recording.
    """

    def __init__(self, spec: ClientSpec, command: Sequence[str] = ()) -> None:
        self.session = Session()
        self._spec = spec
        self._command = list(command) or [sys.executable, "-m", "tuiperf.engine"]
        self._process: asyncio.subprocess.Process | None = None
        self._expected = 0
        self._gap = False
        self._mending: asyncio.Task[None] | None = None
        self._held: list[Event] = []
        self._errors = b""
        self._rebuild_s = 0.0  # what the last rebuild took: long runs are not rebuilt all the time

    async def run(self) -> str:
        try:
            process = await self._start()
        except OSError as error:
            return f"the measuring process could not be started: {error.strerror}"
        errors = asyncio.ensure_future(self._read_errors(process))
        try:
            await self._read(process)
            await process.wait()
            await errors
        finally:
            errors.cancel()
        if self._mending is not None:
            self._mending.cancel()
            self._gap = True
        if self._gap and self._spec.recording:
            self._held.clear()
            await self._rebuild()
        if self.session.ended is not None:
            return ""
        return self._obituary(process.returncode)

    def stop(self) -> None:
        self._tell(b"stop\n")

    async def close(self) -> None:
        """End the child: it ends itself when its control pipe closes; if it does not, kill it."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), GOODBYE_S)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()

    async def _start(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        order = {"client": self._spec.to_json(), "tool": f"tuiperf {__version__}"}
        self._tell(json.dumps(order).encode() + b"\n")
        return self._process

    def _tell(self, line: bytes) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            process.stdin.write(line)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while data := await process.stdout.read(_CHUNK_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take_line(line)
            if len(rest) > MAX_LINE_BYTES:
                rest = b""
                self._gap = True

    def _take_line(self, line: bytes) -> None:
        try:
            number, event = from_line(line.decode("utf-8", "surrogateescape"))
        except EventError:
            self._gap = True
            return
        if number > self._expected:
            self._gap = True
        self._expected = number + 1
        self.session = reduce(self.session, event)
        if self._mending is not None:
            self._held.append(event)
        elif self._gap and self._spec.recording and not isinstance(event, RunEnded):
            self._held = [event]
            self._mending = asyncio.ensure_future(self._mend())

    async def _mend(self) -> None:
        self._gap = False
        await asyncio.sleep(max(MEND_S, 10 * self._rebuild_s))
        begun_s = time.monotonic()
        await self._rebuild()
        self._rebuild_s = time.monotonic() - begun_s
        self._mending = None

    async def _rebuild(self) -> None:
        """Replace the session by the recording's, and add what came since."""
        try:
            session = await asyncio.to_thread(recording.replay, self._spec.recording)
        except recording.RecordingError:
            return
        for event in self._held:
            if event.t_s > session.t_s:
                session = reduce(session, event)
        self.session = session

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while data := await process.stderr.read(4096):
            self._errors = (self._errors + data)[-4096:]

    def _obituary(self, code: int | None) -> str:
        how = f"was killed by signal {-code}" if code and code < 0 else f"ended with code {code}"
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        said = f": {escape(lines[-1], 200)}" if lines else ""
        return f"the measuring process {how} before the run was over{said}"
