"""The first page: what one can find out, this machine at a glance, and peers measured before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from tuiperf.glance import Glance
from tuiperf.peers import Peer

from .numbers import FAST, USUAL
from .rows import UNICODE, Glyphs, Row, cell_width, cut, ends, fill, fit, pad, pad_left, wrap

DAY_S = 86400.0


class Question(NamedTuple):
    """One thing to find out: the key and mode that answer it, and what that takes."""

    key: str
    mode: str
    text: str
    takes: str


QUESTIONS = (
    Question("1", "run", "How fast is this path?", "a run, live, 10 s"),
    Question("2", "sweep", "Why is it slower than it should be?", "a guided sweep, about 2 min"),
    Question("3", "link", "Is the link itself healthy?", "a link check, no peer needed"),
    Question("4", "lessons", "What does this number mean?", "eight lessons, with your numbers"),
    Question("5", "recordings", "Has anything changed?", "past runs, two side by side"),
)
"""In the order of their keys, which are those of the modes."""


def heading_rows(glance: Glance, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """Title and rule, each exactly `width` cells."""
    if width < 1:
        return [[], []]
    bar = (f"  {glyphs.divider}  ", "rule")
    left: Row = [(" tuiperf", "title"), bar, ("Home", "strong")]
    if glance.host:
        left += [bar, (glyphs.text(glance.host), "muted")]
    came = f"over ssh from {glyphs.text(glance.ssh_from)} " if glance.ssh_from else ""
    rule = (glyphs.thin * max(0, width - 2), "track")
    return [
        ends(left, [(came, "muted")] if came else [], width, glyphs),
        fit([(" ", "text"), rule], width, glyphs),
    ]


def question_rows(
    questions: Sequence[Question], width: int, height: int, glyphs: Glyphs = UNICODE
) -> list[Row]:
    """The questions with their keys, exactly `width` by `height` cells."""
    if width < 1 or height < 1:
        return []
    longest = max((len(each.text) for each in questions), default=0)
    takes = max((len(each.takes) for each in questions), default=0)
    keys = max((len(each.key) for each in questions), default=0)
    told = 3 + keys + longest + 3 + takes <= width
    rows = []
    for each in questions:
        row: Row = [(f" {pad(each.key, keys)}  ", "key"), (pad(each.text, longest + 3), "strong")]
        if told:
            row.append((each.takes, "muted"))
        rows.append(fit(row, width, glyphs))
    return fill(rows, width, height)


def machine_rows(
    glance: Glance, width: int, height: int, glyphs: Glyphs = UNICODE, *, toward: str = ""
) -> list[Row]:
    """This machine: interface, speed, congestion control, and a warning about SSH."""
    if width < 1 or height < 1:
        return []
    warning = ssh_warning(glance, toward)
    rows = [
        fit([(f" {pad(label, 6)}", "label"), (glyphs.text(text), role)], width, glyphs)
        for label, text, role in _facts(glance, width - 8)
        if label in ("Link", "TCP") or not warning
    ]
    if warning:
        rows += _wrapped(glyphs.look, warning, width, glyphs)
    return fill(rows, width, height)


def ssh_warning(glance: Glance, toward: str = "") -> str:
    """Why what this session writes could disturb the test; "" when it does not go that way."""
    if not glance.ssh_crosses:
        return ""
    where = f"towards {toward}" if toward else "that tests would use"
    return (
        f"This ssh session crosses {glance.interface}, the interface {where}: "
        "the screen is part of the load. ssh -C keeps it small."
    )


def _facts(glance: Glance, room: int) -> list[tuple[str, str, str]]:
    facts = []
    if glance.interface:
        parts = [glance.interface, _speed(glance)]
        if glance.mtu_bytes:
            parts.append(f"MTU {glance.mtu_bytes}")
        while len(", ".join(parts)) > room and len(parts) > 2:
            parts.pop()
        facts.append(("Link", ", ".join(parts), "text"))
    else:
        facts.append(("Link", "no route to a peer", "look"))
    if glance.address:
        facts.append(("", glance.address, "muted"))
    if glance.congestion:
        queue = f", {glance.qdisc} by default" if glance.qdisc else ""
        buffers = (
            f", rmem max {glance.receive_max_bytes / 1e6:.0f} MB"
            if glance.receive_max_bytes
            else ""
        )
        text = glance.congestion + queue + buffers
        facts.append(("TCP", text if len(text) <= room else glance.congestion + queue, "text"))
    facts.append(("CPU", f"{glance.cores} core{'s' if glance.cores != 1 else ''}", "text"))
    return facts


def _speed(glance: Glance) -> str:
    if glance.speed_bps:
        unit = "Gbit/s" if glance.speed_bps >= 1e9 else "Mbit/s"
        number = glance.speed_bps / (1e9 if unit == "Gbit/s" else 1e6)
        return f"{number:g} {unit}{f' {glance.duplex}' if glance.duplex else ''}"
    return "virtual, no speed" if glance.virtual else "speed not told"


def peer_rows(
    peers: Sequence[Peer],
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    selected: int = 0,
    offset: int = 0,
    now_s: float = 0.0,
) -> list[Row]:
    """The peers measured before with a heading, exactly `width` by `height` cells."""
    if width < 1 or height < 1:
        return []
    if not peers:
        return fill(_no_peers(width, glyphs), width, height)
    layout = _Layout.fitting(width, glyphs, now_s)
    rows = [_peer_heading(layout, width)]
    for number, peer in enumerate(peers[offset : offset + height - 1], offset):
        rows.append(_peer(peer, number == selected, layout, width))
    return fill(rows, width, height)


class _Layout(NamedTuple):
    """The columns that fit, with what all rows of one table have in common."""

    glyphs: Glyphs
    now_s: float
    name: int
    verdict: int
    when: bool
    test: bool

    @classmethod
    def fitting(cls, width: int, glyphs: Glyphs, now_s: float) -> _Layout:
        if width < 56:
            return cls(glyphs, now_s, max(8, width - 16), 0, False, False)
        test = width >= 72
        rest = width - 3 - 11 - 14 - (9 if test else 0)
        name = max(14, rest * 45 // 100)
        return cls(glyphs, now_s, name, rest - name - 2, True, test)


def _peer_heading(layout: _Layout, width: int) -> Row:
    row: Row = [("   ", "text"), (pad("Peer", layout.name), "label")]
    if layout.test:
        row.append((pad("Test", 9), "label"))
    row.append((pad_left("Mbit/s", 9), "label"))
    if layout.verdict:
        row += [("  ", "text"), (pad("Verdict", layout.verdict), "label")]
    if layout.when:
        row += [("  ", "text"), (pad("When", 14), "label")]
    return fit(row, width, layout.glyphs)


def _peer(peer: Peer, selected: bool, layout: _Layout, width: int) -> Row:
    glyphs = layout.glyphs
    mark = (">" if glyphs.ascii else "❯") if selected else " "
    address = peer.address if peer.address and peer.address not in peer.target else ""
    target = glyphs.text(peer.target)
    shown = cut(target, layout.name - 1, glyphs.ellipsis)
    left = layout.name - cell_width(shown)
    note = f" {glyphs.text(address)}" if address and len(address) + 3 <= left else ""
    row: Row = [
        (f" {mark} ", "key"),
        (shown, "strong" if selected else "text"),
        (pad(note, max(0, layout.name - cell_width(shown))), "muted"),
    ]
    if layout.test:
        row.append((pad(glyphs.text(peer.test), 9), "muted"))
    row.append((pad_left(rate_text(peer.goodput_bps), 9), "text"))
    if layout.verdict:
        sign = {"fine": "ok", "look": "look", "fault": "fault"}.get(peer.level, "pending")
        glyph = str(getattr(glyphs, sign)) if peer.title else " "
        words = cut(glyphs.text(peer.title), layout.verdict - 2, glyphs.ellipsis)
        row += [("  ", "text"), (f"{glyph} ", sign), (pad(words, layout.verdict - 2), "text")]
    if layout.when:
        row += [("  ", "text"), (pad(ago(peer.when_s, layout.now_s), 14), "muted")]
    return fit(row, width, glyphs)


def rate_text(rate_bps: float | None) -> str:
    """A rate in Mbit/s, the unit of the column."""
    if rate_bps is None:
        return "-"
    return USUAL.number(rate_bps) if rate_bps < FAST.bps * 10 else f"{rate_bps / 1e6:.0f}"


def ago(then_s: float, now_s: float) -> str:
    """How long ago in words, and the date from two days on."""
    past_s = now_s - then_s
    if past_s < 90:
        return "just now"
    if past_s < 3600 * 1.5:
        return f"{past_s / 60:.0f} min ago"
    if past_s < DAY_S:
        return f"{past_s / 3600:.0f} h ago"
    if past_s < 2 * DAY_S:
        return "yesterday"
    shape = "%d %b" if past_s < 300 * DAY_S else "%d %b %Y"
    return time.strftime(shape, time.localtime(then_s)).lstrip("0")


def _no_peers(width: int, glyphs: Glyphs) -> list[Row]:
    text = (
        "None yet. Press n and name a host that runs iperf3 -s or tuiperf -s; "
        "it will be listed here."
    )
    return [fit([], width, glyphs), *_wrapped(glyphs.pending, text, width, glyphs, "muted")]


def _wrapped(mark: str, text: str, width: int, glyphs: Glyphs, role: str = "look") -> list[Row]:
    lines = wrap(glyphs.text(text), width - 4)
    return [
        fit([(f" {mark if index == 0 else ' '} ", role), (line, role)], width, glyphs)
        for index, line in enumerate(lines)
    ]
