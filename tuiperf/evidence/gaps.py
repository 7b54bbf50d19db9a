"""What could not be read, and why: a reader that fails notes a gap and goes on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

NEEDS_RIGHTS = (errno.EPERM, errno.EACCES)


@dataclass(frozen=True)
class Gap:
    """One thing that is not known. `rights` tells that root (or a capability) would know it."""

    what: str
    why: str
    rights: bool = False


class Gaps:
    """Collects gaps; each thing is noted once, with the first reason."""

    def __init__(self) -> None:
        self._gaps: dict[str, Gap] = {}

    def note(self, what: str, why: str) -> None:
        self._gaps.setdefault(what, Gap(what, why))

    def needs_rights(self, what: str, capability: str) -> None:
        """Note what only root, or a process with this capability, may read."""
        self._gaps.setdefault(what, Gap(what, f"needs root: {capability}", rights=True))

    def failed(self, what: str, error: OSError, capability: str = "CAP_NET_ADMIN") -> None:
        """Note an error of the system in its own words, or which right was missing."""
        if error.errno in NEEDS_RIGHTS:
            self.needs_rights(what, capability)
        else:
            self.note(what, reason(error))

    def forget(self, what: str) -> None:
        """It became known after all."""
        self._gaps.pop(what, None)

    def all(self) -> tuple[Gap, ...]:
        return tuple(self._gaps.values())


def reason(error: OSError) -> str:
    """An error of the system in words: "not supported by the driver", or what errno says."""
    if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY):
        return "not supported by the driver"
    if error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__


def rights_missing(gaps: Iterable[Gap]) -> tuple[str, ...]:
    """What root would add."""
    return tuple(gap.what for gap in gaps if gap.rights)
