"""Talk with a keeper: one JSON object a packet, descriptors beside it where there are any."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from tuiperf.lab.errors import LabEndedError, LabSilentError

MAX_BYTES = 1 << 17
_MAX_FDS = 4

Json = dict[str, Any]


def send(sock: socket.socket, message: Json, fds: Sequence[int] = ()) -> None:
    """Send one message. Raises OSError when nobody is there."""
    socket.send_fds(sock, [json.dumps(message).encode()], list(fds))


def receive(sock: socket.socket) -> tuple[Json, list[int]]:
    """The next message and its descriptors. Raises LabEndedError when the other end is gone.

    Raises LabSilentError when nothing comes within the socket's time.
    """
    try:
        data, fds, _, _ = socket.recv_fds(sock, MAX_BYTES, _MAX_FDS)
    except TimeoutError:
        raise LabSilentError("the lab does not answer") from None
    except OSError:
        data, fds = b"", []
    if not data:
        raise LabEndedError("the lab has ended")
    try:
        message = json.loads(data)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise LabEndedError("the lab speaks another language: is it of another version?")
    return message, fds


def ask(sock: socket.socket, message: Json) -> tuple[Json, list[int]]:
    """Send one message and wait for its answer. Raises LabEndedError."""
    try:
        send(sock, message)
    except OSError:
        raise LabEndedError("the lab has ended") from None
    return receive(sock)
