"""What is held of one direction so far: its verdict, whether that is settled, and which experiments
would settle it. Pure.

Each cause has the experiment that tells it from what looks like it; the first verdict of the first
run says which cause to test. Thresholds are ratios between two runs of the same path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from tuiperf.rules.quantities import milliseconds, percent, rate, times
from tuiperf.rules.verdict import Confidence, Level, Verdict
from tuiperf.session import Direction

from . import experiments
from .known import Kind, Known, Reading, Step
from .wording import (
    alike,
    confirmed,
    full_for_all,
    limiter,
    line_loss,
    more_together,
    nothing_passes,
    too_large,
)

GROWN = 1.5  # measured: windows and buffers 1.8 to 4, random loss 4 to 6, full paths and limiters
SAME = 1.2  # 0.93 to 1.08
STAYS, GOES = 0.5, 0.1  # loss when paced over loss before; measured 0.8 to 1.2, and 0 to 0.03
STAYS_LEAST = 3  # packets
PACED_MOST = 0.95  # of the first result; paced at 80 % of it
FASTER = 1.5  # BBR over cubic; measured 30 and more under random loss, 1.0 to 1.15 at limiters
QUEUE_LEAST_US = 600.0  # what a short queue adds at the median; a rate limiter adds nothing
DUPLEX_MOST_BPS, DUPLEX_MOST_RTT_US, DUPLEX_LEAST_LOSS = 98e6, 20_000.0, 3e-3
"""Where frames may collide: ports of 10 and 100 Mbit/s nearby, and more loss than a line has."""
STEADY_IDLE_US, VARIES_IDLE_US = 1000, 1500
"""Spread of idle round trips; measured 100 to 500 on steady paths, 12,000 and more with jitter."""
MUCH_LOST = {Direction.FORWARD: 5e-3, Direction.REVERSE: 2e-2}
"""A queue of the path's own content that overflows loses less under cubic; of the far sender the
losses of the start are counted as well."""
SURELY_BREAKS = 0.4
BREAKS = 0.7  # of its goodput alone that a direction keeps beside the other one
STEADY = 0.1  # runs that differ less are alike
RUNS = 3
MOST_STREAMS = 16


class State(Enum):
    """How far a direction's question has come."""

    SETTLED = "settled"
    OPEN = "open"  # there is an experiment that may settle it
    UNKNOWN = "unknown"  # nothing was measured


@dataclass(frozen=True)
class Opinion:
    """`wants` are the experiments that would settle it, the best one first."""

    way: Direction
    state: State
    verdict: Verdict | None
    wants: tuple[Step, ...] = ()
    question: str = ""  # what is open, in words

    @property
    def settled(self) -> bool:
        return self.state is State.SETTLED


@dataclass(frozen=True)
class View:
    """One direction of what is known, as the causes look at it."""

    known: Known
    way: Direction
    base: Reading

    @property
    def words(self) -> str:
        return experiments.words(self.way, self.known.host)

    @property
    def verdict(self) -> Verdict:
        return self.base.verdict

    def parallel(self, streams: int = 0) -> Reading | None:
        return self.known.reading(Kind.PARALLEL, self.way, str(streams or ""))

    def growth(self, reading: Reading | None) -> float | None:
        """Goodput of another run over that of the first."""
        if reading is None or reading.goodput_bps is None or not self.base.goodput_bps:
            return None
        return reading.goodput_bps / self.base.goodput_bps

    def side(self) -> str:
        return dict(self.verdict.qualifier).get("side", "")

    def settled(self, verdict: Verdict) -> Opinion:
        return Opinion(self.way, State.SETTLED, verdict)

    def open(self, question: str, *wants: Step | None) -> Opinion:
        """Something is left to ask; when all of it was tried, the verdict stands as it is."""
        left = tuple(each for each in wants if each is not None and not self.known.tried(each))
        state = State.OPEN if left else State.SETTLED
        return Opinion(self.way, state, self.verdict, left, question)


Cause = Callable[[View], Opinion]


def opinion(known: Known, way: Direction) -> Opinion:
    """What is held of a direction."""
    base = known.baseline(way)
    if base is None or not base.verdicts:
        return Opinion(way, State.UNKNOWN, None)
    again = known.reading(Kind.LONGER, way)
    if again is not None and again.goodput_bps:
        base = again
    view = View(known, way, base)
    if not base.goodput_bps and not base.delivered_any:
        return _nothing_arrives(view)
    cause = CAUSES.get(base.verdict.id, _no_limit)
    found = cause(view)
    return _like_the_other(view, found) if found.state is State.OPEN else found


def _like_the_other(view: View, found: Opinion) -> Opinion:
    """Both directions with one cause: an experiment in one of them speaks for the other too."""
    other = Direction.REVERSE if view.way is Direction.FORWARD else Direction.FORWARD
    base = view.known.baseline(other)
    if base is None or not base.verdicts or base.verdict.id != view.verdict.id:
        return found
    if view.verdict.id not in ALIKE or _kept_apart(view.base, base):
        return found
    there = CAUSES[base.verdict.id](View(view.known, other, base))
    if not there.settled or there.verdict is None or there.verdict.id != view.verdict.id:
        return found
    return view.settled(alike(view.verdict, there.verdict))


def _kept_apart(one: Reading, other: Reading) -> bool:
    """The two directions differ too much for one experiment to speak for both."""
    rates = sorted((one.goodput_bps or 0.0, other.goodput_bps or 0.0))
    return rates[0] < rates[1] / GROWN


def _nothing_arrives(view: View) -> Opinion:
    step = experiments.mss(view.known, view.way)
    small = view.known.reading(Kind.MSS, view.way)
    if small is None:
        return view.open("are full packets too large for the path?", step)
    if small.goodput_bps:
        return view.settled(too_large(view.verdict, view.words, small))
    return view.settled(nothing_passes(view.verdict, view.words))


def _not_yet(view: View) -> Opinion:
    return view.open("is it only slow to start?", experiments.longer(view.known, view.way))


def _lossy(view: View) -> Opinion:
    explained = _collisions(view) or _collisions_there(view)
    if explained is not None:
        return explained
    found = _how_it_loses(view)
    ask = experiments.both_ways(view.known)
    if found.settled and _may_collide(view) and not view.known.tried(ask):
        opened = view.open("do frames of the two directions collide?", ask)
        return replace(opened, verdict=found.verdict)
    return found


def _how_it_loses(view: View) -> Opinion:
    base, known, way = view.base, view.known, view.way
    paced = known.reading(Kind.PACED, way)
    four = view.parallel(4)
    growth = view.growth(four)
    stays = _stays(base, paced)
    if stays:
        return view.settled(line_loss(view.verdict, view.words, base, paced=paced, growth=growth))
    asks = [experiments.paced(known, way, base), experiments.parallel(known, way, 4)]
    if experiments.paced_s(base) > experiments.PACED_MOST_S:
        asks.reverse()
    if paced is None and growth is not None and growth >= GROWN + 1:
        return view.settled(line_loss(view.verdict, view.words, base, growth=growth))
    if growth is not None and four is not None and (stays is False or growth < SAME):
        kind = _limiter_kind(four, growth)
        if kind == "path-loss":
            return view.settled(line_loss(view.verdict, view.words, base, growth=growth))
        return view.settled(limiter(view.verdict, view.words, base, four, kind=kind, paced=paced))
    asks.append(experiments.control(known, way))
    return view.open("does the line lose packets, or a queue, or a rate limiter?", *asks)


def _stays(base: Reading, paced: Reading | None) -> bool | None:
    """True: paced, as much is lost. False: nearly nothing. None: not known."""
    if paced is None or paced.lost_share is None:
        return None
    if (paced.goodput_bps or 0.0) > PACED_MOST * (base.goodput_bps or 0.0):
        return None  # the far end did not pace
    before = base.lost_share or 0.0
    if paced.lost_share >= STAYS * before and (paced.lost_packets or 0) >= STAYS_LEAST:
        return True
    return False if paced.lost_share <= GOES * before or not paced.lost_packets else None


def _limiter_kind(four: Reading, growth: float) -> str:
    """A short queue shows in the round trip, a limiter never does; bursts on a line let four
    connections carry more."""
    waited_us = (four.rtt_us or 0.0) - (four.min_rtt_us or four.rtt_us or 0.0)
    if waited_us >= QUEUE_LEAST_US:
        return "shallow-queue"
    return "policed" if growth < GROWN else "path-loss"


def _may_collide(view: View) -> bool:
    base = view.base
    near = (base.min_rtt_us or DUPLEX_MOST_RTT_US) < DUPLEX_MOST_RTT_US
    slow = (base.goodput_bps or 0.0) < DUPLEX_MOST_BPS
    return near and slow and (base.lost_share or 0.0) >= DUPLEX_LEAST_LOSS


def _collisions(view: View) -> Opinion | None:
    """One direction breaks down as soon as the other one sends."""
    beside = view.known.reading(Kind.BIDIR, view.way)
    kept = view.growth(beside)
    if beside is None or kept is None or kept >= BREAKS or not _may_collide(view):
        return None
    verdict = Verdict(
        id="duplex-mismatch",
        level=Level.FAULT,
        confidence=Confidence.HIGH if kept < SURELY_BREAKS else Confidence.MEDIUM,
        title="Duplex mismatch",
        short=f"{percent(kept)} beside the other",
        claim=(
            f"{view.words}: frames collide with those of the other direction: one end of a cable "
            "believes in half duplex."
        ),
        because=(
            f"alone {rate(view.base.goodput_bps or 0.0)} with {percent(view.base.lost_share or 0)} "
            f"lost, beside the other direction {rate(beside.goodput_bps or 0.0)}",
            *view.verdict.because[:2],
        ),
        ruled_out=("a rate limiter or a short queue: neither minds the other direction",),
        next=(
            "look at speed and duplex on both ends of each cable: 'auto' on both, or neither",
            "tuiperf link shows this host's own port",
        ),
        qualifier=(("direction", view.way.value),),
    )
    return view.settled(verdict)


def _window(view: View) -> Opinion:
    four = view.parallel()
    growth = view.growth(four)
    if four is None or growth is None:
        ask = experiments.parallel(view.known, view.way, 4)
        return view.open("is it each connection that is limited?", ask)
    if growth >= GROWN:
        line = (
            f"{four.streams} connections carry {rate(four.goodput_bps or 0.0)}, {times(growth)} as "
            "much: each one is limited, not the path"
        )
        cure = view.known.reading(Kind.WINDOW, view.way)
        if cure is not None and (view.growth(cure) or 0.0) >= SAME:
            line += f"; with larger buffers one carries {rate(cure.goodput_bps or 0.0)}"
        return view.settled(confirmed(view.verdict, line, Confidence.HIGH))
    if view.side() == "sender" and view.verdict.confidence is Confidence.LOW:
        return view.settled(_slow_program(view, four, growth))
    line = f"yet {four.streams} connections carry only {times(growth)} as much"
    return view.settled(confirmed(view.verdict, line, Confidence.LOW))


def _slow_program(view: View, four: Reading, growth: float) -> Verdict:
    """The far end holds back, and more connections do not help: not a buffer."""
    return replace(
        view.verdict,
        id="offered-less",
        level=Level.LOOK,
        confidence=Confidence.MEDIUM,
        title="Sender is slow",
        claim=f"{view.words}: the sending host or program offers less than the path would take.",
        because=(
            *view.verdict.because,
            f"{four.streams} connections carry {times(growth)} as much: no buffer of one is the "
            "limit",
        ),
        next=("look at the CPU, the disk and the settings of the sending host",),
        qualifier=(("direction", view.way.value),),
    )


def _reader(view: View) -> Opinion:
    growth = view.growth(view.parallel())
    if growth is None:
        ask = experiments.parallel(view.known, view.way, 4)
        return view.open("does each connection wait for its reader?", ask)
    line = f"4 connections carry {times(growth)} as much as one"
    return view.settled(confirmed(view.verdict, line, view.verdict.confidence))


def _busy(view: View) -> Opinion:
    two = view.parallel()
    growth = view.growth(two)
    if two is None or growth is None:
        ask = experiments.parallel(view.known, view.way, 2)
        return view.open("is it one core or the whole host?", ask)
    line = f"{two.streams} connections carry {times(growth)} as much"
    sure = Confidence.HIGH if growth >= GROWN - 0.2 else view.verdict.confidence
    return view.settled(confirmed(view.verdict, line, sure))


def _full(view: View) -> Opinion:
    if view.verdict.confidence is Confidence.HIGH or view.verdict.id in ("line-rate", "slow-hop"):
        return view.settled(view.verdict)
    four = view.parallel()
    growth = view.growth(four)
    if four is None or growth is None:
        ask = experiments.parallel(view.known, view.way, 4)
        return view.open("do more connections carry more?", ask)
    if growth < SAME:
        line = f"{four.streams} connections carry no more: {times(growth)} as much"
        return view.settled(confirmed(view.verdict, line, Confidence.HIGH))
    return view.settled(more_together(view.verdict, view.words, view.base, four))


def _no_limit(view: View) -> Opinion:
    """No rule holds: look for a limit of each connection, then for loss that is too rare to see."""
    if view.base.same_host or view.verdict.level is Level.PENDING:
        return view.settled(view.verdict) if view.base.same_host else _not_yet(view)
    explained = _collisions_there(view)
    if explained is not None:
        return explained
    if (view.base.lost_share or 0.0) >= MUCH_LOST[view.way]:
        return _much_lost(view)
    four = view.parallel()
    growth = view.growth(four)
    if four is None or growth is None:
        return view.open("do more connections carry more?", _four(view))
    if growth < SAME:
        return view.settled(full_for_all(view.verdict, view.words, view.base, four))
    bbr = view.known.reading(Kind.CONTROL, view.way)
    faster = view.growth(bbr)
    if faster is None or bbr is None:
        ask = experiments.control(view.known, view.way)
        opened = view.open("does rare loss hold each connection back?", ask)
        return replace(opened, verdict=more_together(view.verdict, view.words, view.base, four))
    if faster >= FASTER and view.base.lost_packets:
        return view.settled(
            line_loss(view.verdict, view.words, view.base, growth=growth, faster=faster)
        )
    return view.settled(more_together(view.verdict, view.words, view.base, four))


def _collisions_there(view: View) -> Opinion | None:
    """Frames of the other direction collide with those of this one: that explains both."""
    other = Direction.REVERSE if view.way is Direction.FORWARD else Direction.FORWARD
    base = view.known.baseline(other)
    found = _collisions(View(view.known, other, base)) if base is not None else None
    return replace(found, way=view.way) if found is not None else None


def _much_lost(view: View) -> Opinion:
    """So much is lost that it must be the reason, though a queue was there too."""
    ask = experiments.both_ways(view.known)
    if _may_collide(view) and not view.known.tried(ask):
        return view.open("do frames of the two directions collide?", ask)
    return _lossy(view)


def _four(view: View) -> Step:
    return experiments.parallel(view.known, view.way, 4)


def _delay(view: View) -> Opinion:
    """A full queue and a line that varies by itself look alike under load, not without it."""
    idle = view.known.idle
    if idle is None or len(idle.rtts_us) < 4:
        return view.settled(view.verdict)
    spread, added = idle.spread_us, (view.base.rtt_us or 0.0) - (idle.least_us or 0)
    line = f"without load round trips vary by {milliseconds(spread)}"
    if view.verdict.id == "bufferbloat":
        steady = spread < added / 4
        sure = Confidence.HIGH if steady else view.verdict.confidence
        return view.settled(confirmed(view.verdict, line, sure))
    rest = view.base.verdicts[1:]
    if spread < STEADY_IDLE_US and rest and rest[0].id in CAUSES:
        calm = replace(view, base=replace(view.base, verdicts=rest))
        return CAUSES[rest[0].id](calm)  # it varies under load alone: that is the load's
    sure = Confidence.HIGH if spread > VARIES_IDLE_US else view.verdict.confidence
    return view.settled(confirmed(view.verdict, line, sure))


def _order(view: View) -> Opinion:
    """Inferred at a receiver it needs datagrams, whose numbers tell."""
    if view.verdict.confidence is Confidence.HIGH or view.way is Direction.FORWARD:
        return view.settled(view.verdict)
    told = view.known.reading(Kind.UDP, view.way)
    if told is None:
        ask = experiments.udp(view.known, view.way)
        return view.open("do datagrams overtake each other as well?", ask)
    count = told.late_packets if view.verdict.id == "reordered" else told.duplicates
    if not count:
        return view.settled(view.verdict)
    what = "came late" if view.verdict.id == "reordered" else "came twice"
    return view.settled(confirmed(view.verdict, f"{count} datagrams {what} too", Confidence.HIGH))


def _dead(view: View) -> Opinion:
    if view.verdict.confidence is Confidence.HIGH:
        return view.settled(view.verdict)
    return view.open("does it go dead again?", experiments.longer(view.known, view.way))


def _unsteady(view: View) -> Opinion:
    runs = [view.base, *view.known.readings(Kind.REPEAT, view.way)]
    rates = sorted(each.goodput_bps or 0.0 for each in runs)
    if len(runs) < RUNS:
        ask = experiments.repeat(view.known, view.way, len(runs) + 1)
        return view.open("is every run as uneven?", ask)
    spread = rates[-1] / rates[0] - 1 if rates[0] else 9.0
    line = f"{len(runs)} runs gave {rate(rates[0])} to {rate(rates[-1])}"
    sure = Confidence.HIGH if spread > STEADY else view.verdict.confidence
    return view.settled(confirmed(view.verdict, line, sure))


def _as_it_is(view: View) -> Opinion:
    return view.settled(view.verdict)


CAUSES: dict[str, Cause] = {
    "cannot-tell": _not_yet,
    "still-ramping": _not_yet,
    "lossy": _lossy,
    "window-limited": _window,
    "slow-reader": _reader,
    "host-limited": _busy,
    "path-full": _full,
    "line-rate": _full,
    "slow-hop": _full,
    "no-limit-found": _no_limit,
    "bufferbloat": _delay,
    "jitter": _delay,
    "reordered": _order,
    "duplicated": _order,
    "outage": _dead,
    "unsteady": _unsteady,
    "duplex-mismatch": _as_it_is,
    "offered-less": _as_it_is,
    "ecn-marked": _as_it_is,
    "middlebox": _as_it_is,
    "link-degraded": _as_it_is,
    "on-the-air": _as_it_is,
    "shared-medium": _as_it_is,
}
"""What is done about each first verdict; any other one is treated as no limit found."""

ALIKE = frozenset({"window-limited", "path-full", "no-limit-found"})
"""Causes that one experiment may settle for both directions."""
