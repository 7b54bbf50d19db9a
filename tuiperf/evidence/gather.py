"""A link check: one stage after another, each giving facts that can be shown at once.

Nothing here raises: what cannot be read is a gap. Bounded: about 2 s and the counters' window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from . import (
    container,
    counters,
    cpu,
    ethtool_reader,
    files,
    hops,
    interfaces,
    kernel,
    latency,
    module,
    path_mtu,
    ports,
    route,
    wifi,
)
from .ethtool import Ethtool
from .facts import STAGES, LinkFacts
from .gaps import Gaps
from .interfaces import Interface, by_index, by_name
from .link import normalise, walk

WINDOW_S = 5.0

Sleep = Callable[[float], object]


@dataclass(frozen=True)
class Plan:
    """What to look at, and how long. `asked` is an interface, a host, or "" for the way out."""

    asked: str = ""
    port: int = 5201
    window_s: float = WINDOW_S
    family: int = 0
    expected: str = ""

    @property
    def quick(self) -> bool:
        return self.window_s <= 0


def gather(plan: Plan, sleep: Sleep = time.sleep) -> Iterator[LinkFacts]:
    """Yield the facts after each stage; the last ones have nothing pending."""
    gaps = Gaps()
    facts = find(plan, gaps)
    if facts.problem or facts.device is None:
        yield replace(facts, gaps=gaps.all(), pending=())
        return
    device = facts.device
    before, cores = counters.take(device, gaps), cpu.times(gaps)
    facts = replace(look(facts, gaps), totals=before)
    for stage, read in (
        ("device", None),
        ("latency", _latency),
        ("path", _path_mtu),
        ("hops", _hops),
        ("port", _port),
    ):
        if read is not None:
            facts = read(facts, plan, gaps)
        facts = replace(facts, gaps=gaps.all(), pending=STAGES[STAGES.index(stage) + 1 :])
        yield facts
    if plan.quick:
        yield replace(facts, gaps=gaps.all(), pending=())
        return
    sleep(max(0.0, before.t_s + plan.window_s - time.monotonic()))
    yield _closed(facts, before, cores, gaps)


def _closed(
    facts: LinkFacts, before: counters.Counts, cores: Sequence[cpu.CoreTimes], gaps: Gaps
) -> LinkFacts:
    """The window's end: what was counted in it, and how the device stands now."""
    assert facts.device is not None
    after = counters.take(facts.device, gaps)
    facts = again(facts, gaps)
    if facts.gone:
        return replace(facts, gaps=gaps.all(), pending=())
    return replace(
        facts,
        totals=after,
        window=counters.difference(before, after),
        cpu=replace(facts.cpu, loads=cpu.loads(cores, cpu.times(gaps))),
        gaps=gaps.all(),
        pending=(),
    )


def again(facts: LinkFacts, gaps: Gaps) -> LinkFacts:
    """What the device tells now, in place of what it told before; or that it is gone."""
    top = facts.interface
    if top is None or facts.device is None:
        return facts
    known = interfaces.read(gaps)
    here = by_index(known, top.index) or by_name(known, top.name)
    if here is None:
        return _gone(facts, top.name)
    return look(replace(_down(facts, here, known), gone=""), gaps)


def _gone(facts: LinkFacts, name: str) -> LinkFacts:
    """Facts of what is no longer there: nothing that was true of it is told any more."""
    assert facts.device is not None
    device = replace(facts.device, enabled=None, carrier=None)
    return replace(facts, gone=name, device=device, link=None, ethtool=Ethtool(), window=None)


def find(plan: Plan, gaps: Gaps) -> LinkFacts:
    """Which interface is meant, and the device that carries its frames; or why there is none."""
    facts = LinkFacts(asked=plan.asked, expected=plan.expected)
    known = interfaces.read(gaps)
    if not known:
        return replace(facts, problem="no network interface can be read here")
    named = by_name(known, plan.asked) if plan.asked else None
    if named is not None:
        return _down(replace(facts, route=_default_by(named, gaps)), named, known)
    if plan.asked:
        return _towards(facts, plan, known, gaps)
    for default in route.default_routes(gaps):
        way_out = by_index(known, default.device_index) or by_name(known, default.device)
        if way_out is not None:
            return _down(replace(facts, route=default), way_out, known)
    hardware = [each for each in known if each.bus] or [
        each for each in known if not each.loopback and each.enabled
    ]
    if not hardware:
        return replace(
            facts, problem="this host has no interface but loopback: name one, or a HOST"
        )
    return _down(facts, hardware[0], known)


def _towards(facts: LinkFacts, plan: Plan, known: Sequence[Interface], gaps: Gaps) -> LinkFacts:
    address, why = route.resolve(plan.asked, plan.family)
    if not address:
        problem = f"'{plan.asked}' is no interface here, and as a host: {why}"
        return replace(facts, problem=problem)
    way = route.towards(address, gaps)
    facts = replace(facts, host=plan.asked, address=address, route=way)
    if route.is_link_local(address) and "%" not in address:
        scoped = f"{address}%{way.device or 'eth0'}"
        problem = f"{address} is valid on one link alone: say on which, as {scoped}"
        return replace(facts, problem=problem)
    interface = by_index(known, way.device_index) or by_name(known, way.device)
    if interface is None:
        why = way.refusal or "the route names no interface"
        return replace(facts, problem=f"no way to {plan.asked} ({address}): {why}")
    return _down(facts, interface, known)


def _default_by(interface: Interface, gaps: Gaps) -> route.Route | None:
    routes = route.default_routes(gaps)
    return next((each for each in routes if each.device_index == interface.index), None)


def _down(facts: LinkFacts, top: Interface, known: Sequence[Interface]) -> LinkFacts:
    way = walk(top, known)
    return replace(
        facts,
        interface=top,
        device=way.device,
        chain=tuple(each.name for each in way.chain),
        members=way.members,
        group=way.group,
    )


def look(facts: LinkFacts, gaps: Gaps) -> LinkFacts:
    """All that the device and this host tell at once."""
    assert facts.device is not None
    device = facts.device
    told = ethtool_reader.read(device.name, gaps)
    radio = wifi.read(device.index, gaps)
    own = interfaces.is_in_sysfs(device)
    link = normalise(
        device,
        told,
        wireless=radio is not None or (own and interfaces.has_radio(device)),
        fallback=ethtool_reader.modes_of_sysfs(device.name) if own else None,
    )
    plugged = told.info.port in ("fibre", "direct attach copper", "other", None)
    optics = module.read(device.name, gaps) if plugged and link.speed.value != "virtual" else None
    uptime = (files.text("/proc/uptime", 64) or "").split(maxsplit=1)
    return replace(
        facts,
        link=link,
        ethtool=told,
        module=optics,
        wifi=radio,
        kernel=kernel.read(gaps),
        cpu=cpu.read(device.name, device.slot, gaps),
        surroundings=container.read(),
        uptime_s=_seconds(uptime[0] if uptime else ""),
    )


def _seconds(word: str) -> float | None:
    whole = files.whole(word.partition(".")[0])
    return None if whole is None else float(whole)


def _latency(facts: LinkFacts, plan: Plan, gaps: Gaps) -> LinkFacts:
    """Round trips to the host, and to the gateway on the way."""
    probes, wait_s = (4, 0.3) if plan.quick else (latency.PROBES, latency.WAIT_S)
    gateway = facts.route.gateway if facts.route else ""
    if not _may_send(facts):
        return facts
    if facts.address:
        found = latency.measure(
            facts.address, gaps, probes=probes, wait_s=wait_s, port=plan.port, spacing_s=0.08
        )
        index = facts.interface.index if facts.interface else None
        state = "" if gateway else route.neighbour_state(facts.address, index)
        facts = replace(facts, latency=found, host_state=state)
    if gateway and gateway != facts.address:
        near = latency.measure(
            _scoped(gateway, facts), gaps, probes=3, spacing_s=0.03, wait_s=0.25, port=plan.port
        )
        index = facts.interface.index if facts.interface else None
        state = route.neighbour_state(gateway, index)
        facts = replace(facts, gateway_latency=near, gateway_state=state)
    return facts


def _scoped(address: str, facts: LinkFacts) -> str:
    """A link-local IPv6 address needs the interface's name (RFC 4007)."""
    link_local = route.is_link_local(address)
    return f"{address}%{facts.interface.name}" if link_local and facts.interface else address


def _may_send(facts: LinkFacts) -> bool:
    device = facts.interface
    return device is not None and device.enabled is not False and device.carrier is not False


def _path_mtu(facts: LinkFacts, plan: Plan, gaps: Gaps) -> LinkFacts:
    top = facts.interface
    if not facts.address or not _may_send(facts) or top is None or not _answers(facts):
        return facts
    limit_s = 0.8 if plan.quick else 3.0
    rtt_ms = facts.latency.median_ms if facts.latency else None
    wait_s = min(0.6, max(0.15, 3 * (rtt_ms or 100) / 1e3))
    found = path_mtu.find(
        facts.address, top.mtu_bytes or 1500, gaps, wait_s=wait_s, limit_s=limit_s
    )
    return replace(facts, path_mtu=found)


def _hops(facts: LinkFacts, plan: Plan, gaps: Gaps) -> LinkFacts:
    local = facts.route is not None and facts.route.local
    if not facts.address or not _may_send(facts) or local or plan.quick:
        return facts
    return replace(facts, hops=hops.trace(facts.address, wait_s=0.3, limit_s=2.0))


def _port(facts: LinkFacts, plan: Plan, gaps: Gaps) -> LinkFacts:
    if not facts.address or not _may_send(facts):
        return facts
    return replace(
        facts, port=ports.look(facts.address, plan.port, wait_s=0.5 if plan.quick else 1.0)
    )


def _answers(facts: LinkFacts) -> bool:
    return facts.latency is not None and bool(facts.latency.rtts_ms)
