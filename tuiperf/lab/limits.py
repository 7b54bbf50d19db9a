"""net.core.rmem_max and wmem_max for the processes of one side alone.

The kernel has one value of each for the whole machine. So a lab that wants others filters the
system call: setsockopt() of SO_SNDBUF and SO_RCVBUF is handed to a process of ours, which carries
it out with the smaller value, as the kernel would (sk_setsockopt of net/core/sock.c). What reads
the sysctl itself still sees the machine's own.

seccomp(2) and seccomp_unotify(2); numbers from include/uapi/linux/seccomp.h, filter.h, audit.h.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tuiperf.lab.errors import LabError


class _Machine(NamedTuple):
    audit_arch: int
    seccomp: int
    setsockopt: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 317, 54),
    "aarch64": _Machine(0xC00000B7, 277, 208),
}
_PIDFD_GETFD = 438
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOTIFY, _REFUSE = 0x7FFF0000, 0x7FC00000, 0x00050001  # the last one with EPERM
_AT_NR, _AT_ARCH, _AT_LEVEL, _AT_OPTION = 0, 4, 24, 32  # in struct seccomp_data
_FORCING = (32, 33)  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, _SEND
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_RESPONSE = struct.Struct("=QqiI")

_libc: Any = None


def check_supported() -> None:
    """Raise LabError where these limits cannot be imitated. Loads what `restrict` needs."""
    global _libc  # noqa: PLW0603
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        raise LabError("rmem_max and wmem_max of one side are for x86-64 and 64-bit ARM only")
    _libc = _libc or ctypes.CDLL(None, use_errno=True)


def restrict(rmem_max_bytes: int, wmem_max_bytes: int) -> None:
    """Hold this process, and all that it starts, to these limits (0: none). Raises OSError.

    For a process that is about to become another program; `check_supported` comes first.
    """
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        if os.fork() == 0:
            _serve(theirs, rmem_max_bytes, wmem_max_bytes)
        os._exit(0)
    os.wait()
    theirs.close()
    listener = _install_filter()
    socket.send_fds(ours, [b"l"], [listener])
    ours.recv(1)
    os.close(listener)
    ours.close()


def _install_filter() -> int:
    machine = _MACHINES[platform.machine()]
    program = _program(machine)
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    number, flags = ctypes.c_long(machine.seccomp), ctypes.c_ulong(_NEW_LISTENER)
    return _check(_libc.syscall(number, ctypes.c_ulong(_SET_MODE_FILTER), flags, head))


def _program(machine: _Machine) -> bytes:
    """Classic BPF: jumps are relative, and all that does not match goes to the last line."""
    lines = [
        (_LOAD, 0, 0, _AT_ARCH),
        (_JUMP_EQUAL, 0, 10, machine.audit_arch),
        (_LOAD, 0, 0, _AT_NR),
        (_JUMP_EQUAL, 0, 8, machine.setsockopt),
        (_LOAD, 0, 0, _AT_LEVEL),
        (_JUMP_EQUAL, 0, 6, socket.SOL_SOCKET),
        (_LOAD, 0, 0, _AT_OPTION),
        (_JUMP_EQUAL, 5, 0, socket.SO_SNDBUF),
        (_JUMP_EQUAL, 4, 0, socket.SO_RCVBUF),
        (_JUMP_EQUAL, 1, 0, _FORCING[0]),
        (_JUMP_EQUAL, 0, 1, _FORCING[1]),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _NOTIFY),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _serve(sock: socket.socket, rmem_max_bytes: int, wmem_max_bytes: int) -> NoReturn:
    """Answer the filter until the last process under it has ended."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _, (listener,), _, _ = socket.recv_fds(sock, 1, 1)
        sock.send(b"r")
        _close_all_but(listener)
        most = {socket.SO_RCVBUF: rmem_max_bytes, socket.SO_SNDBUF: wmem_max_bytes}
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while not any(flags & select.POLLHUP for _, flags in poll.poll()):
            _answer(listener, most)
    finally:
        os._exit(0)


def _answer(listener: int, most: dict[int, int]) -> None:
    notification = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, notification)
        mark, pid, *_, fd, _level, option, at, size, _rest = _NOTIFICATION.unpack(notification)
        error = _set(pid, fd, option, at, size, most[option])
        fcntl.ioctl(listener, _SEND, _RESPONSE.pack(mark, 0, -error, 0))
    except OSError:  # whoever asked is gone
        return


def _set(pid: int, fd: int, option: int, at: int, size: int, most: int) -> int:  # noqa: PLR0917
    """Do what was asked with a value that the limit allows; the error number, 0 for none."""
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            memory.seek(at)
            asked = struct.unpack("=I", memory.read(min(size, 4)))[0]
        owner = os.pidfd_open(_process_of(pid))
        try:
            number = ctypes.c_long(_PIDFD_GETFD)
            copy = _check(_libc.syscall(number, ctypes.c_int(owner), ctypes.c_int(fd), 0))
        finally:
            os.close(owner)
        with socket.socket(fileno=copy) as sock:
            sock.setsockopt(socket.SOL_SOCKET, option, min(asked, most or asked, 2**31 - 1))
    except OSError as error:
        return error.errno or 1
    except struct.error:
        return 22
    return 0


def _process_of(thread: int) -> int:
    status = Path(f"/proc/{thread}/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("\nTgid:")[2].split()[0])


def _close_all_but(keep: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        fd = int(name)
        if fd <= 2 and fd != keep:
            os.dup2(nowhere, fd)
        elif fd not in (keep, nowhere):
            try:
                os.close(fd)
            except OSError:
                continue
    os.close(nowhere)
