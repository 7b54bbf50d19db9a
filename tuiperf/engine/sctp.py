"""SCTP data connections in the style of TCP's (RFC 9260, RFC 6458 section 4): sockets, options."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

from .errors import EngineError, os_words

NO_SCTP_CODE = 18
MIN_MSS_BYTES, MAX_MSS_BYTES = 512, 131072

PROTOCOL = 132
_SOL_SCTP = 132
# include/uapi/linux/sctp.h
_INITMSG, _NODELAY, _MAXSEG, _BINDX_ADD = 2, 3, 13, 100
_INITMSG_FIELDS = struct.Struct("=4H")  # struct sctp_initmsg: streams out and in, tries, timeout
_SOCKADDR_IN = struct.Struct("=H2s4s8x")
_SOCKADDR_IN6 = struct.Struct("=H2sI16sI")


def stream_socket(family: int) -> socket.socket:
    """A socket for one association. Raises EngineError 18 where the kernel has no SCTP."""
    try:
        return socket.socket(family, socket.SOCK_STREAM, PROTOCOL)
    except OSError as error:
        why = os_words(error.errno or 0)
        text = f"no SCTP support available on this host: {why} (on Linux: modprobe sctp)"
        raise EngineError(NO_SCTP_CODE, text, error.errno or 0) from None


def check() -> None:
    """Raise EngineError 18 where the kernel has no SCTP."""
    stream_socket(socket.AF_INET).close()


def set_nodelay(sock: socket.socket) -> None:
    """Send each message at once. Raises EngineError 122."""
    _set(sock, _NODELAY, struct.pack("=i", 1), 122)


def set_mss(sock: socket.socket, mss_bytes: int) -> None:
    """Limit the size of a piece of a message. Raises EngineError 123."""
    if not MIN_MSS_BYTES <= mss_bytes <= MAX_MSS_BYTES:
        text = f"an MSS of SCTP is {MIN_MSS_BYTES} to {MAX_MSS_BYTES} bytes, not {mss_bytes}"
        raise EngineError(123, text)
    _set(sock, _MAXSEG, struct.pack("=i", mss_bytes), 123)


def set_streams(sock: socket.socket, streams: int) -> None:
    """Ask for so many outgoing streams in the association. Raises EngineError 138."""
    _set(sock, _INITMSG, _INITMSG_FIELDS.pack(streams, 0, 0, 0), 138)


def bind_addresses(sock: socket.socket, names: Sequence[str], port: int = 0) -> None:
    """Bind an association to several addresses of this host (sctp_bindx(3)).

    The first goes by bind(2), which settles the port for all. Raises EngineError 139.
    """
    try:
        for index, name in enumerate(names):
            found = socket.getaddrinfo(name, port, sock.family, socket.SOCK_STREAM)[0][4]
            if index:
                packed = pack_address(sock.family, found)
                sock.setsockopt(_SOL_SCTP, _BINDX_ADD, packed)
            else:
                sock.bind(found)
                port = int(sock.getsockname()[1])
    except (OSError, ValueError) as error:
        text = f"unable to process sctp_bindx() parameters: {name!a}: {error}"
        raise EngineError(139, text, getattr(error, "errno", 0) or 0) from None


def pack_address(family: int, sockaddr: Sequence[object]) -> bytes:
    """A socket address as the kernel lays it out: struct sockaddr_in or sockaddr_in6."""
    host, port = str(sockaddr[0]), int(str(sockaddr[1])).to_bytes(2, "big")
    if family == socket.AF_INET6:
        scope = int(str(sockaddr[3]))
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        return _SOCKADDR_IN6.pack(socket.AF_INET6, port, 0, packed, scope)
    return _SOCKADDR_IN.pack(socket.AF_INET, port, socket.inet_aton(host))


def _set(sock: socket.socket, option: int, value: bytes, code: int) -> None:
    try:
        sock.setsockopt(_SOL_SCTP, option, value)
    except OSError as error:
        raise EngineError.from_code(code, error.errno or 0) from None
