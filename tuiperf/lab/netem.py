"""The backend that the kernel brings: netem and tbf on both ends of a veth pair.

A packet leaves its host through netem, which delays and loses it, and then through a token bucket
with a queue counted in bytes: the bottleneck. Segmentation offload is off on both devices, since
netem would lose and reorder whole super-packets of up to 45 segments.

Requests as tc(8) makes them, include/uapi/linux/pkt_sched.h.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import socket
import struct
from array import array
from typing import Any

from tuiperf.lab.namespaces import Namespaces, inside
from tuiperf.lab.spec import FRAMING_BYTES, MTU_BYTES, SIDES, Direction, PathSpec
from tuiperf.lab.topology import DEVICE, make_veth, netlink_here

ROOT, CHILD = "1:", "10:"
_LIMIT_PACKETS = 1000  # tc's own default
_BURST_S = 0.002
_LEAST_BURST_PACKETS = 5  # a late timer must not cost capacity
_ETHERNET_BYTES = 14  # that tbf counts, since it sees the frame's header
_SIOCETHTOOL = 0x8946
_OFFLOADS = (0x1F, 0x24, 0x2C)  # ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO

Json = dict[str, Any]


def lacking(path: PathSpec) -> str:
    """What this backend cannot do that the path asks for, "" when it can do all."""
    if path.shared_medium:
        return "it has no shared medium"
    for direction in (path.there, path.here):
        for asked, words in (
            (direction.burst_loss, "it loses no bursts of a given length"),
            (direction.outage_s, "it has no outages"),
            (direction.police_bps, "it has no policer"),
            (direction.mtu_bytes, "it has no narrower link within"),
            (direction.mark_s, "it marks nothing"),
            (direction.collides, "it has no collisions"),
            (direction.jitter_s, "its jitter changes the order"),
            (direction.reorder, "it reorders by the whole delay only"),
        ):
            if asked:
                return words
    return ""


def available() -> bool:
    """Does the kernel have netem? Tried on the loopback device of the namespace we are in.

    Raises LabError when nothing at all can be asked of the kernel.
    """
    with netlink_here() as netlink:
        index = netlink.link_lookup(ifname="lo")[0]
        try:
            netlink.tc("add", "netem", index=index, handle=ROOT, delay=0)
        except Exception as error:
            if getattr(error, "code", None) in (errno.ENOENT, errno.EOPNOTSUPP, errno.EPERM):
                return False
            raise
        netlink.tc("del", "netem", index=index, handle=ROOT)
        return True


def requests(direction: Direction) -> list[Json]:
    """What pyroute2 is asked for, in order, for the device that this direction leaves through.

    netem takes delays in microseconds and shares in percent, tbf its rate in bytes a second.
    """
    netem: Json = {"kind": "netem", "handle": ROOT, "limit": _limit_packets(direction)}
    netem["delay"] = round(direction.delay_s * 1e6)
    if direction.loss:
        netem["loss"] = direction.loss * 100
    if direction.duplicate:
        netem["duplicate"] = direction.duplicate * 100
    made = [netem]
    if direction.rate_bps:
        rate = round(direction.rate_bps / 8 * _counted_share())
        burst = max(round(rate * _BURST_S), _LEAST_BURST_PACKETS * (MTU_BYTES + _ETHERNET_BYTES))
        made.append(
            {
                "kind": "tbf",
                "parent": ROOT,
                "handle": CHILD,
                "rate": rate,
                "burst": burst,
                "limit": round(direction.queue_bytes * _counted_share()) + burst,
            }
        )
    return made


def _counted_share() -> float:
    """tbf counts 14 bytes around a packet, the wire has 38: a full packet's share of the two."""
    return (MTU_BYTES + _ETHERNET_BYTES) / (MTU_BYTES + FRAMING_BYTES)


def _limit_packets(direction: Direction) -> int:
    smallest = 64 + FRAMING_BYTES
    return max(_LIMIT_PACKETS, int(direction.rate_bps * direction.delay_s / 8 / smallest))


def make(namespaces: Namespaces, path: PathSpec) -> None:
    """Make the whole path. Raises LabError."""
    make_veth(namespaces)
    for side, direction in zip(SIDES, (path.there, path.here), strict=True):
        with inside(namespaces, side), netlink_here() as netlink:
            _switch_offloads_off(DEVICE)
            index = netlink.link_lookup(ifname=DEVICE)[0]
            for request in requests(direction):
                netlink.tc("add", index=index, **request)


def _switch_offloads_off(name: str) -> None:
    """By ioctl: struct ethtool_value behind the pointer of a struct ifreq, uapi/linux/ethtool.h."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in _OFFLOADS:
            value = array("I", [command, 0])
            request = struct.pack("16sP16x", name.encode(), value.buffer_info()[0])
            with contextlib.suppress(OSError):  # a device without the offload needs no switching
                fcntl.ioctl(sock.fileno(), _SIOCETHTOOL, request)
