"""What a server needs from above to answer a client: who may test, and its own report.

The engine itself knows neither cryptography nor how a report looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Optional


class Duties(NamedTuple):
    """Both are asked during a test, so they must be quick."""

    authorize: Optional[Callable[[str], bool]] = None
    """Whether a client with this token may test; None: everybody may."""

    output: Optional[Callable[[], dict[str, Any]]] = None
    """The present test's report as members of our results: server_output_text or _json."""


NO_DUTIES = Duties()
