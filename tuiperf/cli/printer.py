"""Where lines go: stdout, stderr or a log file, none of which may be relied on to stay open."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from tuiperf.cli.values import UsageError
from tuiperf.engine.errors import describe

GONE_CODE = 141
"""The exit code when the reader of our output went away, as a shell shows SIGPIPE."""


class Printer:
    """Writes whole lines at once and remembers when that became impossible; it never raises.

    A context manager, for the log file.
    """

    def __init__(self, out: TextIO | None, err: TextIO | None, log: TextIO | None = None) -> None:
        self._out = log or out
        self._err = log or err
        self._log = log
        self.error: OSError | None = None
        for stream in (self._out, self._err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure:
                reconfigure(errors="backslashreplace")

    @classmethod
    def open(cls, logfile: str) -> Printer:
        """Write to the standard streams, or append all to `logfile`. Raises UsageError 17."""
        if not logfile:
            return cls(sys.stdout, sys.stderr)
        try:
            file = Path(logfile).open("a", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise UsageError(17, describe(17, error.errno or 0)) from None
        return cls(None, None, file)

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *error: object) -> None:
        if self._log is not None:
            with contextlib.suppress(OSError):
                self._log.close()

    @property
    def stream(self) -> TextIO | None:
        """Where ordinary lines go, None when stdout is closed."""
        return self._out

    @property
    def gone(self) -> bool:
        """True when nothing more can be written: the reader left, or the disk is full."""
        return self.error is not None

    def lines(self, lines: Iterable[str]) -> None:
        """Write ordinary lines, and let them out at once."""
        self._write(self._out, lines)

    def complain(self, text: str) -> None:
        """Write one line about a problem."""
        self._write(self._err, [f"tuiperf: {text}"])

    def code(self, code: int) -> int:
        """The exit code of a run that would end with `code`; tells why output is missing."""
        if self.error is None:
            return code
        if isinstance(self.error, BrokenPipeError):
            return GONE_CODE
        self._write(sys.stderr, [f"tuiperf: error - cannot write: {self.error.strerror}"])
        return 1

    def _write(self, stream: TextIO | None, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if stream is None or not text or (self.gone and stream is self._out):
            return
        try:
            stream.write(text)
            stream.flush()
        except OSError as error:
            silence(stream)
            if stream is self._out:
                self.error = error


def silence(stream: TextIO) -> None:
    """Point a stream that failed to nowhere, so that the interpreter's own last flush succeeds."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()
    except (OSError, ValueError):
        return
