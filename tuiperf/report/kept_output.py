"""The lines of a server's present test, kept for a client that wants the server's output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from tuiperf import events as ev

MAX_KEPT_BYTES = 4 * 1024 * 1024


class KeptOutput:
    """Keeps lines from where a client's parameters are agreed on; of too many, the last ones."""

    def __init__(self, most_bytes: int = MAX_KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._keeping = False
        self._begin()

    def _begin(self) -> None:
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._dropped = 0

    def after(self, event: ev.Event, lines: Iterable[str]) -> None:
        """Take in the lines that this event brought."""
        if isinstance(event, ev.RunStarted):
            self._keeping = False
            self._begin()
        elif isinstance(event, ev.Agreed):
            self._keeping = any(key.lower() == "get_server_output" for key in event.parameters)
        if self._keeping:
            for line in lines:
                self._keep(line)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._bytes += len(line) + 1
        while self._bytes > self._most_bytes:
            self._bytes -= len(self._lines.popleft()) + 1
            self._dropped += 1

    @property
    def text(self) -> str:
        """Whole lines, as iperf3's server sends them."""
        left_out = [f"({self._dropped} lines before this are left out)"] if self._dropped else []
        return "".join(f"{line}\n" for line in [*left_out, *self._lines])
