"""`tuiperf learn` as a user types it, without a terminal and with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import made
from tests.cli.commands import on_a_terminal, tuiperf
from tuiperf import events as ev
from tuiperf.lessons.text import NUMBERS, lesson


@pytest.mark.parametrize("number", NUMBERS)
def test_a_lesson_prints(tmp_path: Path, number: int) -> None:
    ran = tuiperf(tmp_path, "learn", str(number))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"tuiperf  Lesson {number}: {lesson(number).title}\n")
    for page in lesson(number).pages:
        assert page.title in ran.stdout
    assert f"tuiperf demo {lesson(number).path}" in ran.stdout
    assert all(len(line) <= 79 for line in ran.stdout.splitlines())


def test_without_a_number_the_titles(tmp_path: Path) -> None:
    ran = tuiperf(tmp_path, "learn")
    assert ran.returncode == 0
    assert [line for line in ran.stdout.splitlines() if line.startswith("  5")]


def test_ones_own_run_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "tuiperf" / "runs"
    folder.mkdir(parents=True)
    lines = (ev.to_line(each, number) + "\n" for number, each in enumerate(made.run(seconds=4)))
    (folder / "a.jsonl.gz").write_text("".join(lines), encoding="utf-8")
    ran = tuiperf(tmp_path, "learn", "1")
    assert "with your own numbers" in ran.stdout
    assert "Your last run, to lab-b: " in ran.stdout


def test_other_numbers_and_an_answer(tmp_path: Path) -> None:
    ran = tuiperf(
        tmp_path, "learn", "2", "--set", "rtt=42ms", "--set", "window=4M", "--answer", "c"
    )
    assert ran.returncode == 0
    assert "Holds    5.25 MB" in ran.stdout
    assert "Right. " in ran.stdout


def test_ascii(tmp_path: Path) -> None:
    assert tuiperf(tmp_path, "learn", "4", "--ascii").stdout.isascii()
    assert tuiperf(tmp_path, "learn", "4", env={"LANG": "C"}).stdout.isascii()


@pytest.mark.parametrize(
    ("words", "why", "code"),
    [
        (("9",), "'9' is no lesson: there are 1 to 8", 1),
        (("2", "--set", "rtt"), "--set rtt: '' is no time", 1),
        (("2", "--set", "x=1"), "there is no slider 'x' here", 1),
        (("2", "--answer", "d"), "invalid choice", 1),
        (("--answer", "a"), "belong to a lesson", 1),
        (("2", "--tui", "--answer", "a"), "--tui does not go with them", 1),
        (("2", "--tui"), "the screen cannot open: stdin is not a terminal", 2),
        (("2", "\x1b[31m"), "unrecognized arguments: \\x1b[31m", 1),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, words: tuple[str, ...], why: str, code: int
) -> None:
    ran = tuiperf(tmp_path, "learn", *words)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert why in ran.stderr
    assert ran.stderr.startswith("tuiperf: ") and ran.stderr.count("\n") == 1


def test_on_a_terminal_plain_prints_in_colour(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, "learn", "2", "--plain")
    assert code == 0
    assert "\x1b[1mLesson 2" in shown
    assert "\x1b[?1049h" not in shown
    assert "\x1b[" not in on_a_terminal(tmp_path, "learn", "2", "--plain", env={"NO_COLOR": "1"})[1]


def test_on_a_terminal_it_opens_the_screen(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, "learn", "6", once=b"Autonegotiation", press=b"q")
    assert code == 0
    assert "\x1b[?1049h" in shown
