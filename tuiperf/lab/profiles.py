"""Paths by name, from TOML, and paths put together from words as on the command line.

In a profile the keys at the top hold for both directions; the tables [there] and [here] are for one
of them, [near] and [far] for the hosts, each [[helper]] is a process that disturbs the test.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tuiperf.lab import words
from tuiperf.lab.errors import LabError
from tuiperf.lab.spec import (
    DIRECTIONS,
    FRAMING_BYTES,
    MIN_QUEUE_BYTES,
    MTU_BYTES,
    SIDES,
    Direction,
    Helper,
    Host,
    PathSpec,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "profiles"
LEAST_DEFAULT_QUEUE_BYTES = 64 * 1024
DEFAULT_POLICE_S = 0.005

Table = Mapping[str, Any]
Read = Callable[[str, str], Any]

# Key in a profile and on the command line: the field, and how its text is read.
DIRECTION_KEYS: dict[str, tuple[str, Read]] = {
    "rate": ("rate_bps", words.rate_bps),
    "delay": ("delay_s", words.time_s),
    "jitter": ("jitter_s", words.time_s),
    "loss": ("loss", words.share),
    "burst-loss": ("burst_loss", words.share),
    "burst-length": ("burst_packets", words.count),
    "outage": ("outage_s", words.time_s),
    "outage-every": ("outage_every_s", words.time_s),
    "reorder": ("reorder", words.share),
    "reorder-by": ("reorder_s", words.time_s),
    "duplicate": ("duplicate", words.share),
    "mtu": ("mtu_bytes", words.size_bytes),
    "blackhole-mtu": ("mtu_bytes", words.size_bytes),
    "police": ("police_bps", words.rate_bps),
    "police-burst": ("police_bytes", words.size_bytes),
    "mark-above": ("mark_s", words.time_s),
}
HOST_KEYS: dict[str, tuple[str, Read]] = {
    "tcp_rmem": ("tcp_rmem_max_bytes", words.size_bytes),
    "tcp_wmem": ("tcp_wmem_max_bytes", words.size_bytes),
    "rmem_max": ("rmem_max_bytes", words.size_bytes),
    "wmem_max": ("wmem_max_bytes", words.size_bytes),
}
HELPER_KEYS: dict[str, tuple[str, Read]] = {
    "after": ("after_s", words.time_s),
    "for": ("for_s", words.time_s),
    "run": ("run_s", words.time_s),
    "stop": ("stop_s", words.time_s),
}
_PATH_WORDS = {"rtt", "queue", "loss-toward", "shared-medium", "collides", "seed"}
_PROFILE_WORDS = {"cause", "verdict", "options"}
_RIVALS = (("mtu", "blackhole-mtu"), ("rtt", "delay"))
_COMPANIONS = {
    "burst-length": ("burst-loss", "burst_loss"),
    "reorder-by": ("reorder", "reorder"),
    "police-burst": ("police", "police_bps"),
    "queue": ("rate", "rate_bps"),
}
_LOSSES = ("loss", "burst-loss", "burst-length")


@dataclass(frozen=True)
class Profile:
    """A path with a name: the cause of its trouble in one line, and the verdict that is right.

    `options` are the client's, when the fault shows only with them (`-R`, `-t 3`).
    """

    name: str
    cause: str
    verdict: str
    qualifier: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    path: PathSpec


def names() -> list[str]:
    """The names of all profiles, in order."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def load(name: str) -> Profile:
    """The profile of this name. Raises LabError when there is none, with the nearest one."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.5)
        hint = f"did you mean {near[0]!r}?" if near else "'tuiperf lab list' names them"
        raise LabError(f"no profile {name[:60]!r}; {hint}")
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    return profile(name, tomllib.loads(text))


def profile(name: str, table: Table) -> Profile:
    """A profile from its table. Raises LabError with the name and the key that is wrong."""
    about = {key: value for key, value in table.items() if key in _PROFILE_WORDS}
    try:
        verdict = dict(about.get("verdict", {}))
        spec = build({key: value for key, value in table.items() if key not in about})
        return Profile(
            name=name,
            cause=str(about["cause"]),
            verdict=str(verdict.pop("id")),
            qualifier=tuple((key, str(value)) for key, value in verdict.items()),
            options=tuple(str(about.get("options", "")).split()),
            path=spec,
        )
    except KeyError as error:
        raise LabError(f"profile {name}: {error.args[0]!r} is missing") from None
    except LabError as error:
        raise LabError(f"profile {name}: {error}") from None


def build(table: Table, base: PathSpec | None = None) -> PathSpec:
    """A path from a table of words, over `base` when that is given. Raises LabError."""
    spec = base or PathSpec()
    _know(table, {*DIRECTION_KEYS, *_PATH_WORDS, *DIRECTIONS, *SIDES, "helper"})
    toward = str(table.get("loss-toward", ""))
    if toward not in ("", *DIRECTIONS):
        raise LabError(f"loss-toward: {toward!r} is neither here nor there")
    if toward:
        spec = _lose_only(toward, table, spec)
    common = {key: table[key] for key in table if key in (*DIRECTION_KEYS, "rtt", "collides")}
    built = {}
    for name in DIRECTIONS:
        theirs = common
        if toward and toward != name:
            theirs = {key: value for key, value in common.items() if key not in _LOSSES}
        built[name] = _direction(_merged(theirs, _table(table, name)), spec.direction(name))
    _check_companions(table, built)
    rtt_s = built["there"].delay_s + built["here"].delay_s
    queue = {name: _table(table, name).get("queue", table.get("queue")) for name in DIRECTIONS}
    for name, each in built.items():
        if queue[name] is None and base is not None and not _usual_queue(base, name):
            continue
        if queue[name] is not None or base is None or _changes_bdp(table):
            size = _queue_bytes("1bdp" if queue[name] is None else queue[name], each, rtt_s)
            built[name] = replace(each, queue_bytes=size)
    spec = replace(
        spec,
        **built,
        shared_medium=_flag(table, "shared-medium", spec.shared_medium),
        seed=int(words.count("seed", str(table.get("seed", spec.seed)))),
        near=_host(_table(table, "near"), spec.near),
        far=_host(_table(table, "far"), spec.far),
        helpers=(*spec.helpers, *map(_helper, table.get("helper", ()))),
    )
    spec.check()
    return spec


def _usual_queue(path: PathSpec, name: str) -> bool:
    """Whether a direction has the queue that it gets when none is asked for."""
    direction = path.direction(name)
    return direction.queue_bytes == _queue_bytes("1bdp", direction, path.rtt_s)


def _lose_only(toward: str, table: Table, base: PathSpec) -> PathSpec:
    """The base with its losses, if new ones are not asked for, moved to one direction."""
    other = "here" if toward == "there" else "there"
    if any(key in _table(table, other) for key in _LOSSES):
        raise LabError(f"loss-toward: {toward} alone, and yet a loss toward {other} is asked for")
    asked = any(key in part for part in (table, _table(table, toward)) for key in _LOSSES)
    ends = (base.direction(toward), base.direction(other))
    lossy = next((each for each in ends if each.loss or each.burst_loss), None)
    if lossy is None and not asked:
        raise LabError("loss-toward: no loss is asked for; --loss 1% would")
    lost = lossy or Direction()
    moved: dict[str, Any] = {
        toward: replace(
            base.direction(toward),
            loss=lost.loss,
            burst_loss=lost.burst_loss,
            burst_packets=lost.burst_packets,
        ),
        other: replace(base.direction(other), loss=0.0, burst_loss=0.0),
    }
    return replace(base, **moved)


def _merged(common: Table, own: Table) -> Table:
    """A direction's own words over those for both, where either of a pair replaces the other."""
    merged = dict(common)
    for pair in _RIVALS:
        for words_here in (common, own):
            if all(key in words_here for key in pair):
                raise LabError(f"{pair[0]} and {pair[1]}: only one of them can be")
        if any(key in own for key in pair):
            merged = {key: value for key, value in merged.items() if key not in pair}
    return {**merged, **own}


def _check_companions(table: Table, built: Mapping[str, Direction]) -> None:
    for key, (needed, field) in _COMPANIONS.items():
        for part, names in ((table, DIRECTIONS), *((_table(table, n), (n,)) for n in DIRECTIONS)):
            if key in part and not any(getattr(built[name], field) for name in names):
                raise LabError(f"{key}: that has a meaning only with {needed}")


def _changes_bdp(table: Table) -> bool:
    parts = (table, *(_table(table, name) for name in DIRECTIONS))
    return any(key in part for part in parts for key in ("rate", "rtt", "delay"))


def _direction(table: Table, base: Direction) -> Direction:
    _know(table, {*DIRECTION_KEYS, "rtt", "queue", "collides"})
    values: dict[str, Any] = {}
    if "rtt" in table:
        values["delay_s"] = words.time_s("rtt", str(table["rtt"])) / 2
    for key, (name, read) in DIRECTION_KEYS.items():
        if key in table:
            values[name] = read(key, str(table[key]))
    if "mtu" in table or "blackhole-mtu" in table:
        values["mtu_silent"] = "blackhole-mtu" in table
    if "collides" in table:
        values["collides"] = _flag(table, "collides", False)
    if values.get("police_bps") and not values.get("police_bytes"):
        bucket = int(values["police_bps"] * DEFAULT_POLICE_S / 8)
        values["police_bytes"] = max(bucket, 8 * (MTU_BYTES + FRAMING_BYTES))
    return replace(base, **values)


def _queue_bytes(text: object, direction: Direction, rtt_s: float) -> int:
    products = words.bandwidth_delay_share(str(text))
    if products is None:
        size = words.size_bytes("queue", str(text))
        if not size:
            raise LabError(f"queue: {str(text)!r} is less than three packets")
        return size
    if products < 0:
        raise LabError(f"queue: {str(text)!r} is negative")
    size = int(products * direction.rate_bps * rtt_s / 8)
    if not direction.rate_bps:
        return 0
    return max(size, LEAST_DEFAULT_QUEUE_BYTES if products == 1 else MIN_QUEUE_BYTES)


def _host(table: Table, base: Host) -> Host:
    _know(table, {*HOST_KEYS, "congestion", "ecn"})
    values: dict[str, Any] = {
        name: read(key, str(table[key])) for key, (name, read) in HOST_KEYS.items() if key in table
    }
    if "congestion" in table:
        values["congestion"] = str(table["congestion"])
    return replace(base, **values, ecn=_flag(table, "ecn", base.ecn))


def _helper(table: object) -> Helper:
    if not isinstance(table, Mapping):
        raise LabError("helper: a table was expected")
    _know(table, {*HELPER_KEYS, "kind", "side", "toward", "streams"})
    values: dict[str, Any] = {
        name: read(key, str(table[key]))
        for key, (name, read) in HELPER_KEYS.items()
        if key in table
    }
    for key in ("side", "toward"):
        if key in table:
            values[key] = str(table[key])
    if "streams" in table:
        values["streams"] = int(words.count("streams", str(table["streams"])))
    return Helper(kind=str(table.get("kind", "")), **values)


def _table(table: Table, name: str) -> Table:
    part = table.get(name, {})
    if not isinstance(part, Mapping):
        raise LabError(f"{name}: a table was expected")
    return part


def _flag(table: Table, key: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise LabError(f"{key}: true or false was expected")
    return value


def _know(table: Table, known: set[str]) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(str(key), sorted(known), 1, 0.6)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise LabError(f"{str(key)[:60]!r} is not a property of a path{hint}")
