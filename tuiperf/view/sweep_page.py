"""The end of a sweep as a page of text: the verdicts, all steps, metrics, uses, what stays open."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.rules.quantities import milliseconds, rate, size
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.sweep.conclude import Best, Conclusion
from tuiperf.sweep.known import Idle
from tuiperf.sweep.state import SweepState

from .rows import UNICODE, Glyphs, Row, fit, joined, pad, pad_left, row_width, wrap
from .sweep_words import Cells, cells
from .verdicts import ROLE_OF, level_glyph

LABEL = 14

METRICS = (
    ("transfer_time_ratio", "transfer time ratio"),
    ("tcp_efficiency_percent", "TCP efficiency %"),
    ("buffer_delay_percent", "buffer delay %"),
)


def page_rows(
    state: SweepState,
    conclusion: Conclusion,
    width: int,
    glyphs: Glyphs = UNICODE,
    recording: str = "",
) -> list[Row]:
    """The whole page. Rows are at most `width` cells; only the recording's path may be longer."""
    page = _Page(max(40, width), glyphs)
    _title(page, state)
    for number, verdict in enumerate(conclusion.verdicts):
        page.gap()
        _verdict(page, verdict, whole=number == 0 or verdict.level is not Level.FINE)
    _steps(page, state)
    _best(page, conclusion.best)
    _metrics(page, conclusion)
    _uses(page, conclusion)
    for question in conclusion.open:
        page.wrapped("left open", question, "muted")
    rows = [fit(row, width, glyphs) if row_width(row) > width else row for row in page.rows]
    if recording:
        label = (f"  {pad('recording', LABEL)}", "label")
        rows += [[], [label, (glyphs.text(recording), "muted")]]
    return rows


def idle_words(idle: Idle) -> str:
    """What the look before any load found."""
    parts = [f"through {idle.device}"] if idle.device else []
    if idle.least_us is not None:
        parts.append(
            f"idle RTT {milliseconds(idle.least_us)}, varies by {milliseconds(idle.spread_us)} "
            f"({idle.method})"
        )
    if idle.path_mtu_bytes:
        parts.append(f"packets of {idle.path_mtu_bytes} bytes pass")
    if idle.problem:
        parts.append(idle.problem)
    return ", ".join(parts) or "nothing could be learned without a test"


class _Page:
    def __init__(self, width: int, glyphs: Glyphs) -> None:
        self.width, self.glyphs = width, glyphs
        self.rows: list[Row] = []

    def gap(self) -> None:
        self.rows.append([])

    def wrapped(self, label: str, text: str, role: str) -> None:
        name = "key" if label == "next" else "label"
        for line in wrap(self.glyphs.text(text), self.width - LABEL - 2):
            self.rows.append(joined([(f"  {pad(label, LABEL)}", name), (line, role)]))
            label = ""


def _title(page: _Page, state: SweepState) -> None:
    glyphs = page.glyphs
    host = glyphs.text(state.host)
    page.rows.append([("tuiperf  ", "title"), (f"sweep towards {host}", "strong")])
    carried = sum(row.done.carried_bytes for row in state.rows if row.done)
    spent = f"{state.t_s:.0f} s, {len(state.rows)} steps, {size(carried)} carried"
    ended = f"; {state.ended.text}" if state.ended else ""
    page.wrapped("outcome", f"{spent}{ended}", "muted")
    if state.idle is not None:
        page.wrapped("without load", idle_words(state.idle), "muted")


def _verdict(page: _Page, verdict: Verdict, *, whole: bool) -> None:
    glyphs = page.glyphs
    page.rows.append(
        joined(
            [
                (f"{level_glyph(verdict.level, glyphs)} ", ROLE_OF[verdict.level]),
                (glyphs.text(verdict.title), "strong"),
                (f"  {glyphs.text(verdict.short)}", "text"),
            ]
        )
    )
    page.rows += [
        [(f"  {line}", "text")] for line in wrap(glyphs.text(verdict.claim), page.width - 2)
    ]
    if not whole:
        return
    for name, role, texts in (
        ("because", "text", verdict.because),
        ("ruled out", "muted", verdict.ruled_out),
        ("next", "strong", verdict.next),
    ):
        for number, text in enumerate(texts):
            page.wrapped(name if number == 0 else "", text, role)
    if verdict.level is not Level.PENDING:
        page.wrapped("confidence", verdict.confidence.value, "muted")


def _steps(page: _Page, state: SweepState) -> None:
    shown = [cells(row, None, state.idle) for row in state.rows]
    if not shown:
        return
    page.gap()
    page.rows.append(table_heading())
    page.rows += [table_row(each, page.glyphs) for each in shown]


def arrow_of(way: str, glyphs: Glyphs) -> str:
    """An arrow of one cell, also in ASCII."""
    return {"→": ">", "←": "<", "↔": "="}.get(way, way) if glyphs.ascii else way


def table_heading() -> Row:
    """The heading of the table of steps."""
    text = (
        f"  {'#':>2}  {pad('step', 15)}   {pad_left('Mbit/s', 13)}  {pad_left('lost', 9)}  "
        f"{pad_left('RTT ms', 7)}  reading"
    )
    return [(text, "label")]


def table_row(shown: Cells, glyphs: Glyphs) -> Row:
    """One step: what it carried, and what its own verdict was."""
    way = arrow_of(shown.way, glyphs)
    glyph = glyphs.running if shown.running else level_glyph(shown.level, glyphs)
    role = "data" if shown.running else ROLE_OF[shown.level]
    return [
        (f"  {shown.number:>2}  ", "label"),
        (pad(glyphs.text(shown.name), 15, glyphs.ellipsis), "text"),
        (f" {pad(way, 2)}", "muted"),
        (pad_left(shown.rate, 13, glyphs.ellipsis), "strong"),
        (f"  {pad_left(shown.lost, 9)}  {pad_left(shown.rtt, 7)}  ", "text"),
        (f"{glyph} ", role),
        (glyphs.text(shown.reading), "text"),
    ]


def _best(page: _Page, best: Sequence[Best]) -> None:
    for each in best:
        tried = ", ".join(f"{count}: {rate(bps)}" for count, bps in each.tried)
        way = {"forward": "there", "reverse": "back"}[each.way.value]
        page.gap()
        text = f"-P {each.streams} carries {rate(each.goodput_bps)} {way} (tried {tried})"
        page.wrapped("best -P", text, "text")


def _metrics(page: _Page, conclusion: Conclusion) -> None:
    found = conclusion.rfc6349
    if not found:
        return
    page.gap()
    for way, metrics in found.items():
        told = [
            f"{words} {metrics[name]}" for name, words in METRICS if metrics.get(name) is not None
        ]
        page.wrapped("RFC 6349", f"{way}: {', '.join(told)}", "text")


def _uses(page: _Page, conclusion: Conclusion) -> None:
    if conclusion.uses:
        page.gap()
    for use in conclusion.uses:
        glyph = level_glyph(use.level, page.glyphs)
        head = f"  {pad(use.name, LABEL)}"
        page.rows.append(
            joined(
                [
                    (head, "label"),
                    (f"{glyph} ", ROLE_OF[use.level]),
                    (page.glyphs.text(use.text), "text"),
                ]
            )
        )
        page.wrapped("", f"needs {use.threshold}", "muted")
