"""What has changed between two link checks, in words. Pure: two documents in, changes out.

The documents are LinkFacts as JSON; what either of them lacks is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tuiperf.evidence.counters import Counts
from tuiperf.evidence.signs import Errors, errors

from .expectation import speed
from .verdict import Level

POWER_LEAST_DB = 0.5
RTT_LEAST_MS = 0.5
RTT_SHARE = 0.2

Document = Mapping[str, Any]
Worse = Callable[[Any, Any], bool]


@dataclass(frozen=True)
class LinkChange:
    """One change; FAULT is worse, FINE better, LOOK only different, PENDING not to be told."""

    what: str
    level: Level
    before: str
    after: str

    @property
    def values(self) -> str:
        """Before and after; a counter's growth and a reason speak for themselves."""
        if self.before in ("none more", "not compared"):
            return self.after if self.before == "none more" else f"{self.before}: {self.after}"
        return f"{self.before} → {self.after}"

    @property
    def text(self) -> str:
        return f"{self.what}: {self.values}"

    def to_json(self) -> dict[str, str]:
        return {
            "what": self.what,
            "level": self.level.value,
            "before": self.before,
            "after": self.after,
        }


def _less(before: Any, after: Any) -> bool:
    return bool(after < before)


def _half(before: Any, after: Any) -> bool:
    return bool(after == "half")


def _switched_off(before: Any, after: Any) -> bool:
    return after is False


_VALUES: tuple[tuple[str, str, Callable[[Any], str], Worse | None], ...] = (
    ("device carried by", "device.name", str, None),
    ("carrier", "device.carrier", lambda on: "yes" if on else "no", _switched_off),
    ("speed", "link.speed_mbps", speed, _less),
    ("duplex", "link.duplex", str, _half),
    ("autonegotiation", "link.autoneg", lambda on: "on" if on else "off", _switched_off),
    ("port", "ethtool.info.port", str, None),
    ("MDI", "ethtool.info.mdix", str, None),
    ("clock", "ethtool.modes.master_slave", str, None),
    ("signal quality", "ethtool.state.sqi", str, _less),
    ("pause, receiving", "ethtool.pause.rx", lambda on: "on" if on else "off", None),
    ("pause, sending", "ethtool.pause.tx", lambda on: "on" if on else "off", None),
    ("EEE allowed", "ethtool.eee.enabled", lambda on: "yes" if on else "no", None),
    ("EEE", "ethtool.eee.active", lambda on: "active" if on else "not active", None),
    ("FEC", "ethtool.fec.active", str, None),
    ("receive ring", "ethtool.rings.rx", str, None),
    ("queues", "ethtool.channels.count", str, None),
    ("driver", "ethtool.driver.name", str, None),
    ("driver's version", "ethtool.driver.version", str, None),
    ("firmware", "ethtool.driver.firmware", str, None),
    ("MTU", "interface.mtu_bytes", str, None),
    ("MTU of the path", "path_mtu.mtu_bytes", str, _less),
    ("queue discipline", "device.qdisc", str, None),
    ("gateway", "route.gateway", str, None),
    ("source address", "route.source", str, None),
    ("server's port", "port.state", str, None),
    ("congestion control", "kernel.congestion", str, None),
    ("tcp_rmem", "kernel.tcp_rmem_bytes", lambda each: " ".join(map(str, each)), None),
    ("tcp_wmem", "kernel.tcp_wmem_bytes", lambda each: " ".join(map(str, each)), None),
    ("Wi-Fi signal", "wifi.signal_dbm", lambda dbm: f"{dbm} dBm", None),
)
"""What is compared: its name, where it is, how it is worded, and when the change is for the worse
(None: it is only different)."""

_SETS = (
    ("partner's modes", "ethtool.modes.partner"),
    ("own modes", "ethtool.modes.advertised"),
    ("offloads", "ethtool.features.on"),
)
_COUNTERS = (
    ("damaged frames (CRC)", "damaged", Level.FAULT),
    ("misaligned frames", "misaligned", Level.FAULT),
    ("symbol errors", "symbols", Level.FAULT),
    ("uncorrectable blocks (FEC)", "uncorrectable", Level.FAULT),
    ("frames without room", "missed", Level.FAULT),
    ("lost carriers while sending", "lost_carrier", Level.FAULT),
    ("late collisions", "late_collisions", Level.FAULT),
    ("pauses asked for", "pauses", Level.LOOK),
)
"""What is counted: its name, the sign that counts it, and what more of it means."""

SAME_START_S = 120.0
"""Two reckonings of one start of this host differ by less."""


def compare(before: Document, after: Document, elapsed_s: float | None = None) -> list[LinkChange]:
    """All changes, the worse ones first. `elapsed_s` is what lies between the two checks."""
    found = [
        *_values(before, after),
        *_sets(before, after),
        *_counts(before, after, elapsed_s),
        *_optics(before, after),
        *_round_trips(before, after),
    ]
    rank = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}
    return sorted(found, key=lambda change: rank[change.level])


def at(document: Document, path: str) -> Any:
    """The value at "link.speed_mbps", None when something on the way is missing."""
    value: Any = document
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _values(before: Document, after: Document) -> Iterator[LinkChange]:
    for what, path, word, worse in _VALUES:
        old, new = at(before, path), at(after, path)
        if old in (None, "", []) or new in (None, "", []) or old == new:
            continue
        try:
            level = Level.LOOK
            if worse is not None:
                level = Level.FAULT if worse(old, new) else Level.FINE
            yield LinkChange(what, level, word(old), word(new))
        except (TypeError, ValueError):
            continue
    if at(before, "link.speed_mbps") and at(after, "device.carrier") is False:
        return
    lost = at(before, "link.speed_mbps")
    if lost and at(after, "link") and at(after, "link.speed_mbps") is None:
        yield LinkChange("speed", Level.LOOK, str(lost), "not told")


def _sets(before: Document, after: Document) -> Iterator[LinkChange]:
    for what, path in _SETS:
        old, new = at(before, path), at(after, path)
        if not isinstance(old, list) or not isinstance(new, list) or not old or not new:
            continue
        gone = [str(each) for each in old if each not in new]
        come = [str(each) for each in new if each not in old]
        if gone:
            yield LinkChange(what, Level.LOOK, " ".join(gone), "gone")
        if come:
            yield LinkChange(what, Level.LOOK, "not there", " ".join(come))


def _counts(before: Document, after: Document, elapsed_s: float | None) -> Iterator[LinkChange]:
    """Counters that grew; where they were started anew meanwhile, that they tell nothing."""
    why = _started_anew(before, after, elapsed_s)
    if why:
        yield LinkChange("counters", Level.PENDING, "not compared", why)
        return
    old, new = _counted(before), _counted(after)
    for what, name, level in _COUNTERS if old and new else ():
        grown = _grown(getattr(old, name), getattr(new, name))
        if grown:
            yield LinkChange(what, level, "none more", f"{grown} more since")
    flaps = _grown(at(before, "totals.carrier_changes"), at(after, "totals.carrier_changes"))
    if flaps:
        yield LinkChange("carrier changes", Level.LOOK, "none more", f"{flaps} more since")


def _started_anew(before: Document, after: Document, elapsed_s: float | None) -> str:
    """Why the counters of two checks do not belong together, "" when they do."""
    names = [(at(each, "device.name"), at(each, "device.index")) for each in (before, after)]
    if names[0] != names[1]:
        return "another device counts now"
    old, new = at(before, "uptime_s"), at(after, "uptime_s")
    if not isinstance(old, (int, float)) or not isinstance(new, (int, float)):
        return ""
    expected = old if elapsed_s is None else old + elapsed_s - SAME_START_S
    return "this host was started anew" if new < expected else ""


def _counted(document: Document) -> Errors | None:
    """The signs of a kept check's counters."""
    nic, standard, driver = (
        _numbers(at(document, f"totals.{kind}")) for kind in ("nic", "standard", "driver")
    )
    return errors(Counts(0.0, nic=nic, standard=standard, driver=driver))


def _numbers(counters: Any) -> dict[str, int]:
    if not isinstance(counters, Mapping):
        return {}
    return {str(name): count for name, count in counters.items() if isinstance(count, int)}


def _grown(old: Any, new: Any) -> int:
    return new - old if isinstance(old, int) and isinstance(new, int) and new > old else 0


def _optics(before: Document, after: Document) -> Iterator[LinkChange]:
    old, new = _powers(before), _powers(after)
    for lane, dbm in new.items():
        if lane in old and abs(dbm - old[lane]) >= POWER_LEAST_DB:
            level = Level.FAULT if dbm < old[lane] else Level.FINE
            yield LinkChange(f"received power{lane}", level, f"{old[lane]:g} dBm", f"{dbm:g} dBm")


def _powers(document: Document) -> dict[str, float]:
    readings = at(document, "module.readings")
    found: dict[str, float] = {}
    for each in readings if isinstance(readings, list) else []:
        if isinstance(each, Mapping) and each.get("name") == "received power":
            value, lane = each.get("value"), each.get("lane")
            if isinstance(value, (int, float)):
                found[f", lane {lane}" if isinstance(lane, int) and lane > 1 else ""] = value
    return found


def _round_trips(before: Document, after: Document) -> Iterator[LinkChange]:
    old, new = _median(before), _median(after)
    if old is None or new is None or abs(new - old) < max(RTT_LEAST_MS, RTT_SHARE * old):
        return
    level = Level.FAULT if new > old else Level.FINE
    yield LinkChange("idle round trip", level, f"{old:.2f} ms", f"{new:.2f} ms")


def _median(document: Document) -> float | None:
    found = at(document, "latency.rtts_ms")
    if not isinstance(found, list):
        return None
    numbers = sorted(each for each in found if isinstance(each, (int, float)))
    return numbers[len(numbers) // 2] if numbers else None
