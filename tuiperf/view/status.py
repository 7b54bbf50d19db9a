"""One line about the run that goes on behind another screen."""

from __future__ import annotations

from tuiperf.session import Session

from .heading import state_word
from .numbers import Units
from .readings import directions, rate_now_bps
from .rows import UNICODE, Glyphs, Row, ends


def status_row(
    session: Session,
    units: Units,
    width: int,
    glyphs: Glyphs = UNICODE,
    *,
    lost: str = "",
    key: str = "1",
) -> Row:
    """The state, the peer, the rate now and the time, exactly `width` cells."""
    word, role = state_word(session, lost)
    mark = {"ok": glyphs.ok, "look": glyphs.look, "fault": glyphs.fault, "data": glyphs.running}
    left: Row = [
        (f" {mark.get(role, glyphs.pending)} ", role),
        (word, "strong"),
        (f"  {glyphs.text(session.peer)}", "text"),
    ]
    for way in directions(session):
        now_bps = rate_now_bps(session, way)
        if now_bps is not None:
            left.append((f"  {units.rate.text(now_bps)}", "data"))
    if session.streams and session.ended is None:
        planned = f" / {session.planned_s:.0f} s" if session.planned_s else " s"
        left.append((f"  {session.test_s:.0f}{planned}", "muted"))
    return ends(left, [(key, "key"), (" shows it ", "muted")], width, glyphs)
