"""tuiperf on a kernel that neither cuts nor joins datagrams: no UDP_SEGMENT, no UDP_GRO."""

from __future__ import annotations

import sys

from tuiperf.cli.main import main
from tuiperf.engine import udp_receive, udp_send

UNKNOWN_OPTION = 9999

if __name__ == "__main__":
    setattr(udp_send, "UDP_SEGMENT", UNKNOWN_OPTION)  # noqa: B010
    setattr(udp_receive, "UDP_GRO", UNKNOWN_OPTION)  # noqa: B010
    sys.exit(main(sys.argv[1:]))
