"""The server against clients that vanish, lie, stall or are something else: it is never stuck.

Every test ends with a good client that gets a whole test from the same server.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from tests.engine import fake_peer
from tests.engine.driving import OurServer, carried, client_spec, eventually, run, short
from tests.engine.fake_peer import ClientSide
from tuiperf.engine import server as server_module
from tuiperf.events import Failed, Listening, Results, RunEnded, TestStarted, Turned

SOME_BYTES = 1_000_000


@pytest.fixture(scope="module")
def shared() -> Iterator[OurServer]:
    with OurServer() as running:
        yield running


@pytest.fixture(scope="module")
def shared_hasty() -> Iterator[OurServer]:
    """A server whose limits are a twentieth of the usual ones."""
    with OurServer(hasty=True) as running:
        yield running


def serves(server: OurServer) -> None:
    """The server is alive and free: a good client gets its test, and nothing of an old one stays.

    A client's end may be noticed a moment after the client is gone.
    """
    assert eventually(lambda: run(client_spec(server.port, short(total_bytes=1))).failed_as != 121)
    done = run(client_spec(server.port, short(total_bytes=SOME_BYTES, parallel=2)))
    assert done.outcome == "completed"
    assert sum(carried(done.remote).values()) == SOME_BYTES
    there = server.run_of(done)
    assert there.outcome == "completed"
    assert sum(carried(there.local).values()) == SOME_BYTES
    assert server.workers == []


@pytest.fixture
def server(shared: OurServer) -> Iterator[OurServer]:
    yield shared
    serves(shared)


@pytest.fixture
def hasty(shared_hasty: OurServer) -> Iterator[OurServer]:
    yield shared_hasty
    serves(shared_hasty)


AFTER_COOKIE = ClientSide.steps[1:]


def name(step: Callable[..., None]) -> str:
    return f"before {step.__name__}"


# ---------------------------------------------------------------- it was a client


@pytest.mark.parametrize("end", [socket.socket.close, fake_peer.reset])
@pytest.mark.parametrize("step", AFTER_COOKIE, ids=name)
def test_a_client_that_vanishes_in_any_state(
    server: OurServer, step: Callable[[ClientSide], None], end: Callable[[socket.socket], None]
) -> None:
    guest = ClientSide(server.port)
    guest.play(until=step)
    guest.close(end)
    done = server.next_run()
    if step is ClientSide.finish:
        assert done.outcome == "completed"  # it had all that it came for
        return
    failure = done.failure
    assert (failure.code, failure.remote) == (109, True)
    begun = bool(done.all(TestStarted))
    assert [results.side for results in done.all(Results)] == ["local"] * begun
    assert begun == (step in AFTER_COOKIE[2:])


@pytest.mark.parametrize("word", [fake_peer.CLIENT_TERMINATE, fake_peer.IPERF_DONE])
@pytest.mark.parametrize("step", AFTER_COOKIE[:-1], ids=name)
def test_a_client_that_leaves_in_any_state(
    server: OurServer, step: Callable[[ClientSide], None], word: bytes
) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=step)
        guest.say(word)
        failure = server.next_run().failure
        assert (failure.code, failure.remote) == (119, True)
        assert guest.heard() == b""


@pytest.mark.parametrize("step", AFTER_COOKIE[:-1], ids=name)
def test_a_client_that_stalls_in_any_state(
    hasty: OurServer, step: Callable[[ClientSide], None]
) -> None:
    with ClientSide(hasty.port) as guest:
        guest.play(until=step)
        failure = hasty.next_run().failure
        assert failure.awaited
        code = struct.unpack(">ii", guest.heard()[1:])
        assert code == (failure.code, 0)


def test_a_client_that_stalls_before_its_goodbye_had_its_test(hasty: OurServer) -> None:
    with ClientSide(hasty.port) as guest:
        guest.play(until=ClientSide.finish)
        assert hasty.next_run().outcome == "completed"


@pytest.mark.parametrize("step", AFTER_COOKIE[:-1], ids=name)
def test_garbage_in_any_state(server: OurServer, step: Callable[[ClientSide], None]) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=step)
        guest.say(b"\x63" * 1000)
        failure = server.next_run().failure
        code, _ = struct.unpack(">ii", guest.heard()[1:])
        frames = {"send_parameters": 114, "exchange": 117}
        assert failure.code == code == frames.get(step.__name__, 110)


EVERYTHING_AT_ONCE = {
    "parameters and goodbye": (1, fake_peer.IPERF_DONE),
    "parameters and abort": (1, fake_peer.CLIENT_TERMINATE),
    "parameters and garbage": (1, b"\x63"),
    "end and goodbye": (4, fake_peer.TEST_END + fake_peer.IPERF_DONE),
    "end and abort": (4, fake_peer.TEST_END + fake_peer.CLIENT_TERMINATE),
    "end and garbage": (4, fake_peer.TEST_END + b"\x63"),
    "results and goodbye": (5, fake_peer.frame(fake_peer.results((1, 7))) + b"\x10"),
    "results and garbage": (5, fake_peer.frame(fake_peer.results((1, 7))) + b"\x63"),
}


@pytest.mark.parametrize("case", EVERYTHING_AT_ONCE)
def test_a_word_behind_another_in_one_segment(server: OurServer, case: str) -> None:
    steps, said = EVERYTHING_AT_ONCE[case]
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.steps[steps])
        first = fake_peer.frame(guest.parameters) if steps == 1 else b""
        guest.say(first + said)
        done = server.next_run()
        assert done.failure.code == (110 if case.endswith("garbage") else 119)
        guest.heard()


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"parallel": 0}, 6),
        ({"parallel": 129}, 6),
        ({"parallel": 10**30}, 114),
        ({"parallel": "2"}, 114),
        ({"time": -1}, 5),
        ({"time": 86401}, 5),
        ({"omit": 601}, 12),
        ({"len": 1048577}, 7),
        ({"len": -1}, 7),
        ({"window": 2**31}, 8),
        ({"MSS": 32768}, 10),
        ({"MSS": 9}, 123),
        ({"reverse": 1}, 114),
        ({"reverse": True, "bidirectional": True}, 25),
        ({"num": -1}, 114),
        ({"TOS": 256}, 21),
        ({"sctp": True}, 18),
    ],
    ids=str,
)
def test_parameters_that_are_refused(
    server: OurServer, parameters: dict[str, Any], code: int
) -> None:
    with ClientSide(server.port, **parameters) as guest:
        guest.send_cookie()
        guest.say(fake_peer.frame(guest.parameters))
        answer = guest.heard()
        assert answer[:1] == fake_peer.SERVER_ERROR
        assert struct.unpack(">i", answer[1:5]) == (code,)
        assert len(answer) == 9
    assert server.next_run().failure.code == code


@pytest.mark.parametrize(
    "said",
    [
        struct.pack(">I", 0),
        struct.pack(">I", 8193),
        struct.pack(">I", 10**9),
        struct.pack(">I", 7) + b"garbage",
        struct.pack(">I", 8192) + b'{"a":' * 1638 + b"  ",
    ],
    ids=lambda said: repr(said[:12]),
)
def test_parameters_that_are_no_json(server: OurServer, said: bytes) -> None:
    with ClientSide(server.port) as guest:
        guest.send_cookie()
        guest.say(said)
        answer = guest.heard()
        assert answer == fake_peer.SERVER_ERROR + struct.pack(">ii", 114, 0)
    assert server.next_run().failure.code == 114


def test_parameters_that_carry_a_terminals_commands_stay_inside_json(server: OurServer) -> None:
    with ClientSide(server.port, title="\x1b]0;gotcha\x07", congestion="\x1b[2J") as guest:
        guest.play()
    done = server.next_run()
    assert done.outcome == "completed"
    assert "\x1b" not in done.notes["congestion"]


def test_results_of_a_gigabyte_are_not_read(server: OurServer) -> None:
    before = server.resident_bytes
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.exchange)
        guest.say(struct.pack(">I", 10**9))
        assert guest.heard() == fake_peer.SERVER_ERROR + struct.pack(">ii", 117, 0)
    assert server.next_run().failure.code == 117
    assert server.resident_bytes - before < 20_000_000


@pytest.mark.parametrize("document", ["7", "[]", "{}", '{"streams":[{}]}', '{"streams":{}}'])
def test_results_that_cannot_be_used(server: OurServer, document: str) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.exchange)
        guest.say(fake_peer.frame(json.loads(document)))
        answer = guest.heard()
        assert answer[:1] == fake_peer.SERVER_ERROR
    failure = server.next_run().failure
    assert failure.code == struct.unpack(">i", answer[1:5])[0]
    assert failure.code in (117, 208)


# ---------------------------------------------------------------- data connections


def test_a_data_connection_with_a_wrong_cookie_is_turned_away(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.send_cookie()
        guest.send_parameters()
        stranger = guest.open_stream(b"2bsomebodyelsesomebodyelsesomebodyel\0")
        assert stranger.recv(1) == fake_peer.ACCESS_DENIED
        assert "busy with a test for 127.0.0.1" in server.next(Turned).why
        guest.data.clear()
        for step in ClientSide.steps[2:]:
            step(guest)
        stranger.close()
    assert server.next_run().outcome == "completed"


def test_more_data_connections_than_agreed(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.send_data)
        extra = guest.open_stream()
        assert extra.recv(1) == fake_peer.ACCESS_DENIED
        guest.data.remove(extra)
        for step in ClientSide.steps[3:]:
            step(guest)
        extra.close()
    assert server.next_run().outcome == "completed"


def test_fewer_data_connections_than_agreed(hasty: OurServer) -> None:
    with ClientSide(hasty.port, parallel=3) as guest:
        guest.send_cookie()
        guest.send_parameters()
        guest.open_stream()
        failure = hasty.next_run().failure
        assert (failure.code, failure.awaited) == (204, "the client's data connections")


def test_data_connections_that_break_at_once(server: OurServer) -> None:
    """Each is a reset that waits in the queue of accepted connections."""
    with ClientSide(server.port, parallel=2) as guest:
        guest.send_cookie()
        guest.send_parameters()
        for _ in range(2):
            fake_peer.reset(guest.open_stream())
        guest.data.clear()
        guest.control.settimeout(0.5)
        guest.heard()
    assert server.next_run().outcome == "failed"


def test_a_data_connection_that_breaks_during_the_test(server: OurServer) -> None:
    with ClientSide(server.port, parallel=2) as guest:
        guest.play(until=ClientSide.end)
        fake_peer.reset(guest.data.pop())
        for step in ClientSide.steps[4:]:
            step(guest)
    assert server.next_run().outcome == "completed"


def test_a_client_that_reads_nothing_of_what_it_asked_for(server: OurServer) -> None:
    with ClientSide(server.port, reverse=True, parallel=2) as guest:
        guest.play(until=ClientSide.send_data)
        assert all(sock.recv(1) for sock in guest.data)
        for step in ClientSide.steps[4:]:
            step(guest)
        assert all(row["bytes"] > 0 for row in guest.server_results["streams"])
    assert server.next_run().outcome == "completed"


# ---------------------------------------------------------------- it was no client


STRANGERS = {
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * 30: "an HTTP client",
    b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n": "an SSH client",
    b"\x16\x03\x01\x02\x00\x01" + b"\x00" * 40: "a TLS client",
    b"\x40\x01\x00\x78" + struct.pack(">IIII", 1, 5001, 0, 0) + bytes(40): "an iperf2 client",
    b"\x00\x00\x00\x00" + struct.pack(">IIII", 1, 5001, 0, 0) + bytes(40): "an iperf2 client",
}


@pytest.mark.parametrize("said", STRANGERS, ids=STRANGERS.values())
def test_another_program_is_named_and_gets_no_answer(server: OurServer, said: bytes) -> None:
    with ClientSide(server.port) as guest:
        guest.say(said)
        assert guest.heard() == b""
    assert STRANGERS[said] in server.next(Turned).why


def test_garbage_instead_of_a_cookie(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.say(bytes(range(128, 256)))
        guest.heard()
    server.next(RunEnded)


def test_somebody_who_closes_at_once(server: OurServer) -> None:
    ClientSide(server.port).close()
    assert "silent client" in server.next(Turned).why


def test_silent_connections_do_not_block_a_test(server: OurServer) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(ClientSide(server.port))
        serves(server)


def test_a_silent_connection_is_dropped_after_a_while(hasty: OurServer) -> None:
    with ClientSide(hasty.port) as guest:
        assert guest.heard() == b""
    assert "sent no cookie within" in hasty.next(Turned).why


def test_a_cookie_that_comes_byte_by_byte_does_not_block_a_test(hasty: OurServer) -> None:
    """Nor does it live for longer than a cookie may take."""
    with ClientSide(hasty.port) as guest:
        guest.say(fake_peer.COOKIE[:3])
        serves(hasty)
        with suppress(OSError):
            for byte in fake_peer.COOKIE[3:-1]:
                time.sleep(0.05)
                guest.say(bytes([byte]))
        assert guest.heard() == b""
    assert "sent no cookie within" in hasty.next(Turned).why


def test_a_hundred_connections_at_once(server: OurServer) -> None:
    """One gets the test, the others hear that the server is busy."""
    with ExitStack() as stack:
        guests = [
            stack.enter_context(ClientSide(server.port, b"2b%034d\0" % number))
            for number in range(100)
        ]
        for guest in guests:
            guest.say(guest.cookie)
        answers = [guest.control.recv(1) for guest in guests]
        assert sorted(answers) == [fake_peer.PARAM_EXCHANGE] + [fake_peer.ACCESS_DENIED] * 99


def test_more_silent_connections_than_it_keeps_do_not_lock_anybody_out(server: OurServer) -> None:
    with ExitStack() as stack:
        for _ in range(server_module.MAX_GUESTS + 20):
            stack.enter_context(ClientSide(server.port))
        serves(server)


def test_memory_stays_bounded_whatever_connects(server: OurServer) -> None:
    def crowd() -> None:
        for _ in range(60):
            with ClientSide(server.port) as guest:
                guest.say(b"GET /" + b"x" * 100_000)
        for _ in range(10):
            with ClientSide(server.port) as guest:
                guest.play(until=ClientSide.end)
        serves(server)

    crowd()
    before = server.resident_bytes
    for _ in range(3):
        crowd()
    assert server.resident_bytes - before < 4_000_000


def test_a_busy_server_tells_so_and_goes_on(server: OurServer) -> None:
    with ClientSide(server.port) as guest:
        guest.play(until=ClientSide.end)
        with ClientSide(server.port, b"2banotherclientanotherclientanotherc\0") as second:
            second.say(second.cookie)
            assert second.heard() == fake_peer.ACCESS_DENIED
        for step in ClientSide.steps[4:]:
            step(guest)
    done = server.next_run()
    assert done.outcome == "completed"
    (turned,) = done.all(Turned)
    assert re.fullmatch(r"busy with a test for 127\.0\.0\.1 port \d+, on for \d+ s.*", turned.why)


def test_an_unread_pipe_does_not_stop_the_server() -> None:
    """Nobody reads the events of this one; its last ones come through all the same."""
    with OurServer() as unread:
        for _ in range(15):
            done = run(client_spec(unread.port, short(total_bytes=1000, parallel=16)))
            assert done.outcome == "completed"
        assert eventually(lambda: unread.next(Listening).test_number == 16)


def test_a_failure_is_told_once(server: OurServer) -> None:
    with ClientSide(server.port, MSS=9) as guest:
        guest.send_cookie()
        guest.say(fake_peer.frame(guest.parameters) + b"\x63\x63")
        guest.heard()
    assert len(server.next_run().all(Failed)) == 1
