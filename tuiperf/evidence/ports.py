"""Whether a host's port is open, refused or filtered, and which server answers there."""

from __future__ import annotations

import errno
import secrets
import socket
import time
from dataclasses import dataclass
from enum import Enum

from . import probing
from .gaps import reason

# iperf3's states (iperf_api.h); the first byte that its server says after a cookie.
_PARAM_EXCHANGE, _ACCESS_DENIED = 9, 0xFF
_COOKIE_CHARACTERS = "abcdefghijklmnopqrstuvwxyz234567"
_BANNER_BYTES = 64
_AS_REQUEST = b" / HTTP/1.0\r\n\r\n"
"""It makes the cookie before it a request line, which a web server refuses in its own words."""
_KINDS = (("SSH-", "an SSH server"), ("HTTP/", "a web server"), ("220 ", "a mail or FTP server"))


class PortState(Enum):
    """What a connection meets."""

    OPEN = "open"
    REFUSED = "refused"  # the host is there, nothing listens (or a firewall says no)
    FILTERED = "filtered"  # nothing at all comes back
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class Port:
    """One port. `server` says in words who answers, `rtt_ms` is the time of the handshake."""

    number: int
    state: PortState
    server: str = ""
    rtt_ms: float | None = None
    detail: str = ""
    speaks_iperf3: bool = False
    busy: bool = False


def look(address: str, number: int, *, wait_s: float = 1.0, ask: bool = True) -> Port:
    """Connect and see; `ask` begins iperf3's greeting to learn who answers.

    A server that was started for one test alone (-1) takes any connection for it, and ends.
    """
    begun_s = time.monotonic()
    try:
        with socket.socket(probing.family_of(address), socket.SOCK_STREAM) as probe:
            probe.settimeout(wait_s)
            probe.connect(probing.place(address, number))
            rtt_ms = (time.monotonic() - begun_s) * 1e3
            answer = _greet(probe, min(wait_s, 0.6)) if ask else None
            return opened(number, rtt_ms, answer, asked=ask)
    except TimeoutError:
        return Port(number, PortState.FILTERED, detail=f"no answer within {wait_s:g} s")
    except ConnectionRefusedError:
        return Port(number, PortState.REFUSED, rtt_ms=(time.monotonic() - begun_s) * 1e3)
    except OSError as error:
        forbidden = error.errno in (errno.EACCES, errno.EPERM)
        state = PortState.FILTERED if forbidden else PortState.UNREACHABLE
        why = "a firewall on this host forbids it" if forbidden else reason(error)
        return Port(number, state, detail=why)


def _greet(probe: socket.socket, wait_s: float) -> bytes | None:
    """What the server says first, or after a cookie; b"" when it closes, None when it is silent."""
    probe.settimeout(min(0.15, wait_s))
    try:
        return probe.recv(_BANNER_BYTES)
    except TimeoutError:
        pass
    except OSError:
        return b""
    cookie = "".join(secrets.choice(_COOKIE_CHARACTERS) for _ in range(36)) + "\0"
    probe.settimeout(wait_s)
    for question in (cookie.encode(), _AS_REQUEST):
        try:
            probe.sendall(question)
            return probe.recv(_BANNER_BYTES)
        except TimeoutError:
            continue
        except OSError:
            return b""
    return None


def opened(number: int, rtt_ms: float, answer: bytes | None, *, asked: bool = True) -> Port:
    """An open port by what its server said; None stands for silence."""
    if not asked:
        return Port(number, PortState.OPEN, "", rtt_ms)
    if answer is None:
        return Port(number, PortState.OPEN, "it is silent: iperf2, or no iperf3 server", rtt_ms)
    if answer == b"":
        return Port(number, PortState.OPEN, "it closes at once: no iperf3 server", rtt_ms)
    if answer[0] == _PARAM_EXCHANGE and len(answer) == 1:
        return Port(number, PortState.OPEN, "an iperf3 server", rtt_ms, speaks_iperf3=True)
    if answer[0] == _ACCESS_DENIED and len(answer) == 1:
        server = "an iperf3 server, busy with another test"
        return Port(number, PortState.OPEN, server, rtt_ms, speaks_iperf3=True, busy=True)
    first = answer.split(b"\n", 1)[0].decode("ascii", "backslashreplace").strip()
    kind = next((words for begin, words in _KINDS if first.startswith(begin)), "no iperf3 server")
    return Port(number, PortState.OPEN, f"{kind}: it says '{first[:40]}'", rtt_ms)
