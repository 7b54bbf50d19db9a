"""iperf3's `-J` document, of version 3.21: same keys, order, types and arithmetic.

It differs where iperf3 would state what it does not know: after a broken test the bytes and rates
of an end that did not report are null, and a server's document has the client's figures, which it
got, instead of zeros. Keys that iperf3 writes twice are written once.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from tuiperf import events as ev
from tuiperf.report import udp_json
from tuiperf.report.cjson import dump
from tuiperf.report.facts import Count, Facts, Group, Seen, add_known, file_percent, rate, total
from tuiperf.report.iperf3_text import http_date, interrupt_line
from tuiperf.report.udp_text import add_up

Json = dict[str, Any]

__all__ = ["JsonReport", "dump"]


class JsonReport:
    """Gathers a run's events; `document` can be asked for at any time, best after RunEnded."""

    def __init__(self, tool: str = "", system: str = "") -> None:
        """`tool` and `system` stand in the document of a run that never started."""
        self._tool = tool
        self._system = system
        self._facts = Facts()
        self._intervals: list[Json] = []

    def feed(self, event: ev.Event) -> None:
        """Take in the next event. A RunStarted begins a new document."""
        self._facts = self._facts.after(event)
        if isinstance(event, ev.RunStarted):
            self._intervals = []
        elif isinstance(event, ev.Interval) and self._facts.shows(event):
            self._intervals.append(_interval(event, self._facts))

    @property
    def interval_count(self) -> int:
        """How many intervals the document has so far."""
        return len(self._intervals)

    def document(self, diagnosis: Json | None = None) -> Json:
        """The whole document, with `diagnosis` as its last member where there is one."""
        facts = self._facts
        parts: Json = {
            "start": _start(facts, self._tool, self._system),
            "intervals": self._intervals,
            "end": _end(facts),
        }
        if facts.agreed and facts.test.title:
            parts["title"] = facts.test.title
        if facts.agreed and facts.test.extra_data:
            parts["extra_data"] = facts.test.extra_data
        if facts.output and facts.output.document is not None:
            parts["server_output_json"] = facts.output.document
        elif facts.output and facts.output.text is not None:
            parts["server_output_text"] = facts.output.text
        error = _error(facts)
        if error:
            parts["error"] = error
        if diagnosis is not None:
            parts["diagnosis"] = diagnosis
        return parts


def _error(facts: Facts) -> str:
    if facts.failure:
        return facts.failure.text
    if facts.ended and facts.ended.outcome == "interrupted":
        return interrupt_line(facts.role, facts.ended.signal)
    if facts.ended and facts.ended.outcome == "failed":
        return "the test failed"
    return ""


# ---------------------------------------------------------------------- start


def _start(facts: Facts, tool: str, system: str) -> Json:
    start: Json = {
        "connected": [_connected(each) for each in facts.streams.values()],
        "version": facts.run.tool if facts.run else tool,
        "system_info": facts.run.system if facts.run else system,
    }
    buffers = _buffers(facts)
    if not facts.is_client:
        if facts.test.rate_bps:
            start["target_bitrate"] = facts.test.rate_bps
        start |= buffers
    if facts.agreed:
        start |= _meeting(facts, facts.agreed)
    if facts.is_client:
        start |= buffers
    if facts.started:
        start["test_start"] = _test_start(facts)
    return start


def _connected(stream: ev.StreamOpened) -> Json:
    return {
        "socket": stream.fd,
        "local_host": stream.local_host,
        "local_port": stream.local_port,
        "remote_host": stream.remote_host,
        "remote_port": stream.remote_port,
    }


def _buffers(facts: Facts) -> Json:
    if facts.started is None:
        return {}
    return {
        "sock_bufsize": facts.started.asked_bufsize_bytes,
        "sndbuf_actual": facts.started.sndbuf_bytes,
        "rcvbuf_actual": facts.started.rcvbuf_bytes,
    }


def _meeting(facts: Facts, agreed: ev.Agreed) -> Json:
    """What is known as soon as client and server talk."""
    wall_s = facts.wall_s(agreed) or 0.0
    wall_ms = int(wall_s * 1000) if math.isfinite(wall_s * 1000) else 0
    part: Json = {
        "timestamp": {
            "time": http_date(wall_s),
            "timesecs": wall_ms // 1000,
            "timemillisecs": wall_ms,
        }
    }
    connection = facts.connection
    if facts.is_client:
        part["connecting_to"] = {"host": facts.host, "port": facts.port}
    elif connection:
        part["accepted_connection"] = {
            "host": connection.remote_host,
            "port": connection.remote_port,
        }
    if connection:
        part["cookie"] = connection.cookie
    if facts.test.protocol != "tcp":
        pass
    elif facts.test.mss_bytes:
        part["tcp_mss"] = facts.test.mss_bytes
    else:
        known_bytes = connection.mss_bytes if connection and facts.is_client else None
        part["tcp_mss_default"] = known_bytes or 0
    part["target_bitrate"] = facts.test.rate_bps
    part["fq_rate"] = facts.test.fq_rate_bps
    return part


def _test_start(facts: Facts) -> Json:
    test = facts.test
    return {
        "protocol": test.protocol.upper(),
        "num_streams": test.parallel,
        "blksize": test.block_bytes,
        "omit": test.omit_s,
        "duration": 0 if test.limited else test.time_s,
        "bytes": test.total_bytes,
        "blocks": test.total_blocks,
        "reverse": int(test.reverse),
        "tos": test.tos,
        "target_bitrate": test.rate_bps,
        "bidir": int(test.bidir),
        "fqrate": test.fq_rate_bps,
        "interval": facts.interval_s,
        "gso": int(test.gso),
        "gro": int(test.gro),
    }


# ---------------------------------------------------------------------- intervals


def _interval(event: ev.Interval, facts: Facts) -> Json:
    rows = {row.stream: row for row in event.streams}
    streams: list[Json] = []
    sums: list[Json] = []
    for group in facts.groups():
        shown = [(each.fd, rows[each.stream]) for each in group.streams if each.stream in rows]
        streams += [_interval_stream(fd, row, event.omitted) for fd, row in shown]
        sums.append(_interval_sum(event, [row for _, row in shown], group))
    document: Json = {"streams": streams, "sum": sums[0]}
    if len(sums) > 1:
        document["sum_bidir_reverse"] = sums[1]
    return document


def _interval_stream(fd: int, row: ev.StreamInterval, omitted: bool) -> Json:
    document: Json = {"socket": fd, **_span(row.start_s, row.end_s, row.bytes)}
    if row.sends and row.retransmits is not None:
        document["retransmits"] = row.retransmits
        document["snd_cwnd"] = row.cwnd_bytes
        document["snd_wnd"] = row.snd_wnd_bytes
        document["rtt"] = row.rtt_us
        document["rttvar"] = row.rttvar_us
        document["pmtu"] = row.pmtu_bytes
        document["reorder"] = row.reorder_events
    if row.udp is not None:
        document |= udp_json.interval_members(row.udp, row.sends)
    document["omitted"] = omitted
    document["sender"] = row.sends
    return document


def _interval_sum(event: ev.Interval, rows: list[ev.StreamInterval], group: Group) -> Json:
    document = _span(event.start_s, event.end_s, sum(row.bytes for row in rows))
    retransmits = add_known(row.retransmits for row in rows) if group.sends else None
    if retransmits is not None:
        document["retransmits"] = retransmits
    figures = [row.udp for row in rows if row.udp is not None]
    if figures:
        document |= udp_json.interval_members(add_up(figures), group.sends)
    document["omitted"] = event.omitted
    document["sender"] = group.sends
    return document


def _span(start_s: float, end_s: float, carried_bytes: int) -> Json:
    start_s, end_s = round(start_s, 6), round(end_s, 6)
    seconds = _single(end_s - start_s)
    return {
        "start": start_s,
        "end": end_s,
        "seconds": seconds,
        "bytes": carried_bytes,
        "bits_per_second": rate(carried_bytes, seconds) * 8,
    }


def _single(value: float) -> float:
    """Rounded to single precision, in which iperf3 keeps an interval's length."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return value


# ---------------------------------------------------------------------- end


def _end(facts: Facts) -> Json:
    if not facts.measured:
        return {}
    groups = facts.groups()
    streams: list[Json] = []
    sums: Json = {}
    for number, group in enumerate(groups):
        sent = facts.counts(group, of_sender=True)
        received = facts.counts(group, of_sender=False)
        suffix = "_bidir_reverse" if number else ""
        streams += [
            _end_stream(facts, group, each, sent.get(each.stream), received.get(each.stream))
            for each in group.streams
        ]
        if facts.test.udp:
            sums |= udp_json.end_sums(facts, group, sent, received, suffix)
            continue
        sums[f"sum_sent{suffix}"] = _sum_sent(facts, group, total(sent, group))
        sums[f"sum_received{suffix}"] = {
            **_whole(facts, total(received, group)),
            "sender": group.sends,
        }
    return {
        "streams": streams,
        **sums,
        "cpu_utilization_percent": _cpu(facts),
        **_congestion(facts, groups[-1]),
    }


def _end_stream(
    facts: Facts, group: Group, stream: ev.StreamOpened, sent: Count | None, got: Count | None
) -> Json:
    if facts.test.udp:
        return udp_json.end_stream(stream.fd, facts, group, sent, got)
    return {
        "sender": _sender(facts, group, stream, sent),
        **_disk_file(facts, sent, got),
        "receiver": _receiver(facts, group, stream, got),
    }


def _disk_file(facts: Facts, sent: Count | None, got: Count | None) -> Json:
    """What -F adds to a stream; null for what the far end did not tell."""
    file = facts.file
    if file is None:
        return {}
    size = file.size_bytes
    return {
        "diskfile": {
            "sent": sent.bytes if sent else None,
            "received": got.bytes if got else None,
            "size": size,
            "percent_sent": file_percent(sent.bytes, size) if sent else None,
            "percent_received": file_percent(got.bytes, size) if got else None,
            "filename": file.name,
        }
    }


def _whole(facts: Facts, count: Count | None) -> Json:
    """Time, bytes and rate of a whole test; null for what the end in question did not tell."""
    seconds = round(count.seconds if count else facts.local_s, 6)
    return {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": count.bytes if count else None,
        "bits_per_second": rate(count.bytes, seconds) * 8 if count else None,
    }


def _sender(facts: Facts, group: Group, stream: ev.StreamOpened, count: Count | None) -> Json:
    document: Json = {"socket": stream.fd, **_whole(facts, count)}
    if _shows_retransmits(facts, group, count):
        seen = facts.seen.get(stream.stream, Seen()) if group.sends else Seen()
        document["retransmits"] = count.retransmits if count else None
        document["reorder"] = seen.reorder_events
        document["max_snd_cwnd"] = seen.max_cwnd_bytes
        document["max_snd_wnd"] = seen.max_snd_wnd_bytes
        document["max_rtt"] = seen.max_rtt_us
        document["min_rtt"] = seen.min_rtt_us
        document["mean_rtt"] = seen.mean_rtt_us
    document["sender"] = group.sends
    return document


def _receiver(facts: Facts, group: Group, stream: ev.StreamOpened, count: Count | None) -> Json:
    document: Json = {"socket": stream.fd, **_whole(facts, count)}
    document["seconds"] = round(facts.local_s, 6)
    document["sender"] = group.sends
    return document


def _sum_sent(facts: Facts, group: Group, count: Count | None) -> Json:
    document = _whole(facts, count)
    if _shows_retransmits(facts, group, count):
        document["retransmits"] = count.retransmits if count else None
    document["sender"] = group.sends
    return document


def _shows_retransmits(facts: Facts, group: Group, count: Count | None) -> bool:
    known = count is not None and count.retransmits is not None
    return known and (group.sends or facts.is_client)


def _cpu(facts: Facts) -> Json:
    document: Json = {}
    for side, results in (("host", facts.local), ("remote", facts.remote)):
        document[f"{side}_total"] = results.cpu_total_percent if results else None
        document[f"{side}_user"] = results.cpu_user_percent if results else None
        document[f"{side}_system"] = results.cpu_system_percent if results else None
    return document


def _congestion(facts: Facts, group: Group) -> Json:
    ours = facts.local.congestion if facts.local else None
    theirs = facts.remote.congestion if facts.remote and facts.is_client else None
    sender, receiver = (ours, theirs) if group.sends else (theirs, ours)
    document: Json = {}
    if facts.test.udp:
        return document
    if sender:
        document["sender_tcp_congestion"] = sender
    if receiver:
        document["receiver_tcp_congestion"] = receiver
    return document
