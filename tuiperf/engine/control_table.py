"""The control protocol as data: transitions, how each state reads, how long each may last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional, Union

from tuiperf.engine.control_words import (
    CookieReceived,
    EndRequested,
    Event,
    Failed,
    Finished,
    GreetingReceived,
    ParametersReceived,
    PeerTerminated,
    Reading,
    ResultsReceived,
    ResultsRequested,
    Role,
    Send,
    State,
    StreamsRequested,
    TestRunning,
    TestStarted,
    Trigger,
    Wire,
)

S, T, W = State, Trigger, Wire


class Transition(NamedTuple):
    """The outcome of a trigger: the next state, what to send, the event (None: nothing to tell)."""

    target: State
    sends: tuple[Union[Wire, Send], ...] = ()
    event: Optional[type[Event]] = None


class Wait(NamedTuple):
    """How long a state may last.

    `seconds` counts from entering the state; None means no limit here, and `cause` says why.
    Otherwise `cause` is the likely reason when nothing came, and `code` iperf3's error number.
    """

    seconds: Optional[float]
    awaited: str
    cause: str
    code: int = 0


Table = dict[tuple[State, Trigger], Transition]

TERMINAL = frozenset((S.DONE, S.CLOSED, S.ABORTED, S.FAILED))
"""States that nothing leaves: incoming bytes are dropped and the connection wants closing."""

_CLIENT_ROWS: Table = {
    (S.CONNECTING, T.START): Transition(S.GREETING, (Send.COOKIE,)),
    (S.CONNECTING, T.TIMEOUT): Transition(S.FAILED, (), Failed),
    (S.CONNECTING, T.ABORT): Transition(S.ABORTED),
    (S.CONNECTING, T.GIVE_UP): Transition(S.ABORTED),
    (S.GREETING, T.PARAM_EXCHANGE): Transition(S.PARAMETERS, (Send.JSON,), GreetingReceived),
    (S.GREETING, T.OTHER_BYTE): Transition(S.STRANGER),
    (S.STRANGER, T.IDENTIFIED): Transition(S.FAILED, (), Failed),
    (S.STRANGER, T.TIMEOUT): Transition(S.FAILED, (), Failed),
    (S.STRANGER, T.ABORT): Transition(S.ABORTED),
    (S.STRANGER, T.GIVE_UP): Transition(S.ABORTED),
    (S.PARAMETERS, T.CREATE_STREAMS): Transition(S.OPENING, (), StreamsRequested),
    (S.OPENING, T.STREAMS_OPENED): Transition(S.STARTING),
    (S.OPENING, T.TEST_START): Transition(S.FAILED, (W.IPERF_DONE,), Failed),
    (S.STARTING, T.TEST_START): Transition(S.STARTED, (), TestStarted),
    (S.STARTED, T.TEST_RUNNING): Transition(S.RUNNING, (), TestRunning),
    (S.STARTED, T.END_TEST): Transition(S.ENDING, (W.TEST_END,)),
    (S.RUNNING, T.END_TEST): Transition(S.ENDING, (W.TEST_END,)),
    (S.ENDING, T.TEST_RUNNING): Transition(S.ENDING),
    (S.ENDING, T.EXCHANGE_RESULTS): Transition(S.REPORTING, (), ResultsRequested),
    (S.REPORTING, T.SEND_RESULTS): Transition(S.RESULTS, (Send.JSON,)),
    (S.RESULTS, T.JSON): Transition(S.DISPLAY, (), ResultsReceived),
    (S.DISPLAY, T.DISPLAY_RESULTS): Transition(S.DONE, (W.IPERF_DONE,), Finished),
    (S.ERROR_NUMBERS, T.NUMBERS): Transition(S.FAILED, (), Failed),
    (S.ERROR_NUMBERS, T.TIMEOUT): Transition(S.FAILED, (), Failed),
    (S.ERROR_NUMBERS, T.ABORT): Transition(S.ABORTED),
    (S.ERROR_NUMBERS, T.GIVE_UP): Transition(S.ABORTED),
}
_CLIENT_ANYWHERE: dict[Trigger, Transition] = {
    T.SERVER_ERROR: Transition(S.ERROR_NUMBERS),
    T.ACCESS_DENIED: Transition(S.FAILED, (), Failed),
    T.SERVER_TERMINATE: Transition(S.FAILED, (W.IPERF_DONE,), PeerTerminated),
    T.OTHER_BYTE: Transition(S.FAILED, (W.IPERF_DONE,), Failed),
    T.BAD_JSON: Transition(S.FAILED, (W.IPERF_DONE,), Failed),
    T.TIMEOUT: Transition(S.FAILED, (W.IPERF_DONE,), Failed),
    T.EOF: Transition(S.FAILED, (), Failed),
    T.ABORT: Transition(S.ABORTED, (W.CLIENT_TERMINATE,)),
    T.GIVE_UP: Transition(S.ABORTED, (W.IPERF_DONE,)),
}

_SERVER_ROWS: Table = {
    (S.COOKIE, T.START): Transition(S.COOKIE),
    (S.COOKIE, T.COOKIE): Transition(S.PARAMETERS, (W.PARAM_EXCHANGE,), CookieReceived),
    (S.COOKIE, T.NOT_A_COOKIE): Transition(S.STRANGER),
    (S.COOKIE, T.TIMEOUT): Transition(S.FAILED, (), Failed),
    (S.COOKIE, T.DENY): Transition(S.ABORTED, (W.ACCESS_DENIED,)),
    (S.STRANGER, T.IDENTIFIED): Transition(S.FAILED, (), Failed),
    (S.STRANGER, T.TIMEOUT): Transition(S.FAILED, (), Failed),
    (S.STRANGER, T.EOF): Transition(S.FAILED, (), Failed),
    (S.STRANGER, T.FAIL): Transition(S.FAILED),
    (S.STRANGER, T.TERMINATE): Transition(S.ABORTED),
    (S.PARAMETERS, T.JSON): Transition(S.DECIDING, (), ParametersReceived),
    (S.DECIDING, T.ACCEPT_PARAMETERS): Transition(S.OPENING, (W.CREATE_STREAMS,)),
    (S.DECIDING, T.REFUSE): Transition(S.FAILED, (Send.ERROR,)),
    (S.OPENING, T.STREAMS_READY): Transition(S.RUNNING, (W.TEST_START, W.TEST_RUNNING)),
    (S.RUNNING, T.TEST_END): Transition(S.ENDING, (), EndRequested),
    (S.ENDING, T.TEST_END): Transition(S.ENDING),
    (S.ENDING, T.REQUEST_RESULTS): Transition(S.RESULTS, (W.EXCHANGE_RESULTS,)),
    (S.RESULTS, T.JSON): Transition(S.REPORTING, (), ResultsReceived),
    (S.REPORTING, T.SEND_RESULTS): Transition(S.DONE_WAIT, (Send.JSON, W.DISPLAY_RESULTS)),
    (S.DONE_WAIT, T.IPERF_DONE): Transition(S.CLOSED, (), Finished),
    (S.DONE_WAIT, T.CLIENT_TERMINATE): Transition(S.CLOSED, (), Finished),
    (S.DONE_WAIT, T.EOF): Transition(S.CLOSED, (), Finished),
    (S.DONE_WAIT, T.TIMEOUT): Transition(S.CLOSED, (), Finished),
    (S.DONE_WAIT, T.OTHER_BYTE): Transition(S.DONE_WAIT),
    (S.DONE_WAIT, T.FAIL): Transition(S.CLOSED),
    (S.DONE_WAIT, T.TERMINATE): Transition(S.CLOSED),
    # A server takes TEST_START from a client for a word without meaning (iperf3 does, too).
    (S.DECIDING, T.TEST_START): Transition(S.DECIDING),
    (S.OPENING, T.TEST_START): Transition(S.OPENING),
    (S.RUNNING, T.TEST_START): Transition(S.RUNNING),
    (S.ENDING, T.TEST_START): Transition(S.ENDING),
    (S.REPORTING, T.TEST_START): Transition(S.REPORTING),
}
_SERVER_ANYWHERE: dict[Trigger, Transition] = {
    T.CLIENT_TERMINATE: Transition(S.CLOSED, (), PeerTerminated),
    T.IPERF_DONE: Transition(S.CLOSED, (), PeerTerminated),
    T.EOF: Transition(S.CLOSED, (), PeerTerminated),
    T.OTHER_BYTE: Transition(S.FAILED, (Send.ERROR,), Failed),
    T.BAD_JSON: Transition(S.FAILED, (Send.ERROR,), Failed),
    T.TIMEOUT: Transition(S.FAILED, (Send.ERROR,), Failed),
    T.FAIL: Transition(S.FAILED, (Send.ERROR,)),
    T.TERMINATE: Transition(S.ABORTED, (W.SERVER_TERMINATE,)),
}

_ENDS = {
    Role.CLIENT: (S.DONE, S.ABORTED, S.FAILED),
    Role.SERVER: (S.CLOSED, S.ABORTED, S.FAILED),
}
READS: Mapping[Role, Mapping[State, Reading]] = {
    Role.CLIENT: {
        S.CONNECTING: Reading.NEVER,
        S.GREETING: Reading.BYTES,
        S.STRANGER: Reading.STRANGER,
        S.PARAMETERS: Reading.BYTES,
        S.OPENING: Reading.BYTES,
        S.STARTING: Reading.BYTES,
        S.STARTED: Reading.BYTES,
        S.RUNNING: Reading.BYTES,
        S.ENDING: Reading.BYTES,
        S.REPORTING: Reading.LATER,
        S.RESULTS: Reading.FRAME,
        S.DISPLAY: Reading.BYTES,
        S.ERROR_NUMBERS: Reading.NUMBERS,
        **dict.fromkeys(_ENDS[Role.CLIENT], Reading.NEVER),
    },
    Role.SERVER: {
        S.COOKIE: Reading.COOKIE,
        S.STRANGER: Reading.STRANGER,
        S.PARAMETERS: Reading.FRAME,
        S.DECIDING: Reading.BYTES,
        S.OPENING: Reading.BYTES,
        S.RUNNING: Reading.BYTES,
        S.ENDING: Reading.BYTES,
        S.RESULTS: Reading.FRAME,
        S.REPORTING: Reading.BYTES,
        S.DONE_WAIT: Reading.BYTES,
        **dict.fromkeys(_ENDS[Role.SERVER], Reading.NEVER),
    },
}
"""How each state of a role cuts its incoming bytes."""

FRAME_INTERRUPTS: Mapping[Role, frozenset[Trigger]] = {
    Role.CLIENT: frozenset((T.SERVER_ERROR, T.ACCESS_DENIED, T.SERVER_TERMINATE)),
    Role.SERVER: frozenset((T.CLIENT_TERMINATE, T.IPERF_DONE)),
}
"""State bytes that may come where a JSON length should; no acceptable length starts with one."""

OPENING_PER_STREAM_S = 1.0
"""Added to the limit of OPENING for each stream: they are opened one after the other."""

_OVER = Wait(None, "nothing", "the exchange is over")
LIMITS: Mapping[Role, Mapping[State, Wait]] = {
    Role.CLIENT: {
        S.CONNECTING: Wait(None, "the TCP connection", "the connect timeout ends it", 103),
        S.GREETING: Wait(
            35.0,
            "the server's greeting (PARAM_EXCHANGE)",
            "an iperf2 server, another service, or an iperf3 server that is stuck or filtered",
            112,
        ),
        S.STRANGER: Wait(1.0, "more of the other side's first bytes", "it said what it had", 110),
        S.PARAMETERS: Wait(
            30.0,
            "the server's answer to the parameters (CREATE_STREAMS)",
            "the server is stuck, or the path has failed since the greeting",
            112,
        ),
        S.OPENING: Wait(
            30.0,
            "the opening of the data connections",
            "a firewall or a limit that passes the first connection but not the next ones",
            203,
        ),
        S.STARTING: Wait(
            30.0,
            "the start of the test (TEST_START)",
            "the server counts fewer data connections than were opened",
            112,
        ),
        S.STARTED: Wait(30.0, "the go-ahead (TEST_RUNNING)", "the server is stuck", 112),
        S.RUNNING: Wait(None, "the end of the test", "the client's own clock or count ends it"),
        S.ENDING: Wait(
            30.0,
            "the server's request for results (EXCHANGE_RESULTS)",
            "the server is stuck in a data write, was stopped, or the path has failed",
            112,
        ),
        S.REPORTING: Wait(None, "this side's results", "the driver sends them at once"),
        S.RESULTS: Wait(
            30.0, "the server's results (JSON)", "the server was stopped or the path failed", 117
        ),
        S.DISPLAY: Wait(
            30.0, "the end of the exchange (DISPLAY_RESULTS)", "the server was stopped", 112
        ),
        S.ERROR_NUMBERS: Wait(2.0, "the numbers of the server's error", "it sent none", 112),
        **dict.fromkeys(_ENDS[Role.CLIENT], _OVER),
    },
    Role.SERVER: {
        S.COOKIE: Wait(
            10.0, "the client's cookie", "a port scan, a health check or another program", 106
        ),
        S.STRANGER: Wait(1.0, "more of the other side's first bytes", "it said what it had", 110),
        S.PARAMETERS: Wait(10.0, "the client's parameters (JSON)", "the client is stuck", 114),
        S.DECIDING: Wait(None, "this side's decision", "the driver decides at once"),
        S.OPENING: Wait(
            30.0,
            "the client's data connections",
            "a firewall that passes the control connection but not the data connections",
            204,
        ),
        S.RUNNING: Wait(
            40.0,
            "the end of the test (TEST_END)",
            "the client was stopped, or its control connection is cut",
            160,
        ),
        S.ENDING: Wait(None, "the end of the streams", "the driver drains them at once"),
        S.RESULTS: Wait(10.0, "the client's results (JSON)", "the client was stopped", 117),
        S.REPORTING: Wait(None, "this side's results", "the driver sends them at once"),
        S.DONE_WAIT: Wait(10.0, "the client's goodbye (IPERF_DONE)", "it does not matter now"),
        **dict.fromkeys(_ENDS[Role.SERVER], _OVER),
    },
}
"""How long each state of a role may last.

OPENING adds `OPENING_PER_STREAM_S` a stream; RUNNING of a server adds the duration and the omitted
seconds of the test, and has no limit when the test has no duration.
"""

_COMMANDS_ANYWHERE = {
    Role.CLIENT: (T.ABORT, T.GIVE_UP),
    Role.SERVER: (T.FAIL, T.TERMINATE),
}
COMMANDS: Mapping[Role, tuple[Trigger, ...]] = {
    Role.CLIENT: (
        *(T.START, T.STREAMS_OPENED, T.END_TEST, T.SEND_RESULTS),
        *_COMMANDS_ANYWHERE[Role.CLIENT],
    ),
    Role.SERVER: (
        *(T.START, T.DENY, T.ACCEPT_PARAMETERS, T.REFUSE, T.STREAMS_READY),
        *(T.REQUEST_RESULTS, T.SEND_RESULTS, *_COMMANDS_ANYWHERE[Role.SERVER]),
    ),
}
"""What a role's driver can ask for; in a state that is over, each does nothing."""

BYTE_TRIGGERS = (*(Trigger[word.name] for word in Wire), T.OTHER_BYTE)
"""What one byte of the control connection can be."""


def triggers_of(role: Role, state: State) -> tuple[Trigger, ...]:
    """Every trigger that must have a row in `state`: what its reading, wait and role can raise."""
    if state in TERMINAL:
        return (T.EOF, T.TIMEOUT, *COMMANDS[role])
    by_reading: dict[Reading, tuple[Trigger, ...]] = {
        Reading.BYTES: BYTE_TRIGGERS,
        Reading.COOKIE: (T.COOKIE, T.NOT_A_COOKIE),
        Reading.STRANGER: (T.IDENTIFIED,),
        Reading.FRAME: (T.JSON, T.BAD_JSON, *FRAME_INTERRUPTS[role]),
        Reading.NUMBERS: (T.NUMBERS,),
        Reading.LATER: (T.BAD_JSON,),
        Reading.NEVER: (),
    }
    timeout = () if LIMITS[role][state].seconds is None else (T.TIMEOUT,)
    return (*by_reading[READS[role][state]], T.EOF, *timeout, *_COMMANDS_ANYWHERE[role])


def _complete(role: Role, rows: Table, anywhere: dict[Trigger, Transition]) -> Table:
    """The written rows, then those that hold in any state; a state byte without a row counts as
    any other byte, and a state that is over swallows what its driver still asks or reports."""
    table = dict(rows)
    for state in READS[role]:
        for trigger in triggers_of(role, state):
            if state in TERMINAL:
                table[state, trigger] = Transition(state)
            elif trigger in anywhere:
                table.setdefault((state, trigger), anywhere[trigger])
        if READS[role][state] is Reading.BYTES:
            for trigger in BYTE_TRIGGERS:
                table.setdefault((state, trigger), table[state, T.OTHER_BYTE])
    return table


TRANSITIONS: Mapping[Role, Table] = {
    Role.CLIENT: _complete(Role.CLIENT, _CLIENT_ROWS, _CLIENT_ANYWHERE),
    Role.SERVER: _complete(Role.SERVER, _SERVER_ROWS, _SERVER_ANYWHERE),
}
"""(state, trigger) -> what follows, for each role. All changes of state are rows of this table;
a trigger without a row is either impossible in that state or a command that is not legal there."""


def _ignored_bytes(role: Role, state: State) -> bytes:
    table = TRANSITIONS[role]
    words = {int(word): Trigger[word.name] for word in Wire}
    rows = [table.get((state, words.get(byte, T.OTHER_BYTE))) for byte in range(256)]
    return bytes(byte for byte, row in enumerate(rows) if row == Transition(state))


IGNORED_BYTES: Mapping[Role, Mapping[State, bytes]] = {
    role: {
        state: _ignored_bytes(role, state)
        for state, reading in READS[role].items()
        if reading is Reading.BYTES
    }
    for role in Role
}
"""Bytes that do nothing in a state: they can be dropped many at a time."""
