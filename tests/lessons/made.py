"""Runs whose numbers a lesson takes."""

from __future__ import annotations

from tests import made
from tuiperf.lessons.own import OwnRun
from tuiperf.session import Session

WINDOW_RUN = OwnRun(
    peer="lab-b",
    udp=False,
    goodput_bps=171e6,
    sent_bps=172e6,
    min_rtt_us=11_800.0,
    rtt_us=12_400.0,
    in_flight_bytes=265_000.0,
    mss_bytes=1448,
    streams=1,
    retransmits=12,
    retransmitted_share=0.0002,
    congestion="cubic",
    link_bps=1e9,
)
UDP_RUN = OwnRun(
    peer="lab-b",
    udp=True,
    goodput_bps=48.5e6,
    sent_bps=50e6,
    min_rtt_us=11_800.0,
    lost_share=0.03,
    jitter_us=420.0,
)


def window_session(seconds: int = 6) -> Session:
    """A TCP run whose window of 262144 bytes holds it back."""
    path = made.Path(window_bytes=262_144, loss_at_s=())
    client = made.spec(time_s=seconds)
    middle = made.data(client, path)
    before = made.opening(client, path)
    return made.session_of([*before, *middle, *made.closing(client, middle, "completed")])
