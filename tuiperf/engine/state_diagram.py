"""Draw the control protocol's table as a Mermaid state diagram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Union

from tuiperf.engine.control_table import BYTE_TRIGGERS, TERMINAL, TRANSITIONS, Transition
from tuiperf.engine.control_words import Role, Send, State, Trigger, Wire

_ANY = "ANY"
_SAME = "the same state"
_MANY = 3
"""From this many states on, a trigger with one outcome is drawn once, for any state."""
_INITIAL = {Role.CLIENT: State.CONNECTING, Role.SERVER: State.COOKIE}


def state_diagram(role: Role) -> str:
    """Mermaid text (stateDiagram-v2) of one role, an arrow's label being `triggers / sent`.

    A state byte that only counts as "any other byte" is not named. The usual outcome of a trigger
    starts at "any state, unless drawn"; a trigger that is ignored there leads back to it.
    """
    single: dict[tuple[str, str, str], list[str]] = {}
    shared: dict[tuple[str, str, str], list[str]] = {}
    usual = _usual_outcomes(role)
    for state, trigger, outcome in _visible_rows(role):
        target, sent = _drawn(state, outcome)
        common = usual.get(trigger) == (target, sent)
        arrows, origin = (shared, _ANY) if common else (single, state.name)
        triggers = arrows.setdefault((origin, origin if target == _SAME else target, sent), [])
        if trigger.value not in triggers:
            triggers.append(trigger.value)
    lines = ["stateDiagram-v2", f'  state "any state, unless drawn" as {_ANY}']
    lines.append(f"  [*] --> {_INITIAL[role].name}")
    for (origin, target, sent), triggers in {**single, **shared}.items():
        lines.append(f"  {origin} --> {target}: {', '.join(triggers)}{sent and ' / '}{sent}")
    return "\n".join(lines) + "\n"


def _visible_rows(role: Role) -> Iterator[tuple[State, Trigger, Transition]]:
    table = TRANSITIONS[role]
    for (state, trigger), outcome in table.items():
        other = table.get((state, Trigger.OTHER_BYTE))
        unnamed = trigger in BYTE_TRIGGERS[:-1] and outcome is other
        if state not in TERMINAL and not unnamed:
            yield state, trigger, outcome


def _usual_outcomes(role: Role) -> dict[Trigger, tuple[str, str]]:
    counts: Counter[tuple[Trigger, tuple[str, str]]] = Counter(
        (trigger, _drawn(state, outcome)) for state, trigger, outcome in _visible_rows(role)
    )
    usual: dict[Trigger, tuple[str, str]] = {}
    for (trigger, drawn), count in counts.most_common():
        if count >= _MANY:
            usual.setdefault(trigger, drawn)
    return usual


def _drawn(state: State, outcome: Transition) -> tuple[str, str]:
    target = _SAME if outcome.target is state else outcome.target.name
    return target, " ".join(_sent_name(item) for item in outcome.sends)


def _sent_name(item: Union[Wire, Send]) -> str:
    return item.name if isinstance(item, Wire) else str(item.value)
