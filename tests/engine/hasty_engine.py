"""The engine as a process, with every limit on a wait a twentieth of what it is."""

from __future__ import annotations

import sys
from typing import Any, cast

from tuiperf.engine import __main__, protocol, server

HASTE = 20


def hasten() -> None:
    """Shorten the protocol's limits and the server's own."""
    for waits in protocol.LIMITS.values():
        for state, wait in waits.items():
            if wait.seconds is not None:
                cast(dict[Any, Any], waits)[state] = wait._replace(seconds=wait.seconds / HASTE)
    server.COOKIE_S /= HASTE


if __name__ == "__main__":
    hasten()
    sys.exit(__main__.main())
