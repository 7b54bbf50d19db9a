"""Our reports against Debian's iperf3 3.12: from the same events the same lines, the same keys."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import TUIPERF, environment, tuiperf
from tests.cli.commands import server as our_server
from tests.interop.captures import (
    Case,
    DocumentCapture,
    TextCapture,
    run_pair,
)
from tests.interop.iperf3 import PATIENCE_S, free_port, iperf3_path, iperf3_server
from tests.report.made import lines_of
from tuiperf.engine.spec import TestSpec
from tuiperf.report.iperf3_json import JsonReport, dump
from tuiperf.report.iperf3_text import RULE, TextReport

RATE_BPS, BLOCK_BYTES = 40_000_000, 16_384
PACED = ("-C", "cubic", "-b", "40M", "-l", "16K", "-t", "1")
PACED_TEST = {"time_s": 1, "rate_bps": RATE_BPS, "block_bytes": BLOCK_BYTES}


def paced(
    name: str, *options: str, server: tuple[str, ...] = (), interval_s: float = 0.5, **test: Any
) -> Case:
    """A second at 40 Mbit/s, in two intervals unless asked otherwise."""
    every = ("-i", f"{interval_s:g}")
    meaning = TestSpec(**{**PACED_TEST, **test})
    return Case(name, (*PACED, *every, *options), (*every, *server), meaning, interval_s)


CASES = [
    paced("forward"),
    paced("reverse", "-R", reverse=True),
    paced("parallel", "-P", "3", parallel=3),
    paced("bidirectional", "--bidir", bidir=True),
    paced("bidirectional-parallel", "--bidir", "-P", "2", bidir=True, parallel=2),
    paced("omit", "-O", "1", omit_s=1),
    paced("omit-reverse-parallel", "-O", "1", "-R", "-P", "2", omit_s=1, reverse=True, parallel=2),
    paced("no-intervals", interval_s=0.0),
    paced("no-intervals-parallel", "-P", "2", interval_s=0.0, parallel=2),
    paced("no-intervals-omit", "-O", "1", "-V", server=("-V",), interval_s=0.0, omit_s=1),
    paced("verbose", "-V", server=("-V",)),
    paced("verbose-reverse", "-V", "-R", server=("-V",), reverse=True),
    paced(
        *("verbose-bidirectional", "-V", "--bidir", "-P", "2"),
        server=("-V",),
        bidir=True,
        parallel=2,
    ),
    paced("title", "-T", "west", title="west"),
    paced("kilobytes", "-f", "K", server=("-f", "K")),
    paced("server-output", "--get-server-output", get_server_output=True),
    Case(
        "bytes",
        ("-V", "-C", "cubic", "-n", "1000000"),
        ("-V",),
        TestSpec(total_bytes=1_000_000, time_s=0),
        1.0,
    ),
    Case(
        "mss-and-blocks",
        ("-V", "-C", "cubic", "-M", "1000", "-k", "40", "-l", "1000"),
        ("-V",),
        TestSpec(total_blocks=40, time_s=0, mss_bytes=1000, block_bytes=1000),
        1.0,
    ),
]
ROLES = ("client", "server")

STREAM_SENDER = re.compile(r"^(.*\[ *\d+\].*\d) {13}sender$")
AMOUNT = re.compile(r"[ \d.]{3}\d [KMGT]?(Byte|bit)s")


def newer(line: str) -> str:
    """iperf3 3.18 took one of thirteen blanks out of a stream's sender line."""
    return STREAM_SENDER.sub(rf"\1{'':12}sender", line)


def shape(line: str) -> str:
    """A line with its digits as 9 and its four-place amounts as one sign each."""
    return re.sub(r"\d", "9", AMOUNT.sub(r"#### \1s", line))


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_text_of_both_ends(case: Case) -> None:
    for role, text in zip(ROLES, run_pair(case), strict=True):
        real = TextCapture(text, role, case)
        ours = lines_of(TextReport(real.settings), real.events())
        ours = [line for line in ours if not line.startswith("Reachable at ")]  # our own line
        assert [shape(line) for line in ours] == [shape(newer(line)) for line in real.lines]
        # What is no measurement is the same to the letter.
        fixed = [line for line in real.lines if "sec" not in line]
        assert [line for line in ours if "sec" not in line] == fixed


# ---------------------------------------------------------------------- documents

ADDED_SINCE_3_12 = {
    ("start", "timestamp", "timemillisecs"),
    ("start", "fq_rate"),
    *(("start", "test_start", key) for key in ("bidir", "fqrate", "interval", "gso", "gro")),
    ("intervals", "streams", "reorder"),
    ("end", "streams", "sender", "reorder"),
}
FLOATS = {"start", "end", "seconds", "bits_per_second", "interval"}
# The interval that ends with the omitted part: iperf3 sets its clock back in the middle of it.
OF_INTERVAL_CLOCK = {"seconds", "bits_per_second"}
# In a bidirectional test iperf3 shows the receiving socket's own values, of no use to a reader.
OF_RECEIVING_SOCKET = {"max_snd_cwnd", "max_snd_wnd", "max_rtt", "min_rtt", "mean_rtt"}

DOCUMENT_CASES = [
    paced("forward"),
    paced("reverse", "-R", reverse=True),
    paced("parallel", "-P", "2", parallel=2),
    paced("bidirectional-parallel", "--bidir", "-P", "2", bidir=True, parallel=2),
    paced("omit", "-O", "1", omit_s=1),
    paced("no-intervals", "-O", "1", interval_s=0.0, omit_s=1),
    paced(
        *("everything", "-T", "west", "--extra-data", "x", "--get-server-output"),
        title="west",
        extra_data="x",
        get_server_output=True,
    ),
    Case(
        "mss-and-bytes",
        ("-C", "cubic", "-M", "1000", "-w", "64K", "-n", "100K"),
        (),
        TestSpec(total_bytes=102_400, time_s=0, mss_bytes=1000, window_bytes=65_536),
        1.0,
    ),
]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every member of a document in order, with the keys that lead to it."""
    if isinstance(value, dict):
        yield path, {}
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        yield path, []
        for item in value:
            yield from leaves(item, path)
    else:
        yield path, value


def kind(path: tuple[str, ...], value: Any) -> str:
    """The type that a reader may rely on."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return type(value).__name__
    is_float = path[-1] in FLOATS or path[-2] == "cpu_utilization_percent"
    return "number" if is_float or isinstance(value, int) else "number with a point"


def kinds(document: Any) -> list[tuple[tuple[str, ...], str]]:
    return [(path, kind(path, value)) for path, value in leaves(document)]


@pytest.mark.parametrize("case", DOCUMENT_CASES, ids=by_name)
def test_documents_of_both_ends(case: Case) -> None:
    for role, text in zip(ROLES, run_pair(case, "-J"), strict=True):
        real = DocumentCapture(text, role, case)
        report = JsonReport()
        for event in real.events():
            report.feed(event)
        ours = json.loads(dump(report.document()))
        everything = list(leaves(ours))
        assert {path for path, _ in everything} >= {
            path for path in ADDED_SINCE_3_12 if path[-1] != "reorder"
        }
        old = [(path, value) for path, value in everything if path not in ADDED_SINCE_3_12]
        expected = list(leaves(real.document))
        assert [(path, kind(path, value)) for path, value in old] == [
            (path, kind(path, value)) for path, value in expected
        ]
        for (path, value), (_, wanted) in zip(old, expected, strict=True):
            if case.test.bidir and OF_RECEIVING_SOCKET & {*path}:
                continue
            if case.test.omit_s and path[0:1] == ("intervals",) and OF_INTERVAL_CLOCK & {*path}:
                continue
            if isinstance(wanted, (int, float)):
                assert value == pytest.approx(wanted, rel=1e-3, abs=1e-6), path
            else:
                assert value == wanted, path


def test_real_documents_are_printed_as_they_were() -> None:
    client, _ = run_pair(paced("forward"), "-J")
    assert dump(json.loads(client)) + "\n" == client


# ---------------------------------------------------------------------- end to end


PECULIAR = (
    (r"\[ *\d+\]", "[ ID]"),
    (r"port \d+", "port N"),
    (r"MSS:? \d+", "MSS N"),
    (r"Time: .*", "Time: T"),
    (r"Cookie: \w{36}", "Cookie: C"),
    (r" +\d+\.\d\d-\d+\.\d\d +sec", " TIME sec"),
    (r"\d+\.\d%", "P%"),
)


def collapsed(text: str) -> list[str]:
    """The shapes of a text, without its peculiar numbers and without repetitions."""
    forms: list[str] = []
    for line in text.splitlines():
        form = newer(line)
        for pattern, sign in PECULIAR:
            form = re.sub(pattern, sign, form)
        form = re.sub(r"(?<=sec) +\d+ ", " N ", shape(form))
        if form not in forms:
            forms.append(form)
    return forms


END_TO_END = [
    paced("forward"),
    paced("reverse", "-R"),
    paced("bidirectional-parallel", "--bidir", "-P", "2"),
    paced("omit", "-O", "1"),
    paced("no-intervals", interval_s=0.0),
    paced("verbose", "-V", server=("-V",)),
]
OWN_WORDS = ("iperf 3.12", "tuiperf ")  # the first line of -V names the tool


def same_words(lines: list[str]) -> list[str]:
    """Without what each tool says of itself."""
    return [line for line in lines if not line.startswith(tuple(map(shape, OWN_WORDS)))]


@pytest.mark.parametrize("case", END_TO_END, ids=by_name)
def test_our_client_and_our_server_print_what_the_real_ones_print(
    case: Case, tmp_path: Path
) -> None:
    client, server = run_pair(case)
    with iperf3_server("-1", *case.server) as peer:
        done = tuiperf(tmp_path, "-c", "127.0.0.1", "-p", str(peer.port), *case.client)
        assert (done.returncode, done.stderr) == (0, "")
        assert same_words(collapsed(done.stdout)) == same_words(collapsed(client))
    with our_server(tmp_path, "-1", *case.server) as (child, port):
        subprocess.run(
            [iperf3_path(), "-c", "127.0.0.1", "-p", str(port), *case.client],
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_S,
            check=True,
        )
        text, errors = child.communicate(timeout=PATIENCE_S)
        assert errors == b""
        ours, real = (each.split(RULE)[-1].strip() for each in (text.decode(), server))
        assert collapsed(ours) == collapsed(real)


@pytest.mark.parametrize("options", [(), ("-R",), ("--bidir", "-P", "2")], ids=" ".join)
def test_our_documents_have_the_keys_of_the_real_ones(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    case = paced("document", *options)
    client, server = run_pair(case, "-J")
    with iperf3_server("-1") as peer:
        done = tuiperf(tmp_path, "-c", "127.0.0.1", "-p", str(peer.port), "-J", *case.client)
        assert (done.returncode, done.stderr) == (0, "")
        assert keys(json.loads(done.stdout)) == keys(json.loads(client))
    port = free_port()
    with our_json_server(tmp_path, port, *case.server) as child:
        connect_when_ready(port, case.client)
        text, _ = child.communicate(timeout=PATIENCE_S)
        assert keys(json.loads(text)) == keys(json.loads(server[server.index("{") :]))


def keys(document: Any) -> list[tuple[tuple[str, ...], str]]:
    """Keys and types, each once, without what came after 3.12 and without the diagnosis."""
    wanted: list[tuple[tuple[str, ...], str]] = []
    for path, value in leaves(document):
        entry = (path, kind(path, value))
        if path[:1] != ("diagnosis",) and path not in ADDED_SINCE_3_12 and entry not in wanted:
            wanted.append(entry)
    return wanted


@contextlib.contextmanager
def our_json_server(home: Path, port: int, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """`tuiperf -s -J -1`, which says nothing until its test is over."""
    child = subprocess.Popen(
        [*TUIPERF, "-s", "-1", "-J", "-p", str(port), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(home),
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def connect_when_ready(port: int, options: tuple[str, ...]) -> None:
    """Run a stock client as soon as something listens on the port."""
    command = [iperf3_path(), "-c", "127.0.0.1", "-p", str(port), *options]
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.05)
    raise AssertionError(done.stderr)
