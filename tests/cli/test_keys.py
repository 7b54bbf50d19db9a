"""`tuiperf keys`: every action with its keys, those of the file first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuiperf import keymap
from tuiperf.actions import ACTIONS
from tuiperf.cli import commands, help, man
from tuiperf.cli.main import main


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = keymap.path()
    found.parent.mkdir()
    return found


def test_every_action_is_listed_with_its_usual_keys(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert str(file) in lines[0]
    rows = [line.split(maxsplit=2) for line in lines[4:]]
    assert rows == [[name, each.keys, each.text] for name, each in ACTIONS.items()]
    assert max(map(len, lines[1:])) <= 79


def test_own_keys_stand_before_the_usual_ones(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text('run.units = "z,f6"\nhome.start = "enter"\n', encoding="utf-8")
    assert main(["keys"]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("run.units"))
    assert lines[place].split()[:2] == ["run.units", "z,f6"]
    assert lines[place + 1].split() == ["usually", "u"]
    assert sum("usually" in line for line in lines) == 1


def test_a_mistake_in_the_file_is_told_and_seen_in_the_code(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text('"run.halt\\u001b" = "z"\n', encoding="utf-8")
    assert main(["keys"]) == 1
    said = capsys.readouterr().err
    assert "no action 'run.halt" in said
    assert "\x1b" not in said
    assert main(["keys", "--loud"]) == 1
    assert "--loud" in capsys.readouterr().err


def test_help_manual_and_completions_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "keys" in {each.name for each in commands.commands()}
    assert "tuiperf keys" in help.page()
    assert "tuiperf keys" in man.page().replace("\\fB", "").replace("\\fR", "")
    for shell in commands.SHELLS:
        assert main(["completion", shell]) == 0
        assert re.search(r"\bkeys\b", capsys.readouterr().out)
