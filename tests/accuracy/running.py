"""Run a case: its path in a lab, our engine on the near side, the events it tells.

The machine may be busy with other things. A run is void when the lab's relay was late, or when the
test's workers waited for a core that no helper of the case took: it says nothing about the rules.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

from tests.accuracy.cases import Case
from tests.accuracy.record import Record
from tuiperf import events as ev
from tuiperf.engine.client import run_client
from tuiperf.engine.spec import ClientSpec
from tuiperf.engine.stops import Stops
from tuiperf.lab.run import path

LATE_MOST_US = 5000.0
WAIT_MOST_SHARE = 0.4
TRIES = 3
_NICE = -10


def hurry() -> None:
    """Come before the machine's other work, where that is allowed; labs inherit it."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


def run(case: Case) -> Record:
    """Measure a case once. Raises LabError when the lab cannot be had."""
    with path(case.path) as lab:
        spec = ClientSpec(lab.peer, port=int(lab.info["port"]), test=case.test)
        events = lab.near.call(_engine, spec)
        relay = lab.counters()
    return Record(case.name, relay, tuple(events))


def run_until_valid(case: Case) -> tuple[Record | None, str]:
    """Measure a case, again when the machine spoiled it; None and why when it stays so."""
    why = ""
    for _ in range(TRIES):
        found = run(case)
        why = why_void(case, found)
        if not why:
            return found, ""
    return None, why


def _engine(spec: ClientSpec) -> list[ev.Event]:
    events: list[ev.Event] = []
    with Stops.from_signals() as stops:
        run_client(spec, events.append, stops)
    return [_nameless(event) for event in events]


def _nameless(event: ev.Event) -> ev.Event:
    """Without this machine's name, which no record needs."""
    return replace(event, system="", run_id="") if isinstance(event, ev.RunStarted) else event


def why_void(case: Case, record: Record) -> str:
    """Why a run must not count, "" when it counts."""
    late_us = float(record.relay.get("late_max_us", 0.0))
    if late_us > LATE_MOST_US:
        return f"the relay was {late_us / 1000:.1f} ms late"
    if not case.path.helpers:
        waits = [e.busiest_wait_share or 0.0 for e in record.events if isinstance(e, ev.HostSample)]
        worst = sorted(waits)[len(waits) // 2] if waits else 0.0
        if worst > WAIT_MOST_SHARE:
            return f"a worker waited {worst:.0%} of the time for a core"
    return ""
