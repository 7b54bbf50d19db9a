"""`python -m tuiperf.lab.helpers KIND …`: processes that disturb a test on one side of a lab.

On stdin "go" tells that a test's data begins and "rest" that it has ended; the end of stdin ends
the helper. All kinds take AFTER and FOR at the end: seconds since "go", and how long.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tuiperf.engine import prctl

_SLICE_S = 0.02
_BLOCK = bytes(65536)
_LOOK_S = 0.25
_CONGESTION = "cubic"


class _Cue:
    """When to act, as stdin tells."""

    def __init__(self, after_s: float, for_s: float) -> None:
        self._after_s, self._for_s = after_s, for_s
        self._begin_s = self._end_s = float("inf")

    def wait(self, limit_s: float | None) -> None:
        """Sleep for so long, or until stdin speaks. Ends the process when stdin ends."""
        ready, _, _ = select.select([0], [], [], limit_s)
        if not ready:
            return
        words = os.read(0, 4096)
        if not words:
            sys.exit(0)
        for word in words.split():
            now_s = time.monotonic()
            self._begin_s = now_s + self._after_s if word == b"go" else float("inf")
            self._end_s = self._begin_s + self._for_s

    @property
    def active(self) -> bool:
        return self._begin_s <= time.monotonic() < self._end_s

    def turns(self) -> Iterator[None]:
        """Yield again and again while it is time to act; else sleep."""
        while True:
            self.wait(0 if self.active else self._idle_s())
            if self.active:
                yield

    def _idle_s(self) -> float | None:
        now_s = time.monotonic()
        return self._begin_s - now_s if now_s < self._begin_s < float("inf") else None


def _hog(cue: _Cue) -> None:
    """Spin on every core, in one process for each."""
    others: list[int] = []
    for _ in range(len(os.sched_getaffinity(0)) - 1):
        reader, writer = os.pipe()
        if os.fork() == 0:
            for fd in (writer, *others):
                os.close(fd)
            os.dup2(reader, 0)
            prctl.die_with_parent()
            others = []
            break
        os.close(reader)
        others.append(writer)
    _spin(cue, others)


def _spin(cue: _Cue, others: list[int]) -> None:
    told = False
    while True:
        if cue.active != told and others:
            told = cue.active
            for fd in others:
                os.write(fd, b"go\n" if told else b"rest\n")
        until_s = time.monotonic() + _SLICE_S
        while cue.active and time.monotonic() < until_s:
            pass
        cue.wait(0 if cue.active else _SLICE_S * 5)


def _pause(cue: _Cue, run_s: float, stop_s: float) -> None:
    """Stop and continue the processes of this side that move a test's bytes."""
    prctl.set_timer_slack_ns(1)
    workers: list[int] = []
    looked_s = float("-inf")
    try:
        for _ in cue.turns():
            if time.monotonic() - looked_s > _LOOK_S:
                workers, looked_s = _workers(), time.monotonic()
            _signal(workers, signal.SIGSTOP)
            time.sleep(stop_s)
            _signal(workers, signal.SIGCONT)
            time.sleep(run_s)
    finally:
        _signal(workers, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _workers() -> list[int]:
    """Processes of our namespace without children, that have a socket; this one left out."""
    ours = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry}/ns/net").st_ino == ours and _moves_bytes(entry):  # noqa: PTH116
                    found.append(int(entry))
    return found


def _moves_bytes(pid: str) -> bool:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    if children.strip():
        return False
    fds = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
    sockets = [fd for fd in fds if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")]  # noqa: PTH115
    return bool(sockets) and "tuiperf.lab" not in _command(pid)


def _command(pid: str) -> str:
    data = Path(f"/proc/{pid}/cmdline").read_bytes()
    return data.replace(b"\0", b" ").decode(errors="replace")


def _crowd(cue: _Cue, peer: str, port: int, toward: str, streams: int) -> None:
    """Other traffic on the same path: as fast as it goes, from when it is time until it is over."""
    socks: list[socket.socket] = []
    while True:
        if cue.active and not socks:
            with contextlib.suppress(OSError):  # a path that lets nobody through: try again
                for _ in range(streams):
                    socks.append(_connect(peer, port, toward))
        elif not cue.active and socks:
            for sock in socks:
                sock.close()
            socks = []
        if socks:
            _move(socks, toward == "there")
        cue.wait(0 if socks else _SLICE_S)


def _connect(peer: str, port: int, toward: str) -> socket.socket:
    sock = socket.socket()
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CONGESTION.encode())
    sock.settimeout(10.0)
    sock.connect((peer, port))
    sock.send(toward[:1].encode())
    sock.setblocking(False)
    return sock


def _move(socks: list[socket.socket], sending: bool) -> None:
    readable, writable, _ = select.select(
        [] if sending else socks, socks if sending else [], [], _SLICE_S
    )
    for sock in readable:
        with contextlib.suppress(OSError):
            sock.recv(1 << 18)
    for sock in writable:
        with contextlib.suppress(OSError):
            sock.send(_BLOCK)


def _sink(port: int) -> None:
    """The far end of other traffic: takes what comes, or sends, as each connection asks."""
    listener = socket.create_server(("", port))
    listener.setblocking(False)
    takes: list[socket.socket] = []
    gives: list[socket.socket] = []
    while True:
        watched = {0: None, listener.fileno(): None, **{sock.fileno(): sock for sock in takes}}
        ready, writable, _ = select.select(list(watched), gives, [])
        if 0 in ready and not os.read(0, 4096):
            return
        if listener.fileno() in ready:
            sock, _ = listener.accept()
            sock.settimeout(5.0)
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _CONGESTION.encode())
                (takes if sock.recv(1) == b"t" else gives).append(sock)
            sock.setblocking(False)
        for sock in [each for fd in ready if (each := watched[fd]) is not None]:
            _keep_or_close(sock, takes, lambda sock: bool(sock.recv(1 << 18)))
        for sock in writable:
            _keep_or_close(sock, gives, lambda sock: bool(sock.send(_BLOCK)))


def _keep_or_close(
    sock: socket.socket, socks: list[socket.socket], move: Callable[[socket.socket], bool]
) -> None:
    try:
        if move(sock):
            return
    except BlockingIOError:
        return
    except OSError:
        pass
    socks.remove(sock)
    sock.close()


def main(arguments: list[str]) -> int:
    """Run one helper until stdin ends."""
    prctl.load()
    prctl.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kind, *rest = arguments
    if kind == "sink":
        _sink(int(rest[0]))
        return 0
    cue = _Cue(float(rest[-2]), float(rest[-1]))
    if kind == "hog":
        _hog(cue)
    elif kind == "pause":
        _pause(cue, float(rest[0]), float(rest[1]))
    else:
        _crowd(cue, rest[0], int(rest[1]), rest[2], int(rest[3]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
