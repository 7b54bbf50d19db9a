"""The keys that a screen shows, as they are with the user's own keys.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.binding import Binding
from textual.screen import Screen

from tuiperf.actions import shown
from tuiperf.view.home import Question
from tuiperf.view.keys import Key

_RANGES = {"0 to 5": "012345", "1 to 5": "12345", "1-5": "12345"}
_NAMES = {"⏎": "enter", "esc": "escape"}


@dataclass(frozen=True)
class OwnKeys:
    """`usual` is an action by its usual key, `real` the keys of each action now, as shown."""

    usual: Mapping[str, str]
    real: Mapping[str, Sequence[str]]

    def all_of(self, label: str) -> str:
        """What a help sheet names: every key of the actions that these usual keys do."""
        found = [key for each in label.split(", ") for key in self._of_token(each)]
        return ", ".join(dict.fromkeys(found))

    def first_of(self, label: str) -> str:
        """What a footer names: one key of the action, "" when another has taken its last."""
        found = self._of_token(label)
        return "/".join(found) if label in _RANGES and found != [label] else "".join(found[:1])

    def footer(self, keys: Sequence[Key]) -> list[Key]:
        """A footer's keys; without those that no key does any more."""
        named = [Key(self.first_of(each.key), each.label) for each in keys]
        return [each for each in named if each.key]

    def sheet(self, keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """A help sheet's keys; without those that no key does any more."""
        named = [(self.all_of(key), text) for key, text in keys]
        return [each for each in named if each[0]]

    def questions(self, questions: Sequence[Question]) -> list[Question]:
        """The questions of the home screen under their keys."""
        return [each._replace(key=self.first_of(each.key)) for each in questions]

    def _of_token(self, token: str) -> list[str]:
        if token in _RANGES:
            found = [key for each in _RANGES[token] for key in self._of_token(each)]
            return [token] if found == list(_RANGES[token]) else found
        key = _NAMES.get(token, token)
        action = self.usual.get(key)
        if action is None:
            return [token]
        real = self.real.get(action, ())
        return [token] if key in real else list(real)


NOTHING = OwnKeys({}, {})


def own_keys(screen: Screen[Any]) -> OwnKeys:
    """What the user has changed about a screen's keys, and the app's."""
    if not screen.app._keymap:
        return NOTHING
    usual: dict[str, str] = {}
    for kind in (*type(screen).__mro__, *type(screen.app).__mro__):
        for each in vars(kind).get("BINDINGS", ()):
            if isinstance(each, Binding) and each.id:
                for key in each.key.split(","):
                    usual.setdefault(shown(key), each.id)
    real: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        if active.binding.id:
            real.setdefault(active.binding.id, []).append(shown(key))
    return OwnKeys(usual, real)
