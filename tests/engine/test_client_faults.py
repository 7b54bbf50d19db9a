"""The client against servers that fail, lie, die or are something else altogether.

Whatever happens: one failure in one line, no exception, what was measured until then is kept, and
the other side is told where it can be.
"""

from __future__ import annotations

import errno
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.engine import fake_peer
from tests.engine.driving import (
    EngineProcess,
    OurServer,
    Run,
    carried,
    client_spec,
    eventually,
    is_running,
    run,
    short,
)
from tests.engine.fake_peer import FakeServer, ServerSide
from tests.interop.iperf3 import free_port, iperf3_server, next_iperf3_client
from tuiperf.engine import client, protocol
from tuiperf.engine.protocol import Role, State
from tuiperf.engine.stops import AT_ONCE, GRACEFUL, Stops
from tuiperf.events import (
    Agreed,
    Connected,
    Event,
    Failed,
    Interval,
    Results,
    RunStarted,
    StreamOpened,
    StreamSample,
    TestStarted,
)
from tuiperf.recording import read

HASTE = 50


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every limit of the client on a wait, shortened."""
    waits = cast(dict[State, protocol.Wait], protocol.LIMITS[Role.CLIENT])
    for state, wait in list(waits.items()):
        if wait.seconds is not None:
            short_wait = wait._replace(seconds=max(0.1, wait.seconds / HASTE))
            monkeypatch.setitem(waits, state, short_wait)
    monkeypatch.setattr(protocol, "NOTICE_AFTER_S", 0.2)


def failed_run(done: Run) -> Failed:
    """The failure of a run, after checking what holds for every run that failed."""
    failure = done.failure
    assert failure.text and "\n" not in failure.text and failure.text.isprintable()
    kinds = [type(event) for event in done.events]
    begun = TestStarted in kinds
    sides = [results.side for results in done.all(Results)]
    assert sides[:1] == ["local"] * begun
    if begun:
        assert kinds.index(Failed) > kinds.index(Results)
        measured = sum(row.bytes for interval in done.measured for row in interval.streams)
        assert measured == sum(carried(done.local).values())
    return failure


def against(*scripts: fake_peer.Script, **test: Any) -> Run:
    """Run a client against scripted connections."""
    with FakeServer(*scripts) as server:
        return run(client_spec(server.port, short(**test)))


# ---------------------------------------------------------------- before there is a connection


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..such..host", "a" * 300, "\x1b[2J"])
def test_a_name_that_does_not_resolve(host: str) -> None:
    failure = failed_run(run(client_spec(5201, host=host)))
    assert failure.code == 103
    assert "resolve" in failure.text or "not a host name" in failure.text


def test_refused() -> None:
    failure = failed_run(run(client_spec(free_port())))
    assert (failure.code, failure.errno) == (103, errno.ECONNREFUSED)
    assert "is `iperf3 -s` running there?" in failure.text


@pytest.fixture
def blocked_port() -> Iterator[int]:
    """A port whose listener has no room: connection requests are dropped, as a firewall does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
        for filler in fillers:
            filler.close()


def test_no_answer_within_the_connect_timeout(blocked_port: int) -> None:
    failure = failed_run(run(client_spec(blocked_port, connect_timeout_ms=300)))
    assert (failure.code, failure.errno) == (103, errno.ETIMEDOUT)
    assert "within 0." in failure.text
    assert "suspect a firewall" in failure.text


def test_a_stop_while_connecting(blocked_port: int) -> None:
    with EngineProcess.client(client_spec(blocked_port)) as engine:
        engine.next(RunStarted)
        engine.signal(signal.SIGINT)
        assert engine.wait() == 0
        assert engine.rest().outcome == "interrupted"


@pytest.mark.parametrize(
    ("settings", "test", "code"),
    [
        ({"interval_s": 0.01}, {}, 9),
        ({"client_port": 65_530}, {"parallel": 8}, 26),
        ({}, {"title": "x" * 9000}, 113),
        ({}, {"parallel": 129}, 6),
        ({"bind_host": "192.0.2.1"}, {}, 103),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], test: dict[str, Any], code: int) -> None:
    assert failed_run(run(client_spec(free_port(), short(**test), **settings))).code == code


# ---------------------------------------------------------------- somebody else answers


def wait_for_the_end(peer: ServerSide) -> None:
    peer.heard()


def test_busy_fake() -> None:
    failure = failed_run(against(lambda peer: peer.say(fake_peer.ACCESS_DENIED)))
    assert (failure.code, failure.remote) == (121, True)
    assert "busy" in failure.text


def test_busy_ours() -> None:
    with OurServer() as server, fake_peer.ClientSide(server.port) as guest:
        guest.send_cookie()
        failure = failed_run(run(client_spec(server.port)))
    assert failure.code == 121


def test_busy_stock() -> None:
    with iperf3_server() as server, fake_peer.ClientSide(server.port) as guest:
        guest.play(until=fake_peer.ClientSide.send_data)
        failure = failed_run(run(client_spec(server.port)))
    assert failure.code == 121


IPERF2 = struct.pack(">IIIHHHHII", 2, 28, 0, 2, 1, 8, 3, 0, 0)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n<html></html>", "an HTTP server"),
        (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "an SSH server"),
        (b"220 mail ESMTP\r\n", "a mail or FTP server"),
        (b"\x15\x03\x01\x00\x02\x02\x16", "a TLS server"),
        (IPERF2, "an iperf2 server, version 2.1.8"),
        (b"0123456789" * 100, "an iperf2 server that sends"),
        (b"\x1b[2J\x1b]0;gotcha\x07", "not an iperf3 server"),
        (b"Z", "not an iperf3 server"),
        (bytes(range(20, 256)) * 1000, "not an iperf3 server"),
    ],
)
@pytest.mark.parametrize("stays", [False, True])
def test_another_service_is_named(said: bytes, words: str, stays: bool) -> None:
    def script(peer: ServerSide) -> None:
        peer.take_cookie()
        peer.say(said)
        if stays:
            peer.heard()

    failure = failed_run(against(script))
    assert failure.code == 110
    assert words in failure.text


@pytest.mark.usefixtures("hasty")
def test_silence_is_noted_and_then_given_up() -> None:
    done = against(wait_for_the_end)
    failure = failed_run(done)
    assert "still waiting" in done.notes["waiting"]
    assert failure.code == 112
    assert failure.awaited == "the server's greeting (PARAM_EXCHANGE)"
    assert "silent service" in failure.text


def test_a_server_that_closes_before_its_greeting_gets_a_second_chance() -> None:
    done = against(lambda peer: peer.take_cookie(), lambda peer: peer.play())
    assert "trying once more" in done.notes["retry"]
    assert done.outcome == "completed"
    assert len(done.all(Connected)) == 2


@pytest.mark.parametrize("end", [socket.socket.close, fake_peer.reset])
def test_and_no_third(end: Callable[[socket.socket], None]) -> None:
    def script(peer: ServerSide) -> None:
        peer.take_cookie()
        peer.close(end)

    failure = failed_run(against(script, script))
    assert failure.code == 109
    assert "not an iperf3 server" in failure.text
    assert failure.errno == (errno.ECONNRESET if end is fake_peer.reset else 0)


# ---------------------------------------------------------------- the server dies


BEGUN = [step for step in ServerSide.steps if step is not ServerSide.take_cookie]


@pytest.mark.parametrize("end", [socket.socket.close, fake_peer.reset])
@pytest.mark.parametrize("step", BEGUN[1:-1], ids=lambda step: f"before {step.__name__}")
def test_a_server_that_dies_in_any_state(
    step: Callable[[ServerSide], None], end: Callable[[socket.socket], None]
) -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=step)
        if step is ServerSide.await_end:
            assert eventually(lambda: peer.received_bytes > 0)
        peer.close(end)

    done = against(script, time_s=1)
    failure = failed_run(done)
    assert (failure.code, failure.remote) == (109, False)
    assert "awaited" in failure.text
    begun = bool(done.all(TestStarted))
    if end is fake_peer.reset:
        assert step in BEGUN[3:] or not begun  # a reset may overtake the last word
    else:
        assert begun == (step in BEGUN[3:])
    if step is ServerSide.await_end:
        assert carried(done.local)[1] > 0


def test_a_server_whose_last_word_is_lost_has_given_its_results() -> None:
    """A device on the path may cut the connection as it ends."""

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.display)
        time.sleep(0.2)
        peer.close(fake_peer.reset)

    done = against(script, total_bytes=1000)
    assert done.outcome == "completed"
    assert carried(done.local) == carried(done.remote) == {1: 1000}
    assert "last word was lost" in done.notes["early_close"]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("step", BEGUN, ids=lambda step: f"before {step.__name__}")
def test_a_server_that_falls_silent_in_any_state(step: Callable[[ServerSide], None]) -> None:
    if step is ServerSide.await_end:
        return  # the client itself ends that state
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=step)
        heard.append(peer.heard())

    done = against(script, total_bytes=100_000)
    failure = failed_run(done)
    assert failure.awaited
    assert failure.awaited in failure.text or "silent" in failure.text
    assert heard[0].endswith(fake_peer.IPERF_DONE)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("step", BEGUN, ids=lambda step: f"before {step.__name__}")
@pytest.mark.parametrize("numbers", [b"", struct.pack(">i", 37), struct.pack(">ii", 37, 0)])
@pytest.mark.parametrize("closes", [False, True])
def test_a_server_error_in_any_state(
    step: Callable[[ServerSide], None], numbers: bytes, closes: bool
) -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=step)
        peer.say(fake_peer.SERVER_ERROR + numbers)
        if not closes:
            peer.heard()

    failure = failed_run(against(script, total_bytes=100_000))
    assert failure.remote
    if numbers:
        assert failure.code == 37
        assert "duration exceeds" in failure.text
    else:
        assert "not which" in failure.text


def test_a_server_error_names_the_servers_errno() -> None:
    error = fake_peer.SERVER_ERROR + struct.pack(">ii", 123, errno.EINVAL)

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        peer.say(error * 2)

    failure = failed_run(against(script))
    assert (failure.code, failure.errno, failure.remote) == (123, errno.EINVAL, True)


@pytest.mark.parametrize("step", BEGUN, ids=lambda step: f"before {step.__name__}")
def test_a_server_that_is_stopped_in_any_state(step: Callable[[ServerSide], None]) -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=step)
        peer.say(fake_peer.SERVER_TERMINATE)
        heard.append(peer.heard())

    failure = failed_run(against(script, total_bytes=100_000))
    assert (failure.code, failure.remote) == (120, True)
    assert heard[0].endswith(fake_peer.IPERF_DONE)


@pytest.mark.parametrize("step", BEGUN, ids=lambda step: f"before {step.__name__}")
def test_an_unknown_byte_in_any_state(step: Callable[[ServerSide], None]) -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=step)
        peer.say(b"\x63" * 4)
        heard.append(peer.heard())

    failure = failed_run(against(script, total_bytes=100_000))
    # Where results are awaited it looks like a length: of more than a gigabyte.
    assert failure.code == (117 if step is ServerSide.give_results else 110)
    assert step is ServerSide.greet or heard[0].endswith(fake_peer.IPERF_DONE)


def test_many_words_in_one_segment_end_the_run_and_nothing_else() -> None:
    everything = b"".join(
        (
            fake_peer.PARAM_EXCHANGE,
            fake_peer.CREATE_STREAMS,
            fake_peer.TEST_START,
            fake_peer.TEST_RUNNING,
            fake_peer.EXCHANGE_RESULTS,
            fake_peer.DISPLAY_RESULTS,
        )
    )
    failure = failed_run(against(lambda peer: peer.say(everything)))
    assert failure.code == 110
    assert "before all data connections were open" in failure.text


# ---------------------------------------------------------------- data connections


def test_data_connections_that_are_refused_while_the_server_says_why() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        peer.listener.close()
        peer.say(fake_peer.CREATE_STREAMS)
        time.sleep(0.05)
        peer.say(fake_peer.SERVER_ERROR + struct.pack(">ii", 202, errno.EADDRINUSE))
        peer.heard()

    failure = failed_run(against(script))
    assert (failure.code, failure.errno, failure.remote) == (202, errno.EADDRINUSE, True)


def test_data_connections_that_are_refused_without_a_word() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        peer.listener.close()
        peer.say(fake_peer.CREATE_STREAMS)
        assert peer.heard() == fake_peer.IPERF_DONE

    failure = failed_run(against(script))
    assert (failure.code, failure.errno) == (203, errno.ECONNREFUSED)


@pytest.mark.parametrize("waits", [False, True])
def test_a_server_that_does_not_know_both_directions(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """iperf3 before 3.7 starts when `parallel` connections are open and turns the rest away.

    Its start is heard before they are opened, or its turning away is noticed.
    """
    pause_s = 0.0 if waits else 1.0
    monkeypatch.setattr(client, "ORDER_PAUSE_S", (pause_s, pause_s))

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        peer.open_streams(2)
        if waits:
            turned_away = [peer.listener.accept()[0] for _ in range(2)]
            for sock in turned_away:
                sock.sendall(fake_peer.ACCESS_DENIED)
                sock.close()
        peer.start()
        peer.run()
        peer.heard()

    failure = failed_run(against(script, bidir=True, parallel=2))
    assert failure.code == 110
    assert "does not know --bidir" in failure.text


@pytest.mark.parametrize("reverse", [False, True])
def test_all_data_connections_break(reverse: bool) -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.run)
        peer.say(fake_peer.TEST_RUNNING)
        for sock in peer.data:
            if reverse:
                sock.sendall(b"x" * 1000)
                sock.close()
            else:
                assert sock.recv(1)
                fake_peer.reset(sock)
        peer.data = []
        peer.await_end()
        peer.ask_results()
        peer.give_results()
        peer.display()

    done = against(script, time_s=60, reverse=reverse)
    assert done.outcome == "completed"
    assert "all data connections ended early" in done.notes["streams"]
    if reverse:
        assert carried(done.local) == {1: 1000}


def test_one_data_connection_of_several_breaks() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        peer.open_streams(2)
        peer.start()
        peer.run()
        assert eventually(lambda: peer.received_bytes > 0)
        fake_peer.reset(peer.data[1])
        peer.await_end()
        peer.ask_results()
        peer.give_results()
        peer.display()

    done = against(script, parallel=2)
    assert done.outcome == "completed"
    assert done.notes["streams"] == "the data connection of stream 3 ended early"


def test_nothing_arrives_for_too_long() -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.run)
        peer.say(fake_peer.TEST_RUNNING)
        heard.append(peer.heard())

    with FakeServer(script) as server:
        spec = client_spec(server.port, short(time_s=60, reverse=True), rcv_timeout_ms=300)
        failure = failed_run(run(spec))
    assert failure.code == 144
    assert heard == [fake_peer.IPERF_DONE]


# ---------------------------------------------------------------- results


def nested(depth: int) -> bytes:
    return b'{"streams":' + b"[" * depth + b"]" * depth + b"}"


def framed(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (framed(b"not JSON at all"), 117),
        (framed(b'{"streams":['), 117),
        (framed(b"7"), 117),
        (framed(b"[]"), 117),
        (framed(b"{}"), 117),
        (framed(b'{"streams":[{"bytes":1}]}'), 208),
        (framed(nested(100_000)), 117),
        (framed(b"\xff\xfe\x00"), 117),
        (struct.pack(">I", 0), 117),
        (struct.pack(">I", 10**9), 117),
        (b"\xff\xff\xff\xff", 121),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else str(value),
)
def test_results_that_cannot_be_used(said: bytes, code: int) -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.give_results)
        peer.say(said)
        heard.append(peer.heard())

    done = against(script, total_bytes=100_000)
    assert failed_run(done).code == code
    assert carried(done.local) == {1: 100_000}
    assert code == 121 or heard == [fake_peer.IPERF_DONE]


def test_a_gigabyte_of_results_is_not_kept() -> None:
    """The length alone ends it; were it believed, this process would grow by what was sent."""
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.give_results)
        with pytest.raises(OSError):
            peer.say(struct.pack(">I", 10**9))
            for _ in range(1000):
                peer.say(b"x" * 1_000_000)

    assert failed_run(against(script, total_bytes=1000)).code == 117
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 200_000


def test_results_asked_for_before_the_end() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.await_end)
        peer.say(fake_peer.EXCHANGE_RESULTS)
        peer.heard()

    assert failed_run(against(script)).code == 110


def test_words_after_the_end_of_the_exchange_do_not_matter() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.display)
        peer.say(fake_peer.DISPLAY_RESULTS + fake_peer.SERVER_ERROR + struct.pack(">ii", 205, 0))
        peer.heard()

    assert against(script, total_bytes=1000).outcome == "completed"


def test_the_end_of_the_exchange_byte_by_byte() -> None:
    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.give_results)
        for byte in fake_peer.frame(fake_peer.results((1, 999))):
            peer.say(bytes([byte]))
        peer.display()

    done = against(script, total_bytes=1000)
    assert (carried(done.local), carried(done.remote)) == ({1: 1000}, {1: 999})


# ---------------------------------------------------------------- stopping against bad servers


@pytest.mark.parametrize("level", [GRACEFUL, AT_ONCE])
@pytest.mark.parametrize("kind", [Agreed, StreamOpened])
def test_a_client_that_leaves_says_so(kind: type[Event], level: int) -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.open_streams)
        if kind is StreamOpened:
            peer.open_streams()
        heard.append(peer.heard())

    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, kind):
            stops.request(level)

    with FakeServer(script) as server:
        done = run(client_spec(server.port), watch)
    assert done.outcome == "interrupted"
    assert heard == [fake_peer.CLIENT_TERMINATE]


def test_a_running_test_that_is_left_at_once_tells_the_server() -> None:
    heard: list[bytes] = []

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.await_end)
        heard.append(peer.heard())

    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, StreamSample):
            stops.request(AT_ONCE)

    with FakeServer(script) as server:
        done = run(client_spec(server.port, short(time_s=60)), watch)
    assert done.outcome == "interrupted"
    assert carried(done.local)[1] > 0
    assert heard == [fake_peer.CLIENT_TERMINATE]


def test_a_stop_waits_only_a_while_for_results_that_do_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "INTERRUPTED_EXCHANGE_S", 0.3)

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.ask_results)
        peer.heard()

    with FakeServer(script) as server:
        done = run(client_spec(server.port, short(time_s=60)), stop_after_s=0.1)
    assert done.outcome == "interrupted"
    assert carried(done.local)[1] > 0
    assert "missing" in done.notes["results"]
    assert "did not come within 0.3 s" in done.notes["results"]


def test_two_interrupts_end_the_run_at_once_although_the_server_is_silent() -> None:
    """It neither reads data nor answers: everything this client does would block."""

    def script(peer: ServerSide) -> None:
        peer.play(until=ServerSide.run)
        peer.say(fake_peer.TEST_RUNNING)
        peer.heard()

    with (
        FakeServer(script) as server,
        EngineProcess.client(client_spec(server.port, short(time_s=60))) as engine,
    ):
        engine.next(StreamSample)
        workers = engine.workers
        assert workers
        engine.signal(signal.SIGINT)
        engine.next(Results)
        time.sleep(0.3)
        pressed_s = time.monotonic()
        engine.signal(signal.SIGINT)
        assert engine.wait() == 0
        assert time.monotonic() - pressed_s < client.INTERRUPTED_EXCHANGE_S / 2
        assert engine.rest().outcome == "interrupted"
        assert eventually(lambda: not any(is_running(pid) for pid in workers))


# ---------------------------------------------------------------- a stock server


def test_a_stock_server_killed_during_the_test(tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    with iperf3_server() as server:

        def watch(event: Event, stops: Stops) -> None:
            if isinstance(event, StreamSample) and event.tick == 3:
                server.process.kill()

        spec = client_spec(server.port, short(time_s=60), interval_s=10, recording=str(record))
        done = run(spec, watch)
    assert failed_run(done).code == 109
    assert carried(done.local)[1] > 0
    assert len(done.all(Interval)) == 1
    assert list(read(record)) == done.events


def test_a_stock_server_interrupted_during_the_test() -> None:
    with iperf3_server() as server:

        def watch(event: Event, stops: Stops) -> None:
            if isinstance(event, StreamSample) and event.tick == 3:
                server.process.send_signal(signal.SIGINT)

        failure = failed_run(run(client_spec(server.port, short(time_s=60)), watch))
    assert (failure.code, failure.remote) == (120, True)


def test_a_stock_server_is_free_again_after_a_client_that_left() -> None:
    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, StreamSample):
            stops.request(AT_ONCE)

    with iperf3_server() as server:
        assert run(client_spec(server.port, short(time_s=60)), watch).outcome == "interrupted"
        assert run(client_spec(server.port, short(total_bytes=1000))).outcome == "completed"
        assert next_iperf3_client(server.port, "-n", "1000").error == ""
