"""A calculator as rows: its sliders, and gauges, pipes, curves and words below them."""

from __future__ import annotations

from tuiperf.lessons.calculators import Calculator, Curve, Figure, Gauge, Part, Pipe, Remark
from tuiperf.lessons.sliders import Slider

from .prose import wrapped_runs
from .rows import UNICODE, Glyphs, Row, blank, cell_width, fill, fit, pad, pad_left

_LABEL = 9
_VALUE = 11
_LONGEST = 40
_WAITING = 6
"""Cells before the pipe for what waits there."""


def calculator_rows(
    calculator: Calculator, chosen: int, width: int, height: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """The calculator, exactly `width` by `height` cells; `chosen` is the slider that keys move."""
    if width < 1 or height < 1:
        return []
    sliders = [
        _slider(each, number == chosen, width, glyphs)
        for number, each in enumerate(calculator.sliders)
    ]
    parts = calculator.parts()
    rows = _parts(parts, width, glyphs, tall=len(sliders) + _length(parts, width, glyphs) <= height)
    gap = [blank(width)] if len(sliders) + len(rows) < height else []
    return fill([*sliders, *gap, *rows], width, height)


def result_rows(calculator: Calculator, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The sliders' values and what follows, for a page that prints."""
    values = [
        fit([(f" {pad(each.name, _LABEL)}", "muted"), (each.text, "key")], width, glyphs)
        for each in calculator.sliders
    ]
    return [*values, *_parts(calculator.parts(), width, glyphs, tall=True)]


def _length(parts: list[Part], width: int, glyphs: Glyphs) -> int:
    return len(_parts(parts, width, glyphs, tall=True))


def _slider(slider: Slider, chosen: bool, width: int, glyphs: Glyphs) -> Row:
    left, knob, right = ("[", "o", "]") if glyphs.ascii else ("├", "●", "┤")
    value = glyphs.text(slider.text)
    room = width - 1 - _LABEL - 2 - 1 - max(_VALUE, cell_width(value))
    role = "key" if chosen else "muted"
    row: Row = [
        (glyphs.edge if chosen else " ", "key"),
        (pad(slider.name, _LABEL), "strong" if chosen else "text"),
    ]
    if room >= 4:
        at = round(slider.share * (room - 1))
        row += [
            (left + glyphs.thin * at, role),
            (knob, "data" if chosen else "text"),
            (glyphs.thin * (room - 1 - at) + right, role),
        ]
    return fit([*row, (f" {value}", "strong")], width, glyphs)


def _parts(parts: list[Part], width: int, glyphs: Glyphs, *, tall: bool) -> list[Row]:
    rows: list[Row] = []
    for part in parts:
        if isinstance(part, Pipe):
            rows += _pipe(part, width, glyphs, tall=tall)
        elif isinstance(part, Remark):
            lines = wrapped_runs([(part.text, part.role)], width - 2, glyphs)
            rows += [fit([(" ", "text"), *line], width, glyphs) for line in lines]
        elif isinstance(part, Figure):
            rows.append(_labelled(part.label, [(glyphs.text(part.text), part.role)], width, glyphs))
        elif isinstance(part, Gauge):
            rows.append(_gauge(part, width, glyphs))
        else:
            rows.append(_curve(part, width, glyphs))
    return rows


def _labelled(name: str, runs: Row, width: int, glyphs: Glyphs) -> Row:
    return fit([(f" {pad(glyphs.text(name), _LABEL)}", "muted"), *runs], width, glyphs)


def _gauge(gauge: Gauge, width: int, glyphs: Glyphs) -> Row:
    text = f" {glyphs.text(gauge.text)}"
    room = max(3, min(_LONGEST, width - 1 - _LABEL - max(_VALUE + 1, cell_width(text))))
    full = max(0, min(room, round(gauge.share * room)))
    if gauge.share > 0:
        full = max(1, full)
    bar: Row = [(glyphs.line * full, gauge.role), (glyphs.thin * (room - full), "track")]
    return _labelled(gauge.label, [*bar, (text, "strong")], width, glyphs)


def _pipe(pipe: Pipe, width: int, glyphs: Glyphs, *, tall: bool) -> list[Row]:
    """What waits before the pipe, then the pipe as far as it is full."""
    corners = "++++|-" if glyphs.ascii else "╭╮╰╯│─"
    room = max(2, min(_LONGEST, width - 1 - _LABEL - 2 - 1))
    full = min(room, max(1, round(pipe.share * room)))
    waits = min(_WAITING, max(1, round(pipe.waiting * _WAITING))) if pipe.waiting > 0.05 else 0
    head = pad_left(glyphs.full * waits, _WAITING)
    space = pad("", _LABEL - _WAITING + 1)
    middle: Row = [
        (space, "text"),
        (head, "look15"),
        (corners[4], "rule"),
        (glyphs.full * full, "fill12"),
        (" " * (room - full), "text"),
        (corners[4], "rule"),
    ]
    if not tall:
        return [fit(middle, width, glyphs)]
    wall = corners[5] * room
    above, below = pad(" Pipe", _LABEL + 1), pad_left("waiting " if waits else "", _LABEL + 1)
    return [
        fit([(above, "muted"), (corners[0] + wall + corners[1], "rule")], width, glyphs),
        fit(middle, width, glyphs),
        fit([(below, "look"), (corners[2] + wall + corners[3], "rule")], width, glyphs),
    ]


def _curve(curve: Curve, width: int, glyphs: Glyphs) -> Row:
    text = f" {glyphs.text(curve.text)}"
    room = max(2, width - 1 - _LABEL - max(_VALUE + 1, cell_width(text)))
    steps = glyphs.rising[1:] + glyphs.full
    top = max(curve.values, default=0.0) or 1.0
    bars = "".join(
        steps[min(len(steps) - 1, int(value / top * len(steps)))] for value in curve.values[:room]
    )
    row: Row = [(pad(bars, min(room, len(curve.values))), "data"), (text, "strong")]
    return _labelled(curve.label, row, width, glyphs)
