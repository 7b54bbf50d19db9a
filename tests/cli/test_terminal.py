"""The start rule: when the screen opens, when it is text, and the word why."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from tuiperf.cli.options import OutputSettings
from tuiperf.cli.terminal import Opening, Terminal, choose, locale_name, may_colour

GOOD = Terminal(True, True, True, "xterm-256color", "utf-8", "en_US.UTF-8", True)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_good_terminal_gets_the_screen() -> None:
    assert choose(OutputSettings(), GOOD) == Opening(screen=True, ascii=False)
    assert choose(OutputSettings(surface="tui"), GOOD) == Opening(screen=True, ascii=False)


@pytest.mark.parametrize(
    ("terminal", "why"),
    [
        (replace(GOOD, stdin=None), "stdin is closed"),
        (replace(GOOD, stdin=False), "stdin is not a terminal"),
        (replace(GOOD, stdout=False), "stdout is not a terminal"),
        (replace(GOOD, stderr=False), "stderr is not a terminal"),
        (replace(GOOD, stderr=None), "stderr is closed"),
        (replace(GOOD, term=""), "TERM is not set"),
        (replace(GOOD, term="dumb"), "TERM is dumb: this terminal has no screen to draw on"),
        (replace(GOOD, has_screen=False), "the package textual is not installed"),
    ],
)
def test_otherwise_it_is_text_and_the_reason_is_known(terminal: Terminal, why: str) -> None:
    assert choose(OutputSettings(), terminal) == Opening(False, False, why)
    assert choose(OutputSettings(surface="tui"), terminal) == Opening(False, False, why, True)
    assert choose(OutputSettings(surface="plain"), terminal) == Opening(False, False)


@pytest.mark.parametrize(
    "output",
    [OutputSettings(surface="plain"), OutputSettings(json=True), OutputSettings(logfile="f")],
)
def test_text_that_was_asked_for_needs_no_reason(output: OutputSettings) -> None:
    assert choose(output, GOOD) == Opening(False, False)


@pytest.mark.parametrize(
    ("encoding", "locale", "ascii_only"),
    [
        ("utf-8", "en_US.UTF-8", False),
        ("UTF8", "C.utf8", False),
        ("utf-8", "C", True),
        ("utf-8", "", False),
        ("iso8859-1", "en_US.UTF-8", True),
        ("ascii", "de_DE.ISO-8859-1", True),
    ],
)
def test_without_utf8_only_ascii_is_drawn(encoding: str, locale: str, ascii_only: bool) -> None:
    terminal = replace(GOOD, encoding=encoding, locale=locale)
    assert choose(OutputSettings(), terminal).ascii is ascii_only


def test_ascii_may_be_asked_for() -> None:
    assert choose(OutputSettings(ascii=True), GOOD) == Opening(screen=True, ascii=True)


def test_the_first_locale_variable_that_is_set_counts() -> None:
    here = Terminal.here({"LC_ALL": "", "LC_CTYPE": "C", "LANG": "en_US.UTF-8", "TERM": "vt100"})
    assert (here.locale, here.term) == ("C", "vt100")


@pytest.mark.parametrize(
    ("at_start", "locale"),
    [
        (b"HOME=/\0LANG=C\0", "C"),
        (b"LC_CTYPE=POSIX\0LANG=C\0", "C"),
        (b"LANG=C\0LC_CTYPE=C.UTF-8\0", "C.UTF-8"),
        (b"", "C.UTF-8"),
    ],
)
def test_a_locale_that_the_interpreter_set_is_not_the_users(at_start: bytes, locale: str) -> None:
    assert locale_name({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, at_start) == locale


def test_any_other_locale_is_taken_as_it_is() -> None:
    assert locale_name({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, b"LANG=C\0") == "de_DE.UTF-8"
    assert locale_name({"LC_ALL": "C", "LC_CTYPE": "C.UTF-8"}, b"LC_ALL=C\0") == "C"
    assert locale_name({}, b"LANG=C\0") == ""


def test_colour_only_on_a_terminal_and_not_against_no_color() -> None:
    terminal = FakeTerminal()
    assert may_colour(terminal, {"TERM": "xterm"})
    assert not may_colour(terminal, {"TERM": "xterm", "NO_COLOR": "1"})
    assert not may_colour(terminal, {"TERM": "dumb"})
    assert not may_colour(io.StringIO(), {"TERM": "xterm"})
    assert not may_colour(None, {"TERM": "xterm"})
