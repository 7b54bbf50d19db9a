"""What Textual leaves open about terminals: gone, killed, hung and resumed ones; bytes written."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from tuiperf.cli.terminal import locale_name, names_utf8

STALL_S = 0.3
"""A write that waits longer than this tells of a terminal that does not read."""


def needs_ascii() -> bool:
    """True when the locale or the terminal's stream names no UTF-8."""
    stream = sys.__stderr__
    if stream is None or not names_utf8(stream.encoding or ""):
        return True
    locale = locale_name()
    return bool(locale) and not names_utf8(locale)


def over_ssh() -> bool:
    return bool(os.environ.get("SSH_CONNECTION"))


def set_pace() -> float:
    """Set Textual's own pace before it is imported, and return ours: screen updates a second."""
    os.environ.setdefault("TEXTUAL_FPS", "15")
    if over_ssh():
        os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
        return 2.0
    return 4.0


class ByteMeter:
    """Stands in for the terminal's stream: counts what is written and sees writes that wait."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._since_s: float | None = None
        self.written_bytes = 0

    def write(self, text: str) -> int:
        self._since_s = self._clock()
        try:
            return self._stream.write(text)
        finally:
            self._since_s = None
            self.written_bytes += len(text.encode("utf-8", "surrogatepass"))

    def flush(self) -> None:
        self._since_s = self._clock()
        try:
            self._stream.flush()
        finally:
            self._since_s = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def stalled(self) -> bool:
        """True while a write waits for a terminal that does not read."""
        since_s = self._since_s
        return since_s is not None and self._clock() - since_s > STALL_S


@contextmanager
def metered() -> Iterator[ByteMeter | None]:
    """Put a ByteMeter where Textual writes its screen; None when there is no such stream."""
    stream = sys.__stderr__
    if stream is None:
        yield None
        return
    meter = ByteMeter(stream)
    sys.__stderr__ = meter  # type: ignore[misc, assignment]
    try:
        yield meter
    finally:
        sys.__stderr__ = stream  # type: ignore[misc]


def on_end_signals(leave: Callable[[int], None]) -> Callable[[], None]:
    """Call `leave(n)` on signals that end a program, which would leave the terminal raw.

    A SIGINT is one that was sent: the key Ctrl+C comes as a key. Call it in the loop's thread; the
    result takes the handlers away again.
    """
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        try:
            loop.add_signal_handler(number, leave, number)
        except (ValueError, RuntimeError, NotImplementedError):
            continue
        caught.append(number)

    def forget() -> None:
        for number in caught:
            loop.remove_signal_handler(number)

    return forget


def terminal_gone(fd: int = 0) -> bool:
    """True when the terminal behind `fd` was closed, also where SIGHUP is ignored."""
    poll = select.poll()
    try:
        poll.register(fd, select.POLLHUP | select.POLLERR)
        return any(
            event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0)
        )
    except OSError:
        return True
