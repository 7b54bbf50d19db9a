"""A sweep's steps in words: their names, what they measured, what a row of the table holds."""

from __future__ import annotations

from typing import NamedTuple

from tuiperf.rules.quantities import milliseconds, percent, rate, size
from tuiperf.rules.verdict import Level
from tuiperf.session import Direction, Flow, Session
from tuiperf.sweep.known import Done, Idle, Kind, Reading, Step
from tuiperf.sweep.state import Row

NAMES = {
    Kind.LOOK: "look",
    Kind.FORWARD: "forward",
    Kind.REVERSE: "reverse",
    Kind.LONGER: "longer",
    Kind.MSS: "small segments",
    Kind.PARALLEL: "connections",
    Kind.PACED: "paced",
    Kind.CONTROL: "BBR",
    Kind.BIDIR: "both ways",
    Kind.UDP: "datagrams",
    Kind.WINDOW: "window",
    Kind.REPEAT: "again",
}


class Cells(NamedTuple):
    """One step as a table shows it."""

    number: str
    name: str
    way: str
    rate: str
    lost: str
    rtt: str
    reading: str
    level: Level
    running: bool


def name_of(step: Step) -> str:
    """What a step is called: "4 connections", "paced", "datagrams 80 %"."""
    name = NAMES[step.kind]
    if step.kind is Kind.PARALLEL:
        return f"{step.variant} {name}"
    if step.kind is Kind.UDP and step.variant:
        return f"{name} {100 * float(step.variant):.0f} %" if _is_share(step.variant) else name
    if step.kind is Kind.WINDOW and step.test is not None:
        return f"-w {step.test.window_bytes >> 20}M"
    return name


def _is_share(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def way_of(step: Step) -> str:
    """An arrow: there, back, or both."""
    if step.kind is Kind.LOOK:
        return ""
    if step.kind is Kind.BIDIR:
        return "↔"
    return "→" if step.way is Direction.FORWARD else "←"


def plan_of(step: Step) -> str:
    """What a step will take: its time and what it may carry."""
    if step.test is None:
        return "2 s, no load"
    about = f", up to about {size(step.most_bytes)}" if step.most_bytes else ""
    return f"{step.seconds:.0f} s{about}"


def cells(row: Row, session: Session | None, idle: Idle | None = None) -> Cells:
    """A step's row: what it showed, or shows by now. `idle` is what the look found."""
    step, done = row.step, row.done
    base = Cells(
        str(row.number), name_of(step), way_of(step), "", "", "", "", Level.PENDING, done is None
    )
    if done is None:
        return _running(base, row, session)
    if done.outcome != "done":
        return base._replace(reading=f"{done.outcome}: {done.problem}".rstrip(": "))
    if step.kind is Kind.LOOK and idle is not None and idle.least_us is not None:
        least = f"{idle.least_us / 1000:.1f}"
        return base._replace(rtt=least, reading="without load", level=Level.FINE)
    if not done.readings:
        return base._replace(reading="done", level=Level.FINE)
    return _measured(base, done)


def _measured(base: Cells, done: Done) -> Cells:
    readings = done.readings
    first = readings[0]
    rates = " + ".join(_figure(each.goodput_bps) for each in readings)
    lost = max((each.lost_share for each in readings if each.lost_share is not None), default=None)
    return base._replace(
        rate=rates,
        lost="" if lost is None else percent(lost),
        rtt=_rtt(first),
        reading=first.verdict.title,
        level=first.verdict.level,
    )


def _figure(bps: float | None) -> str:
    """A rate in Mbit/s, as the table's heading says."""
    if bps is None:
        return "-"
    value = bps / 1e6
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _rtt(reading: Reading) -> str:
    return "" if not reading.rtt_us else f"{reading.rtt_us / 1000:.1f}"


def _running(base: Cells, row: Row, session: Session | None) -> Cells:
    if row.step.test is None or session is None or not session.flows:
        return base._replace(reading="running")
    rates = [flow.ticks.last.goodput_bps if flow.ticks.last else 0.0 for flow in _flows(session)]
    planned = row.step.seconds - 1
    return base._replace(
        rate=" + ".join(_figure(each) for each in rates),
        rtt=_live_rtt(session),
        reading=f"running {session.test_s:.0f} / {planned:.0f} s",
    )


def _flows(session: Session) -> list[Flow]:
    return [session.flows[way] for way in Direction if way in session.flows]


def _live_rtt(session: Session) -> str:
    known = [
        flow.ticks.last.rtt_us
        for flow in session.flows.values()
        if flow.ticks.last is not None and flow.ticks.last.rtt_us
    ]
    return f"{known[0] / 1000:.1f}" if known else ""


def result_of(row: Row) -> list[str]:
    """What a finished step showed, in a few short sentences for the plain page."""
    done = row.done
    if done is None:
        return []
    if done.outcome != "done":
        return [f"{done.outcome}{': ' if done.problem else ''}{done.problem}"]
    told = [_told(each, len(done.readings) > 1) for each in done.readings]
    granted = [each for reading in done.readings[:1] for each in reading.granted]
    return [*told, *(granted if row.step.kind is Kind.WINDOW else ())]


def _told(reading: Reading, several: bool) -> str:
    arrow = {Direction.FORWARD: "→ ", Direction.REVERSE: "← "}[reading.way] if several else ""
    if reading.goodput_bps is None:
        return f"{arrow}too short to tell"
    parts = [f"{arrow}{rate(reading.goodput_bps)}"]
    if reading.lost_share is not None:
        what = "lost" if reading.jitter_s is not None else "sent again"
        parts.append(f"{percent(reading.lost_share)} {what}")
    if reading.rtt_us and reading.min_rtt_us:
        parts.append(f"RTT {milliseconds(reading.min_rtt_us)} to {milliseconds(reading.rtt_us)}")
    if reading.jitter_s is not None:
        parts.append(f"jitter {milliseconds(1e6 * reading.jitter_s)}")
    return ", ".join(parts)
