"""The words of iperf3's control protocol: roles, state bytes, states, triggers and events."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tuiperf.engine.errors import EngineError
from tuiperf.engine.framing import JsonObject


class Role(enum.Enum):
    """Which end of the control connection; says nothing about who sends the payload."""

    CLIENT = "client"
    SERVER = "server"


class Wire(enum.IntEnum):
    """State bytes on the control connection (signed 8 bits in iperf3, unsigned here)."""

    TEST_START = 1
    TEST_RUNNING = 2
    TEST_END = 4
    PARAM_EXCHANGE = 9
    CREATE_STREAMS = 10
    SERVER_TERMINATE = 11
    CLIENT_TERMINATE = 12
    EXCHANGE_RESULTS = 13
    DISPLAY_RESULTS = 14
    IPERF_DONE = 16
    SERVER_ERROR = 0xFE
    ACCESS_DENIED = 0xFF

    @property
    def byte(self) -> bytes:
        """The byte itself, for a driver that answers a data connection (ACCESS_DENIED)."""
        return bytes((self,))


class State(enum.Enum):
    """Where a control connection is. The roles share the names; each uses its own few."""

    CONNECTING = "connecting"
    """client: nothing sent yet"""
    GREETING = "greeting"
    """client: cookie sent, PARAM_EXCHANGE awaited"""
    COOKIE = "cookie"
    """server: the client's cookie awaited"""
    STRANGER = "stranger"
    """the other side is not iperf3; a few bytes more tell what it is"""
    PARAMETERS = "parameters"
    """client: parameters sent, CREATE_STREAMS awaited; server: the parameters awaited"""
    DECIDING = "deciding"
    """server: parameters read, the driver accepts or refuses them"""
    OPENING = "opening"
    """the data connections are being opened; TEST_START comes or goes only after the last"""
    STARTING = "starting"
    """client: all streams open, TEST_START awaited"""
    STARTED = "started"
    """client: TEST_START seen (its clocks run), TEST_RUNNING awaited"""
    RUNNING = "running"
    """payload flows"""
    ENDING = "ending"
    """client: TEST_END sent, EXCHANGE_RESULTS awaited; server: TEST_END seen, streams drained"""
    REPORTING = "reporting"
    """this side's results are due: the driver calls send_results()"""
    RESULTS = "results"
    """the other side's results awaited"""
    DISPLAY = "display"
    """client: results read, DISPLAY_RESULTS awaited"""
    DONE_WAIT = "done_wait"
    """server: DISPLAY_RESULTS sent, IPERF_DONE or the end of the connection awaited"""
    ERROR_NUMBERS = "error_numbers"
    """client: SERVER_ERROR seen, its two numbers may follow"""
    DONE = "done"
    """client: a whole test, IPERF_DONE sent"""
    CLOSED = "closed"
    """server: over without an error of this side; the client finished or left"""
    ABORTED = "aborted"
    """this side said that it stops"""
    FAILED = "failed"
    """over with an error"""


class Trigger(enum.Enum):
    """What can move a connection: a state byte, something longer, the clock, a command."""

    TEST_START = "TEST_START"
    TEST_RUNNING = "TEST_RUNNING"
    TEST_END = "TEST_END"
    PARAM_EXCHANGE = "PARAM_EXCHANGE"
    CREATE_STREAMS = "CREATE_STREAMS"
    SERVER_TERMINATE = "SERVER_TERMINATE"
    CLIENT_TERMINATE = "CLIENT_TERMINATE"
    EXCHANGE_RESULTS = "EXCHANGE_RESULTS"
    DISPLAY_RESULTS = "DISPLAY_RESULTS"
    IPERF_DONE = "IPERF_DONE"
    SERVER_ERROR = "SERVER_ERROR"
    ACCESS_DENIED = "ACCESS_DENIED"
    OTHER_BYTE = "any other byte"
    """no state byte, or one that has no meaning in this state"""

    COOKIE = "cookie"
    NOT_A_COOKIE = "no cookie"
    IDENTIFIED = "identified"
    JSON = "JSON"
    BAD_JSON = "bad JSON"
    NUMBERS = "numbers"
    EOF = "EOF"
    TIMEOUT = "timeout"

    START = "start()"
    STREAMS_OPENED = "streams_opened()"
    END_TEST = "end_test()"
    SEND_RESULTS = "send_results()"
    ABORT = "abort()"
    GIVE_UP = "give_up()"
    ACCEPT_PARAMETERS = "accept_parameters()"
    REFUSE = "refuse()"
    STREAMS_READY = "streams_ready()"
    REQUEST_RESULTS = "request_results()"
    DENY = "deny()"
    FAIL = "fail()"
    TERMINATE = "terminate()"


class Send(enum.Enum):
    """What a transition sends beside plain state bytes."""

    COOKIE = "cookie"
    JSON = "JSON"
    ERROR = "SERVER_ERROR"
    """the byte, then iperf3's error number and the errno, each 32 bits big-endian"""


class Reading(enum.Enum):
    """How the incoming bytes of a state are cut into triggers."""

    BYTES = "one state byte at a time"
    COOKIE = "a cookie of 37 bytes"
    STRANGER = "enough bytes to tell who this is"
    FRAME = "a length and its JSON, unless a state byte interrupts"
    NUMBERS = "two 32-bit numbers"
    LATER = "nothing: the bytes wait for a command of this side"
    NEVER = "nothing: the bytes are dropped"


@dataclass(frozen=True)
class Event:
    """Something the driver must know or do."""


@dataclass(frozen=True)
class GreetingReceived(Event):
    """client: it is an iperf3 server; the parameters are on their way out."""


@dataclass(frozen=True)
class StreamsRequested(Event):
    """client: parameters accepted; open the data connections, then call `streams_opened()`."""


@dataclass(frozen=True)
class TestStarted(Event):
    """client: every clock of the test starts now."""

    __test__ = False  # the name is the protocol's, not a test's: pytest looks at it


@dataclass(frozen=True)
class TestRunning(Event):
    """client: the senders may start."""

    __test__ = False


@dataclass(frozen=True)
class ResultsRequested(Event):
    """client: the server has stopped; call `send_results()` now, it waits 10 s at most."""


@dataclass(frozen=True)
class CookieReceived(Event):
    """server: an iperf3 client has opened; the greeting is on its way out."""

    cookie: bytes


@dataclass(frozen=True)
class ParametersReceived(Event):
    """server: call `accept_parameters()` or `refuse()`."""

    parameters: JsonObject


@dataclass(frozen=True)
class EndRequested(Event):
    """server: stop and drain the streams, then call `request_results()`."""


@dataclass(frozen=True)
class ResultsReceived(Event):
    """The other side's results. A server answers with `send_results()`."""

    results: JsonObject


@dataclass(frozen=True)
class Finished(Event):
    """The test and its exchange of results are complete."""


@dataclass(frozen=True)
class PeerTerminated(Event):
    """The other side stopped before the end, orderly or not; `state` is where it happened."""

    error: EngineError
    state: State


@dataclass(frozen=True)
class Failed(Event):
    """The test cannot go on; `state` and `trigger` say where and by what it ended."""

    error: EngineError
    state: State
    trigger: Trigger
