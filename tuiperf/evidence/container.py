"""Whether this process lives in a container or a virtual machine: whose link is looked at."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from . import files

_MARKS = {"/.dockerenv": "Docker", "/run/.containerenv": "Podman"}
_GROUPS = {"kubepods": "Kubernetes", "docker": "Docker", "libpod": "Podman", "lxc": "LXC"}


@dataclass(frozen=True)
class Surroundings:
    """The container's name and whether a hypervisor is below; "" and False for neither."""

    container: str = ""
    virtual_machine: bool = False


def read() -> Surroundings:
    """Look for the marks that containers and hypervisors leave. Never raises."""
    return Surroundings(
        container_of(
            [path for path in _MARKS if Path(path).exists()],
            files.text("/run/systemd/container", 64) or _by_environment(),
            files.text("/proc/1/cgroup", 4096) or "",
        ),
        hypervisor_of(files.text("/proc/cpuinfo", 8192) or ""),
    )


def _by_environment() -> str:
    """What a container's own processes are told: by Kubernetes, by systemd, Podman and LXC."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "Kubernetes"
    return os.environ.get("container", "")[:32]  # noqa: SIM112


def container_of(marks: list[str], systemd: str, groups: str) -> str:
    """The container's kind by the marks that were found."""
    for mark in marks:
        return _MARKS[mark]
    if systemd:
        return systemd.split(maxsplit=1)[0]
    return next((name for part, name in _GROUPS.items() if part in groups), "")


def hypervisor_of(cpuinfo: str) -> bool:
    """The processor's flag that a hypervisor sets."""
    return any(
        "hypervisor" in line.split() for line in cpuinfo.splitlines() if line.startswith("flags")
    )
