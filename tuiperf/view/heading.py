"""The first lines of a run's page: who sends to whom, how, the state in a word, the progress."""

from __future__ import annotations

from tuiperf.engine.udp_notes import rate_text
from tuiperf.session import Phase, Session

from .numbers import size
from .readings import directions
from .rows import UNICODE, Glyphs, Row, Run, ends, fit, joined, row_width, wrap

_WORDS = {
    Phase.CONNECTING: "CONNECTING",
    Phase.NEGOTIATING: "AGREEING",
    Phase.WARMING: "WARMING UP",
    Phase.RUNNING: "RUNNING",
    Phase.FINISHING: "FINISHING",
}


def heading_rows(
    session: Session,
    width: int,
    glyphs: Glyphs = UNICODE,
    *,
    waited_s: float = 0.0,
    frozen: bool = False,
    lost: str = "",
) -> list[Row]:
    """Title and progress line, each exactly `width` cells.

    `waited_s` is the time since the run was begun, shown while no data flows. `lost` tells that the
    engine has gone, in words.
    """
    if width < 1:
        return [[], []]
    right = [*_state(session, glyphs, lost), *_clock(session, waited_s, lost), (" ", "text")]
    if frozen:
        right = [("FROZEN", "key"), ("  ", "text"), *right]
    left = _title(session, max(0, width - row_width(right) - 1), glyphs)
    return [ends(left, right, width, glyphs), _progress(session, width, glyphs)]


def state_word(session: Session, lost: str = "") -> tuple[str, str]:
    """The state in a word, and the role that goes with it."""
    if lost and session.ended is None:
        return "ENGINE LOST", "fault"
    if session.ended is None:
        return _WORDS.get(session.phase, "FINISHING"), "data" if session.streams else "pending"
    if session.failure is not None or session.ended.outcome == "failed":
        return "FAILED", "fault"
    return ("STOPPED", "look") if session.ended.outcome == "interrupted" else ("DONE", "ok")


def failure_rows(
    session: Session, width: int, glyphs: Glyphs = UNICODE, lost: str = ""
) -> list[Row]:
    """What broke a run that had measured something, and how much; no rows when nothing broke."""
    text = failure_text(session, lost)
    if not text or width < 1:
        return []
    lines = wrap(glyphs.text(text), width - 5)
    return [
        fit(
            [(f" {glyphs.fault if number == 0 else ' '} ", "fault"), (line, "fault")], width, glyphs
        )
        for number, line in enumerate(lines[:3])
    ]


def failure_text(session: Session, lost: str = "") -> str:
    """Why the run broke and how much was measured until then."""
    why = session.failure.text if session.failure else ""
    if not why and lost and session.ended is None:
        why = lost
    if not why:
        return ""
    measured_s = max(session.measured_s, session.test_s if session.streams else 0.0)
    kept = (
        f"{measured_s:.1f} s were measured and are kept." if measured_s else "Nothing was measured."
    )
    awaited = ""
    if session.failure and session.failure.awaited and session.failure.awaited not in why:
        awaited = f" Awaited: {session.failure.awaited}."
    stop = "" if why.endswith((".", "?", "!")) else "."
    return f"{why}{stop}{awaited} {kept}"


def _title(session: Session, width: int, glyphs: Glyphs) -> Row:
    """As many parts as fit whole, the most telling first."""
    row: Row = [(" tuiperf", "title")]
    for part in _parts(session, glyphs):
        if row_width([*row, *part]) > width:
            room = width - row_width(row)
            if room >= 12 and row_width(row) < 12:
                return fit([*row, *part], width, glyphs)
            break
        row += part
    return joined(row)


def _parts(session: Session, glyphs: Glyphs) -> list[Row]:
    ways = directions(session)
    peer = glyphs.text(session.peer or "?")
    if len(ways) > 1:
        way = f"here {'<->' if glyphs.ascii else '↔'} {peer}"
    else:
        way = glyphs.text(session.words(ways[0]))
    bar: Run = (f"  {glyphs.divider}  ", "rule")
    parts: list[Row] = [[bar, (way, "strong")]]
    test = session.test or (session.client.test if session.client else None)
    if test is not None:
        many = f" {glyphs.text('×')}{test.parallel}" if test.parallel > 1 else ""
        congestion = next(
            (
                str(option.effective)
                for option in session.options
                if "congestion" in option.name.lower() and option.effective
            ),
            test.congestion,
        )
        how = rate_text(test.rate_bps) if test.udp and test.rate_bps else glyphs.text(congestion)
        name = f"{test.protocol.upper()}{many} {how}".rstrip()
        parts.append([bar, (name, "text")])
    if session.connection is not None:
        parts.append([bar, (glyphs.text(_address(session)), "muted")])
    return parts


def _address(session: Session) -> str:
    assert session.connection is not None
    host, port = session.connection.remote_host, session.connection.remote_port
    if host == session.peer:
        return f"port {port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _state(session: Session, glyphs: Glyphs, lost: str) -> Row:
    word, role = state_word(session, lost)
    glyph = {
        "ok": glyphs.ok,
        "look": glyphs.look,
        "fault": glyphs.fault,
        "data": glyphs.running,
    }.get(role, glyphs.pending)
    return [(f"{glyph} ", role), (word, "strong")]


def _clock(session: Session, waited_s: float, lost: str) -> Row:
    test = session.test
    if not session.streams:
        return [] if session.ended or lost else [(f"  {waited_s:.0f} s", "muted")]
    if test is not None and test.limited:
        done = size(_carried_bytes(session))
        return [(f"  {done}", "text"), (f" / {size(test.limit_bytes)}", "muted")]
    planned_s = session.planned_s
    now_s = session.test_s if planned_s is None else min(session.test_s, planned_s)
    rest = " s" if planned_s is None else f" / {planned_s:.0f} s"
    return [(f"  {now_s:.1f}", "text"), (rest, "muted")]


def _carried_bytes(session: Session) -> int:
    ways = directions(session)
    carried = [
        stream.latest.transferred_bytes
        for way in ways[:1]
        for stream in session.streams_of(way)
        if stream.latest is not None
    ]
    return sum(carried)


def progress_share(session: Session) -> float:
    """How much of the test is done, 0 to 1; 0 when nothing says when it ends."""
    if session.ended is not None and session.ended.outcome == "completed":
        return 1.0
    if session.test is not None and session.test.limited:
        limit_bytes = session.test.limit_bytes
        return min(1.0, _carried_bytes(session) / limit_bytes) if limit_bytes else 0.0
    planned_s = session.planned_s
    return min(1.0, session.test_s / planned_s) if planned_s else 0.0


def _progress(session: Session, width: int, glyphs: Glyphs) -> Row:
    inner = max(0, width - 2)
    done = int(inner * progress_share(session))
    return fit(
        [
            (" ", "text"),
            (glyphs.line * done, "data"),
            (glyphs.thin * (inner - done), "track"),
            (" ", "text"),
        ],
        width,
        glyphs,
    )
