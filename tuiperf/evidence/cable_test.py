"""The cable test of a card's PHY: which pair is open or short, and how far away.

It takes the link down for some seconds and needs CAP_NET_ADMIN. Layouts and codes:
include/uapi/linux/ethtool_netlink.h. Decoding is pure.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import files
from .ethtool_reader import header
from .netlink import attributes, each_attribute, generic_body, signed, string, unsigned
from .netlink_socket import Generic

_ACT, _TDR_ACT, _NOTIFICATION, _TDR_NOTIFICATION = 26, 27, 27, 28
_COMPLETED = 2
_CAP_NET_ADMIN = 12
_CODES = {
    1: "ok",
    2: "open",
    3: "short within the pair",
    4: "short to another pair",
    5: "impedance mismatch",
    6: "noise: not measurable",
    7: "not resolved",
}
_PAIRS = "ABCD"
_WIRES = {"A": "1-2", "B": "3-6", "C": "4-5", "D": "7-8"}  # 1000BASE-T, TIA-568


@dataclass(frozen=True)
class Pair:
    """One pair of a cable."""

    name: str
    state: str
    distance_m: float | None = None

    @property
    def wires(self) -> str:
        """The pins of the plug that the pair ends at."""
        return _WIRES.get(self.name, "?")

    @property
    def ok(self) -> bool:
        return self.state == "ok"


@dataclass(frozen=True)
class Reflection:
    """What one pair throws back from one distance: upwards from an open end, down from a short."""

    pair: str
    distance_m: float
    millivolts: int

    @property
    def likely(self) -> str:
        """What such a reflection comes from, in words."""
        return (
            "an open end or a loose plug" if self.millivolts > 0 else "a short or a crushed cable"
        )


def run(interface: str, limit_s: float = 20.0) -> tuple[Pair, ...]:
    """Test the cable of an interface; empty when no result came in time.

    Raises OSError: EPERM without the right, EOPNOTSUPP where the card cannot.
    """
    for body in _answers(interface, _ACT, limit_s):
        told = decode(body)
        if told is not None and told[0] == interface and told[1]:
            return told[1]
    return ()


def reflections(interface: str, limit_s: float = 60.0) -> tuple[Reflection, ...]:
    """What every pair throws back along its length (TDR); raises as `run` does."""
    for body in _answers(interface, _TDR_ACT, limit_s):
        told = decode_reflections(body)
        if told is not None and told[0] == interface and told[1]:
            return told[1]
    return ()


def _answers(interface: str, command: int, limit_s: float) -> Iterator[bytes]:
    """Have something tested and yield ethtool's notifications until the time is up."""
    with Generic("ethtool") as commands, Generic("ethtool") as news:
        news.join([news.groups[name] for name in ("monitor",) if name in news.groups])
        commands.act(command, header(interface))
        poll = select.poll()
        poll.register(news.socket, select.POLLIN)
        until_s = time.monotonic() + limit_s
        while (left_s := until_s - time.monotonic()) > 0:
            poll.poll(left_s * 1e3)
            for message in news.heard():
                yield message.body


def decode_reflections(body: bytes) -> tuple[str, tuple[Reflection, ...]] | None:
    """A TDR notification: the interface and the samples of its pairs; None: another one.

    Samples follow the step that tells their distances; a later step begins another stretch.
    """
    command, found = generic_body(body)
    if command != _TDR_NOTIFICATION:
        return None
    name = string(attributes(found.get(1, b"")).get(2)) or ""
    samples: list[Reflection] = []
    first_cm = step_cm = 0
    taken = [0] * len(_PAIRS)
    for type_, value in each_attribute(found.get(3, b"")):
        inner = attributes(value)
        if type_ == 1:
            first_cm, step_cm = unsigned(inner.get(1)) or 0, unsigned(inner.get(3)) or 0
            taken = [0] * len(_PAIRS)
        pair, millivolts = unsigned(inner.get(1)), signed(inner.get(2))
        if type_ != 2 or pair is None or pair >= len(_PAIRS) or millivolts is None:
            continue
        distance_cm = first_cm + taken[pair] * step_cm
        taken[pair] += 1
        samples.append(Reflection(_PAIRS[pair], distance_cm / 100, millivolts))
    return name, tuple(samples)


def strongest(samples: Iterable[Reflection]) -> tuple[Reflection, ...]:
    """The strongest reflection of each pair: where its cable ends, or is hurt."""
    found: dict[str, Reflection] = {}
    for each in samples:
        best = found.get(each.pair)
        if best is None or abs(each.millivolts) > abs(best.millivolts):
            found[each.pair] = each
    return tuple(found[pair] for pair in sorted(found))


def may_test() -> bool:
    """True when this process has CAP_NET_ADMIN (capabilities(7)), or when that cannot be told."""
    for line in (files.text("/proc/self/status", 1 << 16) or "").splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return bool(int(value.strip() or "0", 16) >> _CAP_NET_ADMIN & 1)
    return True


def decode(body: bytes) -> tuple[str, tuple[Pair, ...]] | None:
    """A notification: the interface and its pairs, none while the test goes on; None: another."""
    command, found = generic_body(body)
    if command != _NOTIFICATION:
        return None
    name = string(attributes(found.get(1, b"")).get(2)) or ""
    if unsigned(found.get(2)) != _COMPLETED:
        return name, ()
    return name, _pairs(found.get(3, b""))


def _pairs(results: bytes) -> tuple[Pair, ...]:
    states: dict[int, str] = {}
    lengths: dict[int, float] = {}
    for type_, value in each_attribute(results):
        result = attributes(value)
        pair, number = unsigned(result.get(1)), unsigned(result.get(2))
        if pair is None or number is None or pair >= len(_PAIRS):
            continue
        if type_ == 1:
            states[pair] = _CODES.get(number, f"result {number}")
        elif type_ == 2:
            lengths[pair] = number / 100
    return tuple(
        Pair(_PAIRS[pair], state, lengths.get(pair)) for pair, state in sorted(states.items())
    )


def ssh_peer() -> str:
    """The address that this shell is used from over SSH, "" when it is not.

    sudo hides SSH_CONNECTION, so the environments of the processes above are looked at as well.
    """
    for environment in _environments():
        for entry in environment:
            name, _, value = entry.partition("=")
            if name == "SSH_CONNECTION" and value.split():
                return value.split()[0]
    return ""


def _environments() -> Iterator[list[str]]:
    yield [f"{name}={value}" for name, value in os.environ.items()]
    pid = os.getppid()
    for _ in range(32):
        if pid <= 1:
            return
        yield (files.text(f"/proc/{pid}/environ", 1 << 17) or "").split("\0")
        pid = parent_of(files.text(f"/proc/{pid}/stat", 4096) or "")


def parent_of(stat: str) -> int:
    """The parent by /proc/PID/stat, whose second word is in brackets and may hold anything."""
    words = stat.rpartition(")")[2].split()
    return files.whole(words[1]) or 0 if len(words) > 1 else 0
