"""The facts that TCP_INFO tells of a flow's streams: what its sender does, what its receiver sees.

Each function gives fields of Facts by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from tuiperf.session import Session, Tick

from . import host, motion
from .series import Series, counter, grown, median_of, ratio, sum_known, total


def sending(ticks: Sequence[Tick], series: list[Series]) -> dict[str, Any]:
    """Windows, buffers and what is under way, at the sender."""
    windows = [t.snd_wnd_bytes for t in ticks if t.snd_wnd_bytes is not None]
    flights = [t.in_flight_bytes for t in ticks if t.in_flight_bytes is not None]
    busy = grown(series, "busy_time_us")
    return {
        "mss_bytes": _mss(series),
        "cwnd_bytes": median_of([t.cwnd_bytes for t in ticks if t.cwnd_bytes is not None]),
        "snd_wnd_bytes": median_of(windows),
        "snd_wnd_spread": _spread(windows),
        "in_flight_bytes": median_of(flights),
        "window_used": _median_used((t.in_flight_bytes, t.snd_wnd_bytes) for t in ticks),
        "cwnd_used": _median_used((t.in_flight_bytes, t.cwnd_bytes) for t in ticks),
        "rwnd_limited_share": ratio(grown(series, "rwnd_limited_us"), busy),
        "sndbuf_limited_share": ratio(grown(series, "sndbuf_limited_us"), busy),
        "delivery_rate_bps": _delivery_rate(series),
        "idle_share": _idle_share(series),
    }


def _delivery_rate(series: list[Series]) -> float | None:
    rates = [median_of(each.values("delivery_rate_bytes_per_s")) for each in series]
    total = sum_known(rates)
    return total * 8.0 if total is not None else None


def _median_used(pairs: Iterable[tuple[int | None, int | None]]) -> float | None:
    return median_of([used / whole for used, whole in pairs if used is not None and whole])


def _mss(series: list[Series]) -> int | None:
    for name in ("snd_mss_bytes", "rcv_mss_bytes"):
        known = [counter(each.last, name) or 0 for each in series]
        if max(known, default=0):
            return max(known)
    return None


def _idle_share(series: list[Series]) -> float | None:
    idle = []
    for sample in (sample for each in series for sample in each.between):
        notsent = counter(sample.tcp, "notsent_bytes")
        mss = counter(sample.tcp, "snd_mss_bytes")
        if notsent is not None and mss:
            idle.append(notsent < mss)
    return sum(idle) / len(idle) if idle else None


def _spread(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    return ratio(ordered[len(ordered) // 10], ordered[len(ordered) * 9 // 10]) if ordered else None


def losses(ticks: Sequence[Tick], series: list[Series]) -> dict[str, Any]:
    """What the sender counts of losses, duplicates and reordering."""
    known = [tick.retransmits for tick in ticks if tick.retransmits is not None]
    losing = sum(count > 0 for count in known)
    return {
        "retransmits": sum(known) if known else None,
        "retransmits_total": total(series, "total_retrans_packets"),
        "retransmitted_share": ratio(
            grown(series, "bytes_retrans_bytes"), grown(series, "bytes_sent_bytes")
        ),
        "loss_samples": losing if known else None,
        "loss_spread": losing / len(known) if known else None,
        "timeouts": total(series, "total_rto_events"),
        "dsack_dups": total(series, "dsack_dups_packets"),
        "unasked_dups": sum_known(map(_unasked_duplicates, series)),
        "reord_seen": grown(series, "reord_seen_events"),
    }


def _unasked_duplicates(series: Series) -> int | None:
    rows = [
        (sample.test_s, retransmits, duplicates)
        for sample in series.every
        if (retransmits := counter(sample.tcp, "total_retrans_packets")) is not None
        and (duplicates := counter(sample.tcp, "dsack_dups_packets")) is not None
    ]
    if not rows:
        return None
    times_s, retransmits_seen, duplicates_seen = zip(*rows, strict=True)
    return motion.unasked_duplicates(times_s, retransmits_seen, duplicates_seen)


def marks(session: Session, series: list[Series], here_sends: bool) -> dict[str, Any]:
    """ECN marks since the test began: a sender hears of them, a receiver's kernel counts them."""
    if not here_sends:
        known = [host.grown(session, "tcp.InCEPkts")]
        known += [counter(each.last, "received_ce_packets") for each in series]
        counts = [count for count in known if count is not None]
        return {"marked": max(counts, default=None), "marked_share": None}
    marked = total(series, "delivered_ce_packets")
    delivered = total(series, "delivered_packets")
    return {"marked": marked, "marked_share": ratio(marked, delivered)}


_OPTIONS = (
    ("timestamps", "timestamps"),
    ("sack", "selective acknowledgements"),
    ("wscale", "window scaling"),
)


def absent_options(series: list[Series]) -> tuple[str, ...]:
    """Options that every Linux of today offers, and that the handshake did not end with."""
    last = [each.last for each in series if each.last]
    return tuple(
        words for name, words in _OPTIONS if any(counter(info, name) == 0 for info in last)
    )


def receiving(series: list[Series]) -> dict[str, Any]:
    """What the receiver counts: its window, what waits unread, and packets out of order."""
    windows = [median_of(each.values("rcv_ssthresh_bytes")) for each in series]
    unread = [
        median_of([s.unread_bytes for s in each.between if s.unread_bytes is not None])
        for each in series
    ]
    ooo = [each.values("rcv_ooopack_packets") for each in series]
    grew = [sum(after > before for before, after in pairwise(each)) for each in ooo]
    halves = [each[len(each) // 2 :] for each in ooo]
    late = [sum(after > before for before, after in pairwise(each)) for each in halves]
    return {
        "rcv_window_bytes": sum_known(windows),
        "unread_bytes": sum_known(unread),
        "out_of_order": grown(series, "rcv_ooopack_packets"),
        "out_of_order_total": total(series, "rcv_ooopack_packets"),
        "out_of_order_samples": max(grew) if any(ooo) else None,
        "data_gap_us": _data_gap(series),
        "received_segments": grown(series, "data_segs_in_packets"),
        "out_of_order_late": max(late) if any(ooo) else None,
        "out_of_order_spread": ratio(max(grew), max(map(len, ooo)) - 1) if any(ooo) else None,
    }


def _data_gap(series: list[Series]) -> float | None:
    """The shortest of the streams': one that is busy keeps the path busy."""
    gaps = [median_of(each.values("last_data_recv_ms")) for each in series]
    known = [gap for gap in gaps if gap is not None]
    return 1000.0 * min(known) if known else None
