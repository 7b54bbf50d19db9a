"""The diagrams of the states are those of the table, in ARCHITECTURE.md too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuiperf.engine import protocol
from tuiperf.engine.control_table import BYTE_TRIGGERS
from tuiperf.engine.control_words import Send, Wire
from tuiperf.engine.protocol import READS, TERMINAL, TRANSITIONS, Role, Trigger, state_diagram

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"
ARROW = re.compile(
    r"  (?P<origin>\w+) --> (?P<target>\w+): (?P<triggers>[^/]+?)(?: / (?P<sent>.+))?"
)


def arrows(role: Role) -> dict[tuple[str, str], tuple[str, str]]:
    """(origin, trigger) -> (target, what is sent), read back from the diagram."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for line in state_diagram(role).splitlines()[3:]:
        arrow = ARROW.fullmatch(line)
        assert arrow, line
        for trigger in arrow["triggers"].split(", "):
            assert (arrow["origin"], trigger) not in found
            found[arrow["origin"], trigger] = (arrow["target"], arrow["sent"] or "")
    return found


@pytest.mark.parametrize("role", Role)
def test_diagram_says_what_the_table_says(role: Role) -> None:
    drawn = arrows(role)
    used = set()
    for (state, trigger), row in TRANSITIONS[role].items():
        if state in TERMINAL:
            continue
        names = [(state.name, trigger.value), ("ANY", trigger.value)]
        if trigger in BYTE_TRIGGERS:
            names += [(state.name, Trigger.OTHER_BYTE.value), ("ANY", Trigger.OTHER_BYTE.value)]
        key = next(name for name in names if name in drawn)
        used.add(key)
        target, sent = drawn[key]
        assert target == row.target.name or (target == "ANY" and row.target is state)
        assert sent.split() == sent_words(row.sends)
    assert used == set(drawn)


def sent_words(sends: tuple[Wire | Send, ...]) -> list[str]:
    """How the diagram names what a row sends."""
    return [one.name if isinstance(one, Wire) else one.value for one in sends]


@pytest.mark.parametrize("role", Role)
def test_every_state_is_drawn(role: Role) -> None:
    text = state_diagram(role)
    assert text.startswith("stateDiagram-v2\n")
    for state in READS[role]:
        assert re.search(rf"\b{state.name}\b", text)


def test_both_diagrams_are_small() -> None:
    assert sum(len(state_diagram(role).splitlines()) for role in Role) <= 60


@pytest.mark.parametrize("role", Role)
def test_architecture_shows_them(role: Role) -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    begin, end = f"<!-- states:{role.value} -->\n", f"<!-- /states:{role.value} -->"
    assert text.count(begin) == text.count(end) == 1
    shown = text.split(begin)[1].split(end)[0]
    assert shown == f"```mermaid\n{state_diagram(role)}```\n", (
        "regenerate it with: python -m tuiperf.engine.protocol"
    )


def test_module_prints_what_architecture_holds(capsys: pytest.CaptureFixture[str]) -> None:
    protocol.main()
    text = ARCHITECTURE.read_text(encoding="utf-8")
    blocks = capsys.readouterr().out.strip().split("\n\n")
    assert len(blocks) == 2
    for block in blocks:
        assert block in text
