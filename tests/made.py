"""Made runs: event lists as an engine would send them, for tests that need no network."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.session import Session, reduce

MSS = 1448
TICKS_PER_S = 10


@dataclass(frozen=True)
class Path:
    """A path to pretend: its rate, its idle RTT, its queue, and when it loses."""

    rate_bps: float = 941e6
    rtt_us: int = 11_800
    queue_us: int = 36_000
    loss_at_s: tuple[float, ...] = (8.0, 19.2)
    window_bytes: int = 0  # 0: no limit


def spec(host: str = "lab-b", **test: object) -> ClientSpec:
    return ClientSpec(host=host, test=TestSpec(**test))  # type: ignore[arg-type]


def session_of(events: Iterable[ev.Event]) -> Session:
    session = Session()
    for event in events:
        reduce(session, event)
    return session


def rate_at(path: Path, at_s: float) -> float:
    """A rate like that of a real flow: slow start, losses with a slow recovery, a little noise."""
    level = min(1.0, 0.06 * math.exp(min(at_s, 10.0) * 3.2))
    for lost_s in path.loss_at_s:
        if 0 <= at_s - lost_s < 1.5:
            level *= 0.55 + 0.3 * (at_s - lost_s)
    noise = 0.006 * math.sin(at_s * 37) + 0.004 * math.sin(at_s * 91)
    limit_bps = path.rate_bps
    if path.window_bytes:
        limit_bps = min(limit_bps, path.window_bytes * 8e6 / path.rtt_us)
    return limit_bps * level * (1 + noise)


def queue_at(path: Path, at_s: float) -> float:
    if path.window_bytes:
        return 300.0
    since_s = min((at_s - lost_s for lost_s in path.loss_at_s if lost_s <= at_s), default=at_s)
    return path.queue_us * min(1.0, since_s / 5)


def opening(client: ClientSpec, path: Path, wall_time_s: float = 1.7e9) -> list[ev.Event]:
    """Everything before the first data."""
    test = client.test
    remote = "10.20.0.7"
    events: list[ev.Event] = [
        ev.RunStarted(0.0, "made-1", "client", "tuiperf", "Linux", wall_time_s, client.to_json()),
        ev.Connected(0.012, "10.9.0.4", 40112, remote, client.port, "c" * 36, path.rtt_us, MSS),
        ev.Agreed(0.04, test.to_parameters("3.18")),
    ]
    for number, (stream, sends) in enumerate(stream_ids(test)):
        events.append(
            ev.StreamOpened(
                0.06, stream, 5 + 2 * number, sends, "10.9.0.4", 40114 + number, remote, client.port
            )
        )
    events.append(ev.TestStarted(0.07, wall_time_s, test.window_bytes, 16384, 131072, MSS))
    return events


def stream_ids(test: TestSpec) -> list[tuple[int, bool]]:
    count = test.parallel * (2 if test.bidir else 1)
    ids = [1, *range(3, count + 2)]
    if test.bidir:
        return [(each, index < test.parallel) for index, each in enumerate(ids)]
    return [(each, not test.reverse) for each in ids]


class Counters:
    """What one stream has counted so far."""

    def __init__(self) -> None:
        self.sent = 0.0
        self.retransmits = 0


def data(
    client: ClientSpec, path: Path, seconds: float | None = None, start_t_s: float = 0.07
) -> list[ev.Event]:
    """Samples, host samples and intervals of the test's data."""
    test = client.test
    length_s = seconds if seconds is not None else float(test.omit_s + (test.time_s or 10))
    streams = stream_ids(test)
    each = {True: sum(s for _, s in streams), False: sum(not s for _, s in streams)}
    counters = {stream: Counters() for stream, _ in streams}
    marks = {stream: (0.0, 0) for stream, _ in streams}
    events: list[ev.Event] = []
    interval_s = client.interval_s
    begun_s = 0.0
    for tick in range(1, round(length_s * TICKS_PER_S) + 1):
        at_s = tick / TICKS_PER_S
        for stream, sends in streams:
            part = replace(path, rate_bps=path.rate_bps / each[sends])
            counter = counters[stream]
            counter.sent += rate_at(part, at_s) / 8 / TICKS_PER_S
            if any(0 <= at_s - lost_s < 0.1 for lost_s in path.loss_at_s):
                counter.retransmits += 16
            events.append(
                _sample(
                    start_t_s=start_t_s,
                    tick=tick,
                    at_s=at_s,
                    stream=stream,
                    sends=sends,
                    path=part,
                    counter=counter,
                )
            )
        if tick % TICKS_PER_S == 0:
            events.append(ev.HostSample(start_t_s + at_s, at_s, 0.34, 0.3, 0.01))
        omitting = begun_s < test.omit_s
        end_s = min(begun_s + interval_s, test.omit_s) if omitting else begun_s + interval_s
        last = tick == round(length_s * TICKS_PER_S)
        if interval_s and (at_s >= end_s - 1e-9 or last):
            rows = []
            for stream, sends in streams:
                row, marks[stream] = _interval_row(
                    stream=stream,
                    sends=sends,
                    begun_s=begun_s,
                    at_s=at_s,
                    path=path,
                    counter=counters[stream],
                    mark=marks[stream],
                )
                rows.append(row)
            shift_s = 0.0 if omitting else float(test.omit_s)
            rows = [
                replace(row, start_s=row.start_s - shift_s, end_s=row.end_s - shift_s)
                for row in rows
            ]
            events.append(
                ev.Interval(
                    start_t_s + at_s, begun_s - shift_s, at_s - shift_s, omitting, tuple(rows)
                )
            )
            begun_s = at_s
    return events


def _tcp(at_s: float, path: Path, counter: Counters) -> dict[str, int]:
    rtt_us = int(path.rtt_us + queue_at(path, at_s))
    in_flight = rate_at(path, at_s) / 8 * rtt_us / 1e6
    cwnd_packets = max(10, int(in_flight * 1.05 / MSS))
    return {
        "rtt_us": rtt_us,
        "rttvar_us": 900,
        "min_rtt_us": path.rtt_us,
        "snd_mss_bytes": MSS,
        "pmtu_bytes": 1500,
        "snd_cwnd_packets": cwnd_packets,
        "snd_wnd_bytes": path.window_bytes or 6_291_456,
        "unacked_packets": max(1, int(in_flight / MSS)),
        "total_retrans_packets": counter.retransmits,
        "bytes_acked_bytes": int(counter.sent),
        "bytes_sent_bytes": int(counter.sent) + counter.retransmits * MSS,
        "bytes_retrans_bytes": counter.retransmits * MSS,
        "busy_time_us": int(at_s * 1e6),
        "rwnd_limited_us": int(at_s * 0.9e6) if path.window_bytes else 0,
        "sndbuf_limited_us": 0,
        "notsent_bytes": 200_000,
    }


def _sample(
    *,
    start_t_s: float,
    tick: int,
    at_s: float,
    stream: int,
    sends: bool,
    path: Path,
    counter: Counters,
) -> ev.StreamSample:
    tcp = _tcp(at_s, path, counter) if sends else {"rcv_rtt_us": path.rtt_us}
    waiting = 400_000 if sends else 0
    return ev.StreamSample(
        start_t_s + at_s, tick, at_s, stream, sends, int(counter.sent) + waiting, None, dict(tcp)
    )


def _interval_row(
    *,
    stream: int,
    sends: bool,
    begun_s: float,
    at_s: float,
    path: Path,
    counter: Counters,
    mark: tuple[float, int],
) -> tuple[ev.StreamInterval, tuple[float, int]]:
    tcp = _tcp(at_s, path, counter)
    known: dict[str, Any] = (
        {
            "retransmits": counter.retransmits - mark[1],
            "cwnd_bytes": tcp["snd_cwnd_packets"] * MSS,
            "snd_wnd_bytes": tcp["snd_wnd_bytes"],
            "rtt_us": tcp["rtt_us"],
            "rttvar_us": tcp["rttvar_us"],
            "pmtu_bytes": 1500,
        }
        if sends
        else {}
    )
    row = ev.StreamInterval(stream, sends, begun_s, at_s, int(counter.sent - mark[0]), **known)
    return row, (counter.sent, counter.retransmits)


def closing(
    client: ClientSpec, events: list[ev.Event], outcome: str = "completed"
) -> list[ev.Event]:
    """Both ends' results and the end, for the data in `events`."""
    rows = [event for event in events if isinstance(event, ev.Interval) and not event.omitted]
    t_s = events[-1].t_s if events else 0.1
    seconds = sum(row.end_s - row.start_s for row in rows)
    carried: dict[int, int] = {}
    again: dict[int, int] = {}
    for interval in rows:
        for row in interval.streams:
            carried[row.stream] = carried.get(row.stream, 0) + row.bytes
            again[row.stream] = again.get(row.stream, 0) + (row.retransmits or 0)
    closing_events: list[ev.Event] = []
    for side in ("local", "remote"):
        results = []
        for stream, sends in stream_ids(client.test):
            sender = sends == (side == "local")
            extra = 400_000 if sender else 0
            results.append(
                ev.StreamResult(
                    stream,
                    carried.get(stream, 0) + extra,
                    (again.get(stream, 0) if sends else 7) if sender else None,
                    0.0,
                    seconds,
                )
            )
        t_s += 0.02
        closing_events.append(ev.Results(t_s, side, "cubic", 34.0, 4.0, 30.0, 1, tuple(results)))
    signal = "Interrupt(2)" if outcome == "interrupted" else None
    closing_events.append(ev.RunEnded(t_s + 0.01, outcome, signal))
    return closing_events


def run(
    client: ClientSpec | None = None, path: Path | None = None, seconds: float | None = None
) -> list[ev.Event]:
    """A whole run that went well."""
    client = client or spec(time_s=30)
    path = path or Path()
    middle = data(client, path, seconds)
    return [*opening(client, path), *middle, *closing(client, middle)]


def part(
    client: ClientSpec | None = None, path: Path | None = None, seconds: float = 23.4
) -> list[ev.Event]:
    """A run still going on after `seconds`: an interval begun there is not yet reported."""
    client = client or spec(time_s=30)
    path = path or Path()
    whole = data(client, path)
    return [*opening(client, path), *[event for event in whole if event.t_s <= seconds + 0.071]]
