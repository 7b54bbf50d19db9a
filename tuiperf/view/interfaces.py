"""The list of interfaces to choose from, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuiperf.evidence.link import DeviceClass
from tuiperf.evidence.listing import Listed
from tuiperf.rules.expectation import speed
from tuiperf.rules.verdict import Level

from .rows import UNICODE, Glyphs, Row, cell_width, fill, fit, pad
from .verdicts import ROLE_OF, level_glyph


@dataclass(frozen=True)
class Choice:
    """One line: what would be looked at, how it stands, its address, what it is."""

    asked: str
    state: str
    address: str
    what: str
    level: Level


def choices(listed: Sequence[Listed], host: str = "") -> list[Choice]:
    """What can be chosen: the way to the host that was asked for, and every interface."""
    way = [Choice(host, "", "", "the way to this host", Level.PENDING)] if host else []
    return way + [_choice(each) for each in listed]


def _choice(each: Listed) -> Choice:
    what = f"{each.link.what}, default route" if each.way_out else each.link.what
    interface = each.interface
    if interface.enabled is False:
        state, level = "switched off", Level.PENDING
    elif interface.carrier is False:
        state, level = "no carrier", Level.FAULT
    else:
        state, level = _speed(each), Level.FINE
    return Choice(interface.name, state, each.address, what, level)


def _speed(each: Listed) -> str:
    link = each.link
    if not link.speed_mbps:
        return "up, virtual" if link.device_class is DeviceClass.VIRTUAL else "up"
    return speed(link.speed_mbps) + (f", {link.duplex}" if link.duplex else "")


def choice_rows(
    offered: Sequence[Choice],
    width: int,
    height: int,
    glyphs: Glyphs = UNICODE,
    *,
    selected: int = 0,
    offset: int = 0,
) -> list[Row]:
    """The list from `offset` on, exactly `width` by `height` cells."""
    if width < 1 or height < 1:
        return []
    name, state = (
        max((cell_width(glyphs.text(text)) for text in column), default=0)
        for column in ([each.asked for each in offered], [each.state for each in offered])
    )
    name = min(name, 24)
    address = max((cell_width(each.address) for each in offered), default=0)
    if width < name + state + address + 24:
        address = 0
    rows = [
        _choice_row(offered[number], (name, state, address), width, glyphs, number == selected)
        for number in range(offset, min(len(offered), offset + height))
    ]
    return fill(rows, width, height)


def _choice_row(
    choice: Choice, columns: tuple[int, int, int], width: int, glyphs: Glyphs, selected: bool
) -> Row:
    name, state, address = columns
    where: Row = [(f"  {pad(choice.address, address)}", "muted")] if address else []
    return fit(
        [
            (glyphs.edge if selected else " ", "key"),
            (level_glyph(choice.level, glyphs), ROLE_OF[choice.level]),
            (" ", "text"),
            (
                pad(glyphs.text(choice.asked), name, glyphs.ellipsis),
                "strong" if selected else "text",
            ),
            (f"  {pad(choice.state, state)}", "text"),
            *where,
            (f"  {glyphs.text(choice.what)}", "muted"),
        ],
        width,
        glyphs,
    )
