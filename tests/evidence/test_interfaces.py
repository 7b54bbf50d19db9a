"""Interfaces, the way down to the real one, and what its speed is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.recorded import answer, tower
from tuiperf.evidence import ethtool, ethtool_ioctl, interfaces
from tuiperf.evidence.ethtool import Driver, Ethtool, LinkModes
from tuiperf.evidence.interfaces import Interface, by_name
from tuiperf.evidence.link import DeviceClass, Speed, classify, members_down, normalise, walk


def told(case: str) -> tuple[Interface, Ethtool]:
    """A recorded card."""
    interface = interfaces.decode(answer(case, "link"))
    assert interface is not None
    modes = ethtool.link_modes_of(answer(case, "linkmodes"))
    return interface, Ethtool(modes, driver=ethtool_ioctl.driver_of(answer(case, "ioctl-drvinfo")))


def the_tower() -> list[Interface]:
    return [each for body in tower() if (each := interfaces.decode(body))]


def test_a_card_as_recorded() -> None:
    card, _ = told("e1000e up")
    assert (card.name, card.kind, card.bus, card.slot) == ("eth0", "", "pci", "0000:00:05.0")
    assert (card.enabled, card.carrier, card.operstate, card.mtu_bytes) == (True, True, "up", 1500)
    assert card.address == "52:54:00:be:0c:00"
    assert card.counters["rx_crc_errors"] == 0
    assert card.counters["tx_packets"] > 0


def test_a_pulled_cable_as_recorded() -> None:
    card, _ = told("e1000e cable out")
    assert (card.enabled, card.carrier, card.operstate) == (True, False, "down")
    before, _ = told("e1000e up")
    assert card.carrier_downs is not None
    assert before.carrier_downs is not None
    assert card.carrier_downs > before.carrier_downs


def test_the_way_down_a_bridge_a_vlan_and_a_bond() -> None:
    found = the_tower()
    top = by_name(found, "br0")
    assert top is not None
    down = walk(top, found)
    assert [each.name for each in down.chain] == ["br0", "bond0.7", "bond0", "eth0"]
    assert [each.name for each in down.members] == ["eth0", "eth1"]
    assert down.chain[1].vlan_id == 7
    assert down.group is not None
    assert down.group.bond_mode == "balance-rr"


def test_a_bond_speaks_through_its_active_member() -> None:
    one = Interface(1, "eth0", carrier=True, master=3, bus="pci")
    two = Interface(2, "eth1", carrier=True, master=3, bus="pci")
    bond = Interface(3, "bond0", "bond", active_member=2)
    assert walk(bond, [one, two, bond]).device is two


def test_a_bridge_speaks_through_hardware_with_a_carrier() -> None:
    guest = Interface(1, "vnet0", "tun", carrier=True, master=4)
    dark = Interface(2, "eth0", carrier=False, master=4, bus="pci")
    lit = Interface(3, "eth1", carrier=True, master=4, bus="pci")
    bridge = Interface(4, "br0", "bridge")
    down = walk(bridge, [guest, dark, lit, bridge])
    assert down.device is lit
    assert members_down(down.members) == ("eth0",)


def test_a_circle_ends() -> None:
    one = Interface(1, "a", "vlan", lower=2)
    two = Interface(2, "b", "vlan", lower=1)
    assert [each.name for each in walk(one, [one, two]).chain] == ["a", "b"]


def test_a_vlan_whose_lower_device_is_in_another_namespace() -> None:
    vlan = Interface(5, "eth0.7", "vlan", lower=2, lower_elsewhere=True)
    assert walk(vlan, [vlan, Interface(2, "other")]).device is vlan


@pytest.mark.parametrize(
    ("case", "device_class", "speed", "mbps"),
    [
        ("e1000e up", DeviceClass.PHYSICAL, Speed.KNOWN, 1000),
        ("e1000e forced 100 half", DeviceClass.PHYSICAL, Speed.KNOWN, 100),
        ("e1000e cable out", DeviceClass.PHYSICAL, Speed.UNKNOWN, None),
        ("igb up", DeviceClass.PHYSICAL, Speed.KNOWN, 1000),
        ("rtl8139 up", DeviceClass.PHYSICAL, Speed.KNOWN, 100),
        ("vmxnet3 up", DeviceClass.VIRTUAL, Speed.VIRTUAL, None),
        ("virtio-net-pci up", DeviceClass.VIRTUAL, Speed.VIRTUAL, None),
    ],
)
def test_what_a_card_is_and_what_its_speed_is_worth(
    case: str, device_class: DeviceClass, speed: Speed, mbps: int | None
) -> None:
    link = normalise(*told(case))
    assert (link.device_class, link.speed, link.speed_mbps) == (device_class, speed, mbps)


@pytest.mark.parametrize("raw", [0, -1, 0xFFFF, 0xFFFFFFFF, 34464])
def test_an_unknown_speed_stays_unknown(raw: int) -> None:
    card = Interface(1, "eth0", carrier=True, bus="pci")
    link = normalise(card, Ethtool(LinkModes(speed_mbps=raw), driver=Driver("tg3")))
    assert (link.speed, link.speed_mbps) == (Speed.UNKNOWN, None)


def test_the_speed_of_a_veth_is_invented() -> None:
    veth = Interface(1, "eth0", "veth", carrier=True)
    link = normalise(veth, Ethtool(LinkModes(False, 10_000, "full"), driver=Driver("veth")))
    assert (link.device_class, link.speed_mbps, link.duplex) == (DeviceClass.VIRTUAL, None, None)


def test_the_speed_of_a_bond_is_a_sum_and_not_used() -> None:
    bond = Interface(1, "bond0", "bond", carrier=True)
    modes = ethtool.link_modes_of(answer("bond", "linkmodes"))
    assert modes.speed_mbps == 2000
    link = normalise(bond, Ethtool(modes))
    assert (link.device_class, link.speed_mbps) == (DeviceClass.AGGREGATE, None)


def test_sysfs_as_the_last_word() -> None:
    card = Interface(1, "eth0", carrier=True, bus="usb")
    link = normalise(card, Ethtool(driver=Driver("r8152")), fallback=LinkModes(None, 2500, "full"))
    assert (link.speed, link.speed_mbps, link.duplex) == (Speed.KNOWN, 2500, "full")


@pytest.mark.parametrize(
    ("interface", "driver", "wireless", "expected"),
    [
        (Interface(1, "lo", loopback=True), None, False, DeviceClass.VIRTUAL),
        (Interface(1, "wlan0", bus="pci"), "iwlwifi", True, DeviceClass.WIRELESS),
        (Interface(1, "t0", "tun"), "tun", False, DeviceClass.VIRTUAL),
        (Interface(1, "wg0", "wireguard"), None, False, DeviceClass.VIRTUAL),
        (Interface(1, "team0", "team"), "team", False, DeviceClass.AGGREGATE),
        (Interface(1, "eth0", bus="vmbus"), None, False, DeviceClass.VIRTUAL),
        (Interface(1, "eth0"), None, False, DeviceClass.VIRTUAL),
        (Interface(1, "eth0", bus="pci"), "ena", False, DeviceClass.VIRTUAL),
        (Interface(1, "eth0", bus="platform"), "fec", False, DeviceClass.PHYSICAL),
    ],
)
def test_classes(
    interface: Interface, driver: str | None, wireless: bool, expected: DeviceClass
) -> None:
    found, words = classify(interface, driver, wireless)
    assert found is expected
    assert words


def test_sysfs_tells_of_interfaces_where_netlink_does_not(tmp_path: Path) -> None:
    card = tmp_path / "eth0"
    (card / "statistics").mkdir(parents=True)
    for name, content in (
        ("ifindex", "3"),
        ("iflink", "3"),
        ("flags", "0x1003"),
        ("mtu", "9000"),
        ("carrier", "1"),
        ("operstate", "up"),
        ("address", "52:54:00:00:00:01"),
        ("statistics/rx_crc_errors", "12"),
    ):
        (card / name).write_text(f"{content}\n", encoding="ascii")
    bridge = tmp_path / "br0"
    (bridge / "bridge").mkdir(parents=True)
    (bridge / "ifindex").write_text("4\n", encoding="ascii")
    (tmp_path / "bonding_masters").write_text("bond0\n", encoding="ascii")
    kinds = {each.name: each for each in interfaces.from_sysfs(tmp_path)}
    assert set(kinds) == {"br0", "eth0"}
    assert kinds["br0"].kind == "bridge"
    eth0 = kinds["eth0"]
    assert (eth0.index, eth0.enabled, eth0.carrier, eth0.mtu_bytes) == (3, True, True, 9000)
    assert eth0.counters == {"rx_crc_errors": 12}
    assert interfaces.from_sysfs(tmp_path / "nowhere") == ()


@given(st.binary(max_size=200))
def test_random_bytes_are_no_interface_that_raises(data: bytes) -> None:
    interfaces.decode(data)
    interfaces.statistics(data)


@given(st.sampled_from(tower()), st.data())
def test_truncated_interfaces_never_raise(body: bytes, data: st.DataObject) -> None:
    interfaces.decode(body[: data.draw(st.integers(0, len(body)))])
