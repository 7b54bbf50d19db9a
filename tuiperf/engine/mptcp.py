"""-m: data connections that may use several paths (MPTCP, RFC 8684)."""

from __future__ import annotations

import socket
import struct
import sys

from .errors import EngineError, os_words

NO_MPTCP_CODE = 131

# include/uapi/linux/in.h, socket.h and mptcp.h; Python names them only in part.
IPPROTO_MPTCP = 262
_SOL_MPTCP, _MPTCP_INFO = 284, 1
_INFO_HEAD = struct.Struct("=8BI")  # struct mptcp_info up to its flags
_FALLBACK = 1
_SO_PROTOCOL = 38


def stream_socket(family: int, mptcp: bool) -> socket.socket:
    """A TCP socket, or one of MPTCP. Raises EngineError 131 where the kernel has none."""
    if not mptcp:
        return socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "linux":
        raise EngineError(NO_MPTCP_CODE, "this system has no MPTCP")
    try:
        return socket.socket(family, socket.SOCK_STREAM, IPPROTO_MPTCP)
    except OSError as error:
        why = os_words(error.errno or 0)
        text = f"this kernel has no MPTCP, or net.mptcp.enabled is 0: {why}"
        raise EngineError(NO_MPTCP_CODE, text, error.errno or 0) from None


def in_use(sock: socket.socket) -> bool:
    """True while a connected socket really speaks MPTCP, False once it is plain TCP."""
    try:
        if sock.getsockopt(socket.SOL_SOCKET, _SO_PROTOCOL) != IPPROTO_MPTCP:
            return False
        head = sock.getsockopt(_SOL_MPTCP, _MPTCP_INFO, _INFO_HEAD.size)
    except OSError:
        return False
    return len(head) == _INFO_HEAD.size and not _INFO_HEAD.unpack(head)[-1] & _FALLBACK
