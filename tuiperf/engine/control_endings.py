"""What ended a control connection, in words: iperf3's number and text, and the likely cause."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple, Optional

from tuiperf.engine import strangers
from tuiperf.engine.control_table import LIMITS
from tuiperf.engine.control_words import Role, State, Trigger
from tuiperf.engine.errors import EngineError, os_words
from tuiperf.engine.framing import JsonObject

HEARD_BYTES = 37
"""How many of a stranger's first bytes are enough: a cookie's length, more than iperf2 says."""
NUMBERS_BYTES = 8


class Ending(NamedTuple):
    """What happened: in which state, by which trigger, and what the trigger carried.

    `content` is the byte of OTHER_BYTE, the words of BAD_JSON, the errno of EOF.
    """

    role: Role
    state: State
    trigger: Trigger
    content: Any
    waited_s: Optional[float]

    @property
    def peer(self) -> str:
        """The other side, as a word."""
        return "server" if self.role is Role.CLIENT else "client"


def identify_stranger(first_bytes: bytes, role: Role) -> Optional[str]:
    """Words for a peer that is not iperf3, from its first bytes (b"" = silence), or None.

    `role` is this side's: a CLIENT asks about a server, a SERVER about a client.
    """
    if role is Role.CLIENT:
        return strangers.identify_server(first_bytes)
    return strangers.identify_client(first_bytes)


def explain(ending: Ending, heard: bytes, parameters: JsonObject) -> EngineError:
    """The error for an ending; `heard` is what had come in the state and was not yet used."""
    if ending.state is State.ERROR_NUMBERS:
        return _server_error(heard)
    if ending.state is State.STRANGER:
        return _stranger(ending, heard)
    by_trigger = {
        Trigger.EOF: lambda: _closed(ending, heard, parameters),
        Trigger.TIMEOUT: lambda: _late(ending, heard),
        Trigger.BAD_JSON: lambda: _bad_json(ending),
        Trigger.ACCESS_DENIED: lambda: EngineError.from_code(121),
        Trigger.SERVER_TERMINATE: lambda: EngineError.from_code(120),
        Trigger.CLIENT_TERMINATE: lambda: EngineError.from_code(119),
        Trigger.IPERF_DONE: lambda: EngineError.from_code(
            119, hint="it gave up: it met an error of its own"
        ),
    }
    build = by_trigger.get(ending.trigger) if _has_its_own_words(ending) else None
    return build() if build else _unexpected(ending, parameters)


def _has_its_own_words(ending: Ending) -> bool:
    """Whether the trigger means the same in every state of the role."""
    foreign = {
        Role.CLIENT: (Trigger.CLIENT_TERMINATE, Trigger.IPERF_DONE),
        Role.SERVER: (Trigger.ACCESS_DENIED, Trigger.SERVER_TERMINATE),
    }
    return ending.trigger not in foreign[ending.role]


def _server_error(numbers: bytes) -> EngineError:
    """SERVER_ERROR with two, one or no 32-bit number behind it; all three occur."""
    code = struct.unpack_from(">i", numbers)[0] if len(numbers) >= 4 else 0
    errno = struct.unpack_from(">i", numbers, 4)[0] if len(numbers) >= NUMBERS_BYTES else 0
    if code == 0:
        return EngineError(112, "the server reported an error but not which", errno)
    return EngineError.from_code(code, errno)


def _stranger(ending: Ending, heard: bytes) -> EngineError:
    who = identify_stranger(heard, ending.role)
    hint = f"this is {who}" if who else f"this is not an iperf3 {ending.peer}"
    return EngineError.from_code(110, hint=hint)


def _closed(ending: Ending, heard: bytes, parameters: JsonObject) -> EngineError:
    errno = int(ending.content or 0)
    if ending.role is Role.SERVER:
        return _client_left(ending, heard, errno)
    awaited = LIMITS[ending.role][ending.state].awaited
    cause = _why_the_server_closed(ending.state, parameters)
    reason = os_words(errno)
    hint = f"{reason}, while {awaited} was awaited" if reason else f"{awaited} was awaited"
    return EngineError.from_code(109, errno, f"{hint}; {cause}")


def _why_the_server_closed(state: State, parameters: JsonObject) -> str:
    if state is State.GREETING:
        return "the server may be between two tests, or it is not an iperf3 server"
    if state is State.PARAMETERS and "authtoken" in parameters:
        return "probably the user, the password or the key was not accepted"
    if state is State.PARAMETERS:
        return "the server refused the parameters: a limit on duration or rate, or a login"
    return "the server was stopped or crashed, or a device on the path cut the connection"


def _client_left(ending: Ending, heard: bytes, errno: int) -> EngineError:
    hint = os_words(errno)
    if ending.state is State.COOKIE:
        who = None if heard else identify_stranger(b"", Role.SERVER)
        hint = who or f"after {len(heard)} bytes of its cookie"
    return EngineError(109, "the client has unexpectedly closed the connection", errno, hint)


def _late(ending: Ending, heard: bytes) -> EngineError:
    wait = LIMITS[ending.role][ending.state]
    cause = wait.cause
    if ending.state in (State.GREETING, State.COOKIE) and not heard:
        cause = f"this is {identify_stranger(b'', ending.role)}"
    if wait.code in (160, 103) or ending.waited_s is None:
        return EngineError.from_code(wait.code, hint=cause)
    text = f"{wait.awaited} did not come within {ending.waited_s:g} s"
    return EngineError(wait.code, text, 0, cause)


def _bad_json(ending: Ending) -> EngineError:
    code = 114 if ending.state is State.PARAMETERS else 117
    return EngineError.from_code(code, hint=str(ending.content))


def _unexpected(ending: Ending, parameters: JsonObject) -> EngineError:
    came = ending.trigger.value
    if ending.trigger is Trigger.OTHER_BYTE:
        came = f"byte {ending.content}"
    if ending.state is State.OPENING and ending.trigger is Trigger.TEST_START:
        if parameters.get("bidirectional") is True:
            hint = "the server does not know --bidir: it is older than iperf3 3.7"
        else:
            hint = "the server started the test before all data connections were open"
        return EngineError.from_code(110, hint=hint)
    awaited = LIMITS[ending.role][ending.state].awaited
    return EngineError.from_code(110, hint=f"{came} came while {awaited} was awaited")
