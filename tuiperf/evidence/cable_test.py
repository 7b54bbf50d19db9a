"""The cable test of a card's PHY: which pair is open or short, and how far away.

It takes the link down for some seconds and needs CAP_NET_ADMIN. Layouts and codes:
include/uapi/linux/ethtool_netlink.h. Decoding is pure.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass

from . import files
from .ethtool_reader import header
from .netlink import attributes, each_attribute, generic_body, string, unsigned
from .netlink_socket import Generic

_ACT, _NOTIFICATION = 26, 27
_COMPLETED = 2
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


def run(interface: str, limit_s: float = 20.0) -> tuple[Pair, ...]:
    """Test the cable of an interface; empty when no result came in time.

    Raises OSError: EPERM without the right, EOPNOTSUPP where the card cannot.
    """
    with Generic("ethtool") as commands, Generic("ethtool") as news:
        news.join([news.groups[name] for name in ("monitor",) if name in news.groups])
        commands.act(_ACT, header(interface))
        poll = select.poll()
        poll.register(news.socket, select.POLLIN)
        until_s = time.monotonic() + limit_s
        while (left_s := until_s - time.monotonic()) > 0:
            poll.poll(left_s * 1e3)
            for message in news.heard():
                told = decode(message.body)
                if told is not None and told[0] == interface and told[1]:
                    return told[1]
    return ()


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
