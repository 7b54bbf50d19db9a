"""The grammar of the command line as one table: parsing and help are both made from it.

All of iperf3 3.21's options are in it by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tuiperf.cli import values
from tuiperf.login import MAX_SKEW_S

Read = Callable[[str], Any]


@dataclass(frozen=True)
class Option:
    """One option.

    `targets` say where its value goes: "test.", "client." and "server." are fields of TestSpec,
    ClientSpec and ServerSpec, "end." one of both ends, "login." and "output." one of LoginSettings
    and OutputSettings, "ask." a question of the command line itself. `read` makes the value of the
    argument's text, a tuple when there are several targets; a flag sets `value`. An argument that
    may be missing (`optional`) is joined to the name, and without it `value` is taken.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    help: str
    argument: str = ""
    read: Read = values.text
    value: Any = True
    default: str = ""
    role: str = "both"  # "client", "server" or "both"
    optional: bool = False
    own: bool = False  # iperf3 does not have it
    repeats: bool = False  # given again, it adds to a text with commas

    @property
    def name(self) -> str:
        """The long name, without which no option is."""
        return next(name for name in self.names if name.startswith("--"))


@dataclass(frozen=True)
class Group:
    """Options that belong together, under one heading of the help."""

    title: str
    options: tuple[Option, ...]


def _option(names: str, target: str, help_text: str, **rest: Any) -> Option:
    return Option(tuple(names.split()), tuple(target.split()), help_text, **rest)


def _client(names: str, target: str, help_text: str, **rest: Any) -> Option:
    return _option(names, target, help_text, role="client", **rest)


def _server(names: str, target: str, help_text: str, **rest: Any) -> Option:
    return _option(names, target, help_text, role="server", **rest)


BYTES, RATES = values.amount(1024), values.amount(1000)

ROLES = Group(
    "Where to measure",
    (
        _client("-c --client", "ask.client", "be iperf3's client", argument="HOST"),
        _server("-s --server", "ask.server", "be iperf3's server"),
        _option(
            "-p --port",
            "end.port",
            "the server's port",
            argument="PORT",
            read=values.whole(26, 1, 65535),
            default="5201",
        ),
        _option("-4 --version4", "end.family", "IPv4 only", value=4),
        _option("-6 --version6", "end.family", "IPv6 only", value=6),
        _option(
            "-B --bind",
            "end.bind_host end.bind_device",
            "our own address, and device",
            argument="HOST[%DEV]",
            read=values.host_and_device,
        ),
        _option(
            "--bind-dev", "end.bind_device", "our own device", argument="DEV", read=values.name(143)
        ),
        _client(
            "--cport",
            "client.client_port",
            "our own port",
            argument="PORT",
            read=values.whole(26, 1, 65535),
        ),
        _client(
            "--connect-timeout",
            "client.connect_timeout_ms",
            "give up connecting after this long",
            argument="MS",
            read=BYTES,
        ),
        _option(
            "--rcv-timeout",
            "end.rcv_timeout_ms",
            "end a test that receives nothing",
            argument="MS",
            read=values.whole(31, 100, 86_400_000),
            default="120000",
        ),
        _option(
            "--snd-timeout",
            "end.snd_timeout_ms",
            "end when sent data stays unconfirmed",
            argument="MS",
            read=values.whole(33, 0, 86_400_000),
        ),
        _option(
            "--cntl-ka",
            "end.keepalive_idle_s end.keepalive_interval_s end.keepalive_count",
            "ask a silent far end",
            argument="IDLE/INTERVAL/N",
            read=values.keep_alive,
            value=(0, 0, 0),
            optional=True,
        ),
        _option(
            "-A --affinity",
            "end.core test.server_core",
            "our core, and the server's",
            argument="N[,M]",
            read=values.core_and_far_core,
        ),
    ),
)

TEST = Group(
    "What to measure",
    (
        _client(
            "-t --time",
            "test.time_s",
            "how long, 0 until stopped",
            argument="SECONDS",
            read=values.whole(5, 0, 86400),
            default="10",
        ),
        _client(
            "-n --bytes", "test.total_bytes", "how much, instead", argument="N[KMGT]", read=BYTES
        ),
        _client(
            "-k --blockcount",
            "test.total_blocks",
            "how many blocks, instead",
            argument="N[KMGT]",
            read=BYTES,
        ),
        _client(
            "-O --omit",
            "test.omit_s",
            "leave the start out of the result",
            argument="SECONDS",
            read=values.whole(12, 0, 600),
        ),
        _client("-R --reverse", "test.reverse", "the server sends to us"),
        _client("--bidir", "test.bidir", "both send at once"),
        _client(
            "-P --parallel",
            "test.parallel",
            "connections at once, 1 to 128",
            argument="N",
            read=values.whole(6, 1, 128),
            default="1",
        ),
        _client(
            "-b --bitrate --bandwidth",
            "test.rate_bps test.burst_blocks",
            "no faster, for each connection",
            argument="RATE[/BURST]",
            read=values.rate_and_burst,
        ),
        _option(
            "-F --file",
            "end.file",
            "send from this file, or write to it",
            argument="FILE",
            read=values.name(14),
        ),
        _client(
            "--get-server-output", "test.get_server_output", "show the server's own report too"
        ),
    ),
)

UDP = Group(
    "UDP: what is sent is offered, only what arrives is a result",
    (
        _client(
            "-u --udp", "test.protocol", "UDP, at 1 Mbit/s without -b; -b 0 floods", value="udp"
        ),
        _client("--udp-counters-64bit", "test.udp_counters_64bit", "for more than 4e9 datagrams"),
        _client("--dont-fragment", "test.dont_fragment", "no larger than the path takes whole"),
        _client(
            "--gsro",
            "test.gso test.gro",
            "let iperf3 there use GSO and GRO, as we do",
            value=(True, True),
        ),
    ),
)

TCP = Group(
    "How connections are set",
    (
        _client(
            "-w --window",
            "test.window_bytes",
            "size of the socket buffers",
            argument="N[KMG]",
            read=BYTES,
        ),
        _client(
            "-C --congestion --linux-congestion",
            "test.congestion",
            "cubic, bbr ...",
            argument="NAME",
            read=values.name(134),
        ),
        _client(
            "-M --set-mss",
            "test.mss_bytes",
            "largest segment",
            argument="BYTES",
            read=values.whole(10, 0, 32767),
        ),
        _client("-N --no-delay", "test.nodelay", "switch Nagle's algorithm off"),
        _client(
            "-l --length",
            "test.block_bytes",
            "bytes in a write, or UDP datagram",
            argument="N[KM]",
            read=BYTES,
            default="128K",
        ),
        _client(
            "--fq-rate",
            "test.fq_rate_bps",
            "let the kernel pace",
            argument="RATE",
            read=RATES,
        ),
        _client(
            "-S --tos",
            "test.tos",
            "type of service, 0 to 255",
            argument="N",
            read=values.type_of_service,
        ),
        _client("--dscp", "test.tos", "0 to 63, or ef, af21 ...", argument="N", read=values.dscp),
        _client(
            "-L --flowlabel",
            "test.flow_label",
            "label of IPv6, 1 to 0xfffff",
            argument="N",
            read=values.flow_label,
        ),
        _client(
            "--pacing-timer",
            "test.pacing_timer_us",
            "for iperf3 before 3.18 there",
            argument="US",
            read=BYTES,
            default="1000",
        ),
        _option(
            "-m --mptcp",
            "test.mptcp server.mptcp",
            "MPTCP where both ends have it",
            value=(True, True),
        ),
        _client("--sctp", "test.protocol", "SCTP, where the kernel has it", value="sctp"),
        _client(
            "--nstreams",
            "client.sctp_streams",
            "streams in an SCTP association",
            argument="N",
            read=BYTES,
        ),
        _client(
            "-X --xbind",
            "client.sctp_addresses",
            "our addresses for SCTP, once for each",
            argument="NAME",
            read=values.name(139),
            repeats=True,
        ),
        _client("-Z --zerocopy", "test.zerocopy", "lend pages, do not copy: we mostly do"),
        _client("--copy", "test.copy_payload", "copy what is sent, as iperf3 does", own=True),
        _client("--skip-rx-copy", "test.skip_rx_copy", "the receiver throws the data away unread"),
        _client("--repeating-payload", "test.repeating_payload", "send a pattern, no random bytes"),
    ),
)

SERVER = Group(
    "Server",
    (
        _server("-1 --one-off", "server.one_off", "serve one test, then end"),
        _server(
            "--idle-timeout",
            "server.idle_timeout_s",
            "with -1: end when idle this long",
            argument="SECONDS",
            read=values.whole(30, 1, 86400),
        ),
        _server(
            "--server-max-duration",
            "server.max_duration_s",
            "refuse longer tests",
            argument="SECONDS",
            read=values.whole(5, 0, 86400),
        ),
        _server(
            "--server-bitrate-limit",
            "server.rate_limit_bps server.rate_limit_average_s",
            "end tests above this rate, on average",
            argument="RATE[/SECONDS]",
            read=values.rate_and_average,
        ),
        _server("-D --daemon", "output.daemon", "go on in the background"),
    ),
)

LOGIN = Group(
    "Login",
    (
        _client("--username", "login.username", "who we are to the server", argument="NAME"),
        _client(
            "--rsa-public-key-path",
            "login.public_key",
            "the server's public key",
            argument="FILE",
        ),
        _server(
            "--rsa-private-key-path",
            "login.private_key",
            "let only known users test",
            argument="FILE",
        ),
        _server("--authorized-users-path", "login.users", "and these are they", argument="FILE"),
        _server(
            "--time-skew-threshold",
            "login.skew_s",
            "how far clocks may be apart",
            argument="SECONDS",
            read=values.whole(29, 1, MAX_SKEW_S),
            default="10",
        ),
        _option("--use-pkcs1-padding", "login.pkcs1", "as iperf3 up to 3.16 logs in"),
    ),
)

OUTPUT = Group(
    "Output",
    (
        _option(
            "-i --interval",
            "end.interval_s",
            "seconds between reports, 0 none",
            argument="SECONDS",
            read=values.real(9, 0.1, 60),
            default="1",
        ),
        _option(
            "-f --format",
            "output.unit_format",
            "unit of rates: k m g t, bytes K M G T",
            argument="X",
            read=values.format_letter,
        ),
        _option("-J --json", "output.json", "one JSON document, with a diagnosis"),
        _option(
            "--json-stream",
            "output.json output.stream",
            "JSON, a line for each event",
            value=(True, True),
        ),
        _option(
            "--json-stream-full-output",
            "output.json output.stream output.full",
            "the same, and then as -J",
            value=(True, True, True),
        ),
        _option(
            "-d --debug",
            "output.debug",
            "events as they come, 1 few, 4 all",
            argument="LEVEL",
            read=values.debug_level,
            value=4,
            optional=True,
        ),
        _option("-V --verbose", "output.verbose", "more lines"),
        _client("-T --title", "test.title", "begin every line with this", argument="TEXT"),
        _client("--extra-data", "test.extra_data", "put this into both JSONs", argument="TEXT"),
        _option(
            "--timestamps",
            "output.timestamps",
            "the time before every line",
            argument="FORMAT",
            value="%c ",
            optional=True,
        ),
        _option("--forceflush", "output.forceflush", "write every line out at once"),
        _option(
            "--logfile",
            "output.logfile",
            "append the output to a file",
            argument="FILE",
            read=values.name(17),
        ),
        _option(
            "-I --pidfile",
            "output.pidfile",
            "write our process id",
            argument="FILE",
            read=values.name(135),
        ),
        _option("--plain", "output.surface", "text instead of the screen", value="plain", own=True),
        _option("--tui", "output.surface", "the screen, or an error", value="tui", own=True),
        _option("--ascii", "output.ascii", "draw with ASCII alone", own=True),
        _client("--record", "output.record", "keep the run in a file", argument="FILE", own=True),
        _client("--no-record", "output.record", "keep no file of it", value="none", own=True),
        _option("-v --version", "ask.version", "versions and what this system offers"),
        _option("-h --help", "ask.help", "this page"),
    ),
)

GROUPS = (ROLES, TEST, UDP, TCP, SERVER, LOGIN, OUTPUT)
OPTIONS = tuple(option for group in GROUPS for option in group.options)

COMMANDS: dict[str, str] = {
    "run": "measure towards HOST and show it live",
    "demo": "try it on a path made here (see: tuiperf lab list)",
    "replay": "show a recorded run again",
    "version": "versions and what this system offers",
    "help": "this page",
}

OTHER_COMMANDS: dict[str, str] = {
    "home": "where to begin, and peers measured before",
    "sweep": "why a path is slow: the tests that settle it",
    "lab": "paths with known faults, made on this machine",
    "link": "what cable, card and path say, without a test",
    "learn": "lessons, with the numbers of your last run",
    "recordings": "past runs of this machine",
    "compare": "two recorded runs side by side",
    "keys": "what every key does, and how to choose your own",
    "completion": "what a shell needs to complete tuiperf's words",
    "man": "the manual page, for man -l",
}
"""Commands with words of their own: each is a module beside this one with `run(words)`."""
