"""Rows of text with roles: what every screen and every plain page is made of.

A row is a list of runs, a run is a text and the role it plays ("muted", "look", …). What a role
looks like is decided by whoever shows the row: a theme, a terminal's codes, or nothing at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

Run = tuple[str, str]
Row = list[Run]

SHADES = 16
"""Steps of a fill's colour from the baseline (0) up."""

ROLES = (
    "text",
    "strong",
    "muted",
    "label",
    "data",
    "spark",
    "ok",
    "look",
    "fault",
    "pending",
    "title",
    "key",
    "rule",
    "track",
    *(f"{kind}{step}" for kind in ("fill", "look", "fault", "omit") for step in range(SHADES)),
)
"""Every role a row may use."""

_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\t": " "})
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Me"}
_UNSHOWABLE = {*map(chr, range(0x1F3FB, 0x1F400)), "\u3164", "\uffa0"}  # modifiers, fillers
_WIDE_SINCE_16 = ((0x2630, 0x2637), (0x268A, 0x268F), (0x4DC0, 0x4DFF), (0x1D300, 0x1D376))
_JAMO = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))  # the parts of a syllable that take no cell
_ASCII_WORDS = str.maketrans(
    {
        "→": "->",
        "←": "<-",
        "×": "x",
        "–": "-",
        "—": "-",
        "−": "-",
        "…": "...",
        "·": ".",
        "•": "*",
        "≥": ">=",
        "≤": "<=",
        "≈": "~",
        "µ": "u",
        "μ": "u",
        "±": "+/-",
        "°": "deg",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "√": "sqrt",
    }
)


def escape(text: str, limit: int = 1000) -> str:
    """Make a foreign string safe to show: one line, no control, no invisible, no direction marks.

    Such characters become their escape (ESC is shown as \\x1b). Longer texts are cut at `limit`.
    """
    if text.isascii() and text.isprintable():
        return text[:limit]
    shown = []
    for char in unicodedata.normalize("NFC", text[:limit].translate(_BREAKS)):
        if unicodedata.category(char) in _HIDDEN or char in _UNSHOWABLE:
            shown.append(_code(char))
        else:
            shown.append(char)
    return "".join(shown)


def _code(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


@dataclass(frozen=True)
class Glyphs:
    """The characters to draw with. Every one of them is one cell wide."""

    ascii: bool
    ok: str
    look: str
    fault: str
    pending: str
    running: str
    edge: str  # left edge of a card
    full: str
    rising: str  # partial heights, lowest first, a blank at 0
    line: str  # thick line: bars and progress
    line_half: str
    thin: str
    dashes: str
    tick: str
    axis: str
    dot: str
    divider: str
    ellipsis: str
    dash: str
    none: str  # a zero that needs no attention

    def text(self, text: str) -> str:
        """A foreign or worded string as it may be shown with these glyphs."""
        safe = escape(text)
        if not self.ascii or safe.isascii():
            return safe
        return safe.translate(_ASCII_WORDS).encode("ascii", "replace").decode("ascii")


UNICODE = Glyphs(
    ascii=False,
    ok="●",
    look="▲",
    fault="■",
    pending="·",
    running="●",
    edge="▌",
    full="█",
    rising=" ▁▂▃▄▅▆▇",
    line="━",
    line_half="╸",
    thin="─",
    dashes="╌",
    tick="┤",
    axis="│",
    dot="·",
    divider="│",
    ellipsis="…",
    dash="–",
    none="·",
)

ASCII = Glyphs(
    ascii=True,
    ok="o",
    look="!",
    fault="X",
    pending=".",
    running="*",
    edge="|",
    full="#",
    rising=" ..::++#",
    line="=",
    line_half="-",
    thin="-",
    dashes="-",
    tick="+",
    axis="|",
    dot=".",
    divider="|",
    ellipsis="~",
    dash="-",
    none=".",
)


def cell_width(text: str) -> int:
    """Cells a terminal gives to an escaped text: two for East Asian wide, none for marks.

    Widths of Unicode Annex 11, with what version 16 made wide.
    """
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Mc") or _within(char, _JAMO):
        return 0
    wide = unicodedata.east_asian_width(char) in "WF" or _within(char, _WIDE_SINCE_16)
    return 2 if wide else 1


def _within(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Shorten a text to at most `width` cells; the ellipsis shows that something is missing."""
    if cell_width(text) <= width:
        return text
    if width < 1:
        return ""
    kept = []
    left = width - cell_width(ellipsis)
    for char in text:
        left -= _char_width(char)
        if left < 0:
            break
        kept.append(char)
    return "".join(kept) + ellipsis


def whole_words(text: str, width: int, glyphs: Glyphs = UNICODE) -> str:
    """As many words as fit, no number cut or without its unit; "" when that leaves nothing."""
    if cell_width(text) <= width:
        return text
    kept = text
    while kept:
        kept = kept.rpartition(" ")[0]
        bare_number = kept.rpartition(" ")[2][:1].isdigit()
        if cell_width(kept + glyphs.ellipsis) <= width and not bare_number:
            break
    return kept + glyphs.ellipsis if kept else ""


def pad(text: str, width: int, ellipsis: str = "…") -> str:
    """Make a text exactly `width` cells wide, at the left."""
    text = cut(text, width, ellipsis)
    return text + " " * (width - cell_width(text))


def pad_left(text: str, width: int, ellipsis: str = "…") -> str:
    """Make a text exactly `width` cells wide, at the right."""
    text = cut(text, width, ellipsis)
    return " " * (width - cell_width(text)) + text


def row_width(row: Iterable[Run]) -> int:
    return sum(cell_width(text) for text, _ in row)


def fit(row: Iterable[Run], width: int, glyphs: Glyphs = UNICODE) -> Row:
    """Make a row exactly `width` cells wide and join neighbours of one role."""
    runs = joined(row)
    too_long = row_width(runs) > width
    left = width - (cell_width(glyphs.ellipsis) if too_long else 0)
    fitted: Row = []
    for text, role in runs:
        shown = cut(text, left, "")
        _join(fitted, shown, role)
        left -= cell_width(shown)
        if shown != text:
            if width > 0:
                _join(fitted, glyphs.ellipsis, role)
            break
    _join(fitted, " " * (width - row_width(fitted)), "text")
    return fitted


def _join(row: Row, text: str, role: str) -> None:
    if not text:
        return
    if row and row[-1][1] == role:
        row[-1] = (row[-1][0] + text, role)
    else:
        row.append((text, role))


def joined(row: Iterable[Run]) -> Row:
    """The same row with neighbours of one role made into one run."""
    result: Row = []
    for text, role in row:
        _join(result, text, role)
    return result


def ends(left: Row, right: Row, width: int, glyphs: Glyphs = UNICODE) -> Row:
    """A row with one part at each end; the left part gives way when both do not fit."""
    right_width = row_width(right)
    if right_width >= width:
        return fit(right, width, glyphs)
    gap = 1 if right_width else 0
    return joined([*fit(left, width - right_width - gap, glyphs), (" " * gap, "text"), *right])


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, at blanks where there are some."""
    width = max(2, width)
    lines: list[str] = []
    line = ""
    for each in text.split():
        word = each
        grown = f"{line} {word}" if line else word
        if cell_width(grown) <= width:
            line = grown
            continue
        if line:
            lines.append(line)
        while cell_width(word) > width:
            head = cut(word, width, "")
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line] if line else lines


def blank(width: int) -> Row:
    return [(" " * width, "text")] if width > 0 else []


def fill(rows: list[Row], width: int, height: int) -> list[Row]:
    """Exactly `height` rows: the first ones, or blank ones added below."""
    return rows[:height] + [blank(width) for _ in range(height - len(rows))]


def to_text(row: Iterable[Run]) -> str:
    """The row without roles and without blanks at its end."""
    return "".join(text for text, _ in row).rstrip()
