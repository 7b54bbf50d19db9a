"""One end's part of a test: its streams, their workers, samples, intervals and totals.

Client and server drive it alike: add the streams, `start_workers`, `begin` at TEST_START, `release`
at TEST_RUNNING, `work` whenever `next_due_s` comes, `finish` at the end, `close` always. It knows
nothing of the control connection.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Optional

from tuiperf.events import (
    Event,
    FileMoved,
    HostSample,
    Interval,
    Note,
    OptionRead,
    Results,
    StreamInterval,
    StreamOpened,
    StreamResult,
    StreamSample,
    TestStarted,
)

from . import counters as shared
from . import (
    disk_file,
    host_facts,
    tcp_info,
    udp_drops,
    udp_figures,
    udp_socket,
)
from .counters import Counters
from .leg import Leg, Mark, stream_id
from .own_end import USUAL, OwnEnd
from .plans import start_worker, tcp_options, udp_options
from .sockets import (
    OptionReading,
    address_text,
    congestion_used,
    control_mss,
    read_options,
    unread_bytes,
    unsent_bytes,
)
from .spec import TestSpec

SAMPLE_S = 0.1
HOST_SAMPLE_S = 1.0
LIMIT_POLL_S = 0.005  # how often -n and -k are looked at
SENDER_STOP_S = 0.3
DRAIN_S = 1.0  # how long a receiver may wait for what -n or -k still has on the way
FILE_QUIET_S, FILE_DRAIN_S = 0.3, 10.0  # the same for a file, of which nothing may be missing
UDP_QUIET_S = 0.1  # of UDP some may never come: then so long without any
UDP_TAIL_S = 1.0  # silence after which a limited UDP test has come to its end
SLIVER_S = 0.05  # an interval that would end this close to the test's end is left to that end
SHORT_INTERVAL_SHARE = 0.1  # a last interval shorter than this counts only if it carried bytes
NO_LIMIT_YET_BYTES = 2**62  # for the omitted part: a limit still, so that writes are claimed
GONE = (shared.PEER_CLOSED, shared.FAILED, shared.FAULT, shared.FILE_FAILED)

Emit = Callable[[Event], None]


class Clock:
    """Seconds since the run began, from the monotonic clock."""

    def __init__(self) -> None:
        self.zero_s = time.monotonic()

    def t_s(self) -> float:
        return time.monotonic() - self.zero_s


class Measurement:
    """The running test at one end. Times are seconds of the monotonic clock."""

    def __init__(
        self,
        spec: TestSpec,
        interval_s: float,
        clock: Clock,
        emit: Emit,
        own: OwnEnd = USUAL,
    ) -> None:
        self.spec = spec
        self._own = own
        self.legs: list[Leg] = []
        self._interval_s = interval_s
        self._clock = clock
        self._emit = emit
        self._counters: Optional[Counters] = None
        self._options_seen: set[OptionReading] = set()
        self._cpu_zero = (time.monotonic(), *_own_cpu_s())
        self._tick = 0
        self._started_s: Optional[float] = None  # TEST_START
        self._epoch_s = (
            0.0  # what intervals and totals count from: start, or the omitted part's end
        )
        self._interval_from_s = 0.0
        self._omitting = False
        self._sample_due_s = self._host_due_s = self._interval_due_s = float("inf")
        self._host_seen: tuple[float, float] = (0.0, 0.0)
        self._progress: tuple[int, float] = (0, 0.0)
        self._host_drops = udp_drops.read() if spec.udp else None
        self.results: Optional[Results] = None  # once `finish` has been called

    @property
    def finished(self) -> bool:
        """True once the totals are counted."""
        return self.results is not None

    # ------------------------------------------------------------------ streams

    def add_stream(self, sock: socket.socket, sends: bool) -> Leg:
        """Take a connected data socket; its id follows from the order of the calls.

        Raises OSError when the connection has gone meanwhile; the socket is then not taken.
        """
        index = len(self.legs)
        local, remote = sock.getsockname(), sock.getpeername()
        leg = Leg(stream_id(index), sock, sends, index)
        self.legs.append(leg)
        self._emit(
            StreamOpened(
                self._clock.t_s(),
                leg.stream,
                leg.fd,
                sends,
                address_text(local),
                local[1],
                address_text(remote),
                remote[1],
            )
        )
        for reading in self._read_options(sock):
            self._tell_option(reading, leg.stream)
        if self.spec.udp:
            leg.gauge = udp_figures.Gauge(sock, sends)
        return leg

    def _read_options(self, sock: socket.socket) -> list[OptionReading]:
        if self.spec.udp:
            return udp_socket.read_options(sock, udp_options(self.spec))
        return read_options(sock, tcp_options(self.spec))

    def _tell_option(self, reading: OptionReading, stream: int) -> None:
        """Report a setting, once for all streams that have it alike."""
        if reading not in self._options_seen:
            self._options_seen.add(reading)
            self._emit(OptionRead(self._clock.t_s(), *reading, stream=stream))

    def start_workers(self) -> None:
        """Fork a worker a stream: receivers read from now on, senders wait for `release`."""
        self._counters = Counters(len(self.legs))
        if self.spec.limit_bytes:
            omits = bool(self.spec.omit_s)
            self._counters.limit_bytes = NO_LIMIT_YET_BYTES if omits else self.spec.limit_bytes
        for leg in self.legs:
            leg.worker = start_worker(self.spec, self._own, leg, self._counters)
        writers = sum(not leg.sends for leg in self.legs)
        if writers > 1 and disk_file.keeps(self._own.file):
            text = f"{writers} streams write to one file from its begin: they overwrite each other"
            self._emit(Note(self._clock.t_s(), "warning", "file", text))

    @property
    def counters(self) -> Counters:
        """The workers' counters. Only after `start_workers`."""
        if self._counters is None:
            raise RuntimeError("the workers have not been started")
        return self._counters

    # ------------------------------------------------------------------ clocks

    def begin(self) -> None:
        """TEST_START: the clocks run from here."""
        now_s = time.monotonic()
        self._started_s = self._epoch_s = self._interval_from_s = now_s
        if self._counters is not None:
            self._counters.begin(now_s)
        self._omitting = bool(self.spec.omit_s)
        self._sample_due_s = now_s + SAMPLE_S
        self._host_due_s = now_s + HOST_SAMPLE_S
        self._interval_due_s = self._after_interval(now_s)
        self._cpu_zero = (now_s, *_own_cpu_s())
        self._host_seen = (now_s, self._cpu_now_s())
        self._progress = (0, now_s)
        sock = self.legs[0].sock
        self._emit(
            TestStarted(
                self._clock.t_s(),
                time.time(),
                self.spec.window_bytes,
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
                control_mss(sock),
            )
        )
        self._tell_host("begin")

    def _tell_host(self, when: str) -> None:
        """Report what this host's kernel and device know, to be compared with another time."""
        with contextlib.suppress(OSError):
            here = address_text(self.legs[0].sock.getsockname())
            self._emit(host_facts.read(self._clock.t_s(), when, here))

    def release(self) -> None:
        """TEST_RUNNING: let the senders go."""
        self.counters.release()

    def _after_interval(self, from_s: float) -> float:
        return from_s + self._interval_s if self._interval_s else float("inf")

    @property
    def begun(self) -> bool:
        """True from TEST_START on."""
        return self._started_s is not None

    @property
    def end_due_s(self) -> float:
        """When time ends the test; infinity when it does not."""
        planned_s = self.spec.planned_s
        if self._started_s is None or planned_s is None:
            return float("inf")
        return self._started_s + planned_s

    @property
    def next_due_s(self) -> float:
        """When `work` wants to be called again."""
        due_s = min(self._sample_due_s, self._host_due_s, self._interval_due_s, self._omit_due_s)
        if self.begun and (self.spec.limited or self._own.file):
            due_s = min(due_s, time.monotonic() + LIMIT_POLL_S)
        return due_s

    @property
    def _omit_due_s(self) -> float:
        return self._epoch_s + self.spec.omit_s if self._omitting else float("inf")

    def work(self) -> None:
        """Do all that is due: samples, intervals, the end of the omitted part."""
        now_s = time.monotonic()
        if now_s >= self._sample_due_s:
            self._sample()
            self._sample_due_s = _next(self._sample_due_s, SAMPLE_S, now_s)
        if now_s >= self._host_due_s:
            self._sample_host()
            self._host_due_s = _next(self._host_due_s, HOST_SAMPLE_S, now_s)
        if now_s >= self._interval_due_s:
            if not self._nearly_over(now_s):
                self._close_interval(time.monotonic())
            self._interval_due_s = _next(self._interval_due_s, self._interval_s, now_s)
        if now_s >= self._omit_due_s:
            self._end_omit()

    def _nearly_over(self, now_s: float) -> bool:
        """True just before the test or its omitted part ends: that end closes the interval."""
        margin_s = min(SLIVER_S, SHORT_INTERVAL_SHARE * self._interval_s)
        return abs(min(self.end_due_s, self._omit_due_s) - now_s) < margin_s

    def _end_omit(self) -> None:
        now_s = time.monotonic()
        if self._interval_s:
            self._close_last_interval(now_s)
        self._omitting = False
        self.counters.end_omitted()
        self._epoch_s = self._interval_from_s = now_s
        self._interval_due_s = self._after_interval(self._epoch_s)
        for leg in self.legs:
            leg.omit_mark = leg.interval_mark = self._mark(leg)
        if self.spec.limit_bytes:
            sent_bytes = sum(leg.omit_mark.bytes for leg in self.legs if leg.sends)
            self.counters.limit_bytes = self.spec.limit_bytes + sent_bytes

    # ------------------------------------------------------------------ looking

    def _mark(self, leg: Leg) -> Mark:
        return self._mark_with(leg, self._tcp_of(leg))

    def _mark_with(self, leg: Leg, info: dict[str, Optional[int]]) -> Mark:
        udp_reading = self._udp_of(leg)
        carried = udp_reading.counts.bytes if udp_reading else self.counters.bytes(leg.slot)
        return Mark(carried, info.get("total_retrans_packets"), udp_reading)

    def _udp_of(self, leg: Leg) -> Optional[udp_figures.Reading]:
        return leg.gauge.read(self.counters.udp(leg.slot)) if leg.gauge else None

    @staticmethod
    def _tcp_of(leg: Leg) -> dict[str, Optional[int]]:
        """What the kernel knows of a TCP stream that this end sends; {} of others."""
        if leg.gauge:
            return {}
        return (tcp_info.read(leg.sock) if leg.sends else None) or {}

    def _sample(self) -> None:
        self._tick += 1
        received_bytes = 0
        for leg in self.legs:
            info = None if leg.gauge else tcp_info.read(leg.sock)
            mark = self._mark_with(leg, {})
            transferred_bytes = mark.bytes
            if not leg.sends:
                received_bytes += transferred_bytes
            self._emit(
                StreamSample(
                    self._clock.t_s(),
                    self._tick,
                    time.monotonic() - (self._started_s or 0.0),
                    leg.stream,
                    leg.sends,
                    transferred_bytes,
                    None if leg.sends or leg.gauge else unread_bytes(leg.sock),
                    info and {name: value for name, value in info.items() if value is not None},
                    mark.udp_since(Mark()),
                )
            )
        if received_bytes != self._progress[0]:
            self._progress = (received_bytes, time.monotonic())

    @property
    def silent_s(self) -> float:
        """Seconds since a receiving stream last got data; 0 when this end receives nothing."""
        if self._started_s is None or all(leg.sends for leg in self.legs):
            return 0.0
        return time.monotonic() - self._progress[1]

    def _sample_host(self) -> None:
        now_s, cpu_s = time.monotonic(), self._cpu_now_s()
        span_s = max(1e-6, now_s - self._host_seen[0])
        busiest_s = waiting_s = 0.0
        waits_known = False
        for leg in self.legs:
            if leg.worker is None:
                continue
            used_s = sum(leg.worker.cpu_times())
            busiest_s = max(busiest_s, used_s - leg.host_cpu_s)
            leg.host_cpu_s = used_s
            wait_s = leg.worker.sched_wait_s()
            if wait_s is not None:
                waits_known = True
                waiting_s = max(waiting_s, wait_s - leg.host_wait_s)
                leg.host_wait_s = wait_s
        self._emit(
            HostSample(
                self._clock.t_s(),
                now_s - (self._started_s or now_s),
                max(0.0, cpu_s - self._host_seen[1]) / span_s,
                busiest_s / span_s,
                waiting_s / span_s if waits_known else None,
            )
        )
        self._host_seen = (now_s, cpu_s)

    def _cpu_now_s(self) -> float:
        workers_s = sum(sum(leg.worker.cpu_times()) for leg in self.legs if leg.worker)
        return workers_s + sum(_own_cpu_s())

    # ------------------------------------------------------------------ intervals

    def _close_interval(self, now_s: float) -> None:
        start_s, end_s = self._interval_from_s - self._epoch_s, now_s - self._epoch_s
        rows = tuple(self._interval_row(leg, start_s, end_s) for leg in self.legs)
        self._interval_from_s = now_s
        self._emit(Interval(self._clock.t_s(), start_s, end_s, self._omitting, rows))

    def _interval_row(self, leg: Leg, start_s: float, end_s: float) -> StreamInterval:
        info = self._tcp_of(leg)
        now = self._mark_with(leg, info)
        before, leg.interval_mark = leg.interval_mark, now
        cwnd_packets, mss_bytes = info.get("snd_cwnd_packets"), info.get("snd_mss_bytes")
        cwnd_known = cwnd_packets is not None and mss_bytes is not None
        return StreamInterval(
            leg.stream,
            leg.sends,
            start_s,
            end_s,
            now.bytes - before.bytes,
            now.retransmits_since(before),
            (cwnd_packets or 0) * (mss_bytes or 0) if cwnd_known else None,
            info.get("snd_wnd_bytes"),
            info.get("rtt_us"),
            info.get("rttvar_us"),
            info.get("pmtu_bytes"),
            info.get("reord_seen_events"),
            now.udp_since(before),
        )

    def _close_last_interval(self, now_s: float) -> None:
        """Close the interval under way, unless it is a mere sliver without data."""
        span_s = now_s - self._interval_from_s
        carried = any(self._mark(leg).differs_from(leg.interval_mark) for leg in self.legs)
        if carried or span_s >= SHORT_INTERVAL_SHARE * self._interval_s:
            self._close_interval(now_s)

    # ------------------------------------------------------------------ the end

    def limit_reached(self) -> bool:
        """True when -n or -k has been sent, or received, in full."""
        if not self.spec.limit_bytes or not self.begun or self._omitting:
            return False
        sent = sum(self._since_omit(leg) for leg in self.legs if leg.sends)
        received = sum(self._since_omit(leg) for leg in self.legs if not leg.sends)
        reached = max(sent, received) >= self.spec.limit_bytes
        return reached or (received > 0 and self.spec.udp and self.silent_s > UDP_TAIL_S)

    def file_sent(self) -> bool:
        """True when this end has sent all of its file."""
        senders = [leg for leg in self.legs if leg.sends]
        at_end = [self.counters.state(leg.slot) == shared.AT_LIMIT for leg in senders]
        return bool(self._own.file and senders) and all(at_end)

    @property
    def writes_file(self) -> bool:
        """True when a file gets what this end receives."""
        return bool(self._own.file) and any(not leg.sends for leg in self.legs)

    def drain_file(self) -> None:
        """Let the file have what its sender has on the way, and count it."""
        quiet_s, deadline_s = FILE_QUIET_S, time.monotonic() + FILE_DRAIN_S
        held_bytes, heard_s = self.counters.total_received_bytes(), time.monotonic()
        while not self.all_ended() and time.monotonic() < deadline_s:
            time.sleep(0.002)
            if held_bytes != self.counters.total_received_bytes():
                held_bytes, heard_s = self.counters.total_received_bytes(), time.monotonic()
            elif time.monotonic() - heard_s > quiet_s:
                return

    def check_file(self) -> None:
        """Raise EngineError 14 once the file gives no more, or takes no more of what comes."""
        for leg in self.legs:
            if self.counters.state(leg.slot) == shared.FILE_FAILED:
                number = self.counters.errno(leg.slot)
                raise disk_file.broken(self._own.file, leg.sends, number)

    def undelivered(self) -> bool:
        """True while the far end's system has not confirmed all that was sent."""
        return any(leg.sends and unsent_bytes(leg.sock) for leg in self.legs)

    def _since_omit(self, leg: Leg) -> int:
        """Bytes after the omitted part; those of lost datagrams have been sent as well."""
        if leg.gauge and not leg.sends:
            highest = self.counters.udp(leg.slot).packets
            omitted = leg.omit_mark.udp.counts.packets if leg.omit_mark.udp else 0
            return (highest - omitted) * self.spec.block_bytes
        return self.counters.bytes(leg.slot) - leg.omit_mark.bytes

    def all_ended(self) -> bool:
        """True when every data connection is gone, so nothing more can be measured."""
        return all(self._gone(leg) for leg in self.legs)

    def _gone(self, leg: Leg) -> bool:
        return self.counters.state(leg.slot) in GONE

    def newly_ended(self) -> list[int]:
        """The streams whose data connection has gone since this was last asked."""
        ended = [leg for leg in self.legs if not leg.told_gone and self._gone(leg)]
        for leg in ended:
            leg.told_gone = True
        return [leg.stream for leg in ended]

    def turned_away(self) -> bool:
        """True when every receiving stream was closed at once: an ACCESS_DENIED at most came."""
        receiving = [leg for leg in self.legs if not leg.sends]
        return all(self._gone(leg) and self.counters.bytes(leg.slot) <= 1 for leg in receiving)

    def broken_errno(self) -> int:
        """The errno of the first data connection that broke, 0 for none."""
        broken = (self.counters.errno(leg.slot) for leg in self.legs)
        return next((number for number in broken if number), 0)

    def drain_limited(self) -> None:
        """Let receivers take what a sender of -n or -k bytes has on its way, a second at most."""
        deadline_s = time.monotonic() + DRAIN_S
        waiting = [leg for leg in self.legs if not leg.sends]
        received_bytes, heard_s = 0, time.monotonic()
        while waiting and not self.limit_reached() and time.monotonic() < deadline_s:
            time.sleep(0.001)
            waiting = [leg for leg in waiting if self.counters.state(leg.slot) == shared.BUSY]
            if received_bytes != self.counters.total_received_bytes():
                received_bytes, heard_s = self.counters.total_received_bytes(), time.monotonic()
            elif self.spec.udp and time.monotonic() - heard_s > UDP_QUIET_S:
                return

    def finish(self) -> Results:
        """Stop the senders, count, emit the last interval and this end's Results.

        Receivers go on reading, for the peer may still be blocked in a write.
        """
        self.counters.drain()
        drained_s = time.monotonic()
        end_s = self._stop_senders()
        if self.spec.udp:  # no call of its senders lasts longer than a moment
            end_s = drained_s
        self._sample()
        self._close_last_interval(end_s)
        for leg in self.legs:
            leg.final = leg.interval_mark
        self._tell_host_drops()
        self._tell_host("end")
        self._tell_file()
        self.results = self._results(max(0.0, end_s - self._epoch_s))
        self._sample_due_s = self._host_due_s = self._interval_due_s = float("inf")
        self._omitting = False
        self._emit(self.results)
        return self.results

    def _tell_file(self) -> None:
        if self._own.file:
            size_bytes = disk_file.size_of(self._own.file)
            self._emit(FileMoved(self._clock.t_s(), self._own.file, size_bytes))

    def _tell_host_drops(self) -> None:
        """Say what of a UDP test's losses is this host's own doing."""
        for what, count in self._host_drop_counts():
            if count:
                self._emit(Note(self._clock.t_s(), "warning", "host_drops", what.format(count)))

    def _host_drop_counts(self) -> list[tuple[str, int]]:
        figures = [leg.final.udp_since(leg.omit_mark) for leg in self.legs if not leg.sends]
        received = sum(each.host_dropped_packets or 0 for each in figures if each)
        now = udp_drops.read() if self._host_drops else None
        sent = now.since(self._host_drops).send_buffer if now and self._host_drops else 0
        return [
            (
                "about {} of the lost datagrams had arrived here: this host's receive buffer was "
                "full, the path did not lose them",
                received,
            ),
            (
                "{} datagrams that count as sent were dropped by this host's own device queue",
                sent,
            ),
        ]

    def _stop_senders(self) -> float:
        """End the senders so that their counters hold exactly what the kernel took."""
        senders = [leg for leg in self.legs if leg.sends]
        for leg in senders:
            with contextlib.suppress(OSError):
                leg.sock.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + SENDER_STOP_S
        for leg in senders:
            worker = leg.worker
            if worker and not worker.reap(max(0.0, deadline_s - time.monotonic())):
                worker.kill()
                worker.reap(SENDER_STOP_S)
        return time.monotonic()

    def _results(self, measured_s: float) -> Results:
        total, user, system = self._cpu_percent()
        known = [leg.final.retransmits is not None for leg in self.legs if leg.sends]
        return Results(
            self._clock.t_s(),
            "local",
            congestion_used(self.legs[0].sock),
            total,
            user,
            system,
            int(all(known)) if known else -1,
            tuple(self._stream_result(leg, measured_s) for leg in self.legs),
        )

    @staticmethod
    def _stream_result(leg: Leg, measured_s: float) -> StreamResult:
        result = StreamResult(
            leg.stream,
            leg.final.bytes - leg.omit_mark.bytes,
            leg.final.retransmits_since(leg.omit_mark),
            0.0,
            measured_s,
        )
        whole = leg.final.udp_since(Mark())
        if whole is None:
            return result
        omitted = leg.omit_mark.udp_since(Mark())
        return replace(
            result,
            jitter_s=whole.jitter_s,
            lost_packets=whole.lost_packets,
            packets=whole.packets,
            omitted_lost_packets=omitted.lost_packets if omitted else 0,
            omitted_packets=omitted.packets if omitted else 0,
            udp=leg.final.udp_since(leg.omit_mark),
        )

    def _cpu_percent(self) -> tuple[float, float, float]:
        wall_s = max(1e-6, time.monotonic() - self._cpu_zero[0])
        user_s, system_s = _own_cpu_s()
        user_s, system_s = user_s - self._cpu_zero[1], system_s - self._cpu_zero[2]
        for leg in self.legs:
            if leg.worker:
                times = leg.worker.cpu_times()
                user_s, system_s = user_s + times[0], system_s + times[1]
        percent = 100.0 / wall_s
        return (user_s + system_s) * percent, user_s * percent, system_s * percent

    def close_sockets(self) -> None:
        """Tell the workers to end and shut the data connections; `close` waits for them."""
        self.counters.stop()
        for leg in self.legs:
            with contextlib.suppress(OSError):
                leg.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the workers, wait for them and close the data sockets. Safe to call twice."""
        if self._counters is not None:
            self.close_sockets()
        for leg in self.legs:
            if leg.worker and not leg.worker.reap(SENDER_STOP_S):
                leg.worker.kill()
                leg.worker.reap(SENDER_STOP_S)
            leg.sock.close()
        if self._counters is not None:
            self._counters.close()
            self._counters = None
        self.legs = []


def _own_cpu_s() -> tuple[float, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def _next(due_s: float, period_s: float, now_s: float) -> float:
    """The next multiple of the period after now: late work is skipped, not made up for."""
    due_s += period_s
    if due_s <= now_s:
        due_s += period_s * (int((now_s - due_s) / period_s) + 1)
    return due_s


def system_text() -> str:
    """The system's name, node, release, version and machine, as uname prints them."""
    return " ".join(os.uname())
