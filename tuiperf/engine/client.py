"""The client: runs one test against a server and reports it as events."""

from __future__ import annotations

import functools
import select
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, Optional

from tuiperf.events import (
    Agreed,
    Connected,
    Event,
    Failed,
    Note,
    RunEnded,
    RunStarted,
    ServerOutput,
)

from . import cores, disk_file, protocol, results, sctp, tcp_info, udp_notes, udp_socket
from .control import ControlSocket, KeepAlive
from .errors import EngineError, os_words
from .lookup import look_up
from .measure import Clock, Emit, Measurement, system_text
from .own_end import NO_CORE
from .plans import tcp_options, udp_options
from .record import Record
from .sockets import Address, LocalEnd, TcpOptions, address_text, connect, control_mss
from .spec import ClientSpec
from .stops import AT_ONCE, GRACEFUL, Stops
from .udp_socket import RequestLostError

CONNECT_TIMEOUT_S = 10.0
DATA_CONNECT_TIMEOUT_S = 30.0
INTERRUPTED_EXCHANGE_S = 3.0  # how long a stopped test waits for the far end's results
LINGER_S = 2.0
LEAVE_S = 0.2  # what a run that failed or was stopped waits for the server to close first
HEAR_OUT_S = 0.2  # how soon after a failed data connection the server's own words must come
RETRY_AFTER_S = 1.0
ORDER_PAUSE_S = (0.02, 0.25)  # least and most time between the two directions' connections
CONNECT_CODE, STREAM_CODE = 103, 203

FILE_LANDING_S = 30.0  # how long the last of a file may be on its way
FILE_READ_S = 0.1  # what a server is given to read what its system has confirmed
UDP_LANDING_S = (0.1, 1.0)  # least and most time for the last datagrams of a limited test
MOST_BEGINNINGS = 3  # of a UDP test whose requests are lost

_FAMILIES: dict[int, int] = {
    0: socket.AF_UNSPEC,
    4: socket.AF_INET,
    6: socket.AF_INET6,
}


class _InterruptedError(Exception):
    """The user stopped the run before its data began."""


class _ServerNotReadyError(Exception):
    """The server closed before it greeted: it may be opening its listener again."""


class _OpeningCutShortError(Exception):
    """The server said something else while data connections were being opened."""


class _ProtocolEndedError(Exception):
    """The control protocol ended the run; nothing more can be said to the server."""

    def __init__(self, error: EngineError, remote: bool, awaited: Optional[str] = None) -> None:
        super().__init__(error)
        self.error = error
        self.remote = remote
        self.awaited = awaited


def run_client(spec: ClientSpec, emit: Emit, stops: Stops, tool: str = "tuiperf") -> RunEnded:
    """Run one test; every outcome, a failure too, ends in a RunEnded, which is also returned.

    Events go to `emit` as they happen and to the file named by `spec.recording`. `stops` ends the
    test early: once for an orderly end with both ends' results, twice for at once.
    """
    return _ClientRun(spec, emit, stops, tool).run()


class _ClientRun:
    def __init__(self, spec: ClientSpec, emit: Emit, stops: Stops, tool: str) -> None:
        self.spec = spec
        self.test = spec.test  # with all that only the control connection could tell
        self.stops = stops
        self.tool = tool
        self.clock = Clock()
        self._emit_out = emit
        self._record: Optional[Record] = None
        self._record_failure_told = False
        self._proto: protocol.Client
        self._control: Optional[ControlSocket] = None
        self._remote: Optional[Address] = None
        self._heard = self._ended_by_eof = False
        self._rtt_s = 0.0
        self._state_since_s = 0.0
        self._noticed = False
        self._finished = False
        self._interrupted = False
        self.measurement = Measurement(spec.test, spec.interval_s, self.clock, self.emit, spec.own)

    # ------------------------------------------------------------------ events

    def emit(self, event: Event) -> None:
        record = self._record
        if record:
            record.write(event)
        self._emit_out(event)
        if record and record.error and not self._record_failure_told:
            self._record_failure_told = True
            why = record.error.strerror
            self.note("warning", "recording", f"the recording ends here: {why}")

    def note(self, level: str, code: str, text: str) -> None:
        self.emit(Note(self.clock.t_s(), level, code, text))

    def _fail(
        self, error: EngineError, remote: bool = False, awaited: Optional[str] = None
    ) -> None:
        text = str(error)
        self.emit(Failed(self.clock.t_s(), error.code, text, error.errno, remote, awaited))

    # ------------------------------------------------------------------ the run

    def run(self) -> RunEnded:
        self._open_record()
        self.emit(
            RunStarted(
                self.clock.t_s(),
                uuid.uuid4().hex,
                "client",
                self.tool,
                system_text(),
                time.time(),
                self.spec.to_record(),
            )
        )
        outcome = "failed"
        try:
            self.spec.check()
            self._check_own_end()
            self._run_test()
            outcome = "interrupted" if self._interrupted else "completed"
        except _InterruptedError:
            outcome = "interrupted"
            self._leave()
        except _ProtocolEndedError as end:
            self._keep_what_was_measured()
            self._fail(end.error, end.remote, end.awaited)
        except EngineError as error:
            self._give_up(error)
        except OSError as error:
            text = f"the system failed: {os_words(error.errno or 0) or error}"
            self._give_up(EngineError(STREAM_CODE, text, error.errno or 0))
        finally:
            self._close()
        ended = RunEnded(self.clock.t_s(), outcome, self.stops.signal_name)
        self.emit(ended)
        if self._record:
            self._record.close()
        return ended

    def _check_own_end(self) -> None:
        """What this end is to do for itself must be possible before the server hears of us."""
        spec = self.spec
        if spec.test.protocol == "sctp":
            sctp.check()
        if spec.core != NO_CORE:
            cores.check(spec.core)
        if spec.file:
            disk_file.check(spec.file, sends=not spec.test.reverse)

    def _open_record(self) -> None:
        if not self.spec.recording:
            return
        try:
            self._record = Record(self.spec.recording)
        except OSError as error:
            self.note("warning", "recording", f"no recording: {error.strerror}")

    def _run_test(self) -> None:
        for _ in range(MOST_BEGINNINGS):
            try:
                self._run_test_once()
            except RequestLostError:
                text = "a request for a UDP stream was lost on its way: beginning once more"
                self.note("warning", "retry", text)
                self._leave()
                self._close_control()
                self._pause(RETRY_AFTER_S)
            else:
                return
        text = f"requests for UDP streams were lost {MOST_BEGINNINGS} times: the path is too lossy"
        raise EngineError(STREAM_CODE, text)

    def _run_test_once(self) -> None:
        try:
            self._connect_and_greet()
        except _ServerNotReadyError:
            self._close_control()
            text = f"{self.spec.host} closed the connection before its greeting: trying once more"
            self.note("info", "retry", text)
            self._pause(RETRY_AFTER_S)
            self._connect_and_greet(last_try=True)
        while not self._finished:
            self._turn()

    def _keep_what_was_measured(self) -> None:
        """After a failure: whatever was measured becomes an interval and Results."""
        if self.measurement.begun and not self.measurement.finished:
            self.measurement.finish()

    def _close(self) -> None:
        self._keep_what_was_measured()
        self._close_control()
        self.measurement.close()

    def _close_control(self) -> None:
        control, level = self._control, self.stops.level
        if control is None:
            return
        control.write(self._proto.bytes_to_send())
        control.half_close()
        whole = self._proto.state is protocol.State.DONE
        control.linger(LINGER_S if whole else LEAVE_S, lambda: self.stops.poll() > level)
        control.drop_unread()
        control.close()
        self._control = None

    def _leave(self) -> None:
        """Tell the server that we stop, before or without an exchange of results."""
        if self._control is not None:
            self._proto.abort()
            self._flush()

    def _give_up(self, error: EngineError) -> None:
        """End the run with an error of ours: tell the server, keep what was measured."""
        if self._control is not None:
            self._proto.give_up()
            self._flush()
        self._keep_what_was_measured()
        self._fail(error)

    # ------------------------------------------------------------------ connecting

    def _connect_and_greet(self, last_try: bool = False) -> None:
        self._open_control()
        while self._proto.state is protocol.State.GREETING:
            try:
                self._turn()
            except _ProtocolEndedError:
                if last_try or self._heard or not self._ended_by_eof:
                    raise
                raise _ServerNotReadyError from None

    def _open_control(self) -> None:
        spec = self.spec
        cookie = protocol.make_cookie()
        protocol.Client(cookie, self._parameters())  # too long? before connecting
        remote = look_up(
            spec.host, spec.port, _FAMILIES[spec.family], CONNECT_CODE, self._check_stop
        )
        self._remote = remote
        timeout_s = spec.connect_timeout_ms / 1000 if spec.connect_timeout_ms else CONNECT_TIMEOUT_S
        began_s = time.monotonic()
        sock = connect(
            remote,
            timeout_s=timeout_s,
            local=LocalEnd(spec.bind_host, spec.bind_device),
            options=TcpOptions(user_timeout_ms=spec.snd_timeout_ms),
            check=self._check_stop,
        )
        self._rtt_s = time.monotonic() - began_s
        self._settle_test(control_mss(sock))
        proto = protocol.Client(cookie, self._parameters())
        self._proto, self._control = proto, ControlSocket(sock, self._keep_alive)
        self._heard = self._ended_by_eof = False
        self._state = proto.state
        local, far = sock.getsockname(), remote.sockaddr
        self.emit(
            Connected(
                self.clock.t_s(),
                address_text(local),
                local[1],
                address_text(far),
                far[1],
                proto.cookie.rstrip(b"\0").decode("ascii"),
                self._handshake_rtt_us(sock),
                control_mss(sock) or None,
            )
        )
        self._control.write(proto.start())
        self._note_state()
        for note in udp_notes.of_test(self.test, address_text(local), control_mss(sock)):
            self.note(*note)

    @property
    def _keep_alive(self) -> KeepAlive:
        spec = self.spec
        asked = (spec.keepalive_idle_s, spec.keepalive_interval_s, spec.keepalive_count)
        return KeepAlive(*asked)

    def _parameters(self) -> dict[str, Any]:
        return {**self.test.to_parameters(self.tool), **self.spec.secrets}

    def _settle_test(self, mss_bytes: int) -> None:
        """Fill in what the control connection tells: the size of datagrams."""
        self.test = self.spec.test.with_datagrams_for(mss_bytes)
        self.measurement = Measurement(
            self.test, self.spec.interval_s, self.clock, self.emit, self.spec.own
        )

    def _handshake_rtt_us(self, sock: socket.socket) -> int:
        info = tcp_info.read(sock)
        return int((info or {}).get("rtt_us") or self._rtt_s * 1e6)

    def _check_stop(self) -> None:
        if self.stops.poll():
            self._interrupted = True
            raise _InterruptedError

    def _pause(self, seconds: float) -> None:
        deadline_s = time.monotonic() + seconds
        while time.monotonic() < deadline_s:
            self._check_stop()
            time.sleep(min(0.05, seconds))

    # ------------------------------------------------------------------ one turn of the loop

    def _turn(self) -> None:
        """Wait for the next thing to happen, on any descriptor or clock, and deal with it."""
        control = self._control
        if control is None:
            raise EngineError(109, "the control connection is closed")
        poll = select.poll()
        poll.register(control, control.poll_events)
        for fd in self.stops.fds:
            poll.register(fd, select.POLLIN)
        ready = dict(poll.poll(max(0.0, self._next_due_s() - time.monotonic()) * 1000))
        if control.fileno() in ready:
            self._read_control(control)
        if self._finished:
            return
        self._heed_stops()
        if self._measuring:
            self.measurement.work()
        if self._may_end:
            self._end_when_due()
        self._heed_limits()

    @property
    def _measuring(self) -> bool:
        return self.measurement.begun and not self.measurement.finished

    @property
    def _may_end(self) -> bool:
        """True while the protocol lets this end finish the test."""
        running = (protocol.State.STARTED, protocol.State.RUNNING)
        return self._measuring and self._proto.state in running

    def _next_due_s(self) -> float:
        due_s = min(self._limit_due_s(), self._notice_due_s(), time.monotonic() + 1.0)
        if self._measuring:
            due_s = min(due_s, self.measurement.next_due_s)
        if self._may_end:
            due_s = min(due_s, self.measurement.end_due_s)
        return due_s

    def _limit_due_s(self) -> float:
        hurried_s = self._hurried_s()
        seconds = self._proto.limit()[0] if hurried_s is None else hurried_s
        return self._state_since_s + seconds if seconds is not None else float("inf")

    def _hurried_s(self) -> Optional[float]:
        stopped = self._interrupted and self.measurement.finished
        return INTERRUPTED_EXCHANGE_S if stopped else None

    def _notice_due_s(self) -> float:
        if self._noticed or self._proto.state is not protocol.State.GREETING:
            return float("inf")
        return self._state_since_s + protocol.NOTICE_AFTER_S

    def _heed_limits(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._notice_due_s():
            self._noticed = True
            awaited = self._proto.limit()[1]
            self.note(
                "warning",
                "waiting",
                f"{self.spec.host} is connected but silent: still waiting for {awaited}",
            )
        if now_s >= self._limit_due_s():
            self._handle(self._proto.timed_out(self._hurried_s()))

    def _heed_stops(self) -> None:
        level = self.stops.poll()
        if not level:
            return
        self._interrupted = True
        if level >= AT_ONCE or not self.measurement.begun:
            raise _InterruptedError
        if level >= GRACEFUL and self._may_end:
            self._end_test()

    def _end_when_due(self) -> None:
        measured = self.measurement
        measured.check_file()
        if time.monotonic() >= measured.end_due_s or measured.limit_reached():
            self._end_test()
        elif measured.file_sent():
            self._end_test(land=True)
        elif self.test.bidir and not self.test.udp and measured.turned_away():
            hint = "the server does not know --bidir: it is older than iperf3 3.7"
            raise EngineError.from_code(110, hint=hint)
        elif measured.all_ended():
            why = os_words(measured.broken_errno()) or "the far end closed them"
            self.note("warning", "streams", f"all data connections ended early: {why}")
            self._end_test()
        elif measured.silent_s * 1000 >= self.spec.rcv_timeout_ms:
            raise EngineError(144, f"no data arrived for {measured.silent_s:.3g} s")
        else:
            for stream in measured.newly_ended():
                text = f"the data connection of stream {stream} ended early"
                self.note("warning", "streams", text)

    def _end_test(self, land: bool = False) -> None:
        self.measurement.finish()
        if land:
            self._let_file_land()
        if self.test.udp and self.test.limited and not self.test.reverse:
            # What is on its way or waits at the server counts there only until it hears the end.
            least_s, most_s = UDP_LANDING_S
            time.sleep(min(max(2 * self._rtt_s, least_s), most_s))
        self._handle(self._proto.end_test())

    def _let_file_land(self) -> None:
        """A server takes no more of a file once it hears of the end: let it have all first."""
        deadline_s = time.monotonic() + FILE_LANDING_S
        while self.measurement.undelivered() and time.monotonic() < deadline_s:
            if self.stops.poll():
                return
            time.sleep(0.002)
        time.sleep(FILE_READ_S)

    def _flush(self) -> None:
        if self._control:
            self._control.write(self._proto.bytes_to_send())

    def _read_control(self, control: ControlSocket) -> None:
        control.write(b"")
        data = control.read()
        if data is None:
            return
        if data:
            self._heard = True
            self._handle(self._proto.receive(data))
        else:
            self._ended_by_eof = True
            self._handle(self._proto.eof(control.errno))

    # ------------------------------------------------------------------ what the protocol tells

    def _handle(self, happened: list[protocol.Event]) -> None:
        self._note_state()
        self._flush()
        for event in happened:
            handler = self._handlers.get(type(event))
            if handler:
                handler(self, event)

    def _note_state(self) -> None:
        """Remember when the present state began; bytes that do not end it buy no time."""
        if self._proto.state is not self._state:
            self._state = self._proto.state
            self._state_since_s = time.monotonic()

    def _on_greeting(self, event: protocol.GreetingReceived) -> None:
        self.emit(Agreed(self.clock.t_s(), self.test.to_parameters(self.tool)))

    def _on_streams_requested(self, event: protocol.StreamsRequested) -> None:
        try:
            if self.test.udp:
                self._open_udp_streams()
            else:
                self._open_streams()
        except _OpeningCutShortError:
            return
        self.measurement.start_workers()
        self._handle(self._proto.streams_opened())

    def _open_udp_streams(self) -> None:
        """Ask for all streams; they are announced once the server has every one of them."""
        test = self.test
        opened: list[tuple[socket.socket, bool]] = []
        try:
            for index in range(test.streams):
                sends = index < test.parallel if test.bidir else not test.reverse
                last = index + 1 == test.streams
                self._watch_control()
                opened.append((self._udp_socket(index), sends))
                udp_socket.request_stream(
                    opened[-1][0],
                    server_sends=not sends,
                    last=last,
                    started=functools.partial(self._udp_test_started, last),
                )
            while opened:
                self.measurement.add_stream(*opened[0])
                opened.pop(0)
        finally:
            for sock, _ in opened:
                sock.close()

    def _udp_socket(self, index: int) -> socket.socket:
        if self._remote is None:
            raise EngineError(STREAM_CODE, "the server's address is not known")
        spec = self.spec
        port = spec.client_port + index if spec.client_port else 0
        local = LocalEnd(spec.bind_host, spec.bind_device, port)
        options = udp_options(self.test)._replace(flow_label=self.test.flow_label)
        return udp_socket.open_socket(self._remote, local, options=options)

    def _udp_test_started(self, last: bool) -> bool:
        """True when the server has begun the test, which is as good as an answer to the last
        request; anything else that it says is dealt with as usual."""
        waiting = self._control.peek() if self._control else b""
        if last and waiting == protocol.Wire.TEST_START.byte:
            return True
        if waiting is None:
            self._check_stop()
            self._heed_limits()
        else:
            self._watch_control()
        return False

    def _open_streams(self) -> None:
        test = self.test
        both = [True, False] if test.bidir else [not test.reverse]
        for group, sends in enumerate(both):
            if group:
                # The server takes streams in the order of their handshakes: let the last one land.
                # A server that does not know --bidir starts the test now, and is found out.
                least_s, most_s = ORDER_PAUSE_S
                self._pause(min(max(2 * self._rtt_s, least_s), most_s))
            for _ in range(test.parallel):
                self._watch_control()
                try:
                    self._open_stream(sends)
                except (EngineError, OSError) as error:
                    self._hear_out()
                    if isinstance(error, EngineError):
                        raise
                    why = os_words(error.errno or 0)
                    text = f"a data connection broke as it was opened: {why}"
                    raise EngineError(STREAM_CODE, text, error.errno or 0) from None

    def _open_stream(self, sends: bool) -> None:
        if self._remote is None:
            raise EngineError(STREAM_CODE, "the server's address is not known")
        spec, index = self.spec, len(self.measurement.legs)
        port = spec.client_port + index if spec.client_port else 0
        sock = connect(
            self._remote,
            code=STREAM_CODE,
            timeout_s=DATA_CONNECT_TIMEOUT_S,
            local=LocalEnd(spec.bind_host, spec.bind_device, port),
            options=tcp_options(self.test)._replace(
                user_timeout_ms=spec.snd_timeout_ms,
                flow_label=self.test.flow_label,
                sctp_streams=spec.sctp_streams,
                sctp_addresses=tuple(filter(None, spec.sctp_addresses.split(","))),
            ),
            check=self._watch_control,
        )
        # From the last cookie on the server may start the test, so nothing is read here.
        try:
            sock.sendall(self._proto.cookie)
            self.measurement.add_stream(sock, sends)
        except OSError:
            sock.close()
            raise

    def _watch_control(self) -> None:
        """While streams open: what the server says on the control connection ends that."""
        self._check_stop()
        if self._control and self._proto.state is protocol.State.OPENING:
            self._read_control(self._control)
        self._heed_limits()
        if self._proto.state is not protocol.State.OPENING:
            raise _OpeningCutShortError

    def _hear_out(self) -> None:
        """A data connection failed: the server may be about to say why, or be gone itself."""
        control = self._control
        if control is not None:
            poll = select.poll()
            poll.register(control, select.POLLIN)
            poll.poll(HEAR_OUT_S * 1000)
            self._watch_control()

    def _on_test_started(self, event: protocol.TestStarted) -> None:
        self.measurement.begin()

    def _on_test_running(self, event: protocol.TestRunning) -> None:
        self.measurement.release()

    def _on_results_requested(self, event: protocol.ResultsRequested) -> None:
        local = self.measurement.results
        if local is None:
            raise EngineError(115, "the server asked for results before the test ended")
        self._handle(self._proto.send_results(results.to_json(local)))

    def _on_results_received(self, event: protocol.ResultsReceived) -> None:
        self.emit(results.from_json(event.results, self.clock.t_s()))
        if not self.test.get_server_output:
            return
        known = {key.lower(): value for key, value in event.results.items()}
        text, document = known.get("server_output_text"), known.get("server_output_json")
        if isinstance(text, str) or isinstance(document, dict):
            self.emit(
                ServerOutput(
                    self.clock.t_s(),
                    text if isinstance(text, str) else None,
                    document if isinstance(document, dict) else None,
                )
            )

    def _on_finished(self, event: protocol.Finished) -> None:
        self._finished = True

    def _on_failed(self, event: protocol.Failed) -> None:
        error = event.error
        if self._interrupted and self.measurement.finished:
            self.note("warning", "results", f"the far end's results are missing: {error}")
            self._finished = True
            return
        closed = event.trigger is protocol.Trigger.EOF
        if closed and event.state is protocol.State.DISPLAY:
            text = "the server's last word was lost, but both ends' results were exchanged"
            self.note("info", "early_close", text)
            self._finished = True
            return
        awaited = None
        if event.trigger is protocol.Trigger.TIMEOUT:
            awaited = protocol.LIMITS[protocol.Role.CLIENT][event.state].awaited
        told = event.state is protocol.State.ERROR_NUMBERS
        denied = event.trigger is protocol.Trigger.ACCESS_DENIED
        raise _ProtocolEndedError(error, told or denied, awaited)

    def _on_terminated(self, event: protocol.PeerTerminated) -> None:
        raise _ProtocolEndedError(event.error, remote=True)

    _handlers: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        protocol.GreetingReceived: _on_greeting,
        protocol.StreamsRequested: _on_streams_requested,
        protocol.TestStarted: _on_test_started,
        protocol.TestRunning: _on_test_running,
        protocol.ResultsRequested: _on_results_requested,
        protocol.ResultsReceived: _on_results_received,
        protocol.Finished: _on_finished,
        protocol.Failed: _on_failed,
        protocol.PeerTerminated: _on_terminated,
    }
