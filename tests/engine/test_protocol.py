"""The control protocol: each byte, wait and error of both roles, and the table's completeness."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.wired import (
    CLIENT_RESULTS,
    COOKIE,
    EVERY_STATE,
    LIVE_STATES,
    ONE_GIGABYTE,
    PARAMETERS,
    SERVER_RESULTS,
    client_in,
    machine_in,
    server_in,
)
from tuiperf.engine import protocol
from tuiperf.engine.control_table import BYTE_TRIGGERS, IGNORED_BYTES, triggers_of
from tuiperf.engine.control_table import COMMANDS as TABLE_COMMANDS
from tuiperf.engine.control_words import Reading
from tuiperf.engine.errors import EngineError
from tuiperf.engine.framing import encode_json_frame
from tuiperf.engine.protocol import (
    LIMITS,
    READS,
    TERMINAL,
    TRANSITIONS,
    Client,
    CookieReceived,
    EndRequested,
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
    Wire,
    make_cookie,
)


def failure(events: list[Event]) -> EngineError:
    """The error of the one Failed among `events`."""
    (event,) = events
    assert isinstance(event, Failed)
    return event.error


def terminated(events: list[Event]) -> EngineError:
    """The error of the one PeerTerminated among `events`."""
    (event,) = events
    assert isinstance(event, PeerTerminated)
    return event.error


class TestValues:
    def test_state_bytes_are_those_of_iperf3(self) -> None:
        assert {word.name: int(word) for word in Wire} == {
            "TEST_START": 1,
            "TEST_RUNNING": 2,
            "TEST_END": 4,
            "PARAM_EXCHANGE": 9,
            "CREATE_STREAMS": 10,
            "SERVER_TERMINATE": 11,
            "CLIENT_TERMINATE": 12,
            "EXCHANGE_RESULTS": 13,
            "DISPLAY_RESULTS": 14,
            "IPERF_DONE": 16,
            "SERVER_ERROR": 254,
            "ACCESS_DENIED": 255,
        }
        assert Wire.ACCESS_DENIED.byte == b"\xff"

    def test_cookies_have_iperf3s_form_and_iperf2s_first_characters(self) -> None:
        cookies = {make_cookie() for _ in range(50)}
        assert len(cookies) == 50
        for cookie in cookies:
            assert len(cookie) == 37
            assert cookie.startswith(b"2b")
            assert cookie.endswith(b"\0")
            assert set(cookie[:-1]) <= set(b"abcdefghijklmnopqrstuvwxyz234567")

    def test_our_own_cookie_is_one_our_server_takes(self) -> None:
        cookie = make_cookie()
        server = Server()
        assert server.receive(cookie) == [CookieReceived(cookie)]
        assert server.cookie == cookie


class TestWholeTests:
    def test_client_says_what_iperf3_clients_say(self) -> None:
        client = Client(COOKIE, PARAMETERS)
        assert client.start() == COOKIE
        assert client.receive(b"\x09") == [GreetingReceived()]
        body = json.dumps(PARAMETERS, separators=(",", ":")).encode()
        assert client.bytes_to_send() == len(body).to_bytes(4, "big") + body
        assert client.bytes_to_send() == b""
        assert client.receive(b"\x0a") == [StreamsRequested()]
        client.streams_opened()
        assert client.receive(b"\x01\x02") == [TestStarted(), TestRunning()]
        assert client.bytes_to_send() == b""
        client.end_test()
        assert client.bytes_to_send() == b"\x04"
        assert client.receive(b"\x0d") == [ResultsRequested()]
        assert client.send_results(CLIENT_RESULTS) == []
        assert client.bytes_to_send() == encode_json_frame(CLIENT_RESULTS)
        answer = encode_json_frame(SERVER_RESULTS) + b"\x0e"
        assert client.receive(answer) == [ResultsReceived(SERVER_RESULTS), Finished()]
        assert client.bytes_to_send() == b"\x10"
        assert client.state is State.DONE
        assert client.want_close

    def test_server_says_what_iperf3_servers_say(self) -> None:
        server = Server()
        assert server.start() == b""
        assert server.receive(COOKIE) == [CookieReceived(COOKIE)]
        assert server.bytes_to_send() == b"\x09"
        assert server.receive(encode_json_frame(PARAMETERS)) == [ParametersReceived(PARAMETERS)]
        assert server.parameters == PARAMETERS
        assert server.bytes_to_send() == b""
        server.accept_parameters()
        assert server.bytes_to_send() == b"\x0a"
        server.streams_ready()
        assert server.bytes_to_send() == b"\x01\x02"
        assert server.receive(b"\x04") == [EndRequested()]
        server.request_results()
        assert server.bytes_to_send() == b"\x0d"
        frame = encode_json_frame(CLIENT_RESULTS)
        assert server.receive(frame) == [ResultsReceived(CLIENT_RESULTS)]
        server.send_results(SERVER_RESULTS)
        assert server.bytes_to_send() == encode_json_frame(SERVER_RESULTS) + b"\x0e"
        assert server.receive(b"\x10") == [Finished()]
        assert server.bytes_to_send() == b""
        assert server.state is State.CLOSED

    def test_test_may_end_before_test_running_came(self) -> None:
        client = client_in(State.STARTED)
        client.end_test()
        assert client.bytes_to_send() == b"\x04"
        assert client.receive(b"\x02\x0d") == [ResultsRequested()]

    def test_results_that_come_before_ours_are_kept(self) -> None:
        client = client_in(State.REPORTING)
        assert client.receive(encode_json_frame(SERVER_RESULTS) + b"\x0e") == []
        events = client.send_results(CLIENT_RESULTS)
        assert events == [ResultsReceived(SERVER_RESULTS), Finished()]
        assert client.bytes_to_send() == encode_json_frame(CLIENT_RESULTS) + b"\x10"

    def test_everything_after_iperf_done_is_ignored(self) -> None:
        client = client_in(State.DONE)
        assert client.receive(b"\xfe\x00\x00\x00\xcd\x00\x00\x00\x00") == []
        assert client.receive(b"\xff" * 5000) == []
        assert client.eof() == []
        assert client.timed_out() == []
        assert client.bytes_to_send() == b""
        assert client.state is State.DONE

    @pytest.mark.parametrize(
        "leave",
        [
            lambda server: server.receive(b"\x10"),
            lambda server: server.receive(b"\x0c"),
            lambda server: server.eof(errno.ECONNRESET),
            lambda server: server.timed_out(),
        ],
        ids=["IPERF_DONE", "CLIENT_TERMINATE", "reset", "timeout"],
    )
    def test_servers_test_is_complete_however_the_client_leaves(
        self, leave: Callable[[Server], list[Event]]
    ) -> None:
        server = server_in(State.DONE_WAIT)
        assert leave(server) == [Finished()]
        assert server.state is State.CLOSED
        assert server.bytes_to_send() == b""

    def test_server_sends_nothing_after_display_results(self) -> None:
        server = server_in(State.DONE_WAIT)
        assert server.receive(b"\x63\x04\x01") == []
        assert not server.want_close
        server.fail(160)
        assert server.bytes_to_send() == b""
        assert server.state is State.CLOSED

    def test_test_start_from_a_client_means_nothing(self) -> None:
        for state in (State.DECIDING, State.OPENING, State.RUNNING, State.ENDING, State.REPORTING):
            server = server_in(state)
            assert server.receive(b"\x01\x01") == []
            assert server.state is state
            assert server.bytes_to_send() == b""


WAITS = [
    (Role.CLIENT, State.GREETING, 35.0, "greeting (PARAM_EXCHANGE)", 112, b"\x10"),
    (Role.CLIENT, State.PARAMETERS, 30.0, "parameters (CREATE_STREAMS)", 112, b"\x10"),
    (Role.CLIENT, State.OPENING, 31.0, "the data connections", 203, b"\x10"),
    (Role.CLIENT, State.STARTING, 30.0, "(TEST_START)", 112, b"\x10"),
    (Role.CLIENT, State.STARTED, 30.0, "(TEST_RUNNING)", 112, b"\x10"),
    (Role.CLIENT, State.ENDING, 30.0, "results (EXCHANGE_RESULTS)", 112, b"\x10"),
    (Role.CLIENT, State.RESULTS, 30.0, "results (JSON)", 117, b"\x10"),
    (Role.CLIENT, State.DISPLAY, 30.0, "(DISPLAY_RESULTS)", 112, b"\x10"),
    (Role.SERVER, State.COOKIE, 10.0, "cookie", 106, b""),
    (Role.SERVER, State.PARAMETERS, 10.0, "parameters (JSON)", 114, b"\xfe\0\0\0\x72\0\0\0\0"),
    (Role.SERVER, State.OPENING, 31.0, "data connections", 204, b"\xfe\0\0\0\xcc\0\0\0\0"),
    (Role.SERVER, State.RESULTS, 10.0, "results (JSON)", 117, b"\xfe\0\0\0\x75\0\0\0\0"),
]


class TestWaits:
    @pytest.mark.parametrize("wait", WAITS, ids=str)
    def test_each_wait_ends_with_the_name_of_what_was_awaited(
        self, wait: tuple[Role, State, float, str, int, bytes]
    ) -> None:
        role, state, seconds, awaited, code, sent = wait
        machine = machine_in(role, state)
        limit_s, words = machine.limit()
        assert limit_s == seconds
        assert awaited in words
        error = failure(machine.timed_out())
        assert error.code == code
        assert error.text == f"{words} did not come within {seconds:g} s"
        assert error.hint
        assert machine.bytes_to_send() == sent
        assert machine.state is State.FAILED

    def test_client_says_after_five_seconds_that_it_waits(self) -> None:
        assert protocol.NOTICE_AFTER_S == 5.0

    @pytest.mark.parametrize(
        ("parameters", "seconds"),
        [
            ({"tcp": True, "omit": 0, "time": 1}, 41.0),
            ({"tcp": True, "omit": 5, "time": 86400}, 86445.0),
            ({"tcp": True}, 50.0),
            ({"tcp": True, "time": 0, "omit": 3}, None),
            ({"tcp": True, "num": 1048576}, None),
            ({"tcp": True, "blockcount": 10}, None),
            ({"tcp": True, "num": 1048576, "time": 7}, 47.0),
            ({"tcp": True, "time": 1.7}, 41.0),
            ({"tcp": True, "time": "9", "omit": [1]}, 50.0),
            ({"tcp": True, "time": 1e300, "omit": 1e300}, 2_000_040.0),
        ],
    )
    def test_server_lets_a_test_run_as_long_as_asked_and_40_s(
        self, parameters: dict[str, Any], seconds: float | None
    ) -> None:
        assert server_in(State.RUNNING, parameters).limit()[0] == seconds

    def test_server_ends_a_test_that_is_40_s_late_with_160(self) -> None:
        server = server_in(State.RUNNING)
        error = failure(server.timed_out())
        assert (error.code, error.text) == (160, "server test duration expired")
        assert server.bytes_to_send() == b"\xfe\0\0\0\xa0\0\0\0\0"

    @pytest.mark.parametrize("role", Role)
    def test_many_streams_may_take_longer_to_open(self, role: Role) -> None:
        parameters = {"tcp": True, "parallel": 128, "bidirectional": True}
        assert machine_in(role, State.OPENING, parameters).limit()[0] == 30.0 + 256.0

    def test_error_numbers_may_stay_away(self) -> None:
        client = client_in(State.ERROR_NUMBERS)
        assert client.limit()[0] == 2.0
        error = failure(client.timed_out())
        assert error.text == "the server reported an error but not which"
        assert client.bytes_to_send() == b""

    @pytest.mark.parametrize(("role", "state"), EVERY_STATE)
    def test_states_without_a_limit_say_why(self, role: Role, state: State) -> None:
        wait = LIMITS[role][state]
        assert wait.awaited
        assert wait.cause
        if wait.seconds is None and state not in (*TERMINAL, State.CONNECTING):
            with pytest.raises(LocalProtocolError):
                machine_in(role, state).timed_out()

    def test_connecting_times_out_with_103(self) -> None:
        client = client_in(State.CONNECTING)
        assert failure(client.timed_out()).code == 103
        assert client.bytes_to_send() == b""


CLIENT_LISTENING = [
    state
    for role, state in LIVE_STATES
    if role is Role.CLIENT and READS[role][state] is Reading.BYTES
]


class TestServerErrors:
    @pytest.mark.parametrize("state", [*CLIENT_LISTENING, State.RESULTS])
    def test_server_error_may_come_instead_of_anything(self, state: State) -> None:
        client = client_in(state)
        (event,) = client.receive(b"\xfe\x00\x00\x00\x25\x00\x00\x00\x00")
        assert isinstance(event, Failed)
        assert event.trigger is Trigger.NUMBERS
        assert event.error.code == 37
        assert event.error.text == (
            "client's requested duration exceeds the server's maximum permitted limit"
        )
        assert client.bytes_to_send() == b""

    @pytest.mark.parametrize(
        ("numbers", "code", "text", "number"),
        [
            (b"\x00\x00\x00\x8e\x00\x00\x00\x00", 142, "test authorization failed", 0),
            (b"\x00\x00\x00\x8e", 142, "test authorization failed", 0),
            (b"\x00\x00\x00\x8e\x00\x00", 142, "test authorization failed", 0),
            (b"", 112, "the server reported an error but not which", 0),
            (b"\x00\x00", 112, "the server reported an error but not which", 0),
            (b"\x00" * 8, 112, "the server reported an error but not which", 0),
            (
                b"\x00\x00\x00\x7b\x00\x00\x00\x16",
                123,
                "unable to set TCP/SCTP MSS: Invalid argument",
                errno.EINVAL,
            ),
            (
                b"\x00\x00\x00\xca\x00\x00\x00\x5d",
                202,
                "unable to start stream listener: Protocol not supported",
                errno.EPROTONOSUPPORT,
            ),
            (b"\x00\x00\x03\xe7\x00\x00\x00\x00", 999, "unknown iperf3 error 999", 0),
            (b"\xff\xff\xff\xff\x7f\xff\xff\xff", -1, None, 2**31 - 1),
        ],
    )
    def test_its_numbers_become_words(
        self, numbers: bytes, code: int, text: str | None, number: int
    ) -> None:
        client = client_in(State.ERROR_NUMBERS)
        events = client.receive(numbers)
        error = failure(events or client.eof())
        assert (error.code, error.errno) == (code, number)
        assert error.text == (text or "unknown iperf3 error -1: errno 2147483647")

    def test_it_may_be_repeated(self) -> None:
        client = client_in(State.RUNNING)
        message = b"\xfe\x00\x00\x00\x1b\x00\x00\x00\x00"
        assert failure(client.receive(message + message)).code == 27
        assert client.receive(message) == []

    @pytest.mark.parametrize("state", [*CLIENT_LISTENING, State.RESULTS])
    def test_access_denied_is_busy(self, state: State) -> None:
        client = client_in(state)
        error = failure(client.receive(b"\xff"))
        assert error.code == 121
        assert "busy" in error.text
        assert client.bytes_to_send() == b""

    @pytest.mark.parametrize("state", [*CLIENT_LISTENING, State.RESULTS])
    def test_server_terminate_ends_the_test_with_iperf_done(self, state: State) -> None:
        client = client_in(state)
        error = terminated(client.receive(b"\x0b"))
        assert (error.code, error.text) == (120, "the server has terminated")
        assert client.bytes_to_send() == b"\x10"
        assert client.want_close


class TestClientMeetsTrouble:
    @pytest.mark.parametrize(
        "state", [state for state in CLIENT_LISTENING if state is not State.GREETING]
    )
    @pytest.mark.parametrize("byte", [0, 3, 5, 8, 12, 15, 16, 17, 99, 0x80, 0xFD])
    def test_unknown_byte_is_110_and_iperf_done(self, state: State, byte: int) -> None:
        client = client_in(state)
        error = failure(client.receive(bytes((byte,))))
        assert error.code == 110
        assert error.text == (
            "received an unknown control message (ensure other side is iperf3 and not iperf)"
        )
        assert LIMITS[Role.CLIENT][state].awaited in error.hint
        assert client.bytes_to_send() == b"\x10"

    def test_state_byte_at_the_wrong_time_is_named(self) -> None:
        error = failure(client_in(State.RUNNING).receive(b"\x0e"))
        assert error.code == 110
        assert error.hint == "DISPLAY_RESULTS came while the end of the test was awaited"

    def test_end_before_the_greeting_can_be_told_apart_for_a_retry(self) -> None:
        client = client_in(State.GREETING)
        (event,) = client.eof(errno.ECONNRESET)
        assert isinstance(event, Failed)
        assert (event.state, event.trigger) == (State.GREETING, Trigger.EOF)
        assert (event.error.code, event.error.errno) == (109, errno.ECONNRESET)
        assert event.error.text == "control socket has closed unexpectedly"
        assert "Connection reset by peer" in event.error.hint
        assert "PARAM_EXCHANGE" in event.error.hint
        assert "between two tests" in event.error.hint
        assert client.bytes_to_send() == b""

    def test_end_after_the_parameters_with_a_token_is_a_failed_login(self) -> None:
        client = client_in(State.PARAMETERS, {**PARAMETERS, "authtoken": "AAAA"})
        assert "password" in failure(client.eof()).hint

    def test_end_after_the_parameters_without_a_token_is_a_refusal(self) -> None:
        error = failure(client_in(State.PARAMETERS).eof())
        assert "refused the parameters" in error.hint
        assert "password" not in error.hint

    @pytest.mark.parametrize(
        "state",
        [
            *(State.OPENING, State.STARTING, State.STARTED, State.RUNNING),
            *(State.ENDING, State.REPORTING, State.RESULTS, State.DISPLAY),
        ],
    )
    def test_server_that_dies_is_109_in_every_state(self, state: State) -> None:
        client = client_in(state)
        error = failure(client.eof())
        assert error.code == 109
        assert LIMITS[Role.CLIENT][state].awaited in error.hint
        assert client.bytes_to_send() == b""
        assert client.want_close

    def test_test_start_before_all_streams_are_open_means_no_bidir(self) -> None:
        client = client_in(State.OPENING, {**PARAMETERS, "bidirectional": True})
        error = failure(client.receive(b"\x01\x02"))
        assert "does not know --bidir" in error.hint
        assert "3.7" in error.hint
        assert client.bytes_to_send() == b"\x10"

    def test_test_start_before_all_streams_are_open_without_bidir(self) -> None:
        error = failure(client_in(State.OPENING).receive(b"\x01\x02"))
        assert "before all data connections were open" in error.hint

    @pytest.mark.parametrize("body", [b"nonsense", b"[1, 2", b'"text"', b"{" * 10000, b"\0\0"])
    def test_results_that_are_not_json_are_117(self, body: bytes) -> None:
        client = client_in(State.RESULTS)
        error = failure(client.receive(len(body).to_bytes(4, "big") + body))
        assert error.code == 117
        assert error.text == "unable to receive results"
        assert error.hint
        assert client.bytes_to_send() == b"\x10"

    def test_results_of_a_gigabyte_are_refused_at_their_length(self) -> None:
        client = client_in(State.RESULTS)
        assert client.receive(ONE_GIGABYTE[:3]) == []
        error = failure(client.receive(ONE_GIGABYTE[3:]))
        assert error.code == 117
        assert "1073741824 bytes" in error.hint

    def test_unasked_results_do_not_pile_up(self) -> None:
        client = client_in(State.REPORTING)
        megabyte = bytes(1024 * 1024)
        for _ in range(15):
            assert client.receive(megabyte) == []
        assert client.receive(megabyte) == []
        assert failure(client.receive(megabyte)).code == 117
        assert client.receive(megabyte) == []

    def test_parameters_no_server_would_read_are_refused_here(self) -> None:
        fits = {"title": "x" * (8192 - len('{"title":""}'))}
        assert Client(COOKIE, fits).state is State.CONNECTING
        with pytest.raises(EngineError) as caught:
            Client(COOKIE, {"title": fits["title"] + "x"})
        assert caught.value.code == 113
        assert "8193" in caught.value.hint

    @pytest.mark.parametrize("cookie", [b"", b"x" * 37, b"x" * 35 + b"\0", b"x" * 37 + b"\0"])
    def test_cookie_of_another_form_is_a_mistake_of_the_caller(self, cookie: bytes) -> None:
        with pytest.raises(ValueError, match="36 bytes and a NUL"):
            Client(cookie, PARAMETERS)


class TestClientLeaves:
    @pytest.mark.parametrize("state", [*CLIENT_LISTENING, State.REPORTING, State.RESULTS])
    def test_abort_is_client_terminate_and_giving_up_iperf_done(self, state: State) -> None:
        for command, byte in (("abort", b"\x0c"), ("give_up", b"\x10")):
            client = client_in(state)
            assert getattr(client, command)() == []
            assert client.bytes_to_send() == byte
            assert client.state is State.ABORTED
            assert client.receive(b"\xfe\x00\x00\x00\x77\x00\x00\x00\x00") == []

    @pytest.mark.parametrize("state", [State.CONNECTING, State.STRANGER, State.ERROR_NUMBERS])
    def test_nothing_is_said_where_nobody_listens(self, state: State) -> None:
        for command in ("abort", "give_up"):
            client = client_in(state)
            assert getattr(client, command)() == []
            assert client.bytes_to_send() == b""
            assert client.state is State.ABORTED

    @pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.ABORTED])
    def test_leaving_twice_does_no_harm(self, state: State) -> None:
        client = client_in(state)
        client.abort()
        client.give_up()
        assert client.bytes_to_send() == b""
        assert client.state is state


class TestServerMeetsTrouble:
    @pytest.mark.parametrize(
        "state",
        [
            *(State.PARAMETERS, State.DECIDING, State.OPENING, State.RUNNING),
            *(State.ENDING, State.RESULTS, State.REPORTING),
        ],
    )
    def test_client_may_leave_at_any_time(self, state: State) -> None:
        for byte, hint in ((b"\x0c", ""), (b"\x10", "it gave up: it met an error of its own")):
            server = server_in(state)
            error = terminated(server.receive(byte))
            assert (error.code, error.text) == (119, "the client has terminated")
            assert error.hint == hint
            assert server.state is State.CLOSED
            assert server.bytes_to_send() == b""
        server = server_in(state)
        error = terminated(server.eof(errno.ECONNRESET))
        assert error.code == 109
        assert error.hint == "Connection reset by peer"
        assert server.bytes_to_send() == b""

    @pytest.mark.parametrize(
        "state", [State.DECIDING, State.OPENING, State.RUNNING, State.ENDING, State.REPORTING]
    )
    @pytest.mark.parametrize("byte", [0, 2, 3, 9, 10, 11, 13, 14, 15, 99, 0xFD, 0xFE, 0xFF])
    def test_unknown_byte_is_answered_with_110(self, state: State, byte: int) -> None:
        server = server_in(state)
        assert failure(server.receive(bytes((byte, 4)))).code == 110
        assert server.bytes_to_send() == b"\xfe\x00\x00\x00\x6e\x00\x00\x00\x00"
        assert server.state is State.FAILED

    @pytest.mark.parametrize(
        ("frame", "hint"),
        [
            (b"\x00\x00\x00\x00", "empty"),
            ((8193).to_bytes(4, "big"), "8193 bytes"),
            (ONE_GIGABYTE, "1073741824 bytes"),
            (b"\x00\x00\x00\x04none", "not valid JSON"),
            (b"\x00\x00\x00\x02" + b'"x', "not valid JSON"),
            (b"\x00\x00\x00\x01" + b"7", "not a JSON object"),
            (b"\x00\x00\x1f\xff" + b"[" * 8191, "nested too deeply"),
        ],
    )
    def test_bad_parameters_are_answered_with_114(self, frame: bytes, hint: str) -> None:
        server = server_in(State.PARAMETERS)
        error = failure(server.receive(frame))
        assert error.code == 114
        assert hint in error.hint
        assert server.bytes_to_send() == b"\xfe\x00\x00\x00\x72\x00\x00\x00\x00"

    def test_parameters_of_8192_bytes_are_read(self) -> None:
        body = b'{"title":"' + b"x" * (8192 - 12) + b'"}'
        server = server_in(State.PARAMETERS)
        (event,) = server.receive(len(body).to_bytes(4, "big") + body)
        assert isinstance(event, ParametersReceived)
        assert len(event.parameters["title"]) == 8180

    def test_bad_results_are_answered_with_117(self) -> None:
        server = server_in(State.RESULTS)
        assert failure(server.receive(b"\x00\x00\x00\x03{{{")).code == 117
        assert server.bytes_to_send() == b"\xfe\x00\x00\x00\x75\x00\x00\x00\x00"

    def test_repeated_test_end_is_ignored(self) -> None:
        server = server_in(State.ENDING)
        assert server.receive(b"\x04") == []
        assert server.state is State.ENDING

    def test_refusing_names_the_error_and_the_errno(self) -> None:
        server = server_in(State.DECIDING)
        assert server.refuse(123, errno.EINVAL) == []
        assert server.bytes_to_send() == b"\xfe\x00\x00\x00\x7b\x00\x00\x00\x16"
        assert server.state is State.FAILED

    @pytest.mark.parametrize("state", [state for role, state in LIVE_STATES if role is Role.SERVER])
    def test_failing_and_stopping_are_said_unless_the_test_is_over(self, state: State) -> None:
        quiet = state in (State.STRANGER, State.DONE_WAIT)
        server = server_in(state)
        server.fail(204, errno.EMFILE)
        error = b"\xfe\x00\x00\x00\xcc" + errno.EMFILE.to_bytes(4, "big")
        assert server.bytes_to_send() == (b"" if quiet else error)
        assert server.want_close
        server = server_in(state)
        server.terminate()
        assert server.bytes_to_send() == (b"" if quiet else b"\x0b")
        assert server.want_close

    def test_busy_server_denies_without_reading(self) -> None:
        server = Server()
        server.start()
        assert server.deny() == []
        assert server.bytes_to_send() == b"\xff"
        assert server.want_close
        assert server.receive(COOKIE) == []

    def test_cookie_of_an_old_client_is_taken(self) -> None:
        cookie = b"vm.1796066497.367808.69ead58c1a75867\0"
        assert Server().receive(cookie) == [CookieReceived(cookie)]


IPERF2_SERVER = bytes.fromhex("000000020000001c000000000002000100080003") + bytes(8)
IPERF2_CLIENT = bytes.fromhex("40010078000000010000145100000000") + bytes(44)


class TestStrangers:
    @pytest.mark.parametrize(
        ("said", "who"),
        [
            (IPERF2_SERVER, "an iperf2 server, version 2.1.8"),
            (IPERF2_SERVER[:8], "an iperf2 server"),
            (b"0123456789012345678901234567890123456789", "an iperf2 server that sends"),
            (b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", "an HTTP server"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "an SSH server"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "a TLS server"),
            (b"220 mail.example ESMTP\r\n", "a mail or FTP server"),
            (b"\r\n", "not an iperf3 server"),
        ],
    )
    def test_client_says_who_answered(self, said: bytes, who: str) -> None:
        client = client_in(State.GREETING)
        events = client.receive(said)
        if not events:
            assert client.state is State.STRANGER
            assert client.limit()[0] == 1.0
            events = client.timed_out()
        error = failure(events)
        assert error.code == 110
        assert who in error.hint
        assert client.bytes_to_send() == b""

    @pytest.mark.parametrize(
        ("said", "who"),
        [
            (IPERF2_CLIENT, "an iperf2 client"),
            (b"\x44" + IPERF2_CLIENT[1:], "an iperf2 client"),
            (b"\xc0\x01\x00\x79" + IPERF2_CLIENT[4:], "an iperf2 client"),
            (b"\x00\x00\x00\x00" + IPERF2_CLIENT[4:], "an iperf2 client"),
            (b"\x80\x00\x00\x01" + IPERF2_CLIENT[4:], "an iperf2 client"),
            (b"GET / HTTP/1.0\r\n\r\n", "an HTTP client"),
            (b"GET /a/long/path/that/fills/the/cookie HTTP/1.1\r\n", "an HTTP client"),
            (b"SSH-2.0-Go\r\n", "an SSH client"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(60), "a TLS client"),
            (b"x" * 36 + b"y", "not an iperf3 client"),
            (b"\x00\x00\x00\x00\x00\x00\xff\xff" + bytes(60), "not an iperf3 client"),
        ],
    )
    def test_server_says_who_called_and_does_not_answer(self, said: bytes, who: str) -> None:
        for ending in ("eof", "timed_out"):
            server = Server()
            events = server.receive(said)
            error = failure(events or getattr(server, ending)())
            assert error.code == 110
            assert who in error.hint
            assert server.bytes_to_send() == b""

    def test_stranger_does_not_hold_the_server_for_long(self) -> None:
        server = Server()
        server.receive(b"GET / HTTP/1.0\r\n\r\n")
        assert server.limit()[0] == 1.0

    def test_silence_has_a_name_on_both_sides(self) -> None:
        client = client_in(State.GREETING)
        assert "silent service" in failure(client.timed_out()).hint
        server = server_in(State.COOKIE)
        assert "port scan" in failure(server.timed_out()).hint
        assert "port scan" in terminated(server_in(State.COOKIE).eof()).hint

    def test_half_a_cookie_is_said_to_be_one(self) -> None:
        server = server_in(State.COOKIE)
        server.receive(COOKIE[:20])
        assert terminated(server.eof()).hint == "after 20 bytes of its cookie"

    def test_unknown_opening_has_no_name(self) -> None:
        assert protocol.identify_stranger(b"\x7f\x7f", Role.CLIENT) is None
        assert protocol.identify_stranger(b"\x7f\x7f", Role.SERVER) is None


COMMANDS: dict[Role, dict[str, tuple[Any, ...]]] = {
    Role.CLIENT: {
        "start": (),
        "streams_opened": (),
        "end_test": (),
        "send_results": ({},),
        "abort": (),
        "give_up": (),
    },
    Role.SERVER: {
        "start": (),
        "deny": (),
        "accept_parameters": (),
        "refuse": (5,),
        "streams_ready": (),
        "request_results": (),
        "send_results": ({},),
        "fail": (204,),
        "terminate": (),
    },
}


class TestCommands:
    @pytest.mark.parametrize(("role", "state"), EVERY_STATE)
    def test_a_command_is_legal_exactly_where_the_table_has_it(
        self, role: Role, state: State
    ) -> None:
        for name, arguments in COMMANDS[role].items():
            machine = machine_in(role, state)
            row = TRANSITIONS[role].get((state, Trigger(f"{name}()")))
            if row:
                getattr(machine, name)(*arguments)
                assert machine.state is row.target
                continue
            with pytest.raises(LocalProtocolError, match=f"{name}.* in state {state.name}"):
                getattr(machine, name)(*arguments)
            assert machine.state is state
            assert machine.bytes_to_send() == b""

    @pytest.mark.parametrize(("said", "reason"), [(b"\x0c", 119), (b"\x10", 119), (b"\x63", 110)])
    def test_an_answer_to_a_peer_that_left_in_the_same_bytes_does_no_harm(
        self, said: bytes, reason: int
    ) -> None:
        server = server_in(State.PARAMETERS)
        request, left = server.receive(encode_json_frame(PARAMETERS) + said)
        assert request == ParametersReceived(PARAMETERS)
        assert isinstance(left, (PeerTerminated, Failed))
        assert left.error.code == reason
        server.bytes_to_send()
        assert server.accept_parameters() == []
        assert server.bytes_to_send() == b""
        assert server.want_close

    def test_a_command_out_of_place_leaves_the_next_message_alone(self) -> None:
        client = client_in(State.GREETING)
        with pytest.raises(LocalProtocolError):
            client.send_results(CLIENT_RESULTS)
        client.receive(b"\x09")
        assert client.bytes_to_send() == encode_json_frame(PARAMETERS)


class TestTable:
    @pytest.mark.parametrize(("role", "state"), EVERY_STATE)
    def test_every_trigger_that_can_occur_has_a_row(self, role: Role, state: State) -> None:
        for trigger in triggers_of(role, state):
            assert (state, trigger) in TRANSITIONS[role]

    @pytest.mark.parametrize(("role", "state"), EVERY_STATE)
    def test_every_byte_is_defined_in_every_state(self, role: Role, state: State) -> None:
        for byte in range(256):
            machine = machine_in(role, state)
            machine.receive(bytes((byte,)))
            assert machine.state in READS[role]
            if machine.state is not state:
                targets = {
                    row.target for (origin, _), row in TRANSITIONS[role].items() if origin is state
                }
                assert machine.state in targets

    @pytest.mark.parametrize("role", Role)
    def test_every_state_is_reachable_and_can_end(self, role: Role) -> None:
        table = TRANSITIONS[role]
        reached = {State.CONNECTING if role is Role.CLIENT else State.COOKIE}
        while True:
            further = {row.target for (origin, _), row in table.items() if origin in reached}
            if further <= reached:
                break
            reached |= further
        assert reached == set(READS[role]) == set(LIMITS[role])
        for state in reached - TERMINAL:
            assert table[state, Trigger.EOF].target in TERMINAL

    @pytest.mark.parametrize("role", Role)
    def test_nothing_leaves_a_terminal_state_or_is_sent_there(self, role: Role) -> None:
        for (state, _), row in TRANSITIONS[role].items():
            if state in TERMINAL:
                assert row == (state, (), None)

    @pytest.mark.parametrize("role", Role)
    def test_what_the_driver_is_told_fits_the_end(self, role: Role) -> None:
        left = State.FAILED if role is Role.CLIENT else State.CLOSED
        whole = State.DONE if role is Role.CLIENT else State.CLOSED
        ends = {Failed: State.FAILED, PeerTerminated: left, Finished: whole}
        for (state, trigger), row in TRANSITIONS[role].items():
            if state in TERMINAL or trigger in TABLE_COMMANDS[role]:
                assert row.event is None
            elif row.event in ends:
                assert row.target is ends[row.event]
            else:
                assert row.target not in TERMINAL

    @pytest.mark.parametrize("role", Role)
    def test_a_command_that_ends_a_connection_says_how(self, role: Role) -> None:
        ends = {
            **dict.fromkeys((Trigger.ABORT, Trigger.GIVE_UP, Trigger.DENY), State.ABORTED),
            **dict.fromkeys((Trigger.FAIL, Trigger.REFUSE), State.FAILED),
            Trigger.TERMINATE: State.ABORTED,
        }
        for (state, trigger), row in TRANSITIONS[role].items():
            if state not in TERMINAL and trigger in TABLE_COMMANDS[role]:
                over = State.CLOSED if state is State.DONE_WAIT else ends.get(trigger)
                assert row.target is over if over else row.target not in TERMINAL

    def test_commands_of_the_table_are_the_methods_of_the_role(self) -> None:
        for role, kind in ((Role.CLIENT, Client), (Role.SERVER, Server)):
            assert {f"{name}()" for name in COMMANDS[role]} == {
                trigger.value for trigger in TABLE_COMMANDS[role]
            }
            for name in COMMANDS[role]:
                assert callable(getattr(kind, name))

    def test_ignored_bytes_are_those_whose_row_does_nothing(self) -> None:
        assert IGNORED_BYTES[Role.SERVER][State.RUNNING] == b"\x01"
        assert IGNORED_BYTES[Role.SERVER][State.ENDING] == b"\x01\x04"
        assert IGNORED_BYTES[Role.CLIENT][State.ENDING] == b"\x02"
        assert IGNORED_BYTES[Role.CLIENT][State.RUNNING] == b""
        kept = set(range(256)) - set(IGNORED_BYTES[Role.SERVER][State.DONE_WAIT])
        assert kept == {Wire.CLIENT_TERMINATE, Wire.IPERF_DONE}

    def test_byte_triggers_are_the_state_bytes_and_the_rest(self) -> None:
        assert [trigger.name for trigger in BYTE_TRIGGERS] == [
            *(word.name for word in Wire),
            "OTHER_BYTE",
        ]
