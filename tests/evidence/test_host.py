"""Counters, settings, cores, Wi-Fi and surroundings: texts and bytes in, facts out."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.evidence import container, counters, cpu, files, kernel, wifi
from tuiperf.evidence.counters import Counts, Qdisc, Softnet
from tuiperf.evidence.gaps import Gaps, rights_missing
from tuiperf.evidence.netlink import attribute, generic, nest

SOFTNET = (
    "021b1583 00000002 00000010 00000000 00000000 00000000 00000000 00000000 00000000\n"
    "00000001 00000001 00000001 00000000 00000000 00000000 00000000 00000000 00000000\n"
)
NETSTAT = (
    "TcpExt: SyncookiesSent ListenDrops TCPTimeouts\nTcpExt: 0 4 17\nIpExt: InNoRoutes\nIpExt: 9"
)


def test_softnet_adds_the_cores() -> None:
    assert counters.softnet(SOFTNET) == Softnet(0x021B1584, 3, 17)


@pytest.mark.parametrize("text", ["", None, "zz 1 2", "1 2"])
def test_softnet_that_cannot_be_read(text: str | None) -> None:
    assert counters.softnet(text) is None


def test_counters_in_pairs_of_lines() -> None:
    assert counters.pairs(NETSTAT, "TcpExt", counters.TCP_EXT) == {
        "ListenDrops": 4,
        "TCPTimeouts": 17,
    }
    assert counters.pairs("TcpExt: a", "TcpExt", ("a",)) == {}


def queue(index: int, parent: int, kind: str, drops: int) -> bytes:
    stats = nest(7, attribute(3, struct.pack("=5I", 0, 3000, drops, 0, 0)))
    head = struct.pack("=BxxxiIII", 0, index, 0, parent, 0)
    return head + attribute(1, kind.encode() + b"\0") + stats


def test_a_queue_and_its_drops() -> None:
    body = queue(2, 0xFFFFFFFF, "fq_codel", 5)
    assert counters.decode_qdisc(body) == (2, Qdisc("fq_codel", True, 5, 3000))
    assert counters.decode_qdisc(b"short") is None


def test_what_was_counted_between_two_looks() -> None:
    before = Counts(
        10.0,
        nic={"rx_crc_errors": 5, "rx_bytes": 100, "gone": 1},
        softnet=Softnet(10, 1, 0),
        qdiscs=(Qdisc("mq", True, 1), Qdisc("fq", False, 3)),
        carrier_changes=2,
    )
    after = Counts(
        15.0,
        nic={"rx_crc_errors": 47, "rx_bytes": 90, "new": 3},
        softnet=Softnet(30, 5, 2),
        qdiscs=(Qdisc("mq", True, 1), Qdisc("fq", False, 9)),
        carrier_changes=4,
    )
    window = counters.difference(before, after)
    assert window.seconds == 5.0
    assert window.nic == {"rx_crc_errors": 42}, "a counter that went back is left out"
    assert window.softnet == Softnet(20, 4, 2)
    assert window.qdisc_drops == 6
    assert window.carrier_changes == 2


def test_a_queue_that_was_replaced_counts_nothing() -> None:
    window = counters.difference(
        Counts(0.0, qdiscs=(Qdisc("fq", True, 3),)), Counts(1.0, qdiscs=(Qdisc("cake", True, 9),))
    )
    assert window.qdisc_drops is None


def test_filters_on_what_is_received_are_no_queue() -> None:
    counted = Counts(0.0, qdiscs=(Qdisc("fq", True, 3), Qdisc("clsact", False, 900)))
    assert counters.qdisc_drops(counted) == 3
    assert counters.qdisc_drops(Counts(0.0, qdiscs=(Qdisc("ingress", False, 900),))) == 0


def test_the_kernels_settings(tmp_path: Path) -> None:
    for name, content in (
        ("ipv4/tcp_rmem", "4096\t131072\t6291456"),
        ("ipv4/tcp_wmem", "4096\t16384\t4194304"),
        ("core/rmem_max", "212992"),
        ("core/default_qdisc", "fq_codel"),
        ("ipv4/tcp_congestion_control", "cubic"),
        ("ipv4/tcp_available_congestion_control", "reno cubic"),
        ("ipv4/tcp_window_scaling", "0"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content + "\n", encoding="ascii")
    gaps = Gaps()
    settings = kernel.read(gaps, str(tmp_path))
    assert settings.receive_window_bytes == 3145728
    assert settings.send_buffer_bytes == 4194304
    assert settings.congestion_available == ("reno", "cubic")
    assert settings.window_scaling is False
    assert settings.sack is None
    assert gaps.all() == ()


def test_settings_of_another_namespace(tmp_path: Path) -> None:
    (tmp_path / "ipv4").mkdir()
    (tmp_path / "ipv4" / "tcp_rmem").write_text("4096 131072 6291456", encoding="ascii")
    gaps = Gaps()
    assert kernel.read(gaps, str(tmp_path)).rmem_max_bytes is None
    assert [gap.what for gap in gaps.all()] == ["rmem_max"]
    missing = Gaps()
    assert kernel.read(missing, str(tmp_path / "no")).receive_window_bytes is None
    assert [gap.what for gap in missing.all()] == ["TCP's buffers"]


def test_the_bandwidth_delay_product() -> None:
    assert kernel.bdp_bytes(1000, 40) == 5_000_000


def test_loads_of_cores() -> None:
    before = (cpu.CoreTimes(10, 1, 0, 20), cpu.CoreTimes(0, 0, 0, 0))
    after = (cpu.CoreTimes(11, 3, 0.5, 24), cpu.CoreTimes(4, 0, 0, 4))
    first, second = cpu.loads(before, after)
    assert (first.busy, first.softirq, first.steal) == (0.75, 0.5, 0.125)
    assert second.busy == 0
    assert cpu.loads(before, before) == ()
    assert cpu.Cpu(loads=(second, first)).busiest == (1, first)


def test_loads_of_this_machine() -> None:
    gaps = Gaps()
    assert len(cpu.times(gaps)) >= 1
    assert gaps.all() == ()


INTERRUPTS = """           CPU0       CPU1       CPU2
 24:     100000          0          0  IR-PCI-MSI 524288-edge      eth0-rx-0
 25:          0          0          7  IR-PCI-MSI 524289-edge      eth0-tx-0
 26:          5          5          5  IR-PCI-MSI 524290-edge      eth01
 27:          0          3          0  PCI-MSIX-0000:05:00.0 1-edge  mlx5_comp0@pci:0000:05:00.0
NMI:          1          1          1  Non-maskable interrupts
"""


def test_which_cores_serve_a_card() -> None:
    assert cpu.irq_spread(INTERRUPTS, "eth0") == ((0, 2), 2)
    assert cpu.irq_spread(INTERRUPTS, "eth1", "0000:05:00.0") == ((1,), 1)
    assert cpu.irq_spread("", "eth0") == ((), 0)


def test_the_limit_of_a_container(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/kube/pod\n", encoding="ascii")
    root = tmp_path / "fs"
    (root / "kube" / "pod").mkdir(parents=True)
    (root / "kube" / "pod" / "cpu.max").write_text("max 100000\n", encoding="ascii")
    (root / "kube" / "cpu.max").write_text("150000 100000\n", encoding="ascii")
    assert cpu.quota(str(root), str(own)) == 1.5
    (root / "kube" / "cpu.max").write_text("max 100000\n", encoding="ascii")
    assert cpu.quota(str(root), str(own)) is None


def test_the_limit_of_an_older_container(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("4:cpu,cpuacct:/docker/abc\n", encoding="ascii")
    group = tmp_path / "fs" / "cpu" / "docker" / "abc"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("50000\n", encoding="ascii")
    (group / "cpu.cfs_period_us").write_text("100000\n", encoding="ascii")
    assert cpu.quota(str(tmp_path / "fs"), str(own)) == 0.5


def test_wifi() -> None:
    about = generic(7, attribute(52, b"office") + attribute(38, struct.pack("=I", 5220)))
    info = nest(
        21,
        attribute(7, struct.pack("=b", -61)),
        nest(8, attribute(1, struct.pack("=H", 8667)), attribute(5, struct.pack("=I", 8667))),
        nest(14, attribute(1, struct.pack("=H", 6500))),
        attribute(10, struct.pack("=I", 1000)),
        attribute(11, struct.pack("=I", 90)),
        attribute(12, struct.pack("=I", 2)),
    )
    found = wifi.decode(about, generic(19, info))
    assert found == wifi.Wifi("office", 5220, -61, 866.7, 650.0, 1000, 90, 2)
    assert wifi.decode(about, b"").signal_dbm is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_random_bytes_never_raise(one: bytes, two: bytes) -> None:
    wifi.decode(one, two)
    counters.decode_qdisc(one)


@given(st.text(max_size=200))
def test_random_texts_never_raise(text: str) -> None:
    counters.softnet(text)
    counters.pairs(text, "TcpExt", counters.TCP_EXT)
    cpu.irq_spread(text, "eth0", "0000:05:00.0")
    container.hypervisor_of(text)
    container.container_of([], text.strip(), text)


@pytest.mark.parametrize(
    ("marks", "systemd", "groups", "name"),
    [
        (["/.dockerenv"], "", "", "Docker"),
        ([], "systemd-nspawn", "", "systemd-nspawn"),
        ([], "", "0::/kubepods/burstable/pod1", "Kubernetes"),
        ([], "", "0::/init.scope", ""),
    ],
)
def test_containers_by_their_marks(marks: list[str], systemd: str, groups: str, name: str) -> None:
    assert container.container_of(marks, systemd, groups) == name


def test_a_hypervisor_by_its_flag() -> None:
    assert container.hypervisor_of("flags\t\t: fpu vme hypervisor lm\n")
    assert not container.hypervisor_of("flags : fpu vme\nmodel name: hypervisor\n")


def test_gaps_are_told_once_and_say_what_root_would_add() -> None:
    gaps = Gaps()
    gaps.failed("optical power", PermissionError(1, "Operation not permitted"))
    gaps.failed("optical power", OSError(95, "other"))
    gaps.failed("EEE", OSError(95, "Operation not supported"))
    assert [(gap.what, gap.why) for gap in gaps.all()] == [
        ("optical power", "needs root: CAP_NET_ADMIN"),
        ("EEE", "not supported by the driver"),
    ]
    assert rights_missing(gaps.all()) == ("optical power",)
    gaps.forget("EEE")
    assert len(gaps.all()) == 1


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\xff\xfe12")
    assert files.number(odd) is None
    assert files.numbers(odd) is None
    assert files.text(tmp_path / "missing") is None
    assert files.whole("-5") == -5
    assert files.whole("1" * 30) is None
