"""The numbers that the rules read, derived from a session for one direction of a test.

All of them are about the steady part: what follows the omitted part and the warm-up. None means
"not known".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, NamedTuple

from tuiperf.session import Direction, Flow, Phase, Session, Stream, Tick

from . import host, motion, tcp
from .motion import Motion
from .series import LARGEST, Series, counter, median_of, ratio, sum_known, values_of

WARMUP_S = 1.0
WARMUP_RTTS = 15  # slow start from 10 segments to 1 Gbit/s at 200 ms takes 11; measured: 2.1 s
WARMUP_SHARE = 0.25
"""The warm-up grows with the test so that its traces fade, up to this share of it, and by steps:
it doubles when the test has, so a verdict does not change because the part judged slides."""

MATHIS_C = 1.22  # sqrt(3/2), Mathis et al. 1997, eq. 3, for one acknowledgement a segment
MODEL_BASED = "bbr"  # congestion controls whose name begins so pace by a model of the path
DATA_LEAST_BYTES = 536  # a packet's worth: the cookie that opens a stream is 37 bytes


@dataclass(frozen=True)
class Facts:
    """What one direction of a test showed. Sums are over its streams, medians over its samples."""

    direction: Direction
    words: str  # the direction in words, "here → HOST"
    peer: str
    here_sends: bool
    streams: int
    family: int  # of IP, 4 or 6
    over: bool  # the test's data has ended
    same_host: bool  # both ends have the same address

    omit_s: float  # -O
    elapsed_s: float  # since the omitted part ended
    steady_s: float
    goodput_bps: float | None
    whole_bps: float | None  # the mean since the omitted part, the warm-up included
    growth: float | None  # goodput of the steady part's second half over its first half
    motion: Motion  # of the steady part
    delivered_any: bool  # a full packet, since the test began

    min_rtt_us: float | None  # of the session, the handshake included
    rtt_us: float | None  # median under load
    rttvar_us: float | None  # the sender's smoothed deviation, median
    peak_rtt_us: float | None  # the warm-up included
    loss_rtt_us: float | None  # median just before and at a retransmission

    mss_bytes: int | None
    cwnd_bytes: float | None
    snd_wnd_bytes: float | None
    snd_wnd_spread: float | None  # its 10th over its 90th percentile; 1 is steady
    in_flight_bytes: float | None
    window_used: float | None  # in flight over snd_wnd
    cwnd_used: float | None  # in flight over cwnd
    rwnd_limited_share: float | None  # of the time the sender was busy, tcpi_rwnd_limited
    sndbuf_limited_share: float | None  # tcpi_sndbuf_limited
    delivery_rate_bps: float | None  # tcpi_delivery_rate, median
    idle_share: float | None  # samples with less than a segment left to send

    retransmits: int | None  # packets, steady part
    retransmits_total: int | None  # packets, from the beginning on
    retransmitted_share: float | None  # of the bytes sent, steady part
    loss_samples: int | None  # samples with retransmissions
    loss_spread: float | None  # their share of the samples
    timeouts: int | None  # tcpi_total_rto, from the beginning on
    dsack_dups: int | None
    unasked_dups: int | None  # reported where nothing had been sent again
    reord_seen: int | None
    marked_share: float | None  # of the packets delivered, with an ECN mark
    marked: int | None
    absent_options: tuple[str, ...]  # of TCP, which the two ends did not agree on

    rcv_window_bytes: float | None  # what we can offer, tcpi_rcv_ssthresh
    unread_bytes: float | None
    out_of_order: int | None  # tcpi_rcv_ooopack, steady part
    out_of_order_total: int | None
    out_of_order_spread: float | None  # share of the samples in which it grew
    out_of_order_samples: int | None
    out_of_order_late: int | None  # such samples in the second half of the steady part
    data_gap_us: float | None  # since the last data came, median of the samples (last_data_recv)
    received_segments: int | None  # tcpi_data_segs_in, steady part: merged ones count once
    far_retransmits: int | None  # the far sender's, of the whole test, known at its end
    far_retransmitted_share: float | None

    wmem_most_bytes: int | None  # of this host, tcp_wmem's third number
    duplicates_received: int | None  # DSACKs this host sent over the test
    link_bps: float | None  # of this end's physical link
    link_duplex: str | None
    link_class: str | None
    link_damage: tuple[tuple[str, int], ...]  # its error counters that grew, and by how much

    received_drops: tuple[tuple[str, int], ...]  # where this host lost packets, and how many
    sent_drops: tuple[tuple[str, int], ...]
    squeezed: int | None  # times a core had no time left for what it had received
    steal_share: float | None  # of its time, the core that the hypervisor kept waiting most
    softirq_share: float | None  # of its time, the core busiest with packets, what was stolen added

    congestion: str | None  # of the sender
    window_asked_bytes: int  # -w
    send_buffer_bytes: float | None  # what a buffer set with -w can keep in flight here
    rate_asked_bps: int  # -b and --fq-rate, all streams; 0 when not asked
    worker_share: float | None  # of a core, the busiest worker here
    worker_wait_share: float | None
    far_cpu_share: float | None  # the far end's, known when the results are in

    @property
    def scatter(self) -> float | None:
        """Coefficient of variation of the goodput in half seconds."""
        return self.motion.scatter

    @property
    def longest_pause_s(self) -> float:
        """The longest time without a byte delivered, in the steady part."""
        return max(self.motion.pauses_s, default=0.0)

    @property
    def waited_us(self) -> float:
        """RTT under load over the minimum: what a queue adds."""
        return max(0.0, (self.rtt_us or 0.0) - (self.min_rtt_us or self.rtt_us or 0.0))

    @property
    def bdp_bytes(self) -> float | None:
        """The path's content at this goodput: goodput times minimum RTT."""
        if self.goodput_bps is None or not self.min_rtt_us:
            return None
        return self.goodput_bps * self.min_rtt_us / 8e6

    @property
    def inflation(self) -> float | None:
        """RTT under load over the minimum; 1 means that no queue has built."""
        return ratio(self.rtt_us, self.min_rtt_us)

    @property
    def loss_inflation(self) -> float | None:
        """RTT at the losses over the minimum: an overflowing queue doubles it, a bad cable not."""
        return ratio(self.loss_rtt_us, self.min_rtt_us)

    @property
    def lost_at_once(self) -> float | None:
        """Packets sent again in each sample that had any."""
        return ratio(self.retransmits, self.loss_samples)

    @property
    def loss_based(self) -> bool | None:
        """True for cubic and its like, which slow down at a loss; False for BBR, which does not."""
        return not self.congestion.startswith(MODEL_BASED) if self.congestion else None

    @property
    def mathis_bps(self) -> float | None:
        """What a loss-based sender reaches at this loss and RTT: MSS/RTT * 1.22/sqrt(p)."""
        if not self.retransmitted_share or not self.rtt_us or not self.mss_bytes:
            return None
        per_stream = self.mss_bytes * 8e6 / self.rtt_us * MATHIS_C
        return self.streams * per_stream / sqrt(self.retransmitted_share)

    @property
    def mathis_ratio(self) -> float | None:
        return ratio(self.goodput_bps, self.mathis_bps)


def derive(session: Session) -> list[Facts]:
    """The facts of each direction that has streams, the forward one first."""
    flows = sorted(session.flows.items(), key=lambda pair: pair[0] is not Direction.FORWARD)
    return [_facts(session, direction, flow) for direction, flow in flows]


def warmup_s(test_s: float, min_rtt_us: float | None) -> float:
    """How much of the data's beginning is left out after `test_s` seconds of it."""
    share_s = WARMUP_S
    while share_s * 2 <= WARMUP_SHARE * test_s:
        share_s *= 2
    return max(share_s, WARMUP_RTTS * (min_rtt_us or 0.0) / 1e6)


class _Steady(NamedTuple):
    """Where the steady part lies, and the ticks in it."""

    begin_s: float
    omit_s: float
    elapsed_s: float
    all_ticks: list[Tick]
    ticks: list[Tick]


def _steady(session: Session, flow: Flow, min_rtt_us: int | None) -> _Steady:
    ticks = list(flow.ticks)
    omit_s = float(session.test.omit_s) if session.test else 0.0
    last_s = ticks[-1].test_s if ticks else 0.0
    elapsed_s = max(0.0, last_s - omit_s)
    begin_s = max(omit_s, warmup_s(last_s, min_rtt_us))
    first = bisect_left(ticks, begin_s, key=lambda tick: tick.test_s - tick.span_s + 1e-6)
    return _Steady(begin_s, omit_s, elapsed_s, ticks, ticks[first:])


def _facts(session: Session, direction: Direction, flow: Flow) -> Facts:
    streams = session.streams_of(direction)
    min_rtt_us = _min_rtt_us(flow, streams)
    part = _steady(session, flow, min_rtt_us)
    here_sends = (direction is Direction.FORWARD) == (session.role == "client")
    series = [Series.of(stream, part.begin_s, len(streams)) for stream in streams]
    return Facts(
        direction=direction,
        words=session.words(direction),
        peer=session.peer,
        here_sends=here_sends,
        streams=max(1, len(streams)),
        family=6 if session.connection and ":" in session.connection.remote_host else 4,
        over=session.phase in (Phase.FINISHING, Phase.ENDED),
        same_host=_same_host(session),
        **_pace(part if here_sends else _with_received_rtt(part, series)),
        min_rtt_us=min_rtt_us,
        **_delay(part, series, here_sends),
        **tcp.sending(part.ticks, series),
        **tcp.losses(part.ticks, series),
        **tcp.marks(session, series, here_sends),
        absent_options=tcp.absent_options(series),
        **tcp.receiving(series),
        **host.of(session),
        **_settings(session, here_sends, part.begin_s),
        **_far_sender(session, direction, here_sends),
    )


def _with_received_rtt(part: _Steady, series: list[Series]) -> _Steady:
    """Where we receive, the ticks' RTT is what our kernel estimates (tcpi_rcv_rtt)."""
    known: dict[float, list[int]] = {}
    for sample in (sample for each in series for sample in each.every):
        value = counter(sample.tcp, "rcv_rtt_us")
        if value:
            known.setdefault(sample.test_s, []).append(value)
    mean = {test_s: sum(values) / len(values) for test_s, values in known.items()}
    ticks = [tick._replace(rtt_us=mean.get(tick.test_s)) for tick in part.ticks]
    return part._replace(ticks=ticks)


def _pace(part: _Steady) -> dict[str, Any]:
    ticks = part.ticks
    steady_s = sum(tick.span_s for tick in ticks)
    half = len(ticks) // 2
    early, late = _mean_bps(ticks[:half]), _mean_bps(ticks[half:])
    measured = [tick for tick in part.all_ticks if tick.test_s - tick.span_s >= part.omit_s - 1e-6]
    return {
        "omit_s": part.omit_s,
        "elapsed_s": part.elapsed_s,
        "steady_s": steady_s,
        "goodput_bps": _mean_bps(ticks),
        "whole_bps": _mean_bps(measured),
        "growth": ratio(late, early) if half else None,
        "motion": motion.of(ticks),
        "delivered_any": _carried_bytes(part.all_ticks) >= DATA_LEAST_BYTES,
    }


def _carried_bytes(ticks: Sequence[Tick]) -> float:
    return sum(tick.goodput_bps * tick.span_s for tick in ticks) / 8


def _mean_bps(ticks: Sequence[Tick]) -> float | None:
    span_s = sum(tick.span_s for tick in ticks)
    bits = sum(tick.goodput_bps * tick.span_s for tick in ticks)
    return bits / span_s if span_s > 0 and isfinite(bits) else None


def _min_rtt_us(flow: Flow, streams: list[Stream]) -> int | None:
    """The session's minimum: the kernel's own forgets after five minutes (tcp_min_rtt_wlen)."""
    newest = [stream.latest.tcp for stream in streams if stream.latest]
    known = [value for info in newest if (value := counter(info, "min_rtt_us"))]
    return min([*known, *([flow.min_rtt_us] if flow.min_rtt_us else [])], default=None)


def _delay(part: _Steady, series: list[Series], here_sends: bool) -> dict[str, Any]:
    if here_sends:
        loaded = [tick.rtt_us for tick in part.ticks if tick.rtt_us]
        whole = [tick.rtt_us for tick in part.all_ticks if tick.rtt_us]
    else:
        loaded = [value for each in series for value in each.values("rcv_rtt_us") if value]
        early = [each.warmup for each in series]
        whole = loaded + [value for each in early for value in values_of(each, "rcv_rtt_us")]
    deviations = [value for each in series for value in each.values("rttvar_us") if here_sends]
    return {
        "rtt_us": median_of(loaded),
        "rttvar_us": median_of(deviations),
        "peak_rtt_us": max(whole, default=None),
        "loss_rtt_us": _loss_rtt(part.ticks),
    }


def _loss_rtt(ticks: Sequence[Tick]) -> float | None:
    at_loss = []
    before: float | None = None
    for tick in ticks:
        if tick.retransmits and tick.rtt_us:
            at_loss.append(max(tick.rtt_us, before or 0.0))
        before = tick.rtt_us
    return median_of(at_loss)


def _settings(session: Session, here_sends: bool, begin_s: float) -> dict[str, Any]:
    test = session.test
    hosts = [host for host in session.hosts if host.test_s >= begin_s] or list(session.hosts)
    waits = [host.busiest_wait_share for host in hosts if host.busiest_wait_share is not None]
    streams = test.parallel if test else 1
    rates = [rate for rate in (test.rate_bps, test.fq_rate_bps) if rate] if test else []
    return {
        "congestion": _congestion(session, here_sends),
        "window_asked_bytes": test.window_bytes if test else 0,
        "send_buffer_bytes": _send_buffer(session, streams),
        "rate_asked_bps": min(rates) * streams if rates else 0,
        "worker_share": median_of([host.busiest_worker_share for host in hosts]),
        "worker_wait_share": median_of(waits),
        "far_cpu_share": session.remote.cpu_total_percent / 100 if session.remote else None,
    }


def _send_buffer(session: Session, streams: int) -> float | None:
    for option in session.options:
        if option.name == "send_buffer" and option.asked and isinstance(option.effective, int):
            return float(min(option.effective, LARGEST)) * streams
    return None


def _far_sender(session: Session, direction: Direction, here_sends: bool) -> dict[str, Any]:
    """What the far end told of its sending, when its results are in."""
    ids = {each.opened.stream for each in session.streams_of(direction)}
    rows = session.remote.streams if session.remote and not here_sends else ()
    rows = tuple(row for row in rows if row.stream in ids)
    count = sum_known(row.retransmits for row in rows)
    mss = next((each for each in map(_stream_mss, session.streams_of(direction)) if each), None)
    sent = sum(row.bytes for row in rows)
    return {
        "far_retransmits": count,
        "far_retransmitted_share": ratio(count * mss, sent) if count is not None and mss else None,
    }


def _stream_mss(stream: Stream) -> int | None:
    return counter(stream.latest.tcp if stream.latest else None, "rcv_mss_bytes")


def _same_host(session: Session) -> bool:
    ends = session.connection
    return ends is not None and ends.local_host == ends.remote_host


def _congestion(session: Session, here_sends: bool) -> str | None:
    """The sender's congestion control: what it reported, what we read back, or what was asked."""
    results = session.local if here_sends else session.remote
    if results is not None and results.congestion:
        return results.congestion
    if here_sends:
        for option in session.options:
            if option.name == "congestion" and isinstance(option.effective, str):
                return option.effective
    return (session.test.congestion or None) if session.test else None
