"""What a TCP sender sends, and how the kernel gets it: pages lent, or bytes copied.

Lending (sendfile(2) from a file that only memory holds) spares the copy that fills a core at high
speed; iperf3 does the same with -Z. Copying hands over a small, cache-warm piece several times with
one writev(2).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial
from typing import Optional

_UNIT_BYTES = 131072
_DIGITS = b"0123456789"
_LARGE_BLOCK_UNIT_BYTES = _UNIT_BYTES // len(_DIGITS) * len(_DIGITS)
_CANNOT_LEND = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO}


class Payload:
    """Blocks of payload, one after the other.

    `lend` lends pages instead of copying bytes where the system can. `on_disk` takes them from
    a nameless file beside iperf3's own, whose pages may be larger (ext4, xfs), not from memory.
    """

    def __init__(
        self, block_bytes: int, repeating: bool = False, lend: bool = True, on_disk: bool = False
    ) -> None:
        size = block_bytes if block_bytes <= _UNIT_BYTES else _LARGE_BLOCK_UNIT_BYTES
        block = _DIGITS * (size // len(_DIGITS) + 1) if repeating else os.urandom(size)
        self._unit = memoryview(block[:size] * (_UNIT_BYTES // size))
        self._file = _holding(self._unit, on_disk) if lend else None
        self._taken = False  # the socket has taken pages

    def writing(self, fd: int, size: int) -> Callable[[], int]:
        """A call that hands the kernel up to `size` bytes for the socket `fd` and returns how many.

        Raises what write(2) raises.
        """
        if self._file is None:
            return partial(os.writev, fd, self._pieces(size))
        lend = os.sendfile if self._taken else self._lend_or_copy
        return partial(lend, fd, self._file, 0, min(size, len(self._unit)))

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


def _holding(content: memoryview, on_disk: bool) -> Optional[int]:
    """A nameless file with this content, or None where none can be had."""
    for make in (_on_disk, _in_memory) if on_disk else (_in_memory, _on_disk):
        try:
            fd = make()
        except (AttributeError, OSError):
            continue
        try:
            if os.write(fd, content) == len(content):
                return fd
        except OSError:
            pass
        os.close(fd)
    return None


def _in_memory() -> int:
    return os.memfd_create("payload")


def _on_disk() -> int:
    folder = os.environ.get("TMPDIR") or "/tmp"
    return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
