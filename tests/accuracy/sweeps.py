"""`python -m tests.accuracy.sweeps`: how often the sweep is right, how soon, with how much.

  --reduced    the profiles that CI sweeps, about 2 minutes (the default)
  --full       every profile of the lab whose fault is there all the time, about 9 minutes
  --fixed      the fixed procedure of the guides instead (30 s, -R, -P 4, -w 8M, UDP), read by the
               same rules: about 2 minutes a profile
  --only TEXT  only profiles whose name holds TEXT

Runs need the lab (root, or user namespaces) and an otherwise quiet machine.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tests.accuracy.cases import using
from tests.accuracy.running import LATE_MOST_US, TRIES, hurry
from tuiperf.engine.client import run_client
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.engine.stops import Stops
from tuiperf.events import Event
from tuiperf.lab import profiles
from tuiperf.lab.run import path
from tuiperf.report.sweep_json import document
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Level
from tuiperf.session import Session, reduce
from tuiperf.sweep.drive import Order, Sweep
from tuiperf.sweep.readings import carried_bytes

FULL_PATH = ("path-full", "line-rate", "slow-hop")
RIGHT: dict[str, tuple[str, ...]] = {
    "bloated": ("bufferbloat",),
    "bursty-loss": ("lossy:path-loss",),
    "busy-host": ("host-limited",),
    "clean-lan": FULL_PATH,
    "clean-wan": FULL_PATH,
    "duplex-mismatch": ("duplex-mismatch",),
    "duplicated": ("duplicated",),
    "ecn-marked": ("ecn-marked",),
    "far-and-short": FULL_PATH,  # a sweep gives it the time that it needs
    "fast-ethernet-hop": ("slow-hop",),
    "jittery": ("jitter",),
    "long-fat-pipe": ("window-limited:receiver",),
    "lossy": ("lossy:path-loss",),
    "lossy-reverse": ("lossy:path-loss",),
    "mtu-blackhole": ("mtu-blackhole",),
    "outages": ("outage",),
    "policed": ("lossy:policed",),
    "reordered": ("reordered",),
    "shallow-queue": ("lossy:shallow-queue",),
    "shared-medium": ("shared-medium",),
    "slow-reader": ("slow-reader",),
    "slow-sender": ("offered-less",),
    "small-receiver": ("window-limited:receiver",),
    "small-sender": ("window-limited:sender",),
    "tunnel": FULL_PATH,
}
"""The right end of a sweep over each profile. Two are left out: other traffic that comes and goes
(crowded), and a window that only an option makes (clamped-window)."""

REDUCED = ("clean-lan", "long-fat-pipe", "lossy-reverse", "policed", "mtu-blackhole")
NO_CLAIM = frozenset({"cannot-tell", "no-limit-found", "still-ramping", "per-connection"})
FIXED = (
    TestSpec(time_s=30, omit_s=5, congestion="cubic"),
    TestSpec(time_s=30, omit_s=5, congestion="cubic", reverse=True),
    TestSpec(time_s=30, omit_s=5, congestion="cubic", parallel=4),
    TestSpec(time_s=30, omit_s=5, congestion="cubic", window_bytes=8 << 20),
    TestSpec(time_s=10, protocol="udp", block_bytes=0, rate_bps=100_000_000),
)
_RANK = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}


@dataclass(frozen=True)
class Swept:
    """One profile and how its sweep ended."""

    name: str
    verdict: dict[str, Any]
    seconds: float
    carried_bytes: int
    steps: int

    @property
    def right(self) -> bool:
        return any(_matches(self.verdict, wanted) for wanted in RIGHT[self.name])

    @property
    def wrong(self) -> bool:
        """It claims something that is not so."""
        return not self.right and self.verdict["id"] not in NO_CLAIM

    def words(self) -> str:
        mark = "right" if self.right else "WRONG" if self.wrong else "no claim"
        told = " ".join(str(self.verdict.get(key, "")) for key in ("id", "side", "kind"))
        return (
            f"{self.name}: {' '.join(told.split())}, {mark}; {self.seconds:.0f} s, "
            f"{self.steps} steps, {self.carried_bytes / 1e6:.0f} MB"
        )


def _matches(verdict: dict[str, Any], wanted: str) -> bool:
    name, _, qualifier = wanted.partition(":")
    return verdict["id"] == name and (not qualifier or qualifier in verdict.values())


def sweep(spec: ClientSpec) -> dict[str, Any]:
    """Sweep from here; the JSON document. Runs on the lab's near side."""
    running = Sweep(Order(spec))
    asyncio.run(running.run())
    return document(running.state, running.state.conclusion())


def fixed(spec: ClientSpec) -> dict[str, Any]:
    """The procedure of the guides, whatever its steps show; the graver of both verdicts."""
    begun_s, carried, found = time.monotonic(), 0, []
    for test in FIXED:
        session = _session(replace(spec, test=test))
        carried += carried_bytes(session)
        if not test.udp and test.parallel == 1 and not test.window_bytes:
            found.append(judge(session)[0])
    first = min(found, key=lambda verdict: _RANK[verdict.level])
    end = {"seconds": time.monotonic() - begun_s, "bytes": carried}
    return {"verdicts": [first.to_json()], "end": end, "steps": list(FIXED)}


def _session(spec: ClientSpec) -> Session:
    session = Session()

    def emit(event: Event) -> None:
        reduce(session, event)

    with Stops.from_signals() as stops:
        run_client(spec, emit, stops)
    return session


def swept(name: str, *, by_plan: bool = True) -> Swept | None:
    """Sweep over a profile; again when the machine spoiled it, None when it stays so."""
    what = using(profiles.load(name).path, "cubic")
    for _ in range(TRIES):
        with path(what) as lab:
            spec = ClientSpec(lab.peer, port=int(lab.info["port"]))
            told = lab.near.call(sweep if by_plan else fixed, spec)
            late_us = float(lab.counters().get("late_max_us") or 0.0)
        if late_us <= LATE_MOST_US:
            end = told["end"]
            return Swept(
                name, told["verdicts"][0], end["seconds"], end["bytes"], len(told["steps"])
            )
    return None


def report(found: list[Swept]) -> None:
    """Print the shares and the medians."""
    count = len(found) or 1
    right, wrong = sum(each.right for each in found), sum(each.wrong for each in found)
    print(f"{len(found)} sweeps: right {right / count:.1%}, wrong {wrong / count:.1%}")
    if found:
        seconds = statistics.median(each.seconds for each in found)
        carried = statistics.median(each.carried_bytes for each in found)
        steps = statistics.median(each.steps for each in found)
        most_s = max(each.seconds for each in found)
        print(
            f"median {seconds:.0f} s (at most {most_s:.0f} s), {carried / 1e6:.0f} MB, "
            f"{steps:g} steps"
        )


def run(names: Iterable[str], *, by_plan: bool = True) -> list[Swept]:
    """Sweep over profiles, one after the other; those that the machine spoiled are left out."""
    found = []
    for name in names:
        one = swept(name, by_plan=by_plan)
        print(one.words() if one else f"{name}: left out", file=sys.stderr, flush=True)
        found += [one] if one else []
    return found


def main(arguments: list[str]) -> int:
    """The command; 0 when at least 95 % are right and none is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.accuracy.sweeps")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--reduced", action="store_true")
    which.add_argument("--full", action="store_true")
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args(arguments)
    hurry()
    names = [name for name in (RIGHT if options.full else REDUCED) if options.only in name]
    found = run(names, by_plan=not options.fixed)
    report(found)
    wrong = any(each.wrong for each in found)
    return 0 if not wrong and sum(each.right for each in found) >= 0.95 * len(found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
