"""This machine at a glance: its interface towards a peer, what TCP uses, how we came in by SSH.

Nothing is sent: connecting a datagram socket only asks the kernel for its route (udp(7)).
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuiperf.engine import host_facts
from tuiperf.engine.link_speed import device_of

_NOWHERE = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))  # RFC 5737, RFC 3849
_DISCARD_PORT = 9
_SIOCGIFMTU = 0x8921  # include/uapi/linux/sockios.h
_IFREQ_NUMBER = struct.Struct("16si20x")  # struct ifreq of linux/if.h


@dataclass(frozen=True)
class Glance:
    """What was found. "" and None: not known."""

    host: str = ""
    interface: str = ""
    address: str = ""
    speed_bps: float | None = None
    virtual: bool = False  # no port of its own, so no speed
    duplex: str = ""
    mtu_bytes: int | None = None
    congestion: str = ""
    qdisc: str = ""
    receive_max_bytes: int | None = None
    cores: int = 0
    ssh_from: str = ""
    ssh_interface: str = ""

    @property
    def ssh_crosses(self) -> bool:
        """This SSH session comes in by the interface that a test would use."""
        return bool(self.ssh_interface) and self.ssh_interface == self.interface


def glance(toward: str = "", environ: Mapping[str, str] = os.environ) -> Glance:
    """Look now. `toward` is the peer's numeric address, "" for the default route. Never raises."""
    address = local_address(toward)
    facts = host_facts.read(0.0, "begin", address) if address else None
    settings = facts.settings if facts else {}
    link = facts.link if facts else {}
    ssh_from, ssh_interface = _ssh(environ)
    interface = str(link.get("device", ""))
    speed_mbps = link.get("speed_mbps")
    return Glance(
        socket.gethostname(),
        interface,
        address,
        speed_mbps * 1e6 if isinstance(speed_mbps, int) and speed_mbps > 0 else None,
        link.get("class") == "virtual",
        str(link.get("duplex", "")),
        _mtu(interface),
        str(settings.get("net.ipv4.tcp_congestion_control", "") or _congestion()),
        str(settings.get("net.core.default_qdisc", "")),
        _last_number(settings.get("net.ipv4.tcp_rmem")),
        len(os.sched_getaffinity(0)),
        ssh_from,
        ssh_interface,
    )


def local_address(toward: str = "") -> str:
    """The address that this host would send from, "" when there is no route."""
    family = socket.AF_INET6 if ":" in toward else socket.AF_INET
    for address, kind in ((toward, family),) if toward else _NOWHERE:
        try:
            with socket.socket(kind, socket.SOCK_DGRAM) as sock:
                found = socket.getaddrinfo(
                    address, _DISCARD_PORT, kind, socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
                )
                sock.connect(found[0][4])
                return str(sock.getsockname()[0]).partition("%")[0]
        except (OSError, UnicodeError, ValueError):
            continue
    return ""


def crosses(local_host: str, environ: Mapping[str, str] = os.environ) -> bool:
    """True when this SSH session comes in by the device that has this local address."""
    ssh_interface = _ssh(environ)[1]
    return bool(ssh_interface) and ssh_interface == device_of(local_host.partition("%")[0])


def _ssh(environ: Mapping[str, str]) -> tuple[str, str]:
    """Where this session comes from, and the device it comes in by (ssh(1), SSH_CONNECTION)."""
    fields = environ.get("SSH_CONNECTION", "").split()
    if len(fields) != 4:
        return "", ""
    mapped = fields[2].removeprefix("::ffff:")
    return fields[0].removeprefix("::ffff:"), device_of(mapped.partition("%")[0])


def _mtu(interface: str) -> int | None:
    """The device's MTU, asked in this network namespace (netdevice(7), SIOCGIFMTU)."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            asked = _IFREQ_NUMBER.pack(interface.encode()[:15], 0)
            return int(_IFREQ_NUMBER.unpack(fcntl.ioctl(sock.fileno(), _SIOCGIFMTU, asked))[1])
    except OSError:
        return None


def _congestion() -> str:
    return _read("/proc/sys/net/ipv4/tcp_congestion_control").strip()


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")[:200]
    except OSError:
        return ""


def _last_number(text: object) -> int | None:
    words = str(text or "").split()
    return int(words[-1]) if words and words[-1].isdigit() else None
