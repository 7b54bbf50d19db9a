"""Link checks that were kept by name, for a look before and after."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuiperf.cli.values import UsageError
from tuiperf.evidence.facts import LinkFacts

FORM = 1
MAX_BYTES = 4 << 20
LATEST_S = float(1 << 33)
"""A moment in the year 2242: what comes later is no time."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


@dataclass(frozen=True)
class Kept:
    """A check as it was kept."""

    name: str
    when_s: float
    subject: str
    facts: Mapping[str, Any]

    @property
    def port(self) -> int | None:
        """The server's port that was looked at."""
        found = self.facts.get("port")
        number = found.get("number") if isinstance(found, dict) else None
        return number if isinstance(number, int) and 0 < number < 65536 else None


def directory() -> Path:
    """Where they are: below the state directory of the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "tuiperf" / "links"


def check_name(name: str) -> None:
    """Raise UsageError for a name that is not fit for a file."""
    if not _NAME.match(name):
        raise UsageError(0, f"'{name[:40]}' is no name: letters, digits, dots and dashes, up to 64")


def save(name: str, facts: LinkFacts) -> Path:
    """Keep a check, in place of an older one of that name. Raises UsageError when it cannot."""
    check_name(name)
    path = directory() / f"{name}.json"
    document = {
        "form": FORM,
        "when_s": round(time.time(), 3),
        "subject": facts.host or facts.asked or (facts.interface.name if facts.interface else ""),
        "facts": facts.to_json(),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(0, f"cannot keep '{name}' in {path}: {error.strerror}") from None
    return path


def load(name: str) -> Kept:
    """A kept check. Raises UsageError when there is none, or it cannot be read."""
    check_name(name)
    path = directory() / f"{name}.json"
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(MAX_BYTES))
    except FileNotFoundError:
        raise UsageError(0, f"no check was kept as '{name}'{_others()}") from None
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no kept check"
        raise UsageError(0, f"cannot read {path}: {why}") from None
    if not isinstance(document, dict) or not isinstance(document.get("facts"), dict):
        raise UsageError(0, f"cannot read {path}: it is no kept check")
    if document.get("form") != FORM:
        raise UsageError(0, f"cannot read {path}: another version of tuiperf kept it")
    when_s, subject = document.get("when_s"), document.get("subject")
    if not isinstance(when_s, (int, float)) or not 0 <= when_s < LATEST_S:
        raise UsageError(0, f"cannot read {path}: it does not say when it was kept")
    return Kept(name, when_s, subject if isinstance(subject, str) else "", document["facts"])


def kept_at(name: str) -> float | None:
    """When a check of this name was kept, None when there is none that can be read."""
    try:
        return load(name).when_s
    except UsageError:
        return None


def _others() -> str:
    try:
        names = sorted(path.stem for path in directory().glob("*.json"))[:10]
    except OSError:
        names = []
    return f"; there are: {', '.join(names)}" if names else "; 'tuiperf link save NAME' keeps one"
