"""What a lab leaves in the system: processes, namespaces, devices."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tuiperf.lab.topology import DEVICE

GONE_S = 15.0


def network_of(pid: int | str) -> int:
    """The inode of a process's network namespace, 0 when it cannot be seen."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    return 0


def held_by_someone(networks: set[int]) -> set[str]:
    """Processes that are in one of these namespaces, or hold a descriptor of one."""
    wanted = {f"net:[{inode}]" for inode in networks}
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or entry.name == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            if network_of(entry.name) in networks:
                found.add(entry.name)
            for fd in (entry / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if str(fd.readlink()) in wanted:
                        found.add(entry.name)
    return found


def running(pids: Iterable[int]) -> set[int]:
    """Those of the processes that still run; zombies do not."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii"):
                found.add(pid)
    return found


def pids_of(info: dict[str, Any] | Any) -> set[int]:
    """The keeper and its parts."""
    return {int(info["pid"]), *map(int, info["parts"].values())}


def wait_until_gone(pids: set[int], networks: set[int]) -> tuple[set[int], set[str]]:
    """Wait for processes and namespaces to go; what is left after a generous while."""
    deadline_s = time.monotonic() + GONE_S
    while True:
        left = running(pids), held_by_someone(networks)
        if not any(left) or time.monotonic() > deadline_s:
            return left
        time.sleep(0.05)


def own_network() -> tuple[list[str], dict[str, str]]:
    """What no lab may change: our own namespace's TCP settings, and that it has no lab's device.

    Its other devices are left out, since other tests may make some at the same time.
    """
    devices = [path.name for path in Path("/sys/class/net").iterdir() if path.name == DEVICE]
    settings = {}
    for name in ("tcp_rmem", "tcp_wmem", "tcp_congestion_control", "tcp_ecn", "ping_group_range"):
        settings[name] = Path(f"/proc/sys/net/ipv4/{name}").read_text(encoding="ascii")
    return devices, settings
