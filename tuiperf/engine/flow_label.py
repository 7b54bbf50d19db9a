"""-L: the IPv6 flow label of what is sent (RFC 6437)."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Any

from .errors import EngineError, os_words

FLOW_LABEL_CODE = 127

# include/uapi/linux/in6.h: struct in6_flowlabel_req, and what goes with it.
_IPV6_FLOWLABEL_MGR, _IPV6_FLOWINFO_SEND = 32, 33
_REQUEST = struct.Struct("=16s4sBBHHHI")
_GET, _SHARE_ANY, _CREATE = 0, 255, 1


def set_label(sock: socket.socket, sockaddr: Any, label: int) -> tuple[Any, ...]:
    """Lease a flow label from the kernel for a socket; the address to connect to with it.

    Raises EngineError 127: not IPv6, no such option, a label that another user holds.
    """
    if sys.platform != "linux":
        raise EngineError(FLOW_LABEL_CODE, "this system does not let a program set flow labels")
    host, port, *rest = sockaddr
    if sock.family != socket.AF_INET6 or str(host).lower().startswith("::ffff:"):
        text = f"unable to set IPv6 flow label: {host} is not an IPv6 address"
        raise EngineError(FLOW_LABEL_CODE, text)
    request = _REQUEST.pack(
        socket.inet_pton(socket.AF_INET6, str(host).partition("%")[0]),
        label.to_bytes(4, "big"),
        _GET,
        _SHARE_ANY,
        _CREATE,
        0,
        0,
        0,
    )
    try:
        sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_FLOWLABEL_MGR, request)
        sock.setsockopt(socket.IPPROTO_IPV6, _IPV6_FLOWINFO_SEND, 1)
    except OSError as error:
        text = f"unable to set IPv6 flow label {label}: {os_words(error.errno or 0)}"
        raise EngineError(FLOW_LABEL_CODE, text, error.errno or 0) from None
    return (host, port, label, rest[1])
