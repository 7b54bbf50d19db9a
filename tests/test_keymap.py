"""The user's own keys: what is taken, and the one line that each mistake costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuiperf import keymap


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = keymap.path()
    found.parent.mkdir()
    return found


def test_no_file_is_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert keymap.load() == keymap.NONE


def test_names_may_be_written_in_both_ways(file: Path) -> None:
    file.write_text('"app.quit" = "ctrl+x"\n[run]\nstop = "s, f5"\n', encoding="utf-8")
    found = keymap.load()
    assert dict(found.wanted) == {"app.quit": "ctrl+x", "run.stop": "s,f5"}
    assert found.problems == ()


@pytest.mark.parametrize(
    "text", ["run.stop = 5", 'run.stop = ""', 'run.stop = "a b"', 'run.halt = "x"', "= 3", "\x00"]
)
def test_a_mistake_costs_one_line_and_only_itself(file: Path, text: str) -> None:
    file.write_text(f"{text}\n", encoding="utf-8")
    found = keymap.load()
    assert dict(found.wanted) == {}
    (problem,) = found.problems
    assert "keys.toml" in problem
    assert "\n" not in problem


def test_many_mistakes_are_summed_up(file: Path) -> None:
    file.write_text("".join(f'no{n} = "x"\n' for n in range(40)), encoding="utf-8")
    assert len(keymap.load().problems) == keymap.MAX_PROBLEMS + 1
    file.write_bytes(b"#" * (keymap.MAX_BYTES + 1))
    assert "larger" in keymap.load().problems[0]
