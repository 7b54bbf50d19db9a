"""Network namespaces without names: held by descriptors, gone when the last one is closed."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT, SIGKILL
from typing import Any

from tuiperf.lab.errors import LabError

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # include/uapi/linux/sched.h
_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
)

_libc: Any = None


def _call(name: str, *arguments: int) -> None:
    global _libc  # noqa: PLW0603
    if _libc is None:
        import ctypes

        _libc = ctypes.CDLL(None, use_errno=True)
    if getattr(_libc, name)(*arguments) != 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def load() -> None:
    """Find the system calls now, so that a forked process need not load anything."""
    with contextlib.suppress(OSError):
        _call("setns", -1, 0)


def supported() -> None:
    """Raise LabError where there are no network namespaces at all."""
    if not sys.platform.startswith("linux"):
        raise LabError("the lab needs Linux: it is made of network namespaces")
    if not Path("/proc/self/ns/net").exists():
        raise LabError("the lab needs network namespaces, and this kernel has none (or no /proc)")


@dataclass(frozen=True)
class Namespaces:
    """Descriptors of the two sides, and of the user namespace around them when one was needed."""

    near: int
    far: int
    user: int | None = None

    def side(self, name: str) -> int:
        return self.near if name == "near" else self.far


def make(in_user_namespace: bool | None = None) -> Namespaces:
    """Make the two sides; this process is in the far one afterwards.

    None leaves the choice to the rights of this user. A process with threads cannot make a user
    namespace. Raises LabError when the system does not let us.
    """
    supported()
    user_fd = None
    if in_user_namespace or (in_user_namespace is None and not _may_make_networks()):
        user_fd = _make_user()
    try:
        return Namespaces(_make_network(), _make_network(), user_fd)
    except OSError as error:
        raise LabError(f"no network namespace can be made: {_reason(error)}") from None


def _may_make_networks() -> bool:
    try:
        _call("unshare", _NEW_NET)
    except OSError as error:
        if error.errno == errno.EPERM:
            return False
        raise LabError(f"no network namespace can be made: {_reason(error)}") from None
    return True


def _reason(error: OSError) -> str:
    """ENOSPC is no full disk here: unshare(2) means the limit of namespaces."""
    if error.errno == errno.ENOSPC:
        return "as many as /proc/sys/user/max_net_namespaces allows are there"
    return error.strerror or "refused"


def _make_network() -> int:
    _call("unshare", _NEW_NET)
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _make_user() -> int:
    uid, gid = os.geteuid(), os.getegid()
    try:
        _call("unshare", _NEW_USER)
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
    except OSError as error:
        who = "this root may make no network namespaces" if uid == 0 else "not root"
        raise LabError(f"{who}, and {_why_no_user_namespace(error)}") from None
    return os.open("/proc/self/ns/user", os.O_RDONLY | os.O_CLOEXEC)


def _why_no_user_namespace(error: OSError) -> str:
    for file, closed in _SWITCHES:
        with contextlib.suppress(OSError):
            if Path(file).read_text(encoding="ascii").strip() == closed:
                return f"user namespaces are switched off here ({file} is {closed})"
    return f"this system grants no user namespace ({error.strerror}); run it as root"


def enter(namespaces: Namespaces, side: str) -> None:
    """Move this process to one side, for good. Raises OSError when that is not allowed."""
    if namespaces.user is not None:
        _call("setns", namespaces.user, _NEW_USER)
    _call("setns", namespaces.side(side), _NEW_NET)


@contextlib.contextmanager
def inside(namespaces: Namespaces, side: str) -> Iterator[None]:
    """Be on one side for a while; for the process that made the namespaces."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", namespaces.side(side), _NEW_NET)
        yield
    finally:
        _call("setns", home, _NEW_NET)
        os.close(home)


def inhabitants(namespaces: Namespaces) -> set[int]:
    """The processes on both sides that we may look at."""
    wanted = {os.fstat(fd).st_ino for fd in (namespaces.near, namespaces.far)}
    found = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry}/ns/net").st_ino in wanted:  # noqa: PTH116
                    found.add(int(entry))
    return found


def clear(namespaces: Namespaces, spare: set[int], limit_s: float = 2.0) -> None:
    """Kill who is on either side, but for those to `spare`: they go on if they were stopped."""
    deadline_s = time.monotonic() + limit_s
    for pid in inhabitants(namespaces) & spare - {os.getpid()}:
        with contextlib.suppress(OSError):
            os.kill(pid, SIGCONT)
    while left := inhabitants(namespaces) - spare - {os.getpid()}:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, SIGKILL)
        if time.monotonic() > deadline_s:
            return
        time.sleep(0.005)
