"""What `tuiperf --version` prints. Imports little: this has to answer at once."""

from __future__ import annotations

import os
import socket
import sys
from importlib.machinery import PathFinder

from tuiperf import __version__


def text() -> str:
    """Name and version, the system, and which optional features there are, in iperf3's layout."""
    python = ".".join(map(str, sys.version_info[:3]))
    lines = [
        f"tuiperf {__version__} (Python {python})",
        " ".join(os.uname()),
        f"Optional features available: {', '.join(_features()) or 'none'}",
    ]
    return "\n".join(lines) + "\n"


def _features() -> list[str]:
    linux = sys.platform.startswith("linux")
    found = {
        "live screen": PathFinder.find_spec("textual") is not None,
        "TCP congestion algorithm setting": hasattr(socket, "TCP_CONGESTION"),
        "TCP_INFO": hasattr(socket, "TCP_INFO"),
        "socket pacing": linux,
        "bind to device": hasattr(socket, "SO_BINDTODEVICE"),
    }
    return [name for name, available in found.items() if available]
