"""Two runs beside each other: what was set differently, and what differs by more than the noise.

Noise is the scatter of a run's own intervals. Each figure's means are compared by Welch's test at
95 % (Welch 1947, Biometrika 34), with the number of intervals cut down to what neighbours that are
alike are worth: n (1 - r) / (1 + r), r being their correlation (Bayley and Hammersley 1946). That
tells what changed within two runs, not what would change between repeats: for that, repeat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from tuiperf.events import Interval
from tuiperf.session import Direction, Session

LEAST = 4
"""Fewer intervals tell nothing about scatter."""

SMALL = 0.01
"""A smaller change is called none, however sure."""

_MOST_ALIKE = 0.9
_START_S = 1.0  # of a run without -O, which is slow start
_T95 = (
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060,
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One figure in both runs. `noise` is how large a change chance alone could make it.

    `beyond` tells that the change is larger; None: too few intervals to tell.
    """

    name: str
    unit: str
    first: float
    second: float
    noise: float | None
    beyond: bool | None
    better: str = ""  # "A" or "B", where the change is beyond the noise

    @property
    def share(self) -> float | None:
        """The change from the first to the second, as a part of the first."""
        return (self.second - self.first) / self.first if self.first else None


@dataclass(frozen=True)
class Setting:
    """One setting as it was in both runs."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        return self.first != self.second


@dataclass(frozen=True)
class Comparison:
    """Two runs, the first called A and the second B."""

    settings: tuple[Setting, ...]
    changes: tuple[Change, ...]

    @property
    def differing(self) -> tuple[Setting, ...]:
        return tuple(each for each in self.settings if each.differs)


def compare(first: Session, second: Session) -> Comparison:
    """Put two runs side by side."""
    changes = []
    for way in Direction:
        both = way in first.flows and way in second.flows
        several = len(first.flows) > 1 or len(second.flows) > 1
        for name, unit, more_is_better in _FIGURES if both else ():
            old, new = _series(first, way, name), _series(second, way, name)
            if old and new:
                label = f"{name} {way.value}" if several else name
                changes.append(judged(label, unit, old, new, more_is_better=more_is_better))
    return Comparison(tuple(_settings(first, second)), tuple(changes))


_FIGURES = (
    ("Goodput", "Mbit/s", True),
    ("RTT under load", "ms", False),
    ("Retransmits", "/s", False),
    ("Lost", "%", False),
    ("Jitter", "ms", False),
)


def judged(
    name: str,
    unit: str,
    first: Sequence[float],
    second: Sequence[float],
    *,
    more_is_better: bool = True,
) -> Change:
    """Whether the means of two series differ by more than their scatter explains."""
    a, b = fmean(first), fmean(second)
    if min(len(first), len(second)) < LEAST:
        return Change(name, unit, a, b, None, None)
    spread = [_variance_of_mean(each) for each in (first, second)]
    total = sum(variance for variance, _ in spread)
    noise = _t95(_freedom(spread)) * math.sqrt(total)
    beyond = abs(b - a) > max(noise, SMALL * max(abs(a), abs(b)))
    better = ("B" if (b > a) == more_is_better else "A") if beyond else ""
    return Change(name, unit, a, b, noise, beyond, better)


def _variance_of_mean(values: Sequence[float]) -> tuple[float, float]:
    """The variance of the mean, and how many independent values it rests on."""
    mean, count = fmean(values), len(values)
    offs = [value - mean for value in values]
    total = sum(off * off for off in offs)
    if total <= 0:
        return 0.0, float(count)
    alike = sum(x * y for x, y in pairwise(offs)) / total
    alike = max(0.0, min(alike, _MOST_ALIKE))
    worth = max(2.0, count * (1 - alike) / (1 + alike))
    return total / (count - 1) / worth, worth


def _freedom(spread: Sequence[tuple[float, float]]) -> float:
    """Degrees of freedom by Welch and Satterthwaite."""
    below = sum(variance**2 / (worth - 1) for variance, worth in spread)
    return sum(variance for variance, _ in spread) ** 2 / below if below > 0 else math.inf


def _t95(freedom: float) -> float:
    if freedom <= len(_T95):
        return _T95[max(1, int(freedom)) - 1]
    return 1.96 + 2.4 / freedom


def _series(session: Session, way: Direction, name: str) -> list[float]:
    here = (way is Direction.FORWARD) == (session.role == "client")
    found = []
    for interval in _steady(session):
        value = _figure(interval, here, name)
        if value is not None:
            found.append(value)
    return found


def _steady(session: Session) -> list[Interval]:
    """Whole intervals behind the start: the last one is often a rest of one."""
    kept = [each for each in session.intervals if not each.omitted]
    if kept:
        usual_s = max(each.end_s - each.start_s for each in kept)
        kept = [each for each in kept if each.end_s - each.start_s > 0.6 * usual_s]
    omitted = session.test is not None and session.test.omit_s > 0
    behind = [each for each in kept if omitted or each.start_s >= _START_S - 0.05]
    return behind or kept


def _figure(interval: Interval, here: bool, name: str) -> float | None:
    rows = [row for row in interval.streams if row.sends == here]
    span_s = max(1e-9, interval.end_s - interval.start_s)
    udp = [row.udp for row in rows if row.udp is not None]
    if not rows:
        return None
    if name == "Goodput":
        return sum(row.bytes for row in rows) * 8 / span_s / 1e6
    if name == "RTT under load":
        rtts = [row.rtt_us for row in rows if row.rtt_us]
        return fmean(rtts) / 1000 if rtts else None
    if name == "Retransmits":
        known = [row.retransmits for row in rows if row.retransmits is not None]
        return sum(known) / span_s if known else None
    if here or not udp:
        return None  # losses and jitter are known where datagrams arrive
    if name == "Jitter":
        return fmean(each.jitter_s for each in udp) * 1000
    packets = sum(each.packets for each in udp)
    return 100 * sum(each.lost_packets for each in udp) / packets if packets else None


def _settings(first: Session, second: Session) -> list[Setting]:
    """All that was set or given, in both runs; what neither tells is left out."""
    ours, theirs = _told(first), _told(second)
    names = [*ours, *(name for name in theirs if name not in ours)]
    pairs = [Setting(name, ours.get(name, "-"), theirs.get(name, "-")) for name in names]
    return [each for each in pairs if {each.first, each.second} != {"-"}]


def _told(session: Session) -> dict[str, str]:
    found: dict[str, str] = {"peer": session.peer or "-"}
    test = session.test or (session.client.test if session.client else None)
    if test is not None:
        usual = {
            "protocol": test.protocol.upper(),
            "direction": "both" if test.bidir else "from the peer" if test.reverse else "to it",
            "streams": str(test.parallel),
            "seconds": str(test.time_s),
            "omitted s": str(test.omit_s),
            "rate": f"{test.rate_bps} bit/s" if test.rate_bps else "free",
            "window": f"{test.window_bytes} bytes" if test.window_bytes else "the kernel's",
            "block": f"{test.block_bytes} bytes",
            "MSS asked": str(test.mss_bytes) if test.mss_bytes else "-",
            "DSCP/TOS": str(test.tos),
        }
        found |= usual
    ending = session.local
    if ending is not None and ending.congestion:
        found["congestion"] = ending.congestion
    if session.connection is not None:
        found["address"] = session.connection.remote_host
        found["MSS"] = f"{session.connection.mss_bytes or '-'}"
    return found | _of_host(session)


def _of_host(session: Session) -> dict[str, str]:
    found: dict[str, str] = {}
    if session.run is not None:
        found["tool"] = session.run.tool
        found["system"] = " ".join(session.run.system.split()[:3])
    facts = session.host_facts.get("begin")
    if facts is not None:
        names = {"net.core.default_qdisc": "default qdisc", "net.ipv4.tcp_rmem": "tcp_rmem"}
        names |= {"net.ipv4.tcp_wmem": "tcp_wmem"}
        found |= {words: str(facts.settings.get(name, "-")) for name, words in names.items()}
        found["device"] = str(facts.link.get("device", "-"))
        found["link Mbit/s"] = str(facts.link.get("speed_mbps", "-"))
    return found
