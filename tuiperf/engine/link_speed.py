"""How fast the link is that an address of this host belongs to, where its driver tells."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from pathlib import Path
from typing import NamedTuple, Optional

_SIOCGIFADDR = 0x8915  # include/uapi/linux/sockios.h
_REQUEST = struct.Struct("16s24x")  # struct ifreq of linux/if.h
_FAMILY_AND_ADDRESS = slice(16 + 4, 16 + 8)  # behind the name: struct sockaddr_in
_IF_INET6 = Path("/proc/net/if_inet6")
_CLASS_NET = Path("/sys/class/net")


class Link(NamedTuple):
    """A network device and its speed in bit/s."""

    name: str
    bps: int


def link_of(address: str) -> Optional[Link]:
    """The device with this local address; None when there is none or its speed is not known."""
    name = device_of(address.partition("%")[0])
    try:
        mbps = int((_CLASS_NET / name / "speed").read_text(encoding="ascii")) if name else 0
    except (OSError, ValueError):
        return None
    return Link(name, mbps * 1_000_000) if mbps > 0 else None


def device_of(address: str) -> str:
    """The name of the device with this local address, "" when there is none."""
    try:
        wanted = ipaddress.ip_address(address)
        if wanted.version == 6:
            return _device_of_ipv6(wanted.packed.hex())
        return next((name for name in _names() if _ipv4_of(name) == wanted.packed), "")
    except (OSError, ValueError):
        return ""


def _names() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def _ipv4_of(name: str) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            asked = _REQUEST.pack(name.encode()[:15])
            return fcntl.ioctl(sock.fileno(), _SIOCGIFADDR, asked)[_FAMILY_AND_ADDRESS]
        except OSError:
            return b""


def _device_of_ipv6(digits: str) -> str:
    for line in _IF_INET6.read_text(encoding="ascii").splitlines():
        fields = line.split()
        if len(fields) == 6 and fields[0] == digits:
            return fields[5]
    return ""
