"""The numbers that a lesson begins with: the reader's own where they are known, else an example."""

from __future__ import annotations

from dataclasses import dataclass

from tuiperf.lessons.formulas import MSS_BYTES, bdp_bytes, window_bps
from tuiperf.lessons.own import OwnRun

EXAMPLE_RATE_BPS = 1e9
EXAMPLE_RTT_US = 20_000.0
EXAMPLE_WINDOW_BYTES = 256.0 * 1024
EXAMPLE_LOSS = 0.001
LOSS_LEAST, LOSS_MOST = 1e-7, 0.05  # where there is something to calculate
EXAMPLE_OFFERED_BPS = 1e8
EXAMPLE_QUEUE_RATE_BPS = 1e8
EXAMPLE_QUEUE_BYTES = 1024.0 * 1024
QUEUE_LEAST_US = 1000.0
"""A shorter wait may be the hosts': no queue to calculate with."""


@dataclass(frozen=True)
class Case:
    """A path and a flow on it."""

    rate_bps: float = EXAMPLE_RATE_BPS  # what the path's slowest line carries
    goodput_bps: float = 941e6
    rtt_us: float = EXAMPLE_RTT_US
    window_bytes: float = EXAMPLE_WINDOW_BYTES
    loss: float = EXAMPLE_LOSS
    mss_bytes: float = MSS_BYTES
    offered_bps: float = EXAMPLE_OFFERED_BPS
    queue_rate_bps: float = EXAMPLE_QUEUE_RATE_BPS  # what leaves the queue
    queue_bytes: float = EXAMPLE_QUEUE_BYTES
    run: OwnRun | None = None

    @property
    def bdp_bytes(self) -> float:
        return bdp_bytes(self.rate_bps, self.rtt_us)

    @property
    def small_window_bytes(self) -> float:
        """The window, or an eighth of the path's content where the window is no small one."""
        if self.window_bytes <= self.bdp_bytes / 2 and self.streams_needed <= 64:
            return self.window_bytes
        return self.bdp_bytes / 8

    @property
    def streams_needed(self) -> int:
        """Streams of this window that fill the path."""
        return max(1, -int(-self.rate_bps // max(1.0, window_bps(self.window_bytes, self.rtt_us))))


def case_of(run: OwnRun | None) -> Case:
    """A case with the numbers of a run, and the example's where it does not know them."""
    if run is None:
        return Case()
    waiting = run.waited_us is not None and run.waited_us >= QUEUE_LEAST_US
    return Case(
        rate_bps=run.line_bps,
        goodput_bps=run.goodput_bps,
        rtt_us=run.min_rtt_us or EXAMPLE_RTT_US,
        window_bytes=_each_stream(run) or EXAMPLE_WINDOW_BYTES,
        loss=_loss(run),
        mss_bytes=run.mss_bytes or MSS_BYTES,
        offered_bps=run.sent_bps if run.udp and run.sent_bps else EXAMPLE_OFFERED_BPS,
        queue_rate_bps=run.goodput_bps if waiting else min(run.line_bps, EXAMPLE_QUEUE_RATE_BPS),
        queue_bytes=bdp_bytes(run.goodput_bps, run.waited_us or 0.0)
        if waiting
        else EXAMPLE_QUEUE_BYTES,
        run=run,
    )


def _loss(run: OwnRun) -> float:
    share = run.retransmitted_share or 0.0
    return min(share, LOSS_MOST) if share >= LOSS_LEAST else EXAMPLE_LOSS


def _each_stream(run: OwnRun) -> float:
    return (run.in_flight_bytes or 0.0) / max(1, run.streams)
