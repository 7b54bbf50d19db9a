"""`path-full`, `host-limited`, `slow-reader` and `no-limit-found`: what is no fault of the path."""

from __future__ import annotations

from . import loss, signs, stops, window
from .facts import Facts
from .quantities import line_rate, milliseconds, percent, rate, size, times
from .verdict import Confidence, Level, Verdict

FULL_LOSS_MOST = {True: 0.02, False: 0.07, None: 0.02}
"""Share sent again up to which a full queue's own drops explain it, by `loss_based`. BBR probes on
through a queue of one BDP; measured up to 6.2 % there."""
FULL_SCATTER = 0.1  # above it the rate varies: other traffic may share the path
IDLE_SHARE = 0.5  # of the samples; measured 0.87 to 1 with an idle sender
IDLE_WAITS = 0.2  # of its time that a sender waits for windows
IDLE_CWND_USED, IDLE_CWND_MOST = 0.8, 0.9  # the latter where it delivers much quicker
IDLE_QUICKER = 1.15  # delivery rate over goodput; measured 1.2 to 1.9
IDLE_BURSTS = 2.0  # the same where bursts fill a queue; measured 2.2 to 5
FULL_LOSS_AT_START = 0.15
"""The same for BBR where only the whole test's share is known and its losses ended early: on long
paths its start overflows the queue by as much again; measured 7.5 % of 8 s at 150 ms."""
FULL_SCATTER_MOST = 0.25  # above it something else happens; measured up to 0.22 at 150 ms
FULL_EVEN, FULL_EVEN_LEAST_S = 0.6, 4.0
"""Or so many half seconds alike: a hole that is filled lets the bytes of a whole RTT count at once,
and an early slow part weighs on the scatter as well."""
LEVEL, LEVEL_PEAK, LEVEL_GROWTH = 0.97, 1.3, 1.015
"""Received: the usual half second over the best one, the highest RTT over the least, late half over
early one. Measured 0.98 and more on full paths; under loss, limiters included, 0.72 to 0.94. A
sender whose buffer is small does not grow."""
SAWTOOTH, SAWTOOTH_SPREAD = 0.85, 0.2
"""Sent: the same where cubic falls below the path's rate after each overflow of a short queue."""
FILLED_PEAK = 1.3  # BBR fills the queue at its start, then keeps it empty
FILLED_CWND_USED = 0.75  # BBR keeps about half its cwnd in flight at the path's rate
FILLED_SCATTER = 0.25  # its pauses to probe the RTT included; measured 0.2 at 150 ms
FULL_INFLATION = 1.2  # where no window is full either
FULL_LEAST_US = 1000.0
EVEN_SENT, EVEN_RECEIVED = (0.03, 0.7), (0.01, 0.9)
"""Scatter at most, and share of even half seconds at least. Limiters were measured at 0.05 and
more; a far sender whose buffer is small keeps within 0.014."""
EVEN_CWND_USED, EVEN_PEAK = 0.95, 1.25
RESTED_SPREAD = 0.2  # losses that ended with BBR's start
PATIENCE_S = 15.0  # an unclear case is given so long to become clear
LINE_RATE_PATIENCE_S = 5.0


def host_limited(facts: Facts) -> Verdict | None:
    """Our busiest worker has no time left."""
    share = signs.busy_share(facts)
    if share < signs.SATURATED_SHARE or signs.at_line_rate(facts) or signs.offer_reached(facts):
        return None
    return Verdict(
        id="host-limited",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="This host is busy",
        short=f"{percent(min(1.0, share))} of a core",
        claim=f"{facts.words}: this host's CPU limits the speed, not the network.",
        because=(
            f"the busiest worker used {percent(facts.worker_share or 0.0)} of a core and waited "
            f"for one {percent(facts.worker_wait_share or 0.0)} of the time",
        ),
        next=("try -P 2: two workers use two cores",),
        qualifier=(("side", "sender" if facts.here_sends else "receiver"),),
        explanation=(
            "one stream has one worker, and a worker has one core at most: running + waiting",
            f"{percent(facts.worker_share or 0.0)} + {percent(facts.worker_wait_share or 0.0)} = "
            f"{percent(share)}; from {percent(signs.SATURATED_SHARE)} on it sets the pace",
        ),
    )


def slow_reader(facts: Facts) -> Verdict | None:
    """The far program reads too slowly: the window it offers jumps, or the cwnd is hardly used."""
    if not signs.network_judged(facts) or not window.slow_reader(facts):
        return None
    return Verdict(
        id="slow-reader",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Slow reader",
        short=f"window full {percent(facts.rwnd_limited_share or 0.0)}",
        claim=f"{facts.words}: the program at the receiving end reads too slowly.",
        because=(
            f"the sender waited for the window in {percent(facts.rwnd_limited_share or 0.0)} "
            "of its busy time (tcpi_rwnd_limited)",
            f"the window offered varies: its 10th percentile is "
            f"{percent(facts.snd_wnd_spread or 0.0)} of its 90th",
            f"{percent(facts.cwnd_used or 0.0)} of the congestion window is in use",
        ),
        ruled_out=("a small buffer: that would offer the same window all the time",),
        next=(f"look at the CPU and the disk of {facts.peer}",),
        explanation=(
            "a small buffer offers a steady window; a slow reader lets it fill and then empties it",
            f"window, 10th over 90th percentile: {percent(facts.snd_wnd_spread or 0.0)}; below "
            f"{percent(window.READER_SPREAD)}, or the congestion window in use below "
            f"{percent(window.READER_CWND_USED)}, the reader is the limit",
        ),
    )


def slow_sender(facts: Facts) -> Verdict | None:
    """Our program has nothing to send most of the time."""
    if not facts.here_sends or not signs.network_judged(facts):
        return None
    buffer = 0.0 if window.buffer_spare(facts) else facts.sndbuf_limited_share or 0.0
    waits = (facts.rwnd_limited_share or 0.0) + buffer
    if (facts.idle_share or 0.0) < IDLE_SHARE or waits > IDLE_WAITS or facts.cwnd_used is None:
        return None
    quicker = (facts.delivery_rate_bps or 0.0) / (facts.goodput_bps or 1.0)
    much = quicker >= IDLE_BURSTS
    if facts.cwnd_used > (IDLE_CWND_MOST if much else IDLE_CWND_USED):
        return None
    if quicker < IDLE_QUICKER or not (much or signs.rtt_flat(facts)):
        return None
    return Verdict(
        id="offered-less",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Sender is idle",
        short=f"idle {percent(facts.idle_share or 0.0)}",
        claim=f"{facts.words}: the sending program offers less than the path would take.",
        because=(
            f"in {percent(facts.idle_share or 0.0)} of the samples nothing was left to send "
            "(tcpi_notsent_bytes)",
            f"what was sent got through at {rate(facts.delivery_rate_bps or 0.0)} "
            f"(tcpi_delivery_rate), {times(quicker)} the goodput",
            f"only {percent(facts.cwnd_used)} of the congestion window was in use",
        ),
        ruled_out=(
            f"windows and buffers: the sender waited for them in {percent(waits)} of its time",
        ),
        next=("look at what slows this host's program: disk, CPU quota, other programs",),
        explanation=(
            "an idle sender leaves the windows unused and yet delivers quickly what it has",
            f"delivery rate / goodput = {quicker:.2f}; from {IDLE_QUICKER:g} on it is a sign",
        ),
    )


def path_full(facts: Facts) -> Verdict | None:
    """The bottleneck is busy all the time and loses no more than full queues do."""
    if not signs.network_judged(facts) or facts.timeouts:
        return None
    full = _queue(facts) or _filled_at_start(facts) or _even(facts) or _overflowed(facts)
    if _too_much_lost(facts) or not full:
        return None
    if (facts.scatter or 0.0) > FULL_SCATTER_MOST and not _mostly_even(facts):
        return None
    steady = (facts.scatter or 0.0) <= FULL_SCATTER
    return Verdict(
        id="path-full",
        level=Level.FINE,
        confidence=Confidence.HIGH if steady and _queue(facts) else Confidence.MEDIUM,
        title="Path is full",
        short=rate(facts.goodput_bps or 0.0),
        claim=f"{facts.words}: the path carries all it can, {rate(facts.goodput_bps or 0.0)}.",
        because=_full_signs(facts),
        ruled_out=_not_the_hosts(facts),
        next=() if steady else ("run it again: the rate varied, other traffic may share the path",),
        explanation=_full_formula(facts),
    )


def _too_much_lost(facts: Facts) -> bool:
    share = facts.retransmitted_share or facts.far_retransmitted_share or 0.0
    most = FULL_LOSS_MOST[facts.loss_based]
    whole = facts.retransmitted_share is None and facts.loss_based is False
    if whole and facts.out_of_order_late == 0:
        most = FULL_LOSS_AT_START
    return share > most


def _mostly_even(facts: Facts) -> bool:
    if facts.steady_s < FULL_EVEN_LEAST_S or stops.pauses(facts):
        return False
    return (facts.motion.even_share or 0.0) >= FULL_EVEN


def _overflowed(facts: Facts) -> bool:
    """A loss-based flow filled the queue until it overflowed, and keeps near the path's rate."""
    moves = facts.motion
    if not facts.loss_based or not moves.best_bps or signs.comes_in_bursts(facts):
        return False
    near = (moves.typical_bps or 0.0) / moves.best_bps
    if facts.here_sends:
        losing = 0.0 < (facts.loss_spread or 0.0) <= SAWTOOTH_SPREAD
        used = (facts.cwnd_used or 0.0) >= EVEN_CWND_USED
        return losing and used and near >= SAWTOOTH and loss.overflowed(facts)
    peak_us, least_us = facts.peak_rtt_us or 0.0, facts.min_rtt_us or 0.0
    filled = peak_us >= LEVEL_PEAK * least_us and peak_us - least_us >= FULL_LEAST_US
    rests = (facts.out_of_order_spread or 0.0) < RESTED_SPREAD
    grew = (facts.growth or 1.0) >= LEVEL_GROWTH
    return filled and rests and grew and near >= LEVEL and _mostly_even(facts)


def _full_formula(facts: Facts) -> tuple[str, ...]:
    queued = (facts.goodput_bps or 0.0) * facts.waited_us / 8e6
    return (
        "a queue is full when the RTT under load is well above the minimum; what waits in it is",
        f"rate * (RTT - minimum) / 8 = {rate(facts.goodput_bps or 0.0)} * "
        f"{milliseconds(facts.waited_us)} / 8 = {size(queued)}",
        f"the path's own content: rate * minimum RTT / 8 = {size(facts.bdp_bytes or 0.0)}",
    )


def _queue(facts: Facts) -> bool:
    if signs.comes_in_bursts(facts):
        return False
    waited_us = (facts.rtt_us or 0.0) - (facts.min_rtt_us or 0.0)
    return (facts.inflation or 0.0) >= FULL_INFLATION and waited_us >= FULL_LEAST_US


def _filled_at_start(facts: Facts) -> bool:
    """BBR found the path's rate by overfilling its queue, and keeps to it."""
    if facts.loss_based is not False or facts.scatter is None:
        return False
    peak = (facts.peak_rtt_us or 0.0) / (facts.min_rtt_us or 1.0)
    if facts.here_sends:
        rests = (facts.cwnd_used or 1.0) < FILLED_CWND_USED
    else:
        rests = (facts.out_of_order_spread or 0.0) < RESTED_SPREAD
    queued_us = (facts.peak_rtt_us or 0.0) - (facts.min_rtt_us or 0.0)
    return (
        peak >= FILLED_PEAK
        and queued_us >= FULL_LEAST_US
        and rests
        and (facts.scatter < FILLED_SCATTER or _mostly_even(facts))
    )


def _even(facts: Facts) -> bool:
    """A loss-based sender would send more and more, and yet the rate is the same throughout."""
    moves = facts.motion
    if not facts.loss_based or signs.comes_in_bursts(facts) or moves.scatter is None:
        return False
    scatter, least = EVEN_SENT if facts.here_sends else EVEN_RECEIVED
    if moves.scatter > scatter or (moves.even_share or 0.0) < least:
        return False
    if facts.here_sends:
        return (facts.cwnd_used or 0.0) >= EVEN_CWND_USED
    peak_us = (facts.peak_rtt_us or 0.0) - (facts.min_rtt_us or 0.0)
    peak = (facts.peak_rtt_us or 0.0) / (facts.min_rtt_us or 1.0)
    return peak >= EVEN_PEAK and peak_us >= FULL_LEAST_US


def _full_signs(facts: Facts) -> tuple[str, ...]:
    waited_us = (facts.rtt_us or 0.0) - (facts.min_rtt_us or 0.0)
    queued = (facts.goodput_bps or 0.0) * max(0.0, waited_us) / 8e6
    lines = [
        f"{signs.rtt_words(facts)} ({milliseconds(facts.rtt_us or 0.0)}): "
        f"about {size(queued)} wait in a queue"
    ]
    if facts.retransmitted_share is not None:
        lines.append(f"{percent(facts.retransmitted_share)} of the bytes were sent again")
    if not _queue(facts):
        lines[0] = (
            f"{facts.congestion} overfilled a queue at its start (RTT up to "
            f"{milliseconds(facts.peak_rtt_us or 0.0)}) and has kept to the path's rate since"
        )
        if _overflowed(facts):
            best = rate(facts.motion.best_bps or 0.0)
            lines[0] = (
                f"{facts.congestion} filled a queue until it overflowed (RTT up to "
                f"{milliseconds(facts.peak_rtt_us or 0.0)}); the path carries {best} then, and "
                "the sender falls back a little after each overflow"
            )
        elif facts.loss_based:
            lines[0] = (
                f"the rate is the same throughout (half seconds differ by "
                f"{percent(facts.scatter or 0.0)}) although {facts.congestion} would send more"
            )
    return tuple(lines)


def _not_the_hosts(facts: Facts) -> tuple[str, ...]:
    if facts.worker_share is None:
        return ()
    busy = percent(signs.busy_share(facts))
    return (f"this host: its busiest worker needs {busy} of a core",)


def hosts_pace(facts: Facts) -> Verdict | None:
    """No network limit shows, and a host is short of CPU: likely that is it."""
    short = signs.hosts_busy(facts) or signs.hosts_pace(facts)
    if facts.same_host or signs.queue_built(facts) or not short:
        return None
    far = (facts.far_cpu_share or 0.0) > signs.busy_share(facts)
    side = "receiver" if far == facts.here_sends else "sender"
    share = max(facts.far_cpu_share or 0.0, signs.busy_share(facts))
    return Verdict(
        id="host-limited",
        level=Level.LOOK,
        confidence=Confidence.LOW,
        title="A host is busy",
        short=f"{percent(min(1.0, share))} of a core",
        claim=(
            f"{facts.words}: the CPU of {facts.peer if far else 'this host'} most likely limits "
            "the speed; the network cannot be judged meanwhile."
        ),
        because=_seen(facts),
        next=("try -P 2: two workers use two cores",),
        qualifier=(("side", side),),
        explanation=(
            f"a worker that runs or waits for a core in {percent(signs.BUSY_SHARE)} of the time "
            f"and more sets the pace; measured: {percent(min(1.0, share))}",
        ),
    )


def unclear(facts: Facts) -> Verdict | None:
    """Nothing holds yet, and the test goes on: say what is missing."""
    if facts.over or facts.elapsed_s >= PATIENCE_S:
        return None
    even = signs.at_line_rate(facts) and not facts.retransmits and not facts.out_of_order
    if not signs.network_judged(facts) or (even and facts.elapsed_s >= LINE_RATE_PATIENCE_S):
        return None
    missing = "more seconds"
    if not facts.here_sends and facts.out_of_order:
        missing = "the far sender's count"
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.LOW,
        title="Cannot tell yet",
        short=missing,
        claim=f"{facts.words}: cannot tell yet; missing: {missing}.",
        because=_seen(facts),
    )


def no_limit_found(facts: Facts) -> Verdict:
    """No rule holds: say what was seen."""
    goodput, line_bps = rate(facts.goodput_bps or 0.0), signs.line_rate_bps(facts)
    return Verdict(
        id="no-limit-found",
        level=Level.LOOK if signs.stood_still(facts) or facts.timeouts else Level.FINE,
        confidence=Confidence.LOW,
        title="No limit found",
        short=f"{goodput}, as {line_rate(line_bps)}" if line_bps else goodput,
        claim=f"{facts.words}: {_explained(facts, goodput)}.",
        because=_seen(facts),
    )


def _explained(facts: Facts, goodput: str) -> str:
    line_bps = signs.line_rate_bps(facts)
    if facts.same_host:
        return f"{goodput} is what this host's CPU and memory carry; no network is measured"
    if signs.hosts_busy(facts) or signs.hosts_pace(facts):
        return f"the hosts, not the network, set the pace of {goodput}"
    if line_bps is not None:
        return f"{goodput} is what an Ethernet link of {line_rate(line_bps)} carries"
    return f"no single limit explains {goodput}"


def _seen(facts: Facts) -> tuple[str, ...]:
    lines = []
    if facts.inflation is not None:
        lines.append(signs.rtt_words(facts))
    if facts.retransmitted_share is not None:
        lines.append(f"{percent(facts.retransmitted_share)} of the bytes were sent again")
    if facts.out_of_order:
        lines.append("packets came out of order here: lost or overtaken, only the sender can tell")
    if facts.timeouts:
        lines.append(f"{facts.timeouts} retransmission timeouts (tcpi_total_rto)")
    if signs.stood_still(facts):
        lines.append(f"the flow stood still for {facts.longest_pause_s:.1f} s")
    if facts.same_host:
        lines.append("both ends have the same address: they are one host")
    elif signs.hosts_busy(facts):
        lines.append("a host is short of CPU, so the network cannot be judged")
    if signs.out_of_order(facts):
        lines.append(
            f"packets overtook each other or came twice ({facts.reord_seen or 0} reorderings, "
            f"{facts.dsack_dups or 0} duplicates)"
        )
    return tuple(lines)
