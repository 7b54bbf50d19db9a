"""-F: a test that sends from a file, or writes to one what it receives."""

from __future__ import annotations

import errno
import os
import select
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .errors import EngineError, os_words
from .sockets import printable

FILE_CODE = 14
_CANNOT_LEND = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO, errno.ESPIPE}
WAIT_S = 0.2
"""How long a pipe or a device is waited for before the worker looks at the test's phase again."""

_MODE = 0o600  # as iperf3 makes it


class FileBrokenError(OSError):
    """The file, not the connection, fails what the system was asked for; `errno` says why."""


def open_file(path: str, sends: bool) -> int:
    """A descriptor to read the file, or to write it from its begin. Raises EngineError 14."""
    flags = os.O_RDONLY if sends else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, _MODE)
    except (OSError, ValueError) as error:
        raise _cannot_open(path, getattr(error, "errno", 0) or 0) from None
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        raise _cannot_open(path, errno.EISDIR)
    os.set_blocking(fd, True)
    return fd


def check(path: str, sends: bool) -> None:
    """Raise EngineError 14 when the file cannot be opened; what is in it stays."""
    file = Path(path)
    if sends and not _is_pipe(file):
        os.close(open_file(path, sends=True))
        return
    if file.is_dir():
        raise _cannot_open(path, errno.EISDIR)
    if not file.parent.is_dir():
        raise _cannot_open(path, errno.ENOENT)
    if not os.access(file if file.exists() else file.parent, os.R_OK if sends else os.W_OK):
        raise _cannot_open(path, errno.EACCES)


def _is_pipe(file: Path) -> bool:
    """True for a pipe: whoever writes to it would lose all if it were opened only to try."""
    try:
        return file.is_fifo()
    except (OSError, ValueError):
        return False


def broken(path: str, sends: bool, number: int) -> EngineError:
    """The error of a file that gives or takes no more."""
    what = "read from" if sends else "write to"
    text = f"unable to {what} -F file {printable(path)}: {os_words(number)}"
    return EngineError(FILE_CODE, text, number)


def _cannot_open(path: str, number: int) -> EngineError:
    why = os.strerror(number) if number else "it is no name of a file"
    return EngineError(FILE_CODE, f"unable to open -F file {printable(path)}: {why}", number)


def keeps(path: str) -> bool:
    """True for a file that has what is written to it at its place, unlike a pipe or device."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def size_of(path: str) -> int:
    """The file's size in bytes, 0 where that cannot be told."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


class FilePayload:
    """What a sender sends from a file, once, from its begin to its end."""

    def __init__(self, fd: int, lend: bool = True) -> None:
        self._fd = fd
        self._offset = 0
        self._held = memoryview(b"")  # read, but not yet taken by the socket
        regular = stat.S_ISREG(os.fstat(fd).st_mode)
        self._lend = lend and regular
        self._waits = None if regular else select.poll()
        if self._waits:
            self._waits.register(fd, select.POLLIN)

    def writing(self, fd: int, size: int) -> Callable[[], int]:
        """A call that hands the kernel up to `size` bytes for the socket `fd` and returns how many.

        Raises EOFError at the file's end, BlockingIOError while a pipe holds nothing yet,
        FileBrokenError when the file cannot be read, else what write(2) raises.
        """
        return partial(self._write, fd, size)

    def _write(self, fd: int, size: int) -> int:
        if self._lend:
            try:
                sent = os.sendfile(fd, self._fd, self._offset, size)
            except OSError as error:
                if error.errno not in _CANNOT_LEND:
                    raise
                self._lend = False
                os.lseek(self._fd, self._offset, os.SEEK_SET)
                return self._copy(fd, size)
            self._offset += sent
            return _or_end(sent, size)
        return self._copy(fd, size)

    def _copy(self, fd: int, size: int) -> int:
        if not self._held:
            self._held = memoryview(self._read(max(1, size)))
            _or_end(len(self._held), size)
        sent = os.write(fd, self._held[:size])
        self._held = self._held[sent:]
        return sent

    def _read(self, size: int) -> bytes:
        if self._waits and not self._waits.poll(WAIT_S * 1000):
            raise BlockingIOError
        try:
            return os.read(self._fd, size)
        except OSError as error:
            raise FileBrokenError(error.errno or errno.EIO, error.strerror) from None


def _or_end(count: int, size: int) -> int:
    if not count and size:
        raise EOFError
    return count


def write_all(fd: int, data: memoryview) -> None:
    """Write all of `data` to a file. Raises FileBrokenError."""
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError as error:
        raise FileBrokenError(error.errno or errno.EIO, error.strerror) from None
