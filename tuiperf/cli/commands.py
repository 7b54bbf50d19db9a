"""Every command with its words and options in one table, for completions and the manual page.

Made from the grammar, and from the parsers of the commands that read their words by themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

from tuiperf.cli import grammar, lab, link, values
from tuiperf.cli.demo import PLAIN_PROFILE
from tuiperf.cli.grammar import COMMANDS, OTHER_COMMANDS
from tuiperf.cli.options import DEMO_TAKES, REPLAY_TAKES
from tuiperf.lab import backend, profiles
from tuiperf.lab.spec import SIDES
from tuiperf.lessons.text import NUMBERS

SHELLS = ("bash", "zsh", "fish")

FILE, HOST, INTERFACE, CONGESTION = "file", "host", "interface", "congestion"
"""What a shell looks up by itself; any other kind is a list of words."""

_KINDS: dict[str, str | tuple[str, ...]] = {
    "--client": HOST,
    "--bind-dev": INTERFACE,
    "--congestion": CONGESTION,
    "--near-congestion": CONGESTION,
    "--far-congestion": CONGESTION,
    "--logfile": FILE,
    "--pidfile": FILE,
    "--record": FILE,
    "--rsa-public-key-path": FILE,
    "--rsa-private-key-path": FILE,
    "--authorized-users-path": FILE,
    "--format": tuple("kmgtKMGT"),
    "--dscp": tuple(values.DSCP_NAMES),
    "--backend": backend.CHOICES,
    "--loss-toward": ("here", "there"),
    "--expect": ("100M/full", "1G/full", "2.5G/full", "10G/full"),
}


@dataclass(frozen=True)
class Flag:
    """An option. `kind` says how a shell finds values: a name from above, or the values."""

    names: tuple[str, ...]
    help: str
    argument: str = ""  # what its value is called, "" for none
    optional: bool = False
    kind: str | tuple[str, ...] = ()
    default: str = ""

    @property
    def name(self) -> str:
        """The long name where there is one."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


@dataclass(frozen=True)
class Section:
    """Options under one heading."""

    title: str
    flags: tuple[Flag, ...]


@dataclass(frozen=True)
class Command:
    """A command: `words` is what may follow it, `kind` how a shell finds the next word."""

    name: str
    words: str
    help: str
    sections: tuple[Section, ...] = ()
    kind: str | tuple[str, ...] = ()
    nested: tuple[Command, ...] = ()

    @property
    def flags(self) -> tuple[Flag, ...]:
        """All its options."""
        return tuple(flag for section in self.sections for flag in section.flags)


def commands() -> tuple[Command, ...]:
    """All of them. The first, without a name, is `tuiperf HOST`, and iperf3's client and server."""
    whole = Command("", "HOST", COMMANDS["run"], _of_grammar(lambda option: True), HOST)
    measuring = [_measuring(name, help_text) for name, help_text in COMMANDS.items()]
    others = [_own(name, help_text) for name, help_text in OTHER_COMMANDS.items()]
    return (whole, *measuring, *others)


def _measuring(name: str, help_text: str) -> Command:
    """A command whose options are the grammar's."""
    if name in ("version", "help"):
        return Command(name, "", help_text)
    if name == "demo":
        paths = (PLAIN_PROFILE, *profiles.names())
        return Command(name, "[PROFILE]", help_text, _of_grammar(_taking(DEMO_TAKES)), paths)
    if name == "replay":
        return Command(name, "FILE", help_text, _of_grammar(_taking(REPLAY_TAKES)), FILE)
    return Command(name, "HOST", help_text, _of_grammar(_of_run), HOST)


def _of_run(option: grammar.Option) -> bool:
    return option.role in ("both", "client") and option.targets[0] != "ask.client"


def _taking(prefixes: tuple[str, ...]) -> Callable[[grammar.Option], bool]:
    """Which options go where these prefixes say; questions go anywhere."""

    def taken(option: grammar.Option) -> bool:
        asks = option.targets[0] in ("ask.help", "ask.version")
        return asks or (_of_run(option) and all(t.startswith(prefixes) for t in option.targets))

    return taken


def _of_grammar(wanted: Callable[[grammar.Option], bool]) -> tuple[Section, ...]:
    """The grammar's options that are wanted, by their groups."""
    sections = []
    for group in grammar.GROUPS:
        options = [each for each in group.options if wanted(each)]
        if options:
            sections.append(Section(group.title, tuple(_of_option(each) for each in options)))
    return tuple(sections)


def _of_option(option: grammar.Option) -> Flag:
    return Flag(
        option.names,
        option.help,
        option.argument,
        option.optional,
        _KINDS.get(option.name, ()),
        option.default,
    )


def _own(name: str, help_text: str) -> Command:
    """A command that reads its words by itself: by its parser, where it has one."""
    if name == "lab":
        return _lab()
    if name == "link":
        return _link()
    if name == "completion":
        return Command(name, "SHELL", help_text, kind=SHELLS)
    made = getattr(import_module(f"tuiperf.cli.{name}"), "parser", None) if name != "man" else None
    if made is None:
        return Command(name, "", help_text)
    parser: argparse.ArgumentParser = made()
    words = _positional(parser)
    kind = tuple(map(str, NUMBERS)) if name == "learn" else HOST if words else ()
    return Command(name, words, help_text, _sections(parser), kind)


def _positional(parser: argparse.ArgumentParser) -> str:
    """The words that a parser takes, as its usage writes them."""
    found = []
    for action in parser._actions:
        if not action.option_strings:
            metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
            found.append(f"[{metavar}]" if action.nargs in ("?", "*") else metavar)
    return " ".join(found)


def _lab() -> Command:
    parser = lab.parser()
    names = profiles.names()
    nested = []
    for name, each in _actions(parser).items():
        words = " -- COMMAND" if name == "run" else ""
        has_path = any(action.dest == "path" for action in each._actions)
        nested.append(
            Command(
                name,
                f"PROFILE{words}" if has_path else "",
                (each.description or "").rstrip("."),
                _sections(each),
                tuple(names) if has_path else (),
            )
        )
    return Command("lab", "ACTION", OTHER_COMMANDS["lab"], nested=tuple(nested))


def _link() -> Command:
    words = {
        "save": ("NAME [IFACE|HOST]", "keep what was found, before recabling"),
        "diff": ("NAME [IFACE|HOST]", "what has changed since it was kept"),
        "cable-test": ("IFACE", "which pair is bad, and where; needs root"),
    }
    nested = tuple(
        Command(name, *words[name], _sections(link.parser(name)), _word_after(name))
        for name in link.ACTIONS
    )
    return Command(
        "link",
        "[IFACE|HOST]",
        OTHER_COMMANDS["link"],
        _sections(link.parser("check")),
        INTERFACE,
        nested,
    )


def _word_after(action: str) -> str | tuple[str, ...]:
    return INTERFACE if action == "cable-test" else ()


def _actions(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _sections(parser: argparse.ArgumentParser) -> tuple[Section, ...]:
    sections = []
    for group in parser._action_groups:
        flags = tuple(_flags(group._group_actions))
        if flags:
            sections.append(Section(_title(group.title), flags))
    return tuple(sections)


def _title(title: str | None) -> str:
    """argparse names its own group; ours have names of their own."""
    return "Options" if not title or title == "options" else title[:1].upper() + title[1:]


def _flags(actions: Iterable[argparse.Action]) -> Iterable[Flag]:
    """What a group offers, the help aside, which every command has."""
    for action in actions:
        if not action.option_strings or action.help is argparse.SUPPRESS:
            continue
        if "--help" in action.option_strings:
            continue
        names = tuple(action.option_strings)
        argument = ""
        if action.nargs != 0:
            metavar = action.metavar
            argument = metavar if isinstance(metavar, str) else action.dest.upper()
        kind = tuple(map(str, action.choices)) if action.choices else _KINDS.get(names[-1], ())
        help_text = (action.help or "").replace("%%", "%")
        yield Flag(names, help_text, _side_free(argument), False, kind)


def _side_free(argument: str) -> str:
    """The lab's destinations are named by side and key; their value is any."""
    return "X" if argument.lower().startswith(tuple(f"{side} " for side in SIDES)) else argument
