"""The two hosts of a lab: devices, addresses, routes and kernel settings of each namespace.

Made over netlink with pyroute2, and only ever inside the namespaces: nothing of the machine's own
network is touched. The addresses are those set aside for measurements (RFC 2544, RFC 5180); since
each lab has namespaces of its own, all labs use the same ones.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tuiperf.lab import tun
from tuiperf.lab.errors import LabError
from tuiperf.lab.namespaces import Namespaces, inside
from tuiperf.lab.spec import MTU_BYTES, SIDES, Host

DEVICE = "path0"
ADDRESSES = {"near": "198.18.0.1", "far": "198.18.0.2"}
ADDRESSES6 = {"near": "2001:2::1", "far": "2001:2::2"}
_PREFIX, _PREFIX6 = 24, 64
_QUEUE_PACKETS = 10_000
_NO_DAD = 0x02  # IFA_F_NODAD, include/uapi/linux/if_addr.h
_PRIORITY6 = 256  # of the route that the kernel makes for an address

_RMEM_START, _WMEM_START = (4096, 131072), (4096, 65536)  # least and first size, as Linux has them


@contextmanager
def netlink_here() -> Iterator[Any]:
    """pyroute2 in the namespace we are in. A refusal of the kernel becomes a LabError."""
    try:
        from pyroute2 import IPRoute
        from pyroute2.netlink.exceptions import NetlinkError
    except ImportError:
        raise LabError("the lab needs the Python package pyroute2, which is not here") from None
    try:
        with IPRoute() as netlink:
            yield netlink
    except NetlinkError as error:
        reason = os.strerror(error.code) if error.code else str(error)
        raise LabError(f"the kernel refuses the lab's network: {reason}") from None


def make_tuns(namespaces: Namespaces) -> tuple[int, int]:
    """A TUN device on each side; the near and the far descriptor. Raises LabError."""
    fds = []
    for side in SIDES:
        with inside(namespaces, side):
            fds.append(tun.open_device(DEVICE))
            with netlink_here() as netlink:
                _set_up(netlink, side)
    return fds[0], fds[1]


def make_veth(namespaces: Namespaces) -> None:
    """A plain cable between the two sides. Raises LabError."""
    with inside(namespaces, "near"), netlink_here() as netlink:
        peer = {"ifname": DEVICE, "net_ns_fd": namespaces.far}
        netlink.link("add", ifname=DEVICE, kind="veth", peer=peer)
    for side in SIDES:
        with inside(namespaces, side), netlink_here() as netlink:
            _set_up(netlink, side)


def _set_up(netlink: Any, side: str) -> None:
    loopback = netlink.link_lookup(ifname="lo")[0]
    netlink.link("set", index=loopback, state="up")
    index = netlink.link_lookup(ifname=DEVICE)[0]
    netlink.link("set", index=index, mtu=MTU_BYTES, txqlen=_QUEUE_PACKETS, state="up")
    netlink.addr("add", index=index, address=ADDRESSES[side], prefixlen=_PREFIX)
    with contextlib.suppress(Exception):  # a machine without IPv6 has an IPv4 lab
        netlink.addr(
            "add", index=index, address=ADDRESSES6[side], prefixlen=_PREFIX6, flags=_NO_DAD
        )


def set_host(namespaces: Namespaces, side: str, host: Host) -> None:
    """Give one side its settings. Raises LabError for what the system does not allow."""
    with inside(namespaces, side):
        _write("ipv4/tcp_rmem", _three(_RMEM_START, host.tcp_rmem_max_bytes))
        _write("ipv4/tcp_wmem", _three(_WMEM_START, host.tcp_wmem_max_bytes))
        _write("ipv4/tcp_no_metrics_save", "1")
        _write("ipv4/tcp_ecn", "1" if host.ecn else "2")
        _write("ipv4/ping_group_range", "0 0")
        _set_congestion(side, host.congestion)


def _three(start: tuple[int, int], most: int) -> str:
    return f"{min(start[0], most)} {min(start[1], most)} {most}"


def _set_congestion(side: str, name: str) -> None:
    """By the sysctl; where that has no effect, by the routes to the other side."""
    with contextlib.suppress(LabError):
        _write("ipv4/tcp_congestion_control", name)
    if _read("ipv4/tcp_congestion_control") == name:
        return
    try:
        with netlink_here() as netlink:
            _set_route_congestion(netlink, side, name)
    except LabError:
        raise LabError(f"the congestion control {name!r} is not to be had here") from None


def _set_route_congestion(netlink: Any, side: str, name: str) -> None:
    index = netlink.link_lookup(ifname=DEVICE)[0]
    metrics = {"cc_algo": name}
    network = ADDRESSES[side].rpartition(".")[0] + f".0/{_PREFIX}"
    netlink.route(
        "replace",
        dst=network,
        oif=index,
        prefsrc=ADDRESSES[side],
        scope="link",
        proto="kernel",
        metrics=metrics,
    )
    with contextlib.suppress(Exception):
        netlink.route(
            "replace",
            dst=f"2001:2::/{_PREFIX6}",
            oif=index,
            proto="kernel",
            priority=_PRIORITY6,
            metrics=metrics,
        )


def _read(name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/sys/net/{name}").read_text(encoding="ascii").strip()
    return ""


def _write(name: str, value: str) -> None:
    try:
        Path(f"/proc/sys/net/{name}").write_text(value, encoding="ascii")
    except OSError as error:
        if error.errno == errno.EROFS:
            reason = "/proc/sys is read-only here, as in a container that is not privileged"
        else:
            reason = error.strerror or "refused"
        raise LabError(f"net.{name.replace('/', '.')} cannot be set: {reason}") from None
