"""The chart of goodput over time: from zero, on an axis that fills up instead of scrolling."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from tuiperf.session import Direction, Session

from .numbers import Units, nice_ceiling, units_of
from .readings import columns, directions, ticks
from .rows import SHADES, UNICODE, Glyphs, Row, fill, fit, joined

STARTUP_S = 2.0
"""What happens this early is a start, never a dip."""

DIP, DEEP_DIP = 0.70, 0.40
"""A column below these shares of the run's own median level is marked."""

_LABEL_WIDTH = 6

_STEPS_S = (5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400)
_TIME_STEPS_S = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200)


class _Plot(NamedTuple):
    """One curve: a level for each column, and the fill it is drawn with."""

    levels: list[float | None]
    kinds: list[str]  # "fill", "look", "fault" or "omit", one a column


def axis_end_s(session: Session) -> float:
    """Where the time axis ends: the plan, or a round number that long tests outgrow in steps."""
    planned_s = session.planned_s
    reached_s = session.test_s
    if session.ended is not None:
        return max(reached_s, 0.5)
    if planned_s is not None and planned_s <= 120:
        return max(planned_s, reached_s)
    if planned_s is None:
        return float(next((step for step in _STEPS_S[2:] if step >= reached_s), reached_s))
    step_s = next((step for step in _STEPS_S[4:] if step >= reached_s), reached_s)
    return max(min(planned_s, float(step_s)), reached_s)


def chart_rows(
    session: Session,
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    units: Units | None = None,
) -> list[Row]:
    """The chart with both axes, exactly `width` by `height` cells.

    Two directions get a curve each, one above the other, on one scale.
    """
    if width < 1 or height < 1:
        return []
    if width < 16 or height < 3:
        return fill([], width, height)
    units = units or units_of(session)
    ways = directions(session)
    stacked = len(ways) > 1 and height >= 8
    curves = [[way] for way in ways] if stacked else [ways]
    frame = _Frame(width, glyphs, units.rate.bps, 1.0, axis_end_s(session))
    levels = [_levels(session, curve, frame.columns, frame.end_s) for curve in curves]
    known = [level for curve in levels for level in curve if level is not None]
    top = nice_ceiling(max(known, default=0.0) / units.rate.bps) * units.rate.bps
    frame = frame._replace(top_bps=top)
    heights = _split(height, len(curves))
    rows: list[Row] = []
    for number, (curve, curve_levels) in enumerate(zip(curves, levels, strict=True)):
        plot = _Plot(curve_levels, _kinds(session, curve_levels, frame.end_s))
        rows += _plot_rows(frame, plot, heights[number])
        last = number == len(curves) - 1
        name = glyphs.text(session.words(curve[0])) if stacked else ""
        rows.append(_time_row(frame, name) if last else _zero_row(frame, name))
    return fill(rows, width, height)


def chart_state(session: Session, width: int) -> tuple[object, ...]:
    """What the chart of this width depends on: while it stays equal, so does the picture."""
    end_s = axis_end_s(session)
    column_s = end_s / max(1, width - _LABEL_WIDTH - 3)
    newest = [flow.ticks.last for flow in session.flows.values()]
    filled = tuple(int((tick.test_s + 1e-6) / column_s) if tick else 0 for tick in newest)
    return id(session), filled, end_s, session.ended is not None


class _Frame(NamedTuple):
    """What the curves of one chart share."""

    width: int
    glyphs: Glyphs
    unit_bps: float
    top_bps: float
    end_s: float

    @property
    def columns(self) -> int:
        return self.width - _LABEL_WIDTH - 3


def _split(height: int, curves: int) -> list[int]:
    plots = height - curves
    first = plots // curves
    return [first] * (curves - 1) + [plots - first * (curves - 1)]


def _levels(
    session: Session, curve: Sequence[Direction], count: int, end_s: float
) -> list[float | None]:
    """Goodput a column; the column that is still being filled is left out."""
    total: list[float | None] = [None] * count
    for way in curve:
        series = ticks(session, way)
        values = columns(series, count, 0.0, end_s, lambda tick: tick.goodput_bps)
        reached_s = series[-1].test_s if series else 0.0
        for index, value in enumerate(values):
            ends_s = (index + 1) * end_s / count
            if value is not None and (ends_s <= reached_s + 1e-6 or session.ended is not None):
                total[index] = (total[index] or 0.0) + value
    return total


def _kinds(session: Session, levels: Sequence[float | None], end_s: float) -> list[str]:
    count = max(1, len(levels))
    omit_s = float(session.test.omit_s) if session.test else 0.0
    start_s = omit_s + STARTUP_S
    starts = [index * end_s / count for index in range(count)]
    steady = [
        level
        for level, at_s in zip(levels, starts, strict=False)
        if level is not None and at_s >= start_s
    ]
    usual = median(steady) if len(steady) >= 5 else 0.0
    kinds = []
    for level, at_s in zip(levels, starts, strict=False):
        if at_s < omit_s:
            kinds.append("omit")
        elif level is None or at_s < start_s or level >= DIP * usual:
            kinds.append("fill")
        else:
            kinds.append("fault" if level < DEEP_DIP * usual else "look")
    return kinds


def _plot_rows(frame: _Frame, plot: _Plot, height: int) -> list[Row]:
    marks = _marks(frame, height)
    eighths = [
        None if level is None else max(1, round(level / frame.top_bps * height * 8))
        for level in plot.levels
    ]
    return [
        _plot_row(frame, plot.kinds, eighths, (height - 1 - down, height), marks.get(down))
        for down in range(height)
    ]


def _plot_row(
    frame: _Frame,
    kinds: Sequence[str],
    eighths: Sequence[int | None],
    place: tuple[int, int],
    mark: str | None,
) -> Row:
    """One row of the plot; `place` is its number from the baseline, and how many there are."""
    glyphs = frame.glyphs
    level, height = place
    shade = round(level * (SHADES - 1) / max(1, height - 1))
    axis = glyphs.tick if mark is not None else glyphs.axis
    row: Row = [(f"{mark or '':>{_LABEL_WIDTH}} ", "muted"), (axis, "rule")]
    for index, reach in enumerate(eighths):
        above = 0 if reach is None else min(8, reach - level * 8)
        if above >= 8:
            row.append((glyphs.full, f"{kinds[index]}{shade}"))
        elif above > 0:
            row.append((glyphs.rising[above], f"{kinds[index]}{shade}"))
        elif mark is not None and index % 4 == 3 and reach is None:
            row.append((glyphs.dot, "rule"))
        else:
            row.append((" ", "text"))
    return fit(_calm(row), frame.width, glyphs)


def _calm(row: Row) -> Row:
    """Let blanks between fills take the fill's role: fewer runs, the same picture."""
    calm = list(row)
    for index in range(1, len(calm) - 1):
        text, role = calm[index]
        before = calm[index - 1][1]
        if text == " " and role == "text" and before != "rule":
            calm[index] = (text, before)
    return joined(calm)


def _marks(frame: _Frame, height: int) -> dict[int, str]:
    """Labels of the value axis: a mark stands for the upper edge of its row."""
    top = frame.top_bps / frame.unit_bps
    fine = [n for n in (5, 4, 3, 2) if height >= 2 * n and _is_round(top / n)]
    parts = next((n for n in fine if height % n == 0), fine[0] if fine else 1)
    return {
        height - round(height * number / parts): f"{top * number / parts:.4g}"
        for number in range(1, parts + 1)
    }


def _is_round(value: float) -> bool:
    return float(f"{value:.2g}") == float(f"{value:.9g}")


def _zero_row(frame: _Frame, name: str) -> Row:
    glyphs = frame.glyphs
    line = f" {name} " if name else ""
    rest = max(0, frame.columns - len(line) - 1)
    return fit(
        [
            (f"{0:>{_LABEL_WIDTH}} ", "muted"),
            (glyphs.tick, "rule"),
            (line, "label"),
            (glyphs.thin * rest, "track"),
        ],
        frame.width,
        glyphs,
    )


def _time_row(frame: _Frame, name: str) -> Row:
    """The time axis: every label ends under the moment it names."""
    cells = [" "] * (frame.columns + 1)
    line = f" {name}" if name else ""
    cells[: len(line)] = line
    step_s = _time_step(frame.end_s, frame.columns)
    number = 1
    while number * step_s <= frame.end_s + 1e-9:
        label = _time_label(number * step_s, step_s)
        at = round(number * step_s / frame.end_s * frame.columns)
        begin = at - len(label)
        if begin > len(line) and all(cell == " " for cell in cells[begin - 1 : at]):
            cells[begin:at] = label
        number += 1
    corner = "+" if frame.glyphs.ascii else "┴"
    row: Row = [(f"{0:>{_LABEL_WIDTH}} ", "muted"), (corner, "rule")]
    return fit([*row, ("".join(cells), "muted")], frame.width, frame.glyphs)


def _time_step(end_s: float, count: int) -> float:
    most = max(1, count // 12)
    return next((step for step in _TIME_STEPS_S if end_s / step <= most), end_s)


def _time_label(at_s: float, step_s: float) -> str:
    if step_s >= 60:
        return f"{at_s / 60:.0f} min" if at_s < 7200 or step_s < 3600 else f"{at_s / 3600:.0f} h"
    return f"{at_s:g} s"
