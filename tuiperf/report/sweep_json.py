"""A sweep as one JSON document: verdicts, steps, RFC 6349's metrics, uses, how it ended."""

from __future__ import annotations

import json
from typing import Any

from tuiperf.sweep.conclude import Best, Conclusion
from tuiperf.sweep.known import Reading
from tuiperf.sweep.state import Row, SweepState

Json = dict[str, Any]


def document(state: SweepState, conclusion: Conclusion, recording: str = "") -> Json:
    """The document; verdicts are as under "diagnosis" in a run's."""
    started, ended = state.started, state.ended
    return {
        "tool": started.tool if started else "",
        "host": state.host,
        "port": state.spec.port if state.spec else None,
        "started_at_s": started.wall_time_s if started else None,
        "limits": started.limits if started else {},
        "verdicts": [each.to_json() for each in conclusion.verdicts],
        "settled": conclusion.settled,
        "exit_code": conclusion.code,
        "steps": [_step(row) for row in state.rows],
        "rfc6349": conclusion.rfc6349,
        "best_parallel": [_best(each) for each in conclusion.best],
        "suitability": {
            use.name: {"level": use.level.value, "text": use.text, "threshold": use.threshold}
            for use in conclusion.uses
        },
        "open_questions": list(conclusion.open),
        "idle": _idle(state),
        "end": {
            "reason": ended.reason if ended else "cut off",
            "text": ended.text if ended else "",
            "seconds": round(state.t_s, 3),
            "bytes": sum(row.done.carried_bytes for row in state.rows if row.done),
        },
        "recording": recording,
    }


def dump(found: Json) -> str:
    """The document as text."""
    return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


def _step(row: Row) -> Json:
    step, done = row.step, row.done
    told: Json = {
        "number": row.number,
        "step": step.kind.value,
        "variant": step.variant,
        "direction": step.way.value,
        "why": step.why,
        "outcomes": list(step.outcomes),
        "most_bytes": step.most_bytes,
        "outcome": done.outcome if done else "cut off",
    }
    if step.test is not None:
        told["parameters"] = step.test.to_parameters("")
        del told["parameters"]["client_version"]
    if done is not None:
        told |= {
            "problem": done.problem,
            "error": done.code,
            "seconds": round(done.lasted_s, 3),
            "bytes": done.carried_bytes,
            "readings": [_reading(each) for each in done.readings],
        }
    return told


def _reading(reading: Reading) -> Json:
    return {
        "direction": reading.way.value,
        "streams": reading.streams,
        "congestion": reading.congestion,
        "bits_per_second": _whole(reading.goodput_bps),
        "whole_mean_bits_per_second": _whole(reading.whole_bps),
        "min_rtt_us": _whole(reading.min_rtt_us),
        "loaded_rtt_us": _whole(reading.rtt_us),
        "lost_share": reading.lost_share,
        "lost_packets": reading.lost_packets,
        "jitter_s": reading.jitter_s,
        "late_packets": reading.late_packets,
        "duplicates": reading.duplicates,
        "granted": list(reading.granted),
        "verdicts": [each.to_json() for each in reading.verdicts],
    }


def _idle(state: SweepState) -> Json:
    idle = state.idle
    if idle is None:
        return {}
    return {
        "address": idle.address,
        "device": idle.device,
        "method": idle.method,
        "rtts_us": list(idle.rtts_us),
        "lost_share": idle.lost_share,
        "path_mtu_bytes": idle.path_mtu_bytes,
        "findings": [each.to_json() for each in idle.findings],
    }


def _best(best: Best) -> Json:
    return {
        "direction": best.way.value,
        "parallel": best.streams,
        "bits_per_second": _whole(best.goodput_bps),
        "tried": {str(count): _whole(bps) for count, bps in best.tried},
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
