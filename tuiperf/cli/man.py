"""`tuiperf man`: the manual page as troff, made from the table of commands."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from tuiperf import __version__
from tuiperf.cli.commands import Command, Flag, Section, commands
from tuiperf.cli.help import EXAMPLES, HOST_FORMS, UNITS
from tuiperf.cli.printer import Printer
from tuiperf.view.rows import escape

USAGE_CODE = 1
_HELP = """\
usage: tuiperf man

Print tuiperf's manual page as troff. To read it, or to keep it where man finds it:

  tuiperf man | man -l -
  tuiperf man > ~/.local/share/man/man1/tuiperf.1
"""

DESCRIPTION = (
    "tuiperf measures a network path from a terminal as iperf3 does, shows it while it runs, and "
    "says why it is slow, with the numbers that prove it. It speaks iperf3 on the wire: either end "
    "may be iperf3 itself.",
    "With -c or -s as its first option it stands in for iperf3, with its options, its text and its "
    "JSON. Otherwise the screen opens where the terminal can, and plain text is printed where it "
    "cannot: on a pipe, with TERM=dumb, or with --plain.",
    "Nothing on either host is changed. Commands that would help are named, never run.",
)

EXIT_CODES = (
    ("0", "the test did what was asked, or was stopped by its user; a link is fine"),
    ("1", "the test failed, or the words were wrong; a link has something to look at"),
    ("2", "--tui was given where no screen can open; a link has a fault"),
    ("64", "link: the words were wrong"),
    ("68", "link: there is nothing of that name to look at"),
    ("69, 70, 77", "link cable-test: the card has no such test, told nothing, or needs root"),
    ("130", "interrupted before anything was measured"),
    ("141", "whoever read the output went away"),
    ("128 + N", "ended by signal N; lab run: its command was"),
)

FILES = (
    (
        "$XDG_STATE_HOME/tuiperf/runs/",
        "what was measured, a file each run: at most 200 of them and 512 MB. tuiperf replay shows "
        "them again; the lessons take their numbers from the newest.",
    ),
    ("$XDG_STATE_HOME/tuiperf/links/", "what tuiperf link save kept"),
    ("$XDG_CONFIG_HOME/tuiperf/keys.toml", "keys of your own; tuiperf keys lists what has one"),
)

ENVIRONMENT = (
    ("NO_COLOR", "no colours of our own, in text and on the screen"),
    ("TERM", "dumb, or none: plain text"),
    ("LC_ALL, LC_CTYPE, LANG", "where they name no UTF-8, ASCII alone is drawn"),
    ("TEXTUAL_THEME", "the screen's theme: tuiperf-dark, tuiperf-light, ansi-dark and others"),
    ("IPERF3_PASSWORD", "the password of --username; without it a terminal is asked"),
    ("XDG_STATE_HOME", "where files are kept, ~/.local/state if it is not set"),
    ("SSH_CONNECTION", "where it is set, the screen is drawn less often"),
    ("TUIPERF_LAB_BACKEND", "cable, netem or relay: how the lab carries packets"),
    ("TUIPERF_PEER", "set for commands of lab run: the far side's address"),
)

_MORE_EXAMPLES = (
    ("tuiperf link save before", "before recabling"),
    ("tuiperf link diff before", "and after it: what has changed"),
    ("tuiperf demo lossy -C bbr", "bbr on a path that loses a packet in a thousand"),
    ("tuiperf lab run bloated -- tuiperf $TUIPERF_PEER", "any command on a path of the lab"),
    ("tuiperf learn 2", "the lesson on bandwidth and delay"),
)

_SYNOPSIS = (
    "tuiperf HOST [OPTIONS]",
    "tuiperf -c HOST [OPTIONS]",
    "tuiperf -s [OPTIONS]",
)


def run(words: Sequence[str]) -> int:
    """Print the page and return the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    if list(words) in (["--help"], ["-h"]):
        printer.lines(_HELP.splitlines())
        return printer.code(0)
    if words:
        printer.complain(f"parameter error - man takes no words: '{escape(words[0], 60)}'")
        return USAGE_CODE
    printer.lines(page().splitlines())
    return printer.code(0)


def page() -> str:
    """The whole page, in the man macros (groff_man(7))."""
    found = commands()
    lines = [
        f'.TH TUIPERF 1 "" "tuiperf {__version__}" "User Commands"',
        ".nh",
        ".SH NAME",
        "tuiperf \\- measures a network path as iperf3 does, and tells why it is slow",
        *_synopsis(found),
        ".SH DESCRIPTION",
        *_paragraphs((*DESCRIPTION, HOST_FORMS)),
        ".SH COMMANDS",
        *_listed((_usage(each), each.help) for each in _named(found)),
        ".SH OPTIONS",
        *_sections(_whole(found).sections),
        ".SS Numbers",
        _text(UNITS),
        *_of_commands(found),
        ".SH EXIT STATUS",
        *_listed(EXIT_CODES),
        ".SH FILES",
        *_listed(FILES),
        ".SH ENVIRONMENT",
        *_listed(ENVIRONMENT),
        ".SH EXAMPLES",
        *_listed((*EXAMPLES, *_MORE_EXAMPLES)),
        ".SH SEE ALSO",
        ".BR iperf3 (1),\n.BR ethtool (8),\n.BR ss (8),\n.BR tc\\-netem (8),\n.BR tcp (7)",
    ]
    return "\n".join(lines) + "\n"


def _synopsis(found: Sequence[Command]) -> Iterator[str]:
    yield ".SH SYNOPSIS"
    lines = [*_SYNOPSIS, *(f"tuiperf {_usage(each)}" for each in _named(found))]
    for number, line in enumerate(lines):
        name, _, rest = line.partition(" ")
        yield from ([".br"] if number else [])
        yield f"\\fB{_escaped(name)}\\fR {_escaped(rest)}"


def _usage(command: Command) -> str:
    options = " [OPTIONS]" if command.flags else ""
    return f"{command.name} {command.words}".rstrip() + options


def _whole(found: Sequence[Command]) -> Command:
    return next(each for each in found if not each.name)


def _named(found: Sequence[Command]) -> list[Command]:
    return [each for each in found if each.name]


def _of_commands(found: Sequence[Command]) -> Iterator[str]:
    """The commands with words of their own, each under its heading."""
    shared = {flag.names for flag in _whole(found).flags}
    for command in _named(found):
        own = any(flag.names not in shared for flag in command.flags)
        if not (own or command.nested):
            continue
        yield f".SH {_escaped(f'TUIPERF {command.name}'.upper())}"
        yield _text(f"{command.help[:1].upper()}{command.help[1:]}.")
        yield from _sections(command.sections, plain=True)
        yield from _actions(command)


def _actions(command: Command) -> Iterator[str]:
    """The actions of a command; sections that several share are told once."""
    told: dict[Section, str] = {}
    for each in command.nested:
        yield f".SS tuiperf {_escaped(f'{command.name} {each.name} {each.words}'.rstrip())}"
        yield _text(f"{each.help[:1].upper()}{each.help[1:]}.")
        new = [section for section in each.sections if section not in told]
        shared = [told[section] for section in each.sections if section in told]
        yield from _sections(new, plain=True)
        if shared:
            yield ".PP"
            also = "It also takes" if any(section.flags for section in new) else "It takes"
            yield _text(f"{also} the options that are under {command.name} {shared[0]}.")
        told.update(dict.fromkeys(new, each.name))


def _sections(sections: Iterable[Section], *, plain: bool = False) -> Iterator[str]:
    for section in sections:
        if not plain:
            yield f".SS {_escaped(section.title)}"
        elif section.title != "Options":
            yield ".PP"
            yield f"\\fI{_escaped(section.title)}\\fR"
        yield from _listed((_names(flag), _meaning(flag)) for flag in section.flags)


def _names(flag: Flag) -> str:
    argument = f" {flag.argument}" if flag.argument else ""
    if flag.optional:
        argument = f"[={flag.argument}]"
    return ", ".join(flag.names) + argument


def _meaning(flag: Flag) -> str:
    words = f"{flag.help} ({flag.default})" if flag.default else flag.help
    named = isinstance(flag.kind, tuple) and all(each in flag.help for each in flag.kind)
    if isinstance(flag.kind, tuple) and not named and len(flag.kind) < 8:
        return f"{words}: {', '.join(flag.kind)}"
    return words


def _listed(items: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, meaning in items:
        yield ".TP"
        yield f"\\fB{_escaped(name)}\\fR"
        yield _text(meaning)


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield from ([".PP"] if number else [])
        yield _text(text)


def _text(text: str) -> str:
    """Running text in short lines, none of which begins as a request does."""
    lines = textwrap.wrap(text, 76, break_on_hyphens=False, break_long_words=False)
    return "\n".join(_line(line) for line in lines)


def _line(line: str) -> str:
    escaped = _escaped(line)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _escaped(text: str) -> str:
    """Text as troff takes it literally: hyphens that can be copied, no escapes, no tildes."""
    for char, code in (
        ("\\", "\\(rs"),
        ("-", "\\-"),
        ("~", "\\(ti"),
        ("^", "\\(ha"),
        ("'", "\\(aq"),
        ("…", "..."),
        ("×", "\\(mu"),
    ):
        text = text.replace(char, code)
    return text
