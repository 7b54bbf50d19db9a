"""`python -m tuiperf.lab.warden NEAR FAR SPARED`: ends who is left on either side of a lab.

The keeper does so when it ends in order. When it is killed nobody else would end what a command
left running on a side, and with it the namespace would stay. The arguments are the descriptors of
the namespaces and the process that is not ours to end; the end of stdin means that the keeper is
gone.
"""

from __future__ import annotations

import os
import signal
import sys

from tuiperf.lab import namespaces
from tuiperf.lab.namespaces import Namespaces


def main(arguments: list[str]) -> int:
    """Wait for the keeper's end, then clear both sides."""
    near, far, spared = map(int, arguments)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    namespaces.clear(Namespaces(near, far), {spared})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
