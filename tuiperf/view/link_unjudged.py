"""Why a check without a verdict is not called fine: in the words of its line, "" when it is."""

from __future__ import annotations

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.link import members_down
from tuiperf.rules.link_host import BUSY_CORE


def forced(facts: LinkFacts) -> str:
    return "set by hand" if facts.link is not None and facts.link.autoneg is False else ""


def unmeasured_light(facts: LinkFacts) -> str:
    readings = facts.module.readings if facts.module else ()
    return "" if any(each.state for each in readings) else "it tells no limits"


def members_without_carrier(facts: LinkFacts) -> str:
    """A bridge's port without a cable is no fault; a bond's has a verdict."""
    return "not all have a carrier" if members_down(facts.members) else ""


def dropping_queue(facts: LinkFacts) -> str:
    dropped = facts.window.qdisc_drops if facts.window else None
    return "a few, as full queues do" if dropped else ""


def busy_processor(facts: LinkFacts) -> str:
    busiest = facts.cpu.busiest
    return "a core is full, not by frames" if busiest and busiest[1].busy >= BUSY_CORE else ""


def unanswered_gateway(facts: LinkFacts) -> str:
    route, near = facts.route, facts.gateway_latency
    if route is None or not route.gateway:
        return "no router in between"
    return "" if near is not None and near.rtts_ms else "known, answers no pings"


def unprobed_path(facts: LinkFacts) -> str:
    path = facts.path_mtu
    if path is None:
        return "the path was not probed" if facts.address else ""
    if path.mtu_bytes is None:
        return "larger packets not known"
    return "" if path.settled else "the time ran out"


def unknown_need(facts: LinkFacts) -> str:
    """Buffers are enough for a speed and a round trip, not by themselves."""
    if facts.latency is None:
        return "a HOST tells if enough"
    return "" if facts.speed_mbps and facts.latency.rtts_ms else "needs the link's speed"
