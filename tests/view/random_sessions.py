"""Sessions built from events with any numbers, in any order."""

from __future__ import annotations

from hypothesis import strategies as st

from tests import made
from tuiperf import events as ev

_numbers = st.integers(-ev.MOST, ev.MOST)
_maybe = st.none() | _numbers
_seconds = st.floats(-1.8e19, 1.8e19)
_names = st.text(max_size=20)
_streams = st.integers(1, 4)

_tests = st.builds(
    made.spec,
    _names,
    protocol=st.sampled_from(["tcp", "udp"]),
    block_bytes=st.sampled_from([16, 1448]),
    time_s=st.integers(0, 86400),
    parallel=st.integers(1, 128),
    bidir=st.booleans(),
    omit_s=st.integers(0, 600),
)
_infos = st.fixed_dictionaries(
    dict.fromkeys(
        (
            "rtt_us",
            "min_rtt_us",
            "snd_mss_bytes",
            "snd_cwnd_packets",
            "total_retrans_packets",
            "bytes_sent_bytes",
            "bytes_retrans_bytes",
            "bytes_acked_bytes",
        ),
        _maybe,
    )
)
_figures = st.none() | st.builds(
    ev.UdpFigures,
    _numbers,
    _numbers,
    _numbers,
    _seconds,
    _numbers,
    _numbers,
    _numbers,
    _numbers,
    _maybe,
)
_rows = st.builds(
    ev.StreamInterval,
    _streams,
    st.booleans(),
    _seconds,
    _seconds,
    _numbers,
    retransmits=_maybe,
    cwnd_bytes=_maybe,
    rtt_us=_maybe,
    udp=_figures,
)
_results = st.builds(
    ev.StreamResult,
    _streams,
    _numbers,
    _maybe,
    start_s=st.just(0.0),
    end_s=_seconds,
    jitter_s=_seconds,
    lost_packets=_numbers,
    packets=_numbers,
    omitted_packets=_maybe,
    udp=_figures,
)

any_event: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(
        lambda t_s, test, system: ev.RunStarted(
            t_s, "r", "client", "t", system, 0.0, test.to_json()
        ),
        _seconds,
        _tests,
        _names,
    ),
    st.builds(
        lambda t_s, host, rtt_us: ev.Connected(t_s, "a", 1, host, 2, "c", rtt_us, 1448),
        _seconds,
        _names,
        _maybe,
    ),
    st.builds(lambda t_s, test: ev.Agreed(t_s, test.test.to_parameters("3")), _seconds, _tests),
    st.builds(
        lambda t_s, stream, sends: ev.StreamOpened(t_s, stream, 5, sends, "a", 1, "b", 2),
        _seconds,
        _streams,
        st.booleans(),
    ),
    st.builds(
        ev.StreamSample,
        _seconds,
        st.integers(0, 50),
        _seconds,
        _streams,
        st.booleans(),
        _numbers,
        st.none(),
        _infos,
        udp=_figures,
    ),
    st.builds(
        ev.Interval,
        _seconds,
        _seconds,
        _seconds,
        st.booleans(),
        st.lists(_rows, max_size=5).map(tuple),
    ),
    st.builds(
        ev.Results,
        _seconds,
        st.sampled_from(["local", "remote"]),
        _names,
        st.just(1.0),
        st.just(1.0),
        st.just(0.0),
        st.just(1),
        st.tuples(_results),
    ),
    st.builds(ev.Failed, _seconds, st.just(1), _names, awaited=st.none() | _names),
    st.builds(
        ev.RunEnded,
        _seconds,
        st.sampled_from(["completed", "interrupted", "failed"]),
        st.none() | _names,
    ),
)

any_session = st.lists(any_event, max_size=25).map(made.session_of)
