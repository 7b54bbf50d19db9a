"""What has been learned so far: a Session, and `reduce`, the only place where it changes.

`reduce` knows no clock, no socket and no file, so the same events always give the same session,
live or replayed. Memory is bounded whatever the test's length: series are thinned as they grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from tuiperf import events as ev
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import ClientSpec, TestSpec

MAX_SAMPLES = 4096  # of all streams together, about 4 KB each
MAX_TICKS = 1200
MAX_INTERVALS = 1200
MAX_HOSTS = 600
MAX_NOTES = 200

T = TypeVar("T")


class Phase(Enum):
    """How far a run has come."""

    CONNECTING = "connecting"
    NEGOTIATING = "negotiating"
    WARMING = "warming up"  # the omitted part
    RUNNING = "running"
    FINISHING = "finishing"
    ENDED = "ended"


class Direction(Enum):
    """Which way data goes, seen from the client whatever end we are."""

    FORWARD = "forward"
    REVERSE = "reverse"


class Thinned(Generic[T]):
    """A series that holds at most `limit` items over any length of time.

    When it is full every two neighbours become one: `merge(older, newer)`, or the newer one alone.
    """

    def __init__(self, limit: int, merge: Callable[[T, T], T] | None = None) -> None:
        self.limit = max(2, limit)
        self.stride = 1
        self._merge = merge or (lambda older, newer: newer)
        self._items: list[T] = []
        self._pending: list[T] = []

    def append(self, item: T) -> None:
        self._pending.append(item)
        if len(self._pending) < self.stride:
            return
        self._items.append(self._fold(self._pending))
        self._pending.clear()
        if len(self._items) >= self.limit:
            pairs = zip(self._items[::2], self._items[1::2], strict=False)
            odd = self._items[-1:] if len(self._items) % 2 else []
            self._items = [self._merge(older, newer) for older, newer in pairs]
            self._pending = odd
            self.stride *= 2

    def _fold(self, items: list[T]) -> T:
        folded = items[0]
        for item in items[1:]:
            folded = self._merge(folded, item)
        return folded

    def __iter__(self) -> Iterator[T]:
        yield from self._items
        if self._pending:
            yield self._fold(self._pending)

    def __len__(self) -> int:
        return len(self._items) + bool(self._pending)

    @property
    def last(self) -> T | None:
        """The newest item, as given if nothing was thinned since."""
        if self._pending:
            return self._pending[-1]
        return self._items[-1] if self._items else None


class Tick(NamedTuple):
    """All streams of one direction over one span of the sampler. None: not known at this end."""

    test_s: float  # end of the span
    span_s: float
    goodput_bps: float
    rtt_us: float | None  # mean of the streams
    cwnd_bytes: int | None  # sum of the streams, like the next two
    snd_wnd_bytes: int | None
    in_flight_bytes: int | None
    retransmits: int | None
    udp: ev.UdpFigures | None = None  # of this span, all streams together


def _merge_ticks(older: Tick, newer: Tick) -> Tick:
    span_s = older.span_s + newer.span_s
    bits = older.goodput_bps * older.span_s + newer.goodput_bps * newer.span_s
    known = [each for each in (older.retransmits, newer.retransmits) if each is not None]
    return newer._replace(
        span_s=span_s,
        goodput_bps=bits / span_s if span_s > 0 else 0.0,
        retransmits=sum(known) if known else None,
        udp=joined_figures([older.udp, newer.udp]),
    )


def joined_figures(
    figures: Iterable[ev.UdpFigures | None], *, side_by_side: bool = False
) -> ev.UdpFigures | None:
    """Datagrams of one span after the other, or of several streams `side_by_side`, together.

    The jitter is that of the last span, or the mean of the streams.
    """
    known = [each for each in figures if each is not None]
    if not known:
        return None
    dropped = [each.host_dropped_packets for each in known]
    mean_s = sum(each.jitter_s for each in known) / len(known)
    return ev.UdpFigures(
        sum(each.packets for each in known),
        sum(each.lost_packets for each in known),
        sum(each.out_of_order_packets for each in known),
        mean_s if side_by_side else known[-1].jitter_s,
        sum(each.missing_packets for each in known),
        sum(each.late_packets for each in known),
        sum(each.duplicate_packets for each in known),
        max(each.reorder_depth_packets for each in known),
        _sum_known(dropped),
    )


def _merge_intervals(older: ev.Interval, newer: ev.Interval) -> ev.Interval:
    if older.omitted != newer.omitted:
        return newer
    before = {row.stream: row for row in older.streams}
    rows = tuple(_merge_rows(before.get(row.stream), row) for row in newer.streams)
    return ev.Interval(newer.t_s, older.start_s, newer.end_s, newer.omitted, rows)


def _merge_rows(older: ev.StreamInterval | None, newer: ev.StreamInterval) -> ev.StreamInterval:
    if older is None:
        return newer
    retransmits = newer.retransmits
    if retransmits is not None:
        retransmits += older.retransmits or 0
    return ev.StreamInterval(
        newer.stream,
        newer.sends,
        older.start_s,
        newer.end_s,
        older.bytes + newer.bytes,
        retransmits,
        newer.cwnd_bytes,
        newer.snd_wnd_bytes,
        newer.rtt_us,
        newer.rttvar_us,
        newer.pmtu_bytes,
        newer.reorder_events,
        joined_figures([older.udp, newer.udp]),
    )


@dataclass
class Stream:
    """One data connection and its samples."""

    opened: ev.StreamOpened
    direction: Direction
    samples: Thinned[ev.StreamSample]
    latest: ev.StreamSample | None = None
    previous: ev.StreamSample | None = None
    interval_bytes: int = 0  # of all finished, not omitted intervals
    interval_retransmits: int | None = None
    interval_udp: ev.UdpFigures | None = None  # of the same intervals


@dataclass
class Flow:
    """All streams of one direction together."""

    direction: Direction
    ticks: Thinned[Tick] = field(default_factory=lambda: Thinned(MAX_TICKS, _merge_ticks))
    min_rtt_us: int | None = None


@dataclass
class Session:
    """All that is known of one run. Change it through `reduce` alone."""

    run: ev.RunStarted | None = None
    role: str = "client"
    client: ClientSpec | None = None
    test: TestSpec | None = None
    phase: Phase = Phase.CONNECTING
    t_s: float = 0.0
    test_s: float = 0.0
    connection: ev.Connected | None = None
    started: ev.TestStarted | None = None
    streams: dict[int, Stream] = field(default_factory=dict)
    flows: dict[Direction, Flow] = field(default_factory=dict)
    intervals: Thinned[ev.Interval] = field(
        default_factory=lambda: Thinned(MAX_INTERVALS, _merge_intervals)
    )
    measured_s: float = 0.0  # the sum of all not omitted intervals
    options: list[ev.OptionRead] = field(default_factory=list)
    host: ev.HostSample | None = None
    hosts: Thinned[ev.HostSample] = field(default_factory=lambda: Thinned(MAX_HOSTS))
    host_facts: dict[str, ev.HostFacts] = field(default_factory=dict)  # by "begin" and "end"
    local: ev.Results | None = None
    remote: ev.Results | None = None
    notes: list[ev.Note] = field(default_factory=list)
    failure: ev.Failed | None = None
    ended: ev.RunEnded | None = None
    _tick: list[ev.StreamSample] = field(default_factory=list)

    @property
    def peer(self) -> str:
        """The far end's name as the user gave it, else its address."""
        if self.client is not None:
            return self.client.host
        return self.connection.remote_host if self.connection else ""

    @property
    def planned_s(self) -> float | None:
        """Seconds the data will run, the omitted part included; None when time does not end it."""
        return self.test.planned_s if self.test else None

    def streams_of(self, direction: Direction) -> list[Stream]:
        return [stream for stream in self.streams.values() if stream.direction is direction]

    def words(self, direction: Direction) -> str:
        """The direction in words: who sends to whom."""
        here_sends = (direction is Direction.FORWARD) == (self.role == "client")
        return f"here → {self.peer}" if here_sends else f"{self.peer} → here"


class Headline(NamedTuple):
    """One direction's result. Goodput is what the receiver got; None: that end did not report."""

    direction: Direction
    goodput_bps: float | None
    sent_bps: float | None
    received_bytes: int | None
    sent_bytes: int | None
    retransmits: int | None
    final: bool  # both ends' results are in
    difference: str  # why sent and received differ, in words; "" when they agree


def headline(session: Session, direction: Direction) -> Headline:
    """Sum up a direction from both ends' results, or from the intervals while they are not in."""
    here_sends = (direction is Direction.FORWARD) == (session.role == "client")
    ids = [stream.opened.stream for stream in session.streams_of(direction)]
    ours = _side_total(session.local, ids) or _interval_total(session, ids)
    theirs = _side_total(session.remote, ids)
    sent, received = (ours, theirs) if here_sends else (theirs, ours)
    retransmits = sent.retransmits if sent else None
    return Headline(
        direction,
        received.bps if received else None,
        sent.bps if sent else None,
        received.bytes if received else None,
        sent.bytes if sent else None,
        retransmits,
        bool(session.local and session.remote),
        _difference(session, sent, received),
    )


class _Total(NamedTuple):
    bytes: int
    seconds: float
    retransmits: int | None

    @property
    def bps(self) -> float:
        return self.bytes * 8 / self.seconds if self.seconds > 0 else 0.0


def _side_total(results: ev.Results | None, ids: list[int]) -> _Total | None:
    rows = [row for row in results.streams if row.stream in ids] if results else []
    if not rows:
        return None
    seconds = max((row.end_s or 0.0) - row.start_s for row in rows)
    known = [row.retransmits for row in rows if row.retransmits is not None]
    return _Total(sum(row.bytes for row in rows), seconds, sum(known) if known else None)


def _interval_total(session: Session, ids: list[int]) -> _Total | None:
    rows = [session.streams[each] for each in ids]
    if not rows or not session.measured_s:
        return None
    known = [row.interval_retransmits for row in rows if row.interval_retransmits is not None]
    return _Total(
        sum(row.interval_bytes for row in rows),
        session.measured_s,
        sum(known) if known else None,
    )


def _difference(session: Session, sent: _Total | None, received: _Total | None) -> str:
    if sent is None or received is None or not sent.bytes:
        return ""
    if session.test is not None and session.test.udp:
        return ""  # what was lost is told in datagrams
    missing = sent.bytes - received.bytes
    if missing < 0.005 * sent.bytes:
        return ""
    return (
        f"{missing / 1e6:.1f} MB were sent but not yet received when the test ended: "
        "they waited in socket buffers and on the path"
    )


class Datagrams(NamedTuple):
    """What became of one direction's datagrams. None: not known, or not known here."""

    sent: int | None
    lost: int | None  # by the receiver's count, ours where we have one and else iperf3's
    total: int | None  # that `lost` is a part of
    jitter_s: float | None
    host_dropped: int | None  # of the lost, by the receiving host; the far one does not tell
    late: int | None = None  # the next three are known of receivers at this end alone
    duplicates: int | None = None
    deepest: int | None = None

    @property
    def lost_share(self) -> float | None:
        """The part that was lost, 0 to 1."""
        return self.lost / self.total if self.lost is not None and self.total else None


def datagrams(session: Session, direction: Direction) -> Datagrams | None:
    """Sum up a direction's datagrams, the omitted part left out; None for TCP."""
    streams = session.streams_of(direction)
    here = joined_figures((each.interval_udp for each in streams), side_by_side=True)
    ids = [each.opened.stream for each in streams]
    here = _result_figures(session.local, ids) or here
    if here is None:
        return None
    far = _told_by_far_end(session.remote, ids)
    if (direction is Direction.FORWARD) == (session.role == "client"):
        if far is None:
            return Datagrams(here.packets, None, None, None, None)
        return Datagrams(here.packets, far.lost_packets, far.packets, far.jitter_s, None)
    return Datagrams(
        far.packets if far else None,
        here.missing_packets,
        here.packets,
        here.jitter_s,
        here.host_dropped_packets,
        here.late_packets,
        here.duplicate_packets,
        here.reorder_depth_packets,
    )


def _result_figures(results: ev.Results | None, ids: list[int]) -> ev.UdpFigures | None:
    rows = [row.udp for row in results.streams if row.stream in ids] if results else []
    return joined_figures(rows, side_by_side=True)


def _told_by_far_end(results: ev.Results | None, ids: list[int]) -> ev.UdpFigures | None:
    """What an iperf3 tells; before 3.14 its counts include the omitted part."""
    rows = [row for row in results.streams if row.stream in ids] if results else []
    return joined_figures(
        (
            ev.UdpFigures(
                row.packets - (row.omitted_packets or 0),
                row.lost_packets - (row.omitted_lost_packets or 0),
                jitter_s=row.jitter_s,
            )
            for row in rows
        ),
        side_by_side=True,
    )


def reduce(session: Session, event: ev.Event) -> Session:
    """Fold one event into the session and return it. Unknown events change only the time."""
    session.t_s = max(session.t_s, event.t_s)
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        handler(session, event)
    return session


def _run_started(session: Session, event: ev.RunStarted) -> None:
    session.run = event
    session.role = event.role
    if event.role == "client":
        try:
            session.client = ClientSpec.from_json(event.spec)
        except EngineError:
            session.client = None


def _connected(session: Session, event: ev.Connected) -> None:
    session.connection = event
    session.phase = Phase.NEGOTIATING


def _agreed(session: Session, event: ev.Agreed) -> None:
    try:
        session.test = TestSpec.from_parameters(event.parameters)
    except EngineError:
        session.test = None


def _stream_opened(session: Session, event: ev.StreamOpened) -> None:
    forward = event.sends == (session.role == "client")
    direction = Direction.FORWARD if forward else Direction.REVERSE
    count = max(1, session.test.parallel if session.test else 1)
    limit = max(32, MAX_SAMPLES // count)
    session.streams[event.stream] = Stream(event, direction, Thinned(limit))
    flow = session.flows.setdefault(direction, Flow(direction))
    if session.connection and session.connection.connect_rtt_us:
        flow.min_rtt_us = session.connection.connect_rtt_us


def _test_started(session: Session, event: ev.TestStarted) -> None:
    session.started = event
    session.phase = Phase.WARMING if session.test and session.test.omit_s else Phase.RUNNING


def _stream_sample(session: Session, event: ev.StreamSample) -> None:
    if session._tick and session._tick[0].tick != event.tick:
        _close_tick(session)
    session._tick.append(event)
    session.test_s = max(session.test_s, event.test_s)
    omit_s = session.test.omit_s if session.test else 0
    if session.phase is Phase.WARMING and event.test_s >= omit_s:
        session.phase = Phase.RUNNING
    stream = session.streams.get(event.stream)
    if stream is not None:
        stream.samples.append(event)


def _close_tick(session: Session) -> None:
    """Make one Tick a direction out of the samples of one tick of the sampler."""
    for direction, flow in session.flows.items():
        pairs = []
        for sample in session._tick:
            stream = session.streams.get(sample.stream)
            if stream is not None and stream.direction is direction:
                pairs.append((stream.latest, sample))
                stream.previous, stream.latest = stream.latest, sample
        if pairs:
            _append_tick(flow, pairs)
    session._tick.clear()


def _append_tick(flow: Flow, pairs: list[tuple[ev.StreamSample | None, ev.StreamSample]]) -> None:
    infos = [sample.tcp for _, sample in pairs if sample.tcp and sample.sends]
    rtts = [info["rtt_us"] for info in infos if info.get("rtt_us")]
    minimums = [info["min_rtt_us"] for info in infos if info.get("min_rtt_us")]
    if minimums:
        flow.min_rtt_us = min([*minimums, *([flow.min_rtt_us] if flow.min_rtt_us else [])])
    test_s = max(sample.test_s for _, sample in pairs)
    spans = [sample.test_s - before.test_s for before, sample in pairs if before]
    span_s = max(spans, default=test_s)
    if span_s <= 0:
        return
    carried = sum(delivered_bytes(sample) - delivered_bytes(before) for before, sample in pairs)
    flow.ticks.append(
        Tick(
            test_s,
            span_s,
            max(0, carried) * 8 / span_s,
            sum(rtts) / len(rtts) if rtts else None,
            _sum_packets(infos, "snd_cwnd_packets"),
            _sum_known(info.get("snd_wnd_bytes") for info in infos),
            _sum_packets(infos, "unacked_packets"),
            _retransmits(pairs),
            joined_figures((_udp_growth(*pair) for pair in pairs), side_by_side=True),
        )
    )


def _udp_growth(before: ev.StreamSample | None, now: ev.StreamSample) -> ev.UdpFigures | None:
    if now.udp is None or before is None or before.udp is None:
        return now.udp
    new, old = now.udp, before.udp
    dropped = new.host_dropped_packets
    if dropped is not None:
        dropped -= old.host_dropped_packets or 0
    return replace(
        new,
        packets=new.packets - old.packets,
        lost_packets=new.lost_packets - old.lost_packets,
        out_of_order_packets=new.out_of_order_packets - old.out_of_order_packets,
        missing_packets=new.missing_packets - old.missing_packets,
        late_packets=new.late_packets - old.late_packets,
        duplicate_packets=new.duplicate_packets - old.duplicate_packets,
        host_dropped_packets=dropped,
    )


def delivered_bytes(sample: ev.StreamSample | None) -> int:
    """Bytes that reached the far kernel (sending) or our application (receiving)."""
    if sample is None:
        return 0
    if sample.sends and sample.tcp and sample.tcp.get("bytes_acked_bytes") is not None:
        return int(sample.tcp["bytes_acked_bytes"])
    return sample.transferred_bytes


def _retransmits(pairs: list[tuple[ev.StreamSample | None, ev.StreamSample]]) -> int | None:
    total = None
    for before, sample in pairs:
        now = (sample.tcp or {}).get("total_retrans_packets") if sample.sends else None
        if now is not None:
            then = (before.tcp or {}).get("total_retrans_packets") or 0 if before else 0
            total = (total or 0) + max(0, now - then)
    return total


def _sum_packets(infos: list[dict[str, Any]], name: str) -> int | None:
    return _sum_known(
        info[name] * info["snd_mss_bytes"]
        for info in infos
        if info.get(name) is not None and info.get("snd_mss_bytes")
    )


def _sum_known(values: Any) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _interval(session: Session, event: ev.Interval) -> None:
    session.intervals.append(event)
    if event.omitted:
        return
    session.measured_s += max(0.0, event.end_s - event.start_s)
    for row in event.streams:
        stream = session.streams.get(row.stream)
        if stream is not None:
            stream.interval_bytes += row.bytes
            if row.retransmits is not None:
                before = stream.interval_retransmits or 0
                stream.interval_retransmits = before + row.retransmits
            if row.udp is not None:
                stream.interval_udp = joined_figures([stream.interval_udp, row.udp])


def _option_read(session: Session, event: ev.OptionRead) -> None:
    if len(session.options) < MAX_NOTES:
        session.options.append(event)


def _host_sample(session: Session, event: ev.HostSample) -> None:
    session.host = event
    session.hosts.append(event)


def _host_facts(session: Session, event: ev.HostFacts) -> None:
    if event.when in ("begin", "end"):
        session.host_facts[event.when] = event


def _results(session: Session, event: ev.Results) -> None:
    session.phase = Phase.FINISHING
    if event.side == "local":
        session.local = event
    else:
        session.remote = event


def _note(session: Session, event: ev.Note) -> None:
    if len(session.notes) < MAX_NOTES:
        session.notes.append(event)


def _failed(session: Session, event: ev.Failed) -> None:
    session.failure = session.failure or event


def _run_ended(session: Session, event: ev.RunEnded) -> None:
    if session._tick:
        _close_tick(session)
    session.ended = event
    session.phase = Phase.ENDED


_HANDLERS: dict[type[ev.Event], Callable[[Session, Any], None]] = {
    ev.RunStarted: _run_started,
    ev.Connected: _connected,
    ev.Agreed: _agreed,
    ev.StreamOpened: _stream_opened,
    ev.TestStarted: _test_started,
    ev.StreamSample: _stream_sample,
    ev.Interval: _interval,
    ev.OptionRead: _option_read,
    ev.HostSample: _host_sample,
    ev.HostFacts: _host_facts,
    ev.Results: _results,
    ev.Note: _note,
    ev.Failed: _failed,
    ev.RunEnded: _run_ended,
}
