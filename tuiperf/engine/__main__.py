"""`python -m tuiperf.engine`: the engine as a process of its own, for the app.

The first line on stdin is `{"client": …}` or `{"server": …}` with a spec; later lines are the
commands `stop` (end in order) and `abort`. The end of stdin means that the parent is gone: the
engine ends itself. Events leave on stdout, one a line, and never block it: when nobody reads, lines
are dropped, which a gap in their numbers tells. A recording, if the spec names one, is complete.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from types import FrameType
from typing import Any, Optional

from tuiperf.events import Event, Failed, Listening, RunEnded, StreamSample, to_line

from . import prctl
from .client import run_client
from .errors import EngineError
from .server import run_server
from .spec import ClientSpec, ServerSpec
from .stops import Stops

SPEC_S = 10.0
MAX_SPEC_BYTES = 64 * 1024
MAX_WAITING_BYTES = 256 * 1024  # what may wait for a slow reader
LAST_WORDS_S = 2.0
RETRY_S = 0.1


class EventPipe:
    """Writes events to a pipe without ever blocking.

    What the reader does not take waits up to a limit; samples give way first, at a quarter of it,
    so that the rarer events get through; the ends of runs have as much again for themselves. While
    something waits a timer (SIGALRM) tries again, for the next event may be long in coming.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._number = 0
        self._waiting = bytearray()
        self._pushing = False
        os.set_blocking(fd, False)
        signal.signal(signal.SIGALRM, self._on_timer)

    def write(self, event: Event) -> None:
        """Send one event, or drop it."""
        number, self._number = self._number, self._number + 1
        if len(self._waiting) < _room_bytes(event):
            self._waiting += to_line(event, number).encode() + b"\n"
        self._push()

    def _on_timer(self, number: int, frame: Optional[FrameType]) -> None:
        self._push()

    def _push(self) -> None:
        """Write what the pipe takes. The timer may come in the middle; it then does nothing."""
        if self._pushing:
            return
        self._pushing = True
        try:
            while self._waiting:
                del self._waiting[: os.write(self._fd, self._waiting)]
        except BlockingIOError:
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
        except OSError:
            self._waiting.clear()
        finally:
            self._pushing = False

    def close(self) -> None:
        """Give a reader that is only slow a last chance."""
        deadline_s = time.monotonic() + LAST_WORDS_S
        while self._waiting and time.monotonic() < deadline_s:
            select.select([], [self._fd], [], 0.1)
            self._push()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _room_bytes(event: Event) -> int:
    if isinstance(event, StreamSample):
        return MAX_WAITING_BYTES // 4
    return MAX_WAITING_BYTES * (2 if isinstance(event, (RunEnded, Listening)) else 1)


def read_spec(fd: int) -> dict[str, Any]:
    """Read the first line of `fd`. Raises EngineError when it is no spec, or does not come."""
    data = b""
    deadline_s = time.monotonic() + SPEC_S
    while b"\n" not in data:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline_s - time.monotonic()))
        chunk = os.read(fd, 1) if ready else b""
        if not chunk or len(data) > MAX_SPEC_BYTES:
            raise EngineError(114, "no spec on stdin")
        data += chunk
    try:
        spec = json.loads(data)
    except (ValueError, RecursionError):
        spec = None
    if not isinstance(spec, dict):
        raise EngineError(114, "the spec on stdin is not a JSON object")
    return spec


def main() -> int:
    """Run what stdin asks for; 0 when it ended in order."""
    prctl.load()
    pipe = EventPipe(1)
    with Stops(command_fd=0) as stops:
        try:
            return _run(read_spec(0), pipe, stops)
        except EngineError as error:
            pipe.write(Failed(0.0, error.code, str(error), error.errno))
            pipe.write(RunEnded(0.0, "failed"))
            return 1
        finally:
            pipe.close()


def _run(asked: dict[str, Any], pipe: EventPipe, stops: Stops) -> int:
    tool = str(asked.get("tool", "tuiperf"))
    if isinstance(asked.get("client"), dict):
        ended = run_client(ClientSpec.from_json(asked["client"]), pipe.write, stops, tool)
        return 0 if ended.outcome != "failed" else 1
    if isinstance(asked.get("server"), dict):
        return run_server(ServerSpec.from_json(asked["server"]), pipe.write, stops, tool)
    raise EngineError(114, "the spec on stdin names neither a client nor a server")


if __name__ == "__main__":
    sys.exit(main())
