"""Sending at a given rate: a token bucket in user space is the authority, the kernel smooths.

The bucket compares what was sent with what the time since the start allows, as iperf3 does, but in
pieces of 1 ms instead of whole blocks, so that the traffic is even. TCP's own pacing
(SO_MAX_PACING_RATE), set a little above the rate, spreads each piece and what is caught up after a
pause. It cannot be the authority: what lies in the socket buffer would count as sent.
"""

from __future__ import annotations

import contextlib
import socket

from . import sockets
from .errors import EngineError

KERNEL_MARGIN = 1.05
"""The kernel's limit above the rate asked for: room to catch up after a pause."""

_PIECE_S = 0.001
_LONGEST_PIECE_S = 0.1  # a very slow stream sends something at least this often
_SHORTEST_PIECE_S = 0.0001
_FULL_SEGMENT_BYTES = 1448  # one Ethernet segment with TCP timestamps
_USUAL_WRITE_BYTES = 131072
_LONGEST_SLEEP_S = 0.05  # between two looks at the phase of the test


def piece_bytes(rate_bps: int, block_bytes: int, burst_blocks: int = 0) -> int:
    """How much to send at a time. `burst_blocks` is iperf3's -b RATE/BURST: so many blocks."""
    if burst_blocks:
        return burst_blocks * block_bytes
    rate = rate_bps / 8
    least = min(_FULL_SEGMENT_BYTES, rate * _LONGEST_PIECE_S)
    most = max(_USUAL_WRITE_BYTES, rate * _SHORTEST_PIECE_S)
    return max(1, int(min(max(rate * _PIECE_S, least), most)))


class Bucket:
    """Tells how long to wait until the next piece is due. Times are seconds of one clock."""

    def __init__(self, rate_bps: int, piece: int, start_s: float, burst: bool = False) -> None:
        self._rate = rate_bps / 8
        self._start_s = start_s
        # A piece falls due when half of it is, so that the average is right whenever it is taken;
        # a burst is due at once, as with iperf3.
        self._lead = 0.0 if burst else piece / 2

    def wait_s(self, sent_bytes: int, now_s: float) -> float:
        """Seconds to sleep before more is sent, 0 or less when it is due. Never long."""
        due_s = self._start_s + (sent_bytes + self._lead) / self._rate
        return min(due_s - now_s, _LONGEST_SLEEP_S)


def limit_socket(sock: socket.socket, rate_bps: int) -> None:
    """Set the kernel's pacing a little above the rate, unless the socket has a lower limit already.

    Where the system has no such thing, the bucket alone must do.
    """
    wanted = int(rate_bps * KERNEL_MARGIN)
    present = sockets.max_pacing_bps(sock)
    if present is None or wanted < present:
        with contextlib.suppress(EngineError):
            sockets.set_max_pacing_rate(sock, wanted)
