"""ethtool's older ioctl: the only way to a driver's name and own counters, and a fallback.

Layouts: include/uapi/linux/ethtool.h. Decoders are pure; readers raise OSError.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
import sys

from . import link_modes
from .ethtool import (
    Driver,
    LinkInfo,
    LinkModes,
    Pause,
    Rings,
    known_duplex,
    known_speed,
    port_name,
)

_SIOCETHTOOL = 0x8946
_GDRVINFO, _GLINK, _GRINGPARAM, _GPAUSEPARAM = 0x03, 0x0A, 0x10, 0x12
_GSTRINGS, _GSTATS, _GSSET_INFO, _GPHYSTATS, _GLINKSETTINGS = 0x1B, 0x1D, 0x37, 0x4A, 0x4C
_SS_STATS, _SS_PHY_STATS = 1, 7
_STRING_BYTES = 32
_MAX_COUNTERS = 16384
_SETTINGS = struct.Struct("=IIBBBBBBBbBBBB28x")


class EthtoolIoctl:
    """Asks about one interface. A context manager; every question raises OSError on refusal."""

    def __init__(self, interface: str) -> None:
        self._name = interface.encode("utf-8", "surrogateescape")
        if not 0 < len(self._name) < 16:
            raise OSError(errno.ENODEV, "no such device")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def __enter__(self) -> EthtoolIoctl:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def _ask(self, request: bytes) -> bytes:
        import ctypes

        buffer = ctypes.create_string_buffer(request, len(request))
        interface = struct.pack("16sP16x", self._name, ctypes.addressof(buffer))
        fcntl.ioctl(self._socket.fileno(), _SIOCETHTOOL, interface)
        return buffer.raw

    def driver(self) -> Driver:
        return driver_of(self._ask(struct.pack("=I", _GDRVINFO) + bytes(192)))

    def up(self) -> bool:
        """The driver's own word on the link."""
        answer = self._ask(struct.pack("=II", _GLINK, 0))
        return bool(struct.unpack("=II", answer)[1])

    def rings(self) -> Rings:
        return rings_of(self._ask(struct.pack("=9I", _GRINGPARAM, *[0] * 8)))

    def pause(self) -> Pause:
        return pause_of(self._ask(struct.pack("=4I", _GPAUSEPARAM, 0, 0, 0)))

    def settings(self) -> tuple[LinkModes, LinkInfo]:
        """Speed, duplex and modes. The kernel first tells how many words its bitmaps have."""
        told = self._ask(_request(0))
        words = -_SETTINGS.unpack(told[: _SETTINGS.size])[9]
        if not 0 < words < 128:
            raise OSError(errno.EINVAL, "the kernel tells no size of its link modes")
        return settings_of(self._ask(_request(words) + bytes(3 * 4 * words)))

    def statistics(self) -> dict[str, int]:
        """The driver's own counters by its own names."""
        return self._counters(_SS_STATS, _GSTATS)

    def phy_statistics(self) -> dict[str, int]:
        """The PHY's counters by their driver's names."""
        return self._counters(_SS_PHY_STATS, _GPHYSTATS)

    def _counters(self, string_set: int, command: int) -> dict[str, int]:
        told = self._ask(struct.pack("=IIQI", _GSSET_INFO, 0, 1 << string_set, 0))
        count = min(struct.unpack_from("=I", told, 16)[0], _MAX_COUNTERS)
        if not struct.unpack_from("=Q", told, 8)[0] or not count:
            return {}
        names = self._ask(
            struct.pack("=III", _GSTRINGS, string_set, count) + bytes(count * _STRING_BYTES)
        )
        values = self._ask(struct.pack("=II", command, count) + bytes(count * 8))
        return counters_of(names, values)


def _request(words: int) -> bytes:
    return _SETTINGS.pack(_GLINKSETTINGS, 0, 0, 0, 0, 0, 0, 0, 0, words, 0, 0, 0, 0)


def settings_of(data: bytes) -> tuple[LinkModes, LinkInfo]:
    """struct ethtool_link_settings with its three bitmaps: supported, advertised, the partner's."""
    if len(data) < _SETTINGS.size:
        return LinkModes(), LinkInfo()
    values = _SETTINGS.unpack_from(data)
    speed, duplex, port, phy, autoneg, mdix = (values[1], values[2], *values[3:6], values[7])
    room = max(0, values[9]) * 4
    ours, offered, partner = (
        link_modes.from_bitmap(_little(data[at : at + room]))
        for at in (_SETTINGS.size + room * index for index in range(3))
    )
    modes = LinkModes(
        autoneg=bool(autoneg),
        speed_mbps=known_speed(speed),
        duplex=known_duplex(duplex),
        supported=ours,
        advertised=offered,
        partner=partner,
    )
    return modes, LinkInfo(port_name(port), phy, {1: "MDI", 2: "MDI-X"}.get(mdix))


def _little(words: bytes) -> bytes:
    if sys.byteorder == "little":
        return words
    return b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))


def driver_of(data: bytes) -> Driver:
    """struct ethtool_drvinfo."""
    texts = [data[at : at + 32].split(b"\0", 1)[0] for at in (4, 36, 68, 100)]
    name, version, firmware, bus = (
        text.decode("utf-8", "backslashreplace").strip() or None for text in texts
    )
    return Driver(name, version, None if firmware == "N/A" else firmware, bus)


def rings_of(data: bytes) -> Rings:
    """struct ethtool_ringparam."""
    if len(data) < 36:
        return Rings()
    _, rx_max, _, _, tx_max, rx, _, _, tx = struct.unpack_from("=9I", data)
    return Rings(rx=rx, rx_max=rx_max, tx=tx, tx_max=tx_max)


def pause_of(data: bytes) -> Pause:
    """struct ethtool_pauseparam."""
    if len(data) < 16:
        return Pause()
    _, autoneg, rx, tx = struct.unpack_from("=4I", data)
    return Pause(bool(autoneg), bool(rx), bool(tx))


def counters_of(names: bytes, values: bytes) -> dict[str, int]:
    """Names of struct ethtool_gstrings beside numbers of struct ethtool_stats."""
    texts, numbers = names[12:], values[8:]
    count = min(len(texts) // _STRING_BYTES, len(numbers) // 8)
    found: dict[str, int] = {}
    for index in range(count):
        text = texts[index * _STRING_BYTES : (index + 1) * _STRING_BYTES].split(b"\0", 1)[0]
        name = text.decode("utf-8", "backslashreplace").strip()
        if name:
            found[name] = struct.unpack_from("=Q", numbers, index * 8)[0]
    return found
