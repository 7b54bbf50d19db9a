"""The completion script of fish: words come from the table of commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuiperf.cli.commands import CONGESTION, FILE, HOST, INTERFACE, Command, Flag

_LOOKUPS = {
    FILE: "(__fish_complete_path)",
    HOST: "(__fish_print_hostnames)",
    INTERFACE: "(command ls /sys/class/net 2>/dev/null)",
    CONGESTION: "(string split ' ' < /proc/sys/net/ipv4/tcp_available_congestion_control)",
}


def script(commands: Sequence[Command]) -> str:
    """The whole script."""
    lines = ["# fish completion for tuiperf, printed by: tuiperf completion fish", ""]
    lines.append("complete -c tuiperf -f")
    names = [each.name for each in commands if each.name]
    for command in commands:
        if command.name:
            condition = _seen([command.name])
            lines.append(_word("__fish_use_subcommand", command.name, command.help))
        else:
            condition = f"not {_seen(names)}"
        lines += _command(command, condition)
    return "\n".join(lines) + "\n"


def _command(command: Command, condition: str) -> Iterator[str]:
    nested = [each.name for each in command.nested]
    alone = f"{condition}; and not {_seen(nested)}" if nested else condition
    yield from (_flag(alone, flag) for flag in command.flags)
    if command.kind == FILE:
        yield f"complete -c tuiperf -n {_quoted(alone)} -F"
    elif command.kind:
        yield f"complete -c tuiperf -n {_quoted(alone)} -a {_quoted(_values(command.kind))}"
    for each in command.nested:
        yield _word(alone, each.name, each.help)
        yield from _command(each, f"{condition}; and {_seen([each.name])}")


def _flag(condition: str, flag: Flag) -> str:
    parts = ["complete -c tuiperf -n", _quoted(condition)]
    for name in flag.names:
        parts.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}")
    if flag.argument and not flag.optional:
        parts.append("-x" if flag.kind != FILE else "-r -F")
        if flag.kind and flag.kind != FILE:
            parts.append(f"-a {_quoted(_values(flag.kind))}")
    return " ".join([*parts, f"-d {_quoted(flag.help)}"])


def _word(condition: str, name: str, help_text: str) -> str:
    return f"complete -c tuiperf -n {_quoted(condition)} -a {name} -d {_quoted(help_text)}"


def _seen(names: Sequence[str]) -> str:
    return f"__fish_seen_subcommand_from {' '.join(names)}"


def _values(kind: str | tuple[str, ...]) -> str:
    return _LOOKUPS[kind] if isinstance(kind, str) else " ".join(kind)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
