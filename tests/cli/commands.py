"""Run the command as a user does: another process, its streams and its exit code."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

TUIPERF = [sys.executable, "-m", "tuiperf"]
TIMEOUT_S = 60
PRESS_AGAIN_S = 1.0
PORT_LINE = re.compile(rb"Server listening on (\d+)")


def environment(home: Path, **extra: str) -> dict[str, str]:
    """The environment of a command: state goes to `home`, a UTF-8 locale, a terminal that can."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LC_", "LANG", "TERM", "NO_COLOR", "XDG_"))
    }
    return {**kept, "XDG_STATE_HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm", **extra}


def tuiperf(
    home: Path, *words: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command without any terminal."""
    return subprocess.run(
        [*TUIPERF, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=environment(home, **(env or {})),
        timeout=TIMEOUT_S,
        check=False,
    )


def on_a_terminal(
    home: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    once: bytes = b"",
    press: bytes = b"",
) -> tuple[int, str]:
    """Run the command with a terminal as stdin, stdout and stderr; its exit code and output.

    When `once` was shown, `press` is typed now and then until the command ends.
    """
    master, slave = pty.openpty()
    try:
        with subprocess.Popen(
            [*TUIPERF, *words],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(home, **(env or {})),
            start_new_session=True,
        ) as child:
            os.close(slave)
            shown = _read_all(master, child, once, press)
            return child.wait(TIMEOUT_S), shown.decode("utf-8", "replace")
    finally:
        os.close(master)


def _read_all(fd: int, child: subprocess.Popen[bytes], once: bytes, press: bytes) -> bytes:
    data = b""
    deadline_s = time.monotonic() + TIMEOUT_S
    pressed_s = 0.0
    while time.monotonic() < deadline_s:
        if press and once in data and time.monotonic() - pressed_s > PRESS_AGAIN_S:
            os.write(fd, press)
            pressed_s = time.monotonic()
        if not select.select([fd], [], [], 0.1)[0]:
            if child.poll() is not None:
                break
            continue
        try:
            chunk = os.read(fd, 65536)
        except OSError:  # the last holder of the other side is gone
            break
        data += chunk
    return data


@contextlib.contextmanager
def server(home: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`tuiperf -s` on a free port: the process and the port. It is ended at the end."""
    child = subprocess.Popen(
        [*TUIPERF, "-s", "-p", str(free_port()), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
    )
    try:
        yield child, _port_of(child)
    finally:
        if child.poll() is None:
            child.kill()
        child.communicate(timeout=TIMEOUT_S)


def _port_of(child: subprocess.Popen[bytes]) -> int:
    assert child.stdout is not None
    for line in child.stdout:
        match = PORT_LINE.match(line)
        if match:
            return int(match[1])
    raise AssertionError("the server did not say that it listens")


def free_port() -> int:
    """A TCP port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
