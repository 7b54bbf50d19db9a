"""What the run's cards, columns and verdict mean, a page each: the texts and their rows."""

from __future__ import annotations

from typing import NamedTuple

from .prose import wrapped_runs
from .rows import UNICODE, Glyphs, Row, fit


class Explanation(NamedTuple):
    """One page. `about` names the cards and columns that it explains."""

    about: tuple[str, ...]
    title: str
    meaning: str
    formula: str
    typical: str
    caveats: str


EXPLANATIONS = (
    Explanation(
        ("throughput", "rate"),
        "Throughput, Mbit/s",
        "The test's data per second without headers, all connections together.",
        "bytes x 8 / seconds; mega is 1,000,000",
        "at most about 94 % of an Ethernet link with 1500-byte packets: 941 of 1000 Mbit/s",
        "The first 1 to 2 s are slow start. What the sender hands to its kernel runs ahead of what "
        "arrives; the receiver's count is the honest one.",
    ),
    Explanation(
        ("rtt",),
        "Loaded RTT, RTT ms",
        "How long data and its acknowledgement take while the test runs, as the sender's kernel "
        "smooths it. Idle is the least that was seen.",
        "queueing delay = RTT under load - idle RTT",
        "below 1 ms in a LAN; near idle without a queue, 1.2 to 1.7 times idle on a full path",
        "3 times idle, or 100 ms more, is a queue that others feel: bufferbloat. The other end "
        "knows it when that end sends.",
    ),
    Explanation(
        ("retransmits", "retr"),
        "Retransmits, Retr",
        "Segments that the sender sent again. The percentage is of bytes.",
        "100 x bytes sent again / bytes sent; Mathis: rate <= MSS / RTT x 1.22 / sqrt(loss)",
        "0 in a window-limited run; a few as a queue fills, 0.01 to 0.5 %, are normal for cubic",
        "Attempts, not losses: reordering also causes them. The formula is for loss-based control; "
        "BBR keeps its rate at losses of several percent.",
    ),
    Explanation(
        ("cwnd",),
        "Congestion window, Cwnd KB",
        "How much the sender's congestion control lets be under way without an acknowledgement, "
        "all connections together.",
        "BDP = rate x idle RTT / 8; rate <= window x 8 / RTT",
        "about the BDP, and the queue's size above it; with cubic it rises, then falls at a loss",
        "It is not the only limit: the receiver's window and the send buffer may be less. The "
        "BDP here is from the measured rate, not from the path's capacity.",
    ),
    Explanation(
        ("lost", "share"),
        "Lost, Lost % (UDP)",
        "Datagrams that were sent and did not arrive, by gaps in their numbers.",
        "100 x lost / (lost + received)",
        "0 % below the path's capacity; above it all that is too much is lost",
        "The receiver's host may have dropped them, not the path: see the verdict. One that comes "
        "late is first taken for lost.",
    ),
    Explanation(
        ("jitter",),
        "Jitter ms (UDP)",
        "How much the time under way varies from one datagram to the next, smoothed.",
        "J = J + (|D| - J) / 16, where D is the change in transit time (RFC 3550)",
        "well below 1 ms in a quiet LAN; some ms over Wi-Fi or a busy path",
        "It needs no clocks that agree, but a busy or virtual host adds its own.",
    ),
    Explanation(
        ("late", "packets"),
        "Late; Datagrams (UDP)",
        "Late ones arrived behind a datagram with a higher number: out of order. Datagrams are "
        "all of an interval.",
        "late: number < the highest number so far",
        "0 late on a single path",
        "Bonded links and paths in parallel reorder; so does Wi-Fi. For most uses of UDP this "
        "matters less than loss.",
    ),
    Explanation(
        ("verdict",),
        "Verdict",
        "What limits this run, by the numbers of this end and, where it tells them, of the other.",
        "rules in an order: this host, what was offered, windows and buffers, then the path",
        "high: a sign and an independent second one; medium: the sign alone; low: inferred",
        "Short or changing runs have no sure verdict. One run cannot tell random loss from a short "
        "queue: a paced run can, and the sweep makes one.",
    ),
    Explanation(
        ("time", "who", "far", "note", "bar"),
        "Seconds, Stream, SUM, far side",
        "An interval's begin and end since the test began, and whose row it is; SUM adds all "
        "connections of a direction. The bar is the rate beside the best.",
        "",
        "intervals of 1 s; -i changes that",
        "far side: only the other end's kernel knows the number. omitted: counted in no total.",
    ),
)
"""In the order of the pages. A test holds the names to the cards and columns that there are."""

_PARTS = ("meaning", "formula", "typical", "caveats")


def explanation_pages(width: int, glyphs: Glyphs = UNICODE) -> list[tuple[str, list[Row]]]:
    """A title and rows for each page, each row exactly `width` cells."""
    return [(each.title, _rows(each, width, glyphs)) for each in EXPLANATIONS]


def _rows(each: Explanation, width: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = []
    for part in _PARTS:
        text = getattr(each, part)
        lines = wrapped_runs([(text, "text")], width - 13, glyphs) if text else []
        for number, line in enumerate(lines):
            name = part if number == 0 else ""
            rows.append(fit([(f"  {name:<9} ", "label"), *line], width, glyphs))
    return rows
