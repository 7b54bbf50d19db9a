"""First verdicts of running tests do not flap: every recording, judged as a screen does."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.accuracy import record
from tests.accuracy.__main__ import carried
from tests.rules import recordings
from tuiperf.rules.book import judge
from tuiperf.rules.hold import DOUBT_S, HOLD_S, RETURN_S, Held
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Phase, Session

Runs = list[tuple[str, Iterable[Session]]]


def told(first: str, level: Level = Level.FINE) -> list[Verdict]:
    return [Verdict(first, level, Confidence.HIGH, first, "", first)]


class Scripted:
    """Says what the test wants by the time of the session."""

    def __init__(self, script: Callable[[float], list[Verdict]]) -> None:
        self.script = script

    def __call__(self, session: Session) -> list[Verdict]:
        return self.script(session.test_s)


def shown(
    script: Callable[[float], list[Verdict]], seconds: float = 10.0
) -> list[tuple[float, str]]:
    """What is told first, and since when."""
    held, session = Held(Scripted(script)), Session()
    session.phase = Phase.RUNNING
    found: list[tuple[float, str]] = []
    for step in range(round(seconds * 10) + 1):
        session.test_s = step / 10
        first = held(session)[0].id
        if not found or found[-1][1] != first:
            found.append((session.test_s, first))
    return found


def test_a_short_change_is_not_shown() -> None:
    assert shown(lambda s: told("b" if 4 <= s < 4 + 0.9 * HOLD_S else "a")) == [(0.0, "a")]


def test_a_change_that_stays_is_shown() -> None:
    story = shown(lambda s: told("b" if s >= 4 else "a"))
    assert [name for _, name in story] == ["a", "b"]
    assert story[1][0] == pytest.approx(4 + HOLD_S)


def test_what_had_given_way_comes_back_late() -> None:
    story = shown(lambda s: told("b" if 2 <= s < 5 else "a"), 12)
    assert story[-1][1] == "a"
    assert story[-1][0] == pytest.approx(5 + RETURN_S)


def test_a_short_doubt_is_not_shown() -> None:
    def script(now_s: float) -> list[Verdict]:
        doubt = 4 <= now_s < 4 + 0.9 * DOUBT_S
        return told("cannot-tell", Level.PENDING) if doubt else told("a")

    assert shown(script) == [(0.0, "a")]


def test_the_first_answer_is_shown_at_once() -> None:
    story = shown(lambda s: told("a") if s >= 3 else told("cannot-tell", Level.PENDING))
    assert story == [(0.0, "cannot-tell"), (3.0, "a")]


def test_the_end_says_what_the_rules_say() -> None:
    held, session = Held(Scripted(lambda s: told("b" if s >= 4 else "a"))), Session()
    session.phase = Phase.RUNNING
    held(session)
    session.test_s, session.phase = 4.1, Phase.ENDED
    assert held(session)[0].id == "b"


def test_another_session_begins_anew() -> None:
    held = Held(Scripted(lambda s: told("b" if s >= 4 else "a")))
    first, second = Session(), Session()
    held(first)
    second.test_s = 5.0
    assert held(second)[0].id == "b"


def comes_back(sessions: Iterable[Session]) -> bool:
    """A first verdict that gives way and returns, or that becomes unknown."""
    held, ids = Held(judge), [""]
    for session in sessions:
        verdict = held(session)[0]
        name = "pending" if verdict.level is Level.PENDING else verdict.id
        if name != ids[-1]:
            ids.append(name)
    known = [name for name in ids if name != "pending"]
    return len(known) != len(set(known)) or "pending" in ids[2:]


def test_live_verdicts_of_recorded_runs_do_not_come_back() -> None:
    grid: Runs = [(run.name, record.prefixes(run)) for _, run in carried()]
    older: Runs = [(run.name, recordings.prefixes(run)) for run in recordings.carried()]
    flapping = [name for name, sessions in (*grid, *older) if comes_back(sessions)]
    assert len(flapping) <= 0.005 * len(grid), flapping
