"""Looking a name up in a process of its own: the system's call cannot be told to stop waiting.

With a name server that does not answer it takes up to half a minute, and no signal ends it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Any, NoReturn

from . import prctl
from .errors import EngineError
from .sockets import Address, printable, resolve

LOOK_S = 0.1
MAX_ANSWER_BYTES = 64 * 1024


def look_up(
    host: str, port: int, family: int, code: int, check: Callable[[], None] | None = None
) -> Address:
    """Resolve as sockets.resolve does, with `code` in its errors.

    `check` is called ten times a second meanwhile and ends the wait by raising.
    """
    if _is_numeric(host):
        return resolve(host, port, family, code)
    prctl.load()
    reader, writer = os.pipe()
    try:
        child = os.fork()
        if child == 0:
            _answer(writer, host, port, family, code)
        os.close(writer)
        writer = -1
        try:
            answer = _read(reader, check)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    except OSError as error:
        raise EngineError(code, f"cannot look {printable(host)} up: {error.strerror}") from None
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)
    return _address(answer, host, port, code)


def _is_numeric(host: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return bool(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST))
    return False


def _answer(writer: int, host: str, port: int, family: int, code: int) -> NoReturn:
    """In the child: write the address or the error, and end."""
    try:
        prctl.die_with_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the parent heeds them, and ends this process
        answer: dict[str, Any]
        try:
            found = resolve(host, port, family, code)
            answer = {"family": int(found.family), "sockaddr": list(found.sockaddr)}
        except EngineError as error:
            answer = {"text": error.text, "errno": error.errno}
        os.write(writer, json.dumps(answer).encode())
    finally:
        os._exit(0)


def _read(reader: int, check: Callable[[], None] | None) -> bytes:
    data = b""
    while len(data) < MAX_ANSWER_BYTES:
        if select.select([reader], [], [], LOOK_S)[0]:
            more = os.read(reader, MAX_ANSWER_BYTES)
            if not more:
                break
            data += more
        elif check:
            check()
    return data


def _address(answer: bytes, host: str, port: int, code: int) -> Address:
    try:
        found = json.loads(answer)
    except ValueError:
        raise EngineError(code, f"the look-up of {printable(host)} broke off") from None
    if "text" in found:
        raise EngineError(code, found["text"], found["errno"])
    return Address(host, port, found["family"], tuple(found["sockaddr"]))
