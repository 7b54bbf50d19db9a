"""The complete record of a run: its events as gzipped lines of JSON, readable while it grows.

The compressor is flushed about once a second, so a run that is killed loses no more than that.
"""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Optional

from tuiperf.events import Event, RunEnded, RunStarted, StreamSample, to_line

FLUSH_S = 1.0
MAX_BYTES = 256 * 1024 * 1024
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # RFC 1952 framing from zlib's compressor


class Record:
    """Writes events to a file. After `max_bytes` samples are left out, all else is kept.

    Opening raises OSError; a write that fails later (a full disk) closes the record and is told by
    `error`, for a measurement must not end because its record cannot grow.
    """

    def __init__(self, path: str, max_bytes: int = MAX_BYTES) -> None:
        self.path = path
        self.error: Optional[OSError] = None
        self._file = Path(path).open("wb")  # noqa: SIM115
        self._zip = zlib.compressobj(1, zlib.DEFLATED, _GZIP_WINDOW)
        self._number = 0
        self._written = 0
        self._max_bytes = max_bytes
        self._flushed_s = time.monotonic()

    def write(self, event: Event) -> None:
        """Append one event."""
        number, self._number = self._number, self._number + 1
        if self._file.closed or (isinstance(event, StreamSample) and self._is_full):
            return
        self._put(self._zip.compress(to_line(event, number).encode() + b"\n"))
        now_s = time.monotonic()
        if now_s - self._flushed_s >= FLUSH_S or isinstance(event, (RunStarted, RunEnded)):
            self._flushed_s = now_s
            self._put(self._zip.flush(zlib.Z_SYNC_FLUSH))
            self._sync()

    def close(self) -> None:
        """Finish the file."""
        if not self._file.closed:
            self._put(self._zip.flush())
            self._sync()
            self._close_file()

    @property
    def _is_full(self) -> bool:
        return self._written >= self._max_bytes

    def _put(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._written += len(data)
        except OSError as error:
            self._give_up(error)

    def _sync(self) -> None:
        try:
            self._file.flush()
        except (OSError, ValueError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if self.error is None and isinstance(error, OSError):
            self.error = error
        self._close_file()

    def _close_file(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.error = self.error or error
