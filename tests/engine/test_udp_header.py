"""The bytes at the head of a datagram."""

from __future__ import annotations

import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.engine.udp_header import Heads, Ramps, WallClock, layout

NOW_NS = 1_700_000_001_234_567_890


def test_a_head_of_32_bits() -> None:
    buffer = bytearray(b"\xee" * 48)
    Heads(buffer, 2, 24, layout(False)).fill(0x01020304, 2, NOW_NS)
    assert buffer[:12].hex() == "6553f101" + "00039447" + "01020304"
    assert buffer[24:36].hex() == "6553f1010003944701020305"
    assert buffer[12:24] == buffer[36:] == b"\xee" * 12


def test_a_head_of_64_bits() -> None:
    buffer = bytearray(b"\xee" * 48)
    Heads(buffer, 2, 24, layout(True)).fill(2**32 + 1, 2, NOW_NS)
    assert buffer[:16].hex() == "6553f10100039447" + "0000000100000001"
    assert buffer[24:40].hex() == "6553f10100039447" + "0000000100000002"
    assert buffer[16:24] == buffer[40:] == b"\xee" * 8


@given(
    st.booleans(),
    st.integers(1, 70),
    st.integers(2, 40),
    st.integers(1, 2**33),
    st.integers(0, 2**63),
)
def test_every_head_of_a_batch(
    counters_64bit: bool, count: int, words: int, first: int, now_ns: int
) -> None:
    stride = 8 * words
    buffer = bytearray(stride * count)
    head = layout(counters_64bit)
    Heads(buffer, count, stride, head).fill(first, count, now_ns)
    expected = struct.Struct(">IIQ" if counters_64bit else ">III")
    seconds, us = now_ns // 10**9 % 2**32, now_ns % 10**9 // 1000
    for index in range(count):
        found = expected.unpack_from(buffer, index * stride)
        assert found == (seconds, us, (first + index) % 2**head.bits)


@pytest.mark.parametrize("wide", [False, True])
def test_a_shorter_batch_leaves_the_rest_alone(wide: bool) -> None:
    buffer = bytearray(16 * 5)
    Heads(buffer, 5, 16, layout(wide)).fill(1, 3, NOW_NS)
    assert any(buffer[32:48])
    assert not any(buffer[48:])


def test_a_run_that_wraps_around() -> None:
    run = Ramps(layout(False)).run(2**32 - 1, 3)
    assert run.hex() == "ffffffff" + "00000000" + "00000001"


def test_the_clock_shows_the_time_of_day_and_never_goes_back() -> None:
    clock = WallClock()
    times = [clock.now_ns() for _ in range(1000)]
    assert times == sorted(times)
    assert abs(times[0] - time.time_ns()) < 5 * 10**9
