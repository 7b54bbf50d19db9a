"""The server's listening socket: opened once, what a test changes on it taken back after it."""

from __future__ import annotations

import contextlib
import socket
from dataclasses import replace
from typing import Any

from . import mptcp
from .errors import EngineError, os_words
from .sockets import (
    LocalEnd,
    address_text,
    bind_local,
    congestion_used,
    resolve,
    set_congestion,
    set_mss,
)
from .spec import ServerSpec

BACKLOG = 256
LISTEN_CODE = 102


class Listener:
    """Listens on IPv6 and IPv4 at once, unless a family or an address was asked for.

    Raises EngineError 102 with what is wrong: port in use, no such address, no permission.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._mptcp = spec.mptcp
        self._sock, both = _listen(spec)
        name = self._sock.getsockname()
        self.port = int(name[1])
        self.addresses = ("0.0.0.0", "::") if both else (address_text(name),)
        self._congestion = congestion_used(self._sock)
        self._changed = False
        self._early: list[tuple[socket.socket, Any]] = []

    def fileno(self) -> int:
        return self._sock.fileno()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept without waiting; raises as socket.accept does."""
        return self._early.pop(0) if self._early else self._sock.accept()

    @property
    def holds_some(self) -> bool:
        """True while connections wait here of which the descriptor does not tell."""
        return bool(self._early)

    def prepare(self, mss_bytes: int, congestion: str, use_mptcp: bool = False) -> None:
        """Let the connections from now on begin with these options, 0 and "" for the defaults.

        Connections inherit them from their listener, tcp(7); set later they come too late: the MSS
        is agreed in the handshake, and congestion control keeps traces of its forerunner. Raises
        EngineError 123 (MSS), 131 (no MPTCP), or 134 (congestion control) when all else is done.
        """
        if use_mptcp and not self._mptcp:
            mptcp.stream_socket(socket.AF_INET, True).close()
            self._open_again(True)
        self._changed = bool(mss_bytes or congestion)
        if mss_bytes:
            set_mss(self._sock, mss_bytes)
        if congestion:
            set_congestion(self._sock, congestion)

    def restore(self) -> None:
        """Take back what `prepare` did."""
        if self._mptcp and not self._spec.mptcp:
            with contextlib.suppress(EngineError):  # MPTCP's takes those of TCP as well
                self._open_again(False)
        if self._changed:
            self._changed = False
            with contextlib.suppress(EngineError):
                set_mss(self._sock, 0)
            if self._congestion:
                with contextlib.suppress(EngineError):
                    set_congestion(self._sock, self._congestion)

    def _open_again(self, use_mptcp: bool) -> None:
        """Listen at the same place by the other protocol.

        Both listen for a moment, so that nobody is refused meanwhile (SO_REUSEPORT, socket(7));
        who had come to the first is kept. Raises EngineError 102, and then listens as before.
        """
        spec = replace(self._spec, port=self.port, mptcp=use_mptcp)
        before = self._sock
        before.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            self._sock, _ = _listen(spec, shared=True)
        finally:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 0)
        with contextlib.suppress(OSError):
            while True:
                self._early.append(before.accept())
        before.close()
        self._mptcp, self._changed = use_mptcp, False

    def close(self) -> None:
        for sock, _ in self._early:
            sock.close()
        self._sock.close()


def _listen(spec: ServerSpec, shared: bool = False) -> tuple[socket.socket, bool]:
    """The socket, and whether it takes both families; `shared` with another one there."""
    family = int(socket.AF_INET if spec.family == 4 else socket.AF_INET6)
    if spec.bind_host:
        asked = family if spec.family else int(socket.AF_UNSPEC)
        family = resolve(spec.bind_host, spec.port, asked, LISTEN_CODE).family
    elif not spec.family and not socket.has_dualstack_ipv6():
        family = int(socket.AF_INET)
    six = family == socket.AF_INET6
    both = six and not spec.family and not spec.bind_host
    sock = mptcp.stream_socket(family, spec.mptcp)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if six:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
        host = spec.bind_host or ("::" if six else "0.0.0.0")
        bind_local(sock, LocalEnd(host, spec.bind_device, spec.port), LISTEN_CODE)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        text = f"unable to start listener for connections: {os_words(error.errno or 0)}"
        raise EngineError(LISTEN_CODE, text, error.errno or 0) from None
    except EngineError:
        sock.close()
        raise
    return sock, both
