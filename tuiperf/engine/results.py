"""The results that the two ends exchange, as iperf3's JSON (its iperf_api.c, 3.1 to 3.21)."""

from __future__ import annotations

from typing import Any, Optional

from tuiperf.events import Results, StreamResult

from .errors import EngineError

Json = dict[str, Any]


def to_json(results: Results, output: Optional[Json] = None) -> Json:
    """Our results as the peer reads them: every key that any version needs, -1 for "unknown".

    `output` is a server's own report for a client that asked for it, before the streams as iperf3
    has it.
    """
    return {
        "cpu_util_total": results.cpu_total_percent,
        "cpu_util_user": results.cpu_user_percent,
        "cpu_util_system": results.cpu_system_percent,
        "sender_has_retransmits": results.sender_has_retransmits,
        "congestion_used": results.congestion or "unknown",
        **(output or {}),
        "streams": [
            {
                "id": row.stream,
                "bytes": row.bytes,
                "retransmits": -1 if row.retransmits is None else row.retransmits,
                "jitter": row.jitter_s,
                "errors": row.lost_packets,
                "omitted_errors": row.omitted_lost_packets or 0,
                "packets": row.packets,
                "omitted_packets": row.omitted_packets or 0,
                "start_time": row.start_s,
                "end_time": row.end_s or 0.0,
            }
            for row in results.streams
        ],
    }


def from_json(data: Json, t_s: float) -> Results:
    """Read the peer's results leniently. Raises EngineError 117 for what cannot be used at all."""
    known = _lower(data)
    rows = known.get("streams")
    if not isinstance(rows, list):
        raise EngineError(117, "the other side's results hold no streams")
    congestion = known.get("congestion_used")
    return Results(
        t_s=t_s,
        side="remote",
        congestion=congestion if isinstance(congestion, str) and congestion != "unknown" else None,
        cpu_total_percent=_number(known, "cpu_util_total"),
        cpu_user_percent=_number(known, "cpu_util_user"),
        cpu_system_percent=_number(known, "cpu_util_system"),
        sender_has_retransmits=_whole(known, "sender_has_retransmits") or 0,
        streams=tuple(_stream(_lower(row)) for row in rows[:256] if isinstance(row, dict)),
    )


def _stream(row: Json) -> StreamResult:
    stream = _whole(row, "id")
    if stream is None:
        raise EngineError(208, "stream has an invalid id")
    retransmits = _whole(row, "retransmits")
    # iperf3 3.12 and 3.13 print -1 as unsigned, 32 or 64 bits wide.
    unknown = retransmits is None or retransmits < 0 or retransmits == 0xFFFFFFFF
    end_s = _number(row, "end_time")
    return StreamResult(
        stream=stream,
        bytes=max(0, _whole(row, "bytes") or 0),
        retransmits=None if unknown else retransmits,
        start_s=_number(row, "start_time"),
        end_s=end_s if end_s > 0 else None,
        jitter_s=_number(row, "jitter"),
        lost_packets=_whole(row, "errors") or 0,
        packets=_whole(row, "packets") or 0,
        omitted_lost_packets=_whole(row, "omitted_errors"),
        omitted_packets=_whole(row, "omitted_packets"),
    )


def _lower(data: Json) -> Json:
    return {str(key).lower(): value for key, value in data.items()}


def _number(data: Json, key: str) -> float:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if abs(value) < 2**63 else 0.0


def _whole(data: Json, key: str) -> Optional[int]:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not abs(value) < 2**64:
        return None
    value = int(value)
    return value - 2**64 if value >= 2**63 else value
