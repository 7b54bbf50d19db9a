"""The control connection's socket: non-blocking, bounded, closed so that the last bytes arrive."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from typing import NamedTuple, Optional

from .errors import EngineError

READ_BYTES = 65536
LOOK_S = 0.1
MOST_DROPPED_READS = 16
_IDLE_CODE = 156  # iperf3's error for the first of the three, its neighbours for the others


class KeepAlive(NamedTuple):
    """When the kernel asks a silent peer, and how often; 0 for what we choose ourselves."""

    idle_s: int = 0
    every_s: int = 0
    tries: int = 0


USUAL = KeepAlive(10, 5, 6)


class ControlSocket:
    """Reads and writes a control connection without ever blocking."""

    def __init__(self, sock: socket.socket, keep_alive: KeepAlive = USUAL) -> None:
        self.sock = sock
        self.errno = 0  # why the connection broke, 0 while it stands or when the peer closed it
        self._out = b""
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(sock, keep_alive)

    def fileno(self) -> int:
        return self.sock.fileno()

    def read(self) -> Optional[bytes]:
        """What has arrived: b"" at the end of the connection, None when nothing waits.

        After b"" `errno` tells whether the peer closed it (0) or it broke.
        """
        try:
            return self.sock.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError as error:
            self.errno = self.errno or error.errno or 0
            return b""

    def peek(self) -> Optional[bytes]:
        """The first byte that waits, left to be read; b"" and None as `read` gives them."""
        try:
            return self.sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def write(self, data: bytes) -> None:
        """Send now what the kernel takes and keep the rest; a broken connection drops it."""
        self._out += data
        while self._out:
            try:
                sent = self.sock.send(self._out)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self._out = b""
                return
            self._out = self._out[sent:]

    @property
    def poll_events(self) -> int:
        """What to poll the socket for."""
        return select.POLLIN | (select.POLLOUT if self._out else 0)

    def half_close(self) -> None:
        """Say that nothing more follows; what the peer still sends may be read and dropped."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def linger(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> None:
        """Read and drop until the peer closes, so that no reset destroys our last bytes.

        It takes `seconds` at most, and ends soon after `stopped` says so.
        """
        deadline_s = time.monotonic() + seconds
        poll = select.poll()
        while not stopped():
            poll.register(self.sock, self.poll_events)
            left_s = min(LOOK_S, deadline_s - time.monotonic())
            if left_s <= 0:
                return
            if poll.poll(left_s * 1000):
                self.write(b"")
                if self.read() == b"":
                    return

    def drop_unread(self) -> None:
        """Read and drop what waits now: a close with unread bytes would send a reset, and that
        can destroy at the peer what was written last."""
        for _ in range(MOST_DROPPED_READS):
            if not self.read():
                return

    def close(self) -> None:
        self.sock.close()


def check_keep_alive(asked: KeepAlive) -> None:
    """Raise EngineError 156 to 158 when the system cannot do what is asked."""
    with socket.socket() as sock:
        _keep_alive(sock, asked)


def _keep_alive(sock: socket.socket, asked: KeepAlive) -> None:
    """Let the kernel notice a peer, or a firewall's memory of it, that is gone (RFC 9293 3.8.4).

    Raises EngineError 156 to 158 for what was asked for and cannot be had.
    """
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
    for index, name in enumerate(names):
        value, usual = asked[index], USUAL[index]
        try:
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value or usual)
        except (AttributeError, OSError) as error:
            if value not in (0, usual):
                raise EngineError.from_code(
                    _IDLE_CODE + index, getattr(error, "errno", 0) or 0
                ) from None
