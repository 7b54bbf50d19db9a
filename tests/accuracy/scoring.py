"""Verdicts held against the truth: right, wrong, or no claim; which is taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.accuracy.cases import HEALTHY, Case
from tuiperf.rules.verdict import Verdict

NO_CLAIM = frozenset({"cannot-tell", "no-limit-found", "still-ramping"})
"""Verdicts that blame nothing: not right where something is wrong, and not wrong either."""
LEVELS_OF_ALARM = frozenset({"look", "fault"})


@dataclass(frozen=True)
class Outcome:
    """One case and the verdicts of its run."""

    case: Case
    verdicts: tuple[Verdict, ...]

    @property
    def first(self) -> Verdict:
        return self.verdicts[0]

    @property
    def right(self) -> bool:
        return any(matches(self.first, wanted) for wanted in self.case.right)

    @property
    def wrong(self) -> bool:
        """It claims something that is not so."""
        return not self.right and self.first.id not in NO_CLAIM

    @property
    def false_alarm(self) -> bool:
        """A healthy path is said to have a fault."""
        return self.case.cause in HEALTHY and self.wrong


def matches(verdict: Verdict, wanted: str) -> bool:
    """True when a verdict is the wanted one: an id, or an id and a qualifier's value."""
    name, _, qualifier = wanted.partition(":")
    if verdict.id != name:
        return False
    return not qualifier or qualifier in dict(verdict.qualifier).values()


@dataclass(frozen=True)
class Score:
    """Shares of all cases, 0 to 1."""

    cases: int
    right: float
    wrong: float
    no_claim: float
    false_alarms: float  # of the healthy ones
    healthy: int


def score(outcomes: Sequence[Outcome]) -> Score:
    """Sum up. No cases give zeros."""
    count = len(outcomes) or 1
    right = sum(each.right for each in outcomes)
    wrong = sum(each.wrong for each in outcomes)
    healthy = [each for each in outcomes if each.case.cause in HEALTHY]
    return Score(
        len(outcomes),
        right / count,
        wrong / count,
        (len(outcomes) - right - wrong) / count,
        sum(each.false_alarm for each in healthy) / (len(healthy) or 1),
        len(healthy),
    )


def words(name: str, found: Score) -> str:
    """A score in one line."""
    return (
        f"{name}: {found.cases} runs, right {found.right:.1%}, wrong {found.wrong:.1%}, "
        f"no claim {found.no_claim:.1%}; false alarms on {found.healthy} healthy paths "
        f"{found.false_alarms:.1%}"
    )


def confusion(outcomes: Iterable[Outcome]) -> list[str]:
    """The matrix as lines: a cause and how often each first verdict came; (!) is not right."""
    rows: dict[str, Counter[str]] = {}
    true: dict[str, set[str]] = {}
    for each in outcomes:
        rows.setdefault(each.case.cause, Counter())[_label(each)] += 1
        true.setdefault(each.case.cause, set())
        if each.right:
            true[each.case.cause].add(_label(each))
    lines = []
    for cause, counts in rows.items():
        cells = [
            f"{label}{'' if label in true[cause] else ' (!)'} {count}"
            for label, count in counts.most_common()
        ]
        lines.append(f"{cause:16} {sum(counts.values()):4}  {', '.join(cells)}")
    return lines


def _label(outcome: Outcome) -> str:
    side = dict(outcome.first.qualifier).get("side")
    return f"{outcome.first.id}:{side}" if side else outcome.first.id


def misses(outcomes: Iterable[Outcome]) -> list[str]:
    """Each run whose first verdict is not right, in a line."""
    return [
        f"{each.case.name}: {_label(each)} ({each.first.short}) for {each.case.right[0]}"
        for each in outcomes
        if not each.right
    ]
