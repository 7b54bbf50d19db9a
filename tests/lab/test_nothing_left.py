"""However a lab ends, its processes, namespaces and devices are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.traces import (
    network_of,
    own_network,
    pids_of,
    running,
    wait_until_gone,
)
from tuiperf.lab.errors import LabEndedError
from tuiperf.lab.profiles import build
from tuiperf.lab.run import Lab, path, start

PATH = build({"rate": "50M", "rtt": "10ms", "helper": [{"kind": "hog"}, {"kind": "crowd"}]})
PARTS = [
    "the warden",
    "the relay",
    "the server",
    "the hog",
    "the crowd",
    "the other traffic's far end",
]

OWNER = """
import sys, time
from tuiperf.lab.run import path
with path({"rate": "50M", "rtt": "10ms"}) as lab:
    child = lab.near.popen(["sh", "-c", "sleep 1000 & sleep 1000"])
    print(lab.info["pid"], *lab.info["parts"].values(), child.pid, flush=True)
    time.sleep(1000)
"""


def networks_of(lab: Lab) -> set[int]:
    return {os.fstat(fd).st_ino for fd in (lab.spaces.near, lab.spaces.far)}


def test_the_end_of_a_with_is_the_end_of_it_all(lab_here: None) -> None:
    before = own_network()
    with path(PATH) as lab:
        assert set(lab.info["parts"]) == set(PARTS)
        stray = lab.near.popen(["sleep", "1000"])
        pids, networks = pids_of(lab.info), networks_of(lab)
        assert running(pids) == pids
        assert network_of(stray.pid) in networks
    stray.wait(10)
    assert stray.returncode == -signal.SIGKILL
    assert wait_until_gone(pids, networks) == (set(), set())
    assert own_network() == before


@pytest.mark.parametrize("part", [*PARTS, "the keeper"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_when_any_part_is_killed_all_the_others_go(
    lab_here: None, part: str, number: signal.Signals
) -> None:
    lab = start(PATH)
    try:
        pids, networks = pids_of(lab.info), networks_of(lab)
        pid = int(lab.info["pid"] if part == "the keeper" else lab.info["parts"][part])
        assert lab.alive()
        os.kill(pid, number)
        deadline_s = time.monotonic() + 15
        while running(pids) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        assert running(pids) == set()
        assert not lab.alive()
        assert lab.why_ended()
        with pytest.raises(LabEndedError):
            lab.counters()
    finally:
        lab.close()
    assert wait_until_gone(pids, networks) == (set(), set())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_when_the_owner_ends_the_lab_ends(lab_here: None, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pids = set(map(int, owner.stdout.readline().split()))
        networks = {network_of(pid) for pid in pids} - {network_of("self"), 0}
        assert len(networks) == 2
        owner.send_signal(number)
        owner.stdout.close()
    assert wait_until_gone(pids, networks) == (set(), set())


def test_a_lab_that_cannot_be_leaves_nothing(lab_here: None) -> None:
    before = children()
    with pytest.raises(Exception, match="not to be had here"):
        start(build({"rate": "1M", "far": {"congestion": "nosuch"}}))
    assert eventually(lambda: children() <= before)


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def eventually(holds: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 10
    while not holds():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True
