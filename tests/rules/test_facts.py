from __future__ import annotations

import pytest

from tests.rules import steady
from tuiperf import events as ev
from tuiperf.rules import facts as rules_facts
from tuiperf.rules.facts import Facts, derive
from tuiperf.session import Direction, Session, reduce


def only(session: Session) -> Facts:
    (facts,) = derive(session)
    return facts


@pytest.mark.parametrize(
    ("test_s", "rtt_us", "left_out_s"),
    [
        (0.0, None, 1.0),
        (7.9, 10_000, 1.0),
        (8.0, 10_000, 2.0),
        (15.9, 10_000, 2.0),
        (16.0, 10_000, 4.0),
        (3600.0, 10_000, 512.0),
        (3.0, 200_000, 3.0),
    ],
)
def test_the_warm_up_doubles_when_the_test_does_and_spans_fifteen_rtts(
    test_s: float, rtt_us: float | None, left_out_s: float
) -> None:
    assert rules_facts.warmup_s(test_s, rtt_us) == pytest.approx(left_out_s)


def test_the_steady_part_leaves_the_warm_up_out() -> None:
    facts = only(steady.session(10.0, rate_bps=80e6, over=True))
    assert facts.elapsed_s == pytest.approx(10.0)
    assert facts.steady_s == pytest.approx(8.0)
    assert facts.goodput_bps == pytest.approx(80e6, rel=1e-4)
    assert facts.growth == pytest.approx(1.0, abs=1e-3)
    assert facts.scatter == pytest.approx(0.0, abs=1e-3)


def test_the_omitted_part_is_left_out_before() -> None:
    facts = only(steady.session(10.0, test={"omit_s": 6}, over=True))
    assert facts.omit_s == 6
    assert facts.elapsed_s == pytest.approx(4.0)
    assert facts.steady_s == pytest.approx(4.0)


def test_bdp_is_goodput_times_minimum_rtt() -> None:
    facts = only(steady.session(rate_bps=500e6))
    assert facts.bdp_bytes == pytest.approx(500e6 * 0.040 / 8, rel=1e-4)


def test_window_and_shares_come_from_counters_of_the_steady_part() -> None:
    facts = only(steady.session(**steady.window_full(0.9)))
    assert facts.rwnd_limited_share == pytest.approx(0.9)
    assert facts.sndbuf_limited_share == 0.0
    assert facts.window_used == pytest.approx(1.0)
    assert facts.cwnd_used == pytest.approx(0.5)
    assert facts.in_flight_bytes == 2_500_000
    assert facts.snd_wnd_spread == 1.0


def test_windows_of_parallel_streams_add_up() -> None:
    facts = only(steady.session(test={"parallel": 4}, **steady.window_full()))
    assert facts.streams == 4
    assert facts.snd_wnd_bytes == 10_000_000
    assert facts.window_used == pytest.approx(1.0)


def test_mathis_for_a_known_loss() -> None:
    facts = only(steady.session(**steady.losing(1e-3)))
    assert facts.retransmitted_share == pytest.approx(1e-3, rel=0.02)
    # 8 * 1000 bytes / 0.040 s * 1.22 / sqrt(0.001)
    assert facts.mathis_bps == pytest.approx(7.716e6, rel=0.02)
    assert facts.mathis_ratio == pytest.approx(10 / 7.716, rel=0.03)


def test_lost_packets_are_counted_by_sample() -> None:
    facts = only(steady.session(8.0, over=True, **steady.losing(1e-2)))
    # 10 Mbit/s lose 12.5 packets a second from 2 to 8 s
    assert facts.retransmits == pytest.approx(75, abs=2)
    assert facts.loss_spread == pytest.approx(1.0)
    assert facts.lost_at_once == pytest.approx(1.25, abs=0.05)
    assert facts.loss_inflation == 1.0


def test_what_a_system_does_not_tell_is_unknown() -> None:
    session = steady.session()
    for stream in session.streams.values():
        stream.samples = type(stream.samples)(10)
        stream.latest = None
    facts = only(session)
    assert facts.rwnd_limited_share is None
    assert facts.idle_share is None
    assert facts.timeouts is None


@pytest.mark.parametrize("value", [True, -1, 2**64, 1.5, "7", None, [1]])
def test_a_field_that_is_no_counter_is_unknown(value: object) -> None:
    session = steady.session(here_sends=False)
    for stream in session.streams.values():
        for sample in stream.samples:
            assert sample.tcp is not None
            sample.tcp["rcv_ssthresh_bytes"] = value
    assert only(session).rcv_window_bytes is None


def test_the_receivers_side_of_a_flow() -> None:
    far = steady.far_results(retransmits=50, sent_bytes=50_000_000)
    facts = only(
        steady.session(
            here_sends=False,
            over=True,
            far=far,
            unread_bytes=1234,
            growing={"rcv_ooopack_packets": 20.0},
        )
    )
    assert facts.direction is Direction.REVERSE
    assert facts.words == "far → here"
    assert facts.unread_bytes == 1234
    assert facts.rcv_window_bytes == 20_000_000
    assert facts.out_of_order == 120
    assert facts.out_of_order_total == 160
    assert facts.out_of_order_spread == pytest.approx(1.0)
    assert facts.far_retransmits == 50
    assert facts.far_retransmitted_share == pytest.approx(50 * steady.MSS / 50_000_000)
    assert facts.retransmits is None


def test_the_senders_congestion_control() -> None:
    assert only(steady.session(congestion="bbr")).loss_based is False
    assert only(steady.session(congestion="cubic")).loss_based is True
    assert only(steady.session(here_sends=False)).loss_based is None
    asked = steady.session(here_sends=False, test={"congestion": "reno"})
    assert only(asked).congestion == "reno"
    told = steady.session(here_sends=False, over=True, far=steady.far_results(0, 1, "bbr2"))
    assert only(told).loss_based is False


def test_the_lower_of_two_asked_rates_counts_for_all_streams() -> None:
    asked = {"rate_bps": 3_000_000, "fq_rate_bps": 2_000_000, "parallel": 4}
    assert only(steady.session(test=asked)).rate_asked_bps == 8_000_000


def test_one_busy_second_is_not_a_busy_host() -> None:
    session = steady.session(8.0, host=(0.2, 0.1))
    reduce(session, ev.HostSample(8.5, 8.5, 0.9, 0.9, 0.1))
    facts = only(session)
    assert (facts.worker_share, facts.worker_wait_share) == (0.2, 0.1)
