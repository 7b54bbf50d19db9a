"""Made link checks: a card in order, and what is changed about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tuiperf.evidence.counters import Counts, Softnet, Window
from tuiperf.evidence.cpu import CoreLoad, Cpu
from tuiperf.evidence.ethtool import (
    Driver,
    Ethtool,
    Features,
    LinkInfo,
    LinkModes,
    LinkState,
    Pause,
    Rings,
)
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.hops import Hop, Hops
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.kernel import KernelSettings
from tuiperf.evidence.latency import Latency
from tuiperf.evidence.link import normalise
from tuiperf.evidence.path_mtu import PathMtu
from tuiperf.evidence.ports import Port, PortState
from tuiperf.evidence.route import Route

TO_100 = ("10baseT/Half", "10baseT/Full", "100baseT/Half", "100baseT/Full")
TO_1000 = (*TO_100, "1000baseT/Full")
COPPER = (*TO_1000, "Autoneg", "TP")
QUIET = {
    "rx_packets": 50_000,
    "tx_packets": 40_000,
    "rx_bytes": 60_000_000,
    "rx_crc_errors": 0,
    "rx_frame_errors": 0,
    "rx_missed_errors": 0,
    "tx_window_errors": 0,
    "tx_carrier_errors": 0,
}
CARD = Interface(
    2,
    "eth0",
    enabled=True,
    carrier=True,
    operstate="up",
    mtu_bytes=1500,
    bus="pci",
    slot="0000:03:00.0",
    qdisc="fq_codel",
    carrier_changes=2,
    carrier_ups=1,
    carrier_downs=1,
    counters=QUIET,
)
TOLD = Ethtool(
    modes=LinkModes(True, 1000, "full", COPPER, COPPER, COPPER),
    info=LinkInfo("twisted pair", 1, "MDI-X", "internal"),
    state=LinkState(up=True),
    pause=Pause(True, True, True),
    rings=Rings(256, 4096, 256, 4096),
    features=Features(
        ("tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-checksum"),
        ("tx-tcp-segmentation", "tx-generic-segmentation", "rx-gro", "rx-checksum"),
        known=True,
    ),
    driver=Driver("igb", "6.1", "3.25", "0000:03:00.0"),
)
WATCHED = Window(5.0, nic=QUIET, softnet=Softnet(90_000, 0, 3), qdisc_drops=0, carrier_changes=0)
KERNEL = KernelSettings(
    (4096, 131072, 6291456),
    (4096, 16384, 4194304),
    212992,
    212992,
    "cubic",
    ("reno", "cubic"),
    "fq_codel",
    window_scaling=True,
    sack=True,
    timestamps=True,
    mtu_probing=0,
)


def check(
    *,
    interface: dict[str, Any] | None = None,
    ethtool: dict[str, Any] | None = None,
    modes: dict[str, Any] | None = None,
    wireless: bool = False,
    **changes: Any,
) -> LinkFacts:
    """A finished check of a gigabit card in order, with changes to its parts."""
    card = replace(CARD, **(interface or {}))
    told = replace(TOLD, **(ethtool or {}))
    told = replace(told, modes=replace(told.modes, **(modes or {})))
    facts = LinkFacts(
        asked="eth0",
        interface=card,
        device=card,
        chain=("eth0",),
        link=normalise(card, told, wireless=wireless),
        ethtool=told,
        kernel=KERNEL,
        cpu=Cpu(
            cores=2,
            loads=(CoreLoad(0.1, 0.02, 0.0), CoreLoad(0.3, 0.05, 0.0)),
            governors=("performance",),
            frequency_driver="intel_pstate",
            irq_cores=(0, 1),
            irqs=2,
        ),
        uptime_s=864_000.0,
        totals=Counts(100.0, nic=QUIET),
        window=WATCHED,
        route=Route("default", "eth0", 2, "", "10.0.0.1"),
        gateway_state="reachable",
        gateway_latency=Latency("icmp", 3, (0.3, 0.31, 0.29)),
        pending=(),
    )
    return replace(facts, **changes)


def towards(**changes: Any) -> LinkFacts:
    """A finished check of the way to lab-b, 12 ms away, whose server is ready."""
    found: dict[str, Any] = {
        "asked": "lab-b",
        "host": "lab-b",
        "address": "192.0.2.7",
        "route": Route("192.0.2.7", "eth0", 2, "10.0.0.9", "10.0.0.1"),
        "latency": Latency(
            "icmp", 10, (12.1, 12.0, 12.2, 12.1, 12.0, 12.3, 12.1, 12.0, 12.1, 12.2)
        ),
        "path_mtu": PathMtu(1500, 1500),
        "hops": Hops(
            (Hop(1, "10.0.0.1", 0.3), Hop(2, "", None), Hop(3, "192.0.2.7", 12.0, True)), True
        ),
        "port": Port(5201, PortState.OPEN, "an iperf3 server", 12.2, speaks_iperf3=True),
    }
    return check(**{**found, **changes})


def watched(**counted: Any) -> Window:
    """Five seconds of watching in which these counters of the card grew."""
    nic = {**QUIET, **{name: count for name, count in counted.items() if name in QUIET}}
    rest = {name: value for name, value in counted.items() if name not in QUIET}
    return replace(WATCHED, nic=nic, **rest)
