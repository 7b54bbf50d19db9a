"""What this host's kernel and device tell, read as a test's data begins and when it has ended.

Thin readers of /proc and two ioctls, all about the network namespace of this process; sysfs is
not, so it is left alone. Whatever cannot be read is left out. Sources: networking/ip-sysctl.rst,
snmp_counter.rst and statistics.rst of the kernel's documentation; include/uapi/linux/ethtool.h.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from pathlib import Path
from typing import Any, Optional

from tuiperf.events import HostFacts

from . import link_speed

SETTINGS = (
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_congestion_control",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.default_qdisc",
)
COUNTERS = {
    "TcpExt": ("TCPDSACKOldSent", "TCPDSACKOfoSent", "PruneCalled", "TCPRcvQDrop", "TCPTimeouts"),
    "IpExt": ("InCEPkts",),
    "Udp": ("RcvbufErrors", "SndbufErrors"),
}
DEVICE_COLUMNS = {1: "rx_packets", 2: "rx_errors", 3: "rx_dropped", 5: "rx_frame", 9: "tx_packets"}
DEVICE_COLUMNS.update({10: "tx_errors", 11: "tx_dropped", 13: "collisions", 14: "tx_carrier"})
CORE_COLUMNS = {0: "user", 2: "system", 3: "idle", 6: "softirq", 7: "steal"}
MAX_CORES = 128
PARAVIRTUAL = ("virtio_net", "vmxnet3", "hv_netvsc", "xen_netfront", "vif", "ena", "gve")
"""Drivers whose device has a place on a bus and yet no port: the speed they tell is made up."""

_PROC = Path("/proc")
_NET = _PROC / "thread-self/net"
_SIOCETHTOOL, _SIOCGIWNAME = 0x8946, 0x8B01
_GET_SETTINGS, _GET_DRIVER = 0x1, 0x3
_SETTINGS = struct.Struct("=IIIHBBBBBBIIHBBI8x")  # struct ethtool_cmd
_DRIVER = struct.Struct("=I32s32s32s32s64x")  # struct ethtool_drvinfo
_DUPLEX = {0: "half", 1: "full"}
_UNKNOWN_SPEEDS = (0, 0xFFFF, 0xFFFFFFFF)


def read(t_s: float, when: str, local_host: str) -> HostFacts:
    """All of it, now. `local_host` is the address of this end. Never raises."""
    name = link_speed.device_of(local_host)
    counters = {**_protocols(), **_softnet(), **_cores(), **_device(name)}
    return HostFacts(t_s, when, _settings(), counters, _link(name))


def _settings() -> dict[str, Any]:
    found = {}
    for name in SETTINGS:
        text = _text(_PROC / "sys" / name.replace(".", "/"))
        if text:
            found[name] = " ".join(text.split())[:64]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _protocols() -> dict[str, int]:
    lines = (_text(_NET / "netstat") + _text(_NET / "snmp")).splitlines()
    found = {}
    for heads, values in zip(lines[::2], lines[1::2]):  # noqa: B905
        group = heads.partition(":")[0]
        prefix = "udp" if group == "Udp" else "tcp"
        table = dict(zip(heads.split()[1:], values.split()[1:]))  # noqa: B905
        for name in COUNTERS.get(group, ()):
            if table.get(name, "").isdecimal():
                found[f"{prefix}.{name}"] = int(table[name])
    return found


def _softnet() -> dict[str, int]:
    """The receive path of all cores: frames dropped, and rounds whose time ran out."""
    rows = [line.split() for line in _text(_NET / "softnet_stat").splitlines()]
    if not rows:
        return {}
    try:
        return {
            "softnet.dropped": sum(int(row[1], 16) for row in rows),
            "softnet.squeezed": sum(int(row[2], 16) for row in rows),
        }
    except (ValueError, IndexError):
        return {}


def _cores() -> dict[str, Any]:
    """Seconds of each core by what it did, since the host came up (proc_stat(5))."""
    found: dict[str, Any] = {}
    ticks = os.sysconf("SC_CLK_TCK") or 100
    for line in _text(_PROC / "stat").splitlines()[1 : MAX_CORES + 1]:
        name, *values = line.split()
        if not name.startswith("cpu"):
            break
        for column, what in CORE_COLUMNS.items():
            if column < len(values) and values[column].isdecimal():
                found[f"core{name[3:]}.{what}_s"] = int(values[column]) / ticks
    return found


def _device(device: str) -> dict[str, int]:
    """The device's counters, by the columns of /proc/net/dev."""
    for line in _text(_NET / "dev").splitlines():
        name, _, rest = line.partition(":")
        values = rest.split()
        if device and name.strip() == device and all(each.isdecimal() for each in values):
            return {
                f"device.{what}": int(values[column])
                for column, what in DEVICE_COLUMNS.items()
                if column < len(values)
            }
    return {}


def _link(device: str) -> dict[str, Any]:
    if not device:
        return {}
    found: dict[str, Any] = {"device": device}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        driver = _ethtool(sock, device, _DRIVER, _GET_DRIVER)
        bus = ""
        if driver:
            found["driver"] = _name(driver[1])
            bus = _name(driver[4]) if found["driver"] not in PARAVIRTUAL else ""
        found["class"] = _class(_is_wireless(sock, device), bus)
        settings = _ethtool(sock, device, _SETTINGS, _GET_SETTINGS)
    if settings:
        speed_mbps = settings[3] | settings[12] << 16
        if speed_mbps not in _UNKNOWN_SPEEDS:
            found["speed_mbps"] = speed_mbps
        if settings[4] in _DUPLEX:
            found["duplex"] = _DUPLEX[settings[4]]
    return found


def _class(wireless: bool, bus: str) -> str:
    """Physical devices sit on a bus, "0000:03:00.0" or "usb-…"; a virtual one names none."""
    if wireless:
        return "wireless"
    on_bus = bus.count(":") >= 2 or bus.startswith("usb-")
    return "physical" if on_bus else "virtual"


def _is_wireless(sock: socket.socket, device: str) -> bool:
    try:
        fcntl.ioctl(sock.fileno(), _SIOCGIWNAME, device.encode()[:15].ljust(32, b"\0"))
    except OSError:
        return False
    return True


def _ethtool(
    sock: socket.socket, device: str, layout: struct.Struct, command: int
) -> Optional[tuple[Any, ...]]:
    """One old ethtool request: an ifreq whose data points at a buffer that begins with it."""
    import ctypes

    buffer = ctypes.create_string_buffer(struct.pack("=I", command), layout.size)
    request = struct.pack("16sP8x", device.encode()[:15], ctypes.addressof(buffer))
    try:
        fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)
    except OSError:
        return None
    return layout.unpack(buffer.raw)


def _name(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("ascii", "replace")[:32]
