"""Protocol machines brought to any state, and two of them wired back to back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tuiperf.engine import protocol
from tuiperf.engine.framing import encode_json_frame
from tuiperf.engine.protocol import Client, Event, Role, Server, State, Wire

COOKIE = b"2babcdefghijklmnopqrstuvwxyz23456723\0"
PARAMETERS = {"tcp": True, "omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 1}
CLIENT_RESULTS = {"cpu_util_total": 1.5, "sender_has_retransmits": 1, "streams": [{"id": 1}]}
SERVER_RESULTS = {"cpu_util_total": 2.5, "sender_has_retransmits": -1, "streams": [{"id": 1}]}
ONE_GIGABYTE = (2**30).to_bytes(4, "big")

Machine = Client | Server
Step = Callable[[Any], object]


def hears(data: bytes) -> Step:
    """A step: `data` comes from the peer."""
    return lambda machine: machine.receive(data)


CLIENT_PATH: tuple[tuple[State, Step], ...] = (
    (State.GREETING, lambda client: client.start()),
    (State.PARAMETERS, hears(b"\x09")),
    (State.OPENING, hears(b"\x0a")),
    (State.STARTING, lambda client: client.streams_opened()),
    (State.STARTED, hears(b"\x01")),
    (State.RUNNING, hears(b"\x02")),
    (State.ENDING, lambda client: client.end_test()),
    (State.REPORTING, hears(b"\x0d")),
    (State.RESULTS, lambda client: client.send_results(CLIENT_RESULTS)),
    (State.DISPLAY, hears(encode_json_frame(SERVER_RESULTS))),
    (State.DONE, hears(b"\x0e")),
)
SERVER_PATH: tuple[tuple[State, Step], ...] = (
    (State.PARAMETERS, hears(COOKIE)),
    (State.DECIDING, hears(encode_json_frame(PARAMETERS))),
    (State.OPENING, lambda server: server.accept_parameters()),
    (State.RUNNING, lambda server: server.streams_ready()),
    (State.ENDING, hears(b"\x04")),
    (State.RESULTS, lambda server: server.request_results()),
    (State.REPORTING, hears(encode_json_frame(CLIENT_RESULTS))),
    (State.DONE_WAIT, lambda server: server.send_results(SERVER_RESULTS)),
    (State.CLOSED, hears(b"\x10")),
)
SIDE_STEPS: dict[tuple[Role, State], tuple[State, Step]] = {
    (Role.CLIENT, State.STRANGER): (State.GREETING, hears(b"H")),
    (Role.CLIENT, State.ERROR_NUMBERS): (State.RUNNING, hears(b"\xfe")),
    (Role.CLIENT, State.ABORTED): (State.RUNNING, lambda client: client.abort()),
    (Role.CLIENT, State.FAILED): (State.GREETING, hears(b"\xff")),
    (Role.SERVER, State.STRANGER): (State.COOKIE, hears(b"GET ")),
    (Role.SERVER, State.ABORTED): (State.RUNNING, lambda server: server.terminate()),
    (Role.SERVER, State.FAILED): (State.RUNNING, hears(b"\x63")),
}
EVERY_STATE = [(role, state) for role in Role for state in protocol.READS[role]]
LIVE_STATES = [pair for pair in EVERY_STATE if pair[1] not in protocol.TERMINAL]


def machine_in(
    role: Role, state: State, parameters: dict[str, Any] = PARAMETERS, cookie: bytes = COOKIE
) -> Machine:
    """A machine in `state`, its output so far thrown away."""
    machine: Machine = Client(cookie, parameters) if role is Role.CLIENT else Server()
    path = CLIENT_PATH if role is Role.CLIENT else SERVER_PATH
    side = SIDE_STEPS.get((role, state))
    wanted = side[0] if side else state
    for reached, step in path:
        if machine.state is wanted:
            break
        own = machine.state is State.PARAMETERS and role is Role.SERVER
        (hears(encode_json_frame(parameters)) if own else step)(machine)
        assert machine.state is reached
    if side:
        side[1](machine)
    assert machine.state is state
    machine.bytes_to_send()
    return machine


def client_in(state: State, parameters: dict[str, Any] = PARAMETERS) -> Client:
    """A client in `state`."""
    machine = machine_in(Role.CLIENT, state, parameters)
    assert isinstance(machine, Client)
    return machine


def server_in(state: State, parameters: dict[str, Any] = PARAMETERS) -> Server:
    """A server in `state`."""
    machine = machine_in(Role.SERVER, state, parameters)
    assert isinstance(machine, Server)
    return machine


@dataclass
class Wired:
    """A client and a server whose bytes wait in two pipes until they are delivered in any cut.

    `on_client` and `on_server` are called with each event of their side, after the usual answer of
    a driver; `answers` switches the usual answer off for an event.
    """

    parameters: dict[str, Any] = field(default_factory=lambda: dict(PARAMETERS))
    silent_on: tuple[type[Event], ...] = ()
    on_client: Callable[[Client, Event], object] = lambda client, event: None
    on_server: Callable[[Server, Event], object] = lambda server, event: None

    def __post_init__(self) -> None:
        self.client = Client(COOKIE, self.parameters)
        self.server = Server()
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self.sent_by_client = bytearray()
        self.sent_by_server = bytearray()
        self._to_server = bytearray()
        self._to_client = bytearray()

    def run(self, cuts: Callable[[int], int]) -> None:
        """Deliver everything; `cuts(n)` says how many of the next n bytes go in one piece."""
        self.server.start()
        self._to_server += self.client.start()
        self.sent_by_client += self._to_server
        while self._to_server or self._to_client:
            if self._to_server:
                self._server_gets(_cut(self._to_server, cuts))
            if self._to_client:
                self._client_gets(_cut(self._to_client, cuts))
        if self.client.want_close and not self.server.want_close:
            self.server_events += self.server.eof()
        if self.server.want_close and not self.client.want_close:
            self.client_events += self.client.eof()

    def _server_gets(self, piece: bytes) -> None:
        queue = list(self.server.receive(piece))
        while queue:
            event = queue.pop(0)
            self.server_events.append(event)
            if not isinstance(event, self.silent_on):
                queue += self._server_answer(event)
            self.on_server(self.server, event)
        self._collect()

    def _client_gets(self, piece: bytes) -> None:
        queue = list(self.client.receive(piece))
        while queue:
            event = queue.pop(0)
            self.client_events.append(event)
            if not isinstance(event, self.silent_on):
                queue += self._client_answer(event)
            self.on_client(self.client, event)
        self._collect()

    def _server_answer(self, event: Event) -> list[Event]:
        if isinstance(event, protocol.ParametersReceived):
            return self.server.accept_parameters()
        if isinstance(event, protocol.EndRequested):
            return self.server.request_results()
        if isinstance(event, protocol.ResultsReceived):
            return self.server.send_results(SERVER_RESULTS)
        return []

    def _client_answer(self, event: Event) -> list[Event]:
        if isinstance(event, protocol.StreamsRequested):
            self.client.streams_opened()
            return list(self.server.streams_ready())
        if isinstance(event, protocol.TestRunning):
            return self.client.end_test()
        if isinstance(event, protocol.ResultsRequested):
            return self.client.send_results(CLIENT_RESULTS)
        return []

    def _collect(self) -> None:
        from_server, from_client = self.server.bytes_to_send(), self.client.bytes_to_send()
        self.sent_by_server += from_server
        self.sent_by_client += from_client
        self._to_client += from_server
        self._to_server += from_client


def _cut(pipe: bytearray, cuts: Callable[[int], int]) -> bytes:
    size = cuts(len(pipe))
    piece = bytes(pipe[:size])
    del pipe[:size]
    return piece


def wire(*words: Wire) -> bytes:
    """State bytes in a row."""
    return bytes(words)
