"""The screen of a sweep as rows: heading, the table of steps, why the running one is run."""

from __future__ import annotations

from dataclasses import dataclass

from tuiperf.rules.quantities import size
from tuiperf.sweep.state import Row as StepRow
from tuiperf.sweep.state import SweepState

from .rows import UNICODE, Glyphs, Row, ends, fill, fit, pad, pad_left, wrap
from .sweep_page import arrow_of
from .sweep_words import Cells, cells, name_of, plan_of, way_of
from .verdicts import ROLE_OF, level_glyph

BAR_FROM = 92  # cells of width from which each step has a bar
BAR = 20
NAME, SHORT_NAME, SHORT_BELOW = 15, 11, 70


@dataclass(frozen=True)
class Moment:
    """What only the driver knows: the time, and what it waits for."""

    elapsed_s: float = 0.0
    waiting_s: float = 0.0
    paused: bool = False


def heading_rows(
    state: SweepState, moment: Moment, width: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """Title with the state, and how much of the time is used, exactly `width` cells."""
    word, role = _state(state, moment)
    most_s = state.limits.time_s
    elapsed_s = state.t_s if state.ended else moment.elapsed_s
    time = f"{elapsed_s:.0f} s" if state.ended else f"{elapsed_s:.0f} s, at most {most_s:.0f}"
    left: Row = [
        (" tuiperf", "title"),
        ("  Sweep  ", "strong"),
        (f"{glyphs.divider}  ", "rule"),
        (glyphs.text(state.host), "text"),
    ]
    right: Row = [(f"{glyphs.running} {word}", role), (f"   {time} ", "muted")]
    share = 1.0 if state.ended else min(1.0, elapsed_s / most_s if most_s else 1.0)
    done = round(share * (width - 2))
    bar: Row = [
        (" ", "text"),
        (glyphs.line * done, "data"),
        (glyphs.thin * (width - 2 - done), "track"),
    ]
    return [ends(left, right, width, glyphs), fit(bar, width, glyphs)]


def _state(state: SweepState, moment: Moment) -> tuple[str, str]:
    if state.ended is not None:
        return state.ended.reason.upper(), "ok" if state.ended.reason == "settled" else "look"
    if moment.waiting_s:
        return f"SERVER BUSY, {moment.waiting_s:.0f} s", "look"
    if moment.paused:
        return "PAUSED", "look"
    return (f"STEP {len(state.rows)}" if state.rows else "STARTING"), "data"


def step_rows(
    state: SweepState,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    offset: int = 0,
) -> list[Row]:
    """The table of steps, exactly `width` by `height` cells; the newest ones are seen.

    `offset` scrolls back, in rows.
    """
    if width < 1 or height < 1:
        return []
    shown = [cells(row, state.session, state.idle) for row in state.rows]
    most = max((_rate(row) for row in state.rows), default=0.0)
    room = max(0, height - 1)
    first = max(0, len(shown) - room - max(0, offset))
    lines = [
        _step_row(each, _rate(row), most, width, glyphs)
        for each, row in list(zip(shown, state.rows, strict=True))[first : first + room]
    ]
    return fill([_heading(width, glyphs), *lines], width, height)


def _rate(row: StepRow) -> float:
    readings = row.done.readings if row.done else ()
    return sum(each.goodput_bps or 0.0 for each in readings)


def _name_width(width: int) -> int:
    return NAME if width >= SHORT_BELOW else SHORT_NAME


def _heading(width: int, glyphs: Glyphs) -> Row:
    bar = " " * (BAR + 2) if width >= BAR_FROM else ""
    lost = f"{pad_left('lost', 10)}" if width >= SHORT_BELOW else ""
    text = f"  #  {pad('step', _name_width(width))}   {pad_left('Mbit/s', 9)}{bar}{lost}"
    return fit([(f"{text}  {pad_left('RTT ms', 6)}  reading", "label")], width, glyphs)


def _step_row(shown: Cells, rate: float, most: float, width: int, glyphs: Glyphs) -> Row:
    role = "data" if shown.running else ROLE_OF[shown.level]
    glyph = glyphs.running if shown.running else level_glyph(shown.level, glyphs)
    row: Row = [
        (f" {pad_left(shown.number, 2)}  ", "label"),
        (pad(glyphs.text(shown.name), _name_width(width), glyphs.ellipsis), "text"),
        (f" {pad(arrow_of(shown.way, glyphs), 2)}", "muted"),
        (pad_left(shown.rate, 9, glyphs.ellipsis), "strong"),
    ]
    if width >= BAR_FROM:
        length = round(BAR * rate / most) if most else 0
        row += [("  ", "text"), (pad(glyphs.line * length, BAR), "data")]
    if width >= SHORT_BELOW:
        row.append((pad_left(shown.lost, 10), "text"))
    row += [
        (f"  {pad_left(shown.rtt, 6)}  ", "text"),
        (f"{glyph} ", role),
        (glyphs.text(shown.reading), "data" if shown.running else "text"),
    ]
    return fit(row, width, glyphs)


def why_title(state: SweepState, glyphs: Glyphs) -> str:
    """What the panel about the running step is called."""
    if state.ended is not None:
        return "The end"
    row = state.rows[-1] if state.rows else None
    if row is None:
        return "Why"
    way = arrow_of(way_of(row.step), glyphs)
    return glyphs.text(f"Why step {row.number}: {name_of(row.step)} {way}".rstrip())


def why_rows(state: SweepState, width: int, height: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """Why the running step is run and what its outcomes mean; after the end, how it ended."""
    if width < 1 or height < 1:
        return []
    if state.ended is not None:
        rows = _ended(state, width, glyphs)
    elif state.rows:
        rows = _reason(state.rows[-1], width, glyphs)
    else:
        rows = []
    return fill(rows, width, height)


def _reason(row: StepRow, width: int, glyphs: Glyphs) -> list[Row]:
    step = row.step
    rows = [
        fit([(f" {line}", "text")], width, glyphs)
        for line in wrap(glyphs.text(step.why), width - 2)
    ]
    rows.append(fit([(f" {glyphs.text(plan_of(step))}", "muted")], width, glyphs))
    for outcome in step.outcomes:
        lines = wrap(glyphs.text(outcome), width - 4)
        rows += [
            fit([(f" {glyphs.dot if not at else ' '} {line}", "muted")], width, glyphs)
            for at, line in enumerate(lines)
        ]
    return rows


def _ended(state: SweepState, width: int, glyphs: Glyphs) -> list[Row]:
    carried = sum(row.done.carried_bytes for row in state.rows if row.done)
    told = state.ended.text if state.ended else ""
    lines = [told, f"{len(state.rows)} steps, {state.t_s:.0f} s, {size(carried)} carried"]
    conclusion = state.conclusion()
    for best in conclusion.best:
        lines.append(f"best number of connections, {best.way.value}: {best.streams}")
    rows = [
        fit([(f" {line}", "text")], width, glyphs)
        for text in lines
        for line in wrap(glyphs.text(text), width - 2)
    ]
    for use in conclusion.uses:
        glyph = level_glyph(use.level, glyphs)
        rows.append(
            fit(
                [
                    (f" {glyph} ", ROLE_OF[use.level]),
                    (pad(use.name, 14), "text"),
                    (glyphs.text(use.text), "muted"),
                ],
                width,
                glyphs,
            )
        )
    return rows
