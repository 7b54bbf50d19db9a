"""What this host's own UDP layer threw away, as far as its counters tell.

/proc/net/snmp and snmp6 count for all sockets of the network namespace together (RFC 4113 and the
kernel's additions): they tell about sends that found the queue of the device full, which no socket
is told of, and about receive buffers that were full.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Optional

_PROC = Path("/proc/self/net")


class HostDrops(NamedTuple):
    """Datagrams dropped since the host came up."""

    receive_buffer: int
    send_buffer: int

    def since(self, earlier: HostDrops) -> HostDrops:
        return HostDrops(
            max(0, self.receive_buffer - earlier.receive_buffer),
            max(0, self.send_buffer - earlier.send_buffer),
        )


def read() -> Optional[HostDrops]:
    """The counters of both families together; None where the system has none."""
    try:
        four = _snmp((_PROC / "snmp").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    try:
        six = _snmp6((_PROC / "snmp6").read_text(encoding="ascii"))
    except (OSError, ValueError):
        six = {}
    return HostDrops(
        four.get("RcvbufErrors", 0) + six.get("Udp6RcvbufErrors", 0),
        four.get("SndbufErrors", 0) + six.get("Udp6SndbufErrors", 0),
    )


def _snmp(text: str) -> dict[str, int]:
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("Udp:")]
    if len(lines) < 2:
        return {}
    return {name: int(value) for name, value in zip(lines[0], lines[1])}  # noqa: B905


def _snmp6(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
