"""The help page, made from the grammar: grouped, within 80 columns, with examples."""

from __future__ import annotations

import textwrap

from tuiperf.cli.grammar import COMMANDS, GROUPS, OTHER_COMMANDS, Group, Option

WIDTH = 80
_NAMES_WIDTH = 30

_USAGE = (
    ("tuiperf HOST", "on a terminal the sweep, else tuiperf run"),
    ("tuiperf sweep HOST", OTHER_COMMANDS["sweep"]),
    ("tuiperf run HOST [options]", COMMANDS["run"]),
    ("tuiperf demo [PROFILE]", COMMANDS["demo"]),
    ("tuiperf lab --help", OTHER_COMMANDS["lab"]),
    ("tuiperf link [IFACE|HOST]", OTHER_COMMANDS["link"]),
    ("tuiperf learn [N]", OTHER_COMMANDS["learn"]),
    ("tuiperf replay FILE", COMMANDS["replay"]),
    ("tuiperf -c HOST [options]", "as iperf3's client: options, text, JSON"),
    ("tuiperf -s [options]", "as iperf3's server"),
    ("tuiperf keys", OTHER_COMMANDS["keys"]),
    ("tuiperf completion SHELL", OTHER_COMMANDS["completion"]),
    ("tuiperf man", OTHER_COMMANDS["man"]),
)
EXAMPLES = (
    ("tuiperf lab-b", "why is the path to lab-b slow?"),
    ("tuiperf run lab-b", "10 s of TCP from here to lab-b, live"),
    ("tuiperf lab-b -R -P 4", "lab-b sends, over 4 connections"),
    ("tuiperf '[2001:db8::7]:5300' -6", "IPv6, another port"),
    ("tuiperf -c lab-b -t 30 -J > run.json", "for scripts, as iperf3 -J"),
)
HOST_FORMS = (
    "HOST is a name or an address: lab-b, lab-b:5300, 10.0.0.7, 2001:db8::7, [2001:db8::7]:5300, "
    "fe80::1%eth0. A server is iperf3 -s or tuiperf -s."
)
UNITS = (
    "k M G T behind a number, in either case: steps of 1024 for -n -k -l -w; for -b and --fq-rate "
    "decimal bits, so that 10m and 10M are 10,000,000 bit/s."
)


def page() -> str:
    """The whole page, with a line's end at its end."""
    lines = ["tuiperf: measures a network path as iperf3 does, and tells why it is slow.", ""]
    lines += [f"  {usage:<28}{words}" for usage, words in _USAGE]
    lines += ["", *textwrap.wrap(HOST_FORMS, WIDTH, break_on_hyphens=False)]
    for group in GROUPS:
        lines += ["", *_group(group)]
    lines += ["", *textwrap.wrap(UNITS, WIDTH, break_on_hyphens=False)]
    lines += ["", "Examples"]
    lines += [f"  {command:<38}{words}" for command, words in EXAMPLES]
    return "\n".join(lines) + "\n"


def _group(group: Group) -> list[str]:
    lines = [group.title]
    for option in group.options:
        names = _names(option)
        words = option.help + (f" ({option.default})" if option.default else "")
        if len(names) >= _NAMES_WIDTH:
            lines.append(f"  {names}")
            names = ""
        lines.append(f"  {names:<{_NAMES_WIDTH}}{words}")
    return lines


def _names(option: Option) -> str:
    short = [name for name in option.names if not name.startswith("--")]
    head = f"{short[0]}, " if short else "    "
    if not option.argument:
        return head + option.name
    return (
        head + option.name + (f"[={option.argument}]" if option.optional else f" {option.argument}")
    )
