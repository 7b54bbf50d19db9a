"""Every fact that can be reported, as frozen dataclasses, and their form as one JSON object a line.

A line is `{"v": 1, "n": 17, "kind": "interval", "t_s": 3.001, ...}`: the version of the schema,
the line's number in its stream (a gap tells a reader that lines were dropped), the kind of the
event and its fields. Times called `t_s` are seconds since the run began and `test_s` seconds since
the test's data began, both from the monotonic clock; only `wall` names hold the time of day.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Optional, Union, get_args, get_origin, get_type_hints

VERSION = 1
MOST = 2**64 - 1  # the kernel's counters are unsigned and of 64 bits at most

Json = dict[str, Any]

_SPARSE = {"sparse": True}  # a field that a line leaves out where it has its default


class EventError(ValueError):
    """A line that is no event of this schema; the text says what is wrong with it."""


@dataclass(frozen=True)
class Event:
    """A fact, and when it became one: `t_s` seconds since the run began."""

    t_s: float


@dataclass(frozen=True)
class RunStarted(Event):
    """The engine begins a run. `spec` is a ClientSpec or ServerSpec in JSON form."""

    run_id: str
    role: str  # "client" or "server"
    tool: str  # such as "tuiperf 0.1.0"
    system: str  # the system's name, host name, release and machine, as uname prints them
    wall_time_s: float
    spec: Json


@dataclass(frozen=True)
class Listening(Event):
    """A server waits for its next test."""

    addresses: tuple[str, ...]
    port: int
    test_number: int


@dataclass(frozen=True)
class Connected(Event):
    """The control connection stands (client), or a client was accepted (server)."""

    local_host: str
    local_port: int
    remote_host: str
    remote_port: int
    cookie: str
    connect_rtt_us: Optional[int] = None  # the time of the handshake, an idle RTT
    mss_bytes: Optional[int] = None


@dataclass(frozen=True)
class Turned(Event):
    """A server turned somebody away without ending its test: busy, or no iperf3 client."""

    remote_host: str
    remote_port: int
    why: str


@dataclass(frozen=True)
class Agreed(Event):
    """The parameters both ends test with, as the JSON that went over the control connection."""

    parameters: Json


@dataclass(frozen=True)
class StreamOpened(Event):
    """One data connection. `stream` is iperf3's id (1, 3, 4, 5, …), `fd` what it prints as [ID]."""

    stream: int
    fd: int
    sends: bool  # True when this end sends
    local_host: str
    local_port: int
    remote_host: str
    remote_port: int


@dataclass(frozen=True)
class OptionRead(Event):
    """One setting read back: what was asked, what the kernel granted, what it means in effect."""

    name: str
    asked: Union[int, str, None]
    granted: Union[int, str, None]
    effective: Union[int, str, None]
    unit: str  # "bytes", "bit/s" or ""
    note: str = ""
    stream: Optional[int] = None


@dataclass(frozen=True)
class TestStarted(Event):
    """State TEST_START was reached: the clocks of the test run from here."""

    __test__ = False  # not a test case, whatever a test runner thinks of the name

    wall_time_s: float
    asked_bufsize_bytes: int  # -w, 0 when not given
    sndbuf_bytes: int
    rcvbuf_bytes: int
    mss_bytes: int


@dataclass(frozen=True)
class UdpFigures:
    """Datagrams of one UDP stream over some span, as this end counted them.

    `packets` are those sent; at a receiver those that came or should have come, told by their
    numbers. The next two are iperf3's counts, which take every duplicate for a datagram found
    again; `missing_packets` is our own, and the three behind it tell late ones from duplicates.
    """

    packets: int
    lost_packets: int = 0
    out_of_order_packets: int = 0
    jitter_s: float = 0.0  # RFC 3550, smoothed, at the end of the span
    missing_packets: int = 0
    late_packets: int = 0
    duplicate_packets: int = 0
    reorder_depth_packets: int = 0  # how late the latest was, since the data began
    host_dropped_packets: Optional[int] = None  # of the missing: by the receiving host itself


@dataclass(frozen=True)
class StreamSample(Event):
    """One stream at one tick of the sampler (10 Hz): its counter and its TCP_INFO.

    `tcp` holds the fields of engine.tcp_info, absent ones left out; None where the system has none.
    `unread_bytes` wait in the receive queue (SIOCINQ), None when unknown. `udp` counts from the
    first datagram on.
    """

    tick: int
    test_s: float
    stream: int
    sends: bool
    transferred_bytes: int  # by our write or read calls since the test began, omitted time included
    unread_bytes: Optional[int] = None
    tcp: Optional[Json] = None
    udp: Optional[UdpFigures] = field(default=None, metadata=_SPARSE)


@dataclass(frozen=True)
class HostSample(Event):
    """How hard this host works for the test, once a second; shares of one core, 1.0 = all of it."""

    test_s: float
    cpu_share: float  # of all the engine's processes together
    busiest_worker_share: float
    busiest_wait_share: Optional[float] = None  # ready to run but waiting for a core


@dataclass(frozen=True)
class HostFacts(Event):
    """What this host's kernel and device tell as the data begins ("begin") and ends ("end").

    `settings` are sysctls by name, as text. `counters` count since the host came up, for all of
    it: "tcp." and "udp." of /proc/net, "device." of the link, "core0." in seconds. `link` tells of
    the device that has this end's address: its "device", "driver", "speed_mbps", "duplex" and
    "class" (physical, virtual, wireless). What is not known is left out.
    """

    when: str
    settings: Json
    counters: Json
    link: Json


@dataclass(frozen=True)
class StreamInterval:
    """One stream's row of one report interval. The TCP fields are None where not known."""

    stream: int
    sends: bool
    start_s: float
    end_s: float
    bytes: int
    retransmits: Optional[int] = None
    cwnd_bytes: Optional[int] = None
    snd_wnd_bytes: Optional[int] = None
    rtt_us: Optional[int] = None
    rttvar_us: Optional[int] = None
    pmtu_bytes: Optional[int] = None
    reorder_events: Optional[int] = None
    udp: Optional[UdpFigures] = field(default=None, metadata=_SPARSE)


@dataclass(frozen=True)
class Interval(Event):
    """A report interval of all streams. `start_s` begins at 0 again after the omitted part."""

    start_s: float
    end_s: float
    omitted: bool
    streams: tuple[StreamInterval, ...]


@dataclass(frozen=True)
class StreamResult:
    """One stream's totals as one end counted them, the omitted part left out.

    As on the wire, `lost_packets` and `packets` of UDP include the omitted part; what was in it
    stands beside, None where the far end does not tell. `udp` has this end's own figures, the
    omitted part left out.
    """

    stream: int
    bytes: int
    retransmits: Optional[int] = None  # known only by a sender
    start_s: float = 0.0
    end_s: Optional[float] = None
    jitter_s: float = 0.0
    lost_packets: int = 0
    packets: int = 0
    omitted_lost_packets: Optional[int] = field(default=0, metadata=_SPARSE)
    omitted_packets: Optional[int] = field(default=0, metadata=_SPARSE)
    udp: Optional[UdpFigures] = field(default=None, metadata=_SPARSE)


@dataclass(frozen=True)
class Results(Event):
    """What one end ("local" or "remote") measured over the whole test."""

    side: str
    congestion: Optional[str]
    cpu_total_percent: float
    cpu_user_percent: float
    cpu_system_percent: float
    sender_has_retransmits: int  # 1 yes, 0 no, -1 this end only receives
    streams: tuple[StreamResult, ...]


@dataclass(frozen=True)
class ServerOutput(Event):
    """The far server's own report, where it was asked for."""

    text: Optional[str] = None
    document: Optional[Json] = None


@dataclass(frozen=True)
class FileMoved(Event):
    """The file that this end sent from, or wrote to, and its size as the test ended."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Note(Event):
    """Something worth knowing that is no failure. `level` is "info" or "warning"."""

    level: str
    code: str
    text: str


@dataclass(frozen=True)
class Failed(Event):
    """Why the run could not do all it was asked. `code` is iperf3's error number.

    `remote` tells that the far end reported it; `awaited` names what was waited for, after a limit.
    """

    code: int
    text: str
    errno: int = 0
    remote: bool = False
    awaited: Optional[str] = None


@dataclass(frozen=True)
class RunEnded(Event):
    """The last event of a run: "completed", "interrupted" or "failed"."""

    outcome: str
    signal: Optional[str] = None  # such as "Interrupt(2)"


@dataclass(frozen=True)
class SweepStarted(Event):
    """A guided sweep begins. The runs of its steps follow, each a whole run with its own times.

    `spec` is the ClientSpec that all steps share, `limits` what the sweep may take.
    """

    run_id: str
    tool: str
    system: str
    wall_time_s: float
    spec: Json
    limits: Json


@dataclass(frozen=True)
class StepStarted(Event):
    """A step of a sweep begins: what it does and why. `test` is a TestSpec in JSON form, or empty.

    `most_bytes` is what it may send, None where no rate is known yet.
    """

    number: int
    step: str  # the kind of experiment
    variant: str  # such as "4" connections; with the kind and the way it names the step
    way: str  # "forward" or "reverse"
    why: str
    outcomes: tuple[str, ...]  # what each outcome would mean
    seconds: float
    test: Json
    most_bytes: Optional[int] = None


@dataclass(frozen=True)
class Looked(Event):
    """What was found before any load: the way, its idle round trips, who answers.

    `findings` are verdicts of the link check in JSON form.
    """

    address: str
    device: str
    method: str  # of the round trips, such as "icmp"
    sent: int
    rtts_us: tuple[int, ...]
    path_mtu_bytes: Optional[int] = None
    answers: str = ""  # who answers at the port, in words
    problem: str = ""
    controls: tuple[str, ...] = ()  # congestion controls this user may set here
    findings: tuple[Json, ...] = ()


@dataclass(frozen=True)
class StepEnded(Event):
    """A step is over: "done", "failed" or "skipped". `code` is iperf3's error number, if any."""

    number: int
    outcome: str
    problem: str = ""
    code: int = 0


@dataclass(frozen=True)
class SweepEnded(Event):
    """The sweep is over, and why: "settled", "exhausted", "time", "budget" and others."""

    reason: str
    text: str


@dataclass(frozen=True)
class Unknown(Event):
    """An event of a newer tuiperf: kept, not understood."""

    kind: str
    data: Json


def _kind(cls: type[Event]) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


KINDS: dict[str, type[Event]] = {
    _kind(cls): cls
    for cls in (
        RunStarted,
        Listening,
        Connected,
        Turned,
        Agreed,
        StreamOpened,
        OptionRead,
        TestStarted,
        StreamSample,
        HostSample,
        HostFacts,
        Interval,
        Results,
        ServerOutput,
        FileMoved,
        Note,
        Failed,
        RunEnded,
        SweepStarted,
        StepStarted,
        Looked,
        StepEnded,
        SweepEnded,
    )
}
_KIND_OF = {cls: kind for kind, cls in KINDS.items()}
_FIELDS_OF: dict[type, dict[str, Any]] = {}


def to_line(event: Event, number: int) -> str:
    """Write an event as one line of JSON, without the line's end. `number` counts the lines."""
    head: Json = {"v": VERSION, "n": number}
    if isinstance(event, Unknown):
        head.update(event.data, kind=event.kind, t_s=event.t_s)
    else:
        head["kind"] = _KIND_OF[type(event)]
        head.update(_plain(event))
    return json.dumps(head, separators=(",", ":"), allow_nan=False)


def from_line(line: str) -> tuple[int, Event]:
    """Read a line back into its number and its event.

    Raises EventError for what is no JSON object, has a wrong type somewhere, or lacks a field. A
    kind that this version does not know becomes an Unknown event.
    """
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise EventError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise EventError("not an event: no kind")
    kind = data.pop("kind")
    number = _decode(int, data.pop("n", 0), "n")
    version = _decode(int, data.pop("v", 0), "v")
    cls = KINDS.get(kind)
    if cls is None or version > VERSION:
        t_s = data.pop("t_s", 0.0)
        return number, Unknown(_decode(float, t_s, "t_s"), kind, data)
    event: Event = _decode(cls, data, kind)
    if isinstance(event, StreamSample) and event.tcp:
        for name, value in event.tcp.items():
            _decode(float if isinstance(value, float) else int, value, f"{kind}.tcp.{name}")
    return number, event


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {
            f.name: _plain(getattr(value, f.name))
            for f in fields(value)
            if not f.metadata or getattr(value, f.name) != f.default
        }
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _fields_of(cls: type) -> dict[str, Any]:
    if cls not in _FIELDS_OF:
        _FIELDS_OF[cls] = get_type_hints(cls)
    return _FIELDS_OF[cls]


def _decode(wanted: Any, value: Any, where: str) -> Any:
    origin = get_origin(wanted)
    if origin is Union:
        return _decode_union(get_args(wanted), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise EventError(f"{where}: a list was expected")
        item = get_args(wanted)[0]
        return tuple(_decode(item, each, where) for each in value)
    if is_dataclass(wanted):
        return _decode_dataclass(wanted, value, where)
    if origin is dict:
        wanted = dict
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        raise EventError(f"{where}: {wanted.__name__} was expected, found {type(value).__name__}")
    if wanted is float and not math.isfinite(value):
        raise EventError(f"{where}: not a finite number")
    if wanted in (int, float) and not -MOST <= value <= MOST:
        raise EventError(f"{where}: too large a number")
    return value


def _decode_union(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in choices:
        return None
    for choice in choices:
        if choice is not type(None):
            try:
                return _decode(choice, value, where)
            except EventError:
                continue
    raise EventError(f"{where}: {type(value).__name__} does not belong here")


def _decode_dataclass(cls: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise EventError(f"{where}: an object was expected")
    wanted = _fields_of(cls)
    known = {
        name: _decode(wanted[name], value[name], f"{where}.{name}")
        for name in wanted
        if name in value
    }
    try:
        return cls(**known)
    except TypeError as error:
        raise EventError(f"{where}: {str(error).split(') ')[-1]}") from None
