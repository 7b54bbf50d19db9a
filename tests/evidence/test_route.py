"""Routes, gateways and neighbours: decoders, and the kernel's own answers."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.spaces import routed_path, spaces, wire
from tuiperf.evidence import latency, route
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.netlink import attribute, nest


def word(address: str) -> str:
    """An address as /proc/net/route writes it: its bytes as a word of this machine."""
    return f"{struct.unpack('=I', socket.inet_aton(address))[0]:08X}"


TABLE = f"""Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t{word("10.0.0.1")}\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth9\t00000000\t{word("10.0.0.9")}\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth1\t{word("192.0.2.0")}\t00000000\t0001\t0\t0\t0\t{word("255.255.255.0")}\t0\t0\t0
"""


def message(type_: int = 1, *attributes: bytes) -> bytes:
    return struct.pack("=8BI", socket.AF_INET, 32, 0, 0, 254, 0, 0, type_, 0) + b"".join(attributes)


def test_the_link_of_an_address_is_kept() -> None:
    assert route.resolve("fe80::1%lo") == ("fe80::1%lo", "")
    assert route.resolve("::1") == ("::1", "")
    assert route.resolve("fe80::1%no-such-link")[0] == ""


@pytest.mark.parametrize(
    ("address", "local"),
    [("fe80::1", True), ("febf::1%eth0", True), ("fec0::1", False), ("fe8::1", False)],
)
def test_which_addresses_need_a_link(address: str, local: bool) -> None:
    assert route.is_link_local(address) is local
    assert not route.is_link_local("169.254.1.1")


def test_a_route_with_a_gateway_and_an_mtu() -> None:
    found = route.decode(
        message(
            1,
            attribute(1, bytes([198, 51, 100, 7])),
            attribute(4, struct.pack("=I", 3)),
            attribute(5, bytes([10, 0, 0, 1])),
            attribute(7, bytes([10, 0, 0, 9])),
            nest(8, attribute(2, struct.pack("=I", 1400))),
        )
    )
    assert found == route.Route("198.51.100.7", "", 3, "10.0.0.9", "10.0.0.1", mtu_bytes=1400)


def test_a_gateway_of_the_other_family() -> None:
    via = struct.pack("=H", socket.AF_INET6) + socket.inet_pton(socket.AF_INET6, "fe80::1")
    found = route.decode(message(1, attribute(18, via)))
    assert found is not None
    assert found.gateway == "fe80::1"


@pytest.mark.parametrize(("type_", "word"), [(6, "blackhole"), (7, "unreachable"), (2, "")])
def test_what_refuses(type_: int, word: str) -> None:
    found = route.decode(message(type_))
    assert found is not None
    assert found.refusal == word
    assert found.local is (type_ == 2)


def test_a_neighbour() -> None:
    body = struct.pack("=BxxxiHBB", socket.AF_INET, 4, 0x20, 0, 0)
    body += attribute(1, bytes([10, 0, 0, 1]))
    assert route.decode_neighbour(body) == ("10.0.0.1", 4, "failed")


def test_the_table_of_proc() -> None:
    assert route.of_proc(TABLE) == ("eth0", "10.0.0.1")
    assert route.of_proc(TABLE, "192.0.2.77") == ("eth1", "")
    assert route.of_proc("garbage\nmore garbage here\n") == ("", "")


@given(st.binary(max_size=120), st.text(max_size=200))
def test_random_input_never_raises(data: bytes, text: str) -> None:
    route.decode(data)
    route.decode_neighbour(data)
    route.of_proc(text)


def test_the_way_to_a_host_behind_a_router() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: route.towards("10.2.0.2", Gaps()))
        (default,) = here.do(lambda: route.default_routes(Gaps()))
    assert (found.device, found.source, found.gateway) == ("a0", "10.1.0.1", "10.1.0.2")
    assert (default.device, default.gateway) == ("a0", "10.1.0.2")


def test_no_route_at_all_and_this_host_itself() -> None:
    with spaces(1) as (here,):
        nowhere = here.do(lambda: route.towards("198.51.100.1", Gaps()))
        itself = here.do(lambda: route.towards("127.0.0.1", Gaps()))
        assert here.do(lambda: route.default_routes(Gaps())) == ()
    assert nowhere.refusal == "network is unreachable"
    assert itself.local
    assert itself.device == "lo"


def test_ipv6_and_its_neighbours() -> None:
    with spaces(2) as (here, there):
        wire(here, there, "2001:db8::1/64", "2001:db8::2/64")
        found = here.do(lambda: route.towards("2001:db8::2", Gaps()))
        here.do(lambda: latency.measure("2001:db8::2", Gaps(), probes=1))
        state = here.do(lambda: route.neighbour_state("2001:db8::2", None))
    assert (found.device, found.source) == ("w0", "2001:db8::1")
    assert state in ("reachable", "delay", "stale", "probe")


def test_a_name_that_does_not_resolve() -> None:
    address, why = route.resolve("no-such-host.invalid", timeout_s=5)
    assert address == ""
    assert why
    assert route.resolve("127.0.0.1") == ("127.0.0.1", "")
    assert route.resolve("a" * 300)[0] == ""
