"""One stream at one end of a test, and the marks that its figures are counted from."""

from __future__ import annotations

import socket
from typing import Optional

from tuiperf.events import UdpFigures

from . import udp_figures, worker


def stream_id(index: int) -> int:
    """iperf3's number of the stream opened as `index`: 1, 3, 4, 5, … (there is no 2)."""
    return 1 if index == 0 else index + 2


class Leg:
    """One stream at this end, with the marks its intervals and totals are counted from."""

    def __init__(self, stream: int, sock: socket.socket, sends: bool, slot: int) -> None:
        self.stream = stream
        self.sock = sock
        self.fd = sock.fileno()
        self.sends = sends
        self.slot = slot
        self.worker: Optional[worker.Worker] = None
        self.gauge: Optional[udp_figures.Gauge] = None  # of a UDP stream
        self.interval_mark = Mark()
        self.omit_mark = Mark()
        self.final = Mark()
        self.told_gone = False
        self.host_cpu_s = 0.0
        self.host_wait_s = 0.0


class Mark:
    """A stream's counters at one moment."""

    def __init__(
        self,
        transferred_bytes: int = 0,
        retransmits: Optional[int] = None,
        udp: Optional[udp_figures.Reading] = None,
    ) -> None:
        self.bytes = transferred_bytes
        self.retransmits = retransmits
        self.udp = udp

    def retransmits_since(self, earlier: Mark) -> Optional[int]:
        if self.retransmits is None:
            return None
        return max(0, self.retransmits - (earlier.retransmits or 0))

    def udp_since(self, earlier: Mark) -> Optional[UdpFigures]:
        return self.udp.since(earlier.udp) if self.udp else None

    def differs_from(self, earlier: Mark) -> bool:
        return self.bytes != earlier.bytes or bool(self.retransmits_since(earlier))
