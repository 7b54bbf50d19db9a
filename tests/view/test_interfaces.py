"""The list of interfaces to choose from, in rows of an exact width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.link import DeviceClass, Link, Speed
from tuiperf.evidence.listing import Listed
from tuiperf.rules.verdict import Level
from tuiperf.view.interfaces import Choice, choice_rows, choices
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, cell_width

CARD = Link(DeviceClass.PHYSICAL, "a card (igb)", Speed.KNOWN, 2500, "full")
UNTOLD = Link(DeviceClass.PHYSICAL, "a card (igb)")
VIRTUAL = Link(DeviceClass.VIRTUAL, "a tunnel (WireGuard)", Speed.VIRTUAL)


@pytest.mark.parametrize(
    ("interface", "link", "state", "level"),
    [
        (Interface(1, "eth0", carrier=True), CARD, "2.5 Gbit/s, full", Level.FINE),
        (Interface(1, "eth0", carrier=True), UNTOLD, "up", Level.FINE),
        (Interface(1, "wg0", carrier=True), VIRTUAL, "up, virtual", Level.FINE),
        (Interface(1, "eth0", carrier=False), CARD, "no carrier", Level.FAULT),
        (Interface(1, "eth0", enabled=False, carrier=False), CARD, "switched off", Level.PENDING),
    ],
)
def test_how_an_interface_stands(
    interface: Interface, link: Link, state: str, level: Level
) -> None:
    (choice,) = choices([Listed(interface, link)])
    assert (choice.state, choice.level) == (state, level)


def test_the_host_comes_first_and_the_way_out_is_named() -> None:
    listed = Listed(Interface(1, "eth0", carrier=True), CARD, "10.0.0.9", way_out=True)
    host, card = choices([listed], "lab-b")
    assert (host.asked, host.what) == ("lab-b", "the way to this host")
    assert card.what == "a card (igb), default route"


CHOICE = st.builds(
    Choice,
    st.text(max_size=30),
    st.text(st.characters(codec="ascii", categories=["L"]), max_size=16),
    st.sampled_from(["", "10.0.0.9", "2001:db8:1234:5678:9abc:def0:1234:5678"]),
    st.text(max_size=40),
    st.sampled_from(Level),
)


@given(
    st.lists(CHOICE, max_size=12),
    st.integers(0, 120),
    st.integers(0, 20),
    st.sampled_from([UNICODE, ASCII]),
    st.integers(0, 12),
)
def test_every_row_has_its_width(
    offered: list[Choice], width: int, height: int, glyphs: Glyphs, offset: int
) -> None:
    rows = choice_rows(offered, width, height, glyphs, selected=1, offset=offset)
    assert len(rows) == (height if width else 0)
    for row in rows:
        assert sum(cell_width(text) for text, _ in row) == width
