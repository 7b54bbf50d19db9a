"""Packets as a TUN device with offloads hands them over: a virtio header, then one packet or many.

With segmentation offload up to 64 KB of TCP or UDP payload come as one super-packet, whose header
stands for all its segments. `cut` takes some of them out as a packet of its own.

Layouts: struct virtio_net_hdr of include/uapi/linux/virtio_net.h in the machine's byte order;
IPv4 RFC 791, IPv6 RFC 8200, TCP RFC 9293, UDP RFC 768, ICMP RFC 792 and RFC 4443. The kernel leaves
checksums "partial": the field holds the sum of the pseudo-header, and the rest is added last.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VNET_BYTES = 10
NEEDS_CSUM = 1
GSO_NONE, GSO_TCPV4, GSO_UDP_L4, GSO_TCPV6, GSO_ECN = 0, 1, 5, 4, 0x80

_VNET = struct.Struct("=BBHHHH")
_NO_OFFLOAD = b"\0" * VNET_BYTES
_TCP_FIN_PSH, _TCP_CWR = 0x09, 0x80
_IPV4_DONT_FRAGMENT = 0x40
_UDP_HEADER_BYTES = 8
_QUOTED_BYTES = 548  # of the packet that an ICMP error quotes: 576 with the headers, RFC 1812


class Shape(NamedTuple):
    """How a packet falls into segments, each with `header` bytes and up to `payload` bytes."""

    segments: int
    header: int  # IP and transport header
    payload: int  # of every segment but the last
    total: int  # bytes of the packet as it came, one header for all

    def bytes_of(self, first: int, count: int) -> int:
        """IP bytes of so many segments from `first` on, once each has its own header."""
        if self.segments == 1:
            return self.total
        after = min((first + count) * self.payload, self.total - self.header)
        return count * self.header + after - first * self.payload


def shape(packet: bytes) -> Shape:
    """The shape of a packet with its virtio header."""
    total = len(packet) - VNET_BYTES
    flags, gso_type, _, payload, start, _ = _VNET.unpack_from(packet)
    if gso_type & ~GSO_ECN == GSO_NONE or not payload or not flags & NEEDS_CSUM:
        return Shape(1, 0, total, total)
    at = VNET_BYTES + start
    if gso_type == GSO_UDP_L4:
        header = start + _UDP_HEADER_BYTES
    elif len(packet) > at + 12:
        header = start + (packet[at + 12] >> 4) * 4
    else:
        return Shape(1, 0, total, total)
    count = -((header - total) // payload)
    return Shape(count, header, payload, total) if count > 1 else Shape(1, 0, total, total)


def cut(packet: bytes, whole: Shape, first: int, count: int) -> bytes:
    """Segments `first` to `first + count - 1` as a packet of their own."""
    if count == whole.segments:
        return packet
    begin = whole.header + first * whole.payload
    end = min(begin + count * whole.payload, whole.total)
    head = bytearray(packet[: VNET_BYTES + whole.header])
    flags, gso_type, _, payload, start, offset = _VNET.unpack_from(head)
    udp = gso_type == GSO_UDP_L4
    if count == 1:
        gso_type = payload = GSO_NONE
    _VNET.pack_into(head, 0, flags, gso_type, whole.header, payload, start, offset)
    ip, transport = VNET_BYTES, VNET_BYTES + start
    length = whole.header - start + end - begin
    _set_ip_length(head, ip, start + length, first)
    if udp:
        struct.pack_into("!H", head, transport + 4, length)
    else:
        _set_tcp(head, transport, first * whole.payload, first == 0, end == whole.total)
    pseudo = _pseudo_sum(head, ip, length, 17 if udp else 6)
    struct.pack_into("!H", head, transport + offset, pseudo)
    return bytes(head) + packet[VNET_BYTES + begin : VNET_BYTES + end]


def _set_ip_length(head: bytearray, ip: int, length: int, step: int) -> None:
    if head[ip] >> 4 == 4:
        ident = struct.unpack_from("!H", head, ip + 4)[0]
        struct.pack_into("!HH", head, ip + 2, length, (ident + step) & 0xFFFF)
        _renew_ipv4_checksum(head, ip)
    else:
        struct.pack_into("!H", head, ip + 4, length - 40)


def _renew_ipv4_checksum(head: bytearray, ip: int) -> None:
    size = (head[ip] & 15) * 4
    head[ip + 10 : ip + 12] = b"\0\0"
    struct.pack_into("!H", head, ip + 10, ~folded(head[ip : ip + size]) & 0xFFFF)


def _set_tcp(head: bytearray, tcp: int, step: int, begins: bool, ends: bool) -> None:
    sequence = struct.unpack_from("!I", head, tcp + 4)[0]
    struct.pack_into("!I", head, tcp + 4, (sequence + step) & 0xFFFFFFFF)
    if not ends:
        head[tcp + 13] &= ~_TCP_FIN_PSH & 0xFF
    if not begins:
        head[tcp + 13] &= ~_TCP_CWR & 0xFF


def _pseudo_sum(head: bytes | bytearray, ip: int, length: int, protocol: int) -> int:
    addresses = head[ip + 12 : ip + 20] if head[ip] >> 4 == 4 else head[ip + 8 : ip + 40]
    return folded(bytes(addresses) + struct.pack("!II", length, protocol))


def folded(data: bytes | bytearray) -> int:
    """The one's complement sum of 16-bit words, RFC 1071, not inverted."""
    padded = bytes(data) + b"\0" * (len(data) & 1)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def marked(packet: bytes) -> bytes | None:
    """The packet with "congestion experienced", RFC 3168; None when it cannot carry that."""
    at = VNET_BYTES
    version = packet[at] >> 4
    codepoint = packet[at + 1] & 3 if version == 4 else packet[at + 1] >> 4 & 3
    if codepoint == 0:
        return None
    changed = bytearray(packet)
    if version == 4:
        changed[at + 1] |= 3
        _renew_ipv4_checksum(changed, at)
    else:
        changed[at + 1] |= 0x30
    return bytes(changed)


def too_big(packet: bytes, mtu_bytes: int) -> bytes | None:
    """The ICMP error that a router sends for a packet larger than the next link's MTU.

    None for ICMP errors themselves and for what is no IP. The router speaks with the address that
    the packet was sent to.
    """
    data = packet[VNET_BYTES:]
    if len(data) >= 20 and data[0] >> 4 == 4:
        return _too_big_ipv4(data, mtu_bytes)
    if len(data) >= 40 and data[0] >> 4 == 6:
        return _too_big_ipv6(data, mtu_bytes)
    return None


def _too_big_ipv4(data: bytes, mtu_bytes: int) -> bytes | None:
    if not data[6] & _IPV4_DONT_FRAGMENT or (data[9] == 1 and data[20:21] not in (b"\0", b"\x08")):
        return None
    body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu_bytes) + data[:_QUOTED_BYTES]
    body = body[:2] + struct.pack("!H", ~folded(body) & 0xFFFF) + body[4:]
    head = bytearray(struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0))
    head += data[16:20] + data[12:16]
    _renew_ipv4_checksum(head, 0)
    return _NO_OFFLOAD + bytes(head) + body


def _too_big_ipv6(data: bytes, mtu_bytes: int) -> bytes | None:
    if data[6] == 58 and data[40:41] < b"\x80":
        return None
    body = struct.pack("!BBHI", 2, 0, 0, mtu_bytes) + data[:_QUOTED_BYTES]
    addresses = data[24:40] + data[8:24]
    check = folded(addresses + struct.pack("!II", len(body), 58) + body)
    body = body[:2] + struct.pack("!H", ~check & 0xFFFF) + body[4:]
    return _NO_OFFLOAD + struct.pack("!IHBB", 6 << 28, len(body), 58, 64) + addresses + body


def with_checksum(packet: bytes) -> bytes:
    """A single packet with its transport checksum made whole, as a network card would send it."""
    flags, _, _, _, start, offset = _VNET.unpack_from(packet)
    if not flags & NEEDS_CSUM:
        return packet
    at = VNET_BYTES + start
    check = ~folded(packet[at:]) & 0xFFFF
    done = bytearray(packet)
    struct.pack_into("!H", done, at + offset, check)
    _VNET.pack_into(done, 0, 0, GSO_NONE, 0, 0, 0, 0)
    return bytes(done)
