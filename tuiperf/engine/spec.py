"""What to measure: the settings of a test, checked, and their forms on the wire and as JSON.

TestSpec is what both ends agree on and travels as iperf3's parameter JSON. ClientSpec and
ServerSpec add what only one end needs and travel as plain JSON from the app to its engine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Optional, Union

from .errors import EngineError, describe
from .own_end import NO_CORE, OwnEnd

Json = dict[str, Any]

DEFAULT_PORT = 5201
DEFAULT_TCP_BLOCK_BYTES = 131072
MAX_TCP_BLOCK_BYTES = 1048576
MIN_DATAGRAM_BYTES, MAX_DATAGRAM_BYTES = 16, 65507
USUAL_DATAGRAM_BYTES = 1460  # where no MSS is known, as with iperf3
DEFAULT_UDP_RATE_BPS = 1024 * 1024
MAX_WINDOW_BYTES = 512 * 1024 * 1024
MAX_MSS_BYTES = 32767
MAX_BURST_BLOCKS = 1000
MAX_STREAMS = 128
MAX_TIME_S = 86400
MAX_OMIT_S = 600
MIN_INTERVAL_S, MAX_INTERVAL_S = 0.1, 60.0
MAX_COUNT = 2**63 - 1
MAX_LIMIT_BYTES = 2**61  # what is summed up below it fits 64 bits
PACING_TIMER_US = 1000  # only iperf3 before 3.18 reads it
MAX_FLOW_LABEL = 0xFFFFF
MAX_CORE = 1024
MAX_SCTP_STREAMS = 65535
SCTP_BLOCK_BYTES = 65536
MAX_SEND_TIMEOUT_MS = 86_400_000

# The wire's key, our field. Order as iperf3 3.21 sends them; a flag is sent as true or not at all.
_NUMBERS: tuple[tuple[str, str], ...] = (
    ("omit", "omit_s"),
    ("server_affinity", "server_core"),
    ("time", "time_s"),
    ("num", "total_bytes"),
    ("blockcount", "total_blocks"),
    ("MSS", "mss_bytes"),
    ("parallel", "parallel"),
    ("window", "window_bytes"),
    ("len", "block_bytes"),
    ("bandwidth", "rate_bps"),
    ("fqrate", "fq_rate_bps"),
    ("pacing_timer", "pacing_timer_us"),
    ("burst", "burst_blocks"),
    ("TOS", "tos"),
    ("flowlabel", "flow_label"),
)
_UNSENT = {"server_affinity": NO_CORE}
_ALWAYS_SENT = {"omit", "time", "num", "blockcount", "parallel", "len"}
_FLAGS: tuple[tuple[str, str], ...] = (
    ("nodelay", "nodelay"),
    ("reverse", "reverse"),
    ("bidirectional", "bidir"),
    ("mptcp", "mptcp"),
)
_PRESENCE: tuple[tuple[str, str], ...] = (
    ("get_server_output", "get_server_output"),
    ("udp_counters_64bit", "udp_counters_64bit"),
    ("repeating_payload", "repeating_payload"),
    ("zerocopy", "zerocopy"),
    ("dont_fragment", "dont_fragment"),
    ("skip_rx_copy", "skip_rx_copy"),
    ("copy_payload", "copy_payload"),
)
_TEXTS: tuple[tuple[str, str], ...] = (
    ("title", "title"),
    ("extra_data", "extra_data"),
    ("congestion", "congestion"),
)


@dataclass(frozen=True)
class TestSpec:
    """What both ends of a test agree on. Zero means "not asked for" unless said otherwise."""

    __test__ = False

    protocol: str = "tcp"
    time_s: int = 10  # 0: until stopped, or until a byte or block limit
    omit_s: int = 0
    total_bytes: int = 0
    total_blocks: int = 0
    parallel: int = 1
    reverse: bool = False
    bidir: bool = False
    block_bytes: int = DEFAULT_TCP_BLOCK_BYTES  # UDP: 0 for what the path takes in one piece
    window_bytes: int = 0
    mss_bytes: int = 0
    nodelay: bool = False
    congestion: str = ""
    rate_bps: int = 0  # per stream
    burst_blocks: int = 0
    fq_rate_bps: int = 0
    tos: int = 0
    flow_label: int = 0  # of IPv6, on what the client sends
    pacing_timer_us: int = PACING_TIMER_US
    mptcp: bool = False
    server_core: int = NO_CORE  # the processor core that the server shall run on
    title: str = ""
    extra_data: str = ""
    get_server_output: bool = False
    repeating_payload: bool = False
    zerocopy: bool = False  # ours lends pages unasked, save to few paced streams
    copy_payload: bool = False  # ours copies, as iperf3 without -Z; not known to it
    skip_rx_copy: bool = False
    udp_counters_64bit: bool = False
    dont_fragment: bool = False
    gso: bool = False  # asks the far end to let its kernel cut datagrams; ours does unasked
    gro: bool = False

    def check(self) -> None:
        """Raise EngineError with iperf3's number for the first value out of its range."""
        if self.protocol not in ("tcp", "udp", "sctp"):
            raise EngineError(114, "none of TCP, UDP and SCTP is asked for")
        self._check_lengths()
        if not 0 <= self.time_s <= MAX_TIME_S:
            raise EngineError(5, f"test duration valid values are 0 to {MAX_TIME_S} seconds")
        if not 0 <= self.omit_s <= MAX_OMIT_S:
            raise EngineError(12, f"bogus value for --omit (maximum = {MAX_OMIT_S} seconds)")
        if not 1 <= self.parallel <= MAX_STREAMS:
            raise EngineError(
                6, f"invalid number of parallel streams (min = 1, max = {MAX_STREAMS})"
            )
        if self.reverse and self.bidir:
            raise EngineError(25, "cannot be both reverse and bidirectional")
        if self.total_bytes and self.total_blocks:
            raise EngineError(16, "only one test end condition (-t, -n, -k) may be specified")
        if not 0 <= self.tos <= 255:
            raise EngineError(21, "bad TOS value (must be between 0 and 255 inclusive)")
        self._check_hosts_part()
        counts = (self.total_bytes, self.total_blocks, self.rate_bps, self.fq_rate_bps)
        for count in (*counts, self.pacing_timer_us):
            if not 0 <= count <= MAX_COUNT:
                raise EngineError(114, "a count or a rate is negative or too large")

    def _check_hosts_part(self) -> None:
        if not 0 <= self.flow_label <= MAX_FLOW_LABEL:
            raise EngineError.from_code(127)
        if not NO_CORE <= self.server_core <= MAX_CORE:
            raise EngineError.from_code(132)

    def _check_lengths(self) -> None:
        if self.udp:
            if self.block_bytes and not (
                MIN_DATAGRAM_BYTES <= self.block_bytes <= MAX_DATAGRAM_BYTES
            ):
                raise EngineError.from_code(20)
        elif not 1 <= self.block_bytes <= MAX_TCP_BLOCK_BYTES:
            raise EngineError(7, f"block size too large (maximum = {MAX_TCP_BLOCK_BYTES} bytes)")
        if not 0 <= self.window_bytes <= MAX_WINDOW_BYTES:
            raise EngineError(
                8, f"socket buffer size too large (maximum = {MAX_WINDOW_BYTES} bytes)"
            )
        if not 0 <= self.mss_bytes <= MAX_MSS_BYTES:
            raise EngineError(10, f"TCP MSS too large (maximum = {MAX_MSS_BYTES} bytes)")
        if not 0 <= self.burst_blocks <= MAX_BURST_BLOCKS:
            raise EngineError(15, f"invalid burst count (maximum = {MAX_BURST_BLOCKS})")

    @property
    def udp(self) -> bool:
        return self.protocol == "udp"

    def with_datagrams_for(self, mss_bytes: int) -> TestSpec:
        """The spec with a datagram size: where none was chosen, the MSS of the control connection.

        Such datagrams are not fragmented on the path, as far as TCP can tell.
        """
        if not self.udp or self.block_bytes:
            return self
        size = mss_bytes or USUAL_DATAGRAM_BYTES
        return replace(self, block_bytes=max(MIN_DATAGRAM_BYTES, min(size, MAX_DATAGRAM_BYTES)))

    @property
    def streams(self) -> int:
        """How many data connections the test has, both directions together."""
        return self.parallel * (2 if self.bidir else 1)

    @property
    def limited(self) -> bool:
        """True when bytes or blocks end the test, not time."""
        return bool(self.total_bytes or self.total_blocks)

    @property
    def limit_bytes(self) -> int:
        """The bytes that end the test, 0 for none; of UDP whole datagrams."""
        total = min(self.total_bytes or self.total_blocks * self.block_bytes, MAX_LIMIT_BYTES)
        if self.udp and self.block_bytes:
            return -(-total // self.block_bytes) * self.block_bytes
        return total

    @property
    def planned_s(self) -> Optional[float]:
        """Seconds the data runs, the omitted part included; None when time does not end it."""
        return float(self.omit_s + self.time_s) if self.time_s and not self.limited else None

    def to_parameters(self, client_version: str) -> Json:
        """The parameter JSON a client sends (iperf3's keys, in its order)."""
        params: Json = {self.protocol: True}
        for key, name in _NUMBERS:
            value = 0 if key == "time" and self.limited else getattr(self, name)
            if key in _ALWAYS_SENT or value != _UNSENT.get(key, 0):
                params[key] = value
        if self.udp:
            params.update(self._segmentation())
        for key, name in _FLAGS:
            if getattr(self, name):
                params[key] = True
        for key, name in _TEXTS:
            if getattr(self, name):
                params[key] = getattr(self, name)
        for key, name in _PRESENCE:
            if getattr(self, name):
                params[key] = 1
        params["client_version"] = client_version
        return params

    def _segmentation(self) -> Json:
        """How iperf3 3.21 tells of UDP_SEGMENT and UDP_GRO; older ones pass over it."""
        size = self.block_bytes if self.gso else 0
        whole = MAX_DATAGRAM_BYTES // size * size if size else MAX_DATAGRAM_BYTES
        return {
            "gso": int(self.gso),
            "gso_dg_size": size,
            "gso_bf_size": whole,
            "gro": int(self.gro),
            "gro_bf_size": MAX_DATAGRAM_BYTES,
        }

    @classmethod
    def from_parameters(cls, params: Json) -> TestSpec:
        """Read a client's parameter JSON leniently: unknown keys pass, wrong values do not.

        Raises EngineError with the number to send back (114 where iperf3 has no better one).
        """
        known = {key.lower(): value for key, value in params.items()}
        values: Json = {"protocol": _protocol(known)}
        for key, name in _NUMBERS:
            if key.lower() in known:
                values[name] = _whole(key, known[key.lower()])
        for key, name in _FLAGS:
            values[name] = _flag(key, known)
        for key, name in _PRESENCE:
            values[name] = key in known
        for key, name in _TEXTS:
            text = known.get(key)
            if isinstance(text, str):
                values[name] = text
        for key in ("gso", "gro"):
            values[key] = bool(_whole(key, known.get(key, 0)))
        # Clients up to 3.2 leave "time" out when bytes or blocks end the test.
        limited = values.get("total_bytes") or values.get("total_blocks")
        if "time" not in known and limited:
            values["time_s"] = 0
        if not values.get("block_bytes", 1):
            del values["block_bytes"]
            if values["protocol"] == "udp":
                values["block_bytes"] = USUAL_DATAGRAM_BYTES
        if values["protocol"] == "sctp":
            values.setdefault("block_bytes", SCTP_BLOCK_BYTES)
        spec = cls(**values)
        spec.check()
        return spec


def _protocol(known: Json) -> str:
    for name in ("udp", "sctp"):
        if _flag(name, known):
            return name
    return "tcp"


def _flag(key: str, known: Json) -> bool:
    value = known.get(key, False)
    if value is True or value is False:
        return value
    raise EngineError(114, f"parameter {key!r} is neither true nor absent")


def _whole(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EngineError(114, f"parameter {key!r} is not a number")
    if not abs(value) <= MAX_COUNT:
        raise EngineError(114, f"parameter {key!r} is out of range")
    return int(value)


@dataclass(frozen=True)
class ClientSpec:
    """A test to run against a server."""

    host: str
    port: int = DEFAULT_PORT
    family: int = 0  # 4, 6, or 0 for whichever the name gives first
    bind_host: str = ""
    bind_device: str = ""
    client_port: int = 0
    connect_timeout_ms: int = 0  # 0: the engine's own limit
    interval_s: float = 1.0  # 0: one interval for the whole test
    rcv_timeout_ms: int = 120_000
    snd_timeout_ms: int = 0  # 0: the system's own limit
    file: str = ""  # to send from or to write to; "" for memory
    core: int = NO_CORE  # the processor core to run on
    keepalive_idle_s: int = 0  # of the control connection; 0: the engine's own choice
    keepalive_interval_s: int = 0
    keepalive_count: int = 0
    sctp_streams: int = 0  # in each association; 0: the system's own choice
    sctp_addresses: str = ""  # our own, with commas
    recording: str = ""  # the file of the complete record, "" for none
    auth_token: str = ""  # what proves who we are; it is kept out of records
    test: TestSpec = field(default_factory=TestSpec)

    def check(self) -> None:
        """Raise EngineError for the first value out of its range."""
        _check_port(self.port)
        _check_interval(self.interval_s)
        self.test.check()
        if self.client_port:
            _check_port(self.client_port)
            _check_port(self.client_port + self.test.streams - 1)
        if not 0 <= self.sctp_streams <= MAX_SCTP_STREAMS:
            raise EngineError.from_code(138)
        _check_own(self)
        if self.file:
            check_file(self.test)

    @property
    def own(self) -> OwnEnd:
        """What this end does for itself."""
        return OwnEnd(self.file, self.core)

    @property
    def secrets(self) -> Json:
        """Parameters that the server gets and nobody else is told."""
        return {"authtoken": self.auth_token} if self.auth_token else {}

    def to_json(self) -> Json:
        return asdict(self)

    def to_record(self) -> Json:
        """The same without what is secret."""
        return replace(self, auth_token="").to_json()

    @classmethod
    def from_json(cls, data: Json) -> ClientSpec:
        """Read what `to_json` wrote. Raises EngineError when it is something else."""
        test = _read(TestSpec, data.get("test") or {})
        spec: ClientSpec = _read(cls, {key: value for key, value in data.items() if key != "test"})
        spec = replace(spec, test=test)
        spec.check()
        return spec


@dataclass(frozen=True)
class ServerSpec:
    """How to serve tests to clients."""

    bind_host: str = ""
    bind_device: str = ""
    port: int = DEFAULT_PORT  # 0: any free one (the Listening event tells which)
    family: int = 0  # 4, 6, or 0 for both
    one_off: bool = False
    interval_s: float = 1.0
    idle_timeout_s: int = 0
    max_duration_s: int = 0
    rate_limit_bps: int = 0  # of all streams and both directions of a test together
    rate_limit_average_s: float = 0.0  # what it is averaged over, 0 for the usual 5 s
    rcv_timeout_ms: int = 120_000
    snd_timeout_ms: int = 0  # 0: the system's own limit
    file: str = ""  # to send from or to write to; "" for memory
    core: int = NO_CORE  # the processor core to run on
    keepalive_idle_s: int = 0  # of the control connection; 0: the engine's own choice
    keepalive_interval_s: int = 0
    keepalive_count: int = 0
    mptcp: bool = False

    def check(self) -> None:
        """Raise EngineError for the first value out of its range."""
        if self.port:
            _check_port(self.port)
        _check_interval(self.interval_s)
        if not 0 <= self.rate_limit_bps <= MAX_COUNT:
            raise EngineError.from_code(38)
        average_s = self.rate_limit_average_s
        if average_s and not MIN_INTERVAL_S <= average_s <= MAX_INTERVAL_S:
            raise EngineError.from_code(28)
        _check_own(self)

    @property
    def own(self) -> OwnEnd:
        """What this end does for itself."""
        return OwnEnd(self.file, self.core)

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> ServerSpec:
        """Read what `to_json` wrote. Raises EngineError when it is something else."""
        spec: ServerSpec = _read(cls, data)
        spec.check()
        return spec


_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
}


def _read(cls: Any, data: Json) -> Any:
    defaults = {f.name: f for f in fields(cls)}
    for key, value in data.items():
        if key not in defaults:
            raise EngineError(114, f"unknown setting {key!r}")
        wanted = str(defaults[key].type)
        kind = _KINDS.get(wanted)
        if kind is None or not isinstance(value, kind) or (wanted != "bool" and value is True):
            raise EngineError(114, f"setting {key!r} is not of type {wanted}")
    try:
        return cls(**data)
    except TypeError:
        raise EngineError(114, "a needed setting is missing") from None


def check_file(test: TestSpec) -> None:
    """Raise EngineError where a test cannot have a file at one of its ends."""
    if test.udp:
        raise EngineError.from_code(34)
    if test.bidir:
        text = "unable to open -F file: one file cannot be sent and written at once"
        raise EngineError(14, text)


def _check_own(spec: Union[ClientSpec, ServerSpec]) -> None:
    if not 0 <= spec.snd_timeout_ms <= MAX_SEND_TIMEOUT_MS:
        raise EngineError.from_code(33)
    if not NO_CORE <= spec.core <= MAX_CORE:
        raise EngineError.from_code(132)
    idle, interval, count = (
        spec.keepalive_idle_s,
        spec.keepalive_interval_s,
        spec.keepalive_count,
    )
    if min(idle, interval, count) < 0 or (idle and idle <= interval * count):
        raise EngineError.from_code(36)
    for code, value, most in ((156, idle, 32767), (157, interval, 32767), (158, count, 127)):
        if value > most:
            raise EngineError(code, f"{describe(code)}: {most} is the most")


def _check_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise EngineError(26, "port number must be between 1 and 65535 inclusive")


def _check_interval(interval_s: float) -> None:
    if interval_s and not MIN_INTERVAL_S <= interval_s <= MAX_INTERVAL_S:
        raise EngineError(
            9,
            f"invalid report interval (min = {MIN_INTERVAL_S:g}, max = {MAX_INTERVAL_S:g} seconds)",
        )
