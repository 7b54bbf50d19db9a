"""Packets as a TUN device with offloads hands them over, made for tests."""

from __future__ import annotations

import struct

from tuiperf.lab.segments import GSO_NONE, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, NEEDS_CSUM, folded

SOURCE, TARGET = bytes([198, 18, 0, 1]), bytes([198, 18, 0, 2])
SOURCE6, TARGET6 = bytes.fromhex("2001" + "0" * 27 + "1"), bytes.fromhex("2001" + "0" * 27 + "2")
TCP_HEADER, UDP_HEADER = 32, 8


def packet(
    payload: bytes, segment: int, version: int = 4, protocol: int = 6, tos: int = 0
) -> bytes:
    """A packet of this payload, in segments of this size when it is longer than one."""
    transport = TCP_HEADER if protocol == 6 else UDP_HEADER
    length = transport + len(payload)
    head, start = _ip(version, protocol, length, tos)
    addresses = SOURCE + TARGET if version == 4 else SOURCE6 + TARGET6
    pseudo = folded(addresses + struct.pack("!II", length, protocol))
    if protocol == 6:
        options = b"\x01\x01\x08\x0a" + bytes(8)
        flags = 0x80 << 0 | 0x19  # CWR, PSH, ACK, FIN
        body = struct.pack("!HHIIBBHHH", 5201, 40000, 0xFFFFFF00, 7, 0x80, flags, 500, pseudo, 0)
        body += options
        offset, gso = 16, GSO_TCPV4 if version == 4 else GSO_TCPV6
    else:
        body = struct.pack("!HHHH", 5201, 40000, length, pseudo)
        offset, gso = 6, GSO_UDP_L4
    many = len(payload) > segment
    header = start + transport if many else 0
    vnet = struct.pack(
        "=BBHHHH",
        NEEDS_CSUM,
        gso if many else GSO_NONE,
        header,
        segment if many else 0,
        start,
        offset,
    )
    return vnet + head + body + payload


def _ip(version: int, protocol: int, length: int, tos: int) -> tuple[bytes, int]:
    if version == 6:
        first = 6 << 28 | tos << 20
        return struct.pack("!IHBB", first, length, protocol, 64) + SOURCE6 + TARGET6, 40
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + length, 0xFFF0, 0x4000, 64, protocol, 0)
    head += SOURCE + TARGET
    check = ~folded(head) & 0xFFFF
    return head[:10] + struct.pack("!H", check) + head[12:], 20
