"""Ask ethtool about one interface: over netlink, and over the ioctl what netlink does not tell."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from . import ethtool, files
from .ethtool import Driver, Ethtool, LinkModes
from .ethtool_ioctl import EthtoolIoctl
from .gaps import Gaps
from .netlink import attribute, nest
from .netlink_socket import Generic

T = TypeVar("T")

_WITH_STATISTICS = 4  # ETHTOOL_FLAG_STATS
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENODEV, errno.ENOENT, errno.EINVAL)

# ETHTOOL_MSG_*_GET
_LINKINFO, _LINKMODES, _LINKSTATE, _FEATURES, _RINGS = 2, 4, 6, 11, 15
_CHANNELS, _COALESCE, _PAUSE, _EEE, _FEC, _EEPROM, _STATS = 17, 19, 21, 23, 29, 31, 32
_ALL_GROUPS = nest(
    3, attribute(1, b""), attribute(2, struct.pack("=I", 4)), attribute(4, b"\x0f\0\0\0")
)


def header(interface: str, flags: int = 0) -> bytes:
    """The first attribute of every request: which interface is meant."""
    parts = [attribute(2, interface.encode("utf-8", "surrogateescape") + b"\0")]
    if flags:
        parts.append(attribute(3, struct.pack("=I", flags)))
    return nest(1, *parts)


def read(interface: str, gaps: Gaps) -> Ethtool:
    """All that can be read of an interface. Never raises; why something is missing is in `gaps`."""
    found = Ethtool()
    try:
        with Generic("ethtool") as kernel:
            found = _over_netlink(kernel, interface, gaps)
    except OSError as error:
        gaps.failed("ethtool over netlink", error)
    try:
        with EthtoolIoctl(interface) as device:
            return _over_ioctl(device, found, interface)
    except OSError as error:
        gaps.failed("ethtool", error)
    return replace(found, driver=replace(found.driver, name=driver_of_sysfs(interface)))


def counters(interface: str) -> tuple[dict[str, int], dict[str, int]]:
    """Error counters alone, for a look before and after: the standard ones, the driver's own."""
    standard: dict[str, int] = {}
    try:
        with Generic("ethtool") as kernel:
            standard = {**_statistics(kernel, interface), **_pauses_and_blocks(kernel, interface)}
    except OSError:
        standard = {}
    own: dict[str, int] = {}
    try:
        with EthtoolIoctl(interface) as device:
            own = {**_quiet(device.phy_statistics, {}), **_quiet(device.statistics, {})}
    except OSError:
        own = {}
    return standard, own


def _over_netlink(kernel: Generic, interface: str, gaps: Gaps) -> Ethtool:
    def ask(command: int, decode: Callable[[bytes], T], what: str, empty: T, flags: int = 0) -> T:
        try:
            answers = kernel.get(command, header(interface, flags))
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                gaps.failed(what, error)
            return empty
        return decode(answers[0]) if answers else empty

    counted = _WITH_STATISTICS
    return Ethtool(
        modes=ask(_LINKMODES, ethtool.link_modes_of, "link modes", ethtool.LinkModes()),
        info=ask(_LINKINFO, ethtool.link_info_of, "port", ethtool.LinkInfo()),
        state=ask(_LINKSTATE, ethtool.link_state_of, "link state", ethtool.LinkState()),
        pause=ask(_PAUSE, ethtool.pause_of, "pause", ethtool.Pause(), counted),
        eee=ask(_EEE, ethtool.eee_of, "EEE", ethtool.Eee()),
        fec=ask(_FEC, ethtool.fec_of, "FEC", ethtool.Fec(), counted),
        rings=ask(_RINGS, ethtool.rings_of, "rings", ethtool.Rings()),
        channels=ask(_CHANNELS, ethtool.channels_of, "queues", ethtool.Channels()),
        coalesce=ask(_COALESCE, ethtool.coalesce_of, "coalescing", ethtool.Coalesce()),
        features=ask(_FEATURES, ethtool.features_of, "offloads", ethtool.Features()),
        statistics=_statistics(kernel, interface),
    )


def _statistics(kernel: Generic, interface: str) -> dict[str, int]:
    try:
        answers = kernel.get(_STATS, attribute(2 | 0x8000, header(interface)[4:]) + _ALL_GROUPS)
    except OSError:
        return {}
    return ethtool.statistics_of(answers[0]) if answers else {}


def _pauses_and_blocks(kernel: Generic, interface: str) -> dict[str, int]:
    """Counts that come with the settings of flow control and of error correction."""

    def ask(command: int) -> bytes:
        try:
            answers = kernel.get(command, header(interface, _WITH_STATISTICS))
        except OSError:
            return b""
        return answers[0] if answers else b""

    pause, fec = ethtool.pause_of(ask(_PAUSE)), ethtool.fec_of(ask(_FEC))
    counts = {
        "PauseFramesReceived": pause.rx_frames,
        "PauseFramesSent": pause.tx_frames,
        "FecCorrectedBlocks": fec.corrected,
        "FecUncorrectableBlocks": fec.uncorrectable,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _over_ioctl(device: EthtoolIoctl, found: Ethtool, interface: str) -> Ethtool:
    driver = _quiet(device.driver, Driver())
    if driver.name is None:
        driver = replace(driver, name=driver_of_sysfs(interface))
    modes, info = found.modes, found.info
    if modes == LinkModes():
        modes, info = _quiet(device.settings, (modes, info))
    rings, pause, state = found.rings, found.pause, found.state
    if rings == ethtool.Rings():
        rings = _quiet(device.rings, rings)
    if pause == ethtool.Pause():
        pause = _quiet(device.pause, pause)
    if state.up is None:
        state = replace(state, up=_quiet(device.up, None))
    return replace(
        found, driver=driver, modes=modes, info=info, rings=rings, pause=pause, state=state
    )


def _quiet(ask: Callable[[], T], empty: T) -> T:
    """What a driver does not offer is no gap: it is empty."""
    try:
        return ask()
    except OSError:
        return empty


def driver_of_sysfs(interface: str) -> str | None:
    """The driver's name by the link that sysfs has to it."""
    try:
        return Path(f"/sys/class/net/{interface}/device/driver").resolve(strict=True).name
    except (OSError, ValueError, RuntimeError):
        return None


def modes_of_sysfs(interface: str) -> LinkModes:
    """Speed and duplex as sysfs has them, the last fallback."""
    return LinkModes(
        speed_mbps=ethtool.known_speed(files.number(f"/sys/class/net/{interface}/speed")),
        duplex=ethtool.known_duplex(files.text(f"/sys/class/net/{interface}/duplex", 32)),
    )


def eeprom_page(
    kernel: Generic, interface: str, *, page: int, offset: int, i2c: int = 0x50, bank: int = 0
) -> bytes:
    """128 bytes of a module's memory. Raises OSError: EPERM without CAP_NET_ADMIN."""
    request = (
        header(interface)
        + attribute(2, struct.pack("=I", offset))
        + attribute(3, struct.pack("=I", 128))
        + attribute(4, struct.pack("=B", page))
        + attribute(5, struct.pack("=B", bank))
        + attribute(6, struct.pack("=B", i2c))
    )
    answers = kernel.get(_EEPROM, request)
    return ethtool.eeprom_of(answers[0]) if answers else b""
