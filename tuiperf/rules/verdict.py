"""A verdict: a judgement as data. No surface phrases or judges; each only draws this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Level(Enum):
    """How much a verdict wants from the reader."""

    FINE = "fine"
    LOOK = "look"
    FAULT = "fault"
    PENDING = "pending"  # not yet known, or cannot be told


class Confidence(Enum):
    """High: a primary sign and an independent one. Medium: the sign alone. Low: inferred."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True)
class Verdict:
    """One judgement.

    `id` is stable and part of the JSON; `qualifier` names what it is about where the id has one:
    ("side", "receiver"), ("direction", "reverse") or ("kind", "path-loss"). `title` is three words
    for a narrow panel, `short` the number that goes with it, `claim` the whole sentence. `because`
    holds the numbers with their units and where they come from, `ruled_out` what was excluded and
    by which number, `next` commands or keys with computed values.
    """

    id: str
    level: Level
    confidence: Confidence
    title: str
    short: str
    claim: str
    because: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    qualifier: tuple[tuple[str, str], ...] = ()
    explanation: tuple[str, ...] = ()  # the formula with the reader's numbers filled in

    def to_json(self) -> dict[str, Any]:
        """The form under "diagnosis" in the JSON report."""
        return {
            "id": self.id,
            **dict(self.qualifier),
            "level": self.level.value,
            "confidence": self.confidence.value,
            "claim": self.claim,
            "because": list(self.because),
            "ruled_out": list(self.ruled_out),
            "next": list(self.next),
        }
