"""Made runs with round numbers: 5 MB a second a stream, both roles, any number of streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec

CLIENT, SERVER = "192.0.2.1", "192.0.2.2"
PORT = 5201
SYSTEM = "Linux lab 6.1.0 #1 SMP x86_64"
COOKIE = "2b" + "c" * 34
WALL_S = 1_796_076_016.25  # Mon, 30 Nov 2026 22:00:16 GMT
BYTES_PER_S = 5_000_000
CWND_BYTES = 596_992  # 583 KBytes


class Made:
    """The events of one run, piece by piece."""

    def __init__(self, role: str = "client", interval_s: float = 1.0, **test: Any) -> None:
        self.role = role
        self.test = TestSpec(**test)
        self.interval_s = interval_s
        count = self.test.parallel * (2 if self.test.bidir else 1)
        self.streams = [1, *range(3, count + 2)]

    def sends(self, stream: int) -> bool:
        reverse = self.test.reverse
        if self.test.bidir:
            reverse = self.streams.index(stream) >= self.test.parallel
        return reverse == (self.role == "server")

    def opening(self) -> list[ev.Event]:
        """All up to the start of the data."""
        spec = ServerSpec(interval_s=self.interval_s).to_json()
        ends = (SERVER, PORT, CLIENT, 40000)
        if self.role == "client":
            spec = ClientSpec("lab-b", interval_s=self.interval_s, test=self.test).to_json()
            ends = (CLIENT, 40000, SERVER, PORT)
        events: list[ev.Event] = [
            ev.RunStarted(0.0, "made", self.role, "tuiperf 9.9", SYSTEM, WALL_S, spec),
            ev.Connected(0.1, *ends, COOKIE, 150, 1448),
            ev.Agreed(0.2, self.test.to_parameters("tuiperf 9.9")),
        ]
        return [
            *events,
            *(self._opened(number, stream) for number, stream in enumerate(self.streams)),
            ev.TestStarted(0.4, WALL_S + 0.4, self.test.window_bytes, 16384, 131072, 1448),
        ]

    def _opened(self, number: int, stream: int) -> ev.StreamOpened:
        ends = (CLIENT, 40001 + number, SERVER, PORT)
        if self.role == "server":
            ends = (SERVER, PORT, CLIENT, 40001 + number)
        return ev.StreamOpened(0.3, stream, 5 + 2 * number, self.sends(stream), *ends)

    def interval(
        self, start_s: float, end_s: float, *, omitted: bool = False, retransmits: int = 0
    ) -> ev.Interval:
        """All streams at the usual rate."""
        carried = round(BYTES_PER_S * (end_s - start_s))
        rows = []
        for stream in self.streams:
            known: dict[str, Any] = {}
            if self.sends(stream):
                known = {
                    "retransmits": retransmits,
                    "cwnd_bytes": CWND_BYTES,
                    "snd_wnd_bytes": 108_544,
                    "rtt_us": 1000 + round(end_s),
                    "rttvar_us": 3,
                    "pmtu_bytes": 1500,
                    "reorder_events": 0,
                }
            rows.append(
                ev.StreamInterval(stream, self.sends(stream), start_s, end_s, carried, **known)
            )
        return ev.Interval(0.4 + self.test.omit_s + end_s, start_s, end_s, omitted, tuple(rows))

    def results(
        self,
        side: str,
        seconds: float,
        carried: int,
        retransmits: int = 0,
        congestion: str = "cubic",
    ) -> ev.Results:
        """One end's totals, the same for every stream."""
        senders = [self.sends(stream) is (side == "local") for stream in self.streams]
        rows = tuple(
            ev.StreamResult(stream, carried, retransmits if sender else None, 0.0, seconds)
            for stream, sender in zip(self.streams, senders, strict=True)
        )
        cpu = (2.5, 0.5, 2.0) if side == "local" else (4.25, 1.0, 3.25)
        knows = 1 if any(senders) else -1
        return ev.Results(seconds + 1, side, congestion, *cpu, knows, rows)

    def whole(self) -> list[ev.Event]:
        """Two seconds of data, one before them where the test omits it, and both ends' results.

        The receiving end took a little longer and got 5000 bytes less.
        """
        events = self.opening()
        if self.test.omit_s:
            events.append(self.interval(0.0, 1.0, omitted=True, retransmits=12))
        if self.interval_s:
            events += [self.interval(0.0, 1.0, retransmits=3), self.interval(1.0, 2.0)]
        else:
            events.append(self.interval(0.0, 2.0, retransmits=3))
        return [
            *events,
            self.results("local", 2.0, 10_000_000, 3),
            self.results("remote", 2.01, 9_995_000, 7, "bbr"),
            ev.RunEnded(3.1, "completed"),
        ]


def listening(number: int = 1) -> ev.Listening:
    return ev.Listening(0.0, ("::",), PORT, number)


def lines_of(report: Any, events: Iterable[ev.Event]) -> list[str]:
    """All lines that the events give, one after the other."""
    return [line for event in events for line in report.lines(event)]


def without(events: Sequence[ev.Event], *kinds: type[ev.Event]) -> list[ev.Event]:
    return [event for event in events if not isinstance(event, kinds)]
