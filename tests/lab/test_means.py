"""What the system may lack, told in one line each; a relay that leaves the machine to others."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.conftest import MakePath
from tuiperf.lab import limits, namespaces, priority, topology, tun
from tuiperf.lab.errors import LabError

SPIN = """
import os, time
from tuiperf.lab.relay import Relay
relay = Relay.__new__(Relay)
relay.realtime = False
relay.hurry()
begun = relay.realtime
end_s = time.monotonic() + 5
while time.monotonic() < end_s and os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK:
    pass
print(begun, relay.realtime, os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK)
"""


def may_hurry() -> bool:
    """May a process of this user have a real-time priority?"""
    code = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def test_a_missing_device_is_named_with_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tun, "PATH", str(tmp_path / "tun"))
    with pytest.raises(LabError, match="is missing: 'modprobe tun' brings it"):
        tun.open_device("path0")


def test_a_file_that_is_no_device_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tun").write_text("")
    monkeypatch.setattr(tun, "PATH", str(tmp_path / "tun"))
    with pytest.raises(LabError, match="cannot make a TUN device: "):
        tun.open_device("path0")


def test_switched_off_user_namespaces_are_told_by_the_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    switch = tmp_path / "max_user_namespaces"
    switch.write_text("0\n")

    def refuse(name: str, *arguments: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(namespaces, "_call", refuse)
    monkeypatch.setattr(namespaces, "_SWITCHES", ((str(switch), "0"),))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LabError) as error:
        namespaces.make()
    assert str(error.value) == (
        f"not root, and user namespaces are switched off here ({switch} is 0)"
    )
    switch.write_text("1000\n")
    with pytest.raises(LabError, match=r"grants no user namespace .*; run it as root"):
        namespaces.make()


def test_a_limit_of_namespaces_is_no_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *arguments: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(namespaces, "_call", refuse)
    with pytest.raises(LabError, match="as many as /proc/sys/user/max_net_namespaces allows"):
        namespaces.make()


def test_another_system_and_another_processor_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(LabError, match="the lab needs Linux"):
        namespaces.supported()
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(LabError, match="for x86-64 and 64-bit ARM only"):
        limits.check_supported()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    with (
        pytest.raises(LabError, match="needs the Python package pyroute2"),
        topology.netlink_here(),
    ):
        pass


def test_a_settings_file_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *rest: object, **more: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(LabError, match=r"net\.ipv4\.tcp_rmem cannot be set: /proc/sys is read"):
        topology._write("ipv4/tcp_rmem", "1 2 3")


def test_the_relay_has_a_modest_priority_and_a_limit_on_it(make_path: MakePath) -> None:
    lab = make_path({"rate": "10M", "rtt": "4ms"})
    pid = lab.info["parts"]["the relay"]
    allowed = may_hurry()
    assert lab.info["realtime"] is allowed
    assert os.sched_getparam(pid).sched_priority == (priority.RELAY if allowed else 0)
    assert priority.RELAY <= 10
    soft, _ = resource.prlimit(pid, resource.RLIMIT_RTTIME)
    assert soft == priority.MOST_CPU_US


def test_an_idle_relay_sleeps(make_path: MakePath) -> None:
    lab = make_path({"rate": "1G", "rtt": "42ms"})
    stat = Path(f"/proc/{lab.info['parts']['the relay']}/stat")

    def cpu_ticks() -> int:
        fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    time.sleep(0.3)
    before = cpu_ticks()
    time.sleep(1.0)
    assert (cpu_ticks() - before) / os.sysconf("SC_CLK_TCK") < 0.2


def test_a_relay_that_never_sleeps_gives_its_priority_up(lab_here: None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPIN], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"{may_hurry()} False 0\n"
