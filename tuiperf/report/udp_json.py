"""The members of iperf3's document that only a UDP test has."""

from __future__ import annotations

from typing import Any

from tuiperf import events as ev
from tuiperf.report.facts import Count, Facts, Group, Packets, percent, rate, total

Json = dict[str, Any]


def interval_members(udp: ev.UdpFigures, sends: bool) -> Json:
    """What a row of an interval tells of its datagrams."""
    if sends:
        return {"packets": udp.packets}
    return {
        "jitter_ms": udp.jitter_s * 1000,
        "lost_packets": udp.lost_packets,
        "packets": udp.packets,
        "lost_percent": percent(udp.lost_packets, udp.packets),
    }


def end_stream(fd: int, facts: Facts, group: Group, sent: Count | None, got: Count | None) -> Json:
    """One stream's totals: the sender's bytes and time, the receiver's losses."""
    sent_packets, got_packets = _packets(sent), _packets(got)
    all_of_it = sent_packets or got_packets
    document: Json = {
        "socket": fd,
        **_span(facts, sent),
        **_losses(got_packets, all_of_it, sent_packets),
        "out_of_order": got_packets.out_of_order if got_packets else 0,
        "sender": group.sends,
    }
    return {"udp": document}


def end_sums(
    facts: Facts, group: Group, sent: dict[int, Count], got: dict[int, Count], suffix: str
) -> Json:
    """The three sums of a direction."""
    all_sent, all_got = total(sent, group), total(got, group)
    sent_packets, got_packets = _packets(all_sent), _packets(all_got)
    all_of_it = sent_packets or got_packets
    whole = _losses(got_packets, all_of_it, all_of_it)
    received = _losses(got_packets, got_packets, all_of_it)
    nothing_lost = Packets(sent_packets.total, 0, 0.0) if sent_packets else None
    mixed: Json = {**_span(facts, all_sent)}
    mixed["end"] = mixed["seconds"] = _seconds(facts, all_got)
    return {
        f"sum{suffix}": {**mixed, **whole, "sender": group.sends},
        f"sum_sent{suffix}": {
            **_span(facts, all_sent),
            **_losses(nothing_lost, sent_packets, sent_packets),
            "sender": True,
        },
        f"sum_received{suffix}": {**_span(facts, all_got), **received, "sender": False},
    }


def _packets(count: Count | None) -> Packets | None:
    return count.packets if count else None


def _seconds(facts: Facts, count: Count | None) -> float:
    return round(count.seconds if count else facts.local_s, 6)


def _span(facts: Facts, count: Count | None) -> Json:
    """Time, bytes and rate; null for what the end in question did not tell."""
    seconds = _seconds(facts, count)
    return {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": count.bytes if count else None,
        "bits_per_second": rate(count.bytes, seconds) * 8 if count else None,
    }


def _losses(lost: Packets | None, counted: Packets | None, whole: Packets | None) -> Json:
    """Jitter and losses as the receiver saw them, against all the datagrams there were."""
    part = lost.lost if lost else None
    return {
        "jitter_ms": lost.jitter_ms if lost else None,
        "lost_packets": part,
        "packets": counted.total if counted else None,
        "lost_percent": percent(part, whole.total) if part is not None and whole else None,
    }
