"""`outage`: the path is dead for a while, again or once. `mtu-blackhole`: no full packet arrives.

Both show as silence. In an outage all that was under way is lost at once and little is lost
otherwise; in a black hole the handshake's small packets pass and not one full one does.
"""

from __future__ import annotations

from .facts import Facts
from .quantities import counted, milliseconds, percent, rate
from .verdict import Confidence, Level, Verdict

BROKEN_SHARE = 0.05  # sent again: a path that loses so much stalls without going dead
PAUSE_LEAST_S = 0.19  # two ticks of the sampler; the least retransmission timeout is 0.2 s
PAUSE_RECEIVED_S = 0.25  # where no retransmission can be counted
PAUSE_RTTS = 2.5  # small windows deliver once per RTT; a pause must be longer
LOST_BY_PAUSES = 0.6  # of all that was sent again; measured 0.9 and more in outages
SPREAD_RECEIVED = 0.7  # of the samples with packets out of order
LONG_PAUSE_S, LONG_PAUSE_RTTS = 0.45, 4.0  # no single loss stops a small window for so long
SPREAD_MOST = 0.5  # of the samples with losses: more is a lossy path, which stalls now and then
LOST_LEAST = 10  # packets
FLIGHT_LEAST_PACKETS = 20  # smaller windows stall after single losses (RFC 5681, 3.2)

SILENT_TIMEOUTS = 2  # retransmission timeouts without any progress (RFC 2923, 2.1)
SAFE_MSS_BYTES = 1200


def pause_least_s(facts: Facts) -> float:
    """From which length on a pause counts on this path."""
    rtt_s = (facts.rtt_us or facts.min_rtt_us or 0.0) / 1e6
    least_s = PAUSE_LEAST_S if facts.here_sends else PAUSE_RECEIVED_S
    return max(least_s, PAUSE_RTTS * rtt_s)


def pauses(facts: Facts) -> list[float]:
    """The pauses that count, in seconds."""
    least_s = pause_least_s(facts)
    return [each for each in facts.motion.pauses_s if each >= least_s]


def stood_still(facts: Facts) -> bool:
    """The flow stopped for a while and lost much at once: an outage, not a loss rate."""
    if not pauses(facts) or not facts.goodput_bps or not facts.mss_bytes:
        return False
    rtt_us = facts.rtt_us or facts.min_rtt_us or 0.0
    small = facts.goodput_bps * rtt_us / 8e6 < FLIGHT_LEAST_PACKETS * facts.mss_bytes
    long = facts.longest_pause_s >= max(LONG_PAUSE_S, LONG_PAUSE_RTTS * rtt_us / 1e6)
    if small and not long:
        return False
    if not facts.here_sends:
        spread = facts.out_of_order_spread or 0.0
        return spread > 0.0 and (long or spread <= SPREAD_RECEIVED)
    if not facts.timeouts:
        return False
    if long and not small and (facts.retransmitted_share or 0.0) < BROKEN_SHARE:
        return True
    return (
        (facts.retransmits or 0) >= LOST_LEAST
        and (facts.motion.lost_by_pauses or 0.0) >= LOST_BY_PAUSES
        and (facts.loss_spread or 0.0) <= SPREAD_MOST
    )


def outage(facts: Facts) -> Verdict | None:
    """Dead periods."""
    if facts.same_host or not stood_still(facts):
        return None
    found = pauses(facts)
    longest_s, total_s = max(found), sum(found)
    because = [f"{counted(len(found), 'pause')} without a byte, the longest {longest_s:.1f} s"]
    if facts.here_sends:
        because += [
            f"{percent(facts.motion.lost_by_pauses or 0.0)} of the {facts.retransmits} packets "
            "sent again were lost in them",
            f"{counted(facts.timeouts or 0, 'retransmission timeout')} (tcpi_total_rto)",
        ]
    return Verdict(
        id="outage",
        level=Level.FAULT,
        confidence=Confidence.HIGH if facts.here_sends else Confidence.MEDIUM,
        title="Path goes dead",
        short=f"{counted(len(found), 'time')}, {longest_s:.1f} s",
        claim=f"{facts.words}: the path went dead for up to {longest_s:.1f} s.",
        because=tuple(because),
        ruled_out=_not_loss(facts),
        next=(
            "look at the link's log for carrier losses, spanning tree or roaming at those times",
            "run it longer (-t 60): a fixed distance between pauses names a timer",
        ),
        explanation=(
            f"a pause counts from max({PAUSE_LEAST_S:g} s, {PAUSE_RTTS:g} * RTT) = "
            f"{pause_least_s(facts):.2f} s on",
            f"dead: {total_s:.1f} s of {facts.steady_s:.1f} s "
            f"({percent(total_s / facts.steady_s if facts.steady_s else 0.0)})",
        ),
    )


def _not_loss(facts: Facts) -> tuple[str, ...]:
    spread = facts.loss_spread if facts.here_sends else facts.out_of_order_spread
    if spread is None:
        return ()
    return (f"a lossy line: losses show in only {percent(spread)} of the samples",)


def black_hole(facts: Facts) -> Verdict | None:
    """The handshake passes, and not one full packet of data does."""
    if facts.goodput_bps is None or facts.goodput_bps > 0 or facts.delivered_any:
        return None
    if facts.here_sends:
        sure = (facts.timeouts or 0) >= SILENT_TIMEOUTS
        seen = f"{facts.timeouts or 0} retransmission timeouts in a row (tcpi_total_rto)"
    else:
        sure = bool(facts.far_retransmits)
        seen = f"the far sender sent {facts.far_retransmits or 0} packets again, in vain"
    if not sure:
        return None
    size = facts.mss_bytes or 1448
    return Verdict(
        id="mtu-blackhole",
        level=Level.FAULT,
        confidence=Confidence.MEDIUM,
        title="MTU black hole",
        short=f"0 bytes in {facts.steady_s:.0f} s",
        claim=(
            f"{facts.words}: connections open, but no full packet gets through: something on the "
            "path takes less than a packet's size and does not say so."
        ),
        because=(
            f"the handshake passed (RTT {milliseconds(facts.min_rtt_us or 0.0)}), the control "
            "connection works, yet 0 bytes of data were delivered",
            seen,
        ),
        next=(
            f"try -M {SAFE_MSS_BYTES}: if that works, packets of {size} bytes are too large",
            "let ICMP type 3 code 4 (IPv6: type 2) pass, or lower the MTU of the tunnel's ends",
            "as root, at the sender: sysctl -w net.ipv4.tcp_mtu_probing=1",
        ),
        explanation=(
            "small packets pass, full ones do not, and no router says why (RFC 2923, 2.1)",
            f"data: {rate(0.0)} after {facts.steady_s:.1f} s; segments carry {size} bytes each",
        ),
    )


def _missing(facts: Facts) -> str:
    """What would tell a black hole from a path or a host that is down."""
    if facts.here_sends:
        return f"missing: {SILENT_TIMEOUTS} retransmission timeouts, which would name the size"
    return "missing: whether the far sender sends it again and again, which it tells at the end"


def silent(facts: Facts) -> Verdict | None:
    """Nothing gets through, and it cannot be told yet why."""
    if facts.goodput_bps is None or facts.goodput_bps > 0:
        return None
    stopped = facts.delivered_any
    timeouts = facts.timeouts or 0
    because = [f"0 bytes were delivered in the last {facts.steady_s:.1f} s"]
    if timeouts:
        because.append(f"{counted(timeouts, 'retransmission timeout')} (tcpi_total_rto)")
    return Verdict(
        id="outage" if stopped and timeouts >= SILENT_TIMEOUTS else "cannot-tell",
        level=Level.FAULT if timeouts >= SILENT_TIMEOUTS else Level.PENDING,
        confidence=Confidence.MEDIUM,
        title="No data arrives",
        short=f"0 bytes in {facts.steady_s:.0f} s",
        claim=(
            f"{facts.words}: data flowed and then stopped for good."
            if stopped
            else f"{facts.words}: the connection stands but no data gets through; "
            f"{_missing(facts)}."
        ),
        because=tuple(because),
        next=(f"try -M {SAFE_MSS_BYTES}: if that works, large packets get lost on the path (MTU)",),
    )
