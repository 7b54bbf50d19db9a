"""What the instruments read: the few derived values that cards, charts and tables share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tuiperf.session import Direction, Session, Tick

FAR_SIDE = "far side"
"""Shown where only the other end knows a number."""

RECENT_S = 1.0


def directions(session: Session) -> list[Direction]:
    """The directions data flows in, forward first; the planned ones before a stream is open."""
    if session.flows:
        return [each for each in Direction if each in session.flows]
    test = session.test or (session.client.test if session.client else None)
    if test is None:
        return [Direction.FORWARD]
    if test.bidir:
        return list(Direction)
    return [Direction.REVERSE if test.reverse else Direction.FORWARD]


def sends_here(session: Session, direction: Direction) -> bool:
    return (direction is Direction.FORWARD) == (session.role == "client")


def sending(session: Session) -> Direction | None:
    """The direction in which this end sends, the only one whose sender it can look into."""
    return next((each for each in directions(session) if sends_here(session, each)), None)


def ticks(session: Session, direction: Direction | None) -> list[Tick]:
    flow = session.flows.get(direction) if direction else None
    return list(flow.ticks) if flow else []


def rate_now_bps(session: Session, direction: Direction) -> float | None:
    """Goodput over the last second; None before the first sample."""
    recent = _recent(ticks(session, direction))
    span_s = sum(tick.span_s for tick in recent)
    if span_s <= 0:
        return None
    return sum(tick.goodput_bps * tick.span_s for tick in recent) / span_s


def rtt_now_us(session: Session, direction: Direction | None) -> float | None:
    """Mean of the smoothed RTT over the last second; None when this end does not know it."""
    return _mean(tick.rtt_us for tick in _recent(ticks(session, direction)))


def cwnd_now_bytes(session: Session, direction: Direction | None) -> int | None:
    """The newest congestion windows, all streams together."""
    flow = session.flows.get(direction) if direction else None
    last = flow.ticks.last if flow else None
    return last.cwnd_bytes if last else None


def min_rtt_us(session: Session, direction: Direction | None) -> int | None:
    """The lowest RTT seen: by the kernel since the connection began, or its handshake."""
    flow = session.flows.get(direction) if direction else None
    if flow and flow.min_rtt_us:
        return flow.min_rtt_us
    return session.connection.connect_rtt_us if session.connection else None


def retransmits(session: Session, direction: Direction | None) -> int | None:
    """Segments sent again so far, from the newest samples; None when this end does not know."""
    if direction is None:
        return None
    known = [
        stream.interval_retransmits
        for stream in session.streams_of(direction)
        if stream.interval_retransmits is not None
    ]
    counted = [tick.retransmits for tick in ticks(session, direction)]
    live = [count for count in counted if count is not None]
    if not known and not live:
        return None
    return max(sum(known), sum(live))


def retransmitted_share(session: Session, direction: Direction | None) -> float | None:
    """The part of all sent bytes that was sent again (bytes_retrans over bytes_sent).

    None when the other end sends: only the sender's sockets count it.
    """
    sent = again = 0
    if direction is None or not sends_here(session, direction):
        return None
    for stream in session.streams_of(direction):
        tcp = (stream.latest.tcp if stream.latest else None) or {}
        if tcp.get("bytes_sent_bytes") and tcp.get("bytes_retrans_bytes") is not None:
            sent += tcp["bytes_sent_bytes"]
            again += tcp["bytes_retrans_bytes"]
    return again / sent if sent else None


def columns(
    series: Iterable[Tick],
    count: int,
    start_s: float,
    end_s: float,
    value: Callable[[Tick], float | None],
) -> list[float | None]:
    """Spread a series over `count` equal columns of time; each is the mean of what falls in it.

    A tick that spans several columns fills all of them. None: nothing known there.
    """
    if count < 1 or end_s <= start_s:
        return [None] * max(0, count)
    width_s = (end_s - start_s) / count
    sums = [0.0] * count
    weights = [0.0] * count
    for tick in series:
        number = value(tick)
        if number is None:
            continue
        begin = (tick.test_s - tick.span_s - start_s) / width_s
        finish = (tick.test_s - start_s) / width_s
        for index in range(max(0, int(begin)), min(count, int(finish) + 1)):
            overlap = min(finish, index + 1.0) - max(begin, float(index))
            if overlap > 1e-9:
                sums[index] += number * overlap
                weights[index] += overlap
    return [total / weight if weight else None for total, weight in zip(sums, weights, strict=True)]


def _recent(series: list[Tick]) -> list[Tick]:
    if not series:
        return []
    since_s = series[-1].test_s - RECENT_S
    return [tick for tick in series if tick.test_s > since_s + 1e-6]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
