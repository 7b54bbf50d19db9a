"""Requests to stop a run: signals, and commands of the process that started the engine.

The first request ends the test in order, with its summary; a second one, or the parent's end, ends
it at once. Nothing here raises into the middle of a measurement: a loop polls `fds` and asks.
"""

from __future__ import annotations

import os
import signal
import time
from types import FrameType, TracebackType
from typing import Any, Optional

GRACEFUL, AT_ONCE = 1, 2
SAME_PRESS_S = 0.2
"""Signals this close together are one request: timeout(1) signals a process and its group, a
terminal that closes sends SIGHUP twice."""

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NAMES = {signal.SIGINT: "Interrupt", signal.SIGTERM: "Terminated", signal.SIGHUP: "Hangup"}


class Stops:
    """Collects requests to stop. Use it as a context manager around a run."""

    def __init__(self, command_fd: Optional[int] = None, catch_signals: bool = True) -> None:
        self.level = 0
        self.signal_name: Optional[str] = None  # such as "Interrupt(2)"
        self._signalled_s = float("-inf")
        self._command_fd = command_fd
        self._commands = b""
        self._catch = catch_signals
        self._old: dict[int, Any] = {}
        self._wake: list[int] = []

    @classmethod
    def from_signals(cls) -> Stops:
        """Stop on SIGINT, SIGTERM and SIGHUP."""
        return cls()

    def __enter__(self) -> Stops:
        if self._catch:
            self._wake = list(os.pipe())
            for fd in self._wake:
                os.set_blocking(fd, False)
            self._old_wakeup = signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
            for number in _CAUGHT:
                self._old[number] = signal.signal(number, self._on_signal)
        if self._command_fd is not None:
            os.set_blocking(self._command_fd, False)
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._catch:
            signal.set_wakeup_fd(self._old_wakeup)
            for number, handler in self._old.items():
                signal.signal(number, handler)
            for fd in self._wake:
                os.close(fd)
            self._wake = []

    def _on_signal(self, number: int, frame: Optional[FrameType]) -> None:
        now_s, before_s = time.monotonic(), self._signalled_s
        if now_s - before_s < SAME_PRESS_S:
            return
        self._signalled_s = now_s
        self.level = min(AT_ONCE, self.level + 1)
        self.signal_name = self.signal_name or f"{_NAMES[signal.Signals(number)]}({number})"

    @property
    def fds(self) -> list[int]:
        """Descriptors that become readable when there may be a request."""
        fds = self._wake[:1]
        if self._command_fd is not None:
            fds.append(self._command_fd)
        return fds

    def poll(self) -> int:
        """Read what is waiting and return the level: 0, GRACEFUL or AT_ONCE."""
        if self._wake:
            self._drain(self._wake[0])
        if self._command_fd is not None:
            self._read_commands(self._command_fd)
        return self.level

    def request(self, level: int) -> None:
        """Ask for a stop from within the process."""
        self.level = max(self.level, level)

    @staticmethod
    def _drain(fd: int) -> None:
        try:
            while os.read(fd, 512):
                pass
        except BlockingIOError:
            pass

    def _read_commands(self, fd: int) -> None:
        try:
            data = os.read(fd, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.request(AT_ONCE)
            self._command_fd = None
            return
        *lines, self._commands = (self._commands + data).split(b"\n")
        self._commands = self._commands[-64:]
        for line in lines:
            if line.strip() == b"stop":
                self.request(GRACEFUL)
            elif line.strip() == b"abort":
                self.request(AT_ONCE)
