"""The control protocol of iperf3, both roles, without I/O: bytes in, bytes and events out.

No socket, no clock, no thread. A driver hands over what it read (`receive`, `eof`), what its
clock says (`timed_out`, when `limit` is over since the state was entered) and what it did (the
commands); it writes what `bytes_to_send` gives and acts on the events, which commands can return
too. Every change of state is a row of `TRANSITIONS`.

    client = Client(make_cookie(), parameters)
    sock.sendall(client.start())
    while not client.want_close:
        for event in client.receive(sock.recv(65536)): ...
        sock.sendall(client.bytes_to_send())

Once `want_close` is set: send the last bytes, shutdown(SHUT_WR), read and drop until the end of
the connection or for `DRAIN_S`, close. The protocol is that of iperf3 3.1 to 3.21, as observed.
"""

from __future__ import annotations

import secrets
import struct
import sys
from collections.abc import Callable
from typing import Any, Optional, Union

from tuiperf.engine.control_endings import (
    HEARD_BYTES,
    NUMBERS_BYTES,
    Ending,
    explain,
    identify_stranger,
)
from tuiperf.engine.control_parameters import stream_count, test_length_s
from tuiperf.engine.control_table import (
    FRAME_INTERRUPTS,
    IGNORED_BYTES,
    LIMITS,
    OPENING_PER_STREAM_S,
    READS,
    TERMINAL,
    TRANSITIONS,
    Transition,
    Wait,
)
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
from tuiperf.engine.errors import EngineError
from tuiperf.engine.framing import (
    LENGTH_BYTES,
    MAX_PARAMETERS_BYTES,
    MAX_RESULTS_BYTES,
    FrameError,
    JsonObject,
    check_length,
    encode_json_frame,
    parse_json_frame,
)
from tuiperf.engine.state_diagram import state_diagram

__all__ = [
    "COOKIE_BYTES",
    "DRAIN_S",
    "LIMITS",
    "NOTICE_AFTER_S",
    "READS",
    "TERMINAL",
    "TRANSITIONS",
    "Client",
    "Connection",
    "CookieReceived",
    "EndRequested",
    "EngineError",
    "Event",
    "Failed",
    "Finished",
    "FrameError",
    "GreetingReceived",
    "LocalProtocolError",
    "ParametersReceived",
    "PeerTerminated",
    "ResultsReceived",
    "ResultsRequested",
    "Role",
    "Server",
    "State",
    "StreamsRequested",
    "TestRunning",
    "TestStarted",
    "Transition",
    "Trigger",
    "Wait",
    "Wire",
    "identify_stranger",
    "make_cookie",
    "parse_json_frame",
    "state_diagram",
]

COOKIE_BYTES = 37
"""36 characters and a NUL; they open the control connection and every TCP data connection."""
NOTICE_AFTER_S = 5.0
"""A client still without a greeting after this long should say so, and go on waiting."""
DRAIN_S = 2.0
"""How long to read and drop after shutdown(SHUT_WR) before closing."""

_COOKIE_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_TRIGGER_OF_BYTE = {int(word): Trigger[word.name] for word in Wire}
_Found = tuple[Trigger, Any]


class LocalProtocolError(Exception):
    """The driver gave a command that the table does not know in the present state (a bug)."""


def make_cookie() -> bytes:
    """A fresh cookie: "2b", 34 random characters, a NUL.

    Every iperf3 takes any cookie; the two first characters make an iperf2 server (2.1 and newer)
    answer with its version at once, where others hang or crash it.
    """
    text = "2b" + "".join(secrets.choice(_COOKIE_ALPHABET) for _ in range(COOKIE_BYTES - 3))
    return text.encode("ascii") + b"\0"


class Connection:
    """One end of one control connection, for one test. Use `Client` or `Server`.

    A command is legal where the table has a row for it, else it raises LocalProtocolError and
    changes nothing. Once `want_close` is set, every command is legal and does nothing: the peer may
    have left in the very bytes that brought the event which the driver is answering.
    """

    def __init__(self, role: Role, state: State, cookie: bytes, parameters: JsonObject) -> None:
        self.role = role
        self.cookie = cookie
        """Opens the data connections too; b"" at a server until the client has sent it."""
        self.parameters = parameters
        """Parameters of the test as on the wire; {} at a server until they came."""
        self._state = state
        self._table = TRANSITIONS[role]
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._json_due = parameters
        self._error_due = (0, 0)
        self._hurried_s: Optional[float] = None
        self._readers: dict[Reading, Callable[[], Optional[_Found]]] = {
            Reading.BYTES: self._read_byte,
            Reading.COOKIE: self._read_cookie,
            Reading.STRANGER: self._read_stranger,
            Reading.FRAME: self._read_frame,
            Reading.NUMBERS: self._read_numbers,
            Reading.LATER: self._read_later,
            Reading.NEVER: self._read_never,
        }

    @property
    def state(self) -> State:
        """Where the connection is; see `State`."""
        return self._state

    @property
    def want_close(self) -> bool:
        """Whether it is over: nothing read from now on matters."""
        return self._state in TERMINAL

    def start(self) -> bytes:
        """Begin, once connected: the first bytes to send (a client's cookie, nothing else)."""
        self._command(Trigger.START)
        return self.bytes_to_send()

    def receive(self, data: bytes) -> list[Event]:
        """Take bytes from the peer, in any cut. Never raises, whatever they are."""
        self._incoming += data
        return self._pump()

    def eof(self, errno: int = 0) -> list[Event]:
        """The peer closed the connection (`errno` 0) or it broke (this host's errno)."""
        return self._apply(Trigger.EOF, errno)

    def timed_out(self, after_s: Optional[float] = None) -> list[Event]:
        """The present state has lasted longer than `limit` says, or than `after_s` when the driver
        was in more of a hurry. Raises LocalProtocolError in a state that cannot time out.
        """
        self._hurried_s = after_s
        return self._command(Trigger.TIMEOUT)

    def limit(self) -> tuple[Optional[float], str]:
        """(seconds or None, what is awaited), counted from entering the present state."""
        wait = LIMITS[self.role][self._state]
        return self._limit_s(wait.seconds), wait.awaited

    def bytes_to_send(self) -> bytes:
        """What is to be sent now; each byte is handed out once."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def _limit_s(self, seconds: Optional[float]) -> Optional[float]:
        if seconds is not None and self._state is State.OPENING:
            return seconds + OPENING_PER_STREAM_S * stream_count(self.parameters)
        return seconds

    # The table's engine

    def _check(self, command: Trigger) -> None:
        if (self._state, command) not in self._table:
            raise LocalProtocolError(f"{command.value} in state {self._state.name}")

    def _command(self, trigger: Trigger) -> list[Event]:
        self._check(trigger)
        return self._apply(trigger) + self._pump()

    def _send_results(self, results: JsonObject) -> list[Event]:
        self._check(Trigger.SEND_RESULTS)
        self._json_due = results
        return self._command(Trigger.SEND_RESULTS)

    def _send_error(self, trigger: Trigger, code: int, errno: int) -> list[Event]:
        self._check(trigger)
        self._error_due = (code, errno)
        return self._command(trigger)

    def _pump(self) -> list[Event]:
        events: list[Event] = []
        while True:
            found = self._readers[READS[self.role][self._state]]()
            if found is None:
                return events
            events += self._apply(*found)

    def _apply(self, trigger: Trigger, content: Any = None) -> list[Event]:
        row = self._table[self._state, trigger]
        events = [self._event(row.event, trigger, content)] if row.event else []
        self._outgoing += b"".join([self._encoded(item) for item in row.sends])
        self._state = row.target
        return events

    def _event(self, kind: type[Event], trigger: Trigger, content: Any) -> Event:
        if kind is CookieReceived:
            self.cookie = content
            return CookieReceived(content)
        if kind is ParametersReceived:
            self.parameters = content
            return ParametersReceived(content)
        if kind is ResultsReceived:
            return ResultsReceived(content)
        if kind is Failed:
            return Failed(self._error(trigger, content), self._state, trigger)
        if kind is PeerTerminated:
            return PeerTerminated(self._error(trigger, content), self._state)
        return kind()

    def _error(self, trigger: Trigger, content: Any) -> EngineError:
        waited_s = self.limit()[0] if self._hurried_s is None else self._hurried_s
        error = explain(
            Ending(self.role, self._state, trigger, content, waited_s),
            bytes(self._incoming[:HEARD_BYTES]),
            self.parameters,
        )
        self._error_due = (error.code, error.errno)
        return error

    def _encoded(self, item: Union[Wire, Send]) -> bytes:
        if isinstance(item, Wire):
            return item.byte
        if item is Send.COOKIE:
            return self.cookie
        if item is Send.JSON:
            return encode_json_frame(self._json_due)
        return Wire.SERVER_ERROR.byte + struct.pack(">ii", *self._error_due)

    # Bytes into triggers, one reader for each `Reading`

    def _read_byte(self) -> Optional[_Found]:
        self._incoming = self._incoming.lstrip(IGNORED_BYTES[self.role][self._state])
        if not self._incoming:
            return None
        byte = self._incoming[0]
        trigger = _TRIGGER_OF_BYTE.get(byte, Trigger.OTHER_BYTE)
        if self._table[self._state, trigger].target is not State.STRANGER:
            del self._incoming[0]
        return trigger, byte

    def _read_cookie(self) -> Optional[_Found]:
        cookie = bytes(self._incoming[:COOKIE_BYTES])
        if not all(0x21 <= byte <= 0x7E for byte in cookie[: COOKIE_BYTES - 1]):
            return Trigger.NOT_A_COOKIE, None
        if len(cookie) < COOKIE_BYTES:
            return None
        if cookie[-1] != 0:
            return Trigger.NOT_A_COOKIE, None
        del self._incoming[:COOKIE_BYTES]
        return Trigger.COOKIE, cookie

    def _read_stranger(self) -> Optional[_Found]:
        enough = len(self._incoming) >= HEARD_BYTES
        return (Trigger.IDENTIFIED, None) if enough else None

    def _read_frame(self) -> Optional[_Found]:
        if not self._incoming:
            return None
        interrupt = _TRIGGER_OF_BYTE.get(self._incoming[0])
        if interrupt in FRAME_INTERRUPTS[self.role]:
            del self._incoming[0]
            return interrupt, None
        if len(self._incoming) < LENGTH_BYTES:
            return None
        limit_bytes = MAX_PARAMETERS_BYTES if self._state is State.PARAMETERS else MAX_RESULTS_BYTES
        try:
            end = LENGTH_BYTES + check_length(bytes(self._incoming[:LENGTH_BYTES]), limit_bytes)
            if len(self._incoming) < end:
                return None
            document = parse_json_frame(bytes(self._incoming[LENGTH_BYTES:end]))
        except FrameError as error:
            return Trigger.BAD_JSON, str(error)
        del self._incoming[:end]
        return Trigger.JSON, document

    def _read_numbers(self) -> Optional[_Found]:
        return (Trigger.NUMBERS, None) if len(self._incoming) >= NUMBERS_BYTES else None

    def _read_later(self) -> Optional[_Found]:
        if len(self._incoming) <= LENGTH_BYTES + MAX_RESULTS_BYTES:
            return None
        return Trigger.BAD_JSON, f"more than {MAX_RESULTS_BYTES} bytes came unasked"

    def _read_never(self) -> Optional[_Found]:
        self._incoming.clear()
        return None


class Client(Connection):
    """The client's end. `parameters` is the complete JSON object of the test.

    Raises ValueError for a cookie of another form, EngineError 113 for parameters that no server
    of 3.18 or newer would read (over 8192 bytes of JSON).
    """

    def __init__(self, cookie: bytes, parameters: JsonObject) -> None:
        if len(cookie) != COOKIE_BYTES or cookie[-1] != 0:
            raise ValueError("a cookie is 36 bytes and a NUL")
        length = len(encode_json_frame(parameters)) - LENGTH_BYTES
        if length > MAX_PARAMETERS_BYTES:
            hint = f"they take {length} bytes, {MAX_PARAMETERS_BYTES} is the limit"
            raise EngineError.from_code(113, hint=hint)
        super().__init__(Role.CLIENT, State.CONNECTING, cookie, parameters)

    def streams_opened(self) -> list[Event]:
        """All data connections are open and their cookies sent. Call before reading on: what comes
        earlier looks like a server that does not wait for them all."""
        return self._command(Trigger.STREAMS_OPENED)

    def end_test(self) -> list[Event]:
        """The test is over: send TEST_END. Senders must have stopped."""
        return self._command(Trigger.END_TEST)

    def send_results(self, results: JsonObject) -> list[Event]:
        """Answer `ResultsRequested`. Events may follow from bytes that came early."""
        return self._send_results(results)

    def abort(self) -> list[Event]:
        """This client is being stopped: send CLIENT_TERMINATE."""
        return self._command(Trigger.ABORT)

    def give_up(self) -> list[Event]:
        """This client met an error of its own: send IPERF_DONE."""
        return self._command(Trigger.GIVE_UP)


class Server(Connection):
    """The server's end; a new one for each control connection."""

    def __init__(self) -> None:
        super().__init__(Role.SERVER, State.COOKIE, b"", {})

    def deny(self) -> list[Event]:
        """Another test is running: send ACCESS_DENIED, before anything has been read."""
        return self._command(Trigger.DENY)

    def accept_parameters(self) -> list[Event]:
        """Ask for the data connections (CREATE_STREAMS); the listener must be ready for them."""
        return self._command(Trigger.ACCEPT_PARAMETERS)

    def refuse(self, code: int, errno: int = 0) -> list[Event]:
        """Refuse the parameters: SERVER_ERROR with an iperf3 error number and an errno."""
        return self._send_error(Trigger.REFUSE, code, errno)

    def streams_ready(self) -> list[Event]:
        """All data connections are there: send TEST_START and TEST_RUNNING."""
        return self._command(Trigger.STREAMS_READY)

    def request_results(self) -> list[Event]:
        """The streams have stopped: send EXCHANGE_RESULTS."""
        return self._command(Trigger.REQUEST_RESULTS)

    def send_results(self, results: JsonObject) -> list[Event]:
        """Answer the client's results with our own and DISPLAY_RESULTS."""
        return self._send_results(results)

    def fail(self, code: int, errno: int = 0) -> list[Event]:
        """This server met an error: SERVER_ERROR with its number."""
        return self._send_error(Trigger.FAIL, code, errno)

    def terminate(self) -> list[Event]:
        """This server is being stopped: send SERVER_TERMINATE."""
        return self._command(Trigger.TERMINATE)

    def _limit_s(self, seconds: Optional[float]) -> Optional[float]:
        if seconds is None or self._state is not State.RUNNING:
            return super()._limit_s(seconds)
        length_s = test_length_s(self.parameters)
        return None if length_s is None else seconds + length_s


def main() -> None:
    """Print both state diagrams as they stand in ARCHITECTURE.md, markers included."""
    for role in Role:
        sys.stdout.write(f"<!-- states:{role.value} -->\n```mermaid\n{state_diagram(role)}```\n")
        sys.stdout.write(f"<!-- /states:{role.value} -->\n\n")


if __name__ == "__main__":
    main()
