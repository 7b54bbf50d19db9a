"""What the kernel knows about a TCP connection: struct tcp_info, of any kernel's length.

Layout: include/uapi/linux/tcp.h. The struct has only ever grown at its end, so a field is there
when the answer is long enough to hold it. One exception: what lies at offset 276 and after changed
its meaning between kernels of the same length (6.18 to 7.0), so it is not decoded.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from functools import lru_cache
from typing import NamedTuple

_ASKED_BYTES = 512
_UNSET_32 = 0xFFFFFFFF
_UNSET_64 = 0xFFFFFFFFFFFFFFFF
_NO_SSTHRESH = 0x7FFFFFFF  # TCP_INFINITE_SSTHRESH, include/net/tcp.h


class Field(NamedTuple):
    """One field: its name with its unit, where it lies, and how it is read.

    `format` is a struct format for one number. `first_bit` and `bits` name a part of a byte,
    counted as C declares bit fields, or from the lowest bit where the header gives a `mask`
    instead; 0 bits means the whole number. Values of `unset` and above mean "not known".
    """

    name: str
    offset: int
    format: str
    first_bit: int = 0
    bits: int = 0
    mask: bool = False
    unset: int = 0

    @property
    def end(self) -> int:
        """The number of bytes an answer must have to hold this field."""
        return self.offset + struct.calcsize("=" + self.format)


FIELDS: tuple[Field, ...] = (
    Field("state", 0, "B"),
    Field("ca_state", 1, "B"),
    Field("retransmits", 2, "B"),  # timeouts in a row for the oldest segment
    Field("probes", 3, "B"),
    Field("backoff", 4, "B"),
    Field("options", 5, "B"),
    Field("snd_wscale", 6, "B", 0, 4),
    Field("rcv_wscale", 6, "B", 4, 4),
    Field("delivery_rate_app_limited", 7, "B", 0, 1),
    Field("fastopen_client_fail", 7, "B", 1, 2),
    Field("rto_us", 8, "I"),
    Field("ato_us", 12, "I"),
    Field("snd_mss_bytes", 16, "I"),
    Field("rcv_mss_bytes", 20, "I"),
    Field("unacked_packets", 24, "I"),
    Field("sacked_packets", 28, "I"),
    Field("lost_packets", 32, "I"),
    Field("retrans_packets", 36, "I"),  # retransmitted and still in flight
    Field("fackets_packets", 40, "I"),
    Field("last_data_sent_ms", 44, "I"),
    Field("last_ack_sent_ms", 48, "I"),
    Field("last_data_recv_ms", 52, "I"),
    Field("last_ack_recv_ms", 56, "I"),
    Field("pmtu_bytes", 60, "I"),
    Field("rcv_ssthresh_bytes", 64, "I"),
    Field("rtt_us", 68, "I"),
    Field("rttvar_us", 72, "I"),
    Field("snd_ssthresh_packets", 76, "I", unset=_NO_SSTHRESH),
    Field("snd_cwnd_packets", 80, "I"),
    Field("advmss_bytes", 84, "I"),
    Field("reordering_packets", 88, "I"),
    Field("rcv_rtt_us", 92, "I"),
    Field("rcv_space_bytes", 96, "I"),
    Field("total_retrans_packets", 100, "I"),
    Field("pacing_rate_bytes_per_s", 104, "Q", unset=_UNSET_64),
    Field("max_pacing_rate_bytes_per_s", 112, "Q", unset=_UNSET_64),
    Field("bytes_acked_bytes", 120, "Q"),
    Field("bytes_received_bytes", 128, "Q"),
    Field("segs_out_packets", 136, "I"),
    Field("segs_in_packets", 140, "I"),
    Field("notsent_bytes", 144, "I"),
    Field("min_rtt_us", 148, "I", unset=_UNSET_32),
    Field("data_segs_in_packets", 152, "I"),
    Field("data_segs_out_packets", 156, "I"),
    Field("delivery_rate_bytes_per_s", 160, "Q"),
    Field("busy_time_us", 168, "Q"),
    Field("rwnd_limited_us", 176, "Q"),
    Field("sndbuf_limited_us", 184, "Q"),
    Field("delivered_packets", 192, "I"),
    Field("delivered_ce_packets", 196, "I"),
    Field("bytes_sent_bytes", 200, "Q"),
    Field("bytes_retrans_bytes", 208, "Q"),
    Field("dsack_dups_packets", 216, "I"),
    Field("reord_seen_events", 220, "I"),
    Field("rcv_ooopack_packets", 224, "I"),
    Field("snd_wnd_bytes", 228, "I"),
    Field("rcv_wnd_bytes", 232, "I"),
    Field("rehash_events", 236, "I"),
    Field("total_rto_events", 240, "H"),
    Field("total_rto_recoveries_events", 242, "H"),
    Field("total_rto_time_ms", 244, "I"),
    Field("received_ce_packets", 248, "I"),
    Field("delivered_e1_bytes", 252, "I"),
    Field("delivered_e0_bytes", 256, "I"),
    Field("delivered_ce_bytes", 260, "I"),
    Field("received_e1_bytes", 264, "I"),
    Field("received_e0_bytes", 268, "I"),
    Field("received_ce_bytes", 272, "I"),
    # TCPI_OPT_*: what the two ends agreed on in their handshake
    Field("timestamps", 5, "B", 0, 1, mask=True),
    Field("sack", 5, "B", 1, 1, mask=True),
    Field("wscale", 5, "B", 2, 1, mask=True),
    Field("ecn", 5, "B", 3, 1, mask=True),
    Field("ecn_seen", 5, "B", 4, 1, mask=True),
    Field("syn_data", 5, "B", 5, 1, mask=True),
)
"""Every field decoded, all of them unsigned numbers in the byte order of the host."""

FIELDS_END = max(field.end for field in FIELDS)
"""Bytes of the longest answer that is decoded; what follows is ignored."""


class _Layout(NamedTuple):
    """How to read an answer of one length: whole numbers at once, then parts of bytes."""

    whole: tuple[tuple[str, int], ...]  # name, unset
    unpack: struct.Struct
    parts: tuple[tuple[str, int, int, int], ...]  # name, offset, shift, mask
    absent: tuple[str, ...]


@lru_cache(maxsize=16)
def _layout(length: int) -> _Layout:
    whole = []
    parts = []
    absent = []
    pattern = "="
    at = 0
    for field in FIELDS:
        if field.end > length:
            absent.append(field.name)
        elif field.bits:
            parts.append((field.name, field.offset, _shift(field), (1 << field.bits) - 1))
        else:
            pattern += f"{field.offset - at}x{field.format}"
            at = field.end
            whole.append((field.name, field.unset))
    return _Layout(tuple(whole), struct.Struct(pattern), tuple(parts), tuple(absent))


def _shift(field: Field) -> int:
    """C puts its first bit field lowest on little-endian machines and highest on the others."""
    if sys.byteorder == "little" or field.mask:
        return field.first_bit
    return 8 - field.first_bit - field.bits


def decode(data: bytes) -> dict[str, int | None]:
    """Decode an answer of any length. None: this kernel does not tell, or the value is not set."""
    layout = _layout(min(len(data), FIELDS_END))
    decoded: dict[str, int | None] = dict.fromkeys(layout.absent)
    numbers = layout.unpack.unpack_from(data)
    for index, (name, unset) in enumerate(layout.whole):
        number = numbers[index]
        decoded[name] = None if unset and number >= unset else number
    for name, offset, shift, mask in layout.parts:
        decoded[name] = data[offset] >> shift & mask
    return decoded


def read(sock: socket.socket) -> dict[str, int | None] | None:
    """Read the state of a TCP socket; None where the system, or this kind of socket, has none.

    The call takes the socket's lock, so beside a busy worker it may last milliseconds: take the
    time of a sample after it. Raises OSError for a closed socket.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        return decode(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ASKED_BYTES))
    except OSError as error:
        if error.errno in (errno.ENOPROTOOPT, errno.EOPNOTSUPP):
            return None
        raise
