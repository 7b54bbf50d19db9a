"""The last minute of a link's counters: a rate a second for each, for drawing."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from . import counters, cpu, interfaces
from .counters import Counts
from .cpu import CoreTimes
from .gaps import Gaps
from .interfaces import Interface

KEEP = 120


@dataclass(frozen=True)
class Rates:
    """One second: frames and drops a second, and the busiest core's softirq share in percent."""

    rx_packets: float
    tx_packets: float
    drops: float
    errors: float
    softirq_percent: float
    softirq_core: int


class RateSampler:
    """Looks at a device once a second and keeps what it saw."""

    def __init__(self, device: Interface) -> None:
        self.device = device
        self._before: tuple[Counts, tuple[CoreTimes, ...]] | None = None
        self.rates: deque[Rates] = deque(maxlen=KEEP)

    def sample(self) -> None:
        """Take one look; the first gives no rate yet. Never raises."""
        found = interfaces.read_one(self.device.index)
        if found is None:
            self._before = None
            return
        gaps = Gaps()
        text = counters.softnet_text()
        counts = Counts(counters.now_s(), nic=found.counters, softnet=counters.softnet(text))
        now = counts, cpu.times(gaps)
        if self._before is not None:
            self.rates.append(rates(self._before[0], counts, self._before[1], now[1]))
        self._before = now


def rates(
    before: Counts, after: Counts, cores: Sequence[CoreTimes], later: Sequence[CoreTimes]
) -> Rates:
    """The rates between two looks."""
    window = counters.difference(before, after)
    seconds = max(1e-3, window.seconds)
    dropped = window.softnet.dropped if window.softnet else 0
    loads = cpu.loads(cores, later)
    core = max(range(len(loads)), key=lambda index: loads[index].softirq, default=0)
    spoiled = sum(window.nic.get(name, 0) for name in ("rx_crc_errors", "rx_frame_errors"))
    return Rates(
        rx_packets=window.nic.get("rx_packets", 0) / seconds,
        tx_packets=window.nic.get("tx_packets", 0) / seconds,
        drops=(window.nic.get("rx_missed_errors", 0) + dropped) / seconds,
        errors=spoiled / seconds,
        softirq_percent=100 * loads[core].softirq if loads else 0.0,
        softirq_core=core,
    )
