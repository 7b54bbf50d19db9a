"""What both reports need of a run, folded from its events; no format in here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tuiperf import events as ev
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import TestSpec


class Packets(NamedTuple):
    """What one end counted of UDP datagrams, the omitted part left out."""

    total: int  # sent; of a receiver those that came and those that are missing
    lost: int | None  # None where the far end did not tell what of it belongs to the omitted part
    jitter_s: float
    out_of_order: int = 0

    @property
    def jitter_ms(self) -> float:
        return self.jitter_s * 1000


class Count(NamedTuple):
    """What one end counted of one stream, or of several together."""

    bytes: int
    seconds: float
    retransmits: int | None  # None where that end does not know them
    packets: Packets | None = None  # of UDP

    @property
    def bytes_per_s(self) -> float:
        return rate(self.bytes, self.seconds)


class Group(NamedTuple):
    """The streams of one direction, in the order they were opened."""

    sends: bool  # True when this end sends
    streams: tuple[ev.StreamOpened, ...]


@dataclass
class Seen:
    """What the intervals showed of one stream. Byte and retransmit counts leave out omitted time,
    the extremes do not (as in iperf3)."""

    bytes: int = 0
    retransmits: int | None = None
    max_cwnd_bytes: int = 0
    max_snd_wnd_bytes: int = 0
    reorder_events: int = 0
    max_rtt_us: int = 0
    min_rtt_us: int = 0
    rtt_sum_us: int = 0
    rtt_count: int = 0
    packets: Packets | None = None  # UDP

    @property
    def mean_rtt_us(self) -> int:
        return self.rtt_sum_us // self.rtt_count if self.rtt_count else 0

    def add(self, row: ev.StreamInterval, omitted: bool) -> None:
        """Take one more interval's row into account."""
        if not omitted:
            self.bytes += row.bytes
            if row.retransmits is not None:
                self.retransmits = (self.retransmits or 0) + row.retransmits
            if row.udp is not None:
                self._add_packets(row.udp)
        self.max_cwnd_bytes = max(self.max_cwnd_bytes, row.cwnd_bytes or 0)
        self.max_snd_wnd_bytes = max(self.max_snd_wnd_bytes, row.snd_wnd_bytes or 0)
        self.reorder_events = max(self.reorder_events, row.reorder_events or 0)
        if row.rtt_us:
            self.max_rtt_us = max(self.max_rtt_us, row.rtt_us)
            self.min_rtt_us = min(self.min_rtt_us or row.rtt_us, row.rtt_us)
            self.rtt_sum_us += row.rtt_us
            self.rtt_count += 1

    def _add_packets(self, udp: ev.UdpFigures) -> None:
        before = self.packets or Packets(0, 0, 0.0)
        self.packets = Packets(
            before.total + udp.packets,
            (before.lost or 0) + udp.lost_packets,
            udp.jitter_s,
            before.out_of_order + udp.out_of_order_packets,
        )


@dataclass
class Facts:
    """One run so far."""

    role: str = "client"
    run: ev.RunStarted | None = None
    connection: ev.Connected | None = None
    agreed: ev.Agreed | None = None
    test: TestSpec = field(default_factory=TestSpec)
    streams: dict[int, ev.StreamOpened] = field(default_factory=dict)
    started: ev.TestStarted | None = None
    seen: dict[int, Seen] = field(default_factory=dict)
    measured_s: float | None = None  # end of the last interval that counts; None before the first
    local: ev.Results | None = None
    remote: ev.Results | None = None
    output: ev.ServerOutput | None = None
    file: ev.FileMoved | None = None
    failure: ev.Failed | None = None
    ended: ev.RunEnded | None = None

    def after(self, event: ev.Event) -> Facts:
        """Take in the next event and return the facts: new ones when a run starts, else these."""
        if isinstance(event, ev.RunStarted):
            return Facts(role=event.role, run=event)
        self._take(event)
        return self

    def _take(self, event: ev.Event) -> None:
        if isinstance(event, ev.Listening):
            self.role = "server"
        elif isinstance(event, ev.Connected):
            self.connection = event
        elif isinstance(event, ev.Agreed):
            self._agree(event)
        elif isinstance(event, ev.StreamOpened):
            self.streams[event.stream] = event
        elif isinstance(event, ev.TestStarted):
            self.started = event
        elif isinstance(event, ev.Interval):
            self._interval(event)
        else:
            self._take_end(event)

    def _take_end(self, event: ev.Event) -> None:
        if isinstance(event, ev.Results):
            if event.side == "local":
                self.local = event
            else:
                self.remote = event
        elif isinstance(event, ev.ServerOutput):
            self.output = event
        elif isinstance(event, ev.FileMoved):
            self.file = event
        elif isinstance(event, ev.Failed):
            self.failure = self.failure or event
        elif isinstance(event, ev.RunEnded):
            self.ended = event

    def _agree(self, event: ev.Agreed) -> None:
        self.agreed = event
        try:
            self.test = TestSpec.from_parameters(event.parameters)
        except EngineError:
            self.test = TestSpec()

    def _interval(self, event: ev.Interval) -> None:
        for row in event.streams:
            self.seen.setdefault(row.stream, Seen()).add(row, event.omitted)
        if not event.omitted:
            self.measured_s = event.end_s

    # ------------------------------------------------------------------ who and what

    @property
    def is_client(self) -> bool:
        return self.role != "server"

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of this end, as JSON; empty when the run's start was not seen."""
        return self.run.spec if self.run else {}

    @property
    def host(self) -> str:
        """The server's name as the user gave it, else its address."""
        host = self.spec.get("host")
        if isinstance(host, str) and host:
            return host
        return self.connection.remote_host if self.connection else ""

    @property
    def port(self) -> int:
        """The server's port."""
        port = self.spec.get("port")
        if isinstance(port, int) and port:
            return port
        return self.connection.remote_port if self.connection else 0

    @property
    def interval_s(self) -> float:
        """The report interval asked for at this end, 0 for the summary alone."""
        value = self.spec.get("interval_s", 1.0)
        return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e9 else 1.0

    def shows(self, event: ev.Interval) -> bool:
        """False for the omitted part of a test without intervals, which iperf3 does not show."""
        return bool(self.interval_s) or not event.omitted

    def wall_s(self, event: ev.Event) -> float | None:
        """The time of day of an event of this run; None when the run's start was not seen."""
        if self.run is None:
            return None
        return self.run.wall_time_s + max(0.0, event.t_s - self.run.t_s)

    def groups(self) -> list[Group]:
        """The directions in iperf3's order: client to server first in a bidirectional test."""
        streams = tuple(self.streams.values())
        if not self.test.bidir:
            return [Group(streams[0].sends if streams else self.is_client, streams)]
        return [
            Group(sends, tuple(each for each in streams if each.sends is sends))
            for sends in (self.is_client, not self.is_client)
        ]

    # ------------------------------------------------------------------ totals

    @property
    def measured(self) -> bool:
        """True when there is something to sum up."""
        return self.local is not None or self.measured_s is not None

    def counts(self, group: Group, of_sender: bool) -> dict[int, Count]:
        """What the sending or the receiving end counted, by stream; empty when it did not say.

        Every row of a direction has the duration of the first stream of that direction, as the end
        in question measured it: iperf3 does the same, but uses the first direction's for both.
        """
        if of_sender is not group.sends:
            return self._reported(group, self.remote)
        return self._reported(group, self.local) if self.local else self._from_intervals(group)

    def _from_intervals(self, group: Group) -> dict[int, Count]:
        if self.measured_s is None:
            return {}
        seen = {each.stream: self.seen.get(each.stream, Seen()) for each in group.streams}
        return {
            stream: Count(
                row.bytes,
                self.measured_s,
                row.retransmits if group.sends else None,
                row.packets,
            )
            for stream, row in seen.items()
        }

    def _reported(self, group: Group, results: ev.Results | None) -> dict[int, Count]:
        rows = {row.stream: row for row in results.streams} if results else {}
        known = [rows[each.stream] for each in group.streams if each.stream in rows]
        if not known:
            return {}
        first = known[0]
        seconds = self.local_s if first.end_s is None else first.end_s - first.start_s
        return {
            row.stream: Count(row.bytes, seconds, row.retransmits, self._packets(row))
            for row in known
        }

    def _packets(self, row: ev.StreamResult) -> Packets | None:
        """A far end of iperf3 before 3.14 does not tell what belongs to the omitted part."""
        if not self.test.udp:
            return None
        out_of_order = row.udp.out_of_order_packets if row.udp else 0
        omitted, omitted_lost = row.omitted_packets, row.omitted_lost_packets
        lost: int | None = row.lost_packets - (omitted_lost or 0)
        if omitted is None or omitted_lost is None:
            omitted = self._omitted_here(row.stream)
            if self.test.omit_s and row.lost_packets:
                lost = None
        return Packets(row.packets - omitted, lost, row.jitter_s, out_of_order)

    def _omitted_here(self, stream: int) -> int:
        rows = self.local.streams if self.local else ()
        return next((row.omitted_packets or 0 for row in rows if row.stream == stream), 0)

    @property
    def local_s(self) -> float:
        """How long the test lasted by this end's clock, the omitted part left out."""
        for row in self.local.streams if self.local else ():
            if row.end_s is not None:
                return row.end_s - row.start_s
        return self.measured_s or 0.0


def total(counts: dict[int, Count], group: Group) -> Count | None:
    """All streams of a direction together; None unless each of them is known."""
    rows = [counts[each.stream] for each in group.streams if each.stream in counts]
    if not rows or len(rows) < len(group.streams):
        return None
    return Count(
        sum(row.bytes for row in rows),
        rows[0].seconds,
        add_known(row.retransmits for row in rows),
        _total_packets([row.packets for row in rows if row.packets is not None]),
    )


def _total_packets(rows: list[Packets]) -> Packets | None:
    """All streams' datagrams; their jitter is the mean of the streams'."""
    if not rows:
        return None
    lost = [row.lost for row in rows]
    return Packets(
        sum(row.total for row in rows),
        None if None in lost else add_known(lost),
        sum(row.jitter_s for row in rows) / len(rows),
        sum(row.out_of_order for row in rows),
    )


def percent(part: float, whole: float) -> float:
    """The percentage, 0 of nothing."""
    return 100.0 * part / whole if whole > 0 else 0.0


def file_percent(carried_bytes: int, size_bytes: int) -> int:
    """How much of a file was carried, as iperf3 rounds it; all of an empty one."""
    return carried_bytes * 100 // size_bytes if size_bytes > 0 else 100


def add_known(values: Any) -> int | None:
    """The sum of those that are not None; None when there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def rate(amount: float, seconds: float) -> float:
    """Amount per second; 0 for no time, never an error."""
    try:
        value = amount / seconds if seconds > 0 else 0.0
    except OverflowError:
        return math.inf
    return value
