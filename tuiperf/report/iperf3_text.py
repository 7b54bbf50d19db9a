"""iperf3's plain text, line for line: the tables and frame lines of 3.18 and newer.

Where iperf3 prints figures that it does not have, or not rightly, this differs: after a broken or
interrupted test there is no second copy of the last interval, rates are over the time measured, and
the line of an end that did not report is left out instead of showing zeros.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, ClassVar

from tuiperf import events as ev
from tuiperf.report import udp_text
from tuiperf.report.cjson import dump
from tuiperf.report.facts import Count, Facts, Group, add_known, file_percent, rate, total
from tuiperf.report.units import bitrate, transfer
from tuiperf.view.rows import escape

RULE = "-" * 59
SEPARATOR = " ".join("-" * 25)
COLUMNS = "Interval           Transfer     Bitrate"
RETR = "         Retr"
RETR_CWND = "         Retr  Cwnd"


@dataclass(frozen=True)
class TextSettings:
    """How the text is to look. `tool` and `system` head a verbose server's output."""

    unit_format: str = "a"  # -f, one of kmgtKMGT, or "a" for the step that fits
    verbose: bool = False
    title: str = ""  # before every line of a client
    timestamps: str | None = None  # a format of strftime, before every line
    tool: str = ""
    system: str = ""


class TextReport:
    """Turns the events of a client's run, or of a server's many, into lines as they come.

    `wall_time_s` is asked only where timestamps are wanted, for the moment of printing.
    """

    def __init__(
        self,
        settings: TextSettings | None = None,
        wall_time_s: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings or TextSettings()
        self._wall_time_s = wall_time_s
        self._facts = Facts()
        self._greeted = False  # a verbose report begins with the tool and the system
        self._begin()

    def _begin(self) -> None:
        self._control_mss_shown = False
        self._intervals_shown = False
        self._omit_end_shown = False
        self._summed_up = False

    def lines(self, event: ev.Event) -> list[str]:
        """The lines, without their ends, that this event adds; often none."""
        self._facts = self._facts.after(event)
        handler = self._handlers.get(type(event))
        return [self._prefix() + line for line in handler(self, event)] if handler else []

    def _prefix(self) -> str:
        prefix = ""
        if self.settings.timestamps is not None:
            moment = time.localtime(self._wall_time_s())
            prefix = escape(time.strftime(self.settings.timestamps, moment))
        if self.settings.title and self._facts.is_client:
            prefix += f"{escape(self.settings.title)}:  "
        return prefix

    # ------------------------------------------------------------------ frame lines

    def _on_run_started(self, event: ev.RunStarted) -> list[str]:
        self._begin()
        return self._greeting(event.tool, event.system)

    def _greeting(self, tool: str, system: str) -> list[str]:
        if self._greeted or not self.settings.verbose or not tool:
            return []
        self._greeted = True
        return [escape(tool), escape(system)]

    def _on_listening(self, event: ev.Listening) -> list[str]:
        banner = f"Server listening on {event.port} (test #{event.test_number})"
        head = [*self._greeting(self.settings.tool, self.settings.system), RULE, banner]
        if event.test_number == 1:
            head.append(f"Reachable at {_places(event.addresses)}")
        return [*head, RULE]

    def _on_connected(self, event: ev.Connected) -> list[str]:
        shown, self._control_mss_shown = self._control_mss_shown, True
        if shown or not (self.settings.verbose and self._facts.is_client and event.mss_bytes):
            return []
        return [f"Control connection MSS {event.mss_bytes}"]

    def _on_agreed(self, event: ev.Agreed) -> list[str]:
        facts, verbose = self._facts, self.settings.verbose
        connection = facts.connection
        lines = [f"Time: {http_date(facts.wall_s(event))}"] if verbose else []
        if facts.is_client:
            host = escape(facts.host)
            lines.append(f"Connecting to host {host}, port {facts.port}")
            if facts.test.reverse:
                lines.append(f"Reverse mode, remote host {host} is sending")
        elif connection:
            remote_host = escape(connection.remote_host)
            lines.append(f"Accepted connection from {remote_host}, port {connection.remote_port}")
        if verbose and connection:
            lines += self._parameters(connection)
        return lines

    def _parameters(self, connection: ev.Connected) -> list[str]:
        test = self._facts.test
        default_bytes = (connection.mss_bytes or 0) if self._facts.is_client else 0
        mss = f"{test.mss_bytes}" if test.mss_bytes else f"{default_bytes} (default)"
        lines = [f"      Cookie: {escape(connection.cookie)}"]
        if test.protocol == "tcp":
            lines.append(f"      TCP MSS: {mss}")
        if test.rate_bps:
            lines.append(f"      Target Bitrate: {test.rate_bps}")
        return lines

    def _on_stream_opened(self, event: ev.StreamOpened) -> list[str]:
        return [
            f"[{event.fd:3d}] local {escape(event.local_host)} port {event.local_port}"
            f" connected to {escape(event.remote_host)} port {event.remote_port}"
        ]

    def _on_test_started(self, event: ev.TestStarted) -> list[str]:
        if not self.settings.verbose:
            return []
        test = self._facts.test
        if test.total_bytes:
            length = f"{test.total_bytes} bytes to send"
        elif test.total_blocks:
            length = f"{test.total_blocks} blocks to send"
        else:
            length = f"{test.time_s} second test"
        return [
            f"Starting Test: protocol: {test.protocol.upper()}, {test.parallel} streams, "
            f"{test.block_bytes} byte blocks, omitting {test.omit_s} seconds, "
            f"{length}, tos {test.tos}"
        ]

    def _on_server_output(self, event: ev.ServerOutput) -> list[str]:
        if event.document is not None:
            return ["", "Server JSON output:", *dump(event.document).split("\n")]
        if event.text is None:
            return []
        # iperf3's server sends whole lines; its client ends the last one once more.
        return ["", "Server output:", *map(_tabbed, event.text.split("\n"))]

    def _on_failed(self, event: ev.Failed) -> list[str]:
        return self._summary()

    def _on_run_ended(self, event: ev.RunEnded) -> list[str]:
        lines = self._summary()
        if self._facts.is_client and event.outcome == "completed":
            lines += ["", "iperf Done."]
        return lines

    # ------------------------------------------------------------------ intervals

    def _on_interval(self, event: ev.Interval) -> list[str]:
        lines = self._omit_end(event)
        if not self._facts.shows(event):
            return lines
        rows = {row.stream: row for row in event.streams}
        groups = self._facts.groups()
        knows_retransmits = any(row.sends and row.retransmits is not None for row in rows.values())
        if not self._intervals_shown:
            lines.append(self._heading(self._interval_columns(knows_retransmits)))
        elif self._facts.test.parallel > 1:
            lines.append(SEPARATOR)
        self._intervals_shown = True
        tail = "(omitted)" if event.omitted else ""
        for group in groups:
            shown = [(each.fd, rows[each.stream]) for each in group.streams if each.stream in rows]
            lines += [self._interval_line(fd, row, group, tail) for fd, row in shown]
            if self._facts.test.parallel > 1 and shown:
                lines.append(self._interval_sum(event, [row for _, row in shown], group, tail))
        return lines

    def _interval_columns(self, knows_retransmits: bool) -> str:
        if not self._facts.test.udp:
            return RETR_CWND if knows_retransmits else ""
        only_sends = all(group.sends for group in self._facts.groups())
        return udp_text.TOTAL if only_sends else udp_text.JITTER_LOST

    def _omit_end(self, event: ev.Interval) -> list[str]:
        """With -V and no intervals, one line tells that what counts begins."""
        begins = self._facts.test.omit_s and not self._facts.interval_s and self.settings.verbose
        if not begins or self._omit_end_shown:
            return []
        self._omit_end_shown = True
        return ["Finished omit period, starting real test"]

    def _interval_line(self, fd: int, row: ev.StreamInterval, group: Group, tail: str) -> str:
        head = self._head(f"[{fd:3d}]", group, row.start_s, row.end_s, row.bytes)
        if row.udp is not None:
            return head + self._udp_columns(row.udp, group) + tail
        if not row.sends or row.retransmits is None:
            return f"{head}{'':18}{tail}"
        if row.cwnd_bytes is None:
            return f"{head}  {row.retransmits:3d}{'':13}{tail}"
        return f"{head}  {row.retransmits:3d}   {transfer(row.cwnd_bytes)}       {tail}"

    def _udp_columns(self, udp: ev.UdpFigures, group: Group) -> str:
        if group.sends:
            return udp_text.sent(udp.packets, self._facts.test.bidir)
        return udp_text.received(udp)

    def _interval_sum(
        self, event: ev.Interval, rows: list[ev.StreamInterval], group: Group, tail: str
    ) -> str:
        carried_bytes = sum(row.bytes for row in rows)
        head = self._head("[SUM]", group, event.start_s, event.end_s, carried_bytes)
        figures = [row.udp for row in rows if row.udp is not None]
        if figures:
            return head + self._udp_columns(udp_text.add_up(figures), group) + tail
        retransmits = add_known(row.retransmits for row in rows) if group.sends else None
        if retransmits is None:
            return f"{head}{'':18}{tail}"
        return f"{head}  {retransmits:3d}{'':13}{tail}"

    # ------------------------------------------------------------------ the summary

    def _on_results(self, event: ev.Results) -> list[str]:
        both = self._facts.local is not None and self._facts.remote is not None
        return self._summary() if both else []

    def _summary(self) -> list[str]:
        """The table at the end, once, of whatever was measured."""
        facts = self._facts
        if self._summed_up or not facts.measured:
            return []
        self._summed_up = True
        lines = [SEPARATOR]
        if self.settings.verbose:
            lines.append("Test Complete. Summary Results:")
        groups = facts.groups()
        more = RETR if self._knows_retransmits(groups) else ""
        lines.append(self._heading(udp_text.JITTER_LOST if facts.test.udp else more))
        for group in groups:
            lines += self._summary_rows(group)
            if self.settings.verbose:
                lines += self._cpu_lines(group) + self._congestion_lines(group)
        return lines

    def _knows_retransmits(self, groups: list[Group]) -> bool:
        """True when a sender line will have them; a server shows only its own."""
        return any(
            count.retransmits is not None
            for group in groups
            if group.sends or self._facts.is_client
            for count in self._facts.counts(group, of_sender=True).values()
        )

    def _summary_rows(self, group: Group) -> list[str]:
        sent = self._facts.counts(group, of_sender=True)
        received = self._facts.counts(group, of_sender=False)
        lines = []
        for each in group.streams:
            name = f"[{each.fd:3d}]"
            lines += self._sender_line(name, group, sent.get(each.stream), 12)
            lines += self._file_line((sent if group.sends else received).get(each.stream))
            lines += self._out_of_order_line(group, received.get(each.stream))
            lines += self._receiver_line(name, group, received.get(each.stream))
        if self._facts.test.parallel > 1 and group.streams:
            lines += self._sender_line("[SUM]", group, total(sent, group), 13)
            lines += self._receiver_line("[SUM]", group, total(received, group))
        return lines

    def _sender_line(self, name: str, group: Group, count: Count | None, blanks: int) -> list[str]:
        if not self._facts.is_client and not group.sends:
            return [f"{name} (sender statistics not available)"] if self.settings.verbose else []
        if count is None:
            return []
        head = self._count_head(name, group, count)
        if count.packets is not None:
            return [f"{head}{udp_text.of_sender(count.packets)}sender"]
        if count.retransmits is None:
            return [f"{head}{'':18}sender"]
        return [f"{head}  {count.retransmits:3d}{'':{blanks}}sender"]

    def _receiver_line(self, name: str, group: Group, count: Count | None) -> list[str]:
        if not self._facts.is_client and group.sends:
            return [f"{name} (receiver statistics not available)"] if self.settings.verbose else []
        if count is None:
            return []
        head = self._count_head(name, group, count)
        if count.packets is not None:
            return [f"{head}{udp_text.columns(count.packets)}receiver"]
        return [f"{head}{'':18}receiver"]

    def _file_line(self, count: Count | None) -> list[str]:
        """How much of the -F file; iperf3 calls it sent at both ends."""
        file = self._facts.file
        if file is None or count is None:
            return []
        carried, size = transfer(count.bytes)[:-1], transfer(file.size_bytes)[:-1]
        percent = file_percent(count.bytes, file.size_bytes)
        return [f"        Sent {carried} / {size} ({percent}%) of {escape(file.name)}"]

    def _out_of_order_line(self, group: Group, count: Count | None) -> list[str]:
        """Only this end's own receivers know; iperf3 calls each of these lines a sum."""
        packets = count.packets if count else None
        if count is None or packets is None or not packets.out_of_order:
            return []
        times = f"{0.0:4.1f}-{count.seconds:4.1f} sec"
        words = f"{packets.out_of_order} datagrams received out-of-order"
        return [f"[SUM]{self._role(group)} {times}  {words}"]

    def _cpu_lines(self, group: Group) -> list[str]:
        """iperf3 prints them with the direction this end sends in, for both roles of both ends."""
        if not group.sends or self._facts.local is None:
            return []
        roles = [("sender", "receiver")]
        if self._facts.test.bidir:
            roles.append(("receiver", "sender"))
        local, remote = self._facts.local, self._facts.remote
        lines = []
        for ours, theirs in roles:
            line = f"CPU Utilization: local/{ours} {_cpu(local)}"
            lines.append(f"{line}, remote/{theirs} {_cpu(remote)}" if remote else line)
        return lines

    def _congestion_lines(self, group: Group) -> list[str]:
        local, remote = self._facts.local, self._facts.remote
        ours = local.congestion if local else None
        theirs = remote.congestion if remote and self._facts.is_client else None
        sender, receiver = (ours, theirs) if group.sends else (theirs, ours)
        lines = [f"snd_tcp_congestion {escape(sender)}"] if sender else []
        return lines + ([f"rcv_tcp_congestion {escape(receiver)}"] if receiver else [])

    # ------------------------------------------------------------------ parts of lines

    def _heading(self, more: str) -> str:
        role = "[Role]" if self._facts.test.bidir else ""
        return f"[ ID]{role} {COLUMNS}{more}"

    def _count_head(self, name: str, group: Group, count: Count) -> str:
        return self._head(name, group, 0.0, count.seconds, count.bytes)

    def _role(self, group: Group) -> str:
        if not self._facts.test.bidir:
            return ""
        way = "TX" if group.sends else "RX"
        return f"[{way}-{'C' if self._facts.is_client else 'S'}]"

    def _head(self, name: str, group: Group, start_s: float, end_s: float, carried: int) -> str:
        role = self._role(group)
        speed = bitrate(rate(carried, end_s - start_s), self.settings.unit_format)
        return f"{name}{role} {start_s:6.2f}-{end_s:<6.2f} sec  {transfer(carried)}  {speed}"

    _handlers: ClassVar[dict[type, Callable[[Any, Any], list[str]]]] = {
        ev.RunStarted: _on_run_started,
        ev.Listening: _on_listening,
        ev.Connected: _on_connected,
        ev.Agreed: _on_agreed,
        ev.StreamOpened: _on_stream_opened,
        ev.TestStarted: _on_test_started,
        ev.Interval: _on_interval,
        ev.Results: _on_results,
        ev.ServerOutput: _on_server_output,
        ev.Failed: _on_failed,
        ev.RunEnded: _on_run_ended,
    }


def failure_line(event: ev.Failed | ev.RunEnded, role: str = "client") -> str:
    """The line for stderr behind the program's name, "" for a run that ended well."""
    if isinstance(event, ev.Failed):
        return f"error - {escape(event.text)}"
    return interrupt_line(role, event.signal) if event.outcome == "interrupted" else ""


def interrupt_line(role: str, signal: str | None) -> str:
    """What iperf3 says after a signal, such as "Interrupt(2)", ended it."""
    by = f" by signal {escape(signal)}" if signal else ""
    return f"interrupt - the {escape(role)} has terminated{by}"


def http_date(wall_s: float | None) -> str:
    """A time of day as `Mon, 30 Nov 2026 22:00:16 GMT`; "" where none can be told."""
    try:
        return "" if wall_s is None else formatdate(int(wall_s), usegmt=True)
    except (OverflowError, ValueError, OSError):
        return ""


def _places(addresses: tuple[str, ...]) -> str:
    """Where a server listens; iperf3 does not say it."""
    return " and ".join(_EVERYWHERE.get(each, escape(each)) for each in addresses)


_EVERYWHERE = {"0.0.0.0": "every IPv4 address", "::": "every IPv6 address"}


def _cpu(results: ev.Results) -> str:
    parts = f"{results.cpu_user_percent:.1f}%u/{results.cpu_system_percent:.1f}%s"
    return f"{results.cpu_total_percent:.1f}% ({parts})"


def _tabbed(line: str) -> str:
    """A foreign line made safe, its tabs kept."""
    return "\t".join(escape(part) for part in line.split("\t"))
