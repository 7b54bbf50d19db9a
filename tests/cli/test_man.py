"""The manual page: all of the table is in it, and groff has nothing to say about it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import tuiperf
from tests.cli.test_completion import every
from tuiperf.cli import man
from tuiperf.cli.commands import commands
from tuiperf.cli.grammar import GROUPS
from tuiperf.cli.help import EXAMPLES

SECTIONS = (
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "COMMANDS",
    "OPTIONS",
    "TUIPERF LAB",
    "TUIPERF LINK",
    "TUIPERF LEARN",
    "EXIT STATUS",
    "FILES",
    "ENVIRONMENT",
    "EXAMPLES",
    "SEE ALSO",
)


def plain(troff: str) -> str:
    """The page's text without its codes, blanks as they come."""
    for code, char in (
        (r"\(rs", "\\"),
        (r"\-", "-"),
        (r"\(ti", "~"),
        (r"\(ha", "^"),
        (r"\(aq", "'"),
        (r"\&", ""),
        (r"\fB", ""),
        (r"\fI", ""),
        (r"\fR", ""),
    ):
        troff = troff.replace(code, char)
    return " ".join(troff.split())


@pytest.fixture(scope="module")
def text() -> str:
    return plain(man.page())


def test_its_sections_in_their_order() -> None:
    found = re.findall(r"^\.SH (.*)$", man.page(), re.MULTILINE)
    assert [each for each in found if each in SECTIONS] == list(SECTIONS)


def test_every_option_with_its_meaning(text: str) -> None:
    for command in every(commands()):
        for flag in command.flags:
            assert ", ".join(flag.names) in text
            assert flag.help in text, flag
    assert all(f".SS {group.title}" in text for group in GROUPS)


def test_every_command(text: str) -> None:
    for command in commands():
        assert f"tuiperf {command.name} {command.words}".replace("  ", " ").rstrip() in text
        for each in command.nested:
            assert f"tuiperf {command.name} {each.name}" in text


def test_codes_files_environment_examples(text: str) -> None:
    listed = (*man.EXIT_CODES, *man.FILES, *man.ENVIRONMENT, *EXAMPLES)
    assert all(name in text and meaning in text for name, meaning in listed)
    for name in ("NO_COLOR", "XDG_STATE_HOME", "TUIPERF_LAB_BACKEND", "TUIPERF_PEER", "TERM"):
        assert name in text


def test_no_line_is_taken_for_a_request() -> None:
    known = {".TH", ".nh", ".SH", ".SS", ".TP", ".PP", ".br", ".BR"}
    for line in man.page().splitlines():
        assert not line.startswith("'")
        assert line.split(" ")[0] in known or not line.startswith(".")
        assert line.isascii(), line


def test_groff_has_nothing_to_complain_about(tmp_path: Path) -> None:
    ran = tuiperf(tmp_path, "man")
    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", man.page())
    groff = shutil.which("groff")
    if groff is not None:
        made = subprocess.run(
            [groff, "-ww", "-man", "-Tascii"],
            input=ran.stdout,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert (made.returncode, made.stderr) == (0, "")
        assert "TUIPERF(1)" in made.stdout


def test_it_takes_no_words(tmp_path: Path) -> None:
    ran = tuiperf(tmp_path, "man", "\x1b[1m")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "tuiperf: parameter error - man takes no words: '\\x1b[1m'\n"
    assert "man -l" in tuiperf(tmp_path, "man", "--help").stdout
