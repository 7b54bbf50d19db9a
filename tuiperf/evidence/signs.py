"""Signs of damage and of drops in counters, each from the best source that counts it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .counters import Counts, Window

_OWN_FCS = re.compile(r"\A(rx_)?(port_|phy_)?(crc|fcs)_?(err(or)?s?)(_phy)?\Z")
_OWN_SYMBOLS = re.compile(r"\A(rx_)?(port_|phy_)?symbol_?(err(or)?s?)(_phy)?\Z")
_OWN_MISSED = re.compile(
    r"\A(port\.)?rx_?(missed(_errors)?|no_buffer_count|out_of_buffer|no_dma_resources|discards_phy)\Z"
)
_OWN_PAUSES = re.compile(
    r"\Arx_(flow_control_xoff|pause_ctrl_phy|pause_frames|pause|xoff_frames)\Z", re.IGNORECASE
)

DROPS_BAD_SHARE = 0.001
"""Share of received frames above which TCP feels drops on any path (Mathis, 1 Gbit/s at 1 ms)."""
QUEUE_DROPS_LEAST = 10


@dataclass(frozen=True)
class Errors:
    """Damage and drops that were counted. Of several sources for one thing the largest counts."""

    damaged: int  # frames whose checksum is wrong
    misaligned: int
    symbols: int
    late_collisions: int
    lost_carrier: int  # while sending
    missed: int  # frames that reached the card and found no room in this host
    uncorrectable: int  # blocks that forward error correction gave up
    pauses: int  # times that the partner asked for a pause
    received_bits: int

    @property
    def medium(self) -> int:
        """Frames that the cable or its ends spoiled."""
        return max(self.damaged, self.misaligned)


def errors(counted: Counts | Window | None) -> Errors | None:
    """What was counted, None when nothing was read."""
    if counted is None or not counted.nic:
        return None
    nic, standard, own = counted.nic, counted.standard, counted.driver
    return Errors(
        damaged=max(
            nic.get("rx_crc_errors", 0),
            standard.get("FrameCheckSequenceErrors", 0),
            _own(own, _OWN_FCS),
        ),
        misaligned=max(nic.get("rx_frame_errors", 0), standard.get("AlignmentErrors", 0)),
        symbols=max(standard.get("SymbolErrorDuringCarrier", 0), _own(own, _OWN_SYMBOLS)),
        late_collisions=max(nic.get("tx_window_errors", 0), standard.get("LateCollisions", 0)),
        lost_carrier=max(nic.get("tx_carrier_errors", 0), standard.get("CarrierSenseErrors", 0)),
        missed=max(
            nic.get("rx_missed_errors", 0) + nic.get("rx_fifo_errors", 0),
            nic.get("rx_over_errors", 0),
            _own(own, _OWN_MISSED),
        ),
        uncorrectable=standard.get("FecUncorrectableBlocks", 0),
        pauses=max(standard.get("PauseFramesReceived", 0), _own(own, _OWN_PAUSES)),
        received_bits=8 * nic.get("rx_bytes", 0),
    )


def softnet_share(window: Window) -> float:
    """The share of all that the kernel took from all cards which its backlog dropped, 0 to 1."""
    counted = window.softnet
    return counted.dropped / max(1, counted.processed + counted.dropped) if counted else 0.0


def qdisc_share(window: Window) -> float:
    """The share of what an interface had to send which its queues dropped, 0 to 1."""
    dropped = window.qdisc_drops or 0
    return dropped / max(1, dropped + window.nic.get("tx_packets", 0))


def overflows(window: Window) -> bool:
    """True when its own queues dropped more than the few that full queues do."""
    many = (window.qdisc_drops or 0) >= QUEUE_DROPS_LEAST
    return many and qdisc_share(window) >= DROPS_BAD_SHARE


def _own(counters: Mapping[str, int], names: re.Pattern[str]) -> int:
    return max((count for name, count in counters.items() if names.match(name)), default=0)
