"""The four instruments: throughput, RTT under load, retransmits, congestion window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Direction, Session, Tick, headline

from .chart import axis_end_s
from .digits import big, big_width, drawable
from .numbers import Units, kilobytes, share, units_of
from .readings import (
    FAR_SIDE,
    columns,
    cwnd_now_bytes,
    directions,
    min_rtt_us,
    rate_now_bps,
    retransmits,
    retransmitted_share,
    rtt_now_us,
    sending,
    sends_here,
    ticks,
)
from .rows import UNICODE, Glyphs, Row, ends, fill, fit, joined
from .udp_cards import Instrument, instruments
from .verdicts import ROLE_OF

COMPACT_HEIGHT = 3
BIG_HEIGHT = 5

_NOTE_WIDTH = 20
"""Narrower cards have no note, so that all of them look alike."""

_CONCERNS = {
    "rtt": ("bufferbloat", "queue", "rtt", "jitter"),
    "retransmits": ("loss", "lossy", "retrans", "policer", "reorder"),
    "lost": ("loss", "host-limited", "udp-host-drops"),
    "jitter": ("jitter",),
    "late": ("reorder",),
    "cwnd": ("window", "sndbuf", "buffer", "cwnd"),
}
_ORDER = [Level.PENDING, Level.FINE, Level.LOOK, Level.FAULT]


class Card(NamedTuple):
    """One instrument. `edge` is the role of its left edge: that of the verdict it concerns."""

    name: str
    title: str
    value: str
    unit: str
    note: str
    edge: str
    direction: Direction | None
    reading: Callable[[Tick], float | None]
    counts: bool = False  # the history counts events, of which none is the normal case


def cards(
    session: Session, verdicts: Sequence[Verdict] = (), units: Units | None = None
) -> list[Card]:
    """The instruments of a run: both directions' throughput in place of cwnd with --bidir."""
    units = units or units_of(session)
    rates = [_rate_card(session, way, verdicts, units) for way in directions(session)]
    if session.test is not None and session.test.udp:
        return [*rates, *(_udp_card(each, verdicts) for each in instruments(session))][:4]
    senders = [
        _rtt_card(session, verdicts, units),
        _retransmits_card(session, verdicts),
        _cwnd_card(session, verdicts),
    ]
    return [*rates, *senders][:4]


def _udp_card(each: Instrument, verdicts: Sequence[Verdict]) -> Card:
    edge = _edge(each.name, verdicts)
    return Card(
        each.name,
        each.title,
        each.value,
        each.unit,
        each.note,
        edge,
        each.direction,
        each.reading,
        each.counts,
    )


def card_rows(
    card: Card, session: Session, width: int, height: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """One card, exactly `width` by `height` cells; from 5 rows up with large digits."""
    if width < 1 or height < 1:
        return []
    inner = width - 3
    tall = height >= BIG_HEIGHT and drawable(card.value)
    tall = tall and big_width(card.value) + 1 + len(card.unit) <= inner
    body = [_head(card, inner, glyphs)]
    body += _tall(card, inner, glyphs) if tall else _flat(card, inner, height, glyphs)
    body = fill(body[: max(1, height - 1)], inner, height - 1) if height > 1 else body[:1]
    if height > 1:
        body.append(_spark(card, session, inner, glyphs))
    edge = (f"{glyphs.edge} ", card.edge)
    return [fit([edge, *row, (" ", "text")], width, glyphs) for row in body[:height]]


def one_line(card: Card, width: int, glyphs: Glyphs = UNICODE) -> Row:
    """A card in one row, for a screen with room for no more."""
    value = card.value if card.value else "-"
    return fit(
        [
            (f" {card.title}  ", "label"),
            (value, "strong" if card.value != FAR_SIDE else "muted"),
            (f" {card.unit}", "muted"),
        ],
        width,
        glyphs,
    )


def spark_row(
    levels: Sequence[float | None], top: float, glyphs: Glyphs, counts: bool = False
) -> Row:
    """A history one row high, from zero up to `top`."""
    row: Row = []
    for level in levels:
        if level is None:
            row.append((" ", "text"))
        elif counts and level <= 0:
            row.append((glyphs.rising[1], "track"))
        else:
            eighths = min(8, max(1, round(8 * level / top))) if top > 0 else 1
            shape = glyphs.full if eighths == 8 else glyphs.rising[eighths]
            row.append((shape, "look" if counts else "spark"))
    return joined(row)


def _spark(card: Card, session: Session, width: int, glyphs: Glyphs) -> Row:
    series = ticks(session, card.direction)
    levels = columns(series, width, 0.0, axis_end_s(session), card.reading)
    top = max((level for level in levels if level is not None), default=0.0)
    return fit(spark_row(levels, top * (1.0 if card.counts else 1.08), glyphs, card.counts), width)


def _head(card: Card, width: int, glyphs: Glyphs) -> Row:
    note = glyphs.text(card.note)
    title = glyphs.text(card.title)
    if width < _NOTE_WIDTH or len(title) + 2 + len(note) > width:
        note = ""
    return ends([(title, "label")], [(note, "muted")] if note else [], width, glyphs)


def _flat(card: Card, width: int, height: int, glyphs: Glyphs) -> list[Row]:
    known = card.value not in (FAR_SIDE, "")
    row: Row = [(card.value, "strong" if known else "muted")]
    if known and len(card.value) + 1 + len(card.unit) <= width:
        row.append((f" {card.unit}", "muted"))
    rows = [fit(row, width, glyphs)]
    return [fit([], width, glyphs), *rows] if height >= BIG_HEIGHT else rows


def _tall(card: Card, width: int, glyphs: Glyphs) -> list[Row]:
    lines = big(card.value, glyphs)
    rows: list[Row] = [[(line, "strong")] for line in lines]
    rows[-1].append((f" {card.unit}", "muted"))
    return [fit(row, width, glyphs) for row in rows]


def _rate_card(session: Session, way: Direction, verdicts: Sequence[Verdict], units: Units) -> Card:
    result = headline(session, way)
    bps = result.goodput_bps if session.ended else rate_now_bps(session, way)
    both = len(directions(session)) > 1
    title = "THROUGHPUT"
    if session.test is not None and session.test.udp and sends_here(session, way):
        title = "ARRIVED THERE" if result.goodput_bps is not None else "OFFERED"
    elif both:
        title = "SENT THERE" if sends_here(session, way) else "RECEIVED HERE"
    note = ""
    if session.ended and bps is not None:
        note = "average"
    elif result.goodput_bps is not None:
        note = f"avg {units.rate.number(result.goodput_bps)}"
    elif session.measured_s and result.sent_bps is not None:
        note = f"avg {units.rate.number(result.sent_bps)}"
    value = "" if bps is None else units.rate.number(bps)
    unit = units.rate.name
    if session.ended and bps is None and result.sent_bps is not None:
        value, note = units.rate.number(result.sent_bps), "sent"
    return Card(
        "throughput",
        title,
        value,
        unit,
        note,
        _first_edge(verdicts),
        way,
        lambda tick: tick.goodput_bps,
    )


def _rtt_card(session: Session, verdicts: Sequence[Verdict], units: Units) -> Card:
    way = sending(session)
    idle_us = min_rtt_us(session, way)
    now_us = rtt_now_us(session, way)
    value = units.rtt(now_us) if now_us is not None else _unknown(session, way)
    note = f"idle {units.rtt(idle_us)}" if idle_us else ""
    return Card(
        "rtt",
        "LOADED RTT",
        value,
        "ms",
        note,
        _edge("rtt", verdicts),
        way,
        lambda tick: tick.rtt_us,
    )


def _retransmits_card(session: Session, verdicts: Sequence[Verdict]) -> Card:
    way = sending(session)
    count = retransmits(session, way)
    note = ""
    part = retransmitted_share(session, way)
    if part is not None:
        note = share(part, 1.0)
    if count is None and way is None and session.remote is not None:
        told = [headline(session, each).retransmits for each in directions(session)]
        count = next((each for each in told if each is not None), None)
        note = "as told" if count is not None else note
    value = str(count) if count is not None else _unknown(session, way)
    return Card(
        "retransmits",
        "RETRANSMITS",
        value,
        "total",
        note,
        _edge("retransmits", verdicts),
        way,
        lambda tick: tick.retransmits,
        counts=True,
    )


def _cwnd_card(session: Session, verdicts: Sequence[Verdict]) -> Card:
    way = sending(session)
    now_bytes = cwnd_now_bytes(session, way)
    value = kilobytes(now_bytes) if now_bytes is not None else _unknown(session, way)
    note = ""
    rate_bps = rate_now_bps(session, way) if way else None
    idle_us = min_rtt_us(session, way)
    if rate_bps and idle_us and now_bytes is not None:
        bdp_bytes = rate_bps / 8 * idle_us / 1e6
        note = f"BDP {kilobytes(bdp_bytes)}" if bdp_bytes >= 1000 else ""
    return Card(
        "cwnd",
        "CWND",
        value,
        "KB",
        note,
        _edge("cwnd", verdicts),
        way,
        lambda tick: tick.cwnd_bytes,
    )


def _unknown(session: Session, way: Direction | None) -> str:
    """The words for a number that is not there: the other end's, or not there yet."""
    return FAR_SIDE if way is None and session.streams else ""


def _first_edge(verdicts: Sequence[Verdict]) -> str:
    return ROLE_OF[verdicts[0].level] if verdicts else "pending"


def _edge(name: str, verdicts: Sequence[Verdict]) -> str:
    levels = [
        verdict.level
        for verdict in verdicts
        if any(word in verdict.id.lower() for word in _CONCERNS[name])
    ]
    return ROLE_OF[max(levels, key=_ORDER.index)] if levels else "pending"
