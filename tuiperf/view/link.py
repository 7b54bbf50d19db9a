"""The link check as rows: heading, checks, the chosen one in detail, a summary, counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import rights_missing
from tuiperf.rules.verdict import Level, Verdict

from .link_checks import Check, counts, done
from .numbers import nice_ceiling
from .rows import (
    UNICODE,
    Glyphs,
    Row,
    cell_width,
    cut,
    ends,
    fill,
    fit,
    pad,
    pad_left,
    wrap,
)
from .verdicts import ROLE_OF, full_rows, labelled, level_glyph

_WORDS = {
    Level.FAULT: ("fault", "faults"),
    Level.LOOK: ("to look at", "to look at"),
    Level.FINE: ("fine", "fine"),
    Level.PENDING: ("not to be told", "not to be told"),
}
_ORDER = (Level.FAULT, Level.LOOK, Level.FINE, Level.PENDING)


MINUTE = 60
"""Cells of a counter's curve: one a second."""


@dataclass(frozen=True)
class Series:
    """A counter's rate over the last minute, a value a second, newest last."""

    name: str
    values: tuple[float, ...]
    unit: str  # "/s", or "%" for a share of 100
    bad: bool = False  # any of it is one too many


def subject(facts: LinkFacts) -> str:
    """What is looked at, in words: "eth0", or "lab-b by br0 → eth0"."""
    way = " → ".join(facts.chain)
    if facts.host and facts.host != facts.address and facts.address:
        return f"{facts.host} ({facts.address}) by {way}" if way else facts.host
    return f"{facts.host} by {way}" if facts.host and way else way or facts.host or facts.asked


def heading_rows(
    facts: LinkFacts, listed: Sequence[Check], width: int, glyphs: Glyphs = UNICODE, note: str = ""
) -> list[Row]:
    """Title and progress, each exactly `width` cells."""
    if width < 1:
        return [[], []]
    total, ready = len(listed), done(listed)
    running = not facts.over
    word = note or (f"{ready} of {total} checked" if running else f"{total} checked")
    role = "data" if running or note else _worst_role(listed)
    right: Row = [(f"{glyphs.running} ", role), (word, "muted"), (" ", "text")]
    left: Row = [
        (" tuiperf", "title"),
        ("  Link check", "strong"),
        (f"  {glyphs.divider}  ", "rule"),
        (glyphs.text(subject(facts)), "text"),
    ]
    share = ready / total if total else 0.0
    full = round(share * (width - 2)) if running else width - 2
    bar: Row = [
        (" ", "text"),
        (glyphs.line * max(0, full), role),
        (glyphs.thin * max(0, width - 2 - full), "track"),
        (" ", "text"),
    ]
    return [ends(left, right, width, glyphs), fit(bar, width, glyphs)]


def _worst_role(listed: Sequence[Check]) -> str:
    return next(
        (ROLE_OF[level] for level in _ORDER if any(each.level is level for each in listed)), "ok"
    )


def check_rows(
    listed: Sequence[Check],
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    selected: int = -1,
    offset: int = 0,
) -> list[Row]:
    """The table, exactly `width` by `height` cells; from 16 rows and 70 cells on with a heading."""
    if width < 1 or height < 1:
        return []
    columns = _columns(listed, width, glyphs)
    rows = []
    if width >= 66 and height > len(listed):
        rows.append(_titles(columns, width, glyphs))
    room = height - len(rows)
    for number in range(offset, min(len(listed), offset + room)):
        rows.append(_check_row(listed[number], columns, width, glyphs, number == selected))
    return fill(rows, width, height)


def _columns(listed: Sequence[Check], width: int, glyphs: Glyphs) -> tuple[int, int]:
    """The widths of name and finding; what is left is the reading's."""
    name = max((cell_width(each.name) for each in listed), default=0)
    found = max((cell_width(glyphs.text(each.found)) for each in listed), default=0)
    reading = max((cell_width(glyphs.text(each.reading)) for each in listed), default=0)
    left = width - 3 - name - 2 - 2 - 1
    return name, max(8, min(found, left - min(reading, max(12, left // 2))))


def _titles(columns: tuple[int, int], width: int, glyphs: Glyphs) -> Row:
    text = f"   {pad('Check', columns[0])}  {pad('Found', columns[1])}  Reading"
    return fit([(text, "label")], width, glyphs)


def _check_row(
    check: Check, columns: tuple[int, int], width: int, glyphs: Glyphs, selected: bool
) -> Row:
    name, found = columns
    running = check.running
    mark = glyphs.edge if selected else " "
    quiet = check.level in (Level.FINE, Level.PENDING)
    return fit(
        [
            (mark, "key"),
            (level_glyph(check.level, glyphs), ROLE_OF[check.level]),
            (" ", "text"),
            (pad(check.name, name), "strong" if selected else "muted" if running else "text"),
            ("  ", "text"),
            (pad(glyphs.text(check.found), found, glyphs.ellipsis), "text"),
            ("  ", "text"),
            (glyphs.text(check.reading), "muted" if quiet else ROLE_OF[check.level]),
        ],
        width,
        glyphs,
    )


def clamp(selected: int, count: int, room: int, offset: int) -> tuple[int, int]:
    """A selection that exists, and the offset that shows it."""
    selected = max(0, min(selected, count - 1))
    lowest = max(0, selected - room + 1)
    return selected, max(0, min(max(offset, lowest), selected, max(0, count - room)))


def detail_rows(
    check: Check | None, width: int, height: int, glyphs: Glyphs = UNICODE, offset: int = 0
) -> list[Row]:
    """The chosen check in full, exactly `width` by `height` cells."""
    if width < 1 or height < 1:
        return []
    rows = [] if check is None else _detail(check, width, glyphs, height)
    offset = max(0, min(offset, len(rows) - height))
    return fill(rows[offset:], width, height)


def detail_length(check: Check | None, width: int, glyphs: Glyphs = UNICODE) -> int:
    """How many rows the detail has."""
    return 0 if check is None or width < 1 else len(_detail(check, width, glyphs, 99))


def _detail(check: Check, width: int, glyphs: Glyphs, height: int) -> list[Row]:
    rows: list[Row] = []
    verdict = check.verdict
    if verdict is not None:
        rows += [
            fit([(f" {line}", "text")], width, glyphs)
            for line in wrap(glyphs.text(verdict.claim), width - 2)
        ]
        spare = height - len(rows) - len(verdict.next) - len(verdict.because)
        if spare >= 2:
            rows.append(fit([], width, glyphs))
        rows += _steps(verdict, width, glyphs)
        rows += labelled("because", verdict.because, width, glyphs, role="muted", indent=2)
        rows += labelled("ruled out", verdict.ruled_out, width, glyphs, role="muted", indent=2)
    elif not check.found:
        words = (
            "This is still being looked at." if check.running else f"Not known: {check.reading}."
        )
        rows.append(fit([(f" {words}", "muted")], width, glyphs))
    for name, text in check.more:
        rows += labelled(cut(name, 10, ""), (text,), width, glyphs, role="text", indent=2)
    return rows


_STEPS = ("look", "try", "then")


def step(text: str) -> tuple[str, str]:
    """A next step's first word ("look", "try", "then") and the rest of it."""
    head, colon, rest = text.partition(": ")
    return (head, rest) if colon and head in _STEPS else ("next", text)


def command_of(check: Check | None) -> str:
    """What a reader would copy of a check: its first command, "" when it has none."""
    if check is None or check.verdict is None:
        return ""
    steps = [step(text) for text in check.verdict.next]
    return next((text for _, text in steps if text.split(" ")[0] in _COMMANDS), "")


_COMMANDS = ("ethtool", "ip", "sysctl", "cat", "cpupower", "systemctl", "grep", "dmesg", "tuiperf")
_WRITES = (
    "ethtool -G",
    "ethtool -K",
    "ethtool -s",
    "sysctl -w",
    "ip link set",
    "cpupower",
    "systemctl",
    "ip route change",
)


def _steps(verdict: Verdict, width: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = []
    for text in sorted(
        verdict.next, key=lambda each: _STEPS.index(step(each)[0]) if step(each)[0] in _STEPS else 0
    ):
        name, words = step(text)
        root = words.startswith(_WRITES)
        room = width - 14 - (len(_ROOT) + 4 if root and width >= 76 else 0)
        lines = wrap(glyphs.text(words), room)
        for number, line in enumerate(lines):
            row: Row = [("  ", "text"), (pad("" if number else name, 11), "key"), (line, "strong")]
            if root and number == 0 and width >= 76:
                row += [(" " * max(2, room - cell_width(line) + 3), "text"), (_ROOT, "muted")]
            rows.append(fit(row, width, glyphs))
    return rows


_ROOT = "needs root; tuiperf never runs it"


def summary_rows(
    facts: LinkFacts,
    listed: Sequence[Check],
    verdicts: Sequence[Verdict],
    size: tuple[int, int],
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """How many checks of each kind, what comes first, and what root would add."""
    width, height = size
    if width < 1 or height < 1:
        return []
    rows: list[Row] = []
    running = len(listed) - done(listed)
    known = counts(listed)
    for level in _ORDER:
        told = known[level] - (running if level is Level.PENDING else 0)
        if told > 0:
            rows.append(_count_row(level, told, width, glyphs))
    if running:
        text = (f" {glyphs.pending} ", "pending"), (f"{running} still running", "muted")
        rows.append(fit(text, width, glyphs))
    rows.append(fit([], width, glyphs))
    first = verdicts[0] if verdicts else None
    if first is not None:
        rows += _paragraph(f"First: {first.claim}", "text", width, glyphs)
        rows.append(fit([], width, glyphs))
    missing = rights_missing(facts.gaps)
    if missing:
        rows += _paragraph(f"Root would add: {', '.join(missing)}.", "muted", width, glyphs)
    sends = "pings, and probes of the path" if facts.address else "pings to the gateway"
    rows += _paragraph(
        f"A link check sends nothing but {sends}; no peer is needed.", "muted", width, glyphs
    )
    return fill(rows, width, height)


def _count_row(level: Level, count: int, width: int, glyphs: Glyphs) -> Row:
    word = _WORDS[level][count > 1]
    return fit(
        [(f" {level_glyph(level, glyphs)} ", ROLE_OF[level]), (f"{count} {word}", "text")],
        width,
        glyphs,
    )


def _paragraph(text: str, role: str, width: int, glyphs: Glyphs) -> list[Row]:
    return [fit([(f" {line}", role)], width, glyphs) for line in wrap(glyphs.text(text), width - 2)]


def counter_rows(
    series: Sequence[Series], width: int, height: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """A line a counter: its name, its last minute, its newest value. Exactly `width` cells."""
    if width < 1 or height < 1:
        return []
    name = max((cell_width(each.name) for each in series), default=0)
    number = 12
    room = max(1, min(MINUTE, width - name - number - 5))
    rows = [_counter_row(each, (name, room, number), width, glyphs) for each in series]
    return fill(rows, width, height)


def _counter_row(each: Series, columns: tuple[int, int, int], width: int, glyphs: Glyphs) -> Row:
    name, room, number = columns
    shown = each.values[-room:]
    top = 100.0 if each.unit == "%" else nice_ceiling(max(shown, default=0.0))
    curve = "".join(_height(value, top, glyphs) for value in shown)
    newest = shown[-1] if shown else None
    role = "fault" if each.bad and any(shown) else "spark"
    value = "-" if newest is None else _amount(newest, each.unit)
    return fit(
        [
            (f" {pad(each.name, name)}  ", "muted"),
            (pad(curve, room), role),
            (f"  {pad_left(value, number)}", "text"),
        ],
        width,
        glyphs,
    )


def _height(value: float, top: float, glyphs: Glyphs) -> str:
    steps = glyphs.rising + glyphs.full
    if value <= 0:
        return " " if glyphs.ascii else steps[1]
    return steps[max(1, min(len(steps) - 1, round(value / top * (len(steps) - 1))))]


def _amount(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value:.0f} %"
    if value >= 1e6:
        return f"{value / 1e6:.1f} M{unit}"
    return f"{value / 1e3:.1f} k{unit}" if value >= 10_000 else f"{value:.0f} {unit}"


def plain_rows(
    facts: LinkFacts,
    listed: Sequence[Check],
    verdicts: Sequence[Verdict],
    width: int,
    glyphs: Glyphs = UNICODE,
) -> list[Row]:
    """The whole check for a page that scrolls: the same rows, then each verdict in full."""
    rows: list[Row] = [
        [("tuiperf  ", "title"), (glyphs.text(f"Link check, {subject(facts)}"), "strong")],
        [],
    ]
    if listed and not facts.problem:
        rows += check_rows(listed, width, len(listed), glyphs)
        rows.append([])
    for verdict in verdicts:
        rows += full_rows(verdict, width, glyphs)
        rows.append([])
    missing = rights_missing(facts.gaps)
    if missing:
        rows.append([("  ", "text"), (f"root would add: {', '.join(missing)}", "muted")])
    return rows
