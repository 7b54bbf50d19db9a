"""What the link's rules ask of a check before anything else."""

from __future__ import annotations

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.link import DeviceClass


def is_cable(facts: LinkFacts) -> bool:
    """A card with a cable of its own: what the cable's rules are about."""
    return facts.link is not None and facts.link.device_class is DeviceClass.PHYSICAL


def name(facts: LinkFacts) -> str:
    """The name of the device that carries the frames."""
    return facts.device.name if facts.device else facts.asked


def is_up(facts: LinkFacts) -> bool:
    return facts.device is not None and facts.device.carrier is True
