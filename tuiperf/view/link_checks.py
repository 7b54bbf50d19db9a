"""What a link check lists: one line a check, with what was found and how it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuiperf.evidence import link_modes
from tuiperf.evidence.counters import qdisc_drops
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.link import DeviceClass
from tuiperf.evidence.signs import errors
from tuiperf.rules.expectation import speed
from tuiperf.rules.verdict import Level, Verdict

from . import link_unjudged
from .numbers import size

_RANK = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}


@dataclass(frozen=True)
class Check:
    """One line. `found` is "" as long as nothing is known; `more` are further facts of it."""

    name: str
    level: Level
    found: str
    reading: str
    verdict: Verdict | None = None
    more: tuple[tuple[str, str], ...] = ()
    running: bool = False


Facts = tuple[tuple[str, str], ...]
Describe = Callable[[LinkFacts], tuple[str, Facts]]


@dataclass(frozen=True)
class _Kind:
    """A check: which verdicts belong to it, how its finding is worded, when it is known."""

    name: str
    verdicts: tuple[str, ...]
    describe: Describe
    good: str = "as expected"
    stage: str = "device"
    gap: str = ""
    needs_host: bool = False
    unjudged: Callable[[LinkFacts], str] = lambda facts: ""  # why it is not called fine
    cable: bool = False  # says nothing of a virtual device


def checks(facts: LinkFacts, verdicts: Sequence[Verdict]) -> list[Check]:
    """The checks in their order, from the bottom up."""
    return [_check(kind, facts, verdicts) for kind in _KINDS if _applies(kind, facts)]


def counts(listed: Sequence[Check]) -> dict[Level, int]:
    """How many checks there are of each level."""
    return {level: sum(each.level is level for each in listed) for level in Level}


def done(listed: Sequence[Check]) -> int:
    """How many checks are not running any more."""
    return sum(not each.running for each in listed)


def _applies(kind: _Kind, facts: LinkFacts) -> bool:
    if kind.needs_host and not facts.address:
        return False
    if kind.name == "Wi-Fi":
        return facts.link is not None and facts.link.device_class is DeviceClass.WIRELESS
    if kind.name == "Optics":
        return facts.module is not None or any(gap.what == "optical power" for gap in facts.gaps)
    if kind.name == "Members":
        return facts.group is not None and len(facts.members) > 1
    return True


def _check(kind: _Kind, facts: LinkFacts, verdicts: Sequence[Verdict]) -> Check:
    own = [each for each in verdicts if each.id in kind.verdicts]
    found, more = kind.describe(facts)
    if own:
        worst = min(own, key=lambda each: _RANK[each.level])
        return Check(kind.name, worst.level, found or worst.short, _reading(worst), worst, more)
    if kind.stage in facts.pending:
        return Check(kind.name, Level.PENDING, "", "checking", running=True, more=more)
    if found and kind.cable and _is_virtual(facts):
        return Check(kind.name, Level.PENDING, found, "virtual: not judged", more=more)
    if found and (why := kind.unjudged(facts)):
        return Check(kind.name, Level.PENDING, found, why, more=more)
    if found:
        return Check(kind.name, Level.FINE, found, kind.good, more=more)
    return Check(kind.name, Level.PENDING, "", _why_not(kind, facts), more=more)


def _reading(verdict: Verdict) -> str:
    """The verdict's title as it goes on in a line: "MTU differs", but "drops in this host"."""
    title = verdict.title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _why_not(kind: _Kind, facts: LinkFacts) -> str:
    gap = next((each for each in facts.gaps if each.what == kind.gap), None)
    if gap is not None:
        return "needs root" if gap.rights else gap.why
    if facts.gone and (kind.cable or kind.stage in ("device", "counters")):
        return "the interface is gone"
    if kind.stage == "counters" and facts.window is None:
        return "not watched (quick)"
    if kind.stage == "hops" and facts.hops is None:
        return "not looked for (quick)" if facts.window is None else "not looked for"
    return "virtual: not judged" if kind.cable and _is_virtual(facts) else "not told here"


def _is_virtual(facts: LinkFacts) -> bool:
    return facts.link is not None and facts.link.device_class is DeviceClass.VIRTUAL


def _carrier(facts: LinkFacts) -> tuple[str, Facts]:
    device, link = facts.device, facts.link
    if device is None or link is None:
        return "", ()
    more = [("what", f"{link.what}; interface {' → '.join(facts.chain)}")]
    inside = facts.surroundings.container
    if inside and link.device_class is DeviceClass.PHYSICAL:
        more.append(("whose", f"this is {inside}'s container; the card is its host's own"))
    driver = facts.ethtool.driver
    if driver.name:
        firmware = f"firmware {driver.firmware}" if driver.firmware else ""
        parts = [driver.name, driver.version or "", firmware]
        where = " ".join(filter(None, (device.bus, driver.bus)))
        words = " ".join(filter(None, parts))
        more.append(("driver", f"{words}, {where}" if where else words))
    if facts.ethtool.info.port:
        info = facts.ethtool.info
        more.append(("port", ", ".join(filter(None, (info.port, info.mdix, info.transceiver)))))
    if facts.ethtool.state.sqi is not None:
        state = facts.ethtool.state
        more.append(("signal", f"quality {state.sqi} of {state.sqi_max}"))
    if device.enabled is False:
        return "switched off", tuple(more)
    if device.carrier is False:
        return "no carrier", tuple(more)
    if link.speed_mbps:
        duplex = f", {link.duplex}" if link.duplex else ""
        return f"{speed(link.speed_mbps)}{duplex}", tuple(more)
    if link.device_class is DeviceClass.VIRTUAL:
        return "up, virtual", tuple(more)
    return "up, speed not told" if device.carrier else "", tuple(more)


def _negotiation(facts: LinkFacts) -> tuple[str, Facts]:
    modes, link = facts.ethtool.modes, facts.link
    if link is None or link.device_class is not DeviceClass.PHYSICAL or link.autoneg is None:
        return "", ()
    more = [("offers", _modes(modes.advertised))]
    more.append(("partner", _modes(modes.partner) if modes.partner else "not told by the driver"))
    if modes.master_slave:
        more.append(("clock", modes.master_slave))
    eee, fec, pause = facts.ethtool.eee, facts.ethtool.fec, facts.ethtool.pause
    if pause.rx is not None:
        more.append(("pause", f"receive {_on(pause.rx)}, send {_on(pause.tx)}"))
    if eee.enabled is not None:
        more.append(("EEE", f"{_on(eee.enabled)}, {'active' if eee.active else 'not active'}"))
    if fec.active:
        more.append(("FEC", f"{fec.active}, {fec.corrected or 0} blocks corrected"))
    if not link.autoneg:
        return "forced, autoneg off", tuple(more)
    partner = link_modes.fastest_mbps(modes.partner)
    if partner:
        return f"auto, partner {speed(partner)}", tuple(more)
    return "auto, partner not told", tuple(more)


def _modes(modes: Sequence[str]) -> str:
    speeds = [mode for mode in modes if link_modes.speed_mbps(mode) is not None]
    return " ".join(speeds) or "no speed"


def _on(state: bool | None) -> str:
    return "on" if state else "off"


def _optics(facts: LinkFacts) -> tuple[str, Facts]:
    if facts.module is None:
        return "", ()
    plugged = facts.module
    more = [("module", " ".join(filter(None, (plugged.kind, plugged.vendor, plugged.part))))]
    for reading in plugged.readings[:10]:
        lane = f" lane {reading.lane}" if reading.lane > 1 else ""
        limits = reading.limits
        allowed = f" ({limits.low_warning:g} to {limits.high_warning:g})" if limits else ""
        more.append((reading.name + lane, f"{reading.value:g} {reading.unit}{allowed}"))
    power = [each for each in plugged.readings if each.name == "received power"]
    if not power:
        return f"{plugged.kind}, measures nothing", tuple(more)
    return f"{min(each.value for each in power):g} dBm received", tuple(more)


def _members(facts: LinkFacts) -> tuple[str, Facts]:
    up = [each.name for each in facts.members if each.carrier]
    mode = facts.group.bond_mode if facts.group else ""
    more = (("members", ", ".join(each.name for each in facts.members)), ("mode", mode or "-"))
    return f"{len(up)} of {len(facts.members)} up", more


def _radio(facts: LinkFacts) -> tuple[str, Facts]:
    radio = facts.wifi
    if radio is None:
        return "", ()
    parts = []
    if radio.tx_mbps:
        parts.append(f"{radio.tx_mbps:g} Mbit/s")
    if radio.signal_dbm is not None:
        parts.append(f"{radio.signal_dbm} dBm")
    more = (("network", radio.ssid or "-"), ("frequency", f"{radio.frequency_mhz or '?'} MHz"))
    return ", ".join(parts), more


def _errors(facts: LinkFacts) -> tuple[str, Facts]:
    counted, ever = errors(facts.window), errors(facts.totals)
    if counted is None or facts.window is None:
        return "", ()
    more = (
        (
            "now",
            f"{counted.damaged} CRC, {counted.misaligned} misaligned, {counted.symbols} symbol",
        ),
        (
            "ever",
            f"{ever.damaged} CRC since {facts.device.name if facts.device else ''} was started",
        )
        if ever
        else ("ever", "-"),
        ("sending", f"{counted.lost_carrier} lost carrier, {counted.late_collisions} late"),
    )
    return f"{counted.medium} rx, {counted.lost_carrier} tx in {facts.window.seconds:.0f} s", more


def _drops(facts: LinkFacts) -> tuple[str, Facts]:
    counted, window = errors(facts.window), facts.window
    if counted is None or window is None:
        return "", ()
    softnet = window.softnet
    dropped = counted.missed + (softnet.dropped if softnet else 0)
    more = [("card", f"{counted.missed} missed")]
    if softnet:
        more.append(("kernel", f"{softnet.dropped} dropped, {softnet.squeezed} squeezed (softnet)"))
    other = window.nic.get("rx_dropped", 0), window.nic.get("tx_dropped", 0)
    more.append(("policy", f"{other[0]} rx, {other[1]} tx dropped by the stack: often no fault"))
    raised = {name: count for name, count in {**window.tcp, **window.udp}.items() if count}
    if raised:
        more.append(("host", ", ".join(f"{name} +{count}" for name, count in raised.items())))
    return f"{dropped} rx in {window.seconds:.0f} s", tuple(more)


def _flaps(facts: LinkFacts) -> tuple[str, Facts]:
    device, window = facts.device, facts.window
    if device is None or window is None or window.carrier_changes is None:
        return "", ()
    ups, downs = device.carrier_ups, device.carrier_downs
    more = (("ever", f"{ups} ups, {downs} downs"),) if ups is not None else ()
    ever = f", {downs} {'down' if downs == 1 else 'downs'} ever" if downs is not None else ""
    return f"{window.carrier_changes} in {window.seconds:.0f} s{ever}", more


_OFFLOADS = (
    ("tx-tcp-segmentation", "tso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-gro", "gro"),
)


def _offloads(facts: LinkFacts) -> tuple[str, Facts]:
    features = facts.ethtool.features
    if not features.known:
        return "", ()
    on = [short for name, short in _OFFLOADS if name in features.on]
    off = [short for name, short in _OFFLOADS if name not in features.on]
    parts = [f"{' '.join(on)} on" if on else "", f"{' '.join(off)} off" if off else ""]
    checksums = [
        f"{way} {_on(any(name.startswith(f'{way}-checksum') for name in features.on))}"
        for way in ("rx", "tx")
    ]
    return ", ".join(filter(None, parts)), (("checksums", ", ".join(checksums)),)


def _rings(facts: LinkFacts) -> tuple[str, Facts]:
    ring, queues = facts.ethtool.rings, facts.ethtool.channels
    if ring.rx is None:
        return "", ()
    more = [("send ring", f"{ring.tx} of {ring.tx_max}")]
    if queues.count:
        more.append(("queues", f"{queues.count} of {queues.maximum}"))
    wait = facts.ethtool.coalesce
    if wait.rx_us is not None:
        adaptive = ", adaptive" if wait.adaptive_rx else ""
        more.append(("interrupts", f"after {wait.rx_us} µs{adaptive}"))
    return f"rx {ring.rx} of {ring.rx_max}", tuple(more)


def _queue(facts: LinkFacts) -> tuple[str, Facts]:
    queues = facts.totals.qdiscs if facts.totals else ()
    root = next((each.kind for each in queues if each.root), "")
    kind = root or (facts.device.qdisc if facts.device else "")
    if not kind:
        return "", ()
    dropped = facts.window.qdisc_drops if facts.window else None
    seconds = f"{facts.window.seconds:.0f} s" if facts.window else ""
    more = (
        ("default", facts.kernel.default_qdisc or "-"),
        ("ever", f"{qdisc_drops(facts.totals) if facts.totals else 0} drops since it was made"),
    )
    return f"{kind}, {dropped} drops in {seconds}" if dropped is not None else kind, more


def _buffers(facts: LinkFacts) -> tuple[str, Facts]:
    kernel = facts.kernel
    if not kernel.tcp_rmem_bytes or not kernel.tcp_wmem_bytes:
        return "", ()
    more = [
        ("tcp_rmem", " ".join(map(str, kernel.tcp_rmem_bytes))),
        ("tcp_wmem", " ".join(map(str, kernel.tcp_wmem_bytes))),
    ]
    if kernel.rmem_max_bytes is not None:
        more.append(
            ("for -w", f"rmem_max {kernel.rmem_max_bytes}, wmem_max {kernel.wmem_max_bytes}")
        )
    more.append(
        ("congestion", f"{kernel.congestion or '?'}; {' '.join(kernel.congestion_available)}")
    )
    return f"{size(kernel.tcp_rmem_bytes[-1])} in, {size(kernel.tcp_wmem_bytes[-1])} out", tuple(
        more
    )


def _cpu(facts: LinkFacts) -> tuple[str, Facts]:
    cpu = facts.cpu
    more = []
    if cpu.governors:
        more.append(("governor", f"{', '.join(cpu.governors)} ({cpu.frequency_driver})"))
    if cpu.irqs:
        cores = ", ".join(map(str, cpu.irq_cores[:16]))
        more.append(("interrupts", f"{cpu.irqs} lines, served by cores {cores}"))
    if cpu.quota_cores is not None:
        more.append(("container", f"may use {cpu.quota_cores:g} cores"))
    if cpu.hottest:
        more.append(("hottest", cpu.hottest))
    busiest = cpu.busiest
    if busiest is None:
        return (f"{cpu.cores} cores" if cpu.cores else ""), tuple(more)
    number, load = busiest
    more.append(
        (
            "busiest",
            f"core {number}: softirq {100 * load.softirq:.0f} %, steal {100 * load.steal:.0f} %",
        )
    )
    return f"busiest core {100 * load.busy:.0f} %", tuple(more)


def _gateway(facts: LinkFacts) -> tuple[str, Facts]:
    route, near = facts.route, facts.gateway_latency
    if route is None:
        return "", ()
    more = [("device", route.device), ("source", route.source or "-")]
    if facts.gateway_state:
        more.append(("neighbour", facts.gateway_state))
    if not route.gateway:
        return ("this host itself" if route.local else "direct, no gateway"), tuple(more)
    rtt = f", {near.median_ms:.2f} ms" if near and near.median_ms is not None else ""
    known = rtt or facts.gateway_state in ("reachable", "stale", "delay", "probe", "permanent")
    return f"{route.gateway}{rtt}" if known else "", tuple(more)


def _round_trips(facts: LinkFacts) -> tuple[str, Facts]:
    found = facts.latency
    if found is None or found.median_ms is None or found.least_ms is None:
        return "", ()
    more = (
        ("probes", f"{found.sent} by {found.method}, {found.lost} unanswered"),
        ("least", f"{found.least_ms:.3f} ms, largest {max(found.rtts_ms):.3f} ms"),
    )
    jitter = f", ± {found.jitter_ms:.2f}" if found.jitter_ms is not None else ""
    lost = f", {found.lost} lost" if found.lost else ""
    return f"{found.median_ms:.2f} ms{jitter}{lost}", more


def _mtu(facts: LinkFacts) -> tuple[str, Facts]:
    top, path = facts.interface, facts.path_mtu
    if top is None or top.mtu_bytes is None:
        return "", ()
    more = [("interface", f"{top.name} {top.mtu_bytes}")]
    if path is None:
        return f"{top.mtu_bytes} here", tuple(more)
    more.append(("probes", f"{path.method}, {path.error or f'up to {path.tried_bytes} bytes'}"))
    if path.mtu_bytes is None:
        return f"{top.mtu_bytes} here", tuple(more)
    at_least = "" if path.settled or path.black_hole else " or more"
    return f"{top.mtu_bytes} here, {path.mtu_bytes}{at_least} on path", tuple(more)


def _hops(facts: LinkFacts) -> tuple[str, Facts]:
    if facts.hops is None or not facts.hops.hops:
        return "", ()
    more = tuple(
        (
            str(hop.distance),
            f"{hop.address}  {hop.rtt_ms:.2f} ms {hop.refusal}".rstrip()
            if hop.rtt_ms is not None
            else "no answer",
        )
        for hop in facts.hops.hops[:16]
    )
    count = len(facts.hops.hops)
    word = "hop" if count == 1 else "hops"
    return (f"{count} {word}" if facts.hops.reached else f"{count} {word} answered"), more


def _port(facts: LinkFacts) -> tuple[str, Facts]:
    found = facts.port
    if found is None:
        return "", ()
    more = (("handshake", f"{found.rtt_ms:.2f} ms"),) if found.rtt_ms is not None else ()
    return f"{found.number} {found.state.value}", more


_KINDS = (
    _Kind(
        "Carrier and duplex",
        (
            "interface-gone",
            "no-carrier",
            "duplex-mismatch",
            "half-duplex",
            "not-as-expected",
            "virtual-link",
        ),
        _carrier,
    ),
    _Kind(
        "Negotiation",
        ("slower-than-offered", "forced-link"),
        _negotiation,
        cable=True,
        unjudged=link_unjudged.forced,
    ),
    _Kind("Wi-Fi", ("shared-medium",), _radio),
    _Kind(
        "Optics",
        ("weak-optics",),
        _optics,
        "within its limits",
        gap="optical power",
        unjudged=link_unjudged.unmeasured_light,
    ),
    _Kind(
        "Members",
        ("member-down",),
        _members,
        "all up",
        unjudged=link_unjudged.members_without_carrier,
    ),
    _Kind("Link flaps", ("flapping",), _flaps, "steady", "counters", cable=True),
    _Kind("Interface errors", ("link-degraded",), _errors, "clean", "counters", cable=True),
    _Kind("Interface drops", ("host-drops", "paused"), _drops, "clean", "counters"),
    _Kind("Receive ring", ("small-ring",), _rings, "enough", cable=True),
    _Kind("Offloads", ("offloads-off",), _offloads, cable=True),
    _Kind(
        "Queue discipline",
        ("queue-drops",),
        _queue,
        "nothing unusual",
        unjudged=link_unjudged.dropping_queue,
    ),
    _Kind(
        "CPU",
        ("busy-core", "stolen-cpu", "one-core-irqs", "cpu-quota", "cpu-governor"),
        _cpu,
        "has time left",
        "counters",
        gap="CPU load",
        unjudged=link_unjudged.busy_processor,
    ),
    _Kind(
        "Gateway",
        ("gateway-silent",),
        _gateway,
        "answers",
        "latency",
        unjudged=link_unjudged.unanswered_gateway,
    ),
    _Kind(
        "MTU",
        ("mtu-differs", "mtu-blackhole"),
        _mtu,
        "as expected",
        "path",
        unjudged=link_unjudged.unprobed_path,
    ),
    _Kind(
        "Idle RTT and jitter",
        ("unreachable", "lost-probes", "jitter"),
        _round_trips,
        "steady",
        "latency",
        needs_host=True,
    ),
    _Kind("Hops", (), _hops, "as found", "hops", needs_host=True),
    _Kind("Server's port", ("port-not-ready",), _port, "iperf3 is ready", "port", needs_host=True),
    _Kind(
        "Socket buffers",
        ("small-buffers",),
        _buffers,
        "enough for this path",
        "latency",
        unjudged=link_unjudged.unknown_need,
    ),
)
