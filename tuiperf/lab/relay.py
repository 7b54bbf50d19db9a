"""`python -m tuiperf.lab.relay NEAR FAR CONTROL`: carries packets between two TUN devices.

The arguments are descriptors: the two devices, and a socket of packets with JSON in them. The first
one holds the path, later ones ask for the counters or give the directions other properties. The
end of that socket means that the parent is gone. Standard library only, and one thread.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

from tuiperf.engine import prctl
from tuiperf.lab import priority
from tuiperf.lab.errors import LabError
from tuiperf.lab.link import Link, Medium
from tuiperf.lab.spec import PathSpec

READS = 32
"""Packets read from a device before the ones that are due get their turn."""

READ_BYTES = 1 << 17
MESSAGE_BYTES = 1 << 17
EARLY_S = 40e-6  # a packet goes out so much before it is due: what waking up takes
LONG_WAIT_S, LONG_WAIT_SHARE = 0.002, 0.95  # select() adds 0.1 % of slack to a long wait
LATE_S = 0.005


class Relay:
    """The loop. `fds` are the near and the far device."""

    def __init__(self, path: PathSpec, fds: tuple[int, int], control: socket.socket) -> None:
        shared = Medium() if path.shared_medium else None
        self._links = (
            Link(path.there, 2 * path.seed, shared),
            Link(path.here, 2 * path.seed + 1, shared),
        )
        self._links[0].other, self._links[1].other = self._links[1], self._links[0]
        self._control = control
        self._ways = tuple(zip(self._links, fds, reversed(fds), strict=True))
        self._by_fd = {fd: link for link, fd, _ in self._ways}
        self._late_s = self._latest_s = 0.0
        self._sent = self._late = 0
        self.realtime = False

    def run(self) -> None:
        """Carry packets until the control socket ends."""
        fds = [*self._by_fd, self._control.fileno()]
        clock, wait = time.monotonic, select.select
        while True:
            now_s = clock()
            for link, _, out in self._ways:
                if link.next_s <= now_s + EARLY_S:
                    self._deliver(link, out)
            next_s = min(link.next_s for link in self._links)
            pause_s = next_s - EARLY_S - clock()
            if pause_s > LONG_WAIT_S:
                pause_s = min(pause_s * LONG_WAIT_SHARE, 1.0)
            ready, _, _ = wait(fds, (), (), pause_s if pause_s > 0 else 0)
            for fd in ready:
                if fd in self._by_fd:
                    self._read(fd, self._by_fd[fd])
                elif not self._answer():
                    return

    def _deliver(self, link: Link, out: int) -> None:
        for _ in range(READS):
            now_s = time.monotonic()
            due_s = link.next_s
            packet = link.take(now_s + EARLY_S)
            if packet is None:
                return
            try:
                os.write(out, packet)
            except OSError:
                link.counters.refused += 1
            late_s = now_s - due_s
            self._sent += 1
            self._late_s += late_s
            self._late += late_s > LATE_S
            self._latest_s = max(self._latest_s, late_s)

    def _read(self, fd: int, link: Link) -> None:
        try:
            for _ in range(READS):
                link.offer(os.read(fd, READ_BYTES), time.monotonic())
        except BlockingIOError:
            pass

    def _answer(self) -> bool:
        data = self._control.recv(MESSAGE_BYTES)
        if not data:
            return False
        asked = json.loads(data)
        with contextlib.suppress(LabError):
            if "path" in asked:
                path = PathSpec.from_json(asked["path"])
                self._links[0].change(path.there)
                self._links[1].change(path.here)
        self._control.send(json.dumps(self.status()).encode())
        return True

    def status(self) -> dict[str, Any]:
        """Counters of both directions, and how late packets were; see `Counters`."""
        mean_s = self._late_s / self._sent if self._sent else 0.0
        return {
            "there": self._links[0].counters.to_json(),
            "here": self._links[1].counters.to_json(),
            "packets": self._sent,
            "late_mean_us": round(mean_s * 1e6, 1),
            "late_max_us": round(self._latest_s * 1e6, 1),
            "late_packets": self._late,
            "realtime": self.realtime,
        }

    def hurry(self) -> None:
        """Take a modest real-time priority where that is allowed, see `priority`."""
        self.realtime = priority.hurry(priority.RELAY, self._slow_down)

    def _slow_down(self) -> None:
        self.realtime = False


def main(arguments: list[str]) -> int:
    """Run a relay; 0 when its parent ended it."""
    near, far, control_fd = map(int, arguments)
    prctl.load()
    prctl.die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    path = PathSpec.from_json(json.loads(control.recv(MESSAGE_BYTES)))
    relay = Relay(path, (near, far), control)
    relay.hurry()
    gc.freeze()
    gc.disable()
    control.send(json.dumps(relay.status()).encode())
    with contextlib.suppress(ConnectionError):
        relay.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
