"""The verdict panel: glyph, word and number of every verdict, and the first one explained."""

from __future__ import annotations

from collections.abc import Sequence

from tuiperf.rules.verdict import Level, Verdict

from .rows import UNICODE, Glyphs, Row, cell_width, fill, fit, pad, whole_words, wrap

ROLE_OF = {
    Level.FINE: "ok",
    Level.LOOK: "look",
    Level.FAULT: "fault",
    Level.PENDING: "pending",
}
"""The role that goes with a level; the glyph differs too."""


def level_glyph(level: Level, glyphs: Glyphs) -> str:
    return {
        Level.FINE: glyphs.ok,
        Level.LOOK: glyphs.look,
        Level.FAULT: glyphs.fault,
        Level.PENDING: glyphs.pending,
    }[level]


def verdict_rows(
    verdicts: Sequence[Verdict], width: int, height: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """The panel, exactly `width` by `height` cells.

    Verdicts come first, one line each. What room is left goes to the first one's claim and to what
    to do next.
    """
    if width < 1 or height < 1:
        return []
    titles = max((cell_width(glyphs.text(each.title)) for each in verdicts), default=0)
    rows = [verdict_line(each, width, glyphs, titles) for each in verdicts[:height]]
    room = height - len(rows)
    if verdicts and room > 0:
        rows += _story(verdicts[0], width, room, glyphs)
    return fill(rows, width, height)


def verdict_line(
    verdict: Verdict, width: int, glyphs: Glyphs = UNICODE, title_width: int = 0
) -> Row:
    """One verdict in one line: glyph, title, number, which is shortened by whole words."""
    title = glyphs.text(verdict.title)
    short = glyphs.text(verdict.short)
    room = max(cell_width(title), min(title_width, width - 6 - cell_width(short)))
    gap = "  " if 5 + room + cell_width(short) <= width else " "
    short = whole_words(short, width - 3 - room - len(gap), glyphs)
    return fit(
        [
            (f" {level_glyph(verdict.level, glyphs)} ", ROLE_OF[verdict.level]),
            (pad(title, room), "muted" if verdict.level is Level.PENDING else "strong"),
            (gap, "text"),
            (short, "text"),
        ],
        width,
        glyphs,
    )


def explanation_rows(
    verdicts: Sequence[Verdict],
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    offset: int = 0,
) -> list[Row]:
    """The first verdict in full, with the reader's own numbers, then the others in a line each.

    Exactly `width` by `height` cells; `offset` rows are scrolled away at the top.
    """
    if width < 1 or height < 1:
        return []
    rows = _explanation(verdicts, width, glyphs)
    offset = max(0, min(offset, len(rows) - height))
    return fill(rows[offset:], width, height)


def clamp_explanation(
    verdicts: Sequence[Verdict], size: tuple[int, int], glyphs: Glyphs, offset: int
) -> int:
    """The nearest offset that still fills a panel of this width and height."""
    rows = _explanation(verdicts, max(1, size[0]), glyphs)
    return max(0, min(offset, len(rows) - size[1]))


def _explanation(verdicts: Sequence[Verdict], width: int, glyphs: Glyphs) -> list[Row]:
    if not verdicts:
        return []
    others = [verdict_line(each, width, glyphs) for each in verdicts[1:]]
    gap = [fit([], width, glyphs)] if others else []
    return [*full_rows(verdicts[0], width, glyphs), *gap, *others]


def full_rows(verdict: Verdict, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """All a verdict has to say, as many rows as it takes, each exactly `width` cells."""
    confidence = f"{verdict.confidence.value} confidence"
    rows = [verdict_line(verdict, width, glyphs)]
    rows += _paragraph(verdict.claim, width, glyphs, "text")
    rows.append(fit([], width, glyphs))
    for name, role, texts in (
        ("how", "text", verdict.explanation),
        ("because", "text", verdict.because),
        ("ruled out", "muted", verdict.ruled_out),
        ("next", "strong", verdict.next),
    ):
        rows += labelled(name, texts, width, glyphs, role=role)
    if verdict.level is not Level.PENDING:
        rows += labelled("sure?", (confidence,), width, glyphs, role="muted")
    return rows


def labelled(
    name: str, texts: Sequence[str], width: int, glyphs: Glyphs, *, role: str, indent: int = 3
) -> list[Row]:
    """Texts beside a label in the margin, wrapped."""
    rows: list[Row] = []
    margin = 11
    label = (pad(name, margin), "key" if name == "next" else "label")
    for text in texts:
        for line in wrap(glyphs.text(text), width - indent - margin - 1):
            head = label if not rows else (" " * margin, "text")
            rows.append(fit([(" " * indent, "text"), head, (line, role)], width, glyphs))
    return rows


def _paragraph(text: str, width: int, glyphs: Glyphs, role: str, indent: int = 3) -> list[Row]:
    lines = wrap(glyphs.text(text), width - indent - 1)
    return [fit([(" " * indent, "text"), (line, role)], width, glyphs) for line in lines]


def _story(verdict: Verdict, width: int, room: int, glyphs: Glyphs) -> list[Row]:
    """The first verdict's claim, what to do next, and as many of its reasons as fit whole."""
    role = "muted" if verdict.level is Level.PENDING else "text"
    claim = _paragraph(verdict.claim, width, glyphs, role, indent=1)
    advice = _named(verdict.next[:1], "next", width, glyphs)
    reasons = [_item(reason, width, glyphs) for reason in verdict.because]
    gap = [fit([], width, glyphs)]
    rows = [*claim, *advice]
    if len(rows) < room:
        rows = [*gap, *rows]
    if advice and len(rows) < room:
        rows = [*gap, *claim, *gap, *advice]
    before_reasons = len(gap) + len(claim)
    for reason in reasons:
        if len(rows) + len(reason) > room:
            break
        rows[before_reasons:before_reasons] = reason
        before_reasons += len(reason)
    return rows


def _named(texts: Sequence[str], name: str, width: int, glyphs: Glyphs) -> list[Row]:
    lines = [line for text in texts for line in wrap(glyphs.text(text), width - 8)]
    return [
        fit([(f" {'' if index else name:6}", "key"), (line, "text")], width, glyphs)
        for index, line in enumerate(lines)
    ]


def _item(text: str, width: int, glyphs: Glyphs) -> list[Row]:
    lines = wrap(glyphs.text(text), width - 5)
    return [
        fit([(f"  {' ' if index else glyphs.dot} ", "rule"), (line, "muted")], width, glyphs)
        for index, line in enumerate(lines)
    ]
