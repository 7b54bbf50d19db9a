"""The cores of this host: how busy, with what, at which setting, and what a container may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import files
from .gaps import Gaps

_CPUS = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class CoreTimes:
    """Seconds that one core has spent since the start of the system."""

    idle_s: float
    softirq_s: float
    steal_s: float
    total_s: float


@dataclass(frozen=True)
class CoreLoad:
    """Shares, 0 to 1, of one core's time."""

    busy: float
    softirq: float
    steal: float


@dataclass(frozen=True)
class Cpu:
    """The cores. `quota_cores` is what a container may use, None without a limit."""

    cores: int | None = None
    loads: tuple[CoreLoad, ...] = ()
    governors: tuple[str, ...] = ()
    frequency_driver: str = ""
    quota_cores: float | None = None
    irq_cores: tuple[int, ...] = ()  # cores that have served the card's interrupts
    irqs: int = 0
    hottest: str = ""

    @property
    def busiest(self) -> tuple[int, CoreLoad] | None:
        """The core with the highest load, by its number."""
        if not self.loads:
            return None
        number = max(range(len(self.loads)), key=lambda index: self.loads[index].busy)
        return number, self.loads[number]


def times(gaps: Gaps) -> tuple[CoreTimes, ...]:
    """What each core has spent so far, by psutil."""
    try:
        import psutil

        cores = psutil.cpu_times(percpu=True)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        gaps.note("CPU load", f"psutil cannot tell: {error}"[:120])
        return ()
    return tuple(
        CoreTimes(
            core.idle + getattr(core, "iowait", 0.0),
            getattr(core, "softirq", 0.0),
            getattr(core, "steal", 0.0),
            # guest times are in user times already
            sum(core) - getattr(core, "guest", 0.0) - getattr(core, "guest_nice", 0.0),
        )
        for core in cores
    )


def loads(before: Sequence[CoreTimes], after: Sequence[CoreTimes]) -> tuple[CoreLoad, ...]:
    """The load of each core between two looks; nothing when no time has passed."""
    if len(before) != len(after):
        return ()
    found = []
    for old, new in zip(before, after, strict=True):
        spent_s = new.total_s - old.total_s
        if spent_s <= 0:
            return ()

        def share(then: float, now: float, spent_s: float = spent_s) -> float:
            return min(1.0, max(0.0, (now - then) / spent_s))

        found.append(
            CoreLoad(
                1 - share(old.idle_s, new.idle_s),
                share(old.softirq_s, new.softirq_s),
                share(old.steal_s, new.steal_s),
            )
        )
    return tuple(found)


def read(interface: str, slot: str, gaps: Gaps) -> Cpu:
    """All but the loads, which take two looks."""
    governors, driver = _governors()
    interrupts = files.text("/proc/interrupts", 1 << 20) or ""
    cores, count = irq_spread(interrupts, interface, slot)
    return Cpu(
        cores=os.cpu_count(),
        governors=governors,
        frequency_driver=driver,
        quota_cores=quota(),
        irq_cores=cores,
        irqs=count,
        hottest=_hottest(gaps),
    )


def _governors() -> tuple[tuple[str, ...], str]:
    try:
        paths = sorted(Path(_CPUS).glob("cpu[0-9]*/cpufreq"))[:4096]
    except OSError:
        return (), ""
    names = {files.text(path / "scaling_governor", 64) for path in paths}
    driver = files.text(paths[0] / "scaling_driver", 64) if paths else None
    return tuple(sorted(name for name in names if name)), driver or ""


def irq_spread(text: str, interface: str, slot: str = "") -> tuple[tuple[int, ...], int]:
    """Which cores have served an interface's interrupts, and how many interrupt lines it has.

    /proc/interrupts: a column a core; the device's name comes last, as eth0, eth0-rx-0 or the like.
    """
    lines = text.splitlines()
    if not lines:
        return (), 0
    count = len(lines[0].split())
    served: set[int] = set()
    found = 0
    for line in lines[1:8192]:
        head, _, rest = line.partition(":")
        words = rest.split()
        if not head.strip().isdigit() or len(words) <= count:
            continue
        if not _names(words[count:], interface, slot):
            continue
        found += 1
        served |= {core for core in range(count) if words[core].isdigit() and int(words[core])}
    return tuple(sorted(served)), found


def _names(words: Iterable[str], interface: str, slot: str) -> bool:
    for word in words:
        name = word.rstrip(",")
        if name == interface or name.startswith((f"{interface}-", f"{interface}:")):
            return True
        if slot and (name.startswith(f"{slot}-") or name.endswith(f"@pci:{slot}")):
            return True
    return False


def quota(root: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float | None:
    """Cores that the control group may use, the least of all groups above it; None: no limit."""
    limits = []
    for line in (files.text(own, 1 << 16) or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            limits += _quotas(Path(root), path, quota_v2)
        elif "cpu" in controllers.split(","):
            limits += _quotas(Path(root) / "cpu", path, quota_v1)
    return min(limits, default=None)


def _quotas(root: Path, path: str, read_one: Callable[[Path], float | None]) -> list[float]:
    place = root / path.strip("/")
    found = []
    for group in [place, *place.parents][:32]:
        limit = read_one(group)
        if limit is not None:
            found.append(limit)
        if group == root:
            break
    return found


def quota_v2(group: Path) -> float | None:
    """cpu.max: "max 100000", or microseconds a period."""
    words = (files.text(group / "cpu.max", 64) or "").split()
    if len(words) != 2:
        return None
    used, period = files.whole(words[0]), files.whole(words[1])
    return used / period if used and period and used > 0 and period > 0 else None


def quota_v1(group: Path) -> float | None:
    """cpu.cfs_quota_us, -1 without a limit, and cpu.cfs_period_us."""
    used, period = (
        files.number(group / "cpu.cfs_quota_us"),
        files.number(group / "cpu.cfs_period_us"),
    )
    return used / period if used and period and used > 0 and period > 0 else None


def _hottest(gaps: Gaps) -> str:
    """The hottest sensor in words, "" where there is none."""
    try:
        import psutil

        found = [
            (sensor.current, sensor.label or chip)
            for chip, sensors in psutil.sensors_temperatures().items()
            for sensor in sensors
            if sensor.current is not None and -50 < sensor.current < 150
        ]
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError) as error:
        gaps.note("temperatures", f"psutil cannot tell: {error}"[:120])
        return ""
    if not found:
        return ""
    celsius, label = max(found)
    return f"{celsius:.0f} °C at {label}"
