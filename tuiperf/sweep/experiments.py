"""The experiments as steps: what each runs, why, and what its outcomes would mean. Pure.

Congestion control is cubic wherever a step diagnoses, for it shows what loss does; BBR only
compares. The far sender's own report is asked for whenever it sends.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from tuiperf.engine.spec import MAX_WINDOW_BYTES, TestSpec
from tuiperf.rules.quantities import milliseconds, percent, rate
from tuiperf.session import Direction

from .known import Kind, Known, Mode, Reading, Step

STEP_S = {Mode.USUAL: 5.0, Mode.QUICK: 4.0, Mode.THOROUGH: 8.0}
"""Of 334 recordings cut at 5 s the first verdict was right in 327, at 8 s in 333."""
STEP_RTTS = 20  # slow start and the first recovery are over by then
LONGER_S = {Mode.USUAL: 12.0, Mode.QUICK: 8.0, Mode.THOROUGH: 25.0}
LONGER_RTTS = 40
OVERHEAD_S = 1.0  # connecting, and both ends' results
LOOK_S = 3.0
PACED_SHARE = 0.8
LOSSES_WANTED = 8  # so many packets lost would show that loss stays
PACED_MOST_S = 9.0
SAFE_MSS_BYTES = 1200
UDP_SHARE = 0.5
UDP_LEAST_BPS = 100_000
SEARCH_SHARES = ("0.95", "0.8", "0.65")
BUFFER_PER_WINDOW = 1.5  # of a socket's buffer about two thirds are window
REFUSED_CONGESTION = 134
COUNTED_AT_ONCE_S = 0.5

CUBIC, BBR = "cubic", "bbr"


def words(way: Direction, host: str) -> str:
    """A direction in words."""
    far = host or "there"
    return f"here → {far}" if way is Direction.FORWARD else f"{far} → here"


def seconds(known: Known) -> float:
    """How long a usual step lasts on this path."""
    return STEP_S[known.limits.mode] + STEP_RTTS * (known.min_rtt_us or 0.0) / 1e6


def congestion(known: Known) -> str:
    """Cubic, unless an end has refused it."""
    refused = any(
        each.code == REFUSED_CONGESTION and each.step.test and each.step.test.congestion == CUBIC
        for each in known.done
    )
    return "" if refused else CUBIC


def look(known: Known) -> Step:
    return Step(
        Kind.LOOK,
        Direction.FORWARD,
        "before any load: the way there, its idle round trips, its largest packet, who answers",
        (
            "round trips that vary now vary by themselves; what grows later is a queue's",
            "a path MTU below the card's: a tunnel",
        ),
        None,
        LOOK_S,
    )


def baseline(known: Known, way: Direction) -> Step:
    """One connection, as it comes."""
    forward = way is Direction.FORWARD
    why = "one cubic connection: what does it reach, and what does its kernel say holds it back?"
    if not forward:
        why = "the other direction has its own queues, lines and buffers: the same from there"
    return _tcp(
        known,
        Kind.FORWARD if forward else Kind.REVERSE,
        way,
        why,
        (
            "full queue, few losses: the path carries all it can",
            "losses without a queue: a lossy line, a short queue or a rate limiter",
            "neither: a window, a buffer or a host",
        ),
        last_s=seconds(known),
        variant="" if congestion(known) else "own control",
    )


def longer(known: Known, way: Direction) -> Step:
    """More seconds, the start left out."""
    rtt_s = (known.min_rtt_us or 0.0) / 1e6
    last_s = LONGER_S[known.limits.mode] + LONGER_RTTS * rtt_s
    step = _tcp(
        known,
        Kind.LONGER,
        way,
        "the first run was too short to judge: longer, its start left out of the result",
        (
            "faster than before: it was only slow to start",
            "as before: something limits it, and now shows",
        ),
        last_s=last_s,
    )
    assert step.test is not None
    omit_s = min(10, max(1, ceil(STEP_RTTS * rtt_s)))
    return replace(step, test=replace(step.test, omit_s=omit_s), seconds=step.seconds + omit_s)


def mss(known: Known, way: Direction) -> Step:
    return _tcp(
        known,
        Kind.MSS,
        way,
        f"connections open but no data comes through: segments of {SAFE_MSS_BYTES} bytes instead",
        (
            "data flows: full packets are too large for some hop, and nobody says so",
            "still nothing: something drops the data itself, such as a firewall",
        ),
        last_s=3.0 + STEP_RTTS * (known.min_rtt_us or 0.0) / 1e6,
        mss_bytes=SAFE_MSS_BYTES,
    )


def parallel(known: Known, way: Direction, streams: int) -> Step:
    return _tcp(
        known,
        Kind.PARALLEL,
        way,
        f"{streams} connections at once: is it each connection that is limited, or all together?",
        (
            "much more in all: a limit of each connection, a window, a buffer or random loss",
            "the same in all: the path, a rate limiter or a host",
        ),
        last_s=seconds(known),
        variant=str(streams),
        parallel=streams,
    )


def paced(known: Known, way: Direction, base: Reading) -> Step:
    """At 80 % of the result, evenly spaced by the kernel."""
    goodput = base.goodput_bps or 0.0
    return _tcp(
        known,
        Kind.PACED,
        way,
        f"paced evenly at {rate(PACED_SHARE * goodput)}, 80 % of the result: does the loss stay?",
        (
            "it stays: the line loses packets whatever is sent",
            "it goes: a short queue or a rate limiter dropped the bursts, or frames collide",
        ),
        last_s=max(seconds(known), min(PACED_MOST_S, paced_s(base))),
        fq_rate_bps=max(1, int(PACED_SHARE * goodput)),
    )


def paced_s(base: Reading) -> float:
    """Seconds until a paced flow would lose enough to tell that loss stays."""
    lost_bps = (base.lost_share or 0.0) * PACED_SHARE * (base.goodput_bps or 0.0)
    if lost_bps < 1.0:
        return PACED_MOST_S + 1.0
    return LOSSES_WANTED * 1448 * 8 / lost_bps + 1.5


def control(known: Known, way: Direction) -> Step:
    return _tcp(
        known,
        Kind.CONTROL,
        way,
        "the same with BBR, which does not slow down at single losses",
        (
            "much faster: loss holds cubic back, not the path's capacity",
            "the same: capacity, a window or a host",
        ),
        last_s=seconds(known),
        congestion=BBR,
    )


def both_ways(known: Known) -> Step:
    return _tcp(
        known,
        Kind.BIDIR,
        Direction.FORWARD,
        "both directions at once: do they hurt each other?",
        (
            "each as fast as alone: full duplex",
            "together no more than one alone: a shared medium, such as radio or half duplex",
            "one breaks down: frames collide, a duplex mismatch",
        ),
        last_s=seconds(known),
        bidir=True,
    )


def udp(known: Known, way: Direction, share: str = "") -> Step | None:
    """Datagrams at a share of what TCP reached there, never above it; None where it reached
    nothing. Without a `share` the usual half is sent."""
    reached = known.reached_bps(way)
    limit = known.limits.max_rate_bps or reached
    rate_bps = int(min(float(share or UDP_SHARE) * reached, limit))
    if rate_bps < UDP_LEAST_BPS:
        return None
    last_s = max(3, round(seconds(known)))
    why = (
        f"datagrams at {rate(rate_bps)}, {percent(rate_bps / reached)} of what TCP reached: loss "
        "and jitter that no congestion control makes or hides"
    )
    if share:
        why = f"datagrams at {rate(rate_bps)}: the highest rate that arrives whole"
    test = TestSpec(
        protocol="udp",
        block_bytes=0,
        time_s=last_s,
        rate_bps=rate_bps,
        reverse=way is Direction.REVERSE,
        get_server_output=way is Direction.REVERSE,
    )
    return Step(
        Kind.UDP,
        way,
        why,
        (
            "none is lost: what TCP lost came from its own bursts, or from its answers",
            "as many are lost as of TCP: the line loses them",
        ),
        test,
        last_s + OVERHEAD_S,
        int(rate_bps / 8 * (last_s + COUNTED_AT_ONCE_S)),
        share,
    )


def window(known: Known, way: Direction, base: Reading) -> Step:
    """A window that holds the path's content at the best rate seen."""
    target_bps = max(known.reached_bps(way), 1.5 * (base.goodput_bps or 0.0))
    needed = target_bps / 8 * (base.min_rtt_us or 0.0) / 1e6 * BUFFER_PER_WINDOW
    size_bytes = min(MAX_WINDOW_BYTES, max(1, ceil(needed / (1 << 20))) << 20)
    return _tcp(
        known,
        Kind.WINDOW,
        way,
        f"-w {size_bytes >> 20}M: buffers for {rate(target_bps)} at "
        f"{milliseconds(base.min_rtt_us or 0.0)}, bandwidth times delay and what the kernel needs",
        (
            "faster: the buffers were the limit, and this size is a cure",
            "refused or clamped: net.core.rmem_max and wmem_max must allow it first",
        ),
        last_s=seconds(known),
        window_bytes=size_bytes,
    )


def repeat(known: Known, way: Direction, number: int) -> Step:
    return _tcp(
        known,
        Kind.REPEAT,
        way,
        "the first run again: is the result steady?",
        (
            "within a few percent: steady",
            "not: other traffic, or a path whose capacity varies",
        ),
        last_s=seconds(known),
        variant=str(number),
    )


def _tcp(
    known: Known,
    kind: Kind,
    way: Direction,
    why: str,
    outcomes: tuple[str, ...],
    *,
    last_s: float,
    variant: str = "",
    **settings: object,
) -> Step:
    whole_s = max(1, ceil(last_s - 0.3))
    chosen = {
        "time_s": whole_s,
        "congestion": congestion(known),
        "reverse": way is Direction.REVERSE,
        "get_server_output": way is Direction.REVERSE,
        **settings,
    }
    test = TestSpec(**chosen)  # type: ignore[arg-type]
    limit_bps = known.limits.max_rate_bps
    if limit_bps:
        test = no_faster(test, limit_bps // test.parallel)
    return Step(kind, way, why, outcomes, test, whole_s + OVERHEAD_S, None, variant)


def no_faster(test: TestSpec, each_bps: int) -> TestSpec:
    """At most this rate for each connection, by pacing; where the far end sends by -b as well, for
    stock servers do not pace."""
    each_bps = max(1, min(test.fq_rate_bps or each_bps, each_bps))
    far_sends = test.reverse or test.bidir
    return replace(test, fq_rate_bps=each_bps, rate_bps=each_bps if far_sends else 0)
