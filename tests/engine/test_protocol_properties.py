"""Two machines back to back with any cut of the bytes, and machines that hear anything at all."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.wired import (
    CLIENT_RESULTS,
    COOKIE,
    LIVE_STATES,
    ONE_GIGABYTE,
    PARAMETERS,
    SERVER_RESULTS,
    Machine,
    Wired,
    machine_in,
)
from tuiperf.engine.framing import MAX_PARAMETERS_BYTES, encode_json_frame
from tuiperf.engine.protocol import (
    LIMITS,
    TERMINAL,
    TRANSITIONS,
    Client,
    CookieReceived,
    EndRequested,
    EngineError,
    Event,
    Failed,
    Finished,
    GreetingReceived,
    LocalProtocolError,
    ParametersReceived,
    PeerTerminated,
    ResultsReceived,
    ResultsRequested,
    Role,
    Server,
    State,
    StreamsRequested,
    TestRunning,
    TestStarted,
    Trigger,
)

WHOLE_CLIENT = [
    GreetingReceived(),
    StreamsRequested(),
    TestStarted(),
    TestRunning(),
    ResultsRequested(),
    ResultsReceived(SERVER_RESULTS),
    Finished(),
]
CUTS = st.lists(st.integers(1, 4) | st.integers(1, 300), max_size=40)


def cutter(sizes: list[int]) -> Callable[[int], int]:
    """Pieces of these sizes over and over; no sizes: everything that waits in one piece."""
    turns = itertools.cycle(sizes or [2**20])
    return lambda waiting: min(waiting, next(turns))


def whole_server(parameters: dict[str, Any]) -> list[Event]:
    """A server's events in a test with nothing wrong."""
    return [
        CookieReceived(COOKIE),
        ParametersReceived(parameters),
        EndRequested(),
        ResultsReceived(CLIENT_RESULTS),
        Finished(),
    ]


class TestBackToBack:
    @pytest.mark.parametrize(
        "more",
        [
            {},
            {"reverse": True},
            {"bidirectional": True, "parallel": 2},
            {"time": 0, "num": 4096},
            {"title": "Zürich \udcff\u2028", "parallel": 128},
        ],
        ids=["forward", "reverse", "bidir", "bytes", "odd strings"],
    )
    @given(cuts=CUTS)
    def test_whole_tests(self, more: dict[str, Any], cuts: list[int]) -> None:
        parameters = {**PARAMETERS, **more}
        wired = Wired(parameters)
        wired.run(cutter(cuts))
        as_read = {**parameters, **({"title": "Zürich �\u2028"} if "title" in more else {})}
        assert wired.client_events == WHOLE_CLIENT
        assert wired.server_events == whole_server(as_read)
        assert wired.sent_by_client == (
            COOKIE
            + encode_json_frame(parameters)
            + b"\x04"
            + encode_json_frame(CLIENT_RESULTS)
            + b"\x10"
        )
        assert wired.sent_by_server == (
            b"\x09\x0a\x01\x02\x0d" + encode_json_frame(SERVER_RESULTS) + b"\x0e"
        )
        assert (wired.client.state, wired.server.state) == (State.DONE, State.CLOSED)

    @given(cuts=CUTS, code=st.integers(-(2**31), 2**31 - 1), errno=st.integers(0, 200))
    def test_refused_parameters(self, cuts: list[int], code: int, errno: int) -> None:
        wired = Wired(silent_on=(ParametersReceived,))
        wired.on_server = lambda server, event: (
            server.refuse(code, errno) if isinstance(event, ParametersReceived) else None
        )
        wired.run(cutter(cuts))
        last = wired.client_events[-1]
        assert isinstance(last, Failed)
        if code:
            assert last.error == EngineError.from_code(code, errno)
        assert wired.server.state is wired.client.state is State.FAILED
        assert wired.server_events == [CookieReceived(COOKIE), ParametersReceived(PARAMETERS)]

    def test_busy(self) -> None:
        server = Server()
        server.deny()
        client = Client(COOKIE, PARAMETERS)
        assert server.receive(client.start()) == []
        (event,) = client.receive(server.bytes_to_send())
        assert isinstance(event, Failed)
        assert event.error.code == 121

    @pytest.mark.parametrize("moment", range(5))
    @given(cuts=CUTS)
    def test_client_aborts(self, moment: int, cuts: list[int]) -> None:
        wired = Wired(silent_on=(type(WHOLE_CLIENT[moment]),))
        wired.on_client = lambda client, event: (
            client.abort() if event == WHOLE_CLIENT[moment] else None
        )
        wired.run(cutter(cuts))
        last = wired.server_events[-1]
        assert isinstance(last, PeerTerminated)
        assert last.error.code == 119
        same_bytes = [TestRunning()] if wired.client_events[-1] == TestRunning() else []
        assert wired.client_events in (
            WHOLE_CLIENT[: moment + 1],
            WHOLE_CLIENT[: moment + 1] + same_bytes,
        )
        assert (wired.client.state, wired.server.state) == (State.ABORTED, State.CLOSED)
        assert wired.sent_by_client.endswith(b"\x0c")

    @pytest.mark.parametrize("moment", range(4))
    @given(cuts=CUTS)
    def test_server_is_stopped(self, moment: int, cuts: list[int]) -> None:
        when = type(whole_server(PARAMETERS)[moment])
        wired = Wired(silent_on=(when,))
        wired.on_server = lambda server, event: (
            server.terminate() if isinstance(event, when) else None
        )
        wired.run(cutter(cuts))
        last = wired.client_events[-1]
        assert isinstance(last, PeerTerminated)
        assert last.error.code == 120
        assert wired.client.state is State.FAILED
        assert wired.server.state is State.ABORTED

    @given(cuts=CUTS, results=st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53)))
    def test_any_results_arrive_as_they_were(
        self, cuts: list[int], results: dict[str, Any]
    ) -> None:
        results = {f"x-{key}": value for key, value in results.items()}
        wired = Wired(silent_on=(ResultsRequested,))
        wired.on_client = lambda client, event: (
            client.send_results(results) if isinstance(event, ResultsRequested) else None
        )
        wired.run(cutter(cuts))
        (received,) = [one for one in wired.server_events if isinstance(one, ResultsReceived)]
        assert received.results == results


STATE_BYTES = st.sampled_from([bytes((byte,)) for byte in (*range(18), 0xFD, 0xFE, 0xFF)])
FRAMES = st.sampled_from(
    [
        encode_json_frame(PARAMETERS),
        encode_json_frame({"streams": [{"ID": 1}], "x": [[]]}),
        b"\x00\x00\x00\x02{}",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x20\x00{",
        b"\x00\x00\x00\x05-nan}",
        ONE_GIGABYTE,
        COOKIE,
    ]
)
HEARD = st.lists(STATE_BYTES | FRAMES | st.binary(max_size=80), max_size=6)
LAST_WORDS = (Failed, PeerTerminated, Finished)


def last_words(events: list[Event]) -> list[Event]:
    """The events that end a connection."""
    return [event for event in events if isinstance(event, LAST_WORDS)]


class TestFuzz:
    @pytest.mark.parametrize(("role", "start"), LIVE_STATES)
    @given(pieces=HEARD)
    @settings(max_examples=40)
    def test_anything_heard_in_any_state_ends_in_one_last_word(
        self, role: Role, start: State, pieces: list[bytes]
    ) -> None:
        machine = machine_in(role, start)
        events: list[Event] = []
        for piece in pieces:
            events += machine.receive(piece)
            assert (machine.state in TERMINAL) == bool(last_words(events))
        events += machine.eof()
        assert len(last_words(events)) == 1
        assert events[-1] == last_words(events)[0]
        assert machine.want_close
        assert machine.receive(b"\x09" * 50) == machine.eof() == machine.timed_out() == []

    @pytest.mark.parametrize(("role", "start"), LIVE_STATES)
    @given(data=st.binary(max_size=300), cuts=CUTS)
    @settings(max_examples=25)
    def test_the_cut_of_what_is_heard_makes_no_difference(
        self, role: Role, start: State, data: bytes, cuts: list[int]
    ) -> None:
        whole, cut = machine_in(role, start), machine_in(role, start)
        events = whole.receive(data)
        cut_size, rest, in_pieces = cutter(cuts), data, []
        while rest:
            size = cut_size(len(rest))
            in_pieces += cut.receive(rest[:size])
            rest = rest[size:]
        if last_words(events) and whole.state is State.FAILED:
            assert [type(one) for one in in_pieces] == [type(one) for one in events]
        else:
            assert in_pieces == events
        assert (cut.state, cut.bytes_to_send()) == (whole.state, whole.bytes_to_send())

    @given(role=st.sampled_from(Role), steps=st.data())
    @settings(max_examples=150)
    def test_any_order_of_commands_bytes_and_clocks_follows_the_table(
        self, role: Role, steps: st.DataObject
    ) -> None:
        machine: Machine = Client(COOKIE, PARAMETERS) if role is Role.CLIENT else Server()
        calls = [*command_calls(role), *(hears(one) for one in (b"\x09", b"\x0a", b"\x01\x02"))]
        calls += [hears(COOKIE), hears(encode_json_frame(PARAMETERS)), hears(b"\x04")]
        for _ in range(12):
            call = steps.draw(st.sampled_from(calls))
            before = machine.state
            table = TRANSITIONS[role]
            if call.trigger and (before, call.trigger) not in table:
                with pytest.raises(LocalProtocolError):
                    call.make(machine)
                assert machine.state is before
            else:
                call.make(machine)
            assert machine.state in LIMITS[role]
            assert (before not in TERMINAL) or machine.state is before


@dataclass(frozen=True)
class Call:
    """A step of a driver; `trigger` is its row in the table, None for bytes from the peer."""

    trigger: Trigger | None
    make: Callable[[Machine], object]


def command_calls(role: Role) -> list[Call]:
    """Every command of a role."""
    arguments: dict[str, tuple[Any, ...]] = {
        "send_results": ({},),
        "refuse": (5,),
        "fail": (204,),
    }
    kind = Client if role is Role.CLIENT else Server
    calls = [Call(Trigger.TIMEOUT, lambda machine: machine.timed_out())]
    for trigger in Trigger:
        name = trigger.value.rstrip("()")
        if trigger.value.endswith("()") and hasattr(kind, name):
            calls.append(Call(trigger, _calling(name, arguments.get(name, ()))))
    return calls


def _calling(name: str, arguments: tuple[Any, ...]) -> Callable[[Machine], object]:
    return lambda machine: getattr(machine, name)(*arguments)


def hears(data: bytes) -> Call:
    """Bytes from the peer as a step."""
    return Call(None, lambda machine: machine.receive(data))


class TestMemory:
    @pytest.mark.parametrize(
        ("role", "state"),
        [
            (Role.CLIENT, State.RESULTS),
            (Role.SERVER, State.PARAMETERS),
            (Role.SERVER, State.RESULTS),
        ],
    )
    def test_an_announced_gigabyte_costs_nothing(self, role: Role, state: State) -> None:
        machine = machine_in(role, state)
        tracemalloc.start()
        try:
            events = machine.receive(ONE_GIGABYTE + bytes(1000))
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(last_words(events)) == 1
        assert peak_bytes < 100_000

    @pytest.mark.parametrize(("role", "state"), LIVE_STATES)
    def test_a_flood_does_not_pile_up(self, role: Role, state: State) -> None:
        machine = machine_in(role, state)
        flood = (MAX_PARAMETERS_BYTES + 1).to_bytes(4, "big") + bytes(60_000)
        tracemalloc.start()
        try:
            for _ in range(600):
                machine.receive(flood)
                machine.receive(b"\x01" * 1000)
            held_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        patient = state in (State.CONNECTING, State.DONE_WAIT)
        assert machine.want_close or patient
        assert held_bytes < 200_000
