"""Made sessions: one direction, one constant rate, every counter as the test wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec, TestSpec
from tuiperf.session import Session, reduce

MSS = 1000
RTT_US = 40_000


def session(
    seconds: float = 8.0,
    *,
    rate_bps: float = 500e6,
    here_sends: bool = True,
    congestion: str = "cubic",
    host: tuple[float, float] = (0.1, 0.0),
    local_host: str = "10.0.0.1",
    over: bool = False,
    far: ev.Results | None = None,
    grown: dict[str, int] | None = None,
    link: dict[str, Any] | None = None,
    settings: dict[str, str] | None = None,
    rates: Callable[[float], float] | None = None,
    steps: dict[str, Callable[[float], float]] | None = None,
    growing: dict[str, float] | None = None,
    option: ev.OptionRead | None = None,
    test: dict[str, Any] | None = None,
    unread_bytes: int | None = None,
    **tcp: int,
) -> Session:
    """Run a made test: `tcp` are fields of TCP_INFO that stay, `growing` grow so much a second.

    `steps` give a field by the time, `rates` the rate. `grown`, `link` and `settings` are what the
    host's kernel tells of the time between begin and end.
    """
    spec = ClientSpec("far", test=TestSpec(reverse=not here_sends, **(test or {})))
    made = Session()
    idle_us = tcp.get("min_rtt_us", RTT_US)
    for event in _opening(spec, here_sends, congestion, (local_host, idle_us), option):
        reduce(made, event)
    carried_bytes = 0.0
    known = grown or link or settings
    if known:
        reduce(made, ev.HostFacts(0.0, "begin", settings or {}, dict.fromkeys(grown or {}, 0), {}))
    for tick in range(round(seconds * 10) + 1):
        at_s = tick / 10
        if tick:
            carried_bytes += (rates(at_s) if rates else rate_bps) / 80
        for number in range(spec.test.parallel):
            info = {**_idle(here_sends), **tcp}
            info |= {name: int(each * at_s) for name, each in (growing or {}).items()}
            info |= {name: int(each(at_s)) for name, each in (steps or {}).items()}
            carried = int(carried_bytes / spec.test.parallel)
            info["bytes_acked_bytes" if here_sends else "bytes_received_bytes"] = carried
            stream = 1 if number == 0 else number + 2
            reduce(
                made,
                ev.StreamSample(
                    at_s, tick, at_s, stream, here_sends, carried, unread_bytes, dict(info)
                ),
            )
        if tick % 10 == 0:
            reduce(made, ev.HostSample(at_s, at_s, host[0], host[0], host[1]))
    if known:
        reduce(made, ev.HostFacts(seconds, "end", settings or {}, grown or {}, link or {}))
    if over:
        for event in _closing(seconds, far):
            reduce(made, event)
    return made


def _idle(here_sends: bool) -> dict[str, int]:
    """A flow that nothing limits and that nothing happens to."""
    if not here_sends:
        return {
            "min_rtt_us": RTT_US,
            "rcv_rtt_us": RTT_US,
            "rcv_mss_bytes": MSS,
            "rcv_ssthresh_bytes": 20_000_000,
            "rcv_ooopack_packets": 0,
        }
    return {
        "min_rtt_us": RTT_US,
        "rtt_us": RTT_US,
        "snd_mss_bytes": MSS,
        "snd_cwnd_packets": 5_000,
        "unacked_packets": 2_500,
        "snd_wnd_bytes": 20_000_000,
        "notsent_bytes": 100_000,
        "total_retrans_packets": 0,
        "bytes_retrans_bytes": 0,
        "bytes_sent_bytes": 0,
        "busy_time_us": 0,
        "rwnd_limited_us": 0,
        "sndbuf_limited_us": 0,
        "reord_seen_events": 0,
        "dsack_dups_packets": 0,
        "total_rto_events": 0,
    }


def window_full(share: float = 0.9, window_bytes: int = 2_500_000) -> dict[str, Any]:
    """Counters of a sender that waits for the receiver's window."""
    return {
        "snd_wnd_bytes": window_bytes,
        "unacked_packets": window_bytes // MSS,
        "snd_cwnd_packets": 2 * window_bytes // MSS,
        "growing": {"busy_time_us": 1e6, "rwnd_limited_us": share * 1e6},
    }


def losing(share: float = 1e-3, rate_bps: float = 10e6) -> dict[str, Any]:
    """Counters of a sender whose packets get lost evenly, its cwnd always in use."""
    sent = rate_bps / 8
    return {
        "rate_bps": rate_bps,
        "snd_cwnd_packets": 50,
        "unacked_packets": 50,
        "growing": {
            "busy_time_us": 1e6,
            "bytes_sent_bytes": sent,
            "bytes_retrans_bytes": sent * share,
            "total_retrans_packets": sent * share / MSS,
        },
    }


def far_results(retransmits: int, sent_bytes: int, congestion: str = "cubic") -> ev.Results:
    row = ev.StreamResult(1, sent_bytes, retransmits, 0.0, 8.0)
    return ev.Results(8.0, "remote", congestion, 2.0, 1.0, 1.0, 1, (row,))


def _opening(
    spec: ClientSpec,
    here_sends: bool,
    congestion: str,
    local: tuple[str, int],
    option: ev.OptionRead | None,
) -> list[ev.Event]:
    count = spec.test.parallel
    local_host, idle_us = local
    ids = [1, *range(3, 2 + count)]
    events: list[ev.Event] = [
        ev.RunStarted(0.0, "made", "client", "tuiperf", "", 0.0, spec.to_json()),
        ev.Connected(0.0, local_host, 40000, "10.0.0.2", 5201, "", idle_us, MSS),
        ev.Agreed(0.0, spec.test.to_parameters("tuiperf")),
    ]
    if here_sends and congestion:
        events.append(ev.OptionRead(0.0, "congestion", None, congestion, congestion, ""))
    if option is not None:
        events.append(option)
    for stream in ids:
        events.append(
            ev.StreamOpened(0.0, stream, 5, here_sends, local_host, 40001, "10.0.0.2", 5201)
        )
    events.append(ev.TestStarted(0.0, 0.0, spec.test.window_bytes, 16384, 131072, MSS))
    return events


def _closing(seconds: float, far: ev.Results | None) -> list[ev.Event]:
    local = ev.Results(seconds, "local", "cubic", 2.0, 1.0, 1.0, 1, ())
    return [local, *([far] if far else []), ev.RunEnded(seconds, "completed")]
