"""What a driver and its PHY tell: decoders of ethtool's netlink answers. Pure; never raise.

Layouts: include/uapi/linux/ethtool_netlink.h, Documentation/networking/ethtool-netlink.rst. The
meaning of values: include/uapi/linux/ethtool.h.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import link_modes
from .netlink import Attributes, attributes, each_attribute, flag, generic_body, string, unsigned

UNKNOWN_SPEEDS = (0, 0xFFFF, 0xFFFFFFFF, 34464)
"""Numbers that drivers and readers give for a speed they do not know (34464 is 100000 & 0xFFFF)."""

MAX_SPEED_MBPS = 2_000_000

_PORTS = {
    0: "twisted pair",
    1: "AUI",
    2: "MII",
    3: "fibre",
    4: "BNC",
    5: "direct attach copper",
    0xEF: "none",
    0xFF: "other",
}
_DUPLEX: dict[int | str | None, str] = {0: "half", 1: "full", "half": "half", "full": "full"}
_MDIX = {1: "MDI", 2: "MDI-X"}
_MASTER_SLAVE = {
    2: "master preferred",
    3: "slave preferred",
    4: "master forced",
    5: "slave forced",
}
_MASTER_SLAVE_STATE = {2: "master", 3: "slave", 4: "conflict"}

_STATES: dict[int, tuple[str, tuple[str, ...]]] = {
    0: (
        "autonegotiation failed",
        (
            "no partner answers: nothing is connected, the far port is off, or it is forced",
            "the partner's acknowledgement did not come",
            "the exchange of next pages failed",
            "no partner answers, and this end is forced",
            "the two ends' FEC settings do not go together",
            "the two ends have no mode in common",
        ),
    ),
    1: (
        "link training failed",
        (
            "frame lock was not reached",
            "the time for training ran out",
            "the partner never became ready to receive",
            "the partner reports a fault",
        ),
    ),
    2: (
        "the two ends see different signals",
        (
            "block lock was not reached",
            "alignment markers were not found",
            "lanes are not aligned",
            "FC-FEC is not locked",
            "RS-FEC is not locked",
        ),
    ),
    3: (
        "the signal is bad",
        (
            "very many physical errors",
            "a rate that is not supported",
            "the reference clock is lost",
            "no signal is received",
        ),
    ),
    4: ("no cable is plugged in", ()),
    5: ("the cable is at fault", ("this cable is not supported", "the cable test failed")),
    6: ("the module's memory cannot be read", ()),
    7: ("calibration failed", ()),
    8: ("the module takes more power than the port may give", ()),
    9: ("the module is too hot", ()),
    10: ("the module is not ready", ("it has not finished its start",)),
}
"""enum ethtool_link_ext_state, with the substates of each, which count from 1."""

STAT_GROUPS: dict[int, tuple[str, ...]] = {
    0: ("SymbolErrorDuringCarrier",),
    1: (
        "FramesTransmittedOK",
        "SingleCollisionFrames",
        "MultipleCollisionFrames",
        "FramesReceivedOK",
        "FrameCheckSequenceErrors",
        "AlignmentErrors",
        "OctetsTransmittedOK",
        "FramesWithDeferredXmissions",
        "LateCollisions",
        "FramesAbortedDueToXSColls",
        "FramesLostDueToIntMACXmitError",
        "CarrierSenseErrors",
        "OctetsReceivedOK",
        "FramesLostDueToIntMACRcvError",
        "MulticastFramesXmittedOK",
        "BroadcastFramesXmittedOK",
        "FramesWithExcessiveDeferral",
        "MulticastFramesReceivedOK",
        "BroadcastFramesReceivedOK",
        "InRangeLengthErrors",
        "OutOfRangeLengthField",
        "FrameTooLongErrors",
    ),
    2: ("MACControlFramesTransmitted", "MACControlFramesReceived", "UnsupportedOpcodesReceived"),
    3: (
        "etherStatsUndersizePkts",
        "etherStatsOversizePkts",
        "etherStatsFragments",
        "etherStatsJabbers",
    ),
}
"""Standard counters by group (eth-phy, eth-mac, eth-ctrl, rmon), in the kernel's order."""


@dataclass(frozen=True)
class LinkModes:
    """Speed, duplex and who offers what. None and () stand for what is not known."""

    autoneg: bool | None = None
    speed_mbps: int | None = None
    duplex: str | None = None  # "full" or "half"
    supported: tuple[str, ...] = ()
    advertised: tuple[str, ...] = ()
    partner: tuple[str, ...] = ()
    master_slave: str | None = None
    lanes: int | None = None


@dataclass(frozen=True)
class LinkInfo:
    """The port and its transceiver."""

    port: str | None = None
    phy_address: int | None = None
    mdix: str | None = None
    transceiver: str | None = None


@dataclass(frozen=True)
class LinkState:
    """Up or not; signal quality (0 to `sqi_max`); why it is down; how often it went down."""

    up: bool | None = None
    sqi: int | None = None
    sqi_max: int | None = None
    why_down: str | None = None
    no_cable: bool = False
    downs: int | None = None


@dataclass(frozen=True)
class Pause:
    """Flow control, and its frames where the driver counts them."""

    autoneg: bool | None = None
    rx: bool | None = None
    tx: bool | None = None
    rx_frames: int | None = None
    tx_frames: int | None = None


@dataclass(frozen=True)
class Eee:
    """Energy-efficient Ethernet."""

    enabled: bool | None = None
    active: bool | None = None
    partner: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fec:
    """Forward error correction; counts are blocks."""

    modes: tuple[str, ...] = ()
    auto: bool | None = None
    active: str | None = None
    corrected: int | None = None
    uncorrectable: int | None = None


@dataclass(frozen=True)
class Rings:
    """Descriptors in the card's rings, and the most it can have."""

    rx: int | None = None
    rx_max: int | None = None
    tx: int | None = None
    tx_max: int | None = None


@dataclass(frozen=True)
class Channels:
    """Queues in use, and the most the card can have: combined ones, or receiving ones."""

    count: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Coalesce:
    """How long the card waits before it interrupts."""

    rx_us: int | None = None
    rx_frames: int | None = None
    tx_us: int | None = None
    adaptive_rx: bool | None = None


@dataclass(frozen=True)
class Features:
    """Offloads by the kernel's names: those that are on, and those that can be switched."""

    on: tuple[str, ...] = ()
    switchable: tuple[str, ...] = ()
    known: bool = False


@dataclass(frozen=True)
class Driver:
    """Who drives the card."""

    name: str | None = None
    version: str | None = None
    firmware: str | None = None
    bus: str | None = None


@dataclass(frozen=True)
class Ethtool:
    """All that was told. What a driver does not tell keeps its empty value."""

    modes: LinkModes = LinkModes()
    info: LinkInfo = LinkInfo()
    state: LinkState = LinkState()
    pause: Pause = Pause()
    eee: Eee = Eee()
    fec: Fec = Fec()
    rings: Rings = Rings()
    channels: Channels = Channels()
    coalesce: Coalesce = Coalesce()
    features: Features = Features()
    driver: Driver = Driver()
    statistics: Mapping[str, int] = field(default_factory=dict)


def known_speed(speed_mbps: int | None) -> int | None:
    """The one normaliser of speeds in Mbit/s: what is not a speed becomes None."""
    if speed_mbps is None or speed_mbps in UNKNOWN_SPEEDS:
        return None
    return speed_mbps if 0 < speed_mbps <= MAX_SPEED_MBPS else None


def known_duplex(value: int | str | None) -> str | None:
    """ "half" or "full" for ethtool's 0 and 1 and sysfs's words, None for anything else."""
    return _DUPLEX.get(value)


@dataclass(frozen=True)
class Bitset:
    """A set of named bits: those that are on, and those that the mask lets through."""

    on: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()


def bitset(value: bytes | None) -> Bitset:
    """Decode a bitset in its compact form (two bitmaps) or in the long one (a list with names)."""
    if value is None:
        return Bitset()
    found = attributes(value)
    if 3 in found:
        return _named_bits(found[3], listed=1 in found)
    on = link_modes.from_bitmap(_little(found.get(4, b"")))
    return Bitset(on, link_modes.from_bitmap(_little(found[5])) if 5 in found else on)


def _named_bits(bits: bytes, *, listed: bool) -> Bitset:
    on, mask = [], []
    for _, each in each_attribute(bits):
        bit = attributes(each)
        index = unsigned(bit.get(1))
        name = string(bit.get(2)) or (link_modes.name(index) if index is not None else "")
        if not name:
            continue
        mask.append(name)
        if listed or 3 in bit:
            on.append(name)
    return Bitset(tuple(on), tuple(mask))


def _little(words: bytes) -> bytes:
    """Bitmaps are arrays of 32-bit words in the machine's order."""
    if sys.byteorder == "little":
        return words
    return b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))


def _of(body: bytes) -> Attributes:
    return generic_body(body)[1]


def link_modes_of(body: bytes) -> LinkModes:
    """LINKMODES_GET: `ours` has what is supported as its mask and what is advertised as on."""
    found = _of(body)
    ours, peer = bitset(found.get(3)), bitset(found.get(4))
    return LinkModes(
        autoneg=flag(found.get(2)),
        speed_mbps=known_speed(unsigned(found.get(5))),
        duplex=known_duplex(unsigned(found.get(6))),
        supported=ours.mask,
        advertised=ours.on,
        partner=peer.on,
        master_slave=_MASTER_SLAVE_STATE.get(unsigned(found.get(8)) or 0)
        or _MASTER_SLAVE.get(unsigned(found.get(7)) or 0),
        lanes=unsigned(found.get(9)),
    )


def link_info_of(body: bytes) -> LinkInfo:
    """LINKINFO_GET."""
    found = _of(body)
    port, transceiver = unsigned(found.get(2)), unsigned(found.get(6))
    return LinkInfo(
        port=port_name(port),
        phy_address=unsigned(found.get(3)),
        mdix=_MDIX.get(unsigned(found.get(4)) or 0),
        transceiver={0: "internal", 1: "external"}.get(-1 if transceiver is None else transceiver),
    )


def port_name(port: int | None) -> str | None:
    return None if port is None else _PORTS.get(port, f"port type {port}")


def link_state_of(body: bytes) -> LinkState:
    """LINKSTATE_GET, with the extended state of kernels since 5.9."""
    found = _of(body)
    state, substate = unsigned(found.get(5)), unsigned(found.get(6))
    return LinkState(
        up=flag(found.get(2)),
        sqi=unsigned(found.get(3)),
        sqi_max=unsigned(found.get(4)),
        why_down=why_down(state, substate),
        no_cable=state == 4,
        downs=unsigned(found.get(7)),
    )


def why_down(state: int | None, substate: int | None) -> str | None:
    """An extended link state in words."""
    if state is None:
        return None
    words, details = _STATES.get(state, (f"extended state {state}", ()))
    if substate is None or not 1 <= substate <= len(details):
        return words
    return f"{words}: {details[substate - 1]}"


def pause_of(body: bytes) -> Pause:
    """PAUSE_GET, with its statistics when these were asked for."""
    found = _of(body)
    counts = attributes(found.get(5, b""))
    return Pause(
        autoneg=flag(found.get(2)),
        rx=flag(found.get(3)),
        tx=flag(found.get(4)),
        tx_frames=counter(counts.get(2)),
        rx_frames=counter(counts.get(3)),
    )


def eee_of(body: bytes) -> Eee:
    """EEE_GET."""
    found = _of(body)
    return Eee(flag(found.get(5)), flag(found.get(4)), bitset(found.get(3)).on)


def fec_of(body: bytes) -> Fec:
    """FEC_GET: the active mode is the number of a link mode; the first count of each is the sum."""
    found = _of(body)
    counts = attributes(found.get(5, b""))
    active = unsigned(found.get(4))
    return Fec(
        modes=bitset(found.get(2)).on,
        auto=flag(found.get(3)),
        active=None if active is None else link_modes.name(active),
        corrected=counter(counts.get(2, b"")[:8]),
        uncorrectable=counter(counts.get(3, b"")[:8]),
    )


def counter(value: bytes | None) -> int | None:
    """A count of 8 bytes; all ones is the kernel's word for "not counted"."""
    number = unsigned(value)
    return None if number is None or number == (1 << 64) - 1 else number


def rings_of(body: bytes) -> Rings:
    """RINGS_GET."""
    found = _of(body)
    return Rings(
        rx=unsigned(found.get(6)),
        rx_max=unsigned(found.get(2)),
        tx=unsigned(found.get(9)),
        tx_max=unsigned(found.get(5)),
    )


def channels_of(body: bytes) -> Channels:
    """CHANNELS_GET."""
    found = _of(body)
    combined = unsigned(found.get(9)), unsigned(found.get(5))
    receiving = unsigned(found.get(6)), unsigned(found.get(2))
    return Channels(*(combined if combined[0] else receiving))


def coalesce_of(body: bytes) -> Coalesce:
    """COALESCE_GET."""
    found = _of(body)
    return Coalesce(
        rx_us=unsigned(found.get(2)),
        rx_frames=unsigned(found.get(3)),
        tx_us=unsigned(found.get(6)),
        adaptive_rx=flag(found.get(11)),
    )


def features_of(body: bytes) -> Features:
    """FEATURES_GET, asked for with names: the order of features differs from kernel to kernel."""
    found = _of(body)
    hardware, active, fixed = (bitset(found.get(type_)) for type_ in (2, 4, 5))
    switchable = tuple(name for name in hardware.on if name not in fixed.on)
    return Features(active.on, switchable, known=4 in found)


def statistics_of(body: bytes) -> dict[str, int]:
    """STATS_GET: the standard counters that the driver keeps, by their names of IEEE 802.3."""
    counts: dict[str, int] = {}
    for type_, group in each_attribute(body[4:]):
        if type_ != 4:
            continue
        names = STAT_GROUPS.get(_group_number(group), ())
        for inner, stat in each_attribute(group):
            if inner != 4:
                continue
            for index, value in each_attribute(stat):
                number = counter(value)
                if index < len(names) and number is not None:
                    counts[names[index]] = number
    return counts


def _group_number(group: bytes) -> int:
    number = unsigned(attributes(group).get(2))
    return -1 if number is None else number


def eeprom_of(body: bytes) -> bytes:
    """MODULE_EEPROM_GET: the bytes of one half page."""
    return _of(body).get(7, b"")[:256]
