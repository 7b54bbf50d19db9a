"""Two runs side by side as rows: figures with their noise, settings that differ, a reading."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.rules.compare import LEAST, Change, Comparison, Setting

from .prose import first_fitting
from .rows import UNICODE, Glyphs, Row, cut, fill, fit, pad, pad_left, wrap

METHOD = (
    "Noise is the scatter of each run's own intervals (Welch's test, 95 %, neighbours that are "
    "alike counted as fewer). It does not know what differs from one repeat to the next: where "
    "it matters, run both again."
)


def compare_rows(
    found: Comparison, width: int, height: int, glyphs: Glyphs = UNICODE, *, offset: int = 0
) -> list[Row]:
    """The page, exactly `width` by `height` cells; `offset` rows are scrolled away."""
    if width < 1 or height < 1:
        return []
    rows = all_rows(found, width, glyphs)
    offset = max(0, min(offset, len(rows) - height))
    return fill(rows[offset:], width, height)


def all_rows(found: Comparison, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """The whole page, each row exactly `width` cells."""
    wide = _column(width)
    head: Row = [(pad("", 16), "text"), *((pad_left(name, wide), "label") for name in "AB")]
    rows = [fit([*head, (pad_left("Change", 10), "label")], width, glyphs)]
    rows += [_change(each, width, glyphs) for each in found.changes]
    if not found.changes:
        rows.append(fit([(" no figure is known of both runs", "muted")], width, glyphs))
    rows.append(fit([], width, glyphs))
    rows += _settings(found.differing, width, glyphs)
    rows.append(fit([], width, glyphs))
    rows += _wrapped(reading(found), width, glyphs, "strong")
    return rows + _wrapped(METHOD, width, glyphs, "muted")


def reading(found: Comparison) -> str:
    """What the comparison comes to, in a sentence or two."""
    beyond = [each for each in found.changes if each.beyond]
    unknown = [each for each in found.changes if each.beyond is None]
    if beyond:
        told = ", ".join(f"{each.name} {_percent(each)}" for each in beyond)
        text = f"From A to B, by more than the noise: {told}."
    elif unknown and len(unknown) == len(found.changes):
        return f"Too few intervals to tell: each run needs {LEAST} whole ones behind its start."
    else:
        return "No figure differs by more than the noise."
    names = [each.name for each in found.differing]
    if len(names) == 1:
        return f"{text} Only one setting differs: {names[0]}."
    if not names:
        return f"{text} No setting that was recorded differs: look at the path itself."
    return f"{text} Settings that differ: {', '.join(names[:6])}."


def _change(each: Change, width: int, glyphs: Glyphs) -> Row:
    sign, texts = _judgement(each)
    wide = _column(width)
    words = first_fitting(map(glyphs.text, texts), width - 16 - 2 * wide - 10 - 4)
    row: Row = [
        (f" {pad(each.name, 15)}", "text"),
        (pad_left(_number(each.first), wide), "strong"),
        (pad_left(_number(each.second), wide), "strong"),
        (pad_left(_percent(each), 10), "text"),
        (f"  {getattr(glyphs, sign)} ", sign),
        (words, "text" if each.beyond else "muted"),
    ]
    return fit(row, width, glyphs)


def _column(width: int) -> int:
    return 11 if width >= 76 else 9


def _judgement(each: Change) -> tuple[str, tuple[str, ...]]:
    """The sign, and the words from the longest to the shortest."""
    if each.beyond is None:
        return "pending", ("too few intervals", "too few", "?")
    noise = f"±{_number(each.noise or 0.0)} {each.unit}"
    if not each.beyond:
        return "pending", (f"within noise {noise}", "within noise", "noise", "~")
    word = "better" if each.better == "B" else "worse"
    sign = "ok" if each.better == "B" else "look"
    return sign, (f"B {word}, noise {noise}", f"B {word}, {noise}", f"B {word}", word)


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 or value == 0 else f"{value:.3f}"


def _percent(each: Change) -> str:
    if each.share is None:
        return "new" if each.second else "same"
    return f"{100 * each.share:+.1f} %"


def _settings(differing: Sequence[Setting], width: int, glyphs: Glyphs) -> list[Row]:
    if not differing:
        return [
            fit([(" Settings", "label"), ("  nothing that was recorded differs", "muted")], width)
        ]
    room = max(8, (width - 22) // 2)
    rows = [fit([(" Settings that differ", "label")], width, glyphs)]
    for each in differing:
        texts = [
            cut(glyphs.text(text), room - 2, glyphs.ellipsis) for text in (each.first, each.second)
        ]
        row: Row = [
            (f" {pad(each.name, 18)}", "text"),
            ("  ", "text"),
            (pad(texts[0], room), "data"),
        ]
        rows.append(fit([*row, (texts[1], "data")], width, glyphs))
    return rows


def _wrapped(text: str, width: int, glyphs: Glyphs, role: str) -> list[Row]:
    lines = wrap(glyphs.text(text), width - 2)
    return [fit([(" ", "text"), (line, role)], width, glyphs) for line in lines]
