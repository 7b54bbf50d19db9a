"""The completion script of bash: words come from the table of commands, bash 4 and later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tuiperf.cli.commands import Command, Flag

_HEAD = """\
# bash completion for tuiperf, printed by: tuiperf completion bash

_tuiperf_values() {
    case $1 in
        file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
        host) mapfile -t COMPREPLY < <(compgen -A hostname -- "$2") ;;
        interface) mapfile -t COMPREPLY < <(compgen -W \\
            "$(command ls /sys/class/net 2>/dev/null)" -- "$2") ;;
        congestion) mapfile -t COMPREPLY < <(compgen -W \\
            "$(cat /proc/sys/net/ipv4/tcp_available_congestion_control 2>/dev/null)" -- "$2") ;;
        none) COMPREPLY=() ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2") ;;
    esac
}
"""

_BODY = """\

_tuiperf() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev="" path="" options="" taking="" kind="none"
    local -i at=1 given=0
    COMPREPLY=()
    ((COMP_CWORD > 1)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
    _tuiperf_command
    while ((at < COMP_CWORD)); do
        case ${COMP_WORDS[at]} in
            --) return ;;
            -*) [[ " $taking " == *" ${COMP_WORDS[at]} "* ]] && ((at++)) ;;
            *)
                if ((given == 0)) && _tuiperf_known "$path/${COMP_WORDS[at]}"; then
                    path=$path/${COMP_WORDS[at]}
                    _tuiperf_command
                else
                    ((given++))
                fi
                ;;
        esac
        ((at++))
    done
    if ((at > COMP_CWORD)); then
        _tuiperf_option "$prev"
        _tuiperf_values "$kind" "$cur"
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif ((given == 0)); then
        _tuiperf_values "$kind" "$cur"
        local -a found=("${COMPREPLY[@]}")
        mapfile -t COMPREPLY < <(compgen -W "$nested" -- "$cur")
        COMPREPLY+=("${found[@]}")
    fi
}

complete -F _tuiperf tuiperf
"""


def script(commands: Sequence[Command]) -> str:
    """The whole script."""
    lines = [_HEAD, *_known(commands), "", *_option_values(commands), "", *_levels(commands)]
    return "\n".join(lines) + _BODY.replace("local -i", 'local nested=""\n    local -i', 1)


def _known(commands: Sequence[Command]) -> Iterator[str]:
    yield "_tuiperf_known() {"
    yield "    case $1 in"
    paths = [path for path, _ in _all(commands) if path]
    yield f"        {' | '.join(paths)}) return 0 ;;"
    yield "    esac"
    yield "    return 1"
    yield "}"


def _option_values(commands: Sequence[Command]) -> Iterator[str]:
    """What follows an option, by its names; the same in all commands unless the path tells."""
    yield "_tuiperf_option() {"
    yield '    kind="none"'
    yield "    case $1 in"
    seen: dict[tuple[str, ...], str] = {}
    for _, command in _all(commands):
        for flag in command.flags:
            if flag.argument and flag.kind and flag.names not in seen:
                seen[flag.names] = _kind(flag.kind)
    for names, kind in seen.items():
        yield f"        {' | '.join(names)}) kind={_quoted(kind)} ;;"
    yield "    esac"
    yield "}"


def _levels(commands: Sequence[Command]) -> Iterator[str]:
    yield "_tuiperf_command() {"
    yield "    case $path in"
    for path, command in _all(commands):
        nested = [each.name for each in command.nested]
        if not path:
            nested = [each.name for each in commands if each.name]
        yield f"        {path or _quoted('')})"
        yield f"            nested={_quoted(' '.join(nested))}"
        yield f"            kind={_quoted(_kind(command.kind))}"
        yield f"            taking={_quoted(' '.join(_taking(command.flags)))}"
        yield f"            options={_quoted(' '.join(_names(command.flags)))}"
        yield "            ;;"
    yield "    esac"
    yield "}"


def _all(commands: Iterable[Command], above: str = "") -> Iterator[tuple[str, Command]]:
    """Every command with its path: "" for tuiperf itself, "/lab/up"."""
    for command in commands:
        path = f"{above}/{command.name}" if command.name else ""
        yield path, command
        yield from _all(command.nested, path)


def _names(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        yield from flag.names


def _taking(flags: Iterable[Flag]) -> Iterator[str]:
    """Names of options whose value is a word of its own."""
    return _names(flag for flag in flags if flag.argument and not flag.optional)


def _kind(kind: str | tuple[str, ...]) -> str:
    return kind if isinstance(kind, str) else " ".join(kind) or "none"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
