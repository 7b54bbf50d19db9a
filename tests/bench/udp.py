"""UDP beside iperf3: `python -m tests.bench.udp [--rounds N] [--pacing] [--quick] [--seconds N]`.

Cases run in adjacent pairs, A B then B A, as in tests.bench.tcp, at 1400 bytes and without a rate;
given are the ratios of datagrams that the receiver got a second, and the shares lost. "pair" is
iperf3 at both ends. Our receiver asks for a larger socket buffer and drops payload unread, and our
sender lets the kernel cut its datagrams (UDP_SEGMENT): all of which iperf3 3.21 can be told to do
as well. With --pacing: how far the rate sent is from the rate asked, and the most bytes that
arrived within 100 us, for UDP and TCP. Needs root (namespaces) and iperf3.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.bench.paths import Place, loopback, veth
from tests.bench.tcp import IPERF3, OURS, PORT, wait_for_quiet, wait_until_listening

SIZE = 1400
FLOOD = ("-u", "-b", "0", "-l", str(SIZE))
RATES = ("1M", "10M", "100M", "1G", "5G")
PLAIN = (sys.executable, "-m", "tests.bench.without_offload")


class Case(NamedTuple):
    """One comparison with iperf3 at both ends."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]
    goal: float | None = None


class Figure(NamedTuple):
    """Datagrams a second that arrived, and the share that was lost."""

    received_pps: float
    lost: float


CASES = (
    Case("iperf3 pair, again (the noise)", IPERF3, IPERF3),
    Case("ours sends with sendmmsg alone", PLAIN, IPERF3, 1.2),
    Case("ours sends segments, iperf3 receives", OURS, IPERF3, 4.0),
    Case("iperf3 sends, ours receives", IPERF3, OURS, 1.25),
    Case("ours at both ends, without offload", PLAIN, PLAIN, 1.6),
    Case("ours at both ends", OURS, OURS),
)


def test(
    place: Place,
    client: tuple[str, ...],
    server: tuple[str, ...],
    options: tuple[str, ...],
) -> dict[str, Any]:
    """Run one test; the client's document."""
    serving = subprocess.Popen(
        [*place.server, *server, "-s", "-1", "-p", str(PORT)], stdout=subprocess.DEVNULL
    )
    try:
        wait_until_listening(place, serving)
        command = [*place.client, *client, "-c", place.address, "-p", str(PORT), "-J", *options]
        done = subprocess.run(command, capture_output=True, check=False)
        document: dict[str, Any] = json.loads(done.stdout)
        if document.get("error"):
            raise SystemExit(f"{command}: {document['error']}")
        serving.wait(10)
    finally:
        serving.kill()
        serving.wait()
    return document


def flood(place: Place, client: tuple[str, ...], server: tuple[str, ...], seconds: int) -> Figure:
    """Send as fast as it goes."""
    end = test(place, client, server, (*FLOOD, "-t", str(seconds)))["end"]
    got = end["sum_received"]["bytes"] / SIZE
    sent = max(1, end["sum_sent"]["packets"])
    return Figure(got / end["sum_received"]["seconds"], 1 - got / sent)


def compare(place: Place, case: Case, rounds: int, seconds: int) -> str:
    """One row: the ratio to iperf3's pair, with its spread, and the losses of both."""
    ratios, ours, base = [], [], []
    for number in range(rounds):
        wait_for_quiet()
        found: dict[bool, Figure] = {}
        for of_case in (True, False) if number % 2 else (False, True):
            ends = (case.client, case.server) if of_case else (IPERF3, IPERF3)
            found[of_case] = flood(place, *ends, seconds)
        ratios.append(found[True].received_pps / max(1.0, found[False].received_pps))
        ours.append(found[True])
        base.append(found[False])
    goal = f">= {case.goal:.2f}" if case.goal else ""
    return (
        f"  {case.name:37} {statistics.median(ratios):5.2f}x "
        f"[{min(ratios):.2f}-{max(ratios):.2f}] {goal:8}"
        f"{_kpps(ours)} kpps, lost {_lost(ours)}   pair {_kpps(base)} kpps, lost {_lost(base)}"
    )


def _kpps(figures: list[Figure]) -> str:
    return f"{statistics.median(each.received_pps for each in figures) / 1000:6.0f}"


def _lost(figures: list[Figure]) -> str:
    return f"{100 * statistics.median(each.lost for each in figures):4.1f} %"


def pacing(place: Place, protocol: str, rate: str, rounds: int, seconds: int) -> str:
    """One row: the error of the rate and the largest burst, ours and iperf3's."""
    row = f"  {protocol.upper():4} -b {rate:5}"
    for name, client in (("ours", OURS), ("iperf3", IPERF3)):
        errors, bursts = [], []
        for _ in range(rounds):
            wait_for_quiet()
            error, burst = _paced(place, client, protocol, rate, seconds)
            errors.append(error)
            bursts.append(burst)
        middle = statistics.median(errors)
        worst = max(errors, key=abs)
        row += (
            f"   {name}: {middle:+7.3f} % (worst {worst:+7.3f} %), "
            f"burst {statistics.median(bursts) / 1000:6.1f} KB"
        )
    return row


def _paced(
    place: Place, client: tuple[str, ...], protocol: str, rate: str, seconds: int
) -> tuple[float, int]:
    watching = subprocess.Popen(
        [
            *place.server,
            sys.executable,
            "-m",
            "tests.bench.capture",
            place.device,
            str(seconds + 1.5),
        ],
        stdout=subprocess.PIPE,
    )
    if watching.stdout is None or not watching.stdout.readline():
        raise SystemExit("the capture did not start")
    options = (
        "-b",
        rate,
        "-t",
        str(seconds),
        *(("-u", "-l", str(SIZE)) if protocol == "udp" else ()),
    )
    document = test(place, client, IPERF3, options)
    seen = json.loads(watching.stdout.read())
    watching.stdout.close()
    watching.wait()
    asked_bps = float(rate[:-1]) * {"M": 1e6, "G": 1e9}[rate[-1]]
    sent_bps = document["end"]["sum_sent"]["bits_per_second"]
    return 100 * (sent_bps / asked_bps - 1), int(seen["burst_bytes"])


def main() -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of each case (default 7)")
    parser.add_argument("--seconds", type=int, default=1, help="of each flood (default 1)")
    parser.add_argument("--pacing", action="store_true", help="rates instead of floods")
    parser.add_argument("--quick", action="store_true", help="the veth pair alone")
    asked = parser.parse_args()
    if asked.pacing:
        with veth() as place:
            print(f"{place.name}, error of the rate sent over 3 s, and bytes within 100 us")
            for protocol in ("udp", "tcp"):
                for rate in RATES:
                    print(pacing(place, protocol, rate, asked.rounds, 3), flush=True)
        return 0
    places: tuple[Callable[..., Any], ...] = (veth,) if asked.quick else (veth, loopback)
    for make_place in places:
        with make_place() as place:
            print(f"{place.name}, {SIZE} bytes, datagrams that arrive, {asked.rounds} pairs")
            for case in CASES:
                print(compare(place, case, asked.rounds, asked.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
