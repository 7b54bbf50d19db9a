"""What a path is good for, told for four uses with the thresholds they are held against. Pure.

Sources: ITU-T G.114 (one-way delay 150 ms, taken here as a round trip of 300 ms), G.1010 (loss of
voice below 3 %, of video below 1 %); the other limits are what common clients ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuiperf.rules.quantities import milliseconds, percent, rate, size
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Direction

from .known import Kind, Known, Reading

BULK_LOSS = 0.01
NIGHT_S = 8 * 3600.0
BACKUP_BYTES = 100e9
TALK_RTT_US = 300_000.0
VOICE_LOSS, VIDEO_LOSS = 0.03, 0.01
VOICE_BPS, VIDEO_BPS = 100e3, 4e6
TALK_JITTER_US = 30_000.0
LIMITED = frozenset({"lossy", "outage", "mtu-blackhole", "data-blocked", "duplex-mismatch"})


@dataclass(frozen=True)
class Use:
    """One use: good (fine), with a reservation (look), not usable (fault), or not known."""

    name: str
    level: Level
    text: str
    threshold: str


@dataclass(frozen=True)
class _Path:
    """The worse of both directions."""

    goodput_bps: float
    best_bps: float  # with several connections
    idle_us: float | None
    loaded_us: float | None
    loss: float | None
    jitter_us: float | None


def uses(known: Known, first: Verdict) -> tuple[Use, ...]:
    """Bulk transfer, backup, video call and voice; () while nothing was measured."""
    found = [known.baseline(way) for way in Direction]
    readings = [each for each in found if each is not None and each.goodput_bps is not None]
    if not readings:
        return ()
    path = _path(known, readings)
    return (
        _bulk(path, first),
        _backup(path),
        _talk("video call", path, VIDEO_BPS, VIDEO_LOSS),
        _talk("voice", path, VOICE_BPS, VOICE_LOSS),
    )


def _path(known: Known, readings: list[Reading]) -> _Path:
    idle = known.idle
    datagrams = [each for way in Direction if (each := known.reading(Kind.UDP, way)) is not None]
    losses = [each.lost_share for each in (datagrams or readings) if each.lost_share is not None]
    jitters = [1e6 * each.jitter_s for each in datagrams if each.jitter_s is not None]
    if not jitters and idle is not None and len(idle.rtts_us) > 1:
        jitters = [float(idle.spread_us)]
    loaded = [each.rtt_us for each in readings if each.rtt_us]
    return _Path(
        min(each.goodput_bps or 0.0 for each in readings),
        min(known.reached_bps(each.way) for each in readings),
        known.min_rtt_us,
        max(loaded, default=None),
        max(losses, default=None),
        max(jitters, default=None),
    )


def _bulk(path: _Path, first: Verdict) -> Use:
    threshold = f"less than {percent(BULK_LOSS)} sent again, and nothing that holds it back"
    lost = f"{percent(path.loss)} lost" if path.loss is not None else "loss not known"
    text = f"{rate(path.goodput_bps)} with one connection, {lost}"
    if first.id in LIMITED and first.level is Level.FAULT:
        return Use("bulk transfer", Level.FAULT, text, threshold)
    good = first.level is Level.FINE and (path.loss or 0.0) < BULK_LOSS
    return Use("bulk transfer", Level.FINE if good else Level.LOOK, text, threshold)


def _backup(path: _Path) -> Use:
    threshold = f"{size(BACKUP_BYTES)} within a night of 8 h"
    if path.best_bps <= 0:
        return Use("backup", Level.FAULT, "nothing gets through", threshold)
    hours = BACKUP_BYTES * 8 / path.best_bps / 3600
    night = size(path.best_bps / 8 * NIGHT_S)
    text = f"{size(BACKUP_BYTES)} take {hours:.1f} h, a night carries {night}"
    level = Level.FINE if hours <= 8 else Level.LOOK if hours <= 24 else Level.FAULT
    return Use("backup", level, text, threshold)


def _talk(name: str, path: _Path, least_bps: float, most_loss: float) -> Use:
    threshold = (
        f"{rate(least_bps)} each way, round trip {milliseconds(TALK_RTT_US)}, jitter "
        f"{milliseconds(TALK_JITTER_US)}, loss {percent(most_loss)} at most"
    )
    broken = []
    if path.best_bps < least_bps:
        broken.append(f"only {rate(path.best_bps)}")
    if (path.idle_us or 0.0) > TALK_RTT_US:
        broken.append(f"round trip {milliseconds(path.idle_us or 0.0)} without load")
    if (path.loss or 0.0) > most_loss:
        broken.append(f"{percent(path.loss or 0.0)} lost")
    if (path.jitter_us or 0.0) > TALK_JITTER_US:
        broken.append(f"jitter {milliseconds(path.jitter_us or 0.0)}")
    if broken:
        return Use(name, Level.FAULT, ", ".join(broken), threshold)
    if (path.loaded_us or 0.0) > TALK_RTT_US:
        text = f"while the path is busy its round trip is {milliseconds(path.loaded_us or 0.0)}"
        return Use(name, Level.LOOK, text, threshold)
    return Use(name, Level.FINE, _well(path), threshold)


def _well(path: _Path) -> str:
    loaded = f"round trip {milliseconds(path.loaded_us)} under load" if path.loaded_us else ""
    jitter = f"jitter {milliseconds(path.jitter_us)}" if path.jitter_us is not None else ""
    return ", ".join(filter(None, (loaded, jitter))) or "within the limits"
