"""Devices without a cable of their own: whose link it is, and who knows more. Nothing is judged."""

from __future__ import annotations

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.link import TUNNELS, DeviceClass

from .link_signs import is_up, name
from .verdict import Confidence, Level, Verdict

_INSIDE = ("dummy", "ifb", "bridge")
_PAIRS = ("veth", "netkit")
_CARRIED = ("tun", "wireguard", *TUNNELS)


def virtual_link(facts: LinkFacts) -> Verdict | None:
    """A device without a cable of its own: its speed is not judged."""
    if facts.link is None or facts.link.device_class is not DeviceClass.VIRTUAL:
        return None
    if facts.device is None or (facts.route is not None and facts.route.local):
        return None
    who = name(facts)
    words, steps = _whose(facts.device, facts)
    return Verdict(
        id="virtual-link",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Virtual link",
        short="not judged",
        claim=f"{who} is {facts.link.what}. {words}",
        because=("its driver reports no speed of a cable, or an invented one",)
        if is_up(facts)
        else (),
        next=steps,
    )


def _whose(device: Interface, facts: LinkFacts) -> tuple[str, tuple[str, ...]]:
    """Whose link it is in words, and where to look instead."""
    inside = facts.surroundings.container
    if device.loopback or device.kind in _INSIDE:
        return "It has no cable, so there is nothing to judge.", ()
    if device.kind in _CARRIED:
        step = "look: tuiperf link HOST, with the tunnel's other end as HOST"
        return "Another interface carries its packets: the cable is there.", (step,)
    if device.kind in _PAIRS and not device.lower_elsewhere:
        return "It has no cable: this host's processor is its only limit.", ()
    if device.kind in _PAIRS:
        return f"Its other end is in another network namespace. {_of_container(inside)}", ()
    if device.kind:
        return _of_container(inside) if inside else "Its cable is below: ask there.", ()
    if "shared" in (facts.link.what if facts.link else ""):
        return "The host that owns the card knows its cable: ask there.", ()
    whose = f"This is {inside}'s container, the card is its host's. " if inside else ""
    return f"{whose}The hypervisor knows the cable, its speed and its errors: ask there.", ()


def _of_container(inside: str) -> str:
    if inside:
        return f"This is {inside}'s container: the host's own link cannot be seen from in here."
    return "If this is a container, the host's own link cannot be seen from in here."
