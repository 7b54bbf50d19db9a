"""What a run's page says before there is data: what is awaited, the likely cause, or what broke."""

from __future__ import annotations

import errno

from tuiperf.engine.spec import DEFAULT_PORT
from tuiperf.session import Phase, Session

from .heading import failure_text
from .rows import UNICODE, Glyphs, Row, fill, fit, wrap

_BUSY = 121  # iperf3's error number for a server that runs another test

PATIENCE_S = 3.0
"""After this long the likely cause of the silence is named."""


def notice_rows(
    session: Session,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    waited_s: float = 0.0,
    lost: str = "",
) -> list[Row]:
    """The notice, exactly `width` by `height` cells, in the upper middle."""
    if width < 1 or height < 1:
        return []
    failure = failure_text(session, lost)
    if failure:
        texts = [(failure, "fault"), *((hint, "text") for hint in hints(session))]
    else:
        texts = [(awaited(session), "strong")]
        if waited_s >= PATIENCE_S and session.ended is None:
            texts.append((likely_cause(session, waited_s), "text"))
    rows: list[Row] = []
    for number, (text, role) in enumerate(texts):
        mark = glyphs.fault if role == "fault" else glyphs.pending
        for index, line in enumerate(wrap(glyphs.text(text), min(width - 6, 72))):
            head = f"  {mark} " if number == 0 and index == 0 else "    "
            rows.append(fit([(head, role), (line, role)], width, glyphs))
        rows.append(fit([], width, glyphs))
    above = max(0, min(2, (height - len(rows)) // 2))
    return fill([fit([], width, glyphs)] * above + rows, width, height)


def awaited(session: Session) -> str:
    """What the run waits for now."""
    if session.ended is not None:
        return "The run ended before any data was measured."
    if session.phase is Phase.CONNECTING:
        return f"connecting to {_where(session)}…"
    if session.phase is Phase.NEGOTIATING:
        return f"connected; agreeing on the test with {session.peer}…"
    return "waiting for the first data…"


def likely_cause(session: Session, waited_s: float) -> str:
    """Why nothing has come for a while, in one sentence."""
    if session.phase is Phase.CONNECTING:
        return (
            f"No answer for {waited_s:.0f} s. Most often a firewall drops the packets, "
            "or the address is not in use."
        )
    if session.phase is Phase.NEGOTIATING:
        return (
            f"Connected, but no answer for {waited_s:.0f} s. The server may be busy with another "
            "test, or something that is no iperf3 server listens there."
        )
    return (
        f"The test has begun, but no data for {waited_s:.0f} s. A firewall may let the control "
        "connection pass and not the data."
    )


def hints(session: Session) -> list[str]:
    """What to do after a failure before any data; the failure's own words name the cause."""
    failure = session.failure
    if failure is None:
        return []
    port = session.client.port if session.client else DEFAULT_PORT
    if failure.errno == errno.ECONNREFUSED:
        return [f"Start one on {session.peer} with: tuiperf -s -p {port}. Then press r."]
    if failure.code == _BUSY:
        return ["An iperf3 server runs one test at a time: press r to try again."]
    return []


def _where(session: Session) -> str:
    client = session.client
    if client is None:
        return session.peer or "the server"
    host = f"[{client.host}]" if ":" in client.host else client.host
    return f"{host} port {client.port}"
