"""The network interfaces of this host: what rtnetlink tells, and sysfs where it does not.

Layouts: include/uapi/linux/if_link.h, Documentation/networking/statistics.rst. Decoding is pure.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import files
from .gaps import Gaps
from .netlink import attributes, each_attribute, flag, string, unsigned
from .netlink_socket import NETLINK_ROUTE, Netlink

RTM_NEWLINK, RTM_DELLINK, _RTM_GETLINK = 16, 17, 18
LINK_GROUP = 1  # RTNLGRP_LINK
_UP, _RUNNING, _LOOPBACK = 0x1, 0x40, 0x8

_SYSFS = "/sys/class/net"

_HEADER = struct.Struct("=BxHiII")

COUNTERS = (
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
)
"""struct rtnl_link_stats64, in its order; older kernels have fewer at the end."""

_OPERSTATES = (
    "unknown",
    "not present",
    "down",
    "lower layer down",
    "testing",
    "dormant",
    "up",
)
_BOND_MODES = (
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
)


@dataclass(frozen=True)
class Interface:
    """One interface. `kind` is rtnetlink's ("bridge", "vlan", "veth"…), "" for a plain device."""

    index: int
    name: str
    kind: str = ""
    other_names: tuple[str, ...] = ()
    enabled: bool | None = None  # by its administrator
    carrier: bool | None = None
    loopback: bool = False
    operstate: str = "unknown"
    mtu_bytes: int | None = None
    address: str = ""
    master: int | None = None  # index of the bridge or bond that it belongs to
    lower: int | None = None  # index of the device below, or of a veth's other end
    lower_elsewhere: bool = False  # that device is in another network namespace
    bus: str = ""  # "pci", "usb", "virtio"…, "" for what is no hardware
    slot: str = ""
    qdisc: str = ""
    txqueuelen: int | None = None
    carrier_changes: int | None = None
    carrier_ups: int | None = None
    carrier_downs: int | None = None
    vlan_id: int | None = None
    bond_mode: str = ""
    active_member: int | None = None
    backup_member: bool = False  # a bond's member that waits
    counters: Mapping[str, int] = field(default_factory=dict)


def read(gaps: Gaps) -> tuple[Interface, ...]:
    """All interfaces of this network namespace, in the kernel's order. Never raises."""
    try:
        with Netlink(NETLINK_ROUTE) as kernel:
            bodies = kernel.ask(_RTM_GETLINK, _HEADER.pack(0, 0, 0, 0, 0), dump=True)
    except OSError as error:
        gaps.failed("interfaces over netlink", error)
        return from_sysfs()
    found = [decoded for body in bodies if (decoded := decode(body)) is not None]
    return tuple(found)


def read_one(index: int) -> Interface | None:
    """One interface again, for a second look at its counters; None when it is gone."""
    try:
        with Netlink(NETLINK_ROUTE) as kernel:
            bodies = kernel.ask(_RTM_GETLINK, _HEADER.pack(0, 0, index, 0, 0))
    except (OSError, struct.error) as error:
        if isinstance(error, OSError) and error.errno == errno.ENODEV:
            return None
        return next((each for each in from_sysfs() if each.index == index), None)
    return decode(bodies[0]) if bodies else None


def decode(body: bytes) -> Interface | None:
    """The body of RTM_NEWLINK; None when it is too short or has no name."""
    if len(body) < _HEADER.size:
        return None
    _, _, index, flags, _ = _HEADER.unpack_from(body)
    found = attributes(body[_HEADER.size :])
    name = string(found.get(3))
    if not name:
        return None
    info = attributes(found.get(18, b""))
    kind = string(info.get(1)) or ""
    data, member = attributes(info.get(2, b"")), attributes(info.get(5, b""))
    bonded = string(info.get(4)) == "bond"
    operstate = unsigned(found.get(16)) or 0
    carrier = flag(found.get(33))
    return Interface(
        index=index,
        name=name,
        other_names=_other_names(found.get(52, b"")),
        kind=kind,
        enabled=bool(flags & _UP),
        carrier=bool(flags & _RUNNING) if carrier is None else carrier,
        loopback=bool(flags & _LOOPBACK),
        operstate=_OPERSTATES[operstate] if operstate < len(_OPERSTATES) else "unknown",
        mtu_bytes=unsigned(found.get(4)),
        address=_mac(found.get(1)),
        master=unsigned(found.get(10)) or None,
        lower=unsigned(found.get(5)) or None,
        lower_elsewhere=37 in found,
        bus=string(found.get(57)) or "",
        slot=string(found.get(56)) or "",
        qdisc=string(found.get(6)) or "",
        txqueuelen=unsigned(found.get(13)),
        carrier_changes=unsigned(found.get(35)),
        carrier_ups=unsigned(found.get(47)),
        carrier_downs=unsigned(found.get(48)),
        vlan_id=unsigned(data.get(1)) if kind == "vlan" else None,
        bond_mode=_bond_mode(unsigned(data.get(1))) if kind == "bond" else "",
        active_member=(unsigned(data.get(2)) or None) if kind == "bond" else None,
        backup_member=bonded and unsigned(member.get(1)) == 1,
        counters=statistics(found.get(23, b"")),
    )


def _other_names(properties: bytes) -> tuple[str, ...]:
    """Longer names that udev and administrators give besides (IFLA_ALT_IFNAME)."""
    return tuple(
        name
        for type_, value in each_attribute(properties)
        if type_ == 53 and (name := string(value))
    )


def statistics(data: bytes) -> dict[str, int]:
    """struct rtnl_link_stats64 by names; as many as the kernel gave."""
    count = min(len(data) // 8, len(COUNTERS))
    return dict(zip(COUNTERS, struct.unpack_from(f"={count}Q", data), strict=False))


def _mac(value: bytes | None) -> str:
    return value.hex(":") if value and len(value) <= 32 else ""


def _bond_mode(number: int | None) -> str:
    if number is None:
        return ""
    return _BOND_MODES[number] if number < len(_BOND_MODES) else f"mode {number}"


def is_in_sysfs(interface: Interface) -> bool:
    """True when sysfs means this one: its mount may be another network namespace's."""
    return files.number(f"{_SYSFS}/{interface.name}/ifindex") == interface.index


def has_radio(interface: Interface) -> bool:
    """True for what sysfs calls Wi-Fi."""
    return Path(f"{_SYSFS}/{interface.name}/phy80211").exists()


def from_sysfs(root: str | Path = _SYSFS) -> tuple[Interface, ...]:
    """What sysfs tells of all interfaces, for systems without netlink."""
    try:
        paths = sorted(Path(root).iterdir())[:4096]
    except OSError:
        return ()
    return tuple(found for path in paths if (found := _one_of_sysfs(path)) is not None)


def _one_of_sysfs(path: Path) -> Interface | None:
    index = files.number(path / "ifindex")
    if index is None:
        return None
    flags = files.text(path / "flags", 32) or "0x0"
    bits = int(flags, 16) if flags.startswith("0x") and len(flags) < 12 else 0
    carrier = files.number(path / "carrier")
    counts = {name: files.number(path / "statistics" / name) for name in COUNTERS}
    lower = files.number(path / "iflink")
    return Interface(
        index=index,
        name=path.name,
        kind=_kind_of_sysfs(path),
        enabled=bool(bits & _UP),
        carrier=None if carrier is None else bool(carrier),
        loopback=bool(bits & _LOOPBACK),
        operstate=files.text(path / "operstate", 32) or "unknown",
        mtu_bytes=files.number(path / "mtu"),
        address=files.text(path / "address", 128) or "",
        lower=lower if lower != index else None,
        bus=_bus_of_sysfs(path),
        carrier_changes=files.number(path / "carrier_changes"),
        carrier_ups=files.number(path / "carrier_up_count"),
        carrier_downs=files.number(path / "carrier_down_count"),
        counters={name: count for name, count in counts.items() if count is not None},
    )


def _kind_of_sysfs(path: Path) -> str:
    for kind, entry in (("bridge", "bridge"), ("bond", "bonding"), ("tun", "tun_flags")):
        if (path / entry).exists():
            return kind
    settings = files.text(path / "uevent", 4096) or ""
    for line in settings.splitlines():
        if line.startswith("DEVTYPE="):
            return line.partition("=")[2] if line != "DEVTYPE=wlan" else ""
    return ""


def _bus_of_sysfs(path: Path) -> str:
    try:
        return (path / "device" / "subsystem").resolve(strict=True).name
    except (OSError, RuntimeError):
        return ""


def by_name(interfaces: Iterable[Interface], name: str) -> Interface | None:
    return next((each for each in interfaces if name in (each.name, *each.other_names)), None)


def by_index(interfaces: Iterable[Interface], index: int | None) -> Interface | None:
    return next((each for each in interfaces if each.index == index), None)
