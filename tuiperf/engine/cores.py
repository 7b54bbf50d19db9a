"""Which processor core the workers run on (sched_setaffinity(2))."""

from __future__ import annotations

import contextlib
import os
import sys

from .errors import EngineError

AFFINITY_CODE = 132
MOST = 1024  # as iperf3 has it


def check(core: int) -> None:
    """Raise EngineError 132 unless this process may run on `core`."""
    if not 0 <= core <= MOST:
        raise EngineError(AFFINITY_CODE, f"a core is a number from 0 to {MOST}")
    if sys.platform != "linux":
        text = "this system does not let a program choose its processor core"
        raise EngineError(AFFINITY_CODE, text)
    usual = os.sched_getaffinity(0)
    pin(0, core)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, usual)


def pin(pid: int, core: int) -> None:
    """Let a process, 0 for this one, run on `core` alone. Raises EngineError 132."""
    if sys.platform != "linux":
        return
    try:
        os.sched_setaffinity(pid, {core})
    except ProcessLookupError:
        return
    except OSError as error:
        text = f"unable to set CPU affinity: this host has no core {core} for us"
        raise EngineError(AFFINITY_CODE, text, error.errno or 0) from None
