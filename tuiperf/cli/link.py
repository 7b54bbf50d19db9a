"""`tuiperf link`: what the cable, the card and the path say before a byte is measured.

tuiperf link, tuiperf link eth0, tuiperf link lab-b --json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from tuiperf.cli.options import OutputSettings
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import Terminal, choose
from tuiperf.cli.values import UsageError
from tuiperf.cli.values import target as host_of
from tuiperf.evidence.gather import WINDOW_S, Plan
from tuiperf.rules import expectation

USAGE_CODE = 64  # EX_USAGE and its neighbours of sysexits.h
INTERRUPTED_CODE = 130
DEFAULT_PORT = 5201
ACTIONS = ("save", "diff", "cable-test")

_DESCRIPTION = """\
Look at a link: carrier, speed, duplex, negotiation, errors, drops, offloads
and buffers; and at the path to a host: gateway, round trips, packet sizes,
hops, the port. Needs no peer; what needs root is named. Without a word
it looks at the interface that the default route takes.

  tuiperf link [IFACE|HOST]            look; on a screen where the terminal can
  tuiperf link save NAME [IFACE|HOST]  keep what was found, before recabling
  tuiperf link diff NAME [IFACE|HOST]  what has changed since
  tuiperf link cable-test IFACE        which pair is bad, and where (root)

Exit code: 0 fine, 1 something to look at, 2 a fault; 64 and above: no look."""


def run(words: Sequence[str]) -> int:
    """Do what the words after `link` ask for and return the exit code."""
    try:
        action = words[0] if words and words[0] in ACTIONS else "check"
        rest = list(words) if action == "check" else list(words[1:])
        asked = parser(action).parse_args(rest)
        actions: dict[str, Callable[[argparse.Namespace], int]] = {
            "check": _check,
            "save": _save,
            "diff": _diff,
            "cable-test": _cable_test,
        }
        return actions[action](asked)
    except UsageError as error:
        text = f"parameter error - {error.text}{_order(words)}"
        Printer(sys.stdout, sys.stderr).complain(text)
        return USAGE_CODE
    except KeyboardInterrupt:
        return INTERRUPTED_CODE


def _order(words: Sequence[str]) -> str:
    """A hint for those who wrote the action after something else."""
    late = next((word for word in words[1:] if word in ACTIONS), "")
    return f"; '{late}' comes first: tuiperf link {late} …" if late else ""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(0, f"{message}; 'tuiperf link --help' shows how")


def parser(action: str) -> argparse.ArgumentParser:
    """What may stand after `link`, by its action: check, save, diff or cable-test."""
    parser = _Parser(
        prog="tuiperf link" if action == "check" else f"tuiperf link {action}",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if action == "cable-test":
        parser.add_argument("subject", metavar="IFACE", help="the interface whose cable is tested")
        parser.add_argument(
            "--yes-cut-me-off",
            action="store_true",
            help="do not ask, even where this shell comes over that very cable",
        )
        parser.add_argument(
            "--tdr", action="store_true", help="what each pair reflects, and from how far"
        )
        parser.add_argument("-J", "--json", action="store_true", help="the result as JSON")
        return parser
    if action in ("save", "diff"):
        parser.add_argument("name", metavar="NAME", help="what the kept check is called")
    parser.add_argument(
        "subject", nargs="?", default="", metavar="IFACE|HOST", help="what to look at"
    )
    _add_options(parser, action)
    return parser


def _add_options(parser: _Parser, action: str) -> None:
    parser.add_argument("-J", "--json", action="store_true", help="one JSON document, all facts")
    parser.add_argument(
        "--quick", action="store_true", help=f"do not watch the counters for {WINDOW_S:.0f} s"
    )
    parser.add_argument("-p", "--port", type=_port, help=f"the server's port ({DEFAULT_PORT})")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII alone")
    family = parser.add_mutually_exclusive_group()
    family.add_argument("-4", dest="family", action="store_const", const=4, help="IPv4 only")
    family.add_argument("-6", dest="family", action="store_const", const=6, help="IPv6 only")
    if action != "check":
        return
    parser.add_argument(
        "--watch", action="store_true", help="stay, and tell of changes as they come"
    )
    parser.add_argument("--expect", metavar="1G/full", help="a fault if it is not so")
    surface = parser.add_mutually_exclusive_group()
    surface.add_argument("--plain", action="store_true", help="text instead of the screen")
    surface.add_argument("--tui", action="store_true", help="the screen, or an error")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no port number")
    return int(text)


def _plan(asked: argparse.Namespace) -> Plan:
    expected = getattr(asked, "expect", None)
    if expected is not None and expectation.read(expected) is None:
        raise UsageError(0, f"'{expected}' is no speed: write 1G/full, 100M/half, 2.5G")
    subject, port = asked.subject, asked.port or DEFAULT_PORT
    if ":" in subject:
        where = host_of(subject)
        subject, port = where.host, where.port or port
    if "\0" in subject or len(subject) > 255:
        raise UsageError(0, "that is neither an interface nor a host")
    return Plan(
        asked=subject,
        port=port,
        window_s=0.0 if asked.quick else WINDOW_S,
        family={4: 2, 6: 10}.get(asked.family or 0, 0),  # AF_INET, AF_INET6
        expected=expected or "",
    )


def _output(asked: argparse.Namespace) -> OutputSettings:
    surface = "auto"
    if getattr(asked, "plain", False):
        surface = "plain"
    elif getattr(asked, "tui", False):
        surface = "tui"
    if surface == "tui" and asked.json:
        raise UsageError(0, "--tui and --json exclude each other")
    return OutputSettings(json=asked.json, surface=surface, ascii=asked.ascii)


def _check(asked: argparse.Namespace) -> int:
    from tuiperf.cli import link_page

    plan, output = _plan(asked), _output(asked)
    opening = choose(output, Terminal.here())
    printer = Printer(sys.stdout, sys.stderr)
    if opening.refused:
        printer.complain(f"error - the screen cannot open: {opening.why}")
        return USAGE_CODE
    if opening.screen:
        from tuiperf.link_app import run_link

        return run_link(plan, ascii=opening.ascii)
    page = link_page.LinkPage(printer, opening.ascii, as_json=asked.json)
    if asked.watch:
        return page.watch(plan)
    return page.check(plan)


def _save(asked: argparse.Namespace) -> int:
    from tuiperf.cli import link_page, link_store

    link_store.check_name(asked.name)
    printer = Printer(sys.stdout, sys.stderr)
    ascii_only = choose(OutputSettings(ascii=asked.ascii), Terminal.here()).ascii
    page = link_page.LinkPage(printer, ascii_only, as_json=asked.json)
    facts = page.look(_plan(asked))
    if facts.problem:
        return page.tell(facts)
    older_s = link_store.kept_at(asked.name)
    path = link_store.save(asked.name, facts)
    code = page.tell(facts)
    instead = f", in place of the one of {link_page.clock(older_s)}" if older_s else ""
    printer.complain(
        f"kept as '{asked.name}' in {path}{instead}; later: tuiperf link diff {asked.name}"
    )
    return code


def _diff(asked: argparse.Namespace) -> int:
    from tuiperf.cli import link_page, link_store

    kept = link_store.load(asked.name)
    if not asked.subject:
        asked.subject = kept.subject
    if asked.port is None:
        asked.port = kept.port
    printer = Printer(sys.stdout, sys.stderr)
    ascii_only = choose(OutputSettings(ascii=asked.ascii), Terminal.here()).ascii
    page = link_page.LinkPage(printer, ascii_only, as_json=asked.json)
    return page.difference(kept, page.look(_plan(asked)))


def _cable_test(asked: argparse.Namespace) -> int:
    from tuiperf.cli import link_cable

    return link_cable.run(
        asked.subject,
        Printer(sys.stdout, sys.stderr),
        sure=asked.yes_cut_me_off,
        as_json=asked.json,
        tdr=asked.tdr,
        ask=_ask if sys.stdin is not None and os.isatty(0) else None,
    )


def _ask(question: str) -> bool:
    """Ask on standard error: the result alone goes to standard output."""
    try:
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        return input().strip().lower() in ("y", "yes")
    except (EOFError, UnicodeDecodeError):
        return False
