"""The tuiperf server on the far side, and what it tells about the tests that it serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial

from tuiperf import events as ev
from tuiperf.engine.spec import DEFAULT_PORT, ServerSpec
from tuiperf.lab import limits
from tuiperf.lab.errors import LabError
from tuiperf.lab.spec import Host

START_S = 15.0
MAX_LINE_BYTES = 1 << 20
GO, REST = b"go\n", b"rest\n"


class FarServer:
    """A server in the namespace that this process is in when it is made."""

    def __init__(self, host: Host) -> None:
        restrict = None
        if any(host.limits):
            limits.check_supported()
            restrict = partial(limits.restrict, *host.limits)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tuiperf.engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=restrict,  # noqa: PLW1509
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.fd = self.process.stdout.fileno()
        self._partial = b""
        os.set_blocking(self.fd, False)
        spec = {"server": ServerSpec(port=DEFAULT_PORT).to_json()}
        self.process.stdin.write(json.dumps(spec).encode() + b"\n")
        self.process.stdin.flush()

    def wait(self) -> int:
        """Wait until it listens; its port. Raises LabError when it does not."""
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s and self.process.poll() is None:
            for event in self._events():
                if isinstance(event, ev.Listening):
                    return event.port
                if isinstance(event, ev.Failed):
                    raise LabError(f"the server on the far side cannot start: {event.text}")
            time.sleep(0.002)
        raise LabError("the server on the far side does not start")

    def news(self) -> list[bytes]:
        """What its events mean for the helpers, in order."""
        words = []
        for event in self._events():
            if isinstance(event, ev.TestStarted):
                words.append(GO)
            elif isinstance(event, ev.RunEnded):
                words.append(REST)
        return words

    def _events(self) -> list[ev.Event]:
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > MAX_LINE_BYTES:
            self._partial = b""
        found = []
        for line in lines:
            try:
                found.append(ev.from_line(line.decode())[1])
            except (ev.EventError, UnicodeDecodeError):
                continue
        return found
