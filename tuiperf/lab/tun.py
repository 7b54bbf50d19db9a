"""A TUN device with offloads, made by ioctl: it exists as long as its descriptor is open.

Numbers from include/uapi/linux/if_tun.h, as encoded on x86, ARM and RISC-V.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from tuiperf.lab.errors import LabError

PATH = "/dev/net/tun"

_TUNSETIFF = 0x400454CA
_TUNSETOFFLOAD = 0x400454D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
_CSUM, _TSO4, _TSO6, _TSO_ECN, _USO4, _USO6 = 0x01, 0x02, 0x04, 0x08, 0x20, 0x40


def open_device(name: str) -> int:
    """Make a device in the namespace this process is in; its descriptor, which does not block.

    Raises LabError when the system does not let us.
    """
    try:
        fd = os.open(PATH, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise LabError(_why_not_open(error)) from None
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR)
        fcntl.ioctl(fd, _TUNSETIFF, request)
        _offload(fd)
    except OSError as error:
        os.close(fd)
        raise LabError(f"cannot make a TUN device: {error.strerror}") from None
    return fd


def _offload(fd: int) -> None:
    tcp = _CSUM | _TSO4 | _TSO6 | _TSO_ECN
    try:
        fcntl.ioctl(fd, _TUNSETOFFLOAD, tcp | _USO4 | _USO6)
    except OSError:  # kernels before 6.2 have no UDP segmentation here
        fcntl.ioctl(fd, _TUNSETOFFLOAD, tcp)


def _why_not_open(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return f"{PATH} is missing: 'modprobe tun' brings it, a container needs --device {PATH}"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{PATH} may not be opened by this user; run it as root"
    return f"{PATH} cannot be opened: {error.strerror}"
