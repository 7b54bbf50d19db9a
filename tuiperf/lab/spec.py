"""What a path is like: each direction's link, each host's settings, the helpers that disturb it.

"there" is the direction from the near side to the far side, "here" the one back. Rates count what
is on the wire: every packet with FRAMING_BYTES of Ethernet around it, so that 1 Gbit/s carries
941 Mbit/s of TCP payload at an MTU of 1500.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from tuiperf.lab.errors import LabError

Json = dict[str, Any]

FRAMING_BYTES = 38  # IEEE 802.3: header 14, FCS 4, preamble 8, gap 12
MTU_BYTES = 1500
MIN_MTU_BYTES = 576  # RFC 791: what every host must accept
MIN_RATE_BPS, MAX_RATE_BPS = 10_000, 10_000_000_000
MAX_DELAY_S = 10.0
MAX_HELD_BYTES = 1 << 30
"""The most that one direction may hold, in its queue and on its wire together."""
MIN_QUEUE_BYTES = 3 * (MTU_BYTES + FRAMING_BYTES)

SIDES = ("near", "far")
DIRECTIONS = ("there", "here")
HELPERS = ("hog", "pause", "crowd")
DEFAULT_BUFFER_BYTES = 64 << 20


@dataclass(frozen=True)
class Direction:
    """One direction of the path. Zero means "none" throughout; shares run from 0 to 1."""

    rate_bps: int = 0
    delay_s: float = 0.0
    jitter_s: float = 0.0  # up to so much more delay, evenly spread, the order kept
    queue_bytes: int = 0  # before the link; what does not fit is dropped
    loss: float = 0.0  # each packet for itself
    burst_loss: float = 0.0  # mean share lost in bursts (Gilbert-Elliott)
    burst_packets: float = 4.0  # mean length of such a burst
    outage_every_s: float = 0.0
    outage_s: float = 0.0
    reorder: float = 0.0
    reorder_s: float = 0.002  # how much later a reordered packet comes
    duplicate: float = 0.0
    mtu_bytes: int = 0  # of the narrowest link, when less than the device's
    mtu_silent: bool = False  # drop what is too large without a word: a black hole
    police_bps: int = 0  # token bucket: what exceeds it is dropped, nothing waits
    police_bytes: int = 0
    mark_s: float = 0.0  # packets that wait longer get an ECN mark, if they can carry one
    collides: bool = False  # loses a packet whenever the other direction sends at the same time

    @property
    def empty(self) -> bool:
        """True when there is nothing to emulate."""
        return self == Direction(queue_bytes=self.queue_bytes, burst_packets=self.burst_packets)

    def check(self, name: str) -> None:
        """Raise LabError for the first value that is out of its range."""
        for key, rate in (("rate", self.rate_bps), ("police", self.police_bps)):
            if rate and not MIN_RATE_BPS <= rate <= MAX_RATE_BPS:
                raise LabError(f"{key} toward {name}: possible are 10 kbit/s to 10 Gbit/s")
        times = (self.delay_s, self.jitter_s, self.reorder_s, self.outage_s, self.mark_s)
        if not all(0 <= value <= MAX_DELAY_S for value in times):
            raise LabError(f"a delay toward {name} is negative or more than {MAX_DELAY_S:g} s")
        shares = (self.loss, self.burst_loss, self.reorder, self.duplicate)
        if not all(0 <= value < 1 for value in shares):
            raise LabError(f"a share toward {name} is not between 0 and 100%")
        self._check_sizes(name)
        self._check_bursts(name)

    def _check_sizes(self, name: str) -> None:
        if self.mtu_bytes and not MIN_MTU_BYTES <= self.mtu_bytes <= MTU_BYTES:
            raise LabError(f"mtu toward {name}: possible are {MIN_MTU_BYTES} to {MTU_BYTES} bytes")
        if self.queue_bytes and self.queue_bytes < MIN_QUEUE_BYTES:
            raise LabError(
                f"queue toward {name}: less than three packets ({MIN_QUEUE_BYTES} bytes)"
            )
        if self.police_bps and self.police_bytes < MIN_QUEUE_BYTES:
            raise LabError(f"police-burst toward {name}: less than {MIN_QUEUE_BYTES} bytes")
        rate_bps = self.rate_bps or MAX_RATE_BPS
        wire_bytes = rate_bps * (self.delay_s + self.jitter_s) / 8
        if wire_bytes + self.queue_bytes > MAX_HELD_BYTES:
            hint = "" if self.rate_bps else "; so long a delay needs a rate"
            raise LabError(f"rate, delay and queue toward {name} would hold more than 1 GiB{hint}")

    def _check_bursts(self, name: str) -> None:
        if not 1 <= self.burst_packets <= 10_000:
            raise LabError(f"burst-length toward {name}: possible are 1 to 10000 packets")
        if self.burst_loss > 0.5:
            raise LabError(f"burst-loss toward {name}: at most 50%")
        if bool(self.outage_s) != bool(self.outage_every_s) or (
            self.outage_s and self.outage_s >= self.outage_every_s
        ):
            raise LabError(f"outage toward {name}: both its length and a longer period are needed")


@dataclass(frozen=True)
class Host:
    """The kernel's settings of one side, and what its sockets are allowed."""

    tcp_rmem_max_bytes: int = DEFAULT_BUFFER_BYTES
    tcp_wmem_max_bytes: int = DEFAULT_BUFFER_BYTES
    rmem_max_bytes: int = 0  # net.core.rmem_max; 0: as the machine has it
    wmem_max_bytes: int = 0
    congestion: str = "cubic"
    ecn: bool = False

    @property
    def limits(self) -> tuple[int, int]:
        """net.core.rmem_max and wmem_max in bytes, 0: the machine's own."""
        return self.rmem_max_bytes, self.wmem_max_bytes

    def check(self, side: str) -> None:
        """Raise LabError for the first value that is out of its range."""
        for key in ("tcp_rmem_max", "tcp_wmem_max"):
            if not 4096 <= getattr(self, f"{key}_bytes") <= 1 << 30:
                raise LabError(f"{key} of the {side} side: possible are 4K to 1G")
        for key in ("rmem_max", "wmem_max"):
            value = getattr(self, f"{key}_bytes")
            if value and not 4096 <= value <= 1 << 30:
                raise LabError(f"{key} of the {side} side: possible are 4K to 1G")
        if not self.congestion.replace("_", "").isalnum() or len(self.congestion) > 15:
            raise LabError(f"congestion of the {side} side: not the name of an algorithm")


@dataclass(frozen=True)
class Helper:
    """A process that disturbs a test: it begins when the far side's server begins one.

    "hog" spins on every core; "pause" stops the workers of that side for `stop_s` after each
    `run_s`, so that the application is the slow one; "crowd" is other traffic on the same path.
    """

    kind: str
    side: str = "near"
    toward: str = "there"
    after_s: float = 0.0  # since the test's data began
    for_s: float = 86400.0
    run_s: float = 0.01
    stop_s: float = 0.04
    streams: int = 1

    def check(self) -> None:
        """Raise LabError for the first value that is out of its range."""
        if self.kind not in HELPERS:
            raise LabError(f"helper {self.kind!r} is not one of {', '.join(HELPERS)}")
        if self.side not in SIDES or self.toward not in DIRECTIONS:
            raise LabError(f"helper {self.kind}: side is near or far, toward is here or there")
        times = (self.after_s, self.for_s, self.run_s, self.stop_s)
        if not all(0 <= value <= 86400 for value in times) or self.run_s + self.stop_s <= 0:
            raise LabError(f"helper {self.kind}: a time is negative or longer than a day")
        if not 1 <= self.streams <= 16:
            raise LabError(f"helper {self.kind}: possible are 1 to 16 streams")


@dataclass(frozen=True)
class PathSpec:
    """A whole path. `seed` fixes the draws of chance; two labs with the same one lose the same."""

    there: Direction = field(default_factory=Direction)
    here: Direction = field(default_factory=Direction)
    shared_medium: bool = False  # both directions take turns on one wire (half duplex)
    seed: int = 1
    near: Host = field(default_factory=Host)
    far: Host = field(default_factory=Host)
    helpers: tuple[Helper, ...] = ()

    @property
    def empty(self) -> bool:
        """True when a plain cable does: nothing is to be emulated between the hosts."""
        return self.there.empty and self.here.empty and not self.shared_medium

    @property
    def rtt_s(self) -> float:
        """The round trip of an empty path, without the time that a packet's bits take."""
        return self.there.delay_s + self.here.delay_s

    def direction(self, name: str) -> Direction:
        return self.there if name == "there" else self.here

    def check(self) -> None:
        """Raise LabError for the first value that is out of its range."""
        self.there.check("there")
        self.here.check("here")
        self.near.check("near")
        self.far.check("far")
        for helper in self.helpers:
            helper.check()
        if self.shared_medium and not self.there.rate_bps:
            raise LabError("a shared medium needs a rate")
        if self.shared_medium and self.there.rate_bps != self.here.rate_bps:
            raise LabError("a shared medium has one rate for both directions")

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> PathSpec:
        """Read what `to_json` wrote. Raises LabError when it is something else."""
        try:
            spec = cls(
                there=Direction(**data["there"]),
                here=Direction(**data["here"]),
                near=Host(**data["near"]),
                far=Host(**data["far"]),
                helpers=tuple(Helper(**each) for each in data["helpers"]),
                **{key: data[key] for key in ("shared_medium", "seed")},
            )
        except (KeyError, TypeError, AttributeError):
            raise LabError("this is not the description of a path") from None
        spec.check()
        return spec


def names_of(cls: type[Direction | Host | Helper]) -> set[str]:
    """The names of a description's fields."""
    return {each.name for each in fields(cls)}
