"""Keys of the user's own: a TOML file of actions and the keys that do them.

    "run.stop" = "s"
    "app.quit" = "ctrl+x"

It lies in $XDG_CONFIG_HOME/tuiperf/keys.toml. An entry that is wrong costs only itself, and a line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_BYTES = 64 * 1024
MAX_PROBLEMS = 5

_KEY = re.compile(r"(?:(?:ctrl|shift|alt)\+)*[A-Za-z0-9_]+")


@dataclass(frozen=True)
class Keys:
    """What the file asks for, and what is wrong with it in a line each."""

    wanted: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


NONE = Keys()


def path() -> Path:
    """Where the file is looked for: the XDG configuration directory's folder of tuiperf."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".config"
    return root / "tuiperf" / "keys.toml"


def load() -> Keys:
    """Read the file; no file is nothing wrong."""
    try:
        with path().open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        return NONE
    except OSError as error:
        return Keys(problems=(f"keys.toml cannot be read: {error.strerror}",))
    if len(data) > MAX_BYTES:
        return Keys(problems=(f"keys.toml is larger than {MAX_BYTES} bytes and is ignored",))
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Keys(problems=(f"keys.toml is no TOML and is ignored: {error}",))
    return checked(table)


def checked(table: Mapping[str, Any]) -> Keys:
    """Take what is right out of a table, which may be nested: [run] stop = "s"."""
    from tuiperf.actions import ACTIONS

    wanted: dict[str, str] = {}
    problems: list[str] = []
    for name, value in _flat(table):
        if name not in ACTIONS:
            problems.append(f"keys.toml: there is no action '{name}': tuiperf keys lists them")
        elif not isinstance(value, str) or not all(_KEY.fullmatch(key) for key in _split(value)):
            problems.append(f"keys.toml: {name} = {value!r} is no key: ctrl+x, f5, g,home")
        else:
            wanted[name] = ",".join(_split(value))
    if len(problems) > MAX_PROBLEMS:
        more = len(problems) - MAX_PROBLEMS
        problems = [*problems[:MAX_PROBLEMS], f"keys.toml: {more} more entries are wrong"]
    return Keys(wanted, tuple(problems))


def _split(value: str) -> list[str]:
    return [key.strip() for key in value.split(",")] if value.strip() else [""]


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{name}.")
        else:
            found.append((f"{before}{name}", value))
    return found
