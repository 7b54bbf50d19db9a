"""The server: one test at a time, the listener open throughout, never stuck on a client.

A connection is a guest until it has shown its cookie. A guest that shows a new one gets the test
when none is on, else it hears that the server is busy; one that shows the running test's cookie
is a data connection. So a port scanner that says nothing holds up nobody.
"""

from __future__ import annotations

import select
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, Optional, Union

from tuiperf.events import (
    Agreed,
    Connected,
    Event,
    Failed,
    Listening,
    Note,
    Results,
    RunEnded,
    RunStarted,
    Turned,
)

from . import cores, disk_file, protocol, rate_limit, results
from .control import ControlSocket, KeepAlive, check_keep_alive
from .duties import NO_DUTIES, Duties
from .errors import EngineError, os_words
from .framing import MAX_RESULTS_BYTES, encode_json_frame
from .listener import Listener
from .measure import Clock, Emit, Measurement, system_text
from .own_end import NO_CORE, OwnEnd
from .plans import tcp_options, udp_options
from .rate_limit import RateLimit
from .sctp_door import SctpDoor
from .sockets import (
    LocalEnd,
    address_text,
    control_mss,
    insist_on_congestion,
    set_max_pacing_rate,
    set_nodelay,
    set_tos,
    set_user_timeout,
    set_window,
)
from .spec import ServerSpec, TestSpec, check_file
from .stops import Stops
from .udp_door import Door

MAX_GUESTS = 160  # 128 streams and some strangers; of more, those that came first must go
MAX_LEAVING = 64
COOKIE_S = 10.0
LINGER_S = 2.0
BUSY_LINGER_S = 1.0
STOPPED_LINGER_S = 0.3
CONGESTION_CODE, AUTHORIZATION_CODE = 134, 142


def run_server(
    spec: ServerSpec,
    emit: Emit,
    stops: Stops,
    tool: str = "tuiperf",
    duties: Duties = NO_DUTIES,
) -> int:
    """Serve tests until stopped, or one only; returns the exit code, 0.

    Raises EngineError when the listener cannot be opened.
    """
    spec.check()
    server = _Server(spec, emit, stops, tool, duties)
    try:
        return server.serve()
    finally:
        server.close()


class _Guest:
    """An accepted connection that has not shown its whole cookie yet.

    Its socket's options are left alone: it may become a data connection.
    """

    def __init__(self, sock: socket.socket, address: Any) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.host = address_text(address)
        self.port = int(address[1])
        self.data = b""
        self.due_s = time.monotonic() + COOKIE_S


class _Leaving:
    """A connection that has been answered and half-closed: read and dropped until it ends."""

    def __init__(self, control: ControlSocket, seconds: float) -> None:
        control.half_close()
        self.control = control
        self.due_s = time.monotonic() + seconds


class _Server:
    def __init__(
        self, spec: ServerSpec, emit: Emit, stops: Stops, tool: str, duties: Duties
    ) -> None:
        self.spec = spec
        self.emit = emit
        self.stops = stops
        self.tool = tool
        self.duties = duties
        self.clock = Clock()
        self._tests = 0
        self._idle_since_s = time.monotonic()
        self._guests: list[_Guest] = []
        self._leaving: list[_Leaving] = []
        self._test: Optional[_ServerTest] = None
        asked = (spec.keepalive_idle_s, spec.keepalive_interval_s, spec.keepalive_count)
        self.keep_alive = KeepAlive(*asked)
        check_keep_alive(self.keep_alive)
        if spec.core != NO_CORE:
            cores.check(spec.core)
        self.listener = Listener(spec)

    def serve(self) -> int:
        self._tell_listening()
        while not self._stopped():
            if self._turn():
                return 0
        return 0

    def _stopped(self) -> bool:
        if not self.stops.poll():
            return False
        if self._test:
            self._test.terminate()
            self._end_test()
        self._see_everybody_off(STOPPED_LINGER_S)
        return True

    def _tell_listening(self) -> None:
        self._tests += 1
        self._idle_since_s = time.monotonic()
        at = self.listener
        self.emit(Listening(self.clock.t_s(), at.addresses, at.port, self._tests))

    def close(self) -> None:
        if self._test:
            self._test.close()
        for guest in self._guests:
            guest.sock.close()
        for leaving in self._leaving:
            leaving.control.close()
        self.listener.close()

    # ------------------------------------------------------------------ one turn of the loop

    def _turn(self) -> bool:
        """Wait for the next thing to happen and deal with it. True: the server's work is done."""
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        for fd in self.stops.fds:
            poll.register(fd, select.POLLIN)
        for guest in self._guests:
            poll.register(guest.sock, select.POLLIN)
        for leaving in self._leaving:
            poll.register(leaving.control, leaving.control.poll_events)
        if self._test:
            poll.register(self._test.control, self._test.control.poll_events)
            for sock in self._test.door_sockets:
                poll.register(sock, select.POLLIN)
        wait_s = max(0.0, self._next_due_s() - time.monotonic())
        ready = {fd for fd, _ in poll.poll(wait_s * 1000)}
        if self.listener.fileno() in ready or self.listener.holds_some:
            self._accept()
        self._read_guests(ready)
        self._see_off(ready)
        return self._work_on_test(ready)

    def _next_due_s(self) -> float:
        due_s = time.monotonic() + (0.0 if self.listener.holds_some else 1.0)
        waits = [guest.due_s for guest in self._guests]
        waits += [leaving.due_s for leaving in self._leaving]
        if self._test:
            waits.append(self._test.next_due_s)
        return min([due_s, *waits])

    def _work_on_test(self, ready: set[int]) -> bool:
        if self._test:
            if self._test.control.fileno() in ready:
                self._test.read()
            if ready.intersection(sock.fileno() for sock in self._test.door_sockets):
                self._test.add_door_streams()
            self._test.work()
            if self._test.over:
                self._end_test()
                if self.spec.one_off:
                    self._see_everybody_off(LINGER_S)
                    return True
                self._tell_listening()
            return False
        idle_s = time.monotonic() - self._idle_since_s
        return bool(
            self.spec.one_off and self.spec.idle_timeout_s and idle_s >= self.spec.idle_timeout_s
        )

    def _end_test(self) -> None:
        test, self._test = self._test, None
        if test:
            test.close_streams()
            self._see_out(test.control, LINGER_S)
            test.tell_end()

    def _see_everybody_off(self, seconds: float) -> None:
        level, deadline_s = self.stops.level, time.monotonic() + seconds
        for leaving in self._leaving:
            left_s = min(leaving.due_s, deadline_s) - time.monotonic()
            leaving.control.linger(left_s, lambda: self.stops.poll() > level)
            leaving.control.drop_unread()

    # ------------------------------------------------------------------ guests

    def _accept(self) -> None:
        while True:
            try:
                sock, address = self.listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                time.sleep(0.01)  # out of descriptors: the connection waits in the backlog
                return
            if len(self._guests) >= MAX_GUESTS:
                self._turn_away(self._guests.pop(0), "too many connections without a cookie")
            self._guests.append(_Guest(sock, address))

    def _read_guests(self, ready: set[int]) -> None:
        now_s = time.monotonic()
        for guest in list(self._guests):
            if guest.sock.fileno() in ready:
                self._read_guest(guest)
            if now_s >= guest.due_s and guest in self._guests:
                self._guests.remove(guest)
                self._turn_away(guest, f"it sent no cookie within {COOKIE_S:g} s")

    def _read_guest(self, guest: _Guest) -> None:
        try:
            data = guest.sock.recv(protocol.COOKIE_BYTES - len(guest.data))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        guest.data += data
        stranger = protocol.identify_stranger(guest.data, protocol.Role.SERVER)
        if not data or stranger:
            self._guests.remove(guest)
            self._turn_away(guest, stranger or "it closed before its cookie was complete")
        elif len(guest.data) == protocol.COOKIE_BYTES:
            self._guests.remove(guest)
            self._admit(guest)

    def _admit(self, guest: _Guest) -> None:
        if self._test is None:
            self._test = _ServerTest(self, guest)
        elif self._test.wants(guest.data):
            self._test.add_stream(guest.sock)
        else:
            self._turn_away(guest, self._test.occupied, protocol.Wire.ACCESS_DENIED.byte)

    def _turn_away(self, guest: _Guest, why: str, answer: bytes = b"") -> None:
        control = ControlSocket(guest.sock)
        control.write(answer)
        self._see_out(control, BUSY_LINGER_S)
        self.emit(Turned(self.clock.t_s(), guest.host, guest.port, why))

    def _see_out(self, control: ControlSocket, seconds: float) -> None:
        if len(self._leaving) >= MAX_LEAVING:
            self._leaving.pop(0).control.close()
        self._leaving.append(_Leaving(control, seconds))

    def _see_off(self, ready: set[int]) -> None:
        now_s = time.monotonic()
        for leaving in list(self._leaving):
            if leaving.control.fileno() in ready:
                leaving.control.write(b"")
                if leaving.control.read() == b"":
                    leaving.due_s = 0.0
            if now_s >= leaving.due_s:
                leaving.control.close()
                self._leaving.remove(leaving)


class _ServerTest:
    """One client's test, from its cookie to its end."""

    def __init__(self, server: _Server, guest: _Guest) -> None:
        self.server = server
        self.control = ControlSocket(guest.sock, server.keep_alive)
        self.client = guest.host
        self.clock = Clock()
        self.spec: Optional[TestSpec] = None
        self.measurement: Optional[Measurement] = None
        self.outcome = "completed"
        self.over = False
        self._cookie = guest.data
        self._client_port = guest.port
        here = server.spec
        self._rate_limit = RateLimit(here.rate_limit_bps, here.rate_limit_average_s)
        self._door: Union[Door, SctpDoor, None] = None
        self._proto = protocol.Server()
        self._state = self._proto.state
        self._state_since_s = time.monotonic()
        self._tell_begin(guest)
        self._proto.start()
        self._handle(self._proto.receive(guest.data))

    def emit(self, event: Event) -> None:
        self.server.emit(event)

    def _tell_begin(self, guest: _Guest) -> None:
        sock = self.control.sock
        local = sock.getsockname()
        self.emit(
            RunStarted(
                self.clock.t_s(),
                uuid.uuid4().hex,
                "server",
                self.server.tool,
                system_text(),
                time.time(),
                self.server.spec.to_json(),
            )
        )
        self.emit(
            Connected(
                self.clock.t_s(),
                address_text(local),
                local[1],
                guest.host,
                guest.port,
                self._cookie.rstrip(b"\0").decode("latin-1"),
                None,
                control_mss(sock) or None,
            )
        )

    @property
    def occupied(self) -> str:
        """Why nobody else can test now, in words: who is on, and for how long."""
        who = f"{self.client} port {self._client_port}"
        words = f"busy with a test for {who}, on for {self.clock.t_s():.0f} s"
        planned_s = self.spec.planned_s if self.spec else None
        return f"{words} of {planned_s:.0f} s" if planned_s else words

    # ------------------------------------------------------------------ clocks

    @property
    def next_due_s(self) -> float:
        due_s = self._limit_due_s()
        if self._running:
            due_s = min(due_s, self.measurement.next_due_s) if self.measurement else due_s
        return due_s

    def _limit_due_s(self) -> float:
        seconds, _ = self._proto.limit()
        return self._state_since_s + seconds if seconds is not None else float("inf")

    @property
    def _running(self) -> bool:
        measured = self.measurement
        return measured is not None and measured.begun and not measured.finished

    def work(self) -> None:
        """Do what is due: samples, intervals, and the limits on every wait."""
        if self._running and self.measurement:
            self.measurement.work()
            try:
                self._check_progress(self.measurement)
            except EngineError as error:
                self._fail(error)
        if not self.over and time.monotonic() >= self._limit_due_s():
            self._handle(self._proto.timed_out())

    def _check_progress(self, measured: Measurement) -> None:
        """Raise EngineError for a client that sends nothing, or too much."""
        silent_s = measured.silent_s
        if silent_s * 1000 >= self.server.spec.rcv_timeout_ms:
            raise EngineError(144, f"no data arrived for {silent_s:.3g} s")
        carried_bytes = sum(measured.counters.bytes(leg.slot) for leg in measured.legs)
        measured.check_file()
        self._rate_limit.look(time.monotonic(), carried_bytes)

    # ------------------------------------------------------------------ the control connection

    def read(self) -> None:
        """Read what the client says and act on it."""
        self.control.write(b"")
        data = self.control.read()
        if data is not None:
            self._handle(self._proto.receive(data) if data else self._proto.eof(self.control.errno))

    def _handle(self, happened: list[protocol.Event]) -> None:
        """Act on what the protocol tells; what that brings forth in turn is acted on as well.

        A handler looks at the protocol's state first: bytes behind those of its event may have
        moved it on, and their event follows.
        """
        self._after_change()
        try:
            for event in happened:
                handler = self._handlers.get(type(event))
                if handler and not self.over:
                    handler(self, event)
        except EngineError as error:
            self._fail(error)
        except OSError as error:
            words = os_words(error.errno or 0) or error
            self._fail(EngineError(204, f"the system failed: {words}", error.errno or 0))
        self.over = self.over or self._proto.want_close

    def _after_change(self) -> None:
        self._note_state()
        self._flush()

    def _note_state(self) -> None:
        """Remember when the present state began; bytes that do not end it buy no time."""
        if self._proto.state is not self._state:
            self._state = self._proto.state
            self._state_since_s = time.monotonic()

    def _flush(self) -> None:
        self.control.write(self._proto.bytes_to_send())

    def _fail(self, error: EngineError) -> None:
        """End the test with an error of ours: tell the client, keep what was measured."""
        self._proto.fail(error.code, error.errno)
        self._flush()
        self._tell_failure(error)

    def _tell_failure(
        self, error: EngineError, remote: bool = False, awaited: Optional[str] = None
    ) -> None:
        """Report what ended the test; only the first such thing counts."""
        if self.over:
            return
        self.over = True
        self.outcome = "failed"
        self._finish_measuring()
        self.emit(Failed(self.clock.t_s(), error.code, str(error), error.errno, remote, awaited))

    def _finish_measuring(self) -> None:
        if self._running and self.measurement:
            self.measurement.finish()

    def terminate(self) -> None:
        """The server is being stopped: say so, keep what was measured."""
        self._proto.terminate()
        self._flush()
        self._finish_measuring()
        self.outcome = "interrupted"

    # ------------------------------------------------------------------ what the protocol tells

    def _on_parameters(self, event: protocol.ParametersReceived) -> None:
        if self._proto.state is not protocol.State.DECIDING:
            return
        parameters = dict(event.parameters)
        self._check_authorization(parameters.pop("authtoken", None))
        spec = TestSpec.from_parameters(parameters)
        self._check_duration(spec)
        rate_limit.check(spec, self.server.spec.rate_limit_bps)
        self.spec = spec
        self.emit(Agreed(self.clock.t_s(), parameters))
        here = self.server.spec
        own = self._own_end(spec)
        self.measurement = Measurement(spec, here.interval_s, self.clock, self.emit, own)
        if spec.protocol != "tcp":
            self._open_door(spec)
        else:
            self._prepare_listener(spec)
        self._handle(self._proto.accept_parameters())

    def _check_authorization(self, token: Any) -> None:
        authorize = self.server.duties.authorize
        if authorize and not (isinstance(token, str) and authorize(token)):
            raise EngineError.from_code(AUTHORIZATION_CODE)

    def _own_end(self, spec: TestSpec) -> OwnEnd:
        """The file that this server has, and the core: its own, unless the client names one."""
        own = self.server.spec.own
        if own.file:
            check_file(spec)
            disk_file.check(own.file, sends=spec.reverse)
        core = spec.server_core if spec.server_core != NO_CORE else own.core
        if core != NO_CORE:
            cores.check(core)
        return own._replace(core=core)

    def _open_door(self, spec: TestSpec) -> None:
        """Be ready for the client's datagrams before it is told to open its streams."""
        listen = LocalEnd(self.server.spec.bind_host, self.server.spec.bind_device)
        sock = self.control.sock
        if spec.udp:
            self._door = Door(sock, listen, self.client, udp_options(spec))
        else:
            self._door = SctpDoor(sock, listen, self._cookie, tcp_options(spec))

    @property
    def door_sockets(self) -> list[socket.socket]:
        """What to poll for the streams that do not come by TCP."""
        return self._door.sockets if self._door else []

    def add_door_streams(self) -> None:
        """Take the streams that came by the door; with the last one the test starts."""
        if self._door and self.measurement and self.spec:
            try:
                missing = self.spec.streams - len(self.measurement.legs)
                for sock in self._door.accept(missing):
                    self.add_stream(sock)
            except EngineError as error:
                self._fail(error)

    def _prepare_listener(self, spec: TestSpec) -> None:
        try:
            self.server.listener.prepare(spec.mss_bytes, spec.congestion, spec.mptcp)
        except EngineError as error:
            if error.code != CONGESTION_CODE:
                raise
            text = f"{error}: the default is used"
            self.emit(Note(self.clock.t_s(), "warning", "congestion", text))

    def _check_duration(self, spec: TestSpec) -> None:
        allowed_s = self.server.spec.max_duration_s
        if allowed_s and not 0 < (spec.planned_s or 0) <= allowed_s:
            raise EngineError(
                37, "client's requested duration exceeds the server's maximum permitted limit"
            )

    def wants(self, cookie: bytes) -> bool:
        """True when a connection with this cookie is one of the streams still missing."""
        opening = self._proto.state is protocol.State.OPENING
        return cookie == self._cookie and opening and self._door is None

    def add_stream(self, sock: socket.socket) -> None:
        """Take a data connection; with the last one the test starts."""
        if self.measurement is None or self.spec is None:
            sock.close()
            return
        try:
            self._take(sock, self.measurement, self.spec)
        except EngineError as error:
            self._fail(error)
        except OSError as error:
            words = os_words(error.errno or 0) or error
            self._fail(EngineError(204, f"a data connection failed: {words}", error.errno or 0))

    def _take(self, sock: socket.socket, measured: Measurement, spec: TestSpec) -> None:
        index = len(measured.legs)
        try:
            if spec.protocol == "tcp":
                self._set_options(sock, spec)
            measured.add_stream(sock, spec.reverse or (spec.bidir and index >= spec.parallel))
        except (EngineError, OSError):
            sock.close()
            raise
        if index + 1 == spec.streams:
            self._start(measured)

    def _set_options(self, sock: socket.socket, spec: TestSpec) -> None:
        if spec.nodelay:
            set_nodelay(sock)
        if self.server.spec.snd_timeout_ms:
            set_user_timeout(sock, self.server.spec.snd_timeout_ms)
        insist_on_congestion(sock, spec.congestion)
        if spec.window_bytes:
            set_window(sock, spec.window_bytes)
        if spec.tos:
            set_tos(sock, spec.tos)
        if spec.fq_rate_bps:
            set_max_pacing_rate(sock, spec.fq_rate_bps)

    def _start(self, measured: Measurement) -> None:
        self._close_door()
        measured.start_workers()
        happened = self._proto.streams_ready()
        self._after_change()
        measured.begin()
        measured.release()
        self._handle(happened)

    def _on_end(self, event: protocol.EndRequested) -> None:
        if self.measurement is None or self._proto.state is not protocol.State.ENDING:
            return
        if self.spec and self.spec.limited:
            self.measurement.drain_limited()
        elif self.measurement.writes_file:
            self.measurement.drain_file()
        self.measurement.check_file()
        self._finish_measuring()
        self.measurement.close_sockets()
        self._handle(self._proto.request_results())

    def _on_results(self, event: protocol.ResultsReceived) -> None:
        self.emit(results.from_json(event.results, self.clock.t_s()))
        ours = self.measurement.results if self.measurement else None
        if ours and self._proto.state is protocol.State.REPORTING:
            self._handle(self._proto.send_results(self._results_to_send(ours)))

    def _results_to_send(self, ours: Results) -> dict[str, Any]:
        """Our results, with our report where it was asked for and is not too large to be read."""
        plain = results.to_json(ours)
        output = self.server.duties.output
        if not output or not self.spec or not self.spec.get_server_output:
            return plain
        full = results.to_json(ours, output())
        if len(encode_json_frame(full)) <= MAX_RESULTS_BYTES:
            return full
        text = "the report is too large to be sent to the client"
        self.emit(Note(self.clock.t_s(), "warning", "server_output", text))
        return plain

    def _on_failed(self, event: protocol.Failed) -> None:
        awaited = None
        if event.trigger is protocol.Trigger.TIMEOUT:
            awaited = protocol.LIMITS[protocol.Role.SERVER][event.state].awaited
        self._tell_failure(event.error, awaited=awaited)

    def _on_terminated(self, event: protocol.PeerTerminated) -> None:
        self._tell_failure(event.error, remote=True)

    # ------------------------------------------------------------------ the end

    def _close_door(self) -> None:
        if self._door:
            self._door.close()
            self._door = None

    def close_streams(self) -> None:
        """End the workers and undo what the test changed on the listener."""
        self._close_door()
        if self.measurement:
            self.measurement.close()
        self.server.listener.restore()

    def tell_end(self) -> None:
        """The last event of the test."""
        self.emit(RunEnded(self.clock.t_s(), self.outcome, self.server.stops.signal_name))

    def close(self) -> None:
        """Close everything without a word; for the way out of a failing server."""
        self.close_streams()
        self.control.close()

    _handlers: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        protocol.ParametersReceived: _on_parameters,
        protocol.EndRequested: _on_end,
        protocol.ResultsReceived: _on_results,
        protocol.Failed: _on_failed,
        protocol.PeerTerminated: _on_terminated,
    }
