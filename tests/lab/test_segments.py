"""Cutting super-packets: every piece is a packet that a host would accept."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.packets import packet
from tuiperf.lab import segments
from tuiperf.lab.segments import VNET_BYTES, folded

KINDS = [(4, 6), (6, 6), (4, 17), (6, 17)]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    shape = segments.shape(data)
    edges = [0, *sorted({cut % shape.segments for cut in cuts} - {0}), shape.segments]
    return [segments.cut(data, shape, a, b - a) for a, b in pairwise(edges)]


def single(data: bytes) -> list[bytes]:
    shape = segments.shape(data)
    return [segments.cut(data, shape, place, 1) for place in range(shape.segments)]


def assert_valid(piece: bytes, protocol: int) -> None:
    """The IP header's checksum, the lengths and the finished transport checksum are right."""
    whole = segments.with_checksum(piece)[VNET_BYTES:]
    if whole[0] >> 4 == 4:
        assert folded(whole[:20]) == 0xFFFF
        assert struct.unpack_from("!H", whole, 2)[0] == len(whole)
        addresses, body = whole[12:20], whole[20:]
    else:
        assert struct.unpack_from("!H", whole, 4)[0] == len(whole) - 40
        addresses, body = whole[8:40], whole[40:]
    assert folded(addresses + struct.pack("!II", len(body), protocol) + body) == 0xFFFF
    if protocol == 17:
        assert struct.unpack_from("!H", body, 4)[0] == len(body)


@pytest.mark.parametrize(("version", "protocol"), KINDS)
@given(size=st.integers(2, 12_000), segment=st.integers(1, 1448), cuts=st.lists(st.integers(0, 99)))
def test_pieces_carry_the_payload_in_order_with_right_checksums(
    version: int, protocol: int, size: int, segment: int, cuts: list[int]
) -> None:
    segment = max(segment, size // 60)
    payload = bytes(index * 7 % 251 for index in range(size))
    data = packet(payload, segment, version, protocol)
    header = segments.shape(data).header or len(data) - VNET_BYTES - size
    joined = b""
    for piece in pieces(data, cuts):
        for each in single(piece):
            assert_valid(each, protocol)
            joined += each[VNET_BYTES + header :]
    assert joined == payload


@given(size=st.integers(3000, 20_000), place=st.integers(0, 200))
def test_cutting_twice_is_cutting_once(size: int, place: int) -> None:
    data = packet(bytes(size), 1448)
    shape = segments.shape(data)
    place %= shape.segments
    head = segments.cut(data, shape, 0, place + 1)
    again = segments.cut(head, segments.shape(head), place, 1)
    assert again == segments.cut(data, shape, place, 1)


def test_sequence_numbers_ids_and_flags_go_to_the_right_piece() -> None:
    data = packet(bytes(3 * 1000), 1000)
    found = []
    for piece in single(data):
        ident = struct.unpack_from("!H", piece, VNET_BYTES + 4)[0]
        sequence, _, _, flags = struct.unpack_from("!IIBB", piece, VNET_BYTES + 24)
        found.append((ident, sequence, flags))
    assert found == [
        (0xFFF0, 0xFFFFFF00, 0x90),
        (0xFFF1, (0xFFFFFF00 + 1000) & 0xFFFFFFFF, 0x10),
        (0xFFF2, (0xFFFFFF00 + 2000) & 0xFFFFFFFF, 0x19),
    ]


def test_bytes_on_the_wire_count_a_header_for_each_segment() -> None:
    shape = segments.shape(packet(bytes(2500), 1000))
    assert (shape.segments, shape.header) == (3, 52)
    assert shape.bytes_of(0, 3) == 3 * 52 + 2500
    assert shape.bytes_of(2, 1) == 52 + 500
    assert segments.shape(packet(bytes(900), 1000)).bytes_of(0, 1) == 52 + 900


@pytest.mark.parametrize("version", [4, 6])
def test_congestion_is_marked_only_where_a_packet_can_carry_it(version: int) -> None:
    assert segments.marked(packet(bytes(100), 1000, version)) is None
    changed = segments.marked(packet(bytes(100), 1000, version, tos=2))
    assert changed is not None
    first = struct.unpack_from("!H", changed, VNET_BYTES)[0]
    assert (first if version == 4 else first >> 4) & 3 == 3
    assert_valid(changed, 6)


def test_a_router_tells_the_sender_what_fits() -> None:
    error = segments.too_big(packet(bytes(1400), 1448), 1300)
    assert error is not None
    data = error[VNET_BYTES:]
    assert folded(data[:20]) == 0xFFFF
    assert (data[12:16], data[16:20]) == (bytes([198, 18, 0, 2]), bytes([198, 18, 0, 1]))
    assert struct.unpack_from("!BBHHH", data, 20)[::4] == (3, 1300)
    assert folded(data[20:]) == 0xFFFF
    error6 = segments.too_big(packet(bytes(1400), 1448, 6), 1300)
    assert error6 is not None
    body = error6[VNET_BYTES + 40 :]
    assert struct.unpack_from("!BBHI", body)[::3] == (2, 1300)
    pseudo = error6[VNET_BYTES + 8 : VNET_BYTES + 40] + struct.pack("!II", len(body), 58)
    assert folded(pseudo + body) == 0xFFFF


@pytest.mark.parametrize("data", [bytes(10), bytes(11), bytes(40), b"\x01\x01" + bytes(30)])
def test_what_is_no_super_packet_passes_as_one(data: bytes) -> None:
    assert segments.shape(data).segments == 1
    assert segments.too_big(data, 1300) is None
