"""The table of report intervals, newest first: per stream with their sum, directions in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tuiperf.events import Interval, StreamInterval, UdpFigures
from tuiperf.session import Direction, Session, joined_figures

from .numbers import Units, jitter_ms, kilobytes, nice_ceiling, share, units_of
from .readings import FAR_SIDE, directions, sends_here
from .rows import UNICODE, Glyphs, Row, Run, cell_width, fill, fit, pad, pad_left, to_text

_FAR_TITLE = "Retr RTT Cwnd"
_FAR_UDP_TITLE = "Lost Jitter"
_MAX_WHO = 22


class Line(NamedTuple):
    """One row of the table: a stream, or all streams of one direction."""

    interval: Interval
    direction: Direction
    stream: int | None  # None: all of this direction
    rate_bps: float
    retransmits: int | None
    rtt_us: float | None
    cwnd_bytes: int | None
    first: bool  # the interval's first row, which carries its time
    udp: UdpFigures | None = None


@dataclass(frozen=True)
class _Column:
    name: str
    title: str
    width: int
    left: bool = False


def interval_rows(
    session: Session,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    units: Units | None = None,
    offset: int = 0,
    each_stream: bool = False,
) -> list[Row]:
    """The table with its heading, exactly `width` by `height` cells.

    `offset` rows are scrolled away at the top. Streams are listed under the newest interval, or
    under every one with `each_stream`.
    """
    if width < 1 or height < 1:
        return []
    units = units or units_of(session)
    room = height - 1
    lines = list(islice(_lines(session, each_stream, room), offset + room))
    shown = lines[clamp_offset(offset, len(lines), height) :][:room]
    top_bps = max((line.rate_bps for line in shown if line.stream is None), default=0.0)
    layout = _layout(session, width, units, glyphs)._replace(top_bps=top_bps)
    rows = [_heading(layout), *(_row(layout, line) for line in shown)]
    return fill(rows, width, height)


def clamp_offset(offset: int, lines: int, height: int) -> int:
    """The nearest offset that still fills the table."""
    return max(0, min(offset, lines - (height - 1)))


def table_length(session: Session, each_stream: bool, room: int) -> int:
    """How many rows the whole table has, where `room` of them can be seen."""
    return sum(1 for _ in _lines(session, each_stream, room))


def _lines(session: Session, each_stream: bool, room: int) -> Iterator[Line]:
    """All rows of the table, newest interval first."""
    newest = True
    for interval in reversed(list(session.intervals)):
        listed = each_stream or (newest and len(interval.streams) + 1 <= room - 3)
        yield from _interval_lines(session, interval, listed)
        newest = False


def plain_heading(session: Session, glyphs: Glyphs = UNICODE, units: Units | None = None) -> str:
    """The heading of the plain table, for a page that prints intervals as they come."""
    units = units or units_of(session)
    layout = _layout(session, _PLAIN_WIDTH, units, glyphs, bar=False)
    return to_text(_heading(layout))


def plain_lines(
    session: Session, interval: Interval, glyphs: Glyphs = UNICODE, units: Units | None = None
) -> list[str]:
    """One interval as lines of the plain table: every stream, then the sum of each direction.

    Without bars: what is printed cannot be drawn again when a later interval needs another scale.
    """
    units = units or units_of(session)
    layout = _layout(session, _PLAIN_WIDTH, units, glyphs, bar=False)
    lines = _interval_lines(session, interval, True)
    sums = [line for line in lines if line.stream is None]
    streams = [line for line in lines if line.stream is not None]
    return [to_text(_row(layout, line._replace(first=True))) for line in [*streams, *sums]]


_PLAIN_WIDTH = 79


def _interval_lines(session: Session, interval: Interval, listed: bool) -> list[Line]:
    lines: list[Line] = []
    for direction in directions(session):
        here = sends_here(session, direction)
        rows = [row for row in interval.streams if row.sends == here]
        if not rows:
            continue
        lines.append(_sum(interval, direction, rows, first=not lines))
        if listed and len(rows) > 1:
            lines += [_stream(interval, direction, row) for row in rows]
    return lines


def _span_s(interval: Interval) -> float:
    return max(1e-9, interval.end_s - interval.start_s)


def _sum(interval: Interval, direction: Direction, rows: list[StreamInterval], first: bool) -> Line:
    rtts = [row.rtt_us for row in rows if row.rtt_us is not None]
    return Line(
        interval,
        direction,
        None,
        sum(row.bytes for row in rows) * 8 / _span_s(interval),
        _total([row.retransmits for row in rows]),
        sum(rtts) / len(rtts) if rtts else None,
        _total([row.cwnd_bytes for row in rows]),
        first,
        joined_figures((row.udp for row in rows), side_by_side=True),
    )


def _stream(interval: Interval, direction: Direction, row: StreamInterval) -> Line:
    rate_bps = row.bytes * 8 / _span_s(interval)
    return Line(
        interval,
        direction,
        row.stream,
        rate_bps,
        row.retransmits,
        row.rtt_us,
        row.cwnd_bytes,
        False,
        row.udp,
    )


def _total(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class _Layout(NamedTuple):
    """All that one page's rows have in common."""

    session: Session
    units: Units
    glyphs: Glyphs
    width: int
    columns: list[_Column]
    gap: int  # blanks between columns
    top_bps: float = 0.0  # the highest rate that a bar must show


def _layout(
    session: Session, width: int, units: Units, glyphs: Glyphs, *, bar: bool = True
) -> _Layout:
    """Choose the columns that fit; a bar takes the room that is left, if it is worth it."""
    wanted = _wanted(session, units, glyphs)
    gap = 2 if _needed(wanted, 2) <= width else 1
    columns = wanted[:1]
    for column in wanted[1:]:
        if _needed([*columns, column], gap) <= width or column.name == "rate":
            columns.append(column)
    spare = width - _needed(columns, gap) - gap
    if bar and spare >= 8:
        at = 1 + [column.name for column in columns].index("rate")
        columns.insert(at, _Column("bar", "", min(spare, 28), left=True))
    return _Layout(session, units, glyphs, width, columns, gap)


def _wanted(session: Session, units: Units, glyphs: Glyphs) -> list[_Column]:
    ways = directions(session)
    columns = [_Column("time", "Seconds", _time_width(session))]
    who = [session.words(way) for way in ways] if len(ways) > 1 else []
    who += ["SUM"] if any(len(session.streams_of(way)) > 1 for way in ways) else []
    if who:
        longest = max(cell_width(glyphs.text(each)) for each in who)
        title = "Direction" if len(ways) > 1 else "Stream"
        columns.append(_Column("who", title, min(_MAX_WHO, max(longest, len(title))), left=True))
    columns.append(_Column("rate", units.rate.name, 8))
    if session.test is not None and session.test.udp:
        extra = _wanted_of_udp(session)
    elif any(sends_here(session, way) for way in ways):
        extra = [
            _Column("retr", "Retr", 5),
            _Column("rtt", "RTT ms", 7),
            _Column("cwnd", "Cwnd KB", 7),
        ]
    else:
        extra = [_Column("far", _FAR_TITLE, len(_FAR_TITLE))]
    if session.test is not None and session.test.omit_s:
        extra.append(_Column("note", "", 7, left=True))
    return [*columns, *extra]


def _wanted_of_udp(session: Session) -> list[_Column]:
    """Losses and jitter are known where the datagrams arrive."""
    sent = _Column("packets", "Datagrams", 9)
    if all(sends_here(session, way) for way in directions(session)):
        return [sent, _Column("far", _FAR_UDP_TITLE, len(_FAR_UDP_TITLE))]
    return [
        _Column("share", "Lost %", 7),
        _Column("jitter", "Jitter ms", 9),
        _Column("lost", "Lost", 7),
        sent,
    ]


def _needed(columns: list[_Column], gap: int) -> int:
    return 1 + sum(column.width for column in columns) + gap * (len(columns) - 1)


def _time_width(session: Session) -> int:
    interval_s = session.client.interval_s if session.client else 1.0
    planned_s = session.planned_s or 3600.0
    digits = len(f"{planned_s:.0f}") + (0 if float(interval_s).is_integer() else 2)
    return max(7, 2 * digits + 1)


def _heading(layout: _Layout) -> Row:
    cells = [
        pad(column.title, column.width) if column.left else pad_left(column.title, column.width)
        for column in layout.columns
    ]
    return fit([(" " + (" " * layout.gap).join(cells), "label")], layout.width, layout.glyphs)


_SENDERS = ("retr", "rtt", "cwnd")  # the columns that only a sender can fill
_RECEIVERS = ("share", "jitter", "lost")


def _row(layout: _Layout, line: Line) -> Row:
    glyphs = layout.glyphs
    between = (" " * layout.gap, "text")
    cells = _cells(layout, line)
    row: Row = [(" ", "text")]
    names = _RECEIVERS if sends_here(layout.session, line.direction) else _SENDERS
    unseen = [column for column in layout.columns if column.name in names]
    for index, column in enumerate(layout.columns):
        if column in unseen:
            if column is unseen[0]:
                span = sum(each.width for each in unseen) + layout.gap * (len(unseen) - 1)
                row += [between, (pad_left(FAR_SIDE, span, glyphs.ellipsis), "muted")]
            continue
        if index:
            row.append(between)
        if column.name == "bar":
            row += _bar(line, column.width, layout.top_bps, glyphs)
            continue
        text, role = cells.get(column.name, ("", "text"))
        shaped = pad if column.left else pad_left
        row.append((shaped(text, column.width, glyphs.ellipsis), role))
    return fit(row, layout.width, glyphs)


def _cells(layout: _Layout, line: Line) -> dict[str, Run]:
    session, units, glyphs = layout.session, layout.units, layout.glyphs
    plain = "text" if line.stream is None else "muted"
    retransmits = (glyphs.none, "muted")
    if line.retransmits:
        retransmits = (str(line.retransmits), "look")
    elif line.retransmits is None:
        retransmits = ("-", "muted")
    return {
        "time": (_time(session, line.interval, glyphs) if line.first else "", "muted"),
        "who": (_who(session, line, glyphs), plain),
        "rate": (units.rate.number(line.rate_bps), plain),
        "retr": retransmits,
        "rtt": (units.rtt(line.rtt_us), plain),
        "cwnd": (kilobytes(line.cwnd_bytes), plain),
        "far": (FAR_SIDE, "muted"),
        **_udp_cells(line.udp, plain),
        "note": ("omitted", "muted") if line.interval.omitted else ("", "muted"),
    }


def _udp_cells(udp: UdpFigures | None, plain: str) -> dict[str, Run]:
    if udp is None:
        return {}
    lost, packets = udp.lost_packets, udp.packets
    role = "look" if lost > 0 else "muted"
    return {
        "packets": (str(packets), plain),
        "lost": (str(lost), role),
        "share": (share(max(0, lost), packets).removesuffix(" %"), role),
        "jitter": (jitter_ms(udp.jitter_s), plain),
    }


def _who(session: Session, line: Line, glyphs: Glyphs) -> str:
    if line.stream is not None:
        return f"  {line.stream}"
    if len(directions(session)) > 1:
        return glyphs.text(session.words(line.direction))
    return "SUM"


def _time(session: Session, interval: Interval, glyphs: Glyphs) -> str:
    asked_s = session.client.interval_s if session.client else 1.0
    complete = interval.end_s - interval.start_s > 0.85 * asked_s
    whole = float(asked_s).is_integer() and complete
    decimals = 0 if whole else 1
    return f"{interval.start_s:.{decimals}f}{glyphs.dash}{interval.end_s:.{decimals}f}"


def _bar(line: Line, width: int, top_bps: float, glyphs: Glyphs) -> Row:
    if line.stream is not None or line.interval.omitted:
        return [(" " * width, "text")]
    filled = round(width * max(0.0, min(1.0, line.rate_bps / nice_ceiling(top_bps))))
    return [(glyphs.line * filled, "data"), (glyphs.thin * (width - filled), "track")]
