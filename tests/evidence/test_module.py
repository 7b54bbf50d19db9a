"""Modules' memories, built after their standards: SFF-8472, SFF-8636, CMIS."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.evidence import module
from tuiperf.evidence.module import Limits, Module, Reading, decode, wanted


def put(page: bytearray, at: int, *words: int) -> None:
    struct.pack_into(f">{len(words)}H", page, at, *words)


def text(page: bytearray, at: int, words: str) -> None:
    page[at : at + 16] = words.ljust(16).encode()


def by_name(found: Module | None) -> dict[tuple[str, int], Reading]:
    assert found is not None
    return {(each.name, each.lane): each for each in found.readings}


def sfp(received: int = 5000, calibration: int = 0x20) -> module.Pages:
    low, diagnostics = bytearray(128), bytearray(128)
    low[0] = 0x03
    low[92] = 0x40 | calibration
    text(low, 20, "FINISAR CORP.")
    text(low, 40, "FTLX8571D3BCL")
    put(diagnostics, 0, 78 << 8, 0xF300, 73 << 8, 0xF800)  # °C: 78, -13, 73, -8
    put(diagnostics, 8, 37000, 29000, 36000, 30000)
    put(diagnostics, 16, 5900, 1000, 5000, 2000)
    put(diagnostics, 24, 10000, 1585, 7943, 2512)
    put(diagnostics, 32, 10000, 100, 7943, 158)  # 0, -20, -1, -18 dBm
    put(diagnostics, 96, 0x2080, 33000, 3500, 5600, received)
    return {(0x50, 0, 0): bytes(low), (0x51, 0, 0): bytes(diagnostics)}


def test_sff_8472() -> None:
    found = decode(sfp())
    assert found is not None
    assert (found.kind, found.vendor, found.part) == ("SFP", "FINISAR CORP.", "FTLX8571D3BCL")
    readings = by_name(found)
    assert readings["temperature", 0].value == 32.5
    assert readings["temperature", 0].limits == Limits(-13.0, -8.0, 73.0, 78.0)
    assert readings["voltage", 0].value == 3.3
    assert readings["laser bias", 1].value == 7.0
    assert readings["sent power", 1].value == pytest.approx(-2.52, abs=0.01)
    assert readings["received power", 1].value == pytest.approx(-3.01, abs=0.01)
    assert {each.state for each in found.readings} == {"ok"}


@pytest.mark.parametrize(
    ("tenths_of_microwatts", "state", "dbm"),
    [(0, "low alarm", -40.0), (120, "low warning", -19.21), (9000, "high warning", -0.46)],
)
def test_received_power_against_its_own_thresholds(
    tenths_of_microwatts: int, state: str, dbm: float
) -> None:
    reading = by_name(decode(sfp(tenths_of_microwatts)))["received power", 1]
    assert reading.state == state
    assert reading.value == pytest.approx(dbm, abs=0.01)


def test_calibration_by_constants_outside_of_the_module() -> None:
    pages = sfp(received=2000, calibration=0x10)
    page = bytearray(pages[0x51, 0, 0])
    struct.pack_into(">5f", page, 56, 0.0, 0.0, 0.0, 2.0, 1000.0)  # twice the raw, plus 100 µW
    for at in (76, 80, 84, 88):
        put(page, at, 0x0100, 0)  # slope 1, offset 0
    put(page, 86, 0x0200)  # temperature: 2 °C more
    pages[0x51, 0, 0] = bytes(page)
    readings = by_name(decode(pages))
    assert readings["received power", 1].value == pytest.approx(module.dbm(500), abs=0.01)
    assert readings["temperature", 0].value == 34.5
    assert readings["sent power", 1].value == pytest.approx(-2.52, abs=0.01)


def test_copper_measures_nothing() -> None:
    low = bytearray(128)
    low[0] = 0x03
    text(low, 20, "CABLES INC")
    assert wanted(bytes(low)) == ()
    assert decode({(0x50, 0, 0): bytes(low)}) == Module("SFP", "CABLES INC")


def test_sff_8636() -> None:
    low, high, limits = bytearray(128), bytearray(128), bytearray(128)
    low[0] = 0x11
    put(low, 22, 0x1E00, 0, 33100)
    put(low, 34, 6000, 6100, 40, 6300)
    put(low, 42, 3500, 3500, 3500, 3500)
    put(low, 50, 7000, 7000, 7000, 7000)
    text(high, 20, "Mellanox")
    text(high, 40, "MMA1B00-C100D")
    put(limits, 48, 17378, 646, 10965, 1023)
    pages = {(0x50, 0, 0): bytes(low), (0x50, 0, 128): bytes(high), (0x50, 3, 128): bytes(limits)}
    assert wanted(bytes(low)) == ((0x50, 0, 128), (0x50, 3, 128))
    found = decode(pages)
    assert found is not None
    assert (found.kind, found.vendor, found.part) == ("QSFP28", "Mellanox", "MMA1B00-C100D")
    readings = by_name(found)
    assert readings["temperature", 0].value == 30.0
    assert readings["voltage", 0].value == 3.31
    assert [readings["received power", lane].state for lane in (1, 2, 3, 4)] == [
        "ok",
        "ok",
        "low alarm",
        "ok",
    ]
    assert readings["sent power", 1].state == ""  # no thresholds given


def test_cmis_counts_the_lanes_that_are_in_use() -> None:
    low, high, limits, lanes = (bytearray(128) for _ in range(4))
    low[0] = 0x18
    put(low, 14, 0x2A00, 33000)
    text(high, 1, "INNOLIGHT")
    text(high, 20, "T-DP4CNH-N00")
    put(limits, 64, 31623, 1000, 25119, 2000)
    lanes[0] = 0x44
    put(lanes, 58, 12000, 900, 5, 5)
    pages = {
        (0x50, 0, 0): bytes(low),
        (0x50, 0, 128): bytes(high),
        (0x50, 2, 128): bytes(limits),
        (0x50, 0x11, 128): bytes(lanes),
    }
    found = decode(pages)
    assert found is not None
    assert (found.kind, found.vendor) == ("QSFP-DD", "INNOLIGHT")
    readings = by_name(found)
    assert {lane for name, lane in readings if name == "received power"} == {1, 2}
    assert readings["received power", 1].state == "ok"
    assert readings["received power", 2].state == "low alarm"


def test_a_memory_without_pages() -> None:
    low = bytearray(128)
    low[0], low[2] = 0x18, 0x80
    assert wanted(bytes(low)) == ((0x50, 0, 128),)
    assert decode({(0x50, 0, 0): bytes(128)}) is None
    assert decode({}) is None
    assert decode({(0x50, 0, 0): b"\x77" + bytes(127)}) == Module("module type 0x77")


@given(
    st.dictionaries(
        st.sampled_from(
            [*sfp(), (0x50, 0, 128), (0x50, 3, 128), (0x50, 2, 128), (0x50, 0x11, 128)]
        ),
        st.binary(max_size=128),
    )
)
def test_random_memories_never_raise(pages: module.Pages) -> None:
    found = decode(pages)
    for reading in found.readings if found else ():
        assert reading.value == reading.value
        assert reading.state in ("", "ok", "low alarm", "low warning", "high warning", "high alarm")
    wanted(pages.get((0x50, 0, 0), b""))
