"""Measured runs over paths with a known fault, turned into the events of this program.

A recording holds the columns of TCP_INFO at 10 Hz of the sending socket (`snd`) and of the
receiving one (`rcv`). Only the columns that this end would have seen become events: the sending
socket of a run from here, the receiving one of a run to here.

Forms: a column that never changed is a single number; a missing one is 0; `d_` columns hold the
first value and then differences. Times are in ms, rates in kB/s, see `_FIELDS`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.session import Session, reduce

_UNSET = 2**32 - 1  # what the kernel says before it has measured

BUNDLE = Path(__file__).parent / "recordings.jsonl.gz"
PEER = "lab-b"

Json = dict[str, Any]

# The recording's column, our field, and the factor between their units.
_FIELDS: dict[bool, tuple[tuple[str, str, int], ...]] = {
    True: (
        ("snd_cwnd", "snd_cwnd_packets", 1),
        ("unacked", "unacked_packets", 1),
        ("rtt", "rtt_us", 1),
        ("min_rtt", "min_rtt_us", 1),
        ("notsent", "notsent_bytes", 1),
        ("snd_wnd", "snd_wnd_bytes", 1),
        ("reordering", "reordering_packets", 1),
        ("snd_mss", "snd_mss_bytes", 1),
        ("pmtu", "pmtu_bytes", 1),
        ("busy_time_ms", "busy_time_us", 1000),
        ("rwnd_limited_ms", "rwnd_limited_us", 1000),
        ("sndbuf_limited_ms", "sndbuf_limited_us", 1000),
        ("bytes_sent", "bytes_sent_bytes", 1),
        ("bytes_acked", "bytes_acked_bytes", 1),
        ("bytes_retrans", "bytes_retrans_bytes", 1),
        ("total_retrans", "total_retrans_packets", 1),
        ("pacing_rate_kBps", "pacing_rate_bytes_per_s", 1000),
        ("delivery_rate_kBps", "delivery_rate_bytes_per_s", 1000),
        ("applim", "delivery_rate_app_limited", 1),
        ("dsack_dups", "dsack_dups_packets", 1),
        ("reord_seen", "reord_seen_events", 1),
        ("total_rto", "total_rto_events", 1),
        ("backoff", "backoff", 1),
        ("delivered_ce", "delivered_ce_packets", 1),
    ),
    False: (
        ("rcv_rtt", "rcv_rtt_us", 1),
        ("rtt", "rtt_us", 1),
        ("min_rtt", "min_rtt_us", 1),
        ("rcv_wnd", "rcv_wnd_bytes", 1),
        ("rcv_ssthresh", "rcv_ssthresh_bytes", 1),
        ("rcv_ooopack", "rcv_ooopack_packets", 1),
        ("bytes_received", "bytes_received_bytes", 1),
        ("advmss", "rcv_mss_bytes", 1),
        ("last_data_recv", "last_data_recv_ms", 1),
    ),
}


# What our side's kernel counted over the run, by nstat's names and ours.
_COUNTERS = {
    "TCPDSACKOldSent": "tcp.TCPDSACKOldSent",
    "TCPDSACKOfoSent": "tcp.TCPDSACKOfoSent",
    "IpExtInCEPkts": "tcp.InCEPkts",
}


class Recording(NamedTuple):
    """One run: its name, what was done to the path, and what was measured."""

    name: str
    truth: str
    data: Json

    @property
    def here_sends(self) -> bool:
        return bool(self.data["view"] == "snd")


def carried() -> list[Recording]:
    """All the recordings, in the order of their names."""
    lines = gzip.decompress(BUNDLE.read_bytes()).splitlines()
    return [Recording(data["name"], data["truth"], data) for data in map(json.loads, lines)]


def session_of(recording: Recording) -> Session:
    """Play a recording to its end."""
    session = Session()
    for event in events(recording):
        reduce(session, event)
    return session


def prefixes(recording: Recording, step_s: float = 0.25) -> Iterator[Session]:
    """Play a recording and give the session as a screen sees it, each `step_s` of the test.

    It is the same growing session each time; the last one has the results of both ends.
    """
    session = Session()
    shown_s = 0.0
    for event in events(recording):
        reduce(session, event)
        if isinstance(event, ev.StreamSample) and event.test_s >= shown_s + step_s:
            shown_s = event.test_s
            yield session
    yield session


def events(recording: Recording) -> Iterator[ev.Event]:
    """What our engine would have told of this run."""
    data = recording.data
    sends = recording.here_sends
    spec = _spec(data, sends)
    columns = [_columns(each) for each in data["snd" if sends else "rcv"]]
    idle_us = _idle_us(columns)
    yield ev.RunStarted(0.0, recording.name, "client", "tuiperf", "", 0.0, spec.to_json())
    yield ev.Connected(0.0, "10.0.0.1", 40000, "10.0.0.2", 5201, "", idle_us, 1448)
    yield ev.Agreed(0.0, spec.test.to_parameters("tuiperf"))
    if sends:
        yield ev.OptionRead(0.0, "congestion", data["cc"], data["cc"], data["cc"], "")
    if spec.test.window_bytes and sends:
        granted = data["end"].get("start", {}).get("sndbuf_actual", 0)
        asked = spec.test.window_bytes
        yield ev.OptionRead(0.0, "send_buffer", asked, granted, int(granted * 0.66), "bytes")
    ids = [1, *range(3, 2 + len(columns))][: len(columns)] or [1]
    for stream in ids:
        yield ev.StreamOpened(0.0, stream, 5, sends, "10.0.0.1", 40001, "10.0.0.2", 5201)
    yield ev.TestStarted(0.0, 0.0, spec.test.window_bytes, 16384, 131072, 1448)
    settings = {name: str(value) for name, value in data["sysctl"].items()}
    yield ev.HostFacts(0.0, "begin", settings, dict.fromkeys(_COUNTERS.values(), 0), {})
    yield from _running(data, sends, ids, columns)
    if data["cc"] == "udp":
        yield from _datagrams(data, sends)
        return
    grown = {name: data["counted"].get(ours, 0) for ours, name in _COUNTERS.items()}
    yield ev.HostFacts(data["wall"], "end", settings, grown, {})
    yield from _results(data, sends, ids)
    yield ev.RunEnded(data["wall"] + 1.0, "completed")


def _spec(data: Json, sends: bool) -> ClientSpec:
    """The settings a client was given; `congestion` is how the recordings set it on both ends."""
    given = [word for word in data["args"] if word not in ("-u", "--bidir", "-Z")]
    arguments = dict(zip(given[::2], given[1::2], strict=False))
    udp = data["cc"] == "udp"
    test = TestSpec(
        protocol="udp" if udp else "tcp",
        time_s=int(data["secs"]),
        omit_s=_number(arguments.get("-O")),
        parallel=_number(arguments.get("-P")) or 1,
        reverse=not sends,
        bidir="--bidir" in data["args"],
        window_bytes=_number(arguments.get("-w"), 1024),
        mss_bytes=_number(arguments.get("-M")),
        block_bytes=_number(arguments.get("-l")) or (1448 if udp else 131072),
        rate_bps=_number(arguments.get("-b")),
        fq_rate_bps=_number(arguments.get("--fq-rate")),
        congestion=data["cc"] if data["cc"] in ("cubic", "bbr") else "",
    )
    return ClientSpec(PEER, test=test)


def _number(text: str | None, thousand: int = 1000) -> int:
    if text is None:
        return 0
    powers = {"K": 1, "M": 2, "G": 3}
    power: int = powers.get(text[-1].upper(), 0)
    factor: int = thousand**power
    return int(text[:-1] if power else text) * factor


def _columns(stream: Json) -> Json:
    """Undo the packing: every column a list as long as the column of times."""
    length = len(stream["t_ms"])
    columns: Json = {}
    for name, values in stream.items():
        column = values if isinstance(values, list) else [values] * length
        columns[name.removeprefix("d_")] = (
            list(accumulate(column)) if name.startswith("d_") else column
        )
    return columns


def _idle_us(columns: list[Json]) -> int | None:
    """The RTT of the handshake: the first one that a stream's socket knew."""
    known = [value for each in columns for value in each.get("min_rtt", ())[:1]]
    return min((value for value in known if 0 < value < _UNSET), default=None)


def _samples(sends: bool, ids: list[int], columns: list[Json]) -> Iterator[ev.StreamSample]:
    began_ms = min((each["t_ms"][0] for each in columns), default=0)
    for stream, column in zip(ids, columns, strict=False):
        for index, t_ms in enumerate(column["t_ms"]):
            tcp = {
                name: _known(column[ours][index]) * factor if ours in column else 0
                for ours, name, factor in _FIELDS[sends]
            }
            carried = tcp["bytes_acked_bytes"] if sends else tcp["bytes_received_bytes"]
            test_s = (t_ms - began_ms) / 1000
            yield ev.StreamSample(
                test_s,
                round(t_ms / 100),
                test_s,
                stream,
                sends,
                carried,
                None if sends else column.get("rqueue", [0] * (index + 1))[index],
                tcp,
            )


def _known(value: int) -> int:
    return value if value != _UNSET else 0


def _running(data: Json, sends: bool, ids: list[int], columns: list[Json]) -> Iterator[ev.Event]:
    """Samples in the order of their ticks, with the host's events each second."""
    seconds = 0
    for sample in sorted(_samples(sends, ids, columns), key=lambda each: (each.tick, each.stream)):
        while sample.test_s >= seconds + 1:
            seconds += 1
            yield _host(data, seconds)
        yield sample


def _host(data: Json, seconds: int) -> ev.HostSample:
    share, wait = data["cpu"].get("thread", {}).get("client", (data["cpu"]["client_proc"], None))
    return ev.HostSample(float(seconds), float(seconds), share, share, wait)


def _results(data: Json, sends: bool, ids: list[int]) -> Iterator[ev.Results]:
    end = data["end"]
    sent, received, cpu = end.get("sum_sent"), end.get("sum_received"), end.get("cpu")
    if not ids or not sent or not received or not cpu:
        return
    for side, total, prefix, sender in (
        ("local", sent if sends else received, "host", sends),
        ("remote", received if sends else sent, "remote", not sends),
    ):
        per_stream = tuple(
            ev.StreamResult(
                stream,
                total["bytes"] // len(ids),
                _share(sent["retransmits"], index, len(ids)) if sender else None,
                0.0,
                float(total["seconds"]),
            )
            for index, stream in enumerate(ids)
        )
        yield ev.Results(
            data["wall"],
            side,
            data["cc"],
            float(cpu[f"{prefix}_total"]),
            float(cpu[f"{prefix}_user"]),
            float(cpu[f"{prefix}_system"]),
            1 if sender else -1,
            per_stream,
        )


def _datagrams(data: Json, sends: bool) -> Iterator[ev.Event]:
    """A UDP run as it ended: what each end counted, in one interval."""
    sent, received, cpu = data["end"]["sum_sent"], data["end"]["sum_received"], data["end"]["cpu"]
    total_s = float(received["seconds"])
    far = sends and received["packets"]
    lost = received["lost_packets"]
    overtaken = sum(each.get("out_of_order", 0) for each in data["end"]["streams"])
    figures = ev.UdpFigures(sent["packets"])
    if not sends:
        figures = ev.UdpFigures(
            received["packets"], lost, overtaken, 0.0, lost, late_packets=overtaken
        )
    carried = (sent if sends else received)["bytes"]
    row = ev.StreamInterval(1, sends, 0.0, total_s, carried, udp=figures)
    yield ev.Interval(data["wall"], 0.0, total_s, False, (row,))
    for side, part, ours in (
        ("local", sent if sends else received, True),
        ("remote", received if sends else sent, False),
    ):
        result = ev.StreamResult(
            1,
            part["bytes"],
            None,
            0.0,
            float(part["seconds"]),
            lost_packets=lost if not ours and far else 0,
            packets=part["packets"],
            udp=figures if ours else None,
        )
        prefix = "host" if ours else "remote"
        total, user, system = (
            float(cpu[f"{prefix}_{each}"]) for each in ("total", "user", "system")
        )
        yield ev.Results(data["wall"], side, None, total, user, system, -1, (result,))
    yield ev.RunEnded(data["wall"] + 1.0, "completed")


def _share(total: int, index: int, count: int) -> int:
    return total // count + (index < total % count)
