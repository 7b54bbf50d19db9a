"""What the live screen costs the measurement: `python -m tests.bench.screen [--rounds N]`.

The same test, three seconds on loopback with cubic, as `tuiperf -c` (the engine alone) and as
`tuiperf run` in a real pseudo-terminal of 80x24, in adjacent pairs, order alternated. The median
of the ratios of the receiver's goodput should be 0.98 or more. Needs root (a namespace).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from tests.bench.paths import Place, loopback
from tests.bench.tcp import OURS, PORT, wait_for_quiet, wait_until_listening
from tuiperf.recording import RecordingError, replay
from tuiperf.session import Direction, Session, headline

TEST_S = 3
LIMIT_S = 20.0


def _options(record: Path) -> tuple[str, ...]:
    return ("-p", str(PORT), "-t", str(TEST_S), "--record", str(record))


def _alone(place: Place, record: Path) -> None:
    command = [*place.client, *OURS, "-c", place.address, *_options(record)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def _with_screen(place: Place, record: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        [*place.client, *OURS, "run", place.address, *_options(record)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    deadline_s = time.monotonic() + LIMIT_S
    asked_to_leave = False
    while process.poll() is None and time.monotonic() < deadline_s:
        if select.select([master], [], [], 0.2)[0]:
            with contextlib.suppress(OSError):
                os.read(master, 65536)
        if not asked_to_leave and _ended(record):
            os.write(master, b"q")
            asked_to_leave = True
    if process.poll() is None:
        process.kill()
        raise SystemExit("the screen did not end")
    os.close(master)


def _ended(record: Path) -> bool:
    session = _session(record)
    return session is not None and session.ended is not None


def _session(record: Path) -> Session | None:
    try:
        return replay(record)
    except RecordingError:
        return None


def _goodput_bps(place: Place, record: Path, *, screen: bool) -> float:
    serving = subprocess.Popen(
        [*place.server, *OURS, "-s", "-1", "-p", str(PORT)], stdout=subprocess.DEVNULL
    )
    wait_until_listening(place, serving)
    (_with_screen if screen else _alone)(place, record)
    serving.wait()
    session = _session(record)
    found = headline(session, Direction.FORWARD).goodput_bps if session else None
    if not found:
        raise SystemExit("a run gave no goodput")
    return found


def main() -> int:
    """Print the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs (default 7)")
    rounds = parser.parse_args().rounds
    ratios = []
    with loopback() as place, tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            wait_for_quiet()
            found = {}
            for screen in (True, False) if number % 2 else (False, True):
                record = Path(folder) / f"{number}-{screen}.gz"
                found[screen] = _goodput_bps(place, record, screen=screen)
            ratios.append(found[True] / found[False])
            print(f"  {found[True] / 1e9:5.1f} / {found[False] / 1e9:5.1f} Gbit/s", flush=True)
    print(
        f"with the screen over the engine alone: {statistics.median(ratios):.3f} "
        f"[{min(ratios):.2f}-{max(ratios):.2f}] (goal >= 0.98)"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
