"""`python -m tests.accuracy`: how often the first verdict is right, on paths with a known fault.

  --reduced   run a few cases of every cause in the lab, about 4 minutes (the default)
  --full      run the whole grid, about 2.5 hours
  --carried   judge the recordings that come with the tests, a minute
  --only TEXT run or judge only cases whose name holds TEXT
  --choosing  list the misses of the half that thresholds are chosen on, and no others
  --keep FILE write the runs' records to FILE

Runs need the lab (root, or user namespaces) and an otherwise quiet machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.accuracy import cases, record, running, scoring
from tests.accuracy.cases import Case
from tests.accuracy.record import Record
from tests.accuracy.scoring import Outcome
from tuiperf.rules.book import judge


def outcome(case: Case, run: Record) -> Outcome:
    """Judge a run as at its end."""
    return Outcome(case, tuple(judge(record.session_of(run))))


def measured(wanted: Iterable[Case]) -> Iterator[tuple[Case, Record]]:
    """Run cases, one after the other; runs that the machine spoiled are left out."""
    for case in wanted:
        run, why = running.run_until_valid(case)
        if run is None:
            print(f"  {case.name}: left out, {why}", file=sys.stderr, flush=True)
            continue
        yield case, run


def carried(part: str = "") -> Iterator[tuple[Case, Record]]:
    """The recorded runs with their cases: all of them, or one file's."""
    known = {case.name: case for case in (*cases.of_profiles(), *cases.grid())}
    for path in sorted(record.FOLDER.glob(f"{part or '*'}.jsonl.gz")):
        for run in record.read(path):
            if run.name in known:
                yield known[run.name], run


def report(outcomes: list[Outcome], choosing: bool = False) -> None:
    """Print the matrix, the figures and each miss; of one half alone while rules are changed."""
    print("\n".join(scoring.confusion(outcomes)), end="\n\n")
    halves = (
        ("choosing half", [each for each in outcomes if each.case.for_choosing]),
        ("other half", [each for each in outcomes if not each.case.for_choosing]),
        ("profiles", [each for each in outcomes if not each.case.of_grid]),
        ("all", outcomes),
    )
    for name, part in halves:
        if part:
            print(scoring.words(name, scoring.score(part)))
    shown = [each for each in outcomes if each.case.for_choosing] if choosing else outcomes
    print("\nnot right:")
    print("\n".join(f"  {line}" for line in scoring.misses(shown)) or "  none")


def main(arguments: list[str]) -> int:
    """The command; 0 when at least 90 % are right and at most 2 % wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--reduced", action="store_true")
    which.add_argument("--full", action="store_true")
    which.add_argument("--carried", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--choosing", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(arguments)
    if options.carried:
        pairs = carried()
    else:
        running.hurry()
        pairs = measured(
            case
            for case in (cases.grid() if options.full else cases.reduced())
            if options.only in case.name
        )
    outcomes, records = [], []
    for case, run in pairs:
        if options.only not in case.name:
            continue
        outcomes.append(outcome(case, run))
        records.append(run)
        if not options.carried:
            told = outcomes[-1]
            mark = "right" if told.right else "WRONG" if told.wrong else "no claim"
            print(f"  {case.name}: {told.first.id}, {mark}", file=sys.stderr, flush=True)
    if options.keep:
        record.write(options.keep, records)
    report(outcomes, options.choosing)
    found = scoring.score(outcomes)
    return 0 if found.right >= 0.9 and found.wrong <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
