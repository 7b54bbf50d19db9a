"""What a sweep knows: the steps that are over and what each showed. The plan reads nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from tuiperf.engine.spec import TestSpec
from tuiperf.rules.verdict import Verdict
from tuiperf.session import Direction


class Kind(Enum):
    """The experiments."""

    LOOK = "look"
    FORWARD = "forward"
    REVERSE = "reverse"
    LONGER = "longer"
    MSS = "mss"
    PARALLEL = "parallel"
    PACED = "paced"
    CONTROL = "control"
    BIDIR = "both ways"
    UDP = "udp"
    WINDOW = "window"
    REPEAT = "repeat"


class Mode(Enum):
    """How much certainty is asked for."""

    USUAL = "usual"
    QUICK = "quick"
    THOROUGH = "thorough"


TIME_S = {Mode.USUAL: 90.0, Mode.QUICK: 30.0, Mode.THOROUGH: 300.0}


@dataclass(frozen=True)
class Limits:
    """What a sweep may take: payload bytes in all, a rate in bit/s, seconds. 0: no limit."""

    mode: Mode = Mode.USUAL
    budget_bytes: int = 0
    max_rate_bps: int = 0
    time_s: float = TIME_S[Mode.USUAL]

    @classmethod
    def of(cls, mode: Mode, budget_bytes: int = 0, max_rate_bps: int = 0) -> Limits:
        return cls(mode, budget_bytes, max_rate_bps, TIME_S[mode])


@dataclass(frozen=True)
class Step:
    """One experiment: what it is, why it comes now, and what each outcome would mean.

    `variant` tells apart steps of one kind and way: "4" connections, "2" for a second repeat.
    `seconds` is what it takes at most in usual conditions; `most_bytes` what it may carry, None
    while no rate is known and no budget is set.
    """

    kind: Kind
    way: Direction
    why: str
    outcomes: tuple[str, ...]
    test: TestSpec | None
    seconds: float
    most_bytes: int | None = None
    variant: str = ""

    @property
    def key(self) -> tuple[Kind, Direction, str]:
        return self.kind, self.way, self.variant


@dataclass(frozen=True)
class Reading:
    """What one direction of a step showed. None means "not known"; rates are goodput."""

    way: Direction
    verdicts: tuple[Verdict, ...]
    streams: int = 1
    goodput_bps: float | None = None  # of the steady part
    whole_bps: float | None = None
    best_bps: float | None = None  # the fastest half second
    min_rtt_us: float | None = None
    rtt_us: float | None = None  # median under load
    peak_rtt_us: float | None = None
    lost_share: float | None = None  # of the bytes sent again; of UDP: of the datagrams
    lost_packets: int | None = None
    jitter_s: float | None = None  # of UDP, RFC 3550
    late_packets: int | None = None  # of UDP, out of order
    duplicates: int | None = None
    host_dropped: int | None = None  # of UDP, by the receiving host
    scatter: float | None = None
    window_bytes: float | None = None
    congestion: str = ""
    busy_share: float = 0.0  # of a core, our busiest worker
    far_busy_share: float = 0.0
    same_host: bool = False
    delivered_any: bool = False
    granted: tuple[str, ...] = ()  # settings that came out other than asked
    rfc6349: dict[str, object] = field(default_factory=dict, hash=False)

    @property
    def verdict(self) -> Verdict:
        """The first one."""
        return self.verdicts[0]

    @property
    def rise_us(self) -> float:
        """The highest RTT over the least: what the largest queue of the step added."""
        return max(0.0, (self.peak_rtt_us or 0.0) - (self.min_rtt_us or self.peak_rtt_us or 0.0))


@dataclass(frozen=True)
class Done:
    """A step that is over: "done", "failed" or "skipped"; only a done one has readings."""

    step: Step
    outcome: str
    readings: tuple[Reading, ...] = ()
    carried_bytes: int = 0
    lasted_s: float = 0.0
    problem: str = ""
    code: int = 0

    def reading(self, way: Direction) -> Reading | None:
        return next((each for each in self.readings if each.way is way), None)


@dataclass(frozen=True)
class Idle:
    """What the look before any load found."""

    address: str = ""
    device: str = ""
    method: str = ""
    sent: int = 0
    rtts_us: tuple[int, ...] = ()
    path_mtu_bytes: int | None = None
    answers: str = ""
    problem: str = ""
    controls: tuple[str, ...] = ()
    findings: tuple[Verdict, ...] = ()

    @property
    def least_us(self) -> int | None:
        return min(self.rtts_us, default=None)

    @property
    def spread_us(self) -> int:
        """The 9th tenth of the round trips over the least: what varies without any load."""
        ordered = sorted(self.rtts_us)
        return ordered[(len(ordered) - 1) * 9 // 10] - ordered[0] if ordered else 0

    @property
    def lost_share(self) -> float | None:
        return 1 - len(self.rtts_us) / self.sent if self.sent and self.rtts_us else None


@dataclass(frozen=True)
class Known:
    """All that the next step depends on."""

    host: str = ""
    limits: Limits = field(default_factory=Limits)
    idle: Idle | None = None
    done: tuple[Done, ...] = ()
    elapsed_s: float = 0.0
    wishes: int = 0  # experiments for more certainty that were asked for
    accepted: bool = False
    interrupted: bool = False

    @property
    def carried_bytes(self) -> int:
        return sum(each.carried_bytes for each in self.done)

    def tried(self, step: Step) -> bool:
        return any(each.step.key == step.key for each in self.done)

    def readings(self, kind: Kind, way: Direction, variant: str = "") -> Iterator[Reading]:
        """What the done steps of a kind showed, the newest first."""
        for each in reversed(self.done):
            step = each.step
            if step.kind is not kind or (variant and step.variant != variant):
                continue
            found = each.reading(way)
            if found is not None and each.outcome == "done":
                yield found

    def reading(self, kind: Kind, way: Direction, variant: str = "") -> Reading | None:
        return next(self.readings(kind, way, variant), None)

    def baseline(self, way: Direction) -> Reading | None:
        """One connection as it comes, cubic where that could be had."""
        return self.reading(Kind.FORWARD if way is Direction.FORWARD else Kind.REVERSE, way)

    def reached_bps(self, way: Direction) -> float:
        """The highest goodput that TCP has shown in a direction so far."""
        rates = [
            reading.goodput_bps or 0.0
            for each in self.done
            if each.step.kind is not Kind.UDP
            for reading in each.readings
            if reading.way is way
        ]
        return max(rates, default=0.0)

    @property
    def min_rtt_us(self) -> float | None:
        """The least round trip that anything has shown."""
        known = [each.min_rtt_us for done in self.done for each in done.readings]
        known.append(self.idle.least_us if self.idle else None)
        return min((each for each in known if each), default=None)

    @property
    def refused_code(self) -> int:
        """iperf3's error number of the newest step that failed."""
        codes = [each.code for each in self.done if each.outcome == "failed"]
        return codes[-1] if codes else 0
