"""The completions: bash is run, zsh and fish are checked by their shells where those are there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import tuiperf
from tuiperf.cli import completion_bash, completion_fish, completion_zsh
from tuiperf.cli.commands import SHELLS, Command, commands
from tuiperf.cli.grammar import COMMANDS, OPTIONS, OTHER_COMMANDS
from tuiperf.cli.main import OWN_WORDS
from tuiperf.lab import profiles

MAKERS = {
    "bash": completion_bash.script,
    "zsh": completion_zsh.script,
    "fish": completion_fish.script,
}
COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_tuiperf
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "tuiperf"
    path.write_text(completion_bash.script(commands()), encoding="utf-8")
    return path


def completed(script: Path, line: str) -> list[str]:
    """What bash offers at the end of the line; a blank there begins a new word."""
    words = line.split(" ")
    ran = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE, "bash", str(script), *words],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd=script.parent,
        timeout=30,
    )
    assert ran.stderr == ""
    return [each for each in ran.stdout.splitlines() if each]


def every(found: tuple[Command, ...]) -> Iterator[Command]:
    for each in found:
        yield each
        yield from every(each.nested)


def test_every_command_is_in_the_table() -> None:
    assert {each.name for each in commands()} == {"", *COMMANDS, *OTHER_COMMANDS}
    assert set(OWN_WORDS) == set(OTHER_COMMANDS)


def test_every_option_is_in_the_table() -> None:
    known = {name for flag in commands()[0].flags for name in flag.names}
    assert known == {name for each in OPTIONS for name in each.names}
    assert all(flag.help for each in every(commands()) for flag in each.flags)


def test_bash_completes_commands(script: Path) -> None:
    assert {"lab", "learn", "link"} <= set(completed(script, "tuiperf l"))
    assert {"run", "demo", "replay", "man"} <= set(completed(script, "tuiperf "))
    assert completed(script, "tuiperf lab ") == ["list", "show", "up", "run", "down", "check"]
    assert completed(script, "tuiperf lab r") == ["run"]


@pytest.mark.parametrize(
    "line", ["tuiperf demo ", "tuiperf lab up ", "tuiperf lab run ", "tuiperf lab show -h "]
)
def test_bash_completes_profiles(script: Path, line: str) -> None:
    assert set(profiles.names()) <= set(completed(script, line))
    assert completed(script, f"{line}long") == ["long-fat-pipe"]


def test_bash_completes_lessons_and_answers(script: Path) -> None:
    assert completed(script, "tuiperf learn ") == list("12345678")
    assert completed(script, "tuiperf learn 2 --answer ") == list("abc")
    assert completed(script, "tuiperf learn 2 ") == []


def test_bash_completes_interfaces(script: Path) -> None:
    devices = set(os.listdir("/sys/class/net"))  # noqa: PTH208
    assert devices <= set(completed(script, "tuiperf link "))
    assert devices == set(completed(script, "tuiperf link cable-test "))
    assert completed(script, "tuiperf run lab-b --bind-dev l") == [
        each for each in sorted(devices) if each.startswith("l")
    ]


def test_bash_completes_options(script: Path) -> None:
    assert completed(script, "tuiperf lab-b --par") == ["--parallel"]
    assert completed(script, "tuiperf -c lab-b --get") == ["--get-server-output"]
    assert completed(script, "tuiperf -s --one") == ["--one-off"]
    assert completed(script, "tuiperf run --one") == []
    assert completed(script, "tuiperf replay --no") == ["--no-record"]
    assert completed(script, "tuiperf replay --par") == []
    assert completed(script, "tuiperf demo --par") == ["--parallel"]
    assert completed(script, "tuiperf demo --por") == []
    assert completed(script, "tuiperf link --exp") == ["--expect"]
    assert completed(script, "tuiperf link diff --exp") == []
    assert completed(script, "tuiperf lab up --bla") == ["--blackhole-mtu"]


def test_bash_completes_values(script: Path) -> None:
    assert completed(script, "tuiperf lab-b -C cub") == ["cubic"]
    assert completed(script, "tuiperf lab-b --dscp af1") == ["af11", "af12", "af13"]
    assert completed(script, "tuiperf lab up --backend ") == ["cable", "netem", "relay"]
    assert completed(script, "tuiperf lab-b -P ") == []
    assert completed(script, "tuiperf completion ") == list(SHELLS)


def test_bash_takes_no_value_for_a_command(script: Path) -> None:
    assert completed(script, "tuiperf -T lab li") == ["link"]
    assert completed(script, "tuiperf --title lab demo long") == ["long-fat-pipe"]


def test_bash_completes_files_with_blanks(script: Path) -> None:
    (script.parent / "a run.jsonl").touch()
    assert completed(script, "tuiperf replay a") == ["a run.jsonl"]
    assert completed(script, "tuiperf lab-b --record a") == ["a run.jsonl"]


def test_bash_leaves_a_labs_command_alone(script: Path) -> None:
    assert completed(script, "tuiperf lab run lossy -- tuiperf ") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed_and_its_shell_can_read_it(tmp_path: Path, shell: str) -> None:
    ran = tuiperf(tmp_path, "completion", shell)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == MAKERS[shell](commands())
    for words in ("long-fat-pipe", "cable-test", "--parallel", "--blackhole-mtu", "--answer"):
        spelled = words.removeprefix("--") if shell == "fish" else words
        assert spelled in ran.stdout
    program = shutil.which(shell)
    if program is not None:
        path = tmp_path / shell
        path.write_text(ran.stdout, encoding="utf-8")
        checked = subprocess.run([program, "-n", path], capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")


def test_fish_lines_are_one_each_and_their_quotes_are_closed() -> None:
    lines = completion_fish.script(commands()).splitlines()
    assert all(line.startswith("complete -c tuiperf") for line in lines[2:])
    assert all(line.replace("\\'", "").count("'") % 2 == 0 for line in lines)
    assert any(line.endswith("-l window -x -d 'size of the socket buffers'") for line in lines)


def test_zsh_has_a_function_for_every_command() -> None:
    text = completion_zsh.script(commands())
    assert text.startswith("#compdef tuiperf\n")
    for name in ("run", "demo", "lab_up", "link_cable_test", "learn"):
        assert f"\n_tuiperf_{name}() {{\n" in text
    assert "'(-n --bytes)-n[how much, instead]:N\\[KMGT\\]:'" in text


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "completion needs a shell: bash, zsh or fish\n"),
        (("tcsh",), "bash, zsh or fish, not 'tcsh'"),
        (("bash", "zsh"), "not 'bash zsh'"),
        (("\x1b",), "not '\\x1b'"),
    ],
)
def test_another_shell_is_one_line(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    ran = tuiperf(tmp_path, "completion", *words)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert why in ran.stderr and ran.stderr.count("\n") == 1


def test_it_says_where_the_script_goes(tmp_path: Path) -> None:
    shown = tuiperf(tmp_path, "completion", "--help").stdout
    assert all(shell in shown for shell in SHELLS)
    assert all(len(line) <= 100 for line in shown.splitlines())
