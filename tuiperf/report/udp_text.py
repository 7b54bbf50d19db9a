"""The columns of iperf3's tables that only UDP has, behind the bit rate."""

from __future__ import annotations

from tuiperf import events as ev
from tuiperf.report.facts import Packets, percent

TOTAL = "         Total Datagrams"
JITTER_LOST = "         Jitter    Lost/Total Datagrams"
_NO_JITTER = " " * 10  # a sender's row in a table that has receivers' columns


def sent(packets: int, bidir: bool) -> str:
    """An interval of a sender."""
    return f" {_NO_JITTER if bidir else ''} {packets}  "


def received(udp: ev.UdpFigures) -> str:
    """An interval of a receiver."""
    return columns(Packets(udp.packets, udp.lost_packets, udp.jitter_s))


def columns(packets: Packets) -> str:
    """A receiver's row, and every row of a summary."""
    jitter = f"  {packets.jitter_ms:5.3f} ms  "
    if packets.lost is None:
        return f"{jitter}Unknown/{packets.total}  "
    share = percent(packets.lost, packets.total)
    return f"{jitter}{packets.lost}/{packets.total} ({share:.2g}%)  "


def of_sender(packets: Packets) -> str:
    """A sender's row of the summary: it knows of no loss."""
    return columns(Packets(packets.total, 0, 0.0))


def add_up(rows: list[ev.UdpFigures]) -> ev.UdpFigures:
    """An interval of several streams; their jitter is the mean of the streams'."""
    return ev.UdpFigures(
        sum(row.packets for row in rows),
        sum(row.lost_packets for row in rows),
        sum(row.out_of_order_packets for row in rows),
        sum(row.jitter_s for row in rows) / max(1, len(rows)),
    )
