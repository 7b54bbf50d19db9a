"""What a worker asks of the Linux kernel, prctl(2): to end with its parent, to wake on time."""

from __future__ import annotations

import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_PR_SET_TIMERSLACK = 29

_prctl: Any = None


def load() -> None:
    """Find the call now, in the parent, so that workers need not load anything. Never fails."""
    global _prctl  # noqa: PLW0603
    if _prctl is None and sys.platform.startswith("linux"):
        try:
            import ctypes

            _prctl = ctypes.CDLL(None).prctl
        except (ImportError, OSError, AttributeError):
            return


def _call(option: int, value: int) -> bool:
    return _prctl is not None and _prctl(option, value, 0, 0, 0) == 0


def die_with_parent() -> bool:
    """Be killed when the parent ends, however it ends. False where the system cannot promise it."""
    return _call(_PR_SET_PDEATHSIG, signal.SIGKILL)


def set_timer_slack_ns(slack_ns: int) -> bool:
    """Let sleeps overshoot by no more than this (usual: 50 us). False where it cannot be set."""
    return _call(_PR_SET_TIMERSLACK, slack_ns)
