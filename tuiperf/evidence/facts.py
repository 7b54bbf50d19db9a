"""All that a link check has found, as one value: what the rules read and what is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from .container import Surroundings
from .counters import Counts, Window
from .cpu import Cpu
from .ethtool import Ethtool
from .gaps import Gap
from .hops import Hops
from .interfaces import Interface
from .kernel import KernelSettings
from .latency import Latency
from .link import Link
from .module import Module
from .path_mtu import PathMtu
from .ports import Port
from .route import Route
from .wifi import Wifi

STAGES = ("device", "latency", "path", "hops", "port", "counters")
"""What a check does, in this order; each ends with facts that can be shown."""


@dataclass(frozen=True)
class LinkFacts:
    """Facts of one check. None and empty values stand for what is not known, or not yet.

    `device` carries the frames of `interface`; `chain` names all on the way down. `totals` are the
    counters since the start of the interface, `window` what they grew by while it was watched.
    """

    asked: str = ""
    host: str = ""
    address: str = ""
    problem: str = ""
    expected: str = ""
    interface: Interface | None = None
    device: Interface | None = None
    chain: tuple[str, ...] = ()
    members: tuple[Interface, ...] = ()
    group: Interface | None = None
    link: Link | None = None
    ethtool: Ethtool = field(default_factory=Ethtool)
    module: Module | None = None
    wifi: Wifi | None = None
    kernel: KernelSettings = field(default_factory=KernelSettings)
    cpu: Cpu = field(default_factory=Cpu)
    surroundings: Surroundings = field(default_factory=Surroundings)
    uptime_s: float | None = None
    totals: Counts | None = None
    window: Window | None = None
    route: Route | None = None
    gateway_state: str = ""
    host_state: str = ""  # of a host without a gateway before it, as the neighbour table has it
    gateway_latency: Latency | None = None
    latency: Latency | None = None
    path_mtu: PathMtu | None = None
    hops: Hops | None = None
    port: Port | None = None
    gaps: tuple[Gap, ...] = ()
    gone: str = ""  # the interface that vanished while it was looked at
    pending: tuple[str, ...] = STAGES

    @property
    def over(self) -> bool:
        return not self.pending

    @property
    def speed_mbps(self) -> int | None:
        """The link's speed where it is known to be one."""
        return self.link.speed_mbps if self.link else None

    def to_json(self) -> dict[str, Any]:
        """Plain values; names are those of the fields."""
        plain = as_json(self)
        assert isinstance(plain, dict)
        return plain


def as_json(value: Any) -> Any:
    """A dataclass as plain values for JSON: enums by value, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(each) for each in value]
    if isinstance(value, float):
        return round(value, 4)
    return value
