from __future__ import annotations

import os
from pathlib import Path

import pytest

from tuiperf import events as ev
from tuiperf.engine import host_facts, link_speed

NETSTAT = """TcpExt: SyncookiesSent PruneCalled TCPDSACKOldSent TCPDSACKOfoSent TCPTimeouts
TcpExt: 0 3 17 2 5
IpExt: InNoRoutes InCEPkts
IpExt: 0 8
"""
SNMP = """Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors
Udp: 10 0 0 10 4 6
"""
SOFTNET = """0000a1b2 0000000a 00000002 00000000
00000001 00000001 00000003 00000000
"""
DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls
  eth7: 1000 20 3 4 0 5 0 0 2000 30 6 7 0 8 9 0
"""
STAT = """cpu  1 1 1 1 1 1 1 1 0 0
cpu0 100 0 200 700 0 0 50 3 0 0
cpu1 200 0 300 600 0 0 60 0 0 0
intr 1
"""


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    net = tmp_path / "net"
    net.mkdir()
    for name, text in (
        ("netstat", NETSTAT),
        ("snmp", SNMP),
        ("softnet_stat", SOFTNET),
        ("dev", DEV),
    ):
        (net / name).write_text(text)
    (tmp_path / "stat").write_text(STAT)
    settings = tmp_path / "sys/net/ipv4"
    settings.mkdir(parents=True)
    (settings / "tcp_wmem").write_text("4096\t16384\t4194304\n")
    monkeypatch.setattr(host_facts, "_PROC", tmp_path)
    monkeypatch.setattr(host_facts, "_NET", net)
    monkeypatch.setattr(link_speed, "device_of", lambda address: "eth7")
    return tmp_path


def test_counters_settings_and_columns(proc: Path) -> None:
    facts = host_facts.read(1.5, "begin", "192.0.2.1")
    ticks = os.sysconf("SC_CLK_TCK")
    assert (facts.t_s, facts.when) == (1.5, "begin")
    assert facts.settings == {"net.ipv4.tcp_wmem": "4096 16384 4194304"}
    wanted = {
        "tcp.TCPDSACKOldSent": 17,
        "tcp.TCPDSACKOfoSent": 2,
        "tcp.PruneCalled": 3,
        "tcp.InCEPkts": 8,
        "udp.RcvbufErrors": 4,
        "udp.SndbufErrors": 6,
        "softnet.dropped": 11,
        "softnet.squeezed": 5,
        "device.rx_packets": 20,
        "device.rx_errors": 3,
        "device.rx_frame": 5,
        "device.tx_errors": 6,
        "device.collisions": 8,
        "device.tx_carrier": 9,
        "core0.softirq_s": 50 / ticks,
        "core1.steal_s": 0.0,
    }
    assert wanted.items() <= facts.counters.items()
    assert facts.link["device"] == "eth7"


def test_what_cannot_be_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_facts, "_PROC", tmp_path)
    monkeypatch.setattr(host_facts, "_NET", tmp_path)
    facts = host_facts.read(0.0, "end", "no address")
    assert (facts.settings, facts.counters, facts.link) == ({}, {}, {})


@pytest.mark.parametrize(
    "text", ["", "TcpExt: a b\n", "TcpExt: PruneCalled\nTcpExt: x\n", ":\n:\n"]
)
def test_odd_text_is_no_counter(proc: Path, text: str) -> None:
    for name in ("netstat", "snmp", "softnet_stat", "dev"):
        (proc / "net" / name).write_text(text)
    found = host_facts.read(0.0, "end", "192.0.2.1").counters
    assert not [name for name in found if not name.startswith(("core", "softnet"))]


@pytest.mark.parametrize(
    ("wireless", "bus", "kind"),
    [
        (True, "0000:03:00.0", "wireless"),
        (False, "0000:03:00.0", "physical"),
        (False, "usb-0000:00:14.0-2", "physical"),
        (False, "tap", "virtual"),
        (False, "", "virtual"),
    ],
)
def test_a_device_on_a_bus_is_physical(wireless: bool, bus: str, kind: str) -> None:
    assert host_facts._class(wireless, bus) == kind


def test_this_host_can_be_read_and_written_as_an_event() -> None:
    facts = host_facts.read(0.0, "begin", "127.0.0.1")
    assert facts.link["device"] == "lo"
    assert facts.link["class"] == "virtual"
    assert ev.from_line(ev.to_line(facts, 1)) == (1, facts)
