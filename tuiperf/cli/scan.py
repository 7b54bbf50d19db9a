"""Split a command line into options and other words, by the rules of getopt_long(3).

Short flags may be joined (`-RJ`, `-P4`), long ones shortened as long as they stay unambiguous,
options may follow other words, and `--` ends them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from tuiperf.cli.grammar import OPTIONS, Option
from tuiperf.cli.values import UsageError

_BY_NAME = {name: option for option in OPTIONS for name in option.names}

Item = tuple[Option | None, str | None]
"""An option with the text of its argument (None: a flag); or None with a word of no option."""


def scan(argv: Sequence[str]) -> Iterator[Item]:
    """Yield options and words in their order. Raises UsageError at the first that is wrong."""
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from ((None, each) for each in rest)
            return
        if word.startswith("--"):
            yield _long(word, rest)
        elif word.startswith("-") and word != "-":
            yield from _joined(word, rest)
        else:
            yield None, word


def _long(word: str, rest: list[str]) -> Item:
    typed, equals, argument = word.partition("=")
    option = _find(typed)
    if equals and not option.argument:
        raise UsageError(0, f"option '{option.name}' takes no value")
    if equals:
        return option, argument
    return option, _next(option, typed, rest) if _needs_argument(option) else None


def _joined(word: str, rest: list[str]) -> Iterator[Item]:
    for index, letter in enumerate(word[1:], start=2):
        option = _BY_NAME.get(f"-{letter}")
        if option is None:
            raise UsageError(0, f"unknown option '-{letter}'{_other_dash(word)}")
        joined = word[index:]
        if option.argument and joined:
            yield option, joined
            return
        yield option, _next(option, f"-{letter}", rest) if _needs_argument(option) else None


def _needs_argument(option: Option) -> bool:
    return bool(option.argument) and not option.optional


def _next(option: Option, typed: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(0, f"option '{typed}' needs a value: {option.argument}")
    return rest.pop(0)


def _find(typed: str) -> Option:
    """The option that `typed` names or shortens; of two, one of iperf3's goes before our own."""
    if typed in _BY_NAME:
        return _BY_NAME[typed]
    names = [name for name in _BY_NAME if name.startswith(typed) and len(typed) > 2]
    for found in ([name for name in names if not _BY_NAME[name].own], names):
        options = {_BY_NAME[name].name: _BY_NAME[name] for name in found}
        if len(options) == 1:
            return options.popitem()[1]
        if options:
            raise UsageError(0, f"option '{typed}' is ambiguous: {', '.join(sorted(found))}")
    raise UsageError(0, f"unknown option '{typed}'{_nearest(typed)}")


def _nearest(typed: str) -> str:
    names = [name[2:] for name in _BY_NAME if name.startswith("--")]  # dashes are alike in all
    near = difflib.get_close_matches(typed.lstrip("-"), names, 1, 0.6)
    return f"; did you mean '--{near[0]}'?" if near else ""


def _other_dash(word: str) -> str:
    """The usual slip: a long option with one dash."""
    name = word.partition("=")[0]
    return f"; did you mean '-{name}'?" if f"-{name}" in _BY_NAME else ""
