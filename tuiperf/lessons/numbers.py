"""The numbers that stand in the lessons' texts, by their names."""

from __future__ import annotations

from math import ceil, log2

from tuiperf.lessons import formulas, words
from tuiperf.lessons.case import Case
from tuiperf.lessons.own import OwnRun
from tuiperf.rules.quantities import counted

START_SEGMENTS = 10
"""A sender's first window, RFC 6928."""


def numbers(case: Case) -> dict[str, str]:
    """All that is known; names that begin with `run_` are there only when the run knew them."""
    small = case.small_window_bytes
    mathis = formulas.mathis_bps(case.mss_bytes, case.rtt_us, case.loss)
    return {
        "rate": words.rate(case.rate_bps),
        "rtt": words.milliseconds(case.rtt_us),
        "bdp": words.size(case.bdp_bytes),
        "goodput": words.rate(case.goodput_bps),
        "goodput_bytes": words.size(case.goodput_bps / 8),
        "window": words.binary_size(small),
        "window_rate": words.rate(formulas.window_bps(small, case.rtt_us)),
        "loss": words.percent(case.loss),
        "mathis": words.rate(mathis),
        "chatty": words.duration(200 * case.rtt_us / 1e6),
        "start_trips": str(start_trips(case)),
        **(_of_run(case.run) if case.run else {}),
    }


def start_trips(case: Case) -> int:
    """Round trips of doubling from the first window to one that fills the path."""
    segments = case.bdp_bytes / case.mss_bytes
    return max(1, ceil(log2(max(1.0, segments / START_SEGMENTS))))


def _of_run(run: OwnRun) -> dict[str, str]:
    known: dict[str, str] = {"run_peer": run.peer, "run_goodput": words.rate(run.goodput_bps)}
    if run.udp:
        return {**known, **_of_datagrams(run)}
    known["run_streams"] = counted(run.streams, "stream")
    if run.retransmits is not None:
        known["run_retransmits"] = counted(run.retransmits, "segment")
        if run.retransmitted_share is not None:
            known["run_loss"] = words.percent(run.retransmitted_share)
    if run.rtt_us:
        known["run_rtt"] = words.milliseconds(run.rtt_us)
        if run.min_rtt_us:
            known["run_min_rtt"] = words.milliseconds(run.min_rtt_us)
            known["run_wait"] = words.milliseconds(run.waited_us or 0.0)
        if run.in_flight_bytes:
            known["run_in_flight"] = words.size(run.in_flight_bytes)
            known["run_window_rate"] = words.rate(
                formulas.window_bps(run.in_flight_bytes, run.rtt_us)
            )
    return known


def _of_datagrams(run: OwnRun) -> dict[str, str]:
    known = {"run_udp_goodput": words.rate(run.goodput_bps)}
    if run.sent_bps:
        known["run_offered"] = words.rate(run.sent_bps)
    if run.lost_share is not None:
        known["run_lost"] = words.percent(run.lost_share)
    if run.jitter_us is not None:
        known["run_jitter"] = words.milliseconds(run.jitter_us)
    return known
