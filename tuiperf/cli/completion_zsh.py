"""The completion script of zsh: words come from the table of commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuiperf.cli.commands import CONGESTION, FILE, HOST, INTERFACE, Command, Flag

_LOOKUPS = {
    FILE: "_files",
    HOST: "_hosts",
    INTERFACE: "_net_interfaces",
    CONGESTION: "_tuiperf_congestion",
}

_HEAD = """\
#compdef tuiperf
# zsh completion for tuiperf, printed by: tuiperf completion zsh

_tuiperf_congestion() {
    local -a names
    names=(${=$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null)})
    compadd -a names
}
"""

_FOOT = """
if [ "$funcstack[1]" = "_tuiperf" ]; then
    _tuiperf "$@"
else
    compdef _tuiperf tuiperf
fi
"""


def script(commands: Sequence[Command]) -> str:
    """The whole script."""
    whole = next(each for each in commands if not each.name)
    named = [each for each in commands if each.name]
    top = Command("", whole.words, whole.help, whole.sections, whole.kind, tuple(named))
    functions = [line for function in _functions(top, "_tuiperf") for line in (*function, "")]
    return "\n".join([_HEAD, *functions]) + _FOOT


def _functions(command: Command, name: str) -> Iterator[list[str]]:
    """One function a command; nested ones first."""
    for each in command.nested:
        yield from _functions(each, _below(name, each))
    if command.nested:
        yield _words(command, name)
    lines = [f"{name}() {{"]
    if command.nested:
        lines += _choice(command, name)
    lines.append("    _arguments -s -S \\")
    lines += [f"        {spec} \\" for flag in command.flags for spec in _specs(flag)]
    lines.append(f"        {_first_word(command, name)}")
    yield [*lines, "}"]


def _below(name: str, command: Command) -> str:
    return f"{name}_{command.name.replace('-', '_')}"


def _choice(command: Command, name: str) -> Iterator[str]:
    """Hand over to the function of a command that was typed."""
    yield "    if (( CURRENT > 2 )); then"
    yield "        case $words[2] in"
    for each in command.nested:
        yield f"            {each.name})"
        yield f"                shift words; (( CURRENT-- )); {_below(name, each)}; return ;;"
    yield "        esac"
    yield "    fi"


def _words(command: Command, name: str) -> list[str]:
    """The function that describes the commands which may come next, and other words."""
    described = [_spec(f"{each.name}:{_escaped(each.help)}") for each in command.nested]
    return [
        f"{name}_words() {{",
        "    local -a names",
        "    names=(",
        *(f"        {each}" for each in described),
        "    )",
        "    _describe -t commands command names",
        *([f"    {_action(command.kind)}"] if isinstance(command.kind, str) else []),
        "}",
    ]


def _first_word(command: Command, name: str) -> str:
    if command.nested:
        return f"'1: :{name}_words'"
    return f"'*:{_label(command.words)}:{_action(command.kind)}'"


def _specs(flag: Flag) -> list[str]:
    rest = f"[{_escaped(flag.help)}]"
    if flag.argument and not flag.optional:
        rest += f":{_escaped(flag.argument)}:{_action(flag.kind)}"
    others = " ".join(flag.names)
    return [_spec(f"({others}){name}{rest}") for name in flag.names]


def _action(kind: str | tuple[str, ...]) -> str:
    if isinstance(kind, str):
        return _LOOKUPS[kind]
    return f"({' '.join(kind)})" if kind else ""


def _label(words: str) -> str:
    return words.strip("[]").replace(":", "\\:") or "nothing"


def _escaped(text: str) -> str:
    for each in "\\[]:":
        text = text.replace(each, "\\" + each)
    return text


def _spec(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
