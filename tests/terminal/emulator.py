"""A terminal to run the app in: a pty, and pyte behind it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0
KITTY = re.compile(rb"\x1b\[[<>=?][0-9;]*u")
SYNC_ASKED, SYNC_YES = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
ALT_ON, ALT_OFF = b"\x1b[?1049h", b"\x1b[?1049l"


class Emulator:
    """A program in a terminal of its own. Use as a context; the program is killed at its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] = (80, 24),
        env: dict[str, str] | None = None,
        ignore_hangup: bool = False,
    ) -> None:
        self.screen = pyte.Screen(*size)
        self.output = bytearray()
        self.code: int | None = None
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # Here, not in the parent: on a busy machine that may come after the program has looked.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
            if ignore_hangup:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.chdir(ROOT)
            os.execvpe(command[0], list(command), _environment(env or {}))
        self.before = termios.tcgetattr(self.fd)

    def __enter__(self) -> Emulator:
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.close()

    def read(self, for_s: float = 0.1) -> int:
        """Take what the program writes within a moment; the number of bytes."""
        ready, _, _ = select.select([self.fd], [], [], for_s)
        if not ready:
            return 0
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return 0
        if SYNC_ASKED in data:
            self.send(SYNC_YES)
        self.output += data
        self._stream.feed(KITTY.sub(b"", data))
        return len(data)

    def send(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, words: str) -> str:
        """Read until the words are on the screen. Raises AssertionError with the screen."""
        until_s = time.monotonic() + PATIENCE_S
        while words not in self.text():
            assert time.monotonic() < until_s, f"no {words!r} on the screen:\n{self.text()}"
            self.read()
        return self.text()

    def wait_for_output(self, data: bytes) -> None:
        """Read until the program has written these bytes."""
        until_s = time.monotonic() + PATIENCE_S
        while data not in self.output:
            assert time.monotonic() < until_s, f"never wrote {data!r}:\n{self.text()}"
            self.read()

    def wait_end(self, *, reading: bool = True) -> int:
        """Wait for the program's end; its exit code, negative for a signal."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                break
            assert time.monotonic() < until_s, f"still there:\n{self.text()}"
            if reading:
                self.read()
            else:
                time.sleep(0.05)
        while reading and self.read(0.05):
            pass
        return self.code

    def close(self) -> None:
        """Close the window."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @property
    def restored(self) -> bool:
        """The alternate screen was left, the cursor is back, and input is cooked again."""
        now = termios.tcgetattr(self.fd)
        left = self.output.rfind(ALT_OFF) > self.output.rfind(ALT_ON) >= 0
        shown = self.output.rfind(b"\x1b[?25h") > self.output.rfind(b"\x1b[?25l")
        cooked = termios.ICANON | termios.ECHO
        return left and shown and (now[3] & cooked) == (self.before[3] & cooked)


def played(seconds: int, recording: str = "", *options: str) -> list[str]:
    """The command of the app on a played run."""
    return [sys.executable, "-m", "tests.terminal.show", str(seconds), recording, *options]


def children(pid: int) -> list[int]:
    """The processes begun by a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(each) for each in (task / "children").read_text().split()]
    return found


def gone(pid: int) -> bool:
    """True when a process has ended, waiting a little for it."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def cpu_s(pid: int) -> float:
    """CPU seconds a process has used, its children not counted (proc(5), stat)."""
    values = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def _environment(more: dict[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "SSH_", "TEXTUAL", "NO_COLOR"))
    }
    return {
        **kept,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "TEXTUAL_DISABLE_KITTY_KEY": "1",
        **more,
    }
