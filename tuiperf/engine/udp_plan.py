"""What a UDP stream's worker does, and the kernel's numbers both directions need."""

from __future__ import annotations

from typing import NamedTuple

SOL_UDP = 17  # include/uapi/linux/udp.h, like the next two
UDP_SEGMENT = 103
UDP_GRO = 104

MAX_DATAGRAM_BYTES = 65507
"""The largest UDP payload of IPv4: 65535 less the headers of IP and UDP (RFC 791, RFC 768)."""


class Plan(NamedTuple):
    """One stream. A limit on bytes is not here: it stands in the counters, for all."""

    sends: bool
    block_bytes: int
    rate_bps: int = 0  # 0: as fast as it goes
    burst_blocks: int = 0
    counters_64bit: bool = False
    repeating_payload: bool = False
    offload: bool = True  # let the kernel cut and join datagrams; the wire is the same
