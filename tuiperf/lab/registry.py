"""Labs with a name, found by the abstract Unix sockets on which their keepers listen.

An abstract socket is gone with its process, so nothing stale can be left. Since anyone may make or
use one, each end asks the kernel who the other one is (SO_PEERCRED, unix(7)).
"""

from __future__ import annotations

import errno
import os
import re
import socket
import struct
from pathlib import Path

from tuiperf.lab.errors import LabError

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}\Z", re.IGNORECASE)
_ANSWER_S = 10.0


def _prefix() -> str:
    return f"tuiperf-lab-{os.geteuid()}-"


def check_name(name: str) -> str:
    """The name as it is. Raises LabError when it cannot be one."""
    if not _NAME.match(name):
        raise LabError(f"{name[:60]!r} cannot name a lab: letters, digits, '-', '_' and '.' can")
    return name


def listen(name: str) -> socket.socket:
    """The socket of a new lab. Raises LabError when there is one of this name."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        sock.bind(f"\0{_prefix()}{check_name(name)}")
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise LabError(f"a lab {name!r} is up already; 'tuiperf lab down {name}'") from None
        raise LabError(f"the lab {name!r} cannot listen: {error.strerror}") from None
    sock.listen(8)
    return sock


def connect(name: str) -> socket.socket | None:
    """A connection to the keeper of this lab, None when no such lab is up."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.settimeout(_ANSWER_S)
    try:
        sock.connect(f"\0{_prefix()}{check_name(name)}")
    except OSError:
        sock.close()
        return None
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    if uid != os.geteuid():
        sock.close()
        raise LabError(f"the lab {name!r} belongs to another user, who took your name for it")
    return sock


def names() -> list[str]:
    """The names of the labs that are up."""
    try:
        table = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    marker = f"@{_prefix()}"
    found = (line.rpartition(marker)[2] for line in table.splitlines() if marker in line)
    return sorted({name for name in found if _NAME.match(name)})
