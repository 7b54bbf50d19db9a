"""Which of the three ways carries the packets: a plain cable, the kernel's netem, or our relay."""

from __future__ import annotations

import os

from tuiperf.lab import netem
from tuiperf.lab.errors import LabError
from tuiperf.lab.spec import PathSpec

CABLE, NETEM, RELAY = "cable", "netem", "relay"
CHOICES = (CABLE, NETEM, RELAY)
WORDS = {
    CABLE: "a plain cable (veth): nothing to emulate",
    NETEM: "the kernel's netem over veth",
    RELAY: "tuiperf's relay over two TUN devices",
}


def choose(path: PathSpec, has_netem: bool, wanted: str = "") -> tuple[str, str]:
    """The backend for a path, and why it is not another one ("" when that needs no word).

    `wanted` insists on one. Raises LabError when that one cannot carry this path.
    """
    if wanted not in ("", *CHOICES):
        raise LabError(f"backend {wanted[:40]!r} is not one of {', '.join(CHOICES)}")
    if wanted == CABLE and not path.empty:
        raise LabError("a plain cable cannot carry this path: there is something to emulate")
    if wanted == RELAY or (path.empty and wanted != NETEM):
        return (wanted or CABLE), ""
    lacking = "this kernel has no netem" if not has_netem else netem.lacking(path)
    if wanted == NETEM:
        if lacking:
            raise LabError(f"netem cannot carry this path: {lacking}")
        return NETEM, ""
    return (RELAY, lacking) if lacking else (NETEM, "")


def wanted_here() -> str:
    """What the environment insists on (TUIPERF_LAB_BACKEND), "" for nothing."""
    return os.environ.get("TUIPERF_LAB_BACKEND", "")
