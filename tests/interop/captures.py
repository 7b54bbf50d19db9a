"""Captures of real iperf3 pairs, and the events that would have given them.

Text is read line by line with patterns of its own, so that printing it again proves our layout.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from tests.interop.iperf3 import PATIENCE_S, iperf3_path, iperf3_server
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec
from tuiperf.report.iperf3_text import TextSettings

Json = dict[str, Any]

OPENED = re.compile(r"\[ *(\d+)\] local (\S+) port (\d+) connected to (\S+) port (\d+)$")
ROW = re.compile(
    r"\[ *(?P<fd>\d+)\](?:\[..-.\])? +(?P<start>[\d.]+)-(?P<end>[\d.]+) +sec +"
    r"(?P<moved>[\d.]+) (?P<step>[KMGT]?)Bytes +[\d.]+ [KMGT]?(?:bit|Byte)s/sec"
    r"(?: +(?P<retr>\d+))?(?: +(?P<cwnd>[\d.]+) (?P<cwnd_step>[KMGT]?)Bytes)?"
    r" *(?P<tail>\(omitted\)|sender|receiver|)$"
)
CPU = re.compile(
    r"CPU Utilization: local/\w+ ([\d.]+)% \(([\d.]+)%u/([\d.]+)%s\), "
    r"remote/\w+ ([\d.]+)% \(([\d.]+)%u/([\d.]+)%s\)"
)
SEPARATOR = "- - - - - - - - - - - - - - - - - - - - - - - - -"
STEPS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Case:
    """One way to run a pair: both sides' options, and what they mean."""

    name: str
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    test: TestSpec = field(default_factory=TestSpec)
    interval_s: float = 0.5


def run_pair(case: Case, *both: str) -> tuple[str, str]:
    """What a stock client and a stock server print; `both` goes to both."""
    with iperf3_server("-1", *both, *case.server) as server:
        done = subprocess.run(
            [iperf3_path(), "-c", "127.0.0.1", "-p", str(server.port), *both, *case.client],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, server.output()


def sends(role: str, test: TestSpec, number: int) -> bool:
    """Whether this end sends on the stream opened as `number`."""
    reverse = test.reverse or (test.bidir and number >= test.parallel)
    return reverse == (role == "server")


def stream_of(number: int) -> int:
    return number + 2 if number else 1


# ---------------------------------------------------------------------- text


class TextCapture:
    """One end's text, read into the events it was made of."""

    def __init__(self, text: str, role: str, case: Case) -> None:
        self.role, self.case = role, case
        prefix = f"{case.test.title}:  " if case.test.title and role == "client" else ""
        self.lines = text.removesuffix("\n").split("\n")
        self._bare = [line.removeprefix(prefix) for line in self.lines]
        self._theirs: list[str] = []
        if "Server output:" in self._bare:
            at = self._bare.index("Server output:")
            self._bare, self._theirs = self._bare[:at], self._bare[at + 1 : -2]
        self._split = max(at for at, line in enumerate(self._bare) if line == SEPARATOR)
        self._opened = [found for line in self._bare if (found := OPENED.match(line))]
        self._numbers = {int(found[1]): number for number, found in enumerate(self._opened)}
        self.verbose = "-V" in (case.client if role == "client" else case.server)
        self.tool, self.system = self._bare[:2] if self.verbose else ("", "")

    @property
    def settings(self) -> TextSettings:
        options = self.case.client if self.role == "client" else self.case.server
        letter = options[options.index("-f") + 1] if "-f" in options else "a"
        return TextSettings(
            letter, self.verbose, self.case.test.title, None, self.tool, self.system
        )

    def _after(self, label: str, default: str = "") -> str:
        found = (line.partition(label)[2] for line in self._bare if line.startswith(label))
        return next(found, default)

    def events(self) -> list[ev.Event]:
        return [*self._opening(), *self._intervals(), *self._closing()]

    def _opening(self) -> list[ev.Event]:
        test = self.case.test
        port = int(self._opened[0][5])
        spec = ClientSpec("127.0.0.1", port, interval_s=self.case.interval_s, test=test).to_json()
        remote_port = port
        listening: list[ev.Event] = []
        if self.role == "server":
            spec = ServerSpec(interval_s=self.case.interval_s).to_json()
            remote_port = int(self._after("Accepted connection from 127.0.0.1, port "))
            listening = [ev.Listening(0.0, ("::",), int(self._opened[0][3]), 1)]
        date = self._after("Time: ")
        wall_s = parsedate_to_datetime(date).timestamp() if date else 0.0
        mss_bytes = int(self._after("Control connection MSS ", "0"))
        cookie = self._after("      Cookie: ")
        return [
            *listening,
            ev.RunStarted(0.0, "real", self.role, self.tool, self.system, wall_s, spec),
            ev.Connected(
                0.0, "127.0.0.1", 1, "127.0.0.1", remote_port, cookie, None, mss_bytes or None
            ),
            ev.Agreed(0.0, test.to_parameters("3.12")),
            *map(self._stream, self._opened),
            ev.TestStarted(0.0, wall_s, 0, 16384, 131072, mss_bytes),
        ]

    def _stream(self, found: re.Match[str]) -> ev.StreamOpened:
        fd = int(found[1])
        number = self._numbers[fd]
        sending = sends(self.role, self.case.test, number)
        ends = (found[2], int(found[3]), found[4], int(found[5]))
        return ev.StreamOpened(0.0, stream_of(number), fd, sending, *ends)

    def _intervals(self) -> list[ev.Event]:
        events: list[ev.Event] = []
        rows: list[re.Match[str]] = []
        for line in self._bare[: self._split]:
            row = ROW.match(line)
            if row:
                rows.append(row)
            if len(rows) == len(self._opened):
                events.append(self._interval(rows))
                rows = []
        assert not rows
        return events

    def _interval(self, rows: list[re.Match[str]]) -> ev.Interval:
        omitted = rows[0]["tail"] == "(omitted)"
        start_s, end_s = float(rows[0]["start"]), float(rows[0]["end"])
        return ev.Interval(0.0, start_s, end_s, omitted, tuple(map(self._row, rows)))

    def _row(self, row: re.Match[str]) -> ev.StreamInterval:
        number = self._numbers[int(row["fd"])]
        return ev.StreamInterval(
            stream_of(number),
            sends(self.role, self.case.test, number),
            float(row["start"]),
            float(row["end"]),
            round(float(row["moved"]) * STEPS[row["step"]]),
            int(row["retr"]) if row["retr"] else None,
            round(float(row["cwnd"]) * STEPS[row["cwnd_step"]]) if row["cwnd"] else None,
        )

    def _closing(self) -> list[ev.Event]:
        found = CPU.search("\n".join(self._bare))
        cpu = [float(number) for number in found.groups()] if found else [0.0] * 6
        rows = [row for line in self._bare[self._split :] if (row := ROW.match(line))]
        totals: dict[str, list[ev.StreamResult]] = {"local": [], "remote": []}
        for row in rows:
            number = self._numbers[int(row["fd"])]
            ours = sends(self.role, self.case.test, number) == (row["tail"] == "sender")
            totals["local" if ours else "remote"].append(
                ev.StreamResult(
                    stream_of(number),
                    round(float(row["moved"]) * STEPS[row["step"]]),
                    int(row["retr"]) if row["retr"] else None,
                    0.0,
                    float(row["end"]),
                )
            )
        return [
            ev.Results(0.0, "local", "cubic", cpu[0], cpu[1], cpu[2], 1, tuple(totals["local"])),
            ev.Results(0.0, "remote", "cubic", cpu[3], cpu[4], cpu[5], 1, tuple(totals["remote"])),
            *self._server_output(),
            ev.RunEnded(0.0, "completed"),
        ]

    def _server_output(self) -> list[ev.Event]:
        return [ev.ServerOutput(0.0, "\n".join(self._theirs))] if self._theirs else []


# ---------------------------------------------------------------------- JSON


class DocumentCapture:
    """One end's `-J` document, read into the events it was made of."""

    def __init__(self, text: str, role: str, case: Case) -> None:
        self.role, self.case = role, case
        self.document: Json = json.loads(text[text.index("{") :])
        connected = self.document["start"]["connected"]
        self._numbers = {each["socket"]: number for number, each in enumerate(connected)}

    def events(self) -> list[ev.Event]:
        return [
            *self._opening(),
            *map(self._interval, self.document["intervals"]),
            *self._closing(),
        ]

    def _sends(self, number: int) -> bool:
        return sends(self.role, self.case.test, number)

    def _opening(self) -> list[ev.Event]:
        start, test = self.document["start"], self.case.test
        peer = start.get("connecting_to") or start["accepted_connection"]
        spec = ServerSpec(interval_s=self.case.interval_s).to_json()
        if self.role == "client":
            ends = ClientSpec(
                peer["host"], peer["port"], interval_s=self.case.interval_s, test=test
            )
            spec = ends.to_json()
        mss_bytes = start.get("tcp_mss_default")
        opened = [
            ev.StreamOpened(
                0.0,
                stream_of(number),
                each["socket"],
                self._sends(number),
                each["local_host"],
                each["local_port"],
                each["remote_host"],
                each["remote_port"],
            )
            for number, each in enumerate(start["connected"])
        ]
        wall_s = float(start["timestamp"]["timesecs"])
        buffers = (start["sock_bufsize"], start["sndbuf_actual"], start["rcvbuf_actual"])
        return [
            ev.RunStarted(
                0.0, "real", self.role, start["version"], start["system_info"], wall_s, spec
            ),
            ev.Connected(0.0, "", 0, peer["host"], peer["port"], start["cookie"], None, mss_bytes),
            ev.Agreed(0.0, test.to_parameters("3.12")),
            *opened,
            ev.TestStarted(0.0, wall_s, *buffers, mss_bytes or 0),
        ]

    def _interval(self, interval: Json) -> ev.Interval:
        whole = interval["sum"]
        rows = tuple(
            ev.StreamInterval(
                stream_of(self._numbers[row["socket"]]),
                row["sender"],
                float(row["start"]),
                float(row["end"]),
                row["bytes"],
                row.get("retransmits"),
                row.get("snd_cwnd"),
                row.get("snd_wnd"),
                row.get("rtt"),
                row.get("rttvar"),
                row.get("pmtu"),
                0 if "retransmits" in row else None,
            )
            for row in interval["streams"]
        )
        span = (float(whole["start"]), float(whole["end"]))
        return ev.Interval(0.0, *span, whole["omitted"], rows)

    def _closing(self) -> list[ev.Event]:
        totals: dict[str, list[ev.StreamResult]] = {"local": [], "remote": []}
        for number, pair in enumerate(self.document["end"]["streams"]):
            for end in ("sender", "receiver"):
                row = pair[end]
                side = "local" if self._sends(number) == (end == "sender") else "remote"
                counted = (row["bytes"], row.get("retransmits"), 0.0, float(row["end"]))
                totals[side].append(ev.StreamResult(stream_of(number), *counted))
        events: list[ev.Event] = []
        cpu = self.document["end"]["cpu_utilization_percent"]
        for side, prefix in (("local", "host"), ("remote", "remote")):
            used = [float(cpu[f"{prefix}_{what}"]) for what in ("total", "user", "system")]
            events.append(
                ev.Results(0.0, side, "cubic", used[0], used[1], used[2], 1, tuple(totals[side]))
            )
        return [*events, *self._server_output(), ev.RunEnded(0.0, "completed")]

    def _server_output(self) -> list[ev.Event]:
        text, document = (self.document.get(f"server_output_{kind}") for kind in ("text", "json"))
        return [ev.ServerOutput(0.0, text, document)] if text or document else []
