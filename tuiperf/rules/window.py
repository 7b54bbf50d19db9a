"""`window-limited`: one connection may not keep enough in flight to fill the path.

A sender stops when the receiver's window is full (side `receiver`), or when its own send buffer is
(side `sender`). The side is `either` where -w set both ends' buffers alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite

from . import signs
from .facts import Facts
from .quantities import line_rate, milliseconds, option_bytes, option_size, percent, rate, size
from .verdict import Confidence, Level, Verdict

RWND_SHARE = {True: 0.5, False: 0.2, None: 0.5}
"""tcpi_rwnd_limited over busy time at which the receiver's window is the limit, by `loss_based`.
Measured: 0.83 to 0.87 with cubic, 0.31 to 0.53 with BBR, whose pacing shares the time; elsewhere
at most 0.02 but for full queues, busy CPUs and slow start, which are ruled out first."""
SNDBUF_SHARE = {True: 0.4, False: 0.15, None: 0.4}
"""The same for tcpi_sndbuf_limited. Measured: 0.80 to 0.89 and 0.23 to 0.73; elsewhere 0.27."""
WINDOW_USED = 0.95  # in flight over snd_wnd; measured 0.996 to 1.01, elsewhere at most 0.69
OWN_WINDOW_USED = 0.75  # goodput * RTT over rcv_ssthresh; measured 0.92 to 0.99, else at most 0.52
BUFFER_USED = 0.85  # in flight over what -w's buffer holds; measured 0.94
OWN_BUFFER_USED = 0.55
"""In flight over tcp_wmem's largest size, where the system chose the buffer; measured 0.67 to 0.76
where it limits, 0.43 where the program pauses longer than the buffer lasts."""
CWND_SPARE = 0.9  # of the cwnd in use at most: with more, the network is what limits
LOSS_MOST = {True: 1e-4, False: 5e-4, None: 1e-4}
"""Share of the bytes sent again up to which a window, and not loss, is the limit."""
READER_RTTVAR, READER_RTTVAR_ALONE, READER_RTTVAR_US = 0.2, 0.3, 5000.0
"""rttvar over RTT: a reader that pauses holds acknowledgements back; measured 0.22 to 1.1, path
jitter 0.05. From the second value on it needs no full window."""
SHORT_WAIT_US = 500.0  # less than this is the hosts' own, whatever share of a short RTT it is
READER_WINDOW_USED = 0.85  # measured 0.89 to 1.01
READER_LOSS_MOST = 5e-3  # measured 0.0035; the window alone tells only below the next
READER_SPREAD_LOSS = 1e-3  # lossy paths let windows vary as well
READER_CWND_USED = 0.2  # measured 0.08 for a reader at 80 Mbit/s, 0.31 and more for small buffers
READER_SPREAD = 0.6  # 10th over 90th percentile of snd_wnd; a small buffer offers a steady one

BURST_IDLE = 0.5  # measured 0.6 and more
BURST_INFLATION = 2.5
BURST_USED = (0.5, 1.1)
"""goodput * RTT over tcp_wmem's largest size; measured 0.66 to 0.96, an idle sender's 0.12."""

QUIET_INFLATION = 1.08  # inferred side: measured at most 1.03 where a send buffer limits
QUIET_PEAK = 1.15  # measured at most 1.06, and 1.22 and more where the path was ever full
QUIET_SCATTER = 0.08
QUIET_LEAST_S = 3.0
QUIET_LEAST_RTT_US = 5000.0
STALL_US, STALL_RTTS, STALL_LOST, STALL_SPREAD = 20_000.0, 10, 2e-3, 0.1
"""No data for so long most times one looks, many RTTs: no congestion control waits longer than one.
Few losses at most: else it may be a retransmission timer that is waited for."""

TARGETS_BPS = (1e9, 1e10, 1e11)
TARGET_ABOVE = 1.2
MOST_STREAMS = 16
BUFFER_PER_WINDOW = 1.5
"""The kernel takes a third of a buffer for its own bookkeeping: measured 0.65 to 0.70 usable."""
MOST_OPTION_BYTES = 512 << 20  # iperf3's MAX_TCP_BUFFER


@dataclass(frozen=True)
class Limit:
    """What is full: on which side, how much it holds, and the signs of it."""

    side: str
    window_bytes: float
    confidence: Confidence
    signs: tuple[str, ...]


def judge(facts: Facts) -> Verdict | None:
    """Window-limited, or None. Never while a queue is built: then the path is full."""
    limit = _limit(facts)
    if limit is None or facts.rtt_us is None or facts.goodput_bps is None:
        return None
    return _verdict(facts, limit, facts.rtt_us, facts.goodput_bps)


def slow_reader(facts: Facts) -> bool:
    """The receiver's window is full because its program does not read, not because it is small."""
    share, used = facts.rwnd_limited_share, facts.window_used
    if not facts.here_sends or share is None or used is None:
        return False
    share_lost = facts.retransmitted_share or 0.0
    if share_lost > READER_LOSS_MOST:
        return False
    if _held_back(facts, READER_RTTVAR_ALONE):
        return True
    if share < RWND_SHARE[facts.loss_based] or used < READER_WINDOW_USED:
        return False
    spread, cwnd_used = facts.snd_wnd_spread, facts.cwnd_used
    if spread is not None and spread < READER_SPREAD and share_lost <= READER_SPREAD_LOSS:
        return True
    if _held_back(facts, READER_RTTVAR):
        return True
    plain = signs.rtt_flat(facts) and used >= WINDOW_USED
    return plain and cwnd_used is not None and cwnd_used < READER_CWND_USED


def _held_back(facts: Facts, share: float) -> bool:
    """Acknowledgements come so unevenly as no path makes them."""
    varies_us, rtt_us = facts.rttvar_us or 0.0, facts.rtt_us or 0.0
    return varies_us >= READER_RTTVAR_US and varies_us >= share * rtt_us


def _limit(facts: Facts) -> Limit | None:
    if facts.here_sends and (burst := _known_buffer(facts)):
        return burst
    if signs.comes_in_bursts(facts) and signs.network_judged(facts):
        return _own_window(facts) or _far_sender(facts)
    if not _comparable(facts):
        return None
    if facts.here_sends:
        return _receiver(facts) or _own_buffer(facts)
    return _own_window(facts) or _far_sender(facts)


def _comparable(facts: Facts) -> bool:
    flat = signs.rtt_flat(facts) or facts.waited_us < SHORT_WAIT_US
    if not flat or not signs.network_judged(facts) or signs.at_line_rate(facts):
        return False
    if (facts.min_rtt_us or 0.0) < signs.SHORT_RTT_US and not facts.window_asked_bytes:
        return False
    return (facts.retransmitted_share or 0.0) < LOSS_MOST[facts.loss_based]


def _peer_window_full(facts: Facts) -> bool:
    share, used = facts.rwnd_limited_share, facts.window_used
    if share is None or used is None:
        return False
    return share >= RWND_SHARE[facts.loss_based] and used >= WINDOW_USED


def _receiver(facts: Facts) -> Limit | None:
    if not _peer_window_full(facts) or slow_reader(facts) or not _cwnd_spare(facts):
        return None
    share = facts.rwnd_limited_share or 0.0
    sure = share >= 1.5 * RWND_SHARE[facts.loss_based] and not facts.retransmits
    return Limit(
        _side(facts, "receiver"),
        facts.snd_wnd_bytes or 0.0,
        Confidence.HIGH if sure else Confidence.MEDIUM,
        (
            f"the sender waited for the receiver's window in {percent(share)} of its busy time "
            "(tcpi_rwnd_limited)",
            f"{percent(min(1.0, facts.window_used or 0.0))} of that window was in flight "
            "(tcpi_unacked)",
        ),
    )


def _own_buffer(facts: Facts) -> Limit | None:
    share, flight = facts.sndbuf_limited_share, facts.in_flight_bytes
    if share is None or not flight or not _cwnd_spare(facts):
        return None
    holds = facts.send_buffer_bytes
    if holds and flight >= BUFFER_USED * holds and share < SNDBUF_SHARE[facts.loss_based]:
        sign = f"{size(flight)} in flight is what the buffer set with -w holds ({size(holds)})"
        return Limit("either", flight, Confidence.MEDIUM, (sign,))
    if share < SNDBUF_SHARE[facts.loss_based] or buffer_spare(facts):
        return None
    sure = share >= 1.5 * SNDBUF_SHARE[facts.loss_based] and not facts.retransmits
    return Limit(
        _side(facts, "sender"),
        flight,
        Confidence.HIGH if sure else Confidence.MEDIUM,
        (
            f"the send buffer was full in {percent(share)} of the sender's busy time "
            "(tcpi_sndbuf_limited)",
            f"only {percent(facts.window_used or 0.0)} of the receiver's window was in flight",
        ),
    )


def buffer_spare(facts: Facts) -> bool:
    """This host's send buffer could hold much more than is under way."""
    most, flight = facts.wmem_most_bytes, facts.in_flight_bytes
    if not most or flight is None or facts.window_asked_bytes:
        return False
    return flight < OWN_BUFFER_USED * most * facts.streams


def _known_buffer(facts: Facts) -> Limit | None:
    """Nothing is ever left to send, and on its way is just what this host's tcp_wmem holds.

    Without pacing the kernel does not count this as limited by the buffer: all of it leaves in one
    burst, which may even fill a short queue.
    """
    most, flight = facts.wmem_most_bytes, facts.bdp_bytes
    if not most or not flight or facts.window_asked_bytes or not signs.network_judged(facts):
        return None
    if (facts.idle_share or 0.0) < BURST_IDLE or (facts.inflation or 9.0) > BURST_INFLATION:
        return None
    if not _cwnd_spare(facts) or signs.at_line_rate(facts):
        return None
    used = flight / (most * facts.streams)
    if not BURST_USED[0] <= used <= BURST_USED[1]:
        return None
    return Limit(
        _side(facts, "sender"),
        flight,
        Confidence.HIGH if signs.rtt_flat(facts) else Confidence.MEDIUM,
        (
            f"in {percent(facts.idle_share or 0.0)} of the samples nothing was left to send: the "
            "send buffer is empty as soon as it is full (tcpi_notsent_bytes)",
            f"goodput * RTT is {percent(used)} of this host's largest send buffer, "
            f"{size(most)} (net.ipv4.tcp_wmem)",
        ),
    )


def _cwnd_spare(facts: Facts) -> bool:
    return facts.cwnd_used is not None and facts.cwnd_used <= CWND_SPARE


def _own_window(facts: Facts) -> Limit | None:
    """We receive: what is in flight must be read from goodput and RTT."""
    window, flight = facts.rcv_window_bytes, facts.bdp_bytes
    if not window or flight is None or facts.out_of_order:
        return None
    used = flight / window
    if used < OWN_WINDOW_USED or (facts.unread_bytes or 0.0) > 0.1 * window:
        return None
    return Limit(
        _side(facts, "receiver"),
        window,
        Confidence.MEDIUM,
        (
            f"goodput times RTT is {percent(used)} of the window this host offers "
            "(tcpi_rcv_ssthresh)",
            "nothing waits unread in this host's receive buffer",
        ),
    )


def _far_sender(facts: Facts) -> Limit | None:
    """We receive and see no limit at all: the far end holds back. Only inferred."""
    if facts.bdp_bytes is None or facts.marked or facts.rate_asked_bps:
        return None  # marks: the path itself slows the sender down
    if signs.comes_in_bursts(facts):
        return _far_bursts(facts, facts.bdp_bytes)
    if facts.out_of_order_total != 0 or facts.far_retransmits:
        return None
    quiet = (
        (facts.inflation or 2.0) < QUIET_INFLATION
        and (facts.peak_rtt_us or 0.0) < QUIET_PEAK * (facts.min_rtt_us or 0.0)
        and facts.scatter is not None
        and facts.scatter < QUIET_SCATTER
    )
    long_enough = (
        facts.steady_s >= QUIET_LEAST_S and (facts.min_rtt_us or 0.0) >= QUIET_LEAST_RTT_US
    )
    if not quiet or not long_enough:
        return None
    return Limit(
        _side(facts, "sender"),
        facts.bdp_bytes,
        Confidence.LOW,
        (
            "inferred from this end: nothing came out of order, no queue ever built "
            "and this host's window was not full, so the far sender holds back",
        ),
    )


def _far_bursts(facts: Facts, flight: float) -> Limit | None:
    """Data comes in bursts, and nothing gets lost any more: the far end pauses."""
    if _stalls(facts):
        return _pausing(facts, flight)
    if facts.out_of_order or facts.scatter is None or facts.scatter >= QUIET_SCATTER:
        return None
    if facts.steady_s < QUIET_LEAST_S or (facts.loss_based and facts.out_of_order_total):
        return None  # a loss-based sender that has lost something sends its small cwnd in bursts
    return _pausing(facts, flight)


def _stalls(facts: Facts) -> bool:
    """The pauses are many RTTs long, which no window explains, and hardly anything gets lost."""
    gap_us, least_us = facts.data_gap_us or 0.0, facts.min_rtt_us or 0.0
    if not least_us or gap_us < max(STALL_US, STALL_RTTS * least_us):
        return False
    if facts.far_retransmitted_share is None or facts.steady_s < QUIET_LEAST_S:
        return False
    return (
        facts.far_retransmitted_share < STALL_LOST
        and (facts.out_of_order_spread or 0.0) < STALL_SPREAD
    )


def _pausing(facts: Facts, flight: float) -> Limit:
    gap = milliseconds(facts.data_gap_us or 0.0)
    return Limit(
        _side(facts, "sender"),
        flight,
        Confidence.LOW,
        (
            f"inferred from this end: data comes in bursts, {gap} without any in between, and "
            "losses do not explain it, so the far sender, its buffer or its program holds back",
        ),
    )


def _side(facts: Facts, measured: str) -> str:
    return "either" if facts.window_asked_bytes else measured


def _verdict(facts: Facts, limit: Limit, rtt_us: float, goodput_bps: float) -> Verdict:
    capped_bps = limit.window_bytes * 8e6 / rtt_us
    window = f"{size(limit.window_bytes)} in flight per {milliseconds(rtt_us)} of RTT"
    return Verdict(
        id="window-limited",
        level=Level.LOOK,
        confidence=limit.confidence,
        title=_title(limit),
        short=f"{size(limit.window_bytes)} per {milliseconds(rtt_us)}",
        claim=f"{facts.words}: {_subject(facts, limit)} the speed to {rate(goodput_bps)}.",
        because=(
            f"{window} is {rate(capped_bps)}; measured: {rate(goodput_bps)}",
            *limit.signs,
        ),
        ruled_out=_ruled_out(facts),
        next=_advice(facts, limit, rtt_us),
        qualifier=(("side", limit.side),),
        explanation=_explanation(facts, limit, rtt_us),
    )


def _title(limit: Limit) -> str:
    if limit.confidence is Confidence.LOW:
        return "Sender holds back"
    return "Send buffer small" if limit.side == "sender" else "Window too small"


def _subject(facts: Facts, limit: Limit) -> str:
    if limit.side == "either":
        return f"the window set with -w {option_size(facts.window_asked_bytes)} limits"
    what = "send buffer" if limit.side == "sender" else "receive window"
    seems = "seems to limit" if limit.confidence is Confidence.LOW else "limits"
    return f"the {what} of {_owner(facts, limit.side)} {seems}"


def _owner(facts: Facts, side: str) -> str:
    here = facts.here_sends == (side == "sender")
    return "this host" if here else facts.peer


def _ruled_out(facts: Facts) -> tuple[str, ...]:
    loss = (
        f"loss: {percent(facts.retransmitted_share)} of the bytes were sent again"
        if facts.retransmitted_share is not None
        else "loss: nothing came out of order"
    )
    lines = [
        f"a full path: {signs.rtt_words(facts)}",
        loss,
    ]
    if facts.worker_share is not None:
        lines.append(
            f"this host: its busiest worker needs {percent(signs.busy_share(facts))} of a core"
        )
    return tuple(lines)


def target_bps(goodput_bps: float) -> float:
    """The line rate to aim at: the next of 1, 10, 100 Gbit/s that is well above the result."""
    wanted = TARGET_ABOVE * goodput_bps
    return next((rate_bps for rate_bps in TARGETS_BPS if rate_bps >= wanted), wanted)


def streams_for(target: float, capped_bps: float, streams: int) -> int:
    """Streams whose windows together fill `target`, when `streams` of them reach `capped_bps`."""
    if capped_bps <= 0 or not isfinite(capped_bps):
        return MOST_STREAMS
    wanted = min(target * streams / capped_bps, float(MOST_STREAMS))
    return max(streams + 1, ceil(wanted))


def buffer_for(target: float, rtt_us: float, streams: int) -> int:
    """The buffer each of `streams` needs for `target`: BDP times 1.5, as -w can write it."""
    bdp_bytes = min(target * rtt_us / 8e6, float(MOST_OPTION_BYTES))
    return option_bytes(bdp_bytes * BUFFER_PER_WINDOW / max(1, streams))


def _advice(facts: Facts, limit: Limit, rtt_us: float) -> tuple[str, ...]:
    capped_bps = limit.window_bytes * 8e6 / rtt_us
    target = target_bps(capped_bps)
    streams = streams_for(target, capped_bps, facts.streams)
    reached = rate(min(target, capped_bps * streams / facts.streams))
    buffer = buffer_for(target, rtt_us, facts.streams)
    fits = buffer <= MOST_OPTION_BYTES
    larger = f" or -w {option_size(buffer)}" if fits else ""
    lines = [f"try -P {streams} (that many windows carry up to {reached}){larger}"]
    if facts.window_asked_bytes:
        lines.insert(0, "leave -w out: it switches the systems' own sizing off on both ends")
    if fits:
        lines.append(
            f"-w {option_size(buffer)} needs net.core.wmem_max on {_owner(facts, 'sender')} and "
            f"net.core.rmem_max on {_owner(facts, 'receiver')} of {buffer // 2} or more"
        )
    lines += _sysctl(facts, limit.side, buffer)
    if not facts.here_sends:
        lines.append("try --get-server-output: the far sender's own numbers settle it")
    return tuple(lines)


def _sysctl(facts: Facts, side: str, buffer: int) -> list[str]:
    where = f"on {_owner(facts, side)}, as root: sysctl -w" if side != "either" else ""
    setting = {
        "receiver": f'net.ipv4.tcp_rmem="4096 131072 {buffer}"',
        "sender": f'net.ipv4.tcp_wmem="4096 16384 {buffer}"',
    }
    return [f"{where} {setting[side]}"] if side in setting else []


def _explanation(facts: Facts, limit: Limit, rtt_us: float) -> tuple[str, ...]:
    capped_bps = limit.window_bytes * 8e6 / rtt_us
    target = target_bps(capped_bps)
    return (
        "rate = 8 * window / RTT",
        f"8 * {size(limit.window_bytes)} / {milliseconds(rtt_us)} = {rate(capped_bps)}",
        f"window for {line_rate(target)} = rate * RTT / 8 = {size(target * rtt_us / 8e6)}",
        f"streams = {line_rate(target)} / {rate(capped_bps / facts.streams)} a stream, "
        f"{MOST_STREAMS} at most",
        f"buffer = {BUFFER_PER_WINDOW:g} * BDP, for the kernel keeps a third for itself",
    )
