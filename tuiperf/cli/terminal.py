"""The start rule: may the screen open here, and if not, why; which characters may be drawn."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tuiperf.cli.options import OutputSettings

_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


@dataclass(frozen=True)
class Terminal:
    """What was found at start. Of the three streams: is it a terminal, None when it is closed."""

    stdin: bool | None
    stdout: bool | None
    stderr: bool | None
    term: str
    encoding: str  # of stderr, where the screen is drawn
    locale: str
    has_screen: bool  # Textual is installed

    @classmethod
    def here(cls, environ: Mapping[str, str] = os.environ) -> Terminal:
        """Look at this process and its environment."""
        encoding = getattr(sys.__stderr__, "encoding", None) or ""
        return cls(
            _is_terminal(sys.__stdin__),
            _is_terminal(sys.__stdout__),
            _is_terminal(sys.__stderr__),
            environ.get("TERM", ""),
            encoding,
            locale_name(environ),
            _has_textual(),
        )

    @property
    def why_no_screen(self) -> str:
        """The reason why the screen cannot open, "" when it can."""
        for name, state in (
            ("stdin", self.stdin),
            ("stdout", self.stdout),
            ("stderr", self.stderr),
        ):
            if state is None:
                return f"{name} is closed"
            if not state:
                return f"{name} is not a terminal"
        if not self.term:
            return "TERM is not set"
        if self.term == "dumb":
            return "TERM is dumb: this terminal has no screen to draw on"
        return "" if self.has_screen else "the package textual is not installed"

    @property
    def speaks_utf8(self) -> bool:
        """True when stderr encodes UTF-8 and the locale, if one is set, names it; else ASCII."""
        return names_utf8(self.encoding) and (not self.locale or names_utf8(self.locale))


def locale_name(environ: Mapping[str, str] = os.environ, at_start: bytes | None = None) -> str:
    """The locale of the characters, as the user set it; "" where none is set.

    In the C locale CPython itself writes a UTF-8 one into LC_CTYPE (PEP 538), which tells nothing
    about the terminal: `at_start`, the environment that this process began with, has the truth.
    """
    found = dict(environ)
    if found.get("LC_CTYPE") in _COERCED:
        block = _environment_at_start() if at_start is None else at_start
        if block and f"LC_CTYPE={found['LC_CTYPE']}".encode() not in block.split(b"\0"):
            del found["LC_CTYPE"]
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    return next((found[name] for name in names if found.get(name)), "")


def _environment_at_start() -> bytes:
    try:
        return Path("/proc/self/environ").read_bytes()
    except OSError:
        return b""


@dataclass(frozen=True)
class Opening:
    """How a run is shown. `why` is the reason when it is not the screen that could have been."""

    screen: bool
    ascii: bool
    why: str = ""
    refused: bool = False  # the screen was demanded and cannot open


def choose(output: OutputSettings, terminal: Terminal) -> Opening:
    """The start rule. JSON and a log file are text by themselves and need no reason."""
    ascii_only = output.ascii or not terminal.speaks_utf8
    if output.surface == "plain" or output.json or output.logfile:
        return Opening(False, ascii_only)
    why = terminal.why_no_screen
    return Opening(not why, ascii_only, why, refused=bool(why) and output.surface == "tui")


def _is_terminal(stream: TextIO | None) -> bool | None:
    if stream is None:
        return None
    try:
        return stream.isatty()
    except ValueError:
        return None


def names_utf8(name: str) -> bool:
    """True for an encoding or a locale that is UTF-8."""
    return "utf8" in name.lower().replace("-", "")


def _has_textual() -> bool:
    from importlib.machinery import PathFinder

    return PathFinder.find_spec("textual") is not None


def may_colour(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Colour only on a terminal that can, and not against NO_COLOR (no-color.org)."""
    if environ.get("NO_COLOR") or environ.get("TERM", "") in ("", "dumb"):
        return False
    return bool(_is_terminal(stream))
