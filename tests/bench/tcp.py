"""How fast the TCP engine is beside iperf3: `python -m tests.bench.tcp [--rounds N] [--quick]`.

Every case runs in adjacent pairs, A B then B A, each for one second, and is given as the median of
the pairs' ratios with their spread, so that a machine that slows down slows both. "pair" is iperf3
at both ends. Our gain has two sources, and iperf3 has both: pages are lent, not copied (`-Z`), and
there are fewer system calls at the same block size (`-l 1M`; ours with `--copy` has that alone).
All are shown beside. Needs root (namespaces) and iperf3.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, NamedTuple

from tests.bench.paths import Place, loopback, veth

OURS = (sys.executable, "-m", "tuiperf")
IPERF3 = ("iperf3",)
PORT = 5201
LISTEN_S = 10.0
QUIET_SHARE = 0.06


class Case(NamedTuple):
    """One comparison: who sends and who receives, against iperf3 at both ends."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]
    options: tuple[str, ...] = ()
    base_options: tuple[str, ...] = ()
    goal: float | None = None


class Figure(NamedTuple):
    """One test: what the receiver got, and the CPU of both processes and their children."""

    received_bps: float
    cpu_s_per_gb: float


ONE_STREAM = (
    Case("iperf3 pair, again (the noise)", IPERF3, IPERF3),
    Case("ours sends, iperf3 receives", OURS, IPERF3, goal=1.3),
    Case("iperf3 sends, ours receives", IPERF3, OURS, goal=1.0),
    Case("ours at both ends", OURS, OURS, goal=1.4),
    Case("ours --copy sends, iperf3 receives", OURS, IPERF3, ("--copy",)),
    Case("iperf3 -l 1M at both ends", IPERF3, IPERF3, ("-l", "1M")),
    Case("iperf3 -Z at both ends", IPERF3, IPERF3, ("-Z",)),
    Case("ours -Z sends, iperf3; over -Z pair", OURS, IPERF3, ("-Z",), ("-Z",), 1.0),
)
MANY_STREAMS = tuple(
    Case(f"-P {count} {words}", client, server, ("-P", str(count)), ("-P", str(count)), 1.0)
    for count in (4, 8)
    for words, client, server in (
        ("ours sends, iperf3 receives", OURS, IPERF3),
        ("iperf3 sends, ours receives", IPERF3, OURS),
        ("ours at both ends", OURS, OURS),
    )
)


def wait_until_listening(place: Place, process: subprocess.Popen[bytes]) -> None:
    """Return once something listens on the port; ends the program when nothing comes."""
    deadline_s = time.monotonic() + LISTEN_S
    while time.monotonic() < deadline_s and process.poll() is None:
        found = subprocess.run(
            [*place.server, "ss", "-Hltn", f"sport = :{PORT}"], capture_output=True, check=False
        )
        if found.stdout.strip():
            return
        time.sleep(0.02)
    raise SystemExit(f"the server did not start listening: {process.args!r}")


def _cpu_s(process: subprocess.Popen[bytes]) -> float:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def wait_for_quiet(limit_s: float = 60.0) -> None:
    """Wait until other work leaves the cores alone, or until the limit is over."""
    deadline_s = time.monotonic() + limit_s
    while time.monotonic() < deadline_s:
        before = _busy_and_all()
        time.sleep(0.3)
        after = _busy_and_all()
        if after[0] - before[0] <= QUIET_SHARE * (after[1] - before[1]):
            return


def _busy_and_all() -> tuple[int, int]:
    """Ticks of all cores since start: not idle, and in all (/proc/stat, proc_stat(5))."""
    with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def measure(
    place: Place, client: tuple[str, ...], server: tuple[str, ...], options: tuple[str, ...]
) -> Figure:
    """Run one test of one second."""
    serving = subprocess.Popen(
        [*place.server, *server, "-s", "-1", "-p", str(PORT)], stdout=subprocess.DEVNULL
    )
    wait_until_listening(place, serving)
    command = [*place.client, *client, "-c", place.address, "-p", str(PORT), "-t", "1", "-J"]
    running = subprocess.Popen([*command, *options], stdout=subprocess.PIPE)
    if running.stdout is None:
        raise SystemExit("no pipe from the client")
    document: dict[str, Any] = json.loads(running.stdout.read())
    running.stdout.close()
    cpu_s = _cpu_s(running) + _cpu_s(serving)
    if document.get("error"):
        raise SystemExit(f"{command}: {document['error']}")
    received = document["end"]["sum_received"]
    return Figure(float(received["bits_per_second"]), cpu_s / (received["bytes"] / 1e9))


def compare(place: Place, case: Case, rounds: int) -> tuple[list[float], list[float], float]:
    """Ratios of goodput and of CPU a byte over iperf3's pair, and the pair's own median rate."""
    rates, cpus, base = [], [], []
    for number in range(rounds):
        wait_for_quiet()
        order = (True, False) if number % 2 else (False, True)
        found: dict[bool, Figure] = {}
        for ours in order:
            found[ours] = (
                measure(place, case.client, case.server, case.options)
                if ours
                else measure(place, IPERF3, IPERF3, case.base_options)
            )
        rates.append(found[True].received_bps / found[False].received_bps)
        cpus.append(found[True].cpu_s_per_gb / found[False].cpu_s_per_gb)
        base.append(found[False].received_bps)
    return rates, cpus, statistics.median(base)


def _row(case: Case, rates: list[float], cpus: list[float], base_bps: float) -> str:
    goal = f">= {case.goal:.1f}" if case.goal else ""
    return (
        f"  {case.name:38} {statistics.median(rates):5.2f}x "
        f"[{min(rates):.2f}-{max(rates):.2f}] {goal:7} "
        f"CPU/GB {statistics.median(cpus):4.2f}x   pair {base_bps / 1e9:5.1f} Gbit/s"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of each case (default 7)")
    parser.add_argument("--quick", action="store_true", help="one stream on loopback alone")
    asked = parser.parse_args()
    for make_place in (loopback,) if asked.quick else (loopback, veth):
        with make_place() as place:
            print(
                f"{place.name}, cubic, receiver's goodput over iperf3's pair, {asked.rounds} pairs"
            )
            for case in ONE_STREAM if asked.quick else (*ONE_STREAM, *MANY_STREAMS):
                print(_row(case, *compare(place, case, asked.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
