"""The text left on the normal screen when a run is over, from the app and in plain mode alike."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.events import OptionRead
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Datagrams, Direction, Headline, Session, datagrams, headline

from .numbers import Units, jitter_ms, share, size, units_of
from .readings import directions, retransmitted_share, sends_here
from .rows import UNICODE, Glyphs, Row, Run, fit, joined, pad, row_width, wrap
from .verdicts import ROLE_OF, level_glyph

_LABEL = 13


def summary_rows(
    session: Session,
    verdicts: Sequence[Verdict],
    width: int,
    glyphs: Glyphs = UNICODE,
    *,
    units: Units | None = None,
    recording: str = "",
) -> list[Row]:
    """What was tested, both ends' totals, why they differ, the verdicts and what went wrong.

    Rows are at most `width` cells wide and not padded; only the recording's path, which has to be
    copied whole, may be longer.
    """
    page = _Page(max(30, width), glyphs)
    units = units or units_of(session)
    _title(page, session)
    for direction in directions(session):
        _direction(page, session, direction, units)
    _options(page, session)
    _hosts(page, session)
    _failure(page, session)
    for verdict in verdicts:
        _verdict(page, verdict)
    for note in session.notes:
        if note.level == "warning":
            page.wrapped("note", note.text, "look")
    rows = [_bounded(row, page) for row in page.rows]
    if recording:
        label = (f"  {pad('recording', _LABEL)}", "label")
        rows.append([label, (page.glyphs.text(recording), "muted")])
    return rows


def _bounded(row: Row, page: _Page) -> Row:
    return fit(row, page.width, page.glyphs) if row_width(row) > page.width else row


class _Page:
    """Rows as they are written, all with the same margins."""

    def __init__(self, width: int, glyphs: Glyphs) -> None:
        self.width = width
        self.glyphs = glyphs
        self.rows: list[Row] = []

    def line(self, label: str, runs: Sequence[Run]) -> None:
        role = "key" if label == "next" else "label"
        safe = [(self.glyphs.text(text), each) for text, each in runs]
        self.rows.append(joined([(f"  {pad(label, _LABEL)}", role), *safe]))

    def wrapped(self, label: str, text: str, role: str) -> None:
        for line in wrap(self.glyphs.text(text), self.width - _LABEL - 2):
            self.line(label, [(line, role)])
            label = ""

    def gap(self) -> None:
        self.rows.append([])


def _title(page: _Page, session: Session) -> None:
    glyphs = page.glyphs
    test = session.test
    parts = []
    if test is not None:
        parts.append(test.protocol.upper() + (f" ×{test.parallel}" if test.parallel > 1 else ""))
        ending = session.local or session.remote
        if ending is not None and ending.congestion:
            parts.append(ending.congestion)
    ways = directions(session)
    if len(ways) > 1:
        parts.append(f"here ↔ {session.peer}" if not glyphs.ascii else f"here <-> {session.peer}")
    else:
        parts.append(session.words(ways[0]))
    if session.connection is not None and session.connection.remote_host != session.peer:
        parts.append(f"{session.connection.remote_host} port {session.connection.remote_port}")
    lines = wrap(glyphs.text(" · ".join(parts)), page.width - 10)
    page.rows.append(joined([("tuiperf  ", "title"), (lines[0] if lines else "", "strong")]))
    page.rows += [[(" " * 9, "text"), (line, "strong")] for line in lines[1:]]
    outcome = _outcome(session)
    if outcome:
        page.line("outcome", [outcome])


def _outcome(session: Session) -> Run | None:
    measured = f"{session.measured_s:.1f} s measured" if session.measured_s else "nothing measured"
    if session.ended is None:
        return (f"still running, {measured}", "muted")
    if session.ended.outcome == "interrupted":
        by = f" by {session.ended.signal}" if session.ended.signal else ""
        return (f"stopped{by}, {measured}", "text")
    if session.ended.outcome == "failed" or session.failure:
        return (f"failed, {measured}", "fault")
    return (f"completed, {measured}", "muted")


def _direction(page: _Page, session: Session, direction: Direction, units: Units) -> None:
    result = headline(session, direction)
    if result.goodput_bps is None and result.sent_bps is None:
        return
    several = len(directions(session)) > 1
    if several:
        page.rows.append([(f"  {page.glyphs.text(session.words(direction))}", "strong")])
    _goodput(page, session, result, units)
    found = datagrams(session, direction)
    if found is None:
        page.line("retransmits", [(_retransmits(session, result), "text")])
    else:
        _datagrams(page, found)


def _goodput(page: _Page, session: Session, result: Headline, units: Units) -> None:
    here_sends = sends_here(session, result.direction)
    here, there = "here", page.glyphs.text(session.peer)
    receiver, sender = (there, here) if here_sends else (here, there)
    numbers = [units.rate.text(result.goodput_bps), units.rate.text(result.sent_bps)]
    room = max(len(number) for number in numbers)
    if result.goodput_bps is None:
        why = "the receiver did not report" if here_sends else "nothing was received"
        page.line("goodput", [("not known: ", "muted"), (why, "muted")])
    else:
        received = f"  {size(result.received_bytes)} received {page.glyphs.text('·')} {receiver}"
        page.line("goodput", [(numbers[0].rjust(room), "strong"), (received, "muted")])
    if result.sent_bps is not None:
        sent = f"  {size(result.sent_bytes)} sent     {page.glyphs.text('·')} {sender}"
        label = "offered" if session.test is not None and session.test.udp else "sent"
        page.line(label, [(numbers[1].rjust(room), "text"), (sent, "muted")])
    if result.difference:
        page.wrapped("", result.difference, "muted")


def _datagrams(page: _Page, found: Datagrams) -> None:
    if found.lost is None or found.total is None:
        page.line("lost", [("not known: only the receiver counts them, it did not tell", "text")])
        return
    part = share(found.lost, found.total)
    page.line("lost", [(f"{found.lost} of {found.total} datagrams, {part}", "text")])
    if found.host_dropped:
        page.line("", [(f"about {found.host_dropped} of them by this host itself", "look")])
    page.line("jitter", [(f"{jitter_ms(found.jitter_s)} ms", "text")])
    if found.late or found.duplicates:
        late = f"{found.late} came late, by up to {found.deepest} places"
        page.line("order", [(f"{late}; {found.duplicates} came twice", "text")])


def _retransmits(session: Session, result: Headline) -> str:
    if result.retransmits is None:
        return "not known: only the sender counts them, and it did not tell"
    part = retransmitted_share(session, result.direction)
    if result.retransmits == 0:
        return "none"
    known = f", {share(part, 1.0)} of the bytes" if part is not None else ""
    segments = "1 segment" if result.retransmits == 1 else f"{result.retransmits} segments"
    return segments + known


def _options(page: _Page, session: Session) -> None:
    told: set[str] = set()
    for option in session.options:
        text = _option(option)
        name = _OPTION_NAMES.get(option.name, option.name)
        if not text or f"{name} {text}" in told:
            continue
        note = f" ({option.note})" if option.note and option.note not in told else ""
        told |= {f"{name} {text}", option.note}
        page.wrapped(name, text + note, "look")


_OPTION_NAMES = {
    "send_buffer": "send buffer",
    "receive_buffer": "recv buffer",
    "max_pacing_rate": "pacing rate",
}


def _option(option: OptionRead) -> str:
    """A setting that did not come out as asked, without its note; "" when it did."""
    if option.asked is None:
        return ""
    got = option.effective if option.effective is not None else option.granted
    if got == option.asked and not option.note:
        return ""
    parts = [f"asked {_value(option.asked, option.unit)}"]
    if option.granted is not None and option.granted not in (option.asked, got):
        parts.append(f"granted {_value(option.granted, option.unit)}")
    if got is not None and got != option.asked:
        parts.append(f"in effect {_value(got, option.unit)}")
    return ", ".join(parts)


def _value(value: int | str, unit: str) -> str:
    if isinstance(value, int) and unit == "bytes":
        return size(value)
    return f"{value} {unit}".rstrip()


def _hosts(page: _Page, session: Session) -> None:
    parts = []
    for results, where in ((session.local, "here"), (session.remote, session.peer)):
        if results is not None:
            parts.append(f"{where} {results.cpu_total_percent:.0f} %")
    if parts:
        page.wrapped("CPU", ", ".join(parts), "muted")


def _failure(page: _Page, session: Session) -> None:
    if session.failure is None:
        return
    glyph = page.glyphs.fault
    page.wrapped(f"{glyph} failed", session.failure.text, "fault")
    if session.failure.awaited:
        page.wrapped("awaited", session.failure.awaited, "muted")


def _verdict(page: _Page, verdict: Verdict) -> None:
    glyphs = page.glyphs
    page.gap()
    page.rows.append(
        joined(
            [
                (f"{level_glyph(verdict.level, glyphs)} ", ROLE_OF[verdict.level]),
                (glyphs.text(verdict.title), "strong"),
                ("  " + glyphs.text(verdict.short), "text"),
            ]
        )
    )
    page.rows += [
        [("  " + line, "text")] for line in wrap(glyphs.text(verdict.claim), page.width - 2)
    ]
    for name, role, texts in (
        ("because", "text", verdict.because),
        ("ruled out", "muted", verdict.ruled_out),
        ("next", "strong", verdict.next),
    ):
        for number, text in enumerate(texts):
            page.wrapped(name if number == 0 else "", text, role)
    if verdict.level is not Level.PENDING:
        page.line("confidence", [(verdict.confidence.value, "muted")])
