"""What a screen shows of a run: the session and the reader's choices about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tuiperf.rules.verdict import Verdict
from tuiperf.session import Session
from tuiperf.view.numbers import Units, units_of
from tuiperf.view.rows import UNICODE, Glyphs


@dataclass
class Page:
    """One run as it is shown. The screen writes it, widgets read it."""

    session: Session = field(default_factory=Session)
    verdicts: Sequence[Verdict] = ()
    glyphs: Glyphs = UNICODE
    waited_s: float = 0.0
    lost: str = ""
    frozen: bool = False
    explaining: bool = False
    each_stream: bool = False
    scrolled: int = 0  # rows of the table scrolled away
    explained: int = 0  # rows of the explanation scrolled away
    kept_units: Units | None = None
    in_bytes: bool = False
    seen: bool = False  # its screen was shown since the run ended

    @property
    def units(self) -> Units:
        """The run's units: settled once, so that columns never jump."""
        units = self.kept_units or units_of(self.session)
        if units.settled:
            self.kept_units = units
        return units.in_bytes() if self.in_bytes else units

    @property
    def has_data(self) -> bool:
        return any(len(flow.ticks) for flow in self.session.flows.values()) or bool(
            len(self.session.intervals)
        )

    @property
    def over(self) -> bool:
        return self.session.ended is not None or bool(self.lost)
