"""sendmmsg(2) and recvmmsg(2): many datagrams with one system call, through ctypes.

The structures are laid out as <sys/socket.h> has them, in memory that the kernel reads and writes
in place: they are built once, a call then costs about a microsecond whatever it carries.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any

MSG_WAITFORONE = 0x10000
"""Wait for the first message only, then take what is there (recvmmsg(2))."""

# struct mmsghdr: msg_name, msg_namelen, msg_iov, msg_iovlen, msg_control, msg_controllen,
# msg_flags; then msg_len, how much was sent or received.
_HEADER = struct.Struct("@PIPNPNi0PI0P")
_PARTS_AT = struct.calcsize("@PIP")
_LENGTH_AT = struct.calcsize("@PIPNPNi0P")
_PART = struct.Struct("@PN")  # struct iovec: address, length

_ctypes: Any = None
_sendmmsg: Any = None
_recvmmsg: Any = None


def load() -> bool:
    """Find the calls now, in the parent, so that workers need not. False where there are none."""
    global _ctypes, _sendmmsg, _recvmmsg
    if _ctypes is None:
        try:
            import ctypes

            library = ctypes.CDLL(None, use_errno=True)
            sending, receiving = library.sendmmsg, library.recvmmsg
        except (ImportError, OSError, AttributeError):
            return False
        number, pointer = ctypes.c_int, ctypes.c_void_p
        sending.argtypes = [number, pointer, ctypes.c_uint, number]
        receiving.argtypes = [number, pointer, ctypes.c_uint, number, pointer]
        _ctypes, _sendmmsg, _recvmmsg = ctypes, sending, receiving
    return True


class Part:
    """A piece of a writable buffer that a message is made of, or is received into."""

    def __init__(self, buffer: bytearray, start: int, length: int) -> None:
        self.buffer = buffer
        self.start = start
        self.length = length


class Messages:
    """An array of messages, each a list of parts. Needs `load()` to have returned True."""

    def __init__(self, messages: Sequence[Sequence[Part]]) -> None:
        addresses: dict[int, int] = {}
        self._kept: list[Any] = []  # the buffers must stay where they are
        parts = bytearray(_PART.size * sum(len(message) for message in messages))
        headers = bytearray(_HEADER.size * len(messages))
        parts_at, offset = self._address(parts), 0
        self._headers_at = self._address(headers)
        for index, message in enumerate(messages):
            place = (index * _HEADER.size, 0, 0, parts_at + offset, len(message), 0, 0, 0, 0)
            _HEADER.pack_into(headers, *place)
            for part in message:
                key = id(part.buffer)
                if key not in addresses:
                    addresses[key] = self._address(part.buffer)
                _PART.pack_into(parts, offset, addresses[key] + part.start, part.length)
                offset += _PART.size
        words, step = memoryview(headers), _HEADER.size
        self.lengths = words.cast("I")[_LENGTH_AT // 4 :: step // 4]
        """What each message carried, once sent or received."""
        word = struct.calcsize("@P")  # as wide as size_t
        self._part_counts = words.cast("P")[_PARTS_AT // word :: step // word]
        self._part_sizes = memoryview(parts).cast("P")[1::2]

    def _address(self, buffer: bytearray) -> int:
        held = _ctypes.c_char.from_buffer(buffer)
        self._kept += (buffer, held)
        return int(_ctypes.addressof(held))

    def use_parts(self, index: int, count: int) -> None:
        """Let a message consist of its first `count` parts only."""
        self._part_counts[index] = count

    def resize_part(self, number: int, length: int) -> None:
        """Change the length of a part; parts are numbered through all messages."""
        self._part_sizes[number] = length

    def send(self, fd: int, count: int) -> int:
        """Send the first `count` messages; returns how many went. Raises OSError if none did."""
        sent: int = _sendmmsg(fd, self._headers_at, count, 0)
        return sent if sent >= 0 else self._fail()

    def receive(self, fd: int, count: int, flags: int) -> int:
        """Receive up to `count` messages; returns how many came. Raises OSError if none did."""
        received: int = _recvmmsg(fd, self._headers_at, count, flags, None)
        return received if received >= 0 else self._fail()

    def _fail(self) -> int:
        number = _ctypes.get_errno()
        raise OSError(number, os.strerror(number))
