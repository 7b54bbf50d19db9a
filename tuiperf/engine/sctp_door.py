"""The server's SCTP port while a test's streams open.

It is open for that time alone, beside the TCP listener, which goes on hearing who else comes.
"""

from __future__ import annotations

import contextlib
import hmac
import socket

from . import protocol, sctp
from .errors import EngineError, os_words
from .sockets import LocalEnd, TcpOptions, apply_options, bind_local

LISTEN_CODE = 202
MOST_GUESTS = 160
_BACKLOG = 128


class SctpDoor:
    """Hands out each association that shows the test's cookie; others hear that they may not.

    `at` is where the control connection arrived. Raises EngineError 18 or 202.
    """

    def __init__(
        self, at: socket.socket, listen: LocalEnd, cookie: bytes, options: TcpOptions
    ) -> None:
        self._cookie = cookie
        self._guests: dict[socket.socket, bytes] = {}
        self._sock = sctp.stream_socket(at.family)
        try:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if at.family == socket.AF_INET6:
                self._sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, bool(listen.host))
            any_host = "::" if at.family == socket.AF_INET6 else "0.0.0.0"
            where = listen._replace(host=listen.host or any_host, port=at.getsockname()[1])
            bind_local(self._sock, where, LISTEN_CODE)
            apply_options(self._sock, options)
            self._sock.listen(_BACKLOG)
            self._sock.setblocking(False)
        except OSError as error:
            self._sock.close()
            text = f"unable to start stream listener: {os_words(error.errno or 0)}"
            raise EngineError(LISTEN_CODE, text, error.errno or 0) from None
        except EngineError:
            self._sock.close()
            raise

    @property
    def sockets(self) -> list[socket.socket]:
        """What to poll."""
        return [self._sock, *self._guests]

    def accept(self, most: int) -> list[socket.socket]:
        """The associations, `most` of them, whose cookie has come."""
        with contextlib.suppress(BlockingIOError, InterruptedError, ConnectionError):
            while len(self._guests) < MOST_GUESTS:
                guest = self._sock.accept()[0]
                guest.setblocking(False)
                self._guests[guest] = b""
        taken: list[socket.socket] = []
        for guest in list(self._guests):
            if len(taken) < most and self._shows_cookie(guest):
                del self._guests[guest]
                taken.append(guest)
        return taken

    def _shows_cookie(self, guest: socket.socket) -> bool:
        data = b""
        try:
            data = guest.recv(protocol.COOKIE_BYTES - len(self._guests[guest]))
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            pass
        self._guests[guest] += data
        if data and len(self._guests[guest]) < protocol.COOKIE_BYTES:
            return False
        if hmac.compare_digest(self._guests[guest], self._cookie):
            return True
        del self._guests[guest]
        with contextlib.suppress(OSError):
            guest.send(protocol.Wire.ACCESS_DENIED.byte)
        guest.close()
        return False

    def close(self) -> None:
        """Close the port, and who has not shown a cookie."""
        for sock in self.sockets:
            sock.close()
        self._guests.clear()
