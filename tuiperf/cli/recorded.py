"""Where a run is recorded: the file that was asked for, the usual place, or nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tuiperf.cli.values import UsageError
from tuiperf.engine.spec import ClientSpec


def recorded(spec: ClientSpec, record: str) -> ClientSpec:
    """The spec with its recording's path. `record` is "auto", "none" or a file's name.

    Raises UsageError when that file cannot be written; the usual place may fail silently.
    """
    if record == "auto":
        return replace(spec, recording=_usual_path(spec.host))
    if record == "none":
        return replace(spec, recording="")
    try:
        Path(record).open("ab").close()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(0, f"cannot write the recording '{record}': {why}") from None
    return replace(spec, recording=record)


def _usual_path(host: str) -> str:
    from tuiperf.recording import default_path

    path = default_path(host)
    return str(path) if path else ""
