"""A process of its own for each stream: nothing the parent does can slow the measurement down.

Workers are forked while the parent has no threads. They share with it one socket and the counters,
touch nothing else, print nothing, and never outlive it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn, TypeVar

from . import counters as shared
from . import prctl
from .counters import Counters
from .errors import EngineError

BLOCKED_CALL_S = 0.2
"""How long a read or write may block before the worker looks at the phase of the test again."""

_TIMER_SLACK_NS = 1000
_PARENT_CHECK_S = 0.5
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
"""What a terminal or timeout(1) sends to the whole group: the parent heeds it, and counts. And
what comes beside the error of a write."""
_CROWD_PER_CPU = 4
_CROWD_NICE = 10  # a tenth of the usual share, sched(7)

W = TypeVar("W", bound="Worker")


class Worker:
    """The parent's handle on a worker. `reap` it before it is dropped."""

    def __init__(self, pid: int, sock: socket.socket, sends: bool) -> None:
        self.pid = pid
        self.sends = sends
        self.exit_code: int | None = None  # once reaped; minus the signal's number when killed
        self._sock = sock
        self._reaped = False
        self._cpu_s = (0.0, 0.0)
        self._wait_s: float | None = None

    @classmethod
    def fork(
        cls: type[W],
        sock: socket.socket,
        counters: Counters,
        slot: int,
        sends: bool,
        body: Callable[[], None],
        *,
        keep: Iterable[int] = (),
    ) -> W:
        """Run `body` in a new process that shares `sock`, `counters` and `keep` with this one.

        The socket becomes a blocking one whose calls end after BLOCKED_CALL_S (setsockopt, not
        settimeout: that would add a poll() to each call); leave it so. Raises EngineError 150 when
        the system has no process left.
        """
        prctl.load()
        sock.setblocking(True)
        limit = struct.pack("ll", 0, int(BLOCKED_CALL_S * 1e6))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        parent = os.getpid()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                _run(parent, sock, counters, slot, body, keep=keep)
        except OSError as error:
            text = f"cannot start a process for the stream: {error.strerror}"
            raise EngineError(150, text, error.errno or 0) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return cls(pid, sock, sends)

    def wake(self) -> None:
        """Wake the worker out of a call that blocks; to be used when its phase is over.

        A sender's direction is closed for writing: what the kernel has accepted still goes out.
        """
        how = socket.SHUT_WR if self.sends else socket.SHUT_RD
        with contextlib.suppress(OSError):
            self._sock.shutdown(how)

    def reap(self, timeout_s: float = 0.0) -> bool:
        """Collect the process and its CPU times once it has ended. False: it still runs."""
        deadline_s = time.monotonic() + timeout_s
        pause_s = 0.0005
        while not self._collect():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, 0.01)
        return True

    def _collect(self) -> bool:
        if self._reaped:
            return True
        self._wait_s = self.sched_wait_s()
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        except ChildProcessError:  # collected elsewhere: the last figures known must do
            self._reaped = True
            return True
        if pid:
            self._reaped = True
            self.exit_code = os.waitstatus_to_exitcode(status)
            self._cpu_s = (usage.ru_utime, usage.ru_stime)
        return self._reaped

    def kill(self) -> None:
        """End the process at once (SIGKILL); reap it afterwards."""
        if not self._reaped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def cpu_times(self) -> tuple[float, float]:
        """User and system CPU seconds so far, in steps of 10 ms while it runs, exact once reaped.

        From /proc/PID/stat, proc_pid_stat(5), and wait4(2).
        """
        if not self._reaped:
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii", errors="replace")
                fields = stat.rpartition(")")[2].split()
                tick_s = 1 / os.sysconf("SC_CLK_TCK")
                self._cpu_s = (int(fields[11]) * tick_s, int(fields[12]) * tick_s)
        return self._cpu_s

    def sched_wait_s(self) -> float | None:
        """Seconds it was ready to run but had no processor; None where the kernel does not tell.

        From /proc/PID/schedstat, Documentation/scheduler/sched-stats.rst.
        """
        if not self._reaped:
            with contextlib.suppress(OSError, ValueError, IndexError):
                text = Path(f"/proc/{self.pid}/schedstat").read_text(encoding="ascii")
                self._wait_s = int(text.split()[1]) / 1e9
        return self._wait_s


def _run(
    parent: int,
    sock: socket.socket,
    counters: Counters,
    slot: int,
    body: Callable[[], None],
    *,
    keep: Iterable[int],
) -> NoReturn:
    base = counters.base(slot)
    status = 1
    try:
        _settle(parent, {sock.fileno(), counters.gate, *keep})
        _give_way(counters.streams)
        body()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        counters.words[base + shared.USER_US] = int(usage.ru_utime * 1e6)
        counters.words[base + shared.SYSTEM_US] = int(usage.ru_stime * 1e6)
        status = 0
    except BaseException:
        counters.words[base + shared.STATE] = shared.FAULT
    finally:
        os._exit(status)


def _settle(parent: int, keep: set[int]) -> None:
    """Cut what the new process has inherited: signal handlers, files, the collector of garbage."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in _IGNORED else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if not prctl.die_with_parent():
        _watch_parent(parent)
    if os.getppid() != parent:
        os._exit(1)
    prctl.set_timer_slack_ns(_TIMER_SLACK_NS)
    _close_all_but(keep)
    gc.freeze()
    gc.disable()


def _give_way(workers: int) -> None:
    """Where workers outnumber the processors by far, let their parent come before them: with a
    fair share among hundreds it would look at its clocks, and end the test, seconds late."""
    if workers > _CROWD_PER_CPU * (os.cpu_count() or 1):
        os.nice(_CROWD_NICE)


def _watch_parent(parent: int) -> None:
    def look(number: int, frame: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _PARENT_CHECK_S, _PARENT_CHECK_S)


def _close_all_but(keep: set[int]) -> None:
    try:
        held = {int(name) for name in os.listdir("/dev/fd")}  # noqa: PTH208
    except (OSError, ValueError):
        held = set(range(min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[0])))
    for fd in held - keep:
        with contextlib.suppress(OSError):
            os.close(fd)
