"""Live verdicts that do not flap: a first verdict gives way only to one that stays.

A test that runs is judged again and again, and numbers near a threshold cross it back and forth. A
judge of this kind keeps what it told until another verdict has come first for some seconds of the
test; once the data has ended it says what the rules say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tuiperf.session import Phase, Session

from .verdict import Level, Verdict

HOLD_S = 1.5
"""So long another verdict must come first. Measured: numbers at a threshold stay on one side for
0.3 to 0.6 s; a cause that sets in stays."""
RETURN_S = 4.0  # the same for one that was told before and had given way
DOUBT_S = 2.5  # the same for "cannot tell" after something had been told

_OVER = (Phase.FINISHING, Phase.ENDED)


class Held:
    """A judge with hysteresis. It follows one session at a time; another one begins anew."""

    def __init__(self, judge: Callable[[Session], Sequence[Verdict]]) -> None:
        self._judge = judge
        self._begin(None)

    def _begin(self, session: Session | None) -> None:
        self._session = session
        self._told: Sequence[Verdict] = ()
        self._before: set[str] = set()
        self._rival = ""
        self._rival_s = 0.0
        self._seen_s = 0.0

    def __call__(self, session: Session) -> Sequence[Verdict]:
        """The verdicts to show now, the first one first."""
        if session is not self._session or session.test_s < self._seen_s:
            self._begin(session)
        self._seen_s = session.test_s
        found = self._judge(session)
        if session.phase in _OVER or not self._stays(found[0], session.test_s):
            self._tell(found)
        return self._told

    def _stays(self, first: Verdict, now_s: float) -> bool:
        """Whether what was told is still to be told."""
        if not self._told or self._told[0].level is Level.PENDING:
            return False
        if first.id == self._told[0].id:
            return False  # the same with newer numbers
        if first.id != self._rival:
            self._rival, self._rival_s = first.id, now_s
        needed_s = HOLD_S
        if first.level is Level.PENDING:
            needed_s = DOUBT_S
        elif first.id in self._before:
            needed_s = RETURN_S
        return now_s - self._rival_s < needed_s

    def _tell(self, found: Sequence[Verdict]) -> None:
        self._told = found
        self._rival = ""
        if found[0].level is not Level.PENDING:
            self._before.add(found[0].id)
