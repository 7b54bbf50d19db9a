"""`tuiperf lab`: bring up paths with known faults, run commands on them, measure them.

tuiperf lab run lossy-reverse -- tuiperf '$TUIPERF_PEER' -R
"""

from __future__ import annotations

import argparse
import os
import re
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from tuiperf.cli.values import UsageError
from tuiperf.lab import backend, profiles, registry
from tuiperf.lab.errors import LabError
from tuiperf.lab.profiles import DIRECTION_KEYS, HOST_KEYS, Profile
from tuiperf.lab.run import PEER_VARIABLE, Lab, exit_code_of, join, start, stop_politely
from tuiperf.lab.spec import DIRECTIONS, SIDES, Helper, PathSpec

DEFAULT_NAME = "lab"
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_WIDTH = 80
_HELP = {
    "rate": "bits a second, as 1G or 20M",
    "delay": "one way, as 21ms; --rtt sets both ways",
    "jitter": "up to so much more delay, the order kept",
    "loss": "share of packets, as 0.1%%; see --loss-toward",
    "burst-loss": "mean share lost in bursts",
    "burst-length": "mean packets in a burst (4)",
    "outage": "how long the line is dead",
    "outage-every": "and how often",
    "reorder": "share of packets that come later",
    "reorder-by": "and by how much (2ms)",
    "duplicate": "share of packets that come twice",
    "mtu": "of the narrowest link, which says so by ICMP",
    "blackhole-mtu": "of the narrowest link, which says nothing",
    "police": "drop what exceeds this rate, queue nothing",
    "police-burst": "what may come at once, in bytes",
    "mark-above": "mark packets (ECN) that wait longer",
}


def run(words: Sequence[str]) -> int:
    """Do what the words after `lab` ask for and return the exit code."""
    words, command = _split(words)
    try:
        asked = parser().parse_args(_with_negatives(words))
        if command and asked.action != "run":
            raise UsageError(
                0, f"'--' and a command belong to 'lab run', not to 'lab {asked.action}'"
            )
        actions: dict[str, Callable[[], int]] = {
            "list": _list,
            "show": lambda: _show(asked.path),
            "up": lambda: _up(asked),
            "run": lambda: _run(asked, command),
            "down": lambda: _down(asked.path, asked.all),
            "check": lambda: _check(asked),
        }
        return actions[asked.action]()
    except UsageError as error:
        return _complain(f"parameter error - {error.text}")
    except LabError as error:
        return _complain(f"error - {error}")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    words = list(words)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _with_negatives(words: Sequence[str]) -> list[str]:
    """The words with "--rate -5M" as "--rate=-5M": a number below zero is told as such, and not
    taken for an option."""
    joined: list[str] = []
    for word in words:
        option = joined[-1] if joined else ""
        if re.match(r"-\.?\d", word) and option.startswith("--") and "=" not in option:
            joined[-1] = f"{option}={word}"
        else:
            joined.append(word)
    return joined


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; '{self.prog} --help' shows how")


def parser() -> argparse.ArgumentParser:
    """What may stand after `lab`."""
    parser = _Parser(prog="tuiperf lab", description=__doc__.splitlines()[0], allow_abbrev=False)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    words = {
        "list": "name the profiles, and the labs that are up",
        "show": "tell about a profile, or about a lab that is up",
        "up": "bring a path up, until it is taken down",
        "run": "run a command on the near side: lab run PROFILE -- COMMAND",
        "down": "take a lab down",
        "check": "measure a path and hold it against what was asked",
    }
    for name, text in words.items():
        action = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
        if name != "list":
            action.add_argument("path", nargs="?", default="", metavar="PROFILE")
        if name == "down":
            action.add_argument("--all", action="store_true", help="every lab of yours")
        if name == "up":
            action.add_argument("--name", default="", help="what to call it")
        if name in ("up", "run", "check"):
            _add_properties(action)
    return parser


def _add_properties(parser: argparse.ArgumentParser) -> None:
    whole = parser.add_argument_group("the path, or what is changed of PROFILE")
    whole.add_argument("--rtt", help="round trip of the empty path, as 42ms")
    whole.add_argument("--queue", help="before the slowest hop, as 64K or 1bdp (1bdp)")
    whole.add_argument("--loss-toward", metavar="SIDE", help="lose only toward here or there")
    whole.add_argument("--shared-medium", action="store_true", help="half duplex")
    whole.add_argument("--seed", help="of the draws of chance (1)")
    whole.add_argument("--backend", default="", help=f"insist on {', '.join(backend.CHOICES)}")
    each = parser.add_argument_group("each direction, or one with -there or -here behind the name")
    for key, text in _HELP.items():
        each.add_argument(f"--{key}", dest=key, help=text, metavar="X")
    for key in (*DIRECTION_KEYS, "queue"):
        for name in DIRECTIONS:
            each.add_argument(f"--{key}-{name}", dest=f"{key}-{name}", help=argparse.SUPPRESS)
    hosts = parser.add_argument_group("each host: --near-… or --far-…")
    for key in (*HOST_KEYS, "congestion"):
        for side in SIDES:
            option = f"{side}-{key.replace('_', '-')}"
            text = f"and --far-{key.replace('_', '-')}" if side == "near" else argparse.SUPPRESS
            hosts.add_argument(f"--{option}", dest=f"{side} {key}", metavar="X", help=text)
    for side in SIDES:
        text = f"the {side} side asks for ECN and agrees to it"
        hosts.add_argument(f"--{side}-ecn", dest=f"{side} ecn", action="store_true", help=text)
    _add_disturbances(parser)


def _add_disturbances(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what disturbs a test, on the hosts and on the path")
    for side in SIDES:
        text = f"programs use every core of the {side} side"
        group.add_argument(f"--{side}-hog", dest=f"{side} hog", action="store_true", help=text)
    for side, text in (
        ("near", "the program here is slow: it runs, and stops, as 2ms/80ms"),
        ("far", "the program there is slow"),
    ):
        group.add_argument(f"--{side}-pause", dest=f"{side} pause", metavar="RUN/STOP", help=text)
    group.add_argument("--crowd", metavar="N", help="N streams of others share the path")
    group.add_argument("--crowd-after", metavar="TIME", help="that long after a test's begin")
    group.add_argument("--crowd-toward", metavar="SIDE", help="here or there (there)")


def _table(asked: argparse.Namespace) -> dict[str, Any]:
    """The properties that were given, as a table of a profile."""
    given = {key: value for key, value in vars(asked).items() if value not in (None, False, "")}
    table: dict[str, Any] = {}
    for key in (*DIRECTION_KEYS, "rtt", "queue", "seed"):
        if key in given:
            table[key] = given[key]
        for name in DIRECTIONS:
            if f"{key}-{name}" in given:
                table.setdefault(name, {})[key] = given[f"{key}-{name}"]
    for side in SIDES:
        for key in (*HOST_KEYS, "congestion", "ecn"):
            if f"{side} {key}" in given:
                table.setdefault(side, {})[key] = given[f"{side} {key}"]
    for key in ("loss_toward", "shared_medium"):
        if key in given:
            table[key.replace("_", "-")] = given[key]
    helpers = list(_helpers(given))
    if helpers:
        table["helper"] = helpers
    return table


def _helpers(given: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    """The tables of the helpers that were asked for."""
    for side in SIDES:
        if f"{side} hog" in given:
            yield {"kind": "hog", "side": side}
        if f"{side} pause" in given:
            run, slash, stop = given[f"{side} pause"].partition("/")
            if not slash:
                raise UsageError(0, f"--{side}-pause is RUN/STOP, as 2ms/80ms")
            yield {"kind": "pause", "side": side, "run": run, "stop": stop}
    details = {key: given[f"crowd_{key}"] for key in ("after", "toward") if f"crowd_{key}" in given}
    if details and "crowd" not in given:
        raise UsageError(0, f"--crowd-{next(iter(details))} belongs to --crowd N")
    if "crowd" in given:
        yield {"kind": "crowd", "streams": given["crowd"], **details}


def _path(asked: argparse.Namespace) -> PathSpec:
    table = _table(asked)
    if asked.path:
        base = profiles.load(asked.path).path
        return profiles.build(table, base) if table else base
    if not table:
        raise UsageError(0, f"lab {asked.action} needs a PROFILE, or what the path is like")
    return profiles.build(table)


def _list() -> int:
    up = registry.names()
    for name in profiles.names():
        profile = profiles.load(name)
        cause = textwrap.wrap(profile.cause, _WIDTH - 20)
        _say(f"{name:<18}  {cause[0]}", *(f"{'':<20}{line}" for line in cause[1:]))
    if up:
        _say("", f"up now: {', '.join(up)}")
    return 0


def _show(name: str) -> int:
    if not name:
        name = _only("show")
    lab = join(name)
    if lab is not None:
        try:
            _say(*_about_lab(lab), "", *_about_path(lab.path), *_about_traffic(lab))
        finally:
            lab.close()
        return 0
    profile = profiles.load(name)
    _say(*_about_profile(profile), "", *_about_path(profile.path))
    return 0


def _only(action: str) -> str:
    up = registry.names()
    if len(up) == 1:
        return up[0]
    words = f"these are up: {', '.join(up)}" if up else "no lab is up"
    raise LabError(f"lab {action}: {words}")


def _about_profile(profile: Profile) -> list[str]:
    qualifier = ", ".join(f"{key} {value}" for key, value in profile.qualifier)
    verdict = f"{profile.verdict} ({qualifier})" if qualifier else profile.verdict
    options = f", with {' '.join(profile.options)}" if profile.options else ""
    return [profile.name, f"  cause    {profile.cause}", f"  verdict  {verdict}{options}"]


def _about_lab(lab: Lab) -> list[str]:
    info = lab.info
    because = f" ({info['because']})" if info["because"] else ""
    lines = [
        f"far side   {lab.peer} or {info['peer6']}, a tuiperf server on port {info['port']}",
        f"carried by {backend.WORDS[lab.backend]}{because}",
    ]
    if lab.backend == backend.RELAY:
        priority = "real-time" if info["realtime"] else "the usual: a busy machine will show"
        lines.append(f"priority   {priority}")
    return lines


def _about_path(path: PathSpec) -> list[str]:
    lines = []
    for name in DIRECTIONS:
        lines.append(f"toward {name}: {', '.join(_properties(path, name)) or 'a plain cable'}")
    for side in SIDES:
        host = path.near if side == "near" else path.far
        lines.append(
            f"{side} side: {host.congestion}, tcp_rmem up to {_bytes(host.tcp_rmem_max_bytes)},"
            f" tcp_wmem up to {_bytes(host.tcp_wmem_max_bytes)}{', ECN' if host.ecn else ''}"
        )
        if any(host.limits):
            words = [_bytes(size) if size else "the machine's" for size in host.limits]
            lines.append(f"{side} side: rmem_max {words[0]}, wmem_max {words[1]}, imitated")
    return lines + [f"disturbed by {_disturbance(helper)}" for helper in path.helpers]


def _disturbance(helper: Helper) -> str:
    if helper.kind == "crowd":
        where = f"a crowd toward {helper.toward}"
    else:
        where = f"a {helper.kind} on the {helper.side} side"
    return f"{where}, after {helper.after_s:g} s" if helper.after_s else where


def _properties(path: PathSpec, name: str) -> Iterable[str]:
    direction = path.direction(name)
    for value, words in (
        (direction.rate_bps, _rate(direction.rate_bps)),
        (direction.delay_s, f"{direction.delay_s * 1e3:g} ms"),
        (direction.jitter_s, f"up to {direction.jitter_s * 1e3:g} ms more"),
        (direction.rate_bps, f"queue {_bytes(direction.queue_bytes)}"),
        (direction.loss, f"loses {direction.loss:.3%}"),
        (direction.burst_loss, f"loses {direction.burst_loss:.3%} in bursts"),
        (direction.outage_s, f"dead {direction.outage_s:g} s of {direction.outage_every_s:g} s"),
        (direction.reorder, f"reorders {direction.reorder:.2%}"),
        (direction.duplicate, f"duplicates {direction.duplicate:.2%}"),
        (direction.police_bps, f"policed at {_rate(direction.police_bps)}"),
        (direction.mark_s, f"marks above {direction.mark_s * 1e3:g} ms"),
        (direction.collides, "collides"),
        (path.shared_medium, "a medium shared with the other direction"),
    ):
        if value:
            yield words
    if direction.mtu_bytes:
        yield f"MTU {direction.mtu_bytes}{', without a word' if direction.mtu_silent else ''}"


def _about_traffic(lab: Lab) -> list[str]:
    counters = lab.counters()
    lines = []
    for name in DIRECTIONS:
        if name in counters:
            told = [
                f"{value} {key.replace('_', ' ')}" for key, value in counters[name].items() if value
            ]
            lines.append(f"so far toward {name}: {', '.join(told) or 'nothing'}")
    return [*lines, *_about_lateness(counters)]


def _about_lateness(counters: dict[str, Any]) -> list[str]:
    if not counters:
        return []
    mean_us, most_ms = counters["late_mean_us"], counters["late_max_us"] / 1e3
    return [f"the relay was late by {mean_us:.0f} us on average, {most_ms:.1f} ms at most"]


def _up(asked: argparse.Namespace) -> int:
    name = registry.check_name(asked.name or asked.path or DEFAULT_NAME)
    lab = start(_path(asked), name=name, profile=asked.path, backend=asked.backend or None)
    _say(f"{name} is up", *(f"  {line}" for line in _about_lab(lab)))
    _say(f"  tuiperf lab run {name} -- tuiperf {lab.peer}", f"  tuiperf lab down {name}")
    lab.close()
    return 0


def _down(name: str, everything: bool) -> int:
    if name and everything:
        raise UsageError(0, "lab down takes a name or --all, not both")
    up = registry.names() if everything else [name or _only("down")]
    if not up:
        _say("no lab is up")
    for each in up:
        lab = join(each)
        if lab is None:
            raise LabError(f"no lab {each!r} is up")
        try:
            lab.down()
        finally:
            lab.close()
        _say(f"{each} is down")
    return 0


def _open(asked: argparse.Namespace) -> Lab:
    """The lab that is up under this name, or one of our own for as long as we need it."""
    if asked.path and not _table(asked) and asked.path in registry.names():
        lab = join(asked.path)
        if lab is not None:
            return lab
    return start(_path(asked), profile=asked.path, backend=asked.backend or None)


def _run(asked: argparse.Namespace, command: list[str]) -> int:
    if not command:
        raise UsageError(0, "lab run needs a command: tuiperf lab run PROFILE -- COMMAND")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    lab = _open(asked)
    try:
        argv = [word.replace(f"${PEER_VARIABLE}", lab.peer) for word in command]
        return _attend(lab, argv)
    finally:
        lab.close()


def _attend(lab: Lab, argv: list[str]) -> int:
    """Run a command on the near side until it ends, or the lab does."""
    process: subprocess.Popen[bytes] | None = None
    early: list[signal.Signals] = []

    def pass_on(number: int, frame: object) -> None:
        if process is None:
            early.append(signal.Signals(number))
        else:
            stop_politely(process, signal.Signals(number))

    signal.signal(signal.SIGINT, lambda number, frame: None)
    own = () if _shares_a_terminal() else (signal.SIGINT,)
    for number in (*_PASSED_ON, *own):
        signal.signal(number, pass_on)
    try:
        process = lab.near.popen(argv)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LabError(f"cannot run {argv[0]!r}: {reason}") from None
    for signal_number in early:
        stop_politely(process, signal_number)
    ended = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            ready, _, _ = select.select([ended, lab.fileno()], [], [])
            if lab.fileno() in ready and process.poll() is None:
                process.kill()
                process.wait()
                raise LabError(f"the lab ended under the command: {lab.why_ended()}")
    finally:
        os.close(ended)
    return exit_code_of(process)


def _shares_a_terminal() -> bool:
    """Whether a terminal's Ctrl+C reaches us and the command alike."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _check(asked: argparse.Namespace) -> int:
    from tuiperf.lab.check import Row, check

    def shown(row: Row) -> str:
        what = f"{row.what} {row.toward}".rstrip()
        low, high = _value(row.low, row.unit), _value(row.high, row.unit)
        verdict = "ok" if row.fine else "OFF"
        return (
            f"{what:<19}{_value(row.asked, row.unit):>13}{_value(row.measured, row.unit):>13}"
            f"   {f'{low} to {high}':<30}{verdict}"
        )

    lab = _open(asked)
    try:
        _say(*_about_lab(lab), "", f"{'':<19}{'asked':>13}{'measured':>13}   allowed")
        rows = []
        for row in check(lab):
            rows.append(row)
            _say(shown(row))
        _say(*_about_lateness(lab.counters()))
    finally:
        lab.close()
    return 0 if all(row.fine for row in rows) else 1


def _value(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value * 1e3:.2f} ms"
    if unit == "share":
        return f"{value * 100:.3f} %"
    return _rate(value)


def _rate(bps: float) -> str:
    return f"{bps / 1e9:.4g} Gbit/s" if bps >= 9.9995e9 else f"{bps / 1e6:.4g} Mbit/s"


def _bytes(size: int) -> str:
    for step, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= step:
            return f"{size / step:.3g} {unit}"
    return f"{size} bytes"


def _say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)


def _complain(text: str) -> int:
    if sys.stderr is not None:
        shown = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
        print(f"tuiperf: {shown}", file=sys.stderr)
    return 1
