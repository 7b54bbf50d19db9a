"""Made UDP runs: a rate offered, a share of it lost, for either direction and both ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests import made
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec
from tuiperf.session import Session, reduce

SIZE = 1250  # bytes: 10,000 bits


@dataclass(frozen=True)
class Losses:
    """Of each second's datagrams of each stream."""

    lost: int = 0
    late: int = 0
    duplicates: int = 0
    host_dropped: int | None = 0
    jitter_s: float = 20e-6


NONE = Losses()


def spec(rate_bps: int = 10_000_000, **test: Any) -> ClientSpec:
    return made.spec(protocol="udp", block_bytes=SIZE, rate_bps=rate_bps, **test)


def events(
    client: ClientSpec, losses: Losses = NONE, *, ended: bool = True, seconds: int = 5
) -> list[ev.Event]:
    """A run of so many seconds, samples and intervals once a second; with `ended` to its end."""
    run = made.opening(client, made.Path())
    streams = made.stream_ids(client.test)
    for second in range(1, seconds + 1):
        for stream, sends in streams:
            whole = _figures(client, sends, losses, second)
            run.append(
                ev.StreamSample(
                    0.07 + second,
                    second,
                    float(second),
                    stream,
                    sends,
                    _carried(whole),
                    udp=whole,
                )
            )
        rows = []
        for stream, sends in streams:
            part = _figures(client, sends, losses, 1)
            start_s, end_s = float(second - 1), float(second)
            rows.append(ev.StreamInterval(stream, sends, start_s, end_s, _carried(part), udp=part))
        run.append(ev.Interval(0.07 + second, float(second - 1), float(second), False, tuple(rows)))
    return [*run, *_closing(client, losses, seconds)] if ended else run


def session(
    client: ClientSpec, losses: Losses = NONE, *, ended: bool = True, seconds: int = 5
) -> Session:
    found = Session()
    for event in events(client, losses, ended=ended, seconds=seconds):
        reduce(found, event)
    return found


def _figures(client: ClientSpec, sends: bool, losses: Losses, seconds: int) -> ev.UdpFigures:
    packets = client.test.rate_bps // (8 * SIZE) * seconds
    if sends:
        return ev.UdpFigures(packets)
    dropped = losses.host_dropped
    return ev.UdpFigures(
        packets,
        max(0, losses.lost - losses.duplicates) * seconds,
        (losses.late + losses.duplicates) * seconds,
        losses.jitter_s,
        losses.lost * seconds,
        losses.late * seconds,
        losses.duplicates * seconds,
        7 if losses.late else 0,
        None if dropped is None else dropped * seconds,
    )


def _carried(figures: ev.UdpFigures) -> int:
    return (figures.packets - figures.missing_packets) * SIZE


def _closing(client: ClientSpec, losses: Losses, seconds: int) -> list[ev.Event]:
    ends: list[ev.Event] = []
    for side in ("local", "remote"):
        rows = []
        for stream, sends in made.stream_ids(client.test):
            sender = sends == (side == "local")
            udp = _figures(client, sender, losses, seconds)
            rows.append(
                ev.StreamResult(
                    stream,
                    _carried(udp),
                    None,
                    0.0,
                    float(seconds),
                    udp.jitter_s,
                    udp.lost_packets,
                    udp.packets,
                    udp=udp if side == "local" else None,
                )
            )
        ends.append(ev.Results(seconds + 0.1, side, None, 3.0, 1.0, 2.0, 0, tuple(rows)))
    return [*ends, ev.RunEnded(seconds + 0.2, "completed")]
