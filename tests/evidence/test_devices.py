"""The readers on real devices, made in a namespace: veth, bridge, TUN, TAP, VXLAN, macvlan, lo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.evidence.spaces import Space, spaces, wire
from tuiperf.evidence import counters, ethtool_reader, interfaces, latency, module, wifi
from tuiperf.evidence.ethtool import Ethtool
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.interfaces import Interface, by_name
from tuiperf.evidence.link import DeviceClass, normalise, walk


@pytest.fixture(scope="module")
def space() -> Iterator[Space]:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        here.ip("link add br0 type bridge")
        here.ip("link set br0 up")
        here.ip("link add p0 type veth peer name p1")
        here.ip("link set p0 master br0 up")
        here.ip("link set p1 up")
        here.ip("link add link w0 name m0 type macvlan")
        here.ip("link add x0 type vxlan id 4 dstport 4789 remote 10.0.0.2")
        here.ip("tuntap add t0 mode tun")
        here.ip("tuntap add t1 mode tap")
        yield here


def found_in(space: Space, name: str) -> tuple[Interface, Ethtool, tuple[Interface, ...]]:
    everything = space.do(lambda: interfaces.read(Gaps()))
    interface = by_name(everything, name)
    assert interface is not None
    return interface, space.do(lambda: ethtool_reader.read(name, Gaps())), everything


@pytest.mark.parametrize("name", ["lo", "w0", "br0", "m0", "x0", "t0", "t1"])
def test_every_device_here_is_virtual_and_its_speed_unknown(space: Space, name: str) -> None:
    interface, ethtool, _ = found_in(space, name)
    link = normalise(interface, ethtool)
    assert (link.device_class, link.speed_mbps) == (DeviceClass.VIRTUAL, None)
    assert link.what


def test_a_veth_says_ten_gigabit_and_is_not_believed(space: Space) -> None:
    interface, ethtool, _ = found_in(space, "w0")
    assert interface.kind == "veth"
    assert ethtool.modes.speed_mbps == 10_000
    assert ethtool.driver.name == "veth"
    assert "tx-tcp-segmentation" in ethtool.features.on


def test_a_bridge_is_walked_to_its_member(space: Space) -> None:
    interface, _, everything = found_in(space, "br0")
    assert [each.name for each in walk(interface, everything).chain] == ["br0", "p0"]


def test_a_macvlan_is_walked_to_what_it_lies_on(space: Space) -> None:
    interface, _, everything = found_in(space, "m0")
    assert [each.name for each in walk(interface, everything).chain] == ["m0", "w0"]


def test_offloads_that_were_switched_off(space: Space) -> None:
    from tuiperf.evidence.ethtool_reader import header
    from tuiperf.evidence.netlink import attribute, nest
    from tuiperf.evidence.netlink_socket import Generic

    def switch_off() -> None:
        bit = nest(1, attribute(2, b"rx-gro\0"), attribute(3, b""))
        with Generic("ethtool") as kernel:
            kernel.act(12, header("p1") + nest(3, nest(3, bit)))  # FEATURES_SET, wanted

    assert "rx-gro" not in found_in(space, "p1")[1].features.on
    space.do(switch_off)
    assert "rx-gro" in found_in(space, "p1")[1].features.on


def test_counters_of_what_was_sent(space: Space) -> None:
    interface, _, _ = found_in(space, "w0")
    before = space.do(lambda: counters.take(interface, Gaps()))
    space.do(lambda: latency.measure("10.0.0.2", Gaps(), probes=3, spacing_s=0.01))
    after = space.do(lambda: counters.take(interface, Gaps()))
    window = counters.difference(before, after)
    assert window.nic["tx_packets"] >= 3
    assert window.nic["rx_packets"] >= 3
    assert window.nic["rx_crc_errors"] == 0
    assert window.carrier_changes == 0
    assert window.softnet is not None
    assert window.qdisc_drops == 0


def test_a_carrier_that_goes_and_comes(space: Space) -> None:
    before, _, _ = found_in(space, "p0")
    space.ip("link set p1 down")
    down, _, _ = found_in(space, "p0")
    space.ip("link set p1 up")
    after, _, _ = found_in(space, "p0")
    assert (before.carrier, down.carrier, after.carrier) == (True, False, True)
    assert before.carrier_changes is not None
    assert after.carrier_changes == before.carrier_changes + 2


def test_what_no_device_here_has(space: Space) -> None:
    interface, ethtool, _ = found_in(space, "w0")
    gaps = Gaps()
    assert space.do(lambda: module.read("w0", gaps)) is None
    assert gaps.all()[0].what == "optical power"
    assert space.do(lambda: wifi.read(interface.index, Gaps())) is None
    assert ethtool.statistics == {}


def test_its_other_names(space: Space) -> None:
    space.ip("link property add dev w0 altname the-long-name-of-w0")
    found = by_name(space.do(lambda: interfaces.read(Gaps())), "the-long-name-of-w0")
    assert found is not None
    assert (found.name, found.other_names) == ("w0", ("the-long-name-of-w0",))


def test_one_that_is_gone_is_not_looked_for_in_another_namespace(space: Space) -> None:
    assert space.do(lambda: interfaces.read_one(1)) is not None
    assert space.do(lambda: interfaces.read_one(99_999)) is None
    host = next(each for each in interfaces.from_sysfs() if not each.loopback)
    assert interfaces.is_in_sysfs(host)
    assert not interfaces.is_in_sysfs(replace(host, index=99_999)), "a name says too little"


def test_an_interface_that_is_not_there(space: Space) -> None:
    gaps = Gaps()
    assert space.do(lambda: ethtool_reader.read("nothing9", gaps)) == Ethtool()
    assert space.do(lambda: ethtool_reader.read("a" * 40, gaps)) == Ethtool()
    assert space.do(lambda: ethtool_reader.counters("nothing9")) == ({}, {})
