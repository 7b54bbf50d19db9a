"""This host around the card: rings, offloads, buffers, cores. Rules that no cable explains."""

from __future__ import annotations

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.kernel import WINDOW_SHARE, bdp_bytes
from tuiperf.evidence.link import DeviceClass
from tuiperf.evidence.signs import (
    DROPS_BAD_SHARE,
    errors,
    overflows,
    qdisc_share,
    softnet_share,
)

from .expectation import speed
from .link_signs import is_cable, name
from .quantities import line_rate, percent, size
from .verdict import Confidence, Level, Verdict

RING_FAST_MBPS = 10_000
RING_SMALL = 512
RING_WANTED = 4096
BUSY_CORE = 0.9
SOFTIRQ_CORE = 0.6
STEAL_CORE = 0.1
SPREAD_MBPS = 10_000
_SENDING = ("tx-tcp-segmentation", "tx-generic-segmentation")
_NAMES = {
    "tx-tcp-segmentation": ("TSO", "tso"),
    "tx-generic-segmentation": ("GSO", "gso"),
    "rx-gro": ("GRO", "gro"),
    "rx-checksum": ("receive checksums", "rx"),
}


def host_drops(facts: LinkFacts) -> Verdict | None:
    """Frames that reached the card, and found no room."""
    counted = errors(facts.window)
    softnet = facts.window.softnet.dropped if facts.window and facts.window.softnet else 0
    missed = counted.missed if counted else 0
    if facts.window is None or not (missed or softnet):
        return None
    who, seconds = name(facts), f"{facts.window.seconds:.0f} s"
    received = facts.window.nic.get("rx_packets", 0) + missed
    share = max(missed / max(1, received), softnet_share(facts.window))
    ring = facts.ethtool.rings
    room = ring.rx is not None and ring.rx_max is not None and ring.rx < ring.rx_max
    advice = []
    if missed and room:
        advice.append(f"try: ethtool -G {who} rx {min(ring.rx_max or 0, RING_WANTED)}")
    if softnet:
        advice.append("try: sysctl -w net.core.netdev_max_backlog=5000")
    if missed:
        advice.append(f"look: ethtool -S {who} | grep -iE 'drop|miss|no_buf'")
    return Verdict(
        id="host-drops",
        level=Level.FAULT if share >= DROPS_BAD_SHARE else Level.LOOK,
        confidence=Confidence.HIGH,
        title="Drops in this host",
        short=f"{missed + softnet} in {seconds}",
        claim=f"{who} received {missed} frames that this host had no room for."
        if missed
        else f"This host dropped {softnet} frames that had arrived already, at any interface.",
        because=(
            *((f"the card missed {missed} frames in {seconds}",) if missed else ()),
            *(
                (f"the kernel's backlog, one for all interfaces, dropped {softnet} (softnet)",)
                if softnet
                else ()
            ),
            f"{percent(share)} of what was received",
            *((f"the receive ring has {ring.rx} of {ring.rx_max} places",) if room else ()),
        ),
        ruled_out=("the cable: these frames arrived whole",),
        next=tuple(advice),
    )


def queue_drops(facts: LinkFacts) -> Verdict | None:
    """Packets that this host's own queue could not take, more than a full queue's usual few."""
    if facts.window is None or not overflows(facts.window):
        return None
    dropped, share = facts.window.qdisc_drops, qdisc_share(facts.window)
    who, seconds = name(facts), f"{facts.window.seconds:.0f} s"
    return Verdict(
        id="queue-drops",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="Drops before sending",
        short=f"{dropped} in {seconds}",
        claim=f"{who}'s queue in this host was full: {dropped} packets were dropped before they "
        "were sent.",
        because=(
            f"the queue discipline dropped {dropped} in {seconds}, {percent(share)} of what it got",
        ),
        ruled_out=("the cable: these packets never came to it",),
        next=(f"look: tc -s qdisc show dev {who}",),
    )


def small_ring(facts: LinkFacts) -> Verdict | None:
    """A receive ring that holds less than a burst at this speed."""
    ring, ran = facts.ethtool.rings, facts.speed_mbps
    if not is_cable(facts) or ring.rx is None or ring.rx_max is None or ran is None:
        return None
    if ran < RING_FAST_MBPS or ring.rx > RING_SMALL or ring.rx_max < 2 * ring.rx:
        return None
    frames_us = ring.rx * 1538 * 8 / ran
    return Verdict(
        id="small-ring",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Small receive ring",
        short=f"{ring.rx} of {ring.rx_max}",
        claim=f"{name(facts)}'s receive ring holds {frames_us:.0f} µs at {speed(ran)}: "
        "a short pause of the host loses frames.",
        because=(f"{ring.rx} descriptors of {ring.rx_max} possible, 1538 bytes each on the wire",),
        next=(f"try: ethtool -G {name(facts)} rx {min(ring.rx_max, RING_WANTED)}",),
    )


def offloads_off(facts: LinkFacts) -> Verdict | None:
    """Work that the card or the kernel would save, switched off."""
    features = facts.ethtool.features
    if not is_cable(facts) or not features.known or (facts.speed_mbps or 0) < 1000:
        return None
    off = [
        feature
        for feature in _NAMES
        if feature not in features.on and feature in features.switchable
    ]
    if "tx-tcp-segmentation" in off and "tx-generic-segmentation" not in off:
        off.remove("tx-tcp-segmentation")  # the kernel's own does nearly as well
    if not off:
        return None
    words = [_NAMES[feature][0] for feature in off]
    switches = " ".join(f"{_NAMES[feature][1]} on" for feature in off)
    return Verdict(
        id="offloads-off",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="Offloads are off",
        short=", ".join(words),
        claim=f"{', '.join(words)} off at {name(facts)}: the same traffic costs several times "
        "the CPU.",
        because=(f"switched off, and can be switched on: {', '.join(off)}",),
        next=(f"try: ethtool -K {name(facts)} {switches}",),
    )


def paused(facts: LinkFacts) -> Verdict | None:
    """The partner tells this card to stop sending."""
    counted, before = errors(facts.window), facts.ethtool.pause.rx_frames
    if not is_cable(facts) or facts.window is None or counted is None or not counted.pauses:
        return None
    frames, seconds = counted.pauses, f"{facts.window.seconds:.0f} s"
    total = f"; {before} since it was started" if before else ""
    return Verdict(
        id="paused",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="Partner says stop",
        short=f"{frames} pauses in {seconds}",
        claim=f"The switch told {name(facts)} to pause {frames} times: something behind it is "
        "slower than this link.",
        because=(f"{frames} pause frames received in {seconds}{total}",),
        next=("look: the switch's port counters; the slow receiver is behind it",),
    )


def small_buffers(facts: LinkFacts) -> Verdict | None:
    """The kernel's limits against what this link and this round trip hold."""
    rtt_ms = facts.latency.median_ms if facts.latency else None
    window = facts.kernel.receive_window_bytes
    send = facts.kernel.send_buffer_bytes
    ran = facts.speed_mbps
    if rtt_ms is None or ran is None or window is None or send is None:
        return None
    needed = bdp_bytes(ran, rtt_ms)
    if needed <= min(window, send):
        return None
    short = [name for name, has in (("tcp_rmem", window), ("tcp_wmem", send)) if has < needed]
    reachable = min(window, send) * 8 / (rtt_ms / 1e3)
    return Verdict(
        id="small-buffers",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Buffers too small",
        short=f"{size(min(window, send))} of {size(needed)}",
        claim=f"One connection to {facts.host} cannot fill this link: the kernel's buffers end at "
        f"{line_rate(round(reachable, -6))}.",
        because=(
            f"{speed(ran)} × {rtt_ms:.1f} ms round trip = {size(needed)} under way",
            f"largest receive window {size(window)} (half of tcp_rmem), send buffer {size(send)}",
        ),
        next=tuple(f"try: {_sysctl(facts, each, needed)}" for each in short),
        explanation=(f"bandwidth-delay product: {ran}e6 / 8 × {rtt_ms / 1e3:.4f} s",),
    )


def _sysctl(facts: LinkFacts, which: str, needed: int) -> str:
    values = (
        facts.kernel.tcp_rmem_bytes if which == "tcp_rmem" else facts.kernel.tcp_wmem_bytes
    ) or (4096, 131072, 0)
    wanted = int(needed / WINDOW_SHARE) if which == "tcp_rmem" else needed
    most = 1 << (wanted - 1).bit_length()
    return f"sysctl -w net.ipv4.{which}='{values[0]} {values[1]} {most}'"


def busy_core(facts: LinkFacts) -> Verdict | None:
    """A core with no time left, without a test running: or one that others take the time of."""
    if not facts.cpu.loads:
        return None
    number, load = max(enumerate(facts.cpu.loads), key=lambda each: each[1].softirq)
    stolen, thief = max((each.steal, core) for core, each in enumerate(facts.cpu.loads))
    if load.softirq >= SOFTIRQ_CORE:
        return Verdict(
            id="busy-core",
            level=Level.LOOK,
            confidence=Confidence.HIGH,
            title="A core is full",
            short=f"core {number}, {percent(load.softirq)} softirq",
            claim=f"Core {number} spends {percent(load.softirq)} of its time receiving frames.",
            because=(f"softirq share of core {number} while it was watched",),
            next=(f"look: grep {name(facts)} /proc/interrupts; spread the queues over cores",),
        )
    if stolen >= STEAL_CORE:
        return Verdict(
            id="stolen-cpu",
            level=Level.LOOK,
            confidence=Confidence.HIGH,
            title="CPU is stolen",
            short=f"{percent(stolen)} of core {thief}",
            claim="The hypervisor gives this machine's CPU time to others.",
            because=(f"steal of {percent(stolen)} at core {thief} while it was watched",),
            next=("look: the host's load, or another size of virtual machine",),
        )
    return None


def limited_container(facts: LinkFacts) -> Verdict | None:
    """A container that may use less than two cores measures itself."""
    quota = facts.cpu.quota_cores
    if quota is None or quota >= 2:
        return None
    return Verdict(
        id="cpu-quota",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="CPU is limited",
        short=f"{quota:g} cores",
        claim=f"This container may use {quota:g} cores; a fast test takes two.",
        because=("its control group's cpu.max",),
    )


def slow_clock(facts: LinkFacts) -> Verdict | None:
    """Cores that are kept at their lowest frequency."""
    cpu = facts.cpu
    pinned = cpu.governors == ("powersave",) and "pstate" not in cpu.frequency_driver
    if not pinned:
        return None
    return Verdict(
        id="cpu-governor",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="CPU kept slow",
        short="governor powersave",
        claim="The frequency governor keeps all cores at their lowest frequency.",
        because=(f"governor powersave of {cpu.frequency_driver or 'an unknown driver'}",),
        next=("try: cpupower frequency-set -g performance",),
    )


def one_core_for_interrupts(facts: LinkFacts) -> Verdict | None:
    """Several queues whose interrupts all end at one core."""
    cpu, fast = facts.cpu, (facts.speed_mbps or 0) >= SPREAD_MBPS
    if not fast or cpu.irqs < 2 or len(cpu.irq_cores) != 1 or (cpu.cores or 1) < 2:
        return None
    core = cpu.irq_cores[0]
    return Verdict(
        id="one-core-irqs",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Interrupts on one core",
        short=f"{cpu.irqs} queues, core {core}",
        claim=f"All {cpu.irqs} interrupts of {name(facts)} are served by core {core} alone.",
        because=("/proc/interrupts counts for no other core",),
        next=("try: systemctl start irqbalance",),
    )


def shared_medium(facts: LinkFacts) -> Verdict | None:
    """Wi-Fi: half duplex by nature; weak when its signal or rate is."""
    if facts.link is None or facts.link.device_class is not DeviceClass.WIRELESS:
        return None
    radio = facts.wifi
    rate = (radio.tx_mbps or radio.rx_mbps) if radio else None
    signal = radio.signal_dbm if radio else None
    weak = (signal is not None and signal < -70) or (rate is not None and rate < 50)
    parts = [
        f"signal {signal} dBm" if signal is not None else "",
        f"radio {rate:g} Mbit/s" if rate else "",
    ]
    told = ", ".join(each for each in parts if each) or "its rates cannot be read"
    expected = f"; expect {rate * 0.5:.0f} to {rate * 0.65:.0f} Mbit/s of TCP" if rate else ""
    return Verdict(
        id="shared-medium",
        level=Level.LOOK if weak else Level.FINE,
        confidence=Confidence.HIGH,
        title="Weak Wi-Fi" if weak else "Wi-Fi",
        short=told,
        claim=f"{name(facts)} is Wi-Fi: all share its air, and only one sends at a time{expected}.",
        because=(told,),
        next=("try: go nearer, use 5 or 6 GHz, or a cable",) if weak else (),
    )
