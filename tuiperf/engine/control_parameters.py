"""The two facts about a test that the control protocol itself needs from its parameters."""

from __future__ import annotations

from typing import Optional

from tuiperf.engine.framing import JsonObject

_DEFAULT_TIME_S = 10
_LARGEST = 10**6


def stream_count(parameters: JsonObject) -> int:
    """How many data connections the test has."""
    both_ways = parameters.get("bidirectional") is True
    return _whole(parameters, "parallel", 1) * (2 if both_ways else 1)


def test_length_s(parameters: JsonObject) -> Optional[float]:
    """Omitted and measured seconds together, or None for a test without a set duration.

    A test by bytes or blocks without `time` comes from iperf3 up to 3.2 and has no duration.
    """
    by_amount = _whole(parameters, "num", 0) > 0 or _whole(parameters, "blockcount", 0) > 0
    time_s = _whole(parameters, "time", 0 if by_amount else _DEFAULT_TIME_S)
    return None if time_s == 0 else float(_whole(parameters, "omit", 0) + time_s)


def _whole(parameters: JsonObject, key: str, default: int) -> int:
    """A count, truncated as iperf3 does and kept in a sane range; `default` if it is no number."""
    number = parameters.get(key)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return default
    return int(min(max(number, 0), _LARGEST))
