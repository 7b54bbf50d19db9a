"""`tuiperf lab` and `tuiperf demo` as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import TIMEOUT_S, TUIPERF, environment, tuiperf
from tests.lab.traces import network_of, own_network, wait_until_gone
from tuiperf.lab import profiles, registry
from tuiperf.lab.run import join


@pytest.fixture
def name(lab_here: None, tmp_path: Path) -> Iterator[str]:
    """A name for a lab that no other test has; what is up under it is taken down."""
    chosen = f"test-{uuid.uuid4().hex[:12]}"
    yield chosen
    if chosen in registry.names():
        tuiperf(tmp_path, "lab", "down", chosen)


def test_the_list_names_every_profile_with_its_cause(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "lab", "list")
    assert (done.returncode, done.stderr) == (0, "")
    words = " ".join(done.stdout.split())
    for each in profiles.names():
        assert f"{each} {profiles.load(each).cause}" in words
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_profile_is_shown_with_cause_verdict_and_both_directions(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "lab", "show", "policed")
    assert done.returncode == 0
    assert "verdict  lossy (direction forward, kind policed)" in done.stdout
    assert "toward there: 1000 Mbit/s, 10 ms, queue 2.38 MiB, policed at 100 Mbit/s" in done.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("lab", "parameter error - the following arguments are required: ACTION"),
        ("lab fly", "invalid choice: 'fly'"),
        ("lab show polced", "error - no profile 'polced'; did you mean 'policed'?"),
        ("lab run policed", "lab run needs a command: tuiperf lab run PROFILE -- COMMAND"),
        ("lab up", "lab up needs a PROFILE, or what the path is like"),
        ("lab up --rate fast", "error - rate: 'fast' is not a number with a unit"),
        ("lab up --rate 900G", "error - rate toward there: possible are 10 kbit/s to 10 Gbit/s"),
        ("lab up --rtt=-5ms", "error - rtt: '-5ms' is negative"),
        ("lab check --rate -5M", "error - rate: '-5M' is negative"),
        ("lab up --rate 1G --far-pause 3ms", "--far-pause is RUN/STOP, as 2ms/80ms"),
        ("lab up --rate 1G --far-pause 3ms/fast", "error - stop: 'fast' is not a number"),
        ("lab up --rate 1G --crowd-after 2s", "--crowd-after belongs to --crowd N"),
        ("lab up --rate 1G --crowd 99", "error - helper crowd: possible are 1 to 16 streams"),
        ("lab up --rate 1G --crowd 2 --crowd-toward up", "toward is here or there"),
        ("lab up --loss 2", "leaves nothing: a share must be less than 100%"),
        ("lab up policed --name a/b", "error - 'a/b' cannot name a lab"),
        ("lab up policed --backend netem", "error - netem cannot carry this path"),
        ("lab check policed -- ls", "'--' and a command belong to 'lab run', not to 'lab check'"),
        ("lab down nosuchlab", "error - no lab 'nosuchlab' is up"),
        ("demo polced", "parameter error - no profile 'polced'; did you mean 'policed'?"),
    ],
)
def test_what_cannot_be_gets_one_line(
    lab_here: None, tmp_path: Path, words: str, complaint: str
) -> None:
    done = tuiperf(tmp_path, *words.split())
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.startswith("tuiperf: ")
    assert done.stderr.count("\n") == 1


def test_what_disturbs_a_test_can_be_asked_for(name: str, tmp_path: Path) -> None:
    words = "--rate 100M --rtt 10ms --near-hog --far-pause 3ms/60ms --crowd 2 --crowd-after 4s"
    up = tuiperf(tmp_path, "lab", "up", "slow-sender", "--name", name, *words.split())
    assert up.returncode == 0, up.stderr
    shown = tuiperf(tmp_path, "lab", "show", name).stdout.splitlines()
    assert [line for line in shown if line.startswith("disturbed")] == [
        "disturbed by a pause on the near side",
        "disturbed by a hog on the near side",
        "disturbed by a pause on the far side",
        "disturbed by a crowd toward there, after 4 s",
    ]


def test_a_command_runs_on_the_near_side_and_its_code_comes_back(
    lab_here: None, tmp_path: Path
) -> None:
    words = ("lab", "run", "--rtt", "2ms", "--", "sh", "-c")
    done = tuiperf(tmp_path, *words, "echo $TUIPERF_PEER $0; exit 7", "$TUIPERF_PEER")
    assert (done.stdout, done.returncode) == ("198.18.0.2 198.18.0.2\n", 7)
    assert tuiperf(tmp_path, *words, "kill -TERM $$").returncode == 128 + signal.SIGTERM
    missing = tuiperf(tmp_path, *words[:5], "no-such-command")
    assert missing.returncode == 1
    assert missing.stderr == (
        "tuiperf: error - cannot run 'no-such-command': No such file or directory\n"
    )


def test_a_lab_stays_up_until_it_is_taken_down(name: str, tmp_path: Path) -> None:
    before = own_network()
    up = tuiperf(tmp_path, "lab", "up", "--name", name, "--rate", "20M", "--rtt", "4ms")
    assert up.returncode == 0, up.stderr
    assert up.stdout.startswith(f"{name} is up\n")
    assert "carried by " in up.stdout
    lab = join(name)
    assert lab is not None
    pids = {int(lab.info["pid"]), *lab.info["parts"].values()}
    networks = {os.fstat(fd).st_ino for fd in (lab.spaces.near, lab.spaces.far)}
    lab.close()
    assert name in tuiperf(tmp_path, "lab", "list").stdout.partition("up now: ")[2]
    inside = tuiperf(tmp_path, "lab", "run", name, "--", "readlink", "/proc/self/ns/net")
    assert int(inside.stdout.strip()[5:-1]) in networks
    again = tuiperf(tmp_path, "lab", "up", "--name", name, "--rate", "20M")
    assert again.returncode == 1
    assert "is up already" in again.stderr
    assert "so far toward there:" in tuiperf(tmp_path, "lab", "show", name).stdout
    down = tuiperf(tmp_path, "lab", "down", name)
    assert (down.returncode, down.stdout) == (0, f"{name} is down\n")
    assert wait_until_gone(pids, networks) == (set(), set())
    assert name not in registry.names()
    assert own_network() == before


def test_a_killed_lab_leaves_its_name_free(name: str, tmp_path: Path) -> None:
    assert tuiperf(tmp_path, "lab", "up", "--name", name, "--rtt", "4ms").returncode == 0
    lab = join(name)
    assert lab is not None
    os.kill(int(lab.info["pid"]), signal.SIGKILL)
    networks = {os.fstat(fd).st_ino for fd in (lab.spaces.near, lab.spaces.far)}
    pids = set(lab.info["parts"].values())
    lab.close()
    assert wait_until_gone(pids, networks) == (set(), set())
    assert name not in registry.names()
    assert tuiperf(tmp_path, "lab", "up", "--name", name, "--rtt", "4ms").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_lab_run_ends_its_command_and_its_path(
    lab_here: None, tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [*TUIPERF, "lab", "run", "--rtt", "2ms", "--", "sh", "-c", "echo $$; sleep 1000; :"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    ) as child:
        assert child.stdout is not None
        pid = int(child.stdout.readline())
        network = network_of(pid)
        assert network not in (0, network_of("self"))
        child.send_signal(number)
        child.stdout.close()
        child.wait(TIMEOUT_S)
    assert wait_until_gone({pid}, {network}) == (set(), set())


@pytest.mark.parametrize("attended", [False, True])
def test_what_a_command_left_behind_ends_with_a_killed_keeper(
    name: str, tmp_path: Path, attended: bool
) -> None:
    assert tuiperf(tmp_path, "lab", "up", "--name", name, "--rtt", "2ms").returncode == 0
    lab = join(name)
    assert lab is not None
    keeper = int(lab.info["pid"])
    lab.close()
    script = "setsid sleep 1000 >&- 2>&- & echo $!" + ("; sleep 1000; :" if attended else "")
    with subprocess.Popen(
        [*TUIPERF, "lab", "run", name, "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    ) as child:
        assert child.stdout is not None
        stray = int(child.stdout.readline())
        network = network_of(stray)
        assert network not in (0, network_of("self"))
        if not attended:
            child.wait(TIMEOUT_S)
        os.kill(keeper, signal.SIGKILL)
        child.wait(TIMEOUT_S)
    assert wait_until_gone({stray}, {network}) == (set(), set())


def test_an_interrupt_that_no_terminal_sent_reaches_the_command(
    lab_here: None, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*TUIPERF, "lab", "run", "--rtt", "2ms", "--", "sh", "-c", "echo; exec sleep 1000"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(tmp_path),
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline()
            child.send_signal(signal.SIGINT)
            assert child.wait(TIMEOUT_S) == 128 + signal.SIGINT
        finally:
            child.kill()


def test_a_lab_that_does_not_answer_is_not_called_down(name: str, tmp_path: Path) -> None:
    assert tuiperf(tmp_path, "lab", "up", "--name", name, "--rtt", "2ms").returncode == 0
    lab = join(name)
    assert lab is not None
    keeper = int(lab.info["pid"])
    lab.close()
    os.kill(keeper, signal.SIGSTOP)
    try:
        done = tuiperf(tmp_path, "lab", "down", name)
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tuiperf: error - the lab does not answer\n"


def test_all_and_a_name_contradict_each_other(tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "lab", "down", "one", "--all")
    assert done.returncode == 1
    assert "a name or --all, not both" in done.stderr


def test_when_the_lab_dies_under_a_command_that_is_said(name: str, tmp_path: Path) -> None:
    assert tuiperf(tmp_path, "lab", "up", "--name", name, "--rtt", "2ms").returncode == 0
    with subprocess.Popen(
        [*TUIPERF, "lab", "run", name, "--", "sh", "-c", "echo $$; sleep 1000; :"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        assert tuiperf(tmp_path, "lab", "down", name).returncode == 0
        _, complaint = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 1
    assert "tuiperf: error - the lab ended under the command" in complaint


def test_the_demo_measures_a_path_of_the_lab_and_leaves_nothing(
    lab_here: None, tmp_path: Path
) -> None:
    before = own_network()
    done = tuiperf(tmp_path, "demo", "fast-ethernet-hop", "--plain", "-t", "2", "--no-record")
    assert done.returncode == 0
    assert "tuiperf: the demo's path is fast-ethernet-hop: one hop runs" in done.stderr
    assert "here → 198.18.0.2" in done.stdout.splitlines()[0]
    assert own_network() == before


def test_a_profiles_options_go_with_its_demo(lab_here: None, tmp_path: Path) -> None:
    done = tuiperf(tmp_path, "demo", "lossy-reverse", "--plain", "-t", "1", "--no-record")
    assert "198.18.0.2 → here" in done.stdout.splitlines()[0]


def test_the_command_line_loads_neither_the_screen_nor_netlink(tmp_path: Path) -> None:
    code = (
        "import sys, tuiperf.cli.main, tuiperf.cli.lab, tuiperf.cli.demo;"
        "print(sorted({'textual', 'pyroute2'} & set(sys.modules)))"
    )
    done = subprocess.run([TUIPERF[0], "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
