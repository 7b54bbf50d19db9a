"""What one end of a test does for itself, without asking the other."""

from __future__ import annotations

from typing import NamedTuple

NO_CORE = -1


class OwnEnd(NamedTuple):
    """A file to send from or to write to ("" for memory), and the processor core to run on."""

    file: str = ""
    core: int = NO_CORE


USUAL = OwnEnd()
