"""A step's session read once: the few numbers and the verdicts that the plan goes by."""

from __future__ import annotations

from dataclasses import replace

from tuiperf.events import OptionRead
from tuiperf.rules import rfc6349, signs
from tuiperf.rules.book import judge
from tuiperf.rules.facts import Facts, derive
from tuiperf.rules.quantities import size
from tuiperf.rules.verdict import Verdict
from tuiperf.session import Direction, Session, datagrams, headline

from .known import Reading


def readings_of(session: Session) -> tuple[Reading, ...]:
    """Each direction of a finished step, the forward one first; () where no data was seen."""
    verdicts = judge(session)
    if session.test is not None and session.test.udp:
        return tuple(
            _of_datagrams(session, way, verdicts) for way in Direction if _has(session, way)
        )
    metrics = rfc6349.metrics(session)
    granted = tuple(filter(None, map(_granted, session.options)))
    return tuple(
        replace(
            _of_tcp(facts, _of_way(verdicts, facts.direction)),
            granted=granted,
            rfc6349=dict(metrics.get(facts.direction.value, {})),
        )
        for facts in derive(session)
    )


def carried_bytes(session: Session) -> int:
    """Payload that went over the path, in both directions, the omitted part included."""
    newest = (stream.latest for stream in session.streams.values())
    return sum(each.transferred_bytes for each in newest if each is not None)


def _has(session: Session, way: Direction) -> bool:
    return way in session.flows


def _of_way(verdicts: list[Verdict], way: Direction) -> tuple[Verdict, ...]:
    """Those of one direction; all of them where none names the other one."""
    other = Direction.REVERSE if way is Direction.FORWARD else Direction.FORWARD
    found = [v for v in verdicts if dict(v.qualifier).get("direction") != other.value]
    return tuple(found or verdicts)


def _of_tcp(facts: Facts, verdicts: tuple[Verdict, ...]) -> Reading:
    share, count = facts.retransmitted_share, facts.retransmits
    if share is None:
        share, count = facts.far_retransmitted_share, facts.far_retransmits
    return Reading(
        way=facts.direction,
        verdicts=verdicts,
        streams=facts.streams,
        goodput_bps=facts.goodput_bps,
        whole_bps=facts.whole_bps,
        best_bps=facts.motion.best_bps,
        min_rtt_us=facts.min_rtt_us,
        rtt_us=facts.rtt_us,
        peak_rtt_us=facts.peak_rtt_us,
        lost_share=share,
        lost_packets=count,
        scatter=facts.scatter,
        window_bytes=facts.snd_wnd_bytes if facts.here_sends else facts.rcv_window_bytes,
        congestion=facts.congestion or "",
        busy_share=signs.busy_share(facts),
        far_busy_share=facts.far_cpu_share or 0.0,
        same_host=facts.same_host,
        delivered_any=facts.delivered_any,
    )


def _of_datagrams(session: Session, way: Direction, verdicts: list[Verdict]) -> Reading:
    found, result = datagrams(session, way), headline(session, way)
    streams = len(session.streams_of(way))
    if found is None:
        return Reading(way, _of_way(verdicts, way), streams)
    return Reading(
        way=way,
        verdicts=_of_way(verdicts, way),
        streams=streams,
        goodput_bps=result.goodput_bps,
        whole_bps=result.goodput_bps,
        lost_share=found.lost_share,
        lost_packets=found.lost,
        jitter_s=found.jitter_s,
        late_packets=found.late,
        duplicates=found.duplicates,
        host_dropped=found.host_dropped,
        delivered_any=bool(result.received_bytes),
    )


def _granted(option: OptionRead) -> str:
    """A setting that was asked for, and what came of it."""
    got = option.effective if option.effective is not None else option.granted
    if option.asked is None or got is None:
        return ""
    asked, came = (
        size(each) if isinstance(each, int) and option.unit == "bytes" else f"{each} {option.unit}"
        for each in (option.asked, got)
    )
    name = option.name.replace("_", " ")
    return f"{name}: asked {asked.strip()}, in effect {came.strip()}"
