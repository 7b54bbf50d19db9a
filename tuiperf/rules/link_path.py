"""The way beyond the link: routes, neighbours, packet sizes, round trips, the server's port."""

from __future__ import annotations

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.ports import PortState

from .link_signs import name
from .verdict import Confidence, Level, Verdict

JITTER_LEAST_MS = 2.0
JITTER_SHARE = 0.5
ORDINARY_MTU = 1500
LOST_LEAST = 2
"""Lost probes that are worth a word: one may have been chance."""


def gateway_silent(facts: LinkFacts) -> Verdict | None:
    """The next router does not answer its own address."""
    route, near = facts.route, facts.gateway_latency
    if route is None or not route.gateway or facts.gateway_state not in ("failed", "incomplete"):
        return None
    if near is not None and near.rtts_ms:
        return None
    return Verdict(
        id="gateway-silent",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Gateway is silent",
        short=route.gateway,
        claim=f"The gateway {route.gateway} does not answer: nothing leaves this network.",
        because=(f"no MAC address was learned for it ({facts.gateway_state}: ARP or ND failed)",),
        next=(
            "try: the right VLAN and port; is the gateway's address right?",
            f"look: ip neigh show dev {facts.interface.name if facts.interface else ''}".rstrip(),
        ),
    )


def unreachable(facts: LinkFacts) -> Verdict | None:
    """A host that nothing of ours reaches."""
    found = facts.latency
    if not facts.address or found is None or found.rtts_ms:
        return None
    if facts.port is not None and facts.port.state in (PortState.OPEN, PortState.REFUSED):
        return None
    hops = facts.hops.hops if facts.hops else ()
    last = next((hop for hop in reversed(hops) if hop.address), None)
    if facts.route is not None and not facts.route.gateway and facts.host_state in _NO_MAC:
        return _not_here(facts)
    stop = f"the last that answers is {last.address}, {last.distance} hops away" if last else ""
    refused = f": it says {last.refusal}" if last and last.refusal else ""
    return Verdict(
        id="unreachable",
        level=Level.FAULT if refused else Level.LOOK,
        confidence=Confidence.HIGH if refused else Confidence.MEDIUM,
        title="No answer",
        short=facts.host,
        claim=f"{_with_address(facts)} answers neither pings nor connections: it is off, "
        "or a firewall drops both.",
        because=tuple(each for each in (found.error, stop + refused) if each)
        or ("nothing came back at all",),
    )


def _with_address(facts: LinkFacts) -> str:
    """The host as it was asked for, and the address that its name stands for."""
    named = facts.host != facts.address
    return f"{facts.host} ({facts.address})" if named else facts.host


_NO_MAC = ("failed", "incomplete")


def _not_here(facts: LinkFacts) -> Verdict:
    """A neighbour whose address nobody answers to: it is not on this wire."""
    return Verdict(
        id="unreachable",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Not on this network",
        short=facts.host,
        claim=f"Nobody on {name(facts)}'s network answers to {facts.address}: it is off, it has "
        "another address, or it is in another VLAN.",
        because=(f"no MAC address was learned for it ({facts.host_state}: ARP or ND failed)",),
        next=(
            "try: is it on, is its address right, is the switch's port in the right VLAN?",
            f"look: ip neigh show {facts.address.partition('%')[0]}",
        ),
    )


def mtu_differs(facts: LinkFacts) -> Verdict | None:
    """The path takes smaller packets than the interface sends; or a layer above sends larger."""
    path, top = facts.path_mtu, facts.interface
    if path is not None and path.mtu_bytes and top is not None and top.mtu_bytes:
        taken = min(top.mtu_bytes, path.tried_bytes) - path.mtu_bytes
        known = path.settled or path.named_by
        if taken > 0 and known and not path.black_hole:
            return _smaller_path(facts, top.mtu_bytes, path.mtu_bytes, taken)
    device = facts.device
    if top is None or device is None or top.mtu_bytes is None or device.mtu_bytes is None:
        return None
    if top.mtu_bytes <= device.mtu_bytes:
        return None
    return Verdict(
        id="mtu-differs",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="MTU differs",
        short=f"{top.mtu_bytes} on {device.mtu_bytes}",
        claim=f"{top.name} sends packets of up to {top.mtu_bytes} bytes, {device.name} below it "
        f"takes {device.mtu_bytes}: larger ones are lost.",
        because=(f"MTU {top.mtu_bytes} at {top.name}, {device.mtu_bytes} at {device.name}",),
        next=(f"try: ip link set {top.name} mtu {device.mtu_bytes}",),
        qualifier=(("kind", "layers"),),
    )


def _smaller_path(facts: LinkFacts, here: int, path: int, taken: int) -> Verdict:
    found = facts.path_mtu
    named = found.named_by if found else ""
    jumbo = here > ORDINARY_MTU >= path
    why = "a link on the way has no jumbo frames" if jumbo else f"a tunnel or a VPN takes {taken}"
    return Verdict(
        id="mtu-differs",
        level=Level.LOOK,
        confidence=Confidence.HIGH if named else Confidence.MEDIUM,
        title="Jumbo frames end on the path" if jumbo else "Tunnel on the path",
        short=f"{here} here, {path} on path",
        claim=f"The path to {facts.host} carries {path} bytes, {name(facts)} sends up to {here}: "
        f"{why}.",
        because=(
            f"{named} names {path} bytes as its MTU"
            if named
            else f"packets of {path} bytes pass whole, larger ones do not",
        ),
        ruled_out=("a black hole: the sender is told, so TCP adapts by itself",) if named else (),
        next=(f"look: UDP tests want datagrams that fit: -l {path - _headers(facts)}",),
        qualifier=(("kind", "path"),),
    )


def _headers(facts: LinkFacts) -> int:
    """Bytes of the IP and UDP headers."""
    return 48 if ":" in facts.address else 28


def black_hole(facts: LinkFacts) -> Verdict | None:
    """Large packets vanish, and no router says so."""
    found = facts.path_mtu
    if found is None or not found.black_hole or found.mtu_bytes is None:
        return None
    fails = found.fails_bytes or found.tried_bytes
    size = (
        f"Packets above {found.mtu_bytes} bytes" if found.settled else f"Packets of {fails} bytes"
    )
    too_big = "packet too big" if ":" in facts.address else "fragmentation needed"
    return Verdict(
        id="mtu-blackhole",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="MTU black hole",
        short=f"above {found.mtu_bytes} bytes" if found.settled else f"at {fails} bytes",
        claim=f"{size} vanish on the way to {facts.host}, and no router says so: connections "
        "open, then hang.",
        because=(
            f"packets of {found.mtu_bytes} bytes are answered, those of {fails} never",
            f"no ICMP '{too_big}' came back: a firewall drops it",
        ),
        next=(
            "try: sysctl -w net.ipv4.tcp_mtu_probing=1",
            f"try: ip route change … mtu {found.mtu_bytes}, or let {_told_by(facts)} pass",
        ),
    )


def lost_probes(facts: LinkFacts) -> Verdict | None:
    """Round trips of which some never came back, although nothing is being measured."""
    found = facts.latency
    if found is None or not found.rtts_ms or found.lost < LOST_LEAST:
        return None
    return Verdict(
        id="lost-probes",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Probes are lost",
        short=f"{found.lost} of {found.sent}",
        claim=f"{found.lost} of {found.sent} probes to {facts.host} were not answered: packets are "
        "lost at rest, or somebody limits how many pings are answered.",
        because=(f"{found.sent} probes ({found.method}), {len(found.rtts_ms)} answers",),
        next=(f"look: ping -c 100 -i 0.2 {facts.host}; a measurement tells which of the two",),
    )


def _told_by(facts: LinkFacts) -> str:
    """The message that a router tells a too large packet by (RFC 792, RFC 4443)."""
    return "ICMPv6 type 2" if ":" in facts.address else "ICMP type 3 code 4"


def jitter(facts: LinkFacts) -> Verdict | None:
    """Round trips that vary although nothing is being measured."""
    found = facts.latency
    if found is None or len(found.rtts_ms) < 5 or found.jitter_ms is None:
        return None
    median = found.median_ms or 0.0
    if found.jitter_ms < max(JITTER_LEAST_MS, JITTER_SHARE * median):
        return None
    return Verdict(
        id="jitter",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Delay varies",
        short=f"± {found.jitter_ms:.1f} ms",
        claim=f"Round trips to {facts.host} vary by {found.jitter_ms:.1f} ms at rest: other "
        "traffic fills a queue, or a radio link is on the way.",
        because=(
            f"{len(found.rtts_ms)} probes ({found.method}): least {found.least_ms:.2f} ms, median "
            f"{median:.2f} ms, largest {max(found.rtts_ms):.2f} ms",
        ),
    )


def _there(facts: LinkFacts) -> str:
    """Where to start a server, in words; "" for this host itself."""
    return "" if facts.route is not None and facts.route.local else f"on {facts.host}: "


def port_closed(facts: LinkFacts) -> Verdict | None:
    """Why a test to this host would not start. It says nothing of the link, so it judges none."""
    found = facts.port
    if found is None or (found.state is PortState.OPEN and found.speaks_iperf3 and not found.busy):
        return None
    host, number = facts.host, found.number
    there = facts.latency is None or bool(facts.latency.rtts_ms)
    kinds = {
        PortState.REFUSED: (
            "refused",
            f"{host} is there, but nothing listens on TCP port {number} (or a firewall says no).",
            f"try: {_there(facts)}iperf3 -s -p {number}",
        ),
        PortState.FILTERED: (
            "filtered",
            f"Nothing comes back from TCP port {number} of {host}: "
            + ("a firewall drops it silently." if there else "nothing comes from the host at all."),
            f"try: let TCP {number} pass at {host} and on the way" if there else "",
        ),
        PortState.UNREACHABLE: (
            "unreachable",
            f"TCP port {number} of {host} cannot be reached: {found.detail}.",
            "look: the route and the hops",
        ),
        PortState.OPEN: ("open", f"TCP port {number} of {host} is open: {found.server}.", ""),
    }
    word, claim, advice = kinds[found.state]
    return Verdict(
        id="port-not-ready",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title=f"Port {number} {'busy' if found.busy else word}",
        short=found.detail or found.server or ("no server there" if word == "refused" else ""),
        claim=claim,
        next=(advice,) if advice else (),
        qualifier=(("kind", "busy" if found.busy else word),),
    )
