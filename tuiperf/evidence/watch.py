"""Watch a link: what changes is told when it happens, by the kernel's own notifications.

rtnetlink tells of carrier and settings at once, ethtool's monitor of settings; counters are looked
at once a second.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import counters, ethtool, ethtool_reader, interfaces
from .counters import Counts, Window
from .ethtool import LinkModes, known_speed
from .gaps import Gaps
from .interfaces import LINK_GROUP, RTM_DELLINK, RTM_NEWLINK, Interface
from .link_modes import in_words
from .netlink import Message
from .netlink_socket import NETLINK_ROUTE, Generic, Netlink
from .signs import DROPS_BAD_SHARE, errors, overflows, softnet_share

INTERVAL_S = 1.0

WATCHED = (
    ("damaged", "damaged frames (CRC)"),
    ("misaligned", "misaligned frames"),
    ("symbols", "symbol errors"),
    ("uncorrectable", "blocks that could not be corrected (FEC)"),
    ("missed", "frames that this host had no room for"),
    ("lost_carrier", "losses of the carrier while sending"),
    ("late_collisions", "late collisions"),
)
"""The signs that are told of when they rise, and what they count."""

HOST_RISES = frozenset({"softnet_dropped", "softnet_squeezed", "qdisc_drops"})
"""Rises of this host's own counters: they say nothing new about the card or its settings."""
RISES = HOST_RISES | {name for name, _ in WATCHED}
"""All changes that are rises of counters; the others are of states and settings."""


@dataclass(frozen=True)
class Change:
    """Something that changed. `what` is stable: "carrier", "speed", "duplex", a counter's name…

    `level` is "ok" (better, as before, or as usual), "look" or "fault"; `time_s` is the wall clock.
    """

    time_s: float
    what: str
    level: str
    text: str


@dataclass(frozen=True)
class State:
    """A link at one moment."""

    interface: Interface
    modes: LinkModes
    counts: Counts = field(default_factory=lambda: Counts(0.0))


class Watch:
    """Watches one device. A context manager; never raises but KeyboardInterrupt."""

    def __init__(self, device: Interface, virtual: bool = False) -> None:
        self._device = device
        self._virtual = virtual
        self._sockets: list[Netlink] = []
        self._poll = select.poll()
        self._due_s = time.monotonic() + INTERVAL_S
        self.state = self._read()

    def __enter__(self) -> Watch:
        with contextlib.suppress(OSError):
            self._listen(Netlink(NETLINK_ROUTE), [LINK_GROUP])
        with contextlib.suppress(OSError):
            kernel = Generic("ethtool")
            self._listen(kernel, list(kernel.groups.values()))
        return self

    def __exit__(self, *error: object) -> None:
        for each in self._sockets:
            each.close()
        self._sockets = []

    def _listen(self, kernel: Netlink, groups: Sequence[int]) -> None:
        self._sockets.append(kernel)
        kernel.join(groups)
        self._poll.register(kernel.socket, select.POLLIN)

    def _heard(self) -> bool:
        """Take the kernel's notifications; True when one of them is about this device."""
        own = False
        for kernel in self._sockets:
            with contextlib.suppress(OSError):
                while news := kernel.heard():
                    own = own or any(self._is_own(each) for each in news)
        return own

    def _is_own(self, news: Message) -> bool:
        if news.type not in (RTM_NEWLINK, RTM_DELLINK):
            return True  # one of ethtool's, and rare
        told = interfaces.decode(news.body)
        return told is None or told.index == self._device.index or told.name == self._device.name

    def wait(self, limit_s: float = INTERVAL_S) -> list[Change]:
        """Wait for news or for the next look, and return what has changed; often nothing."""
        wait_s = max(0.0, min(limit_s, self._due_s - time.monotonic()))
        heard = bool(self._poll.poll(wait_s * 1e3)) and self._heard()
        if not heard and time.monotonic() < self._due_s:
            return []
        self._due_s = time.monotonic() + INTERVAL_S
        before, self.state = self.state, self._read()
        return changes(before, self.state, time.time())

    def _read(self) -> State:
        found = interfaces.read_one(self._device.index) or self._anew()
        if found is None:
            gone = Interface(self._device.index, self._device.name, enabled=None, carrier=None)
            return State(gone, LinkModes())
        modes = LinkModes() if self._virtual else _modes(found.name)
        return State(found, modes, counters.take(found, Gaps()))

    def _anew(self) -> Interface | None:
        """The device under its name, after it was plugged in again and got another number."""
        try:
            found = interfaces.read_one(socket.if_nametoindex(self._device.name))
        except OSError:
            return None
        self._device = found or self._device
        return found


def _modes(name: str) -> LinkModes:
    try:
        with Generic("ethtool") as kernel:
            answers = kernel.get(4, ethtool_reader.header(name))
    except OSError:
        return ethtool_reader.modes_of_sysfs(name)
    return ethtool.link_modes_of(answers[0]) if answers else LinkModes()


def changes(before: State, after: State, time_s: float) -> list[Change]:
    """What differs between two looks, in words."""
    old, new = before.interface, after.interface
    found: list[Change] = []

    def tell(what: str, level: str, text: str) -> None:
        found.append(Change(time_s, what, level, text))

    if _is_gone(new):
        if not _is_gone(old):
            tell("interface", "fault", "the interface is gone")
        return found
    if _is_gone(old) or new.index != old.index:
        speed = f", {_speed(after.modes)}" if new.carrier and _speed(after.modes) else ""
        state = f"with a carrier{speed}" if new.carrier else "without a carrier"
        tell("interface", "ok" if new.carrier else "look", f"the interface is back, {state}")
        return found
    if old.enabled != new.enabled:
        tell("enabled", "ok" if new.enabled else "fault", f"switched {_on(new.enabled)}")
    if old.carrier != new.carrier:
        speed = f", {_speed(after.modes)}" if new.carrier and _speed(after.modes) else ""
        text = f"carrier is back{speed}" if new.carrier else "carrier lost"
        tell("carrier", "ok" if new.carrier else "fault", text)
    elif _flaps(old, new):
        tell("flap", "fault", f"the link flapped: {_flaps(old, new)} changes between two looks")
    if old.carrier and new.carrier:
        found += _settings(before.modes, after.modes, time_s)
    if old.mtu_bytes != new.mtu_bytes:
        tell("mtu", "look", f"MTU {old.mtu_bytes} → {new.mtu_bytes}")
    window = counters.difference(before.counts, after.counts)
    rising = errors(window)
    for name, words in WATCHED if rising else ():
        if count := getattr(rising, name):
            tell(name, "fault", f"{count} {words} in {window.seconds:.1f} s")
    return found + _of_host(window, after.counts, time_s)


def _of_host(window: Window, counts: Counts, time_s: float) -> list[Change]:
    """Rises of the kernel's backlog, which is one for all interfaces, and of the own queue."""
    found = []
    received, seconds = window.softnet, f"in {window.seconds:.1f} s"
    everywhere = "this host, any interface (softnet)"
    if received and received.dropped:
        level = "fault" if softnet_share(window) >= DROPS_BAD_SHARE else "look"
        text = f"{received.dropped} frames dropped: {everywhere} {seconds}"
        found.append(Change(time_s, "softnet_dropped", level, text))
    if received and received.squeezed:
        text = f"{received.squeezed} squeezed, not lost: {everywhere} {seconds}"
        found.append(Change(time_s, "softnet_squeezed", "ok", text))
    if dropped := window.qdisc_drops:
        many = overflows(window)
        kind = next((f" ({each.kind})" for each in counts.qdiscs if each.root), "")
        few = "" if many else ", a few, as full queues do,"
        text = f"{dropped} dropped before they were sent{kind}{few} {seconds}"
        found.append(Change(time_s, "qdisc_drops", "look" if many else "ok", text))
    return found


def _is_gone(interface: Interface) -> bool:
    return interface.carrier is None and interface.enabled is None


def _flaps(old: Interface, new: Interface) -> int:
    if old.carrier_changes is None or new.carrier_changes is None:
        return 0
    return max(0, new.carrier_changes - old.carrier_changes)


def _settings(old: LinkModes, new: LinkModes, time_s: float) -> list[Change]:
    found = []
    before, after = known_speed(old.speed_mbps), known_speed(new.speed_mbps)
    if before and after and before != after:
        level = "fault" if after < before else "ok"
        found.append(
            Change(time_s, "speed", level, f"speed {in_words(before)} → {in_words(after)}")
        )
    if old.duplex and new.duplex and old.duplex != new.duplex:
        level = "fault" if new.duplex == "half" else "ok"
        found.append(Change(time_s, "duplex", level, f"duplex {old.duplex} → {new.duplex}"))
    if None not in (old.autoneg, new.autoneg) and old.autoneg != new.autoneg:
        text = f"autonegotiation switched {_on(new.autoneg)}"
        found.append(Change(time_s, "autoneg", "look", text))
    return found


def _speed(modes: LinkModes) -> str:
    speed = known_speed(modes.speed_mbps)
    return f"{in_words(speed)}, {modes.duplex or 'unknown'} duplex" if speed else ""


def _on(state: bool | None) -> str:
    return "on" if state else "off"
