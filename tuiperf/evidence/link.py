"""Which device really carries the traffic, of what class it is, and whether its speed means much.

Pure: interfaces and ethtool's answers in, a Link out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from .ethtool import Ethtool, LinkModes, known_speed
from .interfaces import Interface, by_index


class DeviceClass(Enum):
    """What may be judged of a device."""

    PHYSICAL = "physical"
    VIRTUAL = "virtual"  # its speed is invented or another one's: judge nothing
    WIRELESS = "wireless"
    AGGREGATE = "aggregate"  # a bond: one flow is as fast as one member


class Speed(Enum):
    """How far a speed can be believed."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    VIRTUAL = "virtual"


_ABOVE = ("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "dsa")
"""Kinds that lie on one lower device."""
_GROUPS = ("bridge", "bond", "team", "openvswitch", "vrf")
"""Kinds that have members."""
_BONDS = ("bond", "team")

VIRTUAL_DRIVERS: dict[str, str] = {
    "virtio_net": "a virtual machine's card (virtio)",
    "vmxnet3": "a virtual machine's card (VMware)",
    "hv_netvsc": "a virtual machine's card (Hyper-V)",
    "netvsc": "a virtual machine's card (Hyper-V)",
    "vif": "a virtual machine's card (Xen)",
    "xen-netfront": "a virtual machine's card (Xen)",
    "ena": "a cloud's virtual card (Amazon)",
    "gve": "a cloud's virtual card (Google)",
    "gvnic": "a cloud's virtual card (Google)",
    "mana": "a cloud's virtual card (Microsoft)",
    "ixgbevf": "a part of a shared card (virtual function)",
    "iavf": "a part of a shared card (virtual function)",
    "i40evf": "a part of a shared card (virtual function)",
    "igbvf": "a part of a shared card (virtual function)",
    "veth": "one end of a pair inside this host (veth)",
    "tun": "a program's own interface (TUN or TAP)",
    "ifb": "a queue inside this host (ifb)",
    "dummy": "an interface that leads nowhere (dummy)",
    "netkit": "one end of a pair inside this host (netkit)",
    "netdevsim": "a card that tests the kernel (netdevsim)",
}
"""Drivers whose speed says nothing of a cable, and what stands behind each."""

_VIRTUAL_KINDS = {
    "veth": "one end of a pair inside this host (veth)",
    "netkit": "one end of a pair inside this host (netkit)",
    "tun": "a program's own interface (TUN or TAP)",
    "dummy": "an interface that leads nowhere (dummy)",
    "ifb": "a queue inside this host (ifb)",
    "wireguard": "a tunnel (WireGuard)",
    "bridge": "a bridge without a member that is hardware",
}
TUNNELS = ("vxlan", "geneve", "gre", "gretap", "ip6gre", "ipip", "sit", "ip6tnl", "xfrm", "vti")
_VIRTUAL_BUSES = ("virtio", "xen", "vmbus")


@dataclass(frozen=True)
class Walk:
    """The way down from an interface: `chain` from the top to `device`, which carries the frames.

    `members` are all devices of the last bridge or bond on the way, `device` among them.
    """

    chain: tuple[Interface, ...]
    members: tuple[Interface, ...] = ()
    group: Interface | None = None

    @property
    def device(self) -> Interface:
        return self.chain[-1]


@dataclass(frozen=True)
class Link:
    """What a device is, and what its speed is worth."""

    device_class: DeviceClass
    what: str  # in words
    speed: Speed = Speed.UNKNOWN
    speed_mbps: int | None = None
    duplex: str | None = None
    autoneg: bool | None = None


def walk(start: Interface, interfaces: Sequence[Interface]) -> Walk:
    """Walk bridges, bonds and VLANs down to the device that carries the frames."""
    chain = [start]
    members: tuple[Interface, ...] = ()
    group: Interface | None = None
    while len(chain) < 16:
        top = chain[-1]
        if top.kind in _GROUPS:
            found = tuple(each for each in interfaces if each.master == top.index)
            if not found:
                break
            members, group = found, top
            below: Interface | None = _carrying(top, found)
        elif top.kind in _ABOVE and top.lower and not top.lower_elsewhere:
            below = by_index(interfaces, top.lower)
        else:
            break
        if below is None or below in chain:
            break
        chain.append(below)
    return Walk(tuple(chain), members, group)


def _carrying(group: Interface, members: Sequence[Interface]) -> Interface:
    """The member that speaks for its group: the active one, else hardware with a carrier."""
    active = by_index(members, group.active_member)
    if active is not None:
        return active

    def rank(member: Interface) -> tuple[bool, bool, bool, bool]:
        leads_out = bool(member.bus) or member.kind in (*_ABOVE, *_GROUPS)
        return (not leads_out, not member.carrier, member.backup_member, not member.enabled)

    return min(members, key=rank)


def classify(
    interface: Interface, driver: str | None, wireless: bool = False
) -> tuple[DeviceClass, str]:
    """The class of a device and what it is, in words."""
    kind = interface.kind
    if interface.loopback:
        return DeviceClass.VIRTUAL, "this host itself (loopback)"
    if kind in _BONDS:
        return DeviceClass.AGGREGATE, f"a {kind} of several links"
    if wireless:
        return DeviceClass.WIRELESS, "Wi-Fi"
    if kind:
        tunnel = "a tunnel" if kind in TUNNELS else "a virtual interface"
        return DeviceClass.VIRTUAL, _VIRTUAL_KINDS.get(kind, f"{tunnel} ({kind})")
    if driver in VIRTUAL_DRIVERS:
        return DeviceClass.VIRTUAL, VIRTUAL_DRIVERS[driver]
    if interface.bus in _VIRTUAL_BUSES:
        return DeviceClass.VIRTUAL, f"a virtual machine's card ({interface.bus})"
    if not interface.bus and driver is None:
        return DeviceClass.VIRTUAL, "an interface without hardware"
    return DeviceClass.PHYSICAL, f"a card ({driver or interface.bus})"


def normalise(
    interface: Interface,
    ethtool: Ethtool,
    *,
    wireless: bool = False,
    fallback: LinkModes | None = None,
) -> Link:
    """The one normaliser: no number from a virtual device, no -1, 65535 or 4294967295 gets out."""
    device_class, what = classify(interface, ethtool.driver.name, wireless)
    modes = ethtool.modes
    if modes == LinkModes() and fallback is not None:
        modes = fallback
    if device_class is DeviceClass.VIRTUAL:
        return Link(device_class, what, Speed.VIRTUAL)
    speed = known_speed(modes.speed_mbps)
    if device_class is not DeviceClass.PHYSICAL or interface.carrier is False or speed is None:
        duplex = None if interface.carrier is False else modes.duplex
        return Link(device_class, what, duplex=duplex, autoneg=modes.autoneg)
    return Link(device_class, what, Speed.KNOWN, speed, modes.duplex, modes.autoneg)


def members_down(members: Iterable[Interface]) -> tuple[str, ...]:
    """Members of a bond without a carrier."""
    return tuple(each.name for each in members if each.carrier is False)
