"""Going on in the background: daemon(3), and the file that holds our process id."""

from __future__ import annotations

import os
from pathlib import Path

from tuiperf.cli.values import UsageError
from tuiperf.engine.errors import describe

DAEMON_CODE, PID_FILE_CODE = 133, 135


class PidFile:
    """Holds our process id in a file for as long as we run; "" for none. A context manager.

    Raises UsageError 135 where the file cannot be written, or its process still runs.
    """

    def __init__(self, path: str) -> None:
        self._file = Path(path).absolute() if path else None

    def __enter__(self) -> PidFile:
        if self._file and _holder_lives(self._file):
            text = f"{describe(PID_FILE_CODE)}: '{self._file}' belongs to a process that still runs"
            raise UsageError(PID_FILE_CODE, text)
        self.write()
        return self

    def write(self) -> None:
        """Write who we are now: another process after a fork."""
        if self._file is None:
            return
        try:
            self._file.write_text(f"{os.getpid()}\n", encoding="ascii")
        except OSError as error:
            raise UsageError(PID_FILE_CODE, describe(PID_FILE_CODE, error.errno or 0)) from None

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.unlink(missing_ok=True)


def go_on_in_background(pid_file: PidFile) -> None:
    """Leave the terminal; the process that was started ends here, when `pid_file` holds our id.

    As daemon(3) does: a session of our own, / for the directory, nowhere for the standard streams.
    Open files and sockets stay. Raises UsageError 133, and 135 for the file; the process that was
    started ends with 1 then.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        heard, told = os.pipe()
        if os.fork():
            os.close(told)
            os._exit(0 if os.read(heard, 1) else 1)
    except OSError as error:
        raise UsageError(DAEMON_CODE, describe(DAEMON_CODE, error.errno or 0)) from None
    os.setsid()
    os.chdir("/")
    pid_file.write()
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.write(told, b"1")
    for fd in {nowhere, heard, told} - {0, 1, 2}:
        os.close(fd)


def _holder_lives(file: Path) -> bool:
    try:
        pid = int(file.read_text(encoding="ascii", errors="replace")[:20])
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
