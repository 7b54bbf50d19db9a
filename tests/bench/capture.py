"""What arrives at a device, and in which bursts: `python -m tests.bench.capture DEVICE SECONDS`.

The kernel stamps every frame into a ring shared with it (packet_mmap, TPACKET_V2), which is read
when all is over: so looking does not disturb what is looked at. Prints one JSON object. Needs root.
"""

from __future__ import annotations

import json
import mmap
import socket
import struct
import sys
import time
from typing import NamedTuple

_ETH_P_ALL, _SOL_PACKET = 0x0003, 263
_PACKET_RX_RING, _PACKET_VERSION, _TPACKET_V2 = 5, 10, 1
_TP_STATUS_USER, _PACKET_OUTGOING = 1, 4
_HEADER = struct.Struct("=IIIHHIIHH4x")  # struct tpacket2_hdr of linux/if_packet.h
_SLL_TYPE_AT = (
    32 + 10
)  # sockaddr_ll follows the header, aligned to 16; sll_pkttype is its 11th byte
_FRAME_BYTES = 128
_BLOCK_BYTES = 1 << 20
_BLOCKS = 128
WINDOW_S = 100e-6


class Frame(NamedTuple):
    at_s: float
    length: int


class Ring:
    """Frames of one device from now on, up to a million of them."""

    def __init__(self, device: str) -> None:
        self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        self._sock.setsockopt(_SOL_PACKET, _PACKET_VERSION, struct.pack("=i", _TPACKET_V2))
        frames = _BLOCKS * _BLOCK_BYTES // _FRAME_BYTES
        shape = struct.pack("=4I", _BLOCK_BYTES, _BLOCKS, _FRAME_BYTES, frames)
        self._sock.setsockopt(_SOL_PACKET, _PACKET_RX_RING, shape)
        self._memory = mmap.mmap(self._sock.fileno(), _BLOCKS * _BLOCK_BYTES)
        self._sock.bind((device, 0))

    def incoming(self) -> list[Frame]:
        """All that has come in, in order."""
        found = []
        for at in range(0, _BLOCKS * _BLOCK_BYTES, _FRAME_BYTES):
            status, length, _, _, _, seconds, ns, _, _ = _HEADER.unpack_from(self._memory, at)
            if not status & _TP_STATUS_USER:
                break
            if self._memory[at + _SLL_TYPE_AT] != _PACKET_OUTGOING:
                found.append(Frame(seconds + ns / 1e9, length))
        return found


def largest_burst_bytes(frames: list[Frame], window_s: float = WINDOW_S) -> int:
    """The most bytes in any window of that length."""
    most = held = first = 0
    for frame in frames:
        held += frame.length
        while frames[first].at_s < frame.at_s - window_s:
            held -= frames[first].length
            first += 1
        most = max(most, held)
    return most


def main() -> int:
    device, seconds = sys.argv[1], float(sys.argv[2])
    ring = Ring(device)
    print("ready", flush=True)
    time.sleep(seconds)
    frames = [frame for frame in ring.incoming() if frame.length > 60 or frame.length == 58]
    burst = largest_burst_bytes(frames)
    print(json.dumps({"frames": len(frames), "burst_bytes": burst}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
