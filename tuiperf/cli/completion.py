"""`tuiperf completion bash|zsh|fish`: a script that lets that shell complete tuiperf's words."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tuiperf.cli import completion_bash, completion_fish, completion_zsh
from tuiperf.cli.commands import SHELLS, commands
from tuiperf.cli.printer import Printer
from tuiperf.view.rows import escape

USAGE_CODE = 1
_HELP = """\
usage: tuiperf completion SHELL

Print what bash, zsh or fish needs to complete tuiperf's commands, options, profiles, lessons and
interfaces.

  bash   tuiperf completion bash > ~/.local/share/bash-completion/completions/tuiperf
  zsh    tuiperf completion zsh > DIR/_tuiperf    with DIR in fpath, before compinit
  fish   tuiperf completion fish > ~/.config/fish/completions/tuiperf.fish
"""

_MAKERS = {
    "bash": completion_bash.script,
    "zsh": completion_zsh.script,
    "fish": completion_fish.script,
}


def run(words: Sequence[str]) -> int:
    """Print the script of the shell that is named and return the exit code."""
    printer = Printer(sys.stdout, sys.stderr)
    if list(words) in (["--help"], ["-h"]):
        printer.lines(_HELP.splitlines())
        return printer.code(0)
    if len(words) != 1 or words[0] not in _MAKERS:
        said = escape(" ".join(words), 60)
        one_of = f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}"
        told = f", not '{said}'" if said else ""
        printer.complain(f"parameter error - completion needs a shell: {one_of}{told}")
        return USAGE_CODE
    printer.lines(_MAKERS[words[0]](commands()).splitlines())
    return printer.code(0)
