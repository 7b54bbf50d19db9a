"""UDP between our engine and Debian's iperf3, in both roles, on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.engine.driving import OurServer, Run, client_spec, run
from tests.interop.iperf3 import Iperf3Client, iperf3_client, iperf3_server
from tuiperf.engine.spec import TestSpec
from tuiperf.events import Results

Document = dict[str, Any]


class Case(NamedTuple):
    """One test, as our engine is asked for it and as iperf3 is."""

    name: str
    ours: dict[str, Any]
    theirs: str


def case(theirs: str, **ours: Any) -> Case:
    base = {"protocol": "udp", "time_s": 1, "rate_bps": 10_000_000, "block_bytes": 1400}
    words = "" if "-b" in theirs.split() else "-b 10M"
    words += "" if "-l" in theirs.split() else " -l 1400"
    return Case(theirs or "plain", {**base, **ours}, f"-u -t 1 {words} {theirs}")


CASES = (
    case(""),
    case("-R", reverse=True),
    case("--bidir", bidir=True),
    case("-P 4", parallel=4),
    case("-P 2 -R", parallel=2, reverse=True),
    case("-P 2 --bidir", parallel=2, bidir=True),
    case("-b 50M", rate_bps=50_000_000),
    case("-b 5M/10", rate_bps=5_000_000, burst_blocks=10),
    case("-b 1M -l 16", rate_bps=1_000_000, block_bytes=16),
    case("-b 50M -l 8192", rate_bps=50_000_000, block_bytes=8192),
    case("-b 50M -l 65507", rate_bps=50_000_000, block_bytes=65_507),
    case("-b 20M -l 1001", rate_bps=20_000_000, block_bytes=1001),
    case("--udp-counters-64bit", udp_counters_64bit=True),
    case("--udp-counters-64bit -R", udp_counters_64bit=True, reverse=True),
    case("-O 1", omit_s=1),
    case("-O 1 -R", omit_s=1, reverse=True),
    case("--repeating-payload --dont-fragment", repeating_payload=True, dont_fragment=True),
)
FLOODS = (
    case("-b 0", rate_bps=0),
    case("-b 0 -R", rate_bps=0, reverse=True),
    case("-b 1G", rate_bps=10**9),
    case("-b 1G -R", rate_bps=10**9, reverse=True),
)
NAMES = [each.name for each in CASES]


@pytest.fixture(scope="module")
def our_server() -> Iterator[OurServer]:
    with OurServer(bind_host="") as server:
        yield server


def to_stock(asked: Case, *options: str) -> tuple[Run, Document]:
    """Our client, a stock server: the run and the server's document."""
    with iperf3_server("-1", "-J", *options) as server:
        done = run(client_spec(server.port, TestSpec(**asked.ours)))
        document = server.document()
    assert done.outcome == "completed"
    assert "error" not in document
    return done, document


def from_stock(server: OurServer, asked: Case, host: str = "127.0.0.1") -> tuple[Run, Iperf3Client]:
    """A stock client, our server: its run and the client's document."""
    found = iperf3_client(server.port, *asked.theirs.split(), host=host)
    assert found.error == ""
    return server.next_run(), found


def agrees(asked: Case, local: Results, streams: list[Document]) -> None:
    """What iperf3 says of each stream is what our end knows of it, from either end's results."""
    assert len(streams) == len(local.streams) == TestSpec(**asked.ours).streams
    for ours, theirs in zip(local.streams, streams, strict=True):
        stream = theirs["udp"]
        wanted = asked.ours["rate_bps"] / 8 / asked.ours["block_bytes"]
        assert ours.udp is not None
        if wanted < 1e5:
            assert 0 < ours.udp.packets < 1.3 * wanted + 12
        assert abs(stream["packets"] - ours.udp.packets) <= 2 + 0.2 * ours.udp.packets


@pytest.mark.parametrize("asked", CASES, ids=NAMES)
def test_our_client(asked: Case) -> None:
    done, document = to_stock(asked)
    agrees(asked, done.local, document["end"]["streams"])
    assert document["start"]["test_start"]["protocol"] == "UDP"
    assert document["start"]["test_start"]["blksize"] == asked.ours["block_bytes"]
    if not asked.ours.get("reverse"):
        received = [row for row in done.remote.streams if row.packets]
        assert received
        assert done.remote.streams[0].bytes > 0


@pytest.mark.parametrize("asked", CASES, ids=NAMES)
def test_our_server(our_server: OurServer, asked: Case) -> None:
    done, found = from_stock(our_server, asked)
    agrees(asked, done.local, found.document["end"]["streams"])
    told = {row.stream: row for row in done.local.streams}
    numbers = [1, *range(3, len(told) + 2)]
    test = TestSpec(**asked.ours)
    for number, row in zip(numbers, found.document["end"]["streams"], strict=True):
        forward = not (test.reverse or (test.bidir and numbers.index(number) >= test.parallel))
        if forward:  # what the client shows of a receiver came from us
            assert row["udp"]["jitter_ms"] == pytest.approx(told[number].jitter_s * 1000)
    if not test.reverse:
        assert found.total("sum_received") > 0


@pytest.mark.parametrize("asked", FLOODS, ids=[each.name for each in FLOODS])
def test_floods(our_server: OurServer, asked: Case) -> None:
    done, document = to_stock(asked)
    assert max(row.packets for row in done.local.streams) > 5000
    assert max(row.packets for row in done.remote.streams) > 5000
    assert document["end"]["sum"]["packets"] > 0
    served, found = from_stock(our_server, asked)
    assert max(row.packets for row in served.local.streams) > 5000
    assert found.document["end"]["sum"]["packets"] > 5000


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.0.0.9"])
def test_whatever_address_is_called(our_server: OurServer, host: str) -> None:
    _, found = from_stock(our_server, CASES[0], host)
    assert found.total("sum_received") > 0


@pytest.mark.parametrize("limit", [{"total_bytes": 100_000}, {"total_blocks": 50}])
@pytest.mark.parametrize("reverse", [False, True])
def test_our_client_with_a_limit(limit: dict[str, int], reverse: bool) -> None:
    datagrams = 50 if "total_blocks" in limit else 72
    done, _ = to_stock(case("", time_s=0, reverse=reverse, **limit))
    sender = done.remote if reverse else done.local
    receiver = done.local if reverse else done.remote
    assert receiver.streams[0].packets >= datagrams
    if not reverse:  # iperf3 goes on until it hears the end
        assert sender.streams[0].packets == datagrams
        assert sender.streams[0].bytes == datagrams * 1400


@pytest.mark.parametrize("limit", ["-n 100000", "-k 72"])
@pytest.mark.parametrize("reverse", ["", "-R"])
def test_our_server_with_a_limit(our_server: OurServer, limit: str, reverse: str) -> None:
    words = f"-u -b 10M -l 1400 {limit} {reverse}".split()
    found = iperf3_client(our_server.port, *words)
    assert found.error == ""
    done = our_server.next_run()
    assert done.local.streams[0].packets >= 72
    if reverse:
        assert done.local.streams[0].packets == 72


def tuiperf(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tuiperf", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        cwd=Path(__file__).parents[2],
    )


def keys(value: Any) -> Any:
    """The keys of a document in their order, lists by their first member."""
    if isinstance(value, dict):
        return {key: keys(part) for key, part in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value else type(value).__name__


NEWER = {"fq_rate", "timemillisecs", "bidir", "fqrate", "interval", "gso", "gro", "diagnosis"}


def without_newer(document: Any) -> Any:
    """Without what iperf3 3.12 does not have yet; numbers may be whole or not."""
    if isinstance(document, dict):
        return {key: without_newer(part) for key, part in document.items() if key not in NEWER}
    if isinstance(document, list):
        return [without_newer(part) for part in document]
    return "number" if document in ("int", "float") else document


@pytest.mark.parametrize("way", ["", "-R", "--bidir -P 2"])
def test_our_document_has_the_keys_of_theirs(way: str) -> None:
    words = f"-u -b 1M -l 1000 -t 1 {way}".split()
    with iperf3_server() as server:
        stock = iperf3_client(server.port, *words).document
        ours = json.loads(tuiperf("-c", "127.0.0.1", "-p", str(server.port), "-J", *words).stdout)
    assert without_newer(keys(ours)) == without_newer(keys(stock))
    for key in ("sum", "sum_sent", "sum_received"):
        assert ours["end"][key]["packets"] == pytest.approx(stock["end"][key]["packets"], rel=0.1)


def words_of(text: str) -> list[list[str]]:
    """Each line without what has figures in it."""
    return [
        [word for word in line.split() if not any(char.isdigit() for char in word)]
        for line in text.splitlines()
    ]


@pytest.mark.parametrize("way", ["", "-R", "-P 2", "--bidir -P 2", "-O 1"])
def test_our_text_has_the_lines_of_theirs(way: str) -> None:
    words = f"-u -b 1M -l 1000 -t 1 -i 0 -f k {way}".split()
    with iperf3_server() as server:
        to = ["-c", "127.0.0.1", "-p", str(server.port), *words]
        stock = subprocess.run(
            ["iperf3", *to], capture_output=True, text=True, timeout=30, check=True
        ).stdout
        ours = tuiperf(*to).stdout
    assert words_of(ours) == words_of(stock)
