"""ethtool's answers: recorded ones, ones built after the kernel's headers, broken ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence import recorded
from tests.evidence.recorded import answer
from tuiperf.evidence import ethtool, ethtool_ioctl, link_modes
from tuiperf.evidence.netlink import attribute, generic, nest

_TO_GIGABIT = ("10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full", "1000baseT/Full")

DECODERS: tuple[Callable[[bytes], Any], ...] = (
    ethtool.link_modes_of,
    ethtool.link_info_of,
    ethtool.link_state_of,
    ethtool.pause_of,
    ethtool.eee_of,
    ethtool.fec_of,
    ethtool.rings_of,
    ethtool.channels_of,
    ethtool.coalesce_of,
    ethtool.features_of,
    ethtool.statistics_of,
    ethtool.eeprom_of,
    ethtool_ioctl.settings_of,
    ethtool_ioctl.driver_of,
    ethtool_ioctl.rings_of,
    ethtool_ioctl.pause_of,
)


def u8(type_: int, value: int) -> bytes:
    return attribute(type_, struct.pack("=B", value))


def u32(type_: int, value: int) -> bytes:
    return attribute(type_, struct.pack("=I", value))


def u64(type_: int, value: int) -> bytes:
    return attribute(type_, struct.pack("=Q", value))


def reply(*parts: bytes) -> bytes:
    return generic(1, b"".join(parts))


def named(type_: int, *bits: tuple[int, str, bool], listed: bool = False) -> bytes:
    """A bitset in its long form."""
    each = [
        nest(
            1, u32(1, index), attribute(2, name.encode() + b"\0"), attribute(3, b"") if on else b""
        )
        for index, name, on in bits
    ]
    mark = attribute(1, b"") if listed else b""
    return nest(type_, mark, u32(2, 128), nest(3, *each))


class TestRecorded:
    """What real drivers said."""

    def test_negotiated(self) -> None:
        modes = ethtool.link_modes_of(answer("e1000e up", "linkmodes"))
        assert (modes.autoneg, modes.speed_mbps, modes.duplex) == (True, 1000, "full")
        assert modes.supported == modes.advertised == (*_TO_GIGABIT, "Autoneg", "TP")
        assert modes.partner == ()

    def test_forced_to_half_duplex(self) -> None:
        modes = ethtool.link_modes_of(answer("e1000e forced 100 half", "linkmodes"))
        assert (modes.autoneg, modes.speed_mbps, modes.duplex) == (False, 100, "half")
        assert link_modes.fastest_mbps(modes.supported) == 1000
        assert link_modes.fastest_mbps(modes.advertised) is None

    def test_the_cable_pulled(self) -> None:
        modes = ethtool.link_modes_of(answer("e1000e cable out", "linkmodes"))
        assert (modes.speed_mbps, modes.duplex) == (None, None)
        assert ethtool.link_state_of(answer("e1000e cable out", "linkstate")).up is False

    def test_a_partner_that_tells_its_modes(self) -> None:
        modes = ethtool.link_modes_of(answer("rtl8139 up", "linkmodes"))
        assert modes.partner == (*_TO_GIGABIT[:4], "Pause")

    def test_speed_and_duplex_that_are_not_known(self) -> None:
        modes = ethtool.link_modes_of(answer("virtio-net-pci up", "linkmodes"))
        assert (modes.speed_mbps, modes.duplex) == (None, None)

    @pytest.mark.parametrize("case", [c for c in recorded.CASES if c.endswith((" up", "half"))])
    def test_the_short_form_of_modes_says_the_same(self, case: str) -> None:
        long = ethtool.link_modes_of(answer(case, "linkmodes"))
        short = ethtool.link_modes_of(answer(case, "linkmodes-compact"))
        # the short form also has what is offered without being supported
        assert set(long.advertised) <= set(short.advertised)
        assert (long.supported, long.partner) == (short.supported, short.partner)

    @pytest.mark.parametrize("case", [c for c in recorded.CASES if c.endswith((" up", "half"))])
    def test_the_older_ioctl_says_the_same(self, case: str) -> None:
        short = ethtool.link_modes_of(answer(case, "linkmodes-compact"))
        modes, info = ethtool_ioctl.settings_of(answer(case, "ioctl-settings"))
        assert modes == short
        assert info.port == ethtool.link_info_of(answer(case, "linkinfo")).port

    def test_port_and_crossing(self) -> None:
        info = ethtool.link_info_of(answer("igb up", "linkinfo"))
        assert (info.port, info.mdix, info.transceiver) == ("twisted pair", "MDI", "internal")

    def test_rings_queues_coalescing_pause(self) -> None:
        assert ethtool.rings_of(answer("igb up", "rings")) == ethtool.Rings(256, 4096, 256, 4096)
        assert ethtool.channels_of(answer("igb up", "channels")) == ethtool.Channels(2, 8)
        assert ethtool.coalesce_of(answer("igb up", "coalesce")).rx_us == 3
        assert ethtool.pause_of(answer("igb up", "pause")) == ethtool.Pause(True, True, True)

    def test_offloads_by_name(self) -> None:
        features = ethtool.features_of(answer("e1000e up", "features"))
        assert {"tx-tcp-segmentation", "rx-gro", "rx-checksum"} <= set(features.on)
        assert "rx-fcs" in features.switchable
        assert "rx-fcs" not in features.on
        assert features.known

    def test_drivers(self) -> None:
        driver = ethtool_ioctl.driver_of(answer("e1000e up", "ioctl-drvinfo"))
        assert (driver.name, driver.firmware, driver.bus) == ("e1000e", "2.1-0", "0000:00:05.0")
        assert ethtool_ioctl.driver_of(answer("rtl8139 up", "ioctl-drvinfo")).name == "8139cp"


class TestBuilt:
    """What the headers define and no card at hand says."""

    def test_a_bit_that_is_newer_than_any_table(self) -> None:
        bits = (1 << 150) | (1 << 5)
        bitmap = bits.to_bytes(20, "little")
        ours = nest(3, u32(2, 160), attribute(4, bitmap), attribute(5, bitmap))
        modes = ethtool.link_modes_of(reply(ours, u32(5, 1000), u8(6, 1)))
        assert modes.advertised == ("1000baseT/Full", "bit 150")
        assert link_modes.fastest_mbps(modes.advertised) == 1000

    def test_a_mode_that_only_the_kernel_has_a_name_for(self) -> None:
        ours = named(3, (130, "1600000baseCR8/Full", True), (6, "Autoneg", False))
        modes = ethtool.link_modes_of(reply(ours))
        assert modes.advertised == ("1600000baseCR8/Full",)
        assert modes.supported == ("1600000baseCR8/Full", "Autoneg")
        assert link_modes.fastest_mbps(modes.supported) == 1_600_000

    def test_master_and_slave(self) -> None:
        modes = ethtool.link_modes_of(reply(u8(7, 3), u8(8, 2), u32(9, 4)))
        assert (modes.master_slave, modes.lanes) == ("master", 4)
        assert ethtool.link_modes_of(reply(u8(7, 5))).master_slave == "slave forced"

    def test_why_a_link_is_down(self) -> None:
        state = ethtool.link_state_of(reply(u8(2, 0), u8(5, 4), u32(7, 3)))
        assert (state.up, state.no_cable, state.downs) == (False, True, 3)
        assert state.why_down == "no cable is plugged in"
        training = ethtool.link_state_of(reply(u8(2, 0), u8(5, 1), u8(6, 4)))
        assert training.why_down == "link training failed: the partner reports a fault"

    def test_a_reason_that_is_newer_than_this_program(self) -> None:
        assert ethtool.why_down(77, 1) == "extended state 77"
        assert ethtool.why_down(0, 99) == "autonegotiation failed"

    def test_signal_quality(self) -> None:
        state = ethtool.link_state_of(reply(u8(2, 1), u32(3, 2), u32(4, 7)))
        assert (state.sqi, state.sqi_max) == (2, 7)

    def test_energy_efficient_ethernet(self) -> None:
        peer = named(3, (5, "1000baseT/Full", True), listed=True)
        eee = ethtool.eee_of(reply(peer, u8(4, 1), u8(5, 1)))
        assert eee == ethtool.Eee(True, True, ("1000baseT/Full",))

    def test_error_correction_and_its_counts(self) -> None:
        counts = nest(5, attribute(2, struct.pack("=3Q", 12, 8, 4)), u64(3, 7))
        fec = ethtool.fec_of(reply(named(2, (50, "RS", True)), u8(3, 1), u32(4, 50), counts))
        assert (fec.active, fec.corrected, fec.uncorrectable) == ("RS", 12, 7)
        assert fec.modes == ("RS",)

    def test_pause_frames(self) -> None:
        pause = ethtool.pause_of(reply(u8(3, 1), u8(4, 0), nest(5, u64(2, 5), u64(3, 9))))
        assert (pause.tx_frames, pause.rx_frames, pause.rx) == (5, 9, True)

    def test_standard_counters_and_those_not_counted(self) -> None:
        mac = nest(
            4,
            u32(2, 1),
            u32(3, 18),
            nest(4, u64(4, 17)),
            nest(4, u64(8, 2)),
            nest(4, u64(5, 2**64 - 1)),
        )
        phy = nest(4, u32(2, 0), nest(4, u64(0, 3)))
        unknown = nest(4, u32(2, 9), nest(4, u64(0, 3)))
        assert ethtool.statistics_of(reply(phy, mac, unknown)) == {
            "SymbolErrorDuringCarrier": 3,
            "FrameCheckSequenceErrors": 17,
            "LateCollisions": 2,
        }

    def test_a_half_page_of_a_module(self) -> None:
        assert ethtool.eeprom_of(reply(attribute(7, bytes(range(128))))) == bytes(range(128))

    def test_a_drivers_own_counters(self) -> None:
        names = struct.pack("=III", 0x1B, 1, 2) + b"rx_crc_errors".ljust(32, b"\0")
        names += b"tx_late".ljust(32, b"\0")
        values = struct.pack("=II2Q", 0x1D, 2, 41, 7)
        assert ethtool_ioctl.counters_of(names, values) == {"rx_crc_errors": 41, "tx_late": 7}


@pytest.mark.parametrize("told", [-1, 0, 0xFFFF, 0xFFFFFFFF, 34464, 4294967295, 10**9, None])
def test_numbers_that_are_no_speed(told: int | None) -> None:
    assert ethtool.known_speed(told) is None


@pytest.mark.parametrize("told", [10, 100, 1000, 2500, 10_000, 400_000, 1_600_000])
def test_speeds(told: int) -> None:
    assert ethtool.known_speed(told) == told


def test_the_table_of_modes_is_the_kernels() -> None:
    assert link_modes.NAMES[0] == "10baseT/Half"
    assert link_modes.NAMES[12] == "10000baseT/Full"
    assert link_modes.NAMES[48] == "5000baseT/Full"
    assert link_modes.NAMES[92] == "10baseT1L/Full"
    assert link_modes.speed_mbps("Pause") is None
    assert link_modes.is_half("100baseT/Half")


@given(st.binary(max_size=400))
def test_random_bytes_never_raise(data: bytes) -> None:
    for decode in DECODERS:
        decode(data)


@given(st.data())
def test_broken_recordings_never_raise(data: st.DataObject) -> None:
    _, recording = data.draw(st.sampled_from(recorded.answers()))
    broken = bytearray(recording[: data.draw(st.integers(0, len(recording)))])
    for _ in range(min(len(broken), data.draw(st.integers(0, 6)))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    for decode in DECODERS:
        decode(bytes(broken))
