"""Paths to pretend for the plan: each answers a step with what such a path would show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tuiperf.engine.spec import TestSpec
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Direction
from tuiperf.sweep.known import Done, Idle, Kind, Known, Limits, Reading, Step
from tuiperf.sweep.plan import End, next_step

FORWARD, REVERSE = Direction.FORWARD, Direction.REVERSE
MOST_STEPS = 60  # a sweep that runs more does not end

LEVELS = {
    "lossy": Level.FAULT,
    "mtu-blackhole": Level.FAULT,
    "outage": Level.FAULT,
    "duplex-mismatch": Level.FAULT,
    "path-full": Level.FINE,
    "line-rate": Level.FINE,
    "no-limit-found": Level.FINE,
    "cannot-tell": Level.PENDING,
    "still-ramping": Level.PENDING,
}


def verdict(name: str, confidence: Confidence = Confidence.MEDIUM, **qualifier: str) -> Verdict:
    return Verdict(
        id=name,
        level=LEVELS.get(name, Level.LOOK),
        confidence=confidence,
        title=name,
        short="",
        claim=f"{name}.",
        qualifier=tuple(qualifier.items()),
    )


@dataclass(frozen=True)
class Way:
    """One direction of a pretended path."""

    told: Verdict  # of a single cubic connection
    rate_bps: float = 100e6
    four: float = 1.0  # what 4 connections carry, over one
    loss: float = 0.0
    paced_loss: float = 0.0
    waited_us: float = 200.0  # what the queue adds with 4 connections
    bbr: float = 1.0
    small_passes: bool = False
    longer: Verdict | None = None
    late: int = 0


@dataclass(frozen=True)
class Pretended:
    """A path: both directions, and what is left of each when both send."""

    there: Way
    here: Way
    beside: tuple[float, float] = (1.0, 1.0)
    rtt_us: float = 20_000.0
    idle: Idle = field(
        default_factory=lambda: Idle("10.0.0.2", "eth0", "icmp", 5, (20000, 20100, 20050, 20020))
    )

    def way(self, direction: Direction) -> Way:
        return self.there if direction is FORWARD else self.here


def answer(path: Pretended, step: Step) -> Done:
    """What a step on this path shows."""
    if step.test is None:
        return Done(step, "done", lasted_s=1.0)
    ways = (FORWARD, REVERSE) if step.test.bidir else (step.way,)
    readings = tuple(_reading(path, step, step.test, way) for way in ways)
    carried = sum((each.goodput_bps or 0.0) / 8 * (step.seconds - 1) for each in readings)
    if step.test.total_bytes:
        carried = min(carried, step.test.total_bytes * len(ways))
    return Done(step, "done", readings, int(carried), step.seconds)


def _reading(path: Pretended, step: Step, test: TestSpec, way: Direction) -> Reading:
    truth = path.way(way)
    told, rate_bps, loss = truth.told, truth.rate_bps, truth.loss
    if step.kind is Kind.PARALLEL:
        rate_bps *= 1 + (truth.four - 1) * min(1.0, (test.parallel - 1) / 3)
    elif step.kind is Kind.PACED:
        rate_bps, loss = float(test.fq_rate_bps), truth.paced_loss
    elif step.kind is Kind.CONTROL:
        rate_bps *= truth.bbr
    elif step.kind is Kind.BIDIR:
        rate_bps *= path.beside[0 if way is FORWARD else 1]
    elif step.kind is Kind.MSS:
        rate_bps = 90e6 if truth.small_passes else 0.0
    elif step.kind is Kind.UDP:
        rate_bps = float(test.rate_bps)
    elif step.kind is Kind.LONGER and truth.longer is not None:
        told = truth.longer
    if test.fq_rate_bps:
        rate_bps = min(rate_bps, test.fq_rate_bps * test.parallel)
    return Reading(
        way,
        (told,),
        streams=test.parallel,
        goodput_bps=rate_bps,
        whole_bps=rate_bps,
        min_rtt_us=path.rtt_us,
        rtt_us=path.rtt_us + truth.waited_us,
        peak_rtt_us=path.rtt_us + truth.waited_us,
        lost_share=loss,
        lost_packets=int(loss * 10_000),
        late_packets=truth.late,
        congestion=test.congestion,
        delivered_any=rate_bps > 0,
    )


Answer = Callable[[Step], Done]


def swept(
    path: Pretended | Answer, limits: Limits | None = None, *, wishes: int = 0
) -> tuple[Known, End]:
    """Run a sweep over a pretended path to its end."""
    known = Known("lab-b", limits or Limits(), wishes=wishes)
    for _ in range(MOST_STEPS):
        step = next_step(known)
        if isinstance(step, End):
            return known, step
        done = answer(path, step) if isinstance(path, Pretended) else path(step)
        idle = known.idle
        if step.kind is Kind.LOOK and isinstance(path, Pretended):
            idle = path.idle
        known = replace(
            known,
            idle=idle,
            done=(*known.done, done),
            elapsed_s=known.elapsed_s + done.lasted_s,
        )
    raise AssertionError("the sweep does not end")


def kinds(known: Known) -> list[str]:
    """The steps that ran, in words."""
    return [
        " ".join(filter(None, (each.step.kind.value, each.step.variant))) for each in known.done
    ]
