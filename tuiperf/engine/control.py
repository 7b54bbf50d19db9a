"""The control connection's socket: non-blocking, bounded, closed so that the last bytes arrive."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from typing import Optional

READ_BYTES = 65536
LOOK_S = 0.1
MOST_DROPPED_READS = 16
KEEPALIVE_IDLE_S, KEEPALIVE_EVERY_S, KEEPALIVE_TRIES = 10, 5, 6


class ControlSocket:
    """Reads and writes a control connection without ever blocking."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.errno = 0  # why the connection broke, 0 while it stands or when the peer closed it
        self._out = b""
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(sock)

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


def _keep_alive(sock: socket.socket) -> None:
    """Let the kernel notice a peer, or a firewall's memory of it, that is gone (RFC 9293 3.8.4)."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", KEEPALIVE_IDLE_S),
            ("TCP_KEEPINTVL", KEEPALIVE_EVERY_S),
            ("TCP_KEEPCNT", KEEPALIVE_TRIES),
        ):
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
