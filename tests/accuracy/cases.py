"""The cases: a path with a known fault, how it is tested, and which first verdict is right.

`right` names the true verdict first and then, where two names are true, the other ones; it was
written down before the runs. Where two names are true:

- BBR takes nearly all from two crowding cubic flows: its own rate hardly changes.
- A path of 100 Mbit/s is as true a `slow-hop` as it is a full path (`path-full`), and one of
  1 Gbit/s a `line-rate`.
- BBR fills a path that loses a little, or keeps a deep queue empty: `path-full` is true as well.
- A flow that is always full meets jitter as plain delay; its path is full, and jittery.
- A tunnel or a queue that only a limiter has is told by no end alone: `lossy` names them all.
- Collisions of a duplex mismatch are losses as long as no link tells of duplex.
- A far sender that has nothing to send looks like one whose send buffer is small.
- Of a medium that both directions share, each direction alone is a full one.
- A test too short for its path is still ramping, or cannot be told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tuiperf.engine.spec import TestSpec
from tuiperf.lab import profiles
from tuiperf.lab.spec import PathSpec

SECONDS = 8
CONTROLS = ("cubic", "bbr")
SIDES = ("snd", "rcv")
RTTS_MS = (1, 10, 40, 150)
RATES_MBPS = (20, 100, 300, 900)
PORT_QUEUE_S = 0.004
"""Least queue of a plain path: what a switch port holds. A sender's super-packets reach the lab's
bottleneck whole, and would overflow one BDP of 1 ms, which is no fault of a path."""
HEALTHY = frozenset({"healthy", "gigabit", "ack-loss", "tunnel", "deep-enough"})
"""Causes that are no fault: another verdict than the right ones is a false alarm."""

Table = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One run. A right verdict is an id, or an id and a qualifier's value: "lossy:path-loss"."""

    name: str
    path: PathSpec
    test: TestSpec
    right: tuple[str, ...]

    @property
    def cause(self) -> str:
        return self.name.partition("/")[0]

    @property
    def of_grid(self) -> bool:
        return self.name.count("/") > 1

    @property
    def for_choosing(self) -> bool:
        """Whether thresholds may be chosen on it. The other half is only reported.

        By a hash of the name, for good, profiles included.
        """
        return hashlib.sha256(f"half:{self.name}".encode()).digest()[0] % 2 == 0


@dataclass(frozen=True)
class Place:
    """Where in the grid a case lies."""

    rtt_ms: int
    rate_mbps: int
    congestion: str
    side: str

    @property
    def toward(self) -> str:
        """The direction that data takes."""
        return "there" if self.side == "snd" else "here"

    @property
    def receiver(self) -> str:
        return "far" if self.side == "snd" else "near"

    @property
    def sender(self) -> str:
        return "near" if self.side == "snd" else "far"

    @property
    def bdp_bytes(self) -> float:
        return self.rate_mbps * 1e6 * self.rtt_ms / 8e3

    @property
    def full(self) -> tuple[str, ...]:
        """The healthy verdicts of this rate."""
        return ("path-full", "slow-hop") if self.rate_mbps == 100 else ("path-full",)


@dataclass(frozen=True)
class Fault:
    """What a cause makes of a place: what is added to the plain path, and what is right then."""

    right: tuple[str, ...]
    table: Table | None = None
    test: Table | None = None


Cause = Callable[[Place], Fault | None]


def healthy(place: Place) -> Fault:
    return Fault(place.full)


def small_receiver(place: Place) -> Fault | None:
    if place.bdp_bytes < 100_000:
        return None
    buffer = int(0.4 * place.bdp_bytes / 0.66)
    return Fault(("window-limited:receiver",), {place.receiver: {"tcp_rmem": str(buffer)}})


def small_sender(place: Place) -> Fault | None:
    if place.bdp_bytes < 100_000:
        return None
    buffer = int(0.4 * place.bdp_bytes / 0.66)
    return Fault(("window-limited:sender",), {place.sender: {"tcp_wmem": str(buffer)}})


def lossy(place: Place) -> Fault | None:
    """As much random loss as holds cubic to 40 % of the rate, and enough of it to be seen."""
    rtt_s = place.rtt_ms / 1e3
    costly = (1.22 * 1448 * 8 / (rtt_s * 0.4e6 * place.rate_mbps)) ** 2
    share = max(costly, (0.82 * rtt_s) ** 2)
    if share > 0.02:
        return None
    if place.congestion == "bbr":
        share = max(share, 0.005)
    right = ("lossy",) if place.congestion == "cubic" else ("lossy", *place.full)
    return Fault(right, {place.toward: {"loss": f"{share:.3%}"}})


def policed(place: Place) -> Fault | None:
    if place.rate_mbps > 300:
        return None
    limit = {"police": f"{place.rate_mbps}M", "rate": "1G"}
    return Fault(("lossy",), {"queue": "1bdp", place.toward: limit})


def shallow_queue(place: Place) -> Fault | None:
    if place.bdp_bytes < 500_000:
        return None
    return Fault(("lossy",), {"queue": str(max(30_000, int(0.05 * place.bdp_bytes)))})


def bloated(place: Place) -> Fault | None:
    queued_s = max(0.3, 3.5e-3 * place.rtt_ms)
    if place.rate_mbps * (queued_s + place.rtt_ms / 1e3) > 300:
        return None  # more than the hosts' windows hold
    right = ("bufferbloat",) if place.congestion == "cubic" else ("bufferbloat", *place.full)
    return Fault(right, {"queue": str(int(place.rate_mbps * 1e6 / 8 * queued_s))})


def deep_enough(place: Place) -> Fault | None:
    """A queue of half the path's content: small, and enough for nearly all of the rate."""
    if place.bdp_bytes < 250_000:
        return None
    return Fault(place.full, {"queue": "0.5bdp"})


def reordered(place: Place) -> Fault:
    return Fault(("reordered",), {place.toward: {"reorder": "2%", "reorder-by": "2ms"}})


def duplicated(place: Place) -> Fault:
    return Fault(("duplicated",), {place.toward: {"duplicate": "1%"}})


def marked(place: Place) -> Fault:
    above_ms = max(2, place.rtt_ms // 4)
    queue = max(200_000, int(2 * place.bdp_bytes))
    return Fault(
        ("ecn-marked", *(("slow-hop",) if place.rate_mbps == 100 else ())),
        {
            "queue": str(queue),
            "near": {"ecn": True},
            "far": {"ecn": True},
            place.toward: {"mark-above": f"{above_ms}ms"},
        },
    )


def jittery(place: Place) -> Fault | None:
    if place.rate_mbps == 900:
        return None
    jitter_ms = max(5, place.rtt_ms // 2)
    return Fault(("jitter", *place.full), {place.toward: {"jitter": f"{jitter_ms}ms"}})


def outages(place: Place) -> Fault:
    return Fault(("outage",), {"outage": "400ms", "outage-every": "2500ms"})


def slow_reader(place: Place) -> Fault | None:
    if place.side != "snd" or place.rate_mbps < 300 or place.rtt_ms > 40:
        return None
    pause = {"kind": "pause", "side": "far", "run": "3ms", "stop": "60ms"}
    return Fault(("slow-reader",), {"far": {"tcp_rmem": "1M"}, "helper": [pause]})


def slow_sender(place: Place) -> Fault | None:
    if place.rate_mbps < 300 or place.rtt_ms > 40:
        return None
    pause = {"kind": "pause", "side": place.sender, "run": "2ms", "stop": "80ms"}
    inferred = ("window-limited:sender",) if place.side == "rcv" else ()
    return Fault(("offered-less", *inferred), {place.sender: {"tcp_wmem": "1M"}, "helper": [pause]})


def asked_less(place: Place) -> Fault:
    return Fault(("offered-less",), None, {"rate_bps": int(0.3e6 * place.rate_mbps)})


def crowded(place: Place) -> Fault | None:
    if place.rate_mbps not in (100, 300) or place.rtt_ms not in (10, 40):
        return None
    crowd = {"kind": "crowd", "toward": place.toward, "after": "4s", "streams": "2"}
    right = ("unsteady",) if place.congestion == "cubic" else ("unsteady", *place.full)
    return Fault(right, {"helper": [crowd]})


def black_hole(place: Place) -> Fault | None:
    if place.rate_mbps != 100:
        return None
    return Fault(("mtu-blackhole",), {place.toward: {"blackhole-mtu": "1400"}})


def tunnel(place: Place) -> Fault | None:
    if place.rate_mbps not in (100, 300):
        return None
    return Fault(place.full, {place.toward: {"mtu": "1400"}})


def ack_loss(place: Place) -> Fault | None:
    if place.rate_mbps not in (100, 300):
        return None
    back = "here" if place.side == "snd" else "there"
    return Fault(place.full, {back: {"loss": "0.5%"}})


def shared_medium(place: Place) -> Fault | None:
    if place.side != "snd" or place.rate_mbps not in (20, 100) or place.rtt_ms > 10:
        return None
    right = ("shared-medium", "path-full", "bufferbloat")
    return Fault(right, {"shared-medium": True, "queue": "200K"}, {"bidir": True})


def collisions(place: Place) -> Fault | None:
    if place.rate_mbps != 100 or place.rtt_ms > 10:
        return None
    return Fault(("duplex-mismatch", "lossy"), {"queue": "200K", place.toward: {"collides": True}})


def too_short(place: Place) -> Fault | None:
    if place.rtt_ms != 150 or place.rate_mbps < 300:
        return None
    return Fault(("still-ramping", "cannot-tell"), None, {"time_s": 3})


def gigabit(place: Place) -> Fault | None:
    if place.rate_mbps != 900 or place.rtt_ms not in (10, 40):
        return None
    return Fault(("line-rate", "path-full"), {"rate": "1G", "queue": "1bdp"})


CAUSES: dict[str, Cause] = {
    "healthy": healthy,
    "gigabit": gigabit,
    "deep-enough": deep_enough,
    "ack-loss": ack_loss,
    "tunnel": tunnel,
    "small-receiver": small_receiver,
    "small-sender": small_sender,
    "lossy": lossy,
    "policed": policed,
    "shallow-queue": shallow_queue,
    "bloated": bloated,
    "reordered": reordered,
    "duplicated": duplicated,
    "marked": marked,
    "jittery": jittery,
    "outages": outages,
    "slow-reader": slow_reader,
    "slow-sender": slow_sender,
    "asked-less": asked_less,
    "crowded": crowded,
    "black-hole": black_hole,
    "shared-medium": shared_medium,
    "collisions": collisions,
    "too-short": too_short,
}


def grid() -> Iterator[Case]:
    """Every cause at every place where it means something."""
    for name, cause in CAUSES.items():
        for place in _places():
            fault = cause(place)
            if fault is not None:
                yield _case(name, place, fault)


def _places() -> Iterator[Place]:
    for rtt_ms in RTTS_MS:
        for rate_mbps in RATES_MBPS:
            for congestion in CONTROLS:
                for side in SIDES:
                    yield Place(rtt_ms, rate_mbps, congestion, side)


def _case(name: str, place: Place, fault: Fault) -> Case:
    where = f"{name}/{place.rtt_ms}ms/{place.rate_mbps}M/{place.congestion}/{place.side}"
    seed = int.from_bytes(hashlib.sha256(where.encode()).digest()[1:4], "big")
    table = {
        "rate": f"{place.rate_mbps}M",
        "rtt": f"{place.rtt_ms}ms",
        "queue": str(int(max(place.bdp_bytes, PORT_QUEUE_S * place.rate_mbps * 1e6 / 8, 64_000))),
        "seed": str(seed),
    }
    path = using(profiles.build({**table, **(fault.table or {})}), place.congestion)
    settings: Table = {
        "time_s": SECONDS,
        "congestion": place.congestion,
        "reverse": place.side == "rcv",
        **(fault.test or {}),
    }
    return Case(where, path, TestSpec(**settings), fault.right)


REDUCED = (
    "healthy/10ms/300M/cubic/snd",
    "healthy/40ms/100M/bbr/rcv",
    "gigabit/10ms/900M/cubic/rcv",
    "ack-loss/40ms/100M/cubic/snd",
    "tunnel/10ms/300M/bbr/snd",
    "small-receiver/40ms/300M/bbr/snd",
    "small-receiver/10ms/900M/cubic/rcv",
    "small-sender/40ms/300M/cubic/snd",
    "lossy/10ms/300M/cubic/snd",
    "lossy/40ms/100M/cubic/rcv",
    "policed/40ms/100M/bbr/snd",
    "shallow-queue/40ms/300M/bbr/snd",
    "bloated/10ms/100M/cubic/snd",
    "reordered/10ms/100M/cubic/snd",
    "reordered/40ms/300M/cubic/rcv",
    "duplicated/10ms/300M/cubic/snd",
    "duplicated/40ms/100M/cubic/rcv",
    "marked/10ms/100M/bbr/snd",
    "outages/40ms/100M/cubic/snd",
    "slow-reader/10ms/300M/cubic/snd",
    "asked-less/10ms/100M/bbr/snd",
    "crowded/10ms/100M/cubic/snd",
    "black-hole/10ms/100M/cubic/snd",
)
"""A case or two of each cause that a few minutes have room for."""


def reduced() -> Iterator[Case]:
    """The cases of the reduced grid."""
    return (case for case in grid() if case.name in REDUCED)


_ALSO_TRUE = {
    "bloated/bbr": ("path-full",),
    "bursty-loss/bbr": ("path-full",),
    "lossy/bbr": ("path-full",),
    "lossy-reverse/bbr": ("path-full",),
    "crowded/bbr": ("path-full",),
    "jittery/cubic": ("path-full",),
    "jittery/bbr": ("path-full",),
    "duplex-mismatch/cubic": ("lossy",),
    "duplex-mismatch/bbr": ("lossy",),
    "shared-medium/cubic": ("path-full", "bufferbloat"),
    "shared-medium/bbr": ("path-full", "bufferbloat"),
    "shallow-queue/cubic": ("path-full",),  # cubic fills 98 % of it all the same
    "tunnel/cubic": ("slow-hop",),
    "tunnel/bbr": ("slow-hop",),
    "clean-lan/cubic": ("path-full",),
    "clean-lan/bbr": ("path-full",),
}
"""The same equivalents as in the grid, for the profiles."""


def of_profiles() -> Iterator[Case]:
    """Each profile as it stands, with cubic and with BBR."""
    for name in profiles.names():
        profile = profiles.load(name)
        for congestion in CONTROLS:
            test = TestSpec(time_s=SECONDS, congestion=congestion)
            options = profile.options
            for option, value in zip(options, (*options[1:], ""), strict=False):
                if option == "-R":
                    test = replace(test, reverse=True)
                elif option == "--bidir":
                    test = replace(test, bidir=True)
                elif option == "-t":
                    test = replace(test, time_s=int(value))
                elif option == "-w":
                    test = replace(test, window_bytes=int(value.removesuffix("K")) * 1024)
            path = using(profile.path, congestion)
            right = (profile.verdict, *_ALSO_TRUE.get(f"{name}/{congestion}", ()))
            yield Case(f"{name}/{congestion}", path, test, right)


def using(path: PathSpec, congestion: str) -> PathSpec:
    """The path with this congestion control as both hosts' own: a lab's routes insist on it."""
    near = replace(path.near, congestion=congestion)
    return replace(path, near=near, far=replace(path.far, congestion=congestion))
