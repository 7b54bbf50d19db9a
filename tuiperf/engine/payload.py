"""What a TCP sender sends, and how the kernel gets it: pages lent, or bytes copied.

Lending (sendfile(2) from a small nameless file) spares the copy that fills a core at high speed;
iperf3 does the same with -Z. Copying hands over a small, cache-warm piece several times with one
writev(2).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from typing import Optional

UNIT_BYTES = 131072
"""What a sender that copies has in memory, and may send several times in one write."""
_DIGITS = b"0123456789"
_LARGE_BLOCK_UNIT_BYTES = UNIT_BYTES // len(_DIGITS) * len(_DIGITS)
_CANNOT_LEND = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO}


class Payload:
    """Blocks of payload, one after the other.

    Where the system can, pages worth `lent_bytes` are lent, again and again; 0 to copy.
    """

    def __init__(
        self, block_bytes: int, repeating: bool = False, lent_bytes: int = UNIT_BYTES
    ) -> None:
        size = block_bytes if block_bytes <= UNIT_BYTES else _LARGE_BLOCK_UNIT_BYTES
        block = _DIGITS * (size // len(_DIGITS) + 1) if repeating else os.urandom(size)
        self._unit = memoryview(block[:size] * (UNIT_BYTES // size))
        units = lent_bytes // UNIT_BYTES
        self._file = _holding([self._unit] * units) if units else None
        self._lent_bytes = units * len(self._unit)
        self._taken = False  # the socket has taken pages

    def writing(self, fd: int, size: int) -> Callable[[], int]:
        """A call that hands the kernel up to `size` bytes for the socket `fd` and returns how many.

        Raises what write(2) raises.
        """
        if self._file is None:
            return partial(os.writev, fd, self._pieces(size))
        lend = os.sendfile if self._taken else self._lend_or_copy
        return partial(lend, fd, self._file, 0, min(size, self._lent_bytes))

    def _pieces(self, size: int) -> list[memoryview]:
        whole, rest = divmod(size, len(self._unit))
        return [self._unit] * whole + ([self._unit[:rest]] if rest else [])

    def _lend_or_copy(self, fd: int, file: int, offset: int, size: int) -> int:
        """sendfile() for a socket that may not take pages: then all is copied from now on."""
        try:
            sent = os.sendfile(fd, file, offset, size)
        except OSError as error:
            if error.errno not in _CANNOT_LEND:
                raise
            self._file = None
            return os.writev(fd, self._pieces(size))
        self._taken = True
        return sent


def _holding(content: list[memoryview]) -> Optional[int]:
    """A nameless file with this content, or None where none can be had.

    First one of a file system: ext4 and xfs keep it in larger pages than memory files have.
    """
    for make in (_in_folder, _in_memory):
        try:
            fd = make()
        except (AttributeError, OSError):
            continue
        try:
            if os.writev(fd, content) == sum(map(len, content)):
                return fd
        except OSError:
            pass
        os.close(fd)
    return None


def _in_folder() -> int:
    folder = os.environ.get("TMPDIR") or "/tmp"
    return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _in_memory() -> int:
    return os.memfd_create("payload")
