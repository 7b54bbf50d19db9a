"""A command line read into what to do: `parse(argv) -> Invocation`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tuiperf.cli import values
from tuiperf.cli.grammar import COMMANDS, OPTIONS, OTHER_COMMANDS, Option
from tuiperf.cli.scan import scan
from tuiperf.cli.values import UsageError
from tuiperf.engine.errors import EngineError, describe
from tuiperf.engine.own_end import NO_CORE
from tuiperf.engine.spec import (
    DEFAULT_UDP_RATE_BPS,
    SCTP_BLOCK_BYTES,
    ClientSpec,
    ServerSpec,
    TestSpec,
)
from tuiperf.login import NO_LOGIN, LoginSettings

__all__ = ["OPTIONS", "Invocation", "OutputSettings", "UsageError", "parse"]

_HOW = "'tuiperf --help' shows how"
_LIMITS = {"-t": "test.time_s", "-n": "test.total_bytes", "-k": "test.total_blocks"}
DEMO_TAKES = ("test.", "output.", "end.interval_s", "end.rcv_timeout_ms")
REPLAY_TAKES = ("output.",)
"""Where the options go that these commands have."""


@dataclass(frozen=True)
class OutputSettings:
    """How results are shown, and where they go."""

    unit_format: str = "a"  # -f, "a" adapts to the number
    json: bool = False
    stream: bool = False  # JSON as events, one a line
    full: bool = False  # the whole document after them
    debug: int = 0  # how much to tell of what happens, 1 to 4
    verbose: bool = False
    title: str = ""
    timestamps: str | None = None  # a format of strftime
    forceflush: bool = False
    logfile: str = ""
    pidfile: str = ""
    daemon: bool = False  # a server's: go on in the background
    surface: str = "auto"  # "tui", "plain", or "auto": the screen where the terminal can
    ascii: bool = False
    record: str = "auto"  # a file's name, "none", or "auto": the default place


@dataclass(frozen=True)
class Invocation:
    """What a command line asks for.

    `command` is client, server, run, demo, replay, version or help; `file` belongs to replay,
    `profile` to demo, and `notes` are warnings for stderr.
    """

    command: str
    client: ClientSpec | None = None
    server: ServerSpec | None = None
    output: OutputSettings = OutputSettings()
    login: LoginSettings = NO_LOGIN
    file: str = ""
    profile: str = ""  # the name of a path of the lab
    notes: tuple[str, ...] = ()


@dataclass
class _Line:
    """A command line taken apart: options in their order, values by target, other words."""

    given: list[Option]
    settings: dict[str, Any]
    words: list[str]
    first: str
    notes: list[str] = field(default_factory=list)

    def part(self, *prefixes: str) -> dict[str, Any]:
        """The values whose target begins with one of `prefixes`, by the name of their field."""
        return {
            target.partition(".")[2]: value
            for target, value in self.settings.items()
            if target.partition(".")[0] in prefixes
        }


def parse(argv: Sequence[str]) -> Invocation:
    """Read the words after the program's name. Raises UsageError with one line for the user."""
    line = _take_apart(argv)
    for question in ("help", "version"):
        if f"ask.{question}" in line.settings:
            return Invocation(question)
    command = _command(line)
    if command in ("help", "version"):
        return Invocation(command)
    _refuse(line, command)
    output = _output(line)
    try:
        return _build(command, line, output)
    except EngineError as error:
        raise UsageError(error.code, error.text) from None


def _take_apart(argv: Sequence[str]) -> _Line:
    line = _Line([], {}, [], argv[0] if argv else "")
    for option, argument in scan(argv):
        if option is None:
            line.words.append(argument or "")
            continue
        line.given.append(option)
        value = option.value if argument is None else option.read(argument)
        if option.repeats and option.targets[0] in line.settings:
            value = f"{line.settings[option.targets[0]]},{value}"
        many = value if len(option.targets) > 1 else (value,)
        line.settings.update(zip(option.targets, many, strict=True))
        if option.targets[0] in ("ask.help", "ask.version"):
            break
    return line


def _command(line: _Line) -> str:
    """Which command it is; what is left in `line.words` then are its own words."""
    client, server = "ask.client" in line.settings, "ask.server" in line.settings
    if client and server:
        raise UsageError(1, describe(1))
    word = line.words[0] if line.words else ""
    if word in COMMANDS and (line.first == word or not (client or server)):
        line.words.pop(0)
        if server and word not in ("help", "version"):
            raise UsageError(1, f"'{word}' measures as a client: -s does not go with it")
        return word
    if client:
        return "client"
    if server:
        return "server"
    if not word:
        raise UsageError(2, f"{describe(2)}, or name a HOST; {_HOW}")
    return "run"


def _refuse(line: _Line, command: str) -> None:
    """Raise UsageError for the first option that this command does not have."""
    role, code = ("server", 4) if command == "server" else ("client", 3)
    for option in line.given:
        if option.role not in ("both", role):
            raise UsageError(code, f"{describe(code)}: {option.name}")
    for option in line.given:
        if command == "demo" and not all(each.startswith(DEMO_TAKES) for each in option.targets):
            raise UsageError(0, f"demo runs its own server: {option.name} does not go with it")
        if command == "replay" and not option.targets[0].startswith(REPLAY_TAKES):
            raise UsageError(
                0, f"replay shows what was measured: {option.name} does not go with it"
            )


def _output(line: _Line) -> OutputSettings:
    output = OutputSettings(title=line.settings.get("test.title", ""), **line.part("output"))
    if output.surface == "tui" and (output.json or output.logfile):
        other = "--json" if output.json else "--logfile"
        raise UsageError(0, f"--tui and {other} exclude each other")
    return output


def _build(command: str, line: _Line, output: OutputSettings) -> Invocation:
    if command == "server":
        if line.settings.get("test.server_core", NO_CORE) != NO_CORE:
            raise UsageError(4, f"{describe(4)}: the second core of --affinity")
        server = ServerSpec(**line.part("end", "server"))
        server.check()
        notes = _notes(line, output)
        return Invocation(command, server=server, output=output, login=_login(line), notes=notes)
    if command == "replay":
        if len(line.words) != 1:
            raise UsageError(0, "replay needs one FILE, a recording: tuiperf replay FILE")
        return Invocation(command, output=output, file=line.words[0])
    client = _client(command, line)
    profile = line.words.pop(0) if command == "demo" and line.words else ""
    if command in ("run", "demo"):
        _no_more_words(command, line)
        notes = _notes(line, output)
        login = _login(line)
        return Invocation(
            command, client=client, output=output, login=login, profile=profile, notes=notes
        )
    notes = _notes(line, output)
    return Invocation("client", client=client, output=output, login=_login(line), notes=notes)


def _login(line: _Line) -> LoginSettings:
    login = LoginSettings(**line.part("login"))
    login.check()
    return login


def _client(command: str, line: _Line) -> ClientSpec:
    test = _test(line)
    ends = line.part("end", "client")
    if "rcv_timeout_ms" in ends and not (test.reverse or test.bidir):
        raise UsageError(32, describe(32))
    if command == "demo":
        spec = ClientSpec(host="127.0.0.1", test=test, **ends)
    else:
        text = _host_text(command, line)
        where = values.target(text)
        if where.port is not None and ends.setdefault("port", where.port) != where.port:
            raise UsageError(26, f"'{text}' and -p {ends['port']} name two ports")
        if where.device:
            ends.setdefault("bind_device", where.device)
        spec = ClientSpec(host=where.host, test=test, **ends)
    _check_family(spec)
    spec.check()
    return spec


def _host_text(command: str, line: _Line) -> str:
    text: str | None = line.settings.get("ask.client")
    if text is not None:
        return text
    if not line.words:
        raise UsageError(2, f"run needs a HOST: tuiperf run HOST; {_HOW}")
    word = line.words.pop(0)
    alike = 0.6 if line.words else 0.8
    near = difflib.get_close_matches(word, [*COMMANDS, *OTHER_COMMANDS], 1, alike)
    if word in OTHER_COMMANDS and line.words:
        raise UsageError(0, f"'{word}' must be the first word: tuiperf {word}")
    if near and line.first not in COMMANDS:
        if line.words:
            raise UsageError(0, f"unknown command '{word}'; did you mean '{near[0]}'?")
        line.notes.append(f"'{word}' is taken for a HOST; the command is '{near[0]}'")
    return word


def _no_more_words(command: str, line: _Line) -> None:
    if not line.words:
        return
    extra = line.words[0]
    hint = f": a port is given as -p {extra}" if extra.isdigit() else ""
    raise UsageError(0, f"'{extra}' belongs to no option{hint}; {_HOW}")


def _test(line: _Line) -> TestSpec:
    chosen = line.part("test")
    ends = [name for name, target in _LIMITS.items() if _ends_test(target, line.settings)]
    if len(ends) > 1:
        raise UsageError(16, describe(16))
    if ends and ends != ["-t"]:
        chosen["time_s"] = 0
    if not chosen.get("block_bytes", 1):
        del chosen["block_bytes"]
    if chosen.get("protocol") == "udp":
        chosen = {"rate_bps": DEFAULT_UDP_RATE_BPS, "block_bytes": 0, **chosen}
    if chosen.get("protocol") == "sctp":
        chosen.setdefault("block_bytes", SCTP_BLOCK_BYTES)
    return TestSpec(**chosen)


def _ends_test(target: str, settings: dict[str, Any]) -> bool:
    """`-t 0` is a choice of the end, but `-n 0` and `-k 0` are none."""
    return target in settings and (target == "test.time_s" or bool(settings[target]))


def _check_family(spec: ClientSpec) -> None:
    for host in (spec.host, spec.bind_host):
        if spec.family == 4 and values.is_ipv6(host):
            raise UsageError(0, f"'{host}' is an IPv6 address, but -4 asks for IPv4 only")
        if spec.family == 6 and values.is_ipv4(host):
            raise UsageError(0, f"'{host}' is an IPv4 address, but -6 asks for IPv6 only")


def _notes(line: _Line, output: OutputSettings) -> tuple[str, ...]:
    ignored = [f"'{word}' belongs to no option and is ignored" for word in line.words]
    notes = line.notes + ignored
    if output.debug and "ask.client" not in line.settings and "ask.server" not in line.settings:
        notes.append("--debug shows only with -c or -s")
    if output.json:
        for option in line.given:
            if option.targets in (("output.unit_format",), ("output.verbose",), ("output.debug",)):
                notes.append(f"{option.name} has no effect on JSON output")
    return tuple(notes)
