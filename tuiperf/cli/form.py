"""A test's settings as a form: fields that are typed or turned, and the command line they make.

The form knows no rules of its own: its words go to the same parser as those of the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuiperf.cli.options import UsageError, parse
from tuiperf.cli.words import command_of, option_words, target_of, usual_spec
from tuiperf.engine.spec import ClientSpec
from tuiperf.view.settings import Field

MAX_TEXT = 400
MORE = "more"

_PROTOCOLS = ("TCP", "UDP")
_WAYS = ("to the peer", "from the peer", "both at once")
_WAY_WORDS = ((), ("-R",), ("--bidir",))
_OPTIONS = {"time": "-t", "streams": "-P", "rate": "-b", "window": "-w"}
_LABELS = {
    "peer": ("Peer", "HOST or HOST:PORT"),
    "protocol": ("Protocol", ""),
    "way": ("Direction", ""),
    "time": ("Seconds", "10; 0 until stopped"),
    "streams": ("Streams", "1"),
    "rate": ("Rate", "as fast as it goes"),
    "window": ("Window", "the kernel's choice"),
    "congestion": ("Congestion", ""),
    MORE: ("More options", "-M 1400 --dscp ef -O 2"),
}
_SYSTEM_S = "the system's"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass
class Form:
    """What the reader has entered so far. `at` is the field that keys go to, `cursor` in it."""

    texts: dict[str, str] = field(default_factory=dict)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    at: int = 0
    cursor: int = 0
    names: tuple[str, ...] = tuple(_LABELS)
    command_name: str = "run"

    @classmethod
    def of(cls, spec: ClientSpec | None, peer: str = "") -> Form:
        """The form that asks for this test, or for a usual one."""
        algorithms = (_SYSTEM_S, *available())
        choices = {"protocol": _PROTOCOLS, "way": _WAYS, "congestion": algorithms}
        form = cls(dict.fromkeys(_LABELS, ""), choices)
        for name, values in choices.items():
            form.texts[name] = values[0]
        form.texts["peer"] = peer
        if spec is not None:
            form._fill(spec, peer)
        form.go(0)
        return form

    @classmethod
    def of_sweep(cls, peer: str = "") -> Form:
        """The form that asks whom to sweep towards."""
        form = cls.of(None, peer)
        form.names, form.command_name = ("peer",), "sweep"
        return form

    def _fill(self, spec: ClientSpec, peer: str) -> None:
        test, texts = spec.test, self.texts
        texts["peer"] = peer or target_of(spec)
        texts["protocol"] = _PROTOCOLS[test.udp]
        texts["way"] = _WAYS[1 if test.reverse else 2 if test.bidir else 0]
        if test.congestion in self.choices["congestion"]:
            texts["congestion"] = test.congestion
        words = option_words(spec)
        for name, option in _OPTIONS.items():
            if option in words:
                texts[name] = words.pop(words.index(option) + 1)
                words.remove(option)
        if test.congestion and texts["congestion"] == test.congestion:
            del words[words.index("-C") : words.index("-C") + 2]
        texts[MORE] = shlex.join(word for word in words if word not in ("-u", "-R", "--bidir"))

    # What is asked for

    def words(self) -> list[str]:
        """The words behind `tuiperf run`. Raises ValueError for quotes that do not close."""
        texts = self.texts
        words = ["-u"] if texts["protocol"] == "UDP" else []
        words += _WAY_WORDS[self.choices["way"].index(texts["way"])]
        for name, option in _OPTIONS.items():
            value = texts[name].strip()
            if value:
                words += [option, value]
        if texts["congestion"] != _SYSTEM_S and texts["protocol"] != "UDP":
            words += ["-C", texts["congestion"]]
        return [texts["peer"].strip(), *words, *shlex.split(texts[MORE])]

    def read(self) -> tuple[ClientSpec | None, str]:
        """The test, or None and in one line why it cannot be."""
        try:
            words = self.words()
        except ValueError as error:
            return None, f"More options: {str(error).lower()}"
        if not words[0]:
            return None, "Name the peer: a host that runs iperf3 -s or tuiperf -s."
        try:
            asked = parse(["run", *words])
        except UsageError as error:
            return None, error.text
        return asked.client, ""

    def command(self) -> str:
        """The equal command line."""
        spec, _ = self.read()
        if spec is not None and self.command_name == "run":
            return command_of(spec)
        try:
            words = [word for word in self.words() if word]
        except ValueError:
            words = []
        return shlex.join(["tuiperf", self.command_name, *words])

    def fields(self) -> list[Field]:
        """The fields as they are shown."""
        return [
            Field(_LABELS[name][0], self.texts[name], _LABELS[name][1], name in self.choices)
            for name in self.names
        ]

    # Keys

    @property
    def name(self) -> str:
        return self.names[self.at]

    @property
    def chosen(self) -> bool:
        """The field is one that is turned, not typed."""
        return self.name in self.choices

    def go(self, step: int) -> None:
        """To another field."""
        self.at = (self.at + step) % len(self.names)
        self.cursor = len(self.texts[self.name])

    def turn(self, step: int) -> None:
        """To the next choice, or the cursor along the text."""
        if self.chosen:
            values = self.choices[self.name]
            at = values.index(self.texts[self.name]) + step
            self.texts[self.name] = values[at % len(values)]
        else:
            self.cursor = max(0, min(self.cursor + step, len(self.texts[self.name])))

    def type(self, text: str) -> None:
        """Put a text in at the cursor; into a choice it turns to the one that begins so."""
        if self.chosen:
            if text == " ":
                self.turn(1)
            found = [each for each in self.choices[self.name] if each.lower().startswith(text)]
            self.texts[self.name] = found[0] if found else self.texts[self.name]
            return
        kept = "".join(char for char in text if char.isprintable())
        now = self.texts[self.name]
        kept = kept[: max(0, MAX_TEXT - len(now))]
        self.texts[self.name] = now[: self.cursor] + kept + now[self.cursor :]
        self.cursor += len(kept)

    def erase(self, *, ahead: bool = False, all_before: bool = False) -> None:
        """Take the character before the cursor away, the one after it, or all before it."""
        if self.chosen:
            return
        now, at = self.texts[self.name], self.cursor
        start = 0 if all_before else at if ahead else max(0, at - 1)
        end = at + 1 if ahead else at
        self.texts[self.name] = now[:start] + now[end:]
        self.cursor = start


def available() -> Sequence[str]:
    """The congestion controls that this kernel has loaded (tcp(7))."""
    try:
        return _AVAILABLE.read_text(encoding="ascii").split()[:12]
    except (OSError, ValueError):
        return ("cubic",)


def towards(spec: ClientSpec, peer: str) -> ClientSpec | None:
    """The same test towards another peer; None for a text that names none."""
    asked, _ = Form.of(replace(usual_spec(spec), test=spec.test), peer).read()
    return asked
