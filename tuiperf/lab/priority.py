"""A real-time priority for a process that sleeps between its packets, and cannot starve others."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Callable

from tuiperf.engine import prctl

RELAY, GAUGE = 10, 5
MOST_CPU_US = 200_000
"""Without a pause, at the real-time priority (RLIMIT_RTTIME, getrlimit(2)); then it is given up."""


def hurry(priority: int, lost: Callable[[], None] = lambda: None) -> bool:
    """Wake on time, and before others where that is allowed; False: at a usual priority only.

    `lost` is called when the priority had to be given up.
    """
    prctl.set_timer_slack_ns(1)

    def give_up(number: int, frame: object) -> None:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        lost()

    try:
        resource.setrlimit(resource.RLIMIT_RTTIME, (MOST_CPU_US, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXCPU, give_up)
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            os.nice(-10)
        return False
    return True
