"""The plain page: what the live screen shows, line by line as it becomes known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tuiperf import events as ev
from tuiperf.cli.options import OutputSettings
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import may_colour
from tuiperf.engine.udp_notes import rate_text
from tuiperf.rules.hold import Held
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Direction, Session, reduce
from tuiperf.view.intervals import plain_heading, plain_lines
from tuiperf.view.numbers import RateUnit, Units, units_of
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, Row
from tuiperf.view.summary import summary_rows
from tuiperf.view.terminal_text import painted
from tuiperf.view.verdicts import verdict_line

WIDTH = 79

Judge = Callable[[Session], Sequence[Verdict]]

_RATE_UNITS = {
    "k": RateUnit("Kbit/s", 1e3, 0),
    "m": RateUnit("Mbit/s", 1e6, 2),
    "g": RateUnit("Gbit/s", 1e9, 3),
    "t": RateUnit("Tbit/s", 1e12, 4),
    "K": RateUnit("KByte/s", 8 * 1024.0, 0),
    "M": RateUnit("MByte/s", 8 * 1024.0**2, 2),
    "G": RateUnit("GByte/s", 8 * 1024.0**3, 3),
    "T": RateUnit("TByte/s", 8 * 1024.0**4, 4),
}


@dataclass(frozen=True)
class Look:
    """How lines look: which characters, colour or none, a fixed unit ("a": fitting), prefixes."""

    ascii: bool = False
    colour: bool = False
    unit_format: str = "a"
    title: str = ""
    timestamps: str | None = None

    @property
    def glyphs(self) -> Glyphs:
        return ASCII if self.ascii else UNICODE

    def prefixed(self, line: str) -> str:
        """The line with the time and the title before it, where they were asked for."""
        stamp = time.strftime(self.timestamps) if self.timestamps else ""
        title = f"{self.glyphs.text(self.title)}:  " if self.title else ""
        return (
            f"{stamp}{title}{line}" if line or not (stamp or title) else f"{stamp}{title}".rstrip()
        )

    def painted(self, row: Row) -> str:
        """A row as text, with colour where that was wanted."""
        return painted(row, self.colour)


def look_of(output: OutputSettings, printer: Printer, ascii_only: bool) -> Look:
    """How the page looks, from the settings and from where it is written."""
    return Look(
        ascii_only,
        not output.logfile and may_colour(printer.stream),
        output.unit_format,
        output.title,
        output.timestamps,
    )


@dataclass
class PlainPage:
    """Turns a run's events into lines; the session it folds them into is in `session`."""

    judge: Judge
    look: Look = field(default_factory=Look)
    recording: str = ""
    session: Session = field(default_factory=Session)
    _units: Units | None = None
    _headed: bool = False
    _told: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.judge = Held(self.judge)

    def lines(self, event: ev.Event) -> list[str]:
        """Fold one event in, and return the lines that it adds to the page."""
        reduce(self.session, event)
        return [self.look.prefixed(line) for line in self._new_lines(event)]

    def closing(self) -> list[str]:
        """The summary of a run whose record breaks off before its end; nothing for a whole one."""
        if self.session.ended is not None:
            return []
        return [self.look.prefixed(line) for line in self._ending()]

    def _new_lines(self, event: ev.Event) -> list[str]:
        if isinstance(event, ev.TestStarted):
            return self._opening()
        if isinstance(event, ev.Interval):
            return [*self._interval(event), *self._news()]
        if isinstance(event, ev.Note) and event.level == "warning":
            return [f"  {self.look.glyphs.look} {self.look.glyphs.text(event.text)}"]
        if isinstance(event, ev.RunEnded):
            return self._ending()
        return []

    def _opening(self) -> list[str]:
        """Who measures what with whom, in which direction."""
        session, glyphs = self.session, self.look.glyphs
        several = len(session.streams) > 1
        protocol = session.test.protocol.upper() if session.test else "TCP"
        what = "streams" if protocol == "UDP" else "connections"
        count = f"{len(session.streams)} {what}" if several else f"1 {what[:-1]}"
        parts = [
            f"{protocol}, {count}",
            *_offered(session),
            _duration(session),
            *(session.words(direction) for direction in _directions(session)),
        ]
        lines = [
            self.look.painted([("tuiperf  ", "title"), (glyphs.text(", ".join(parts)), "strong")])
        ]
        ends = session.connection
        if ends is not None:
            family = "IPv6" if ":" in ends.remote_host else "IPv4"
            far = f"{ends.remote_host} port {ends.remote_port}"
            lines.append(f"         {glyphs.text(f'{ends.local_host} to {far}, {family}')}")
        return [*lines, ""]

    def _interval(self, event: ev.Interval) -> list[str]:
        lines = []
        if self._units is None:
            self._units = self._chosen_units()
        if not self._headed:
            self._headed = True
            lines.append(plain_heading(self.session, self.look.glyphs, self._units))
        return lines + plain_lines(self.session, event, self.look.glyphs, self._units)

    def _chosen_units(self) -> Units:
        units = units_of(self.session)
        fixed = _RATE_UNITS.get(self.look.unit_format)
        return units._replace(rate=fixed) if fixed else units

    def _news(self) -> list[str]:
        """Verdicts that were not told before, or tell something else now."""
        verdicts = [each for each in self.judge(self.session) if each.level is not Level.PENDING]
        new = [each for each in verdicts if _key(each) not in self._told]
        self._told = frozenset(_key(each) for each in verdicts)
        return [self.look.painted(verdict_line(each, WIDTH, self.look.glyphs)) for each in new]

    def _ending(self) -> list[str]:
        if self.session.started is None and self.session.failure is not None:
            return []
        units = self._units or self._chosen_units()
        rows = summary_rows(
            self.session,
            self.judge(self.session),
            WIDTH,
            self.look.glyphs,
            units=units,
            recording=self.recording,
        )
        return ["", *(self.look.painted(row) for row in rows)]


def _key(verdict: Verdict) -> str:
    return f"{verdict.id} {verdict.level.value} {verdict.qualifier}"


def _directions(session: Session) -> Iterable[Direction]:
    return [direction for direction in Direction if session.streams_of(direction)]


def _offered(session: Session) -> list[str]:
    """The rate that UDP is sent at, which is no result."""
    test = session.test
    if test is None or not test.udp:
        return []
    return [f"{rate_text(test.rate_bps)} offered" if test.rate_bps else "as fast as it goes"]


def _duration(session: Session) -> str:
    test = session.test
    if test is None:
        return "until stopped"
    if test.limited:
        blocks = f"{test.total_blocks} blocks"
        return f"{test.total_bytes} bytes" if test.total_bytes else blocks
    omitted = f" after {test.omit_s} s left out" if test.omit_s else ""
    return (f"{test.time_s} s" if test.time_s else "until stopped") + omitted
