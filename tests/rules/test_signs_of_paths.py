"""Made runs with one sign each: the verdict it gives, and what keeps it from being given."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules import steady
from tuiperf.rules import delay, motion, sharing
from tuiperf.rules.book import diagnosis, judge
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Tick

FULL: dict[str, Any] = {"rtt_us": 80_000, "unacked_packets": 5_000}  # a queue as long as the path


def first(**made: Any) -> Verdict:
    return judge(steady.session(**made))[0]


def ids(**made: Any) -> list[str]:
    return [verdict.id for verdict in judge(steady.session(**made))]


# ------------------------------------------------------------------ delay


def test_a_deep_queue_has_a_grade_and_stands_before_the_full_path() -> None:
    # 40 ms at rest, 290 ms under load: 250 ms more, at 100 Mbit/s 3.12 MB
    verdict, then = judge(steady.session(rate_bps=100e6, rtt_us=290_000, unacked_packets=5_000))
    assert (verdict.id, then.id) == ("bufferbloat", "path-full")
    assert dict(verdict.qualifier) == {"grade": "D", "ms": "250"}
    assert verdict.level is Level.FAULT
    assert "7.2 times the minimum of 40.0 ms" in verdict.because[0]
    assert "3.12 MB" in verdict.because[1]


def test_a_queue_of_one_bdp_is_no_bloat() -> None:
    assert ids(rate_bps=100e6, **FULL) == ["path-full"]


@pytest.mark.parametrize(
    ("waited_us", "mark"),
    [(29e3, "A"), (30e3, "B"), (60e3, "C"), (199e3, "C"), (200e3, "D"), (400e3, "F")],
)
def test_grades(waited_us: float, mark: str) -> None:
    assert delay.grade(waited_us) == mark


def test_jitter_is_a_deviation_that_a_queue_does_not_explain() -> None:
    assert ids(rate_bps=90e6, rttvar_us=4_000, **FULL)[0] == "jitter"
    assert "jitter" not in ids(rate_bps=90e6, rttvar_us=400, **FULL)
    bursts: dict[str, Any] = {"notsent_bytes": 0, "rttvar_us": 4_000}
    assert "jitter" not in ids(rate_bps=90e6, **bursts, **FULL)


# ------------------------------------------------------------------ order


def test_reordering_is_counted_by_the_sender() -> None:
    verdict, then = judge(
        steady.session(rate_bps=90e6, growing={"reord_seen_events": 100.0}, **FULL)
    )
    assert (verdict.id, then.id) == ("reordered", "path-full")
    assert verdict.because[0].startswith("700 reorderings were seen in the steady part")


def test_duplicates_that_nothing_sent_again_explains() -> None:
    verdict = first(rate_bps=90e6, growing={"dsack_dups_packets": 50.0}, **FULL)
    assert verdict.id == "duplicated"
    assert verdict.short == "350 duplicates"


def test_duplicates_of_what_was_sent_again_are_not_the_networks() -> None:
    again: dict[str, Any] = {"dsack_dups_packets": 5.0, "total_retrans_packets": 5.0}
    assert "duplicated" not in ids(rate_bps=90e6, growing=again, **FULL)


def test_a_receiver_counts_duplicates_too() -> None:
    towards: dict[str, Any] = {"here_sends": False, "rate_bps": 90e6, "rcv_rtt_us": 80_000}
    towards |= {"over": True, "far": steady.far_results(10, 90_000_000)}
    assert ids(grown={"tcp.TCPDSACKOldSent": 900}, **towards)[0] == "duplicated"
    assert "duplicated" not in ids(grown={"tcp.TCPDSACKOldSent": 11}, **towards)


def test_duplicates_are_counted_where_nothing_was_sent_again_just_before() -> None:
    times_s = [0.0, 0.1, 0.2, 1.0, 1.1]
    assert motion.unasked_duplicates(times_s, [0, 1, 1, 1, 1], [0, 0, 5, 5, 8]) == 3


# ------------------------------------------------------------------ stops


def pausing(at_s: float) -> float:
    return 0.0 if 3.05 < at_s < 3.65 or 6.05 < at_s < 6.65 else 100e6


def lost_in_pauses(at_s: float) -> float:
    return 200.0 * ((at_s > 3.65) + (at_s > 6.65))


def test_an_outage_is_silence_and_a_burst_of_losses() -> None:
    verdict = first(
        rates=pausing,
        total_rto_events=4,
        steps={"total_retrans_packets": lost_in_pauses},
        growing={"bytes_sent_bytes": 12.5e6, "bytes_retrans_bytes": 5e4},
        rtt_us=60_000,
    )
    assert (verdict.id, verdict.level) == ("outage", Level.FAULT)
    assert verdict.short == "2 times, 0.6 s"
    assert "100 % of the 400 packets" in verdict.because[1]


def test_silence_without_timeouts_is_no_outage() -> None:
    assert "outage" not in ids(rates=pausing, rtt_us=60_000)


def test_a_black_hole_lets_the_handshake_pass() -> None:
    verdict = first(rate_bps=0.0, total_rto_events=4)
    assert verdict.id == "mtu-blackhole"
    assert "try -M 1200" in verdict.next[0]


def test_data_that_stops_is_an_outage_and_no_black_hole() -> None:
    stopping = lambda at_s: 100e6 if at_s < 0.9 else 0.0  # noqa: E731
    assert first(rates=stopping, total_rto_events=4).id == "outage"


# ------------------------------------------------------------------ sharing


def test_a_rate_that_falls_while_the_queue_stays_full_is_shared() -> None:
    falling = lambda at_s: 100e6 if at_s < 5 else 50e6  # noqa: E731
    verdict = first(rates=falling, **FULL)
    assert verdict.id == "unsteady"
    assert verdict.short == "down to 50.0 Mbit/s"
    assert "unsteady" not in ids(rates=falling)


def test_a_slow_beginning_is_no_fall() -> None:
    rising = lambda at_s: 50e6 if at_s < 3 else 100e6  # noqa: E731
    assert "unsteady" not in ids(rates=rising, **FULL)


def test_correlation_with_hand_computed_values() -> None:
    assert sharing.correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert sharing.correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert sharing.correlation([1, 1, 1], [1, 2, 3]) is None


# ------------------------------------------------------------------ lines and the link


def test_a_port_of_100_mbit_on_a_short_path_is_a_slow_hop() -> None:
    # 1000 bytes of 1090 on the wire: 91.74 of 100 Mbit/s
    short: dict[str, Any] = {"min_rtt_us": 2_000, "rtt_us": 6_000, "unacked_packets": 69}
    verdict = first(rate_bps=91.74e6, **short)
    assert verdict.id == "slow-hop"
    assert verdict.short == "100 Mbit/s on the way"
    assert "100 Mbit/s * 1000 / 1090 = 91.7 Mbit/s" in verdict.explanation[1]
    assert first(rate_bps=88e6, **short).id == "path-full"


def test_a_gigabit_at_its_rate_is_fine() -> None:
    verdict = first(rate_bps=917.4e6, **FULL)
    assert (verdict.id, verdict.level) == ("line-rate", Level.FINE)


def test_a_faster_link_here_makes_the_same_rate_a_slow_hop() -> None:
    link: dict[str, Any] = {"class": "physical", "speed_mbps": 10_000, "duplex": "full"}
    assert first(rate_bps=917.4e6, link=link, **FULL).id == "slow-hop"
    virtual = {**link, "class": "virtual"}
    assert first(rate_bps=917.4e6, link=virtual, **FULL).id == "line-rate"


def test_half_duplex_and_loss_are_a_mismatch() -> None:
    link: dict[str, Any] = {"class": "physical", "speed_mbps": 100, "duplex": "half"}
    lossy = steady.losing(1e-2, 8e6)
    collisions: dict[str, Any] = {"device.collisions": 50}
    verdict = first(link=link, grown=collisions, **lossy)
    assert verdict.id == "duplex-mismatch"
    assert "50 collisions" in verdict.because[2]
    assert first(**lossy).id == "lossy"


def test_error_counters_that_grow_are_the_links() -> None:
    link: dict[str, Any] = {"class": "physical", "speed_mbps": 1_000, "duplex": "full"}
    grown: dict[str, Any] = {"device.rx_errors": 40}
    assert ids(rate_bps=90e6, link=link, grown=grown, **FULL) == ["link-degraded", "path-full"]
    assert ids(rate_bps=90e6, link={**link, "class": "virtual"}, grown=grown, **FULL) == [
        "path-full"
    ]


def test_a_radio_link_is_told() -> None:
    assert "shared-medium" in ids(rate_bps=90e6, link={"class": "wireless"}, **FULL)


# ------------------------------------------------------------------ handshake


def test_marks_are_congestion_without_loss() -> None:
    marks: dict[str, Any] = {"delivered_ce_packets": 50.0, "delivered_packets": 1000.0}
    verdict = first(rate_bps=90e6, growing=marks, **FULL)
    assert (verdict.id, verdict.level) == ("ecn-marked", Level.FINE)
    assert verdict.short == "400 packets, 5.0 %"


def test_missing_options_are_named() -> None:
    verdict = first(rate_bps=90e6, wscale=0, sack=1, timestamps=1, **FULL)
    assert verdict.id == "middlebox"
    assert "no window above 64 KB" in verdict.claim
    assert "middlebox" not in ids(rate_bps=90e6, wscale=1, sack=1, timestamps=1, **FULL)


# ------------------------------------------------------------------ windows and senders


def test_a_send_buffer_that_empties_in_one_burst_is_known_by_its_size() -> None:
    # 500 Mbit/s * 40 ms = 2.5 MB, of a tcp_wmem of 4 MB
    burst: dict[str, Any] = {"notsent_bytes": 0, "snd_cwnd_packets": 9_000}
    settings: dict[str, Any] = {"net.ipv4.tcp_wmem": "4096 16384 4000000"}
    verdict = first(settings=settings, **burst)
    assert verdict.id == "window-limited"
    assert dict(verdict.qualifier)["side"] == "sender"
    assert "62 % of this host's largest send buffer, 4.00 MB" in verdict.because[2]


def test_an_idle_sender_delivers_faster_than_it_offers() -> None:
    idle: dict[str, Any] = {"notsent_bytes": 0, "snd_cwnd_packets": 9_000}
    assert first(delivery_rate_bytes_per_s=120_000_000, **idle).id == "offered-less"
    assert first(delivery_rate_bytes_per_s=62_000_000, **idle).id != "offered-less"


def test_bursts_at_the_receiver_are_no_full_queue() -> None:
    towards: dict[str, Any] = {"here_sends": False, "rate_bps": 100e6, "rcv_rtt_us": 120_000}
    assert ids(**towards)[-1] == "path-full"
    verdict = first(last_data_recv_ms=30, **towards)
    assert (verdict.id, dict(verdict.qualifier)["side"]) == ("window-limited", "sender")


# ------------------------------------------------------------------ RFC 6349 and motion


def test_the_three_metrics_with_hand_computed_values() -> None:
    made = steady.losing(1e-2, 90e6)
    told = diagnosis(steady.session(rtt_us=50_000, **made))["rfc6349"]["forward"]
    assert told["transfer_time_ratio"] == pytest.approx(1.0, abs=0.01)
    assert told["ideal_from"] == "fastest half second"
    assert told["tcp_efficiency_percent"] == pytest.approx(99.0, abs=0.01)
    assert told["buffer_delay_percent"] == 25.0
    assert told["interval_scatter_percent"] == 0.0


def ticks(rates: list[float], retransmits: list[int] | None = None) -> list[Tick]:
    lost = retransmits or [0] * len(rates)
    return [
        Tick(0.1 * (index + 1), 0.1, rate, 10_000.0, None, None, None, lost[index])
        for index, rate in enumerate(rates)
    ]


def test_pauses_are_two_silent_ticks_and_more() -> None:
    found = motion.of(ticks([1e6] * 10 + [0.0] + [1e6] * 5 + [0.0] * 3 + [1e6] * 11))
    (pause_s,) = found.pauses_s
    assert pause_s == pytest.approx(0.3)


def test_what_was_lost_by_pauses() -> None:
    lost = [0] * 10 + [0, 0, 0, 40, 0] + [0] * 14 + [10]
    found = motion.of(ticks([1e6] * 10 + [0.0] * 3 + [1e6] * 17, lost))
    assert found.lost_by_pauses == pytest.approx(0.8)


def test_an_even_rate_and_a_typical_one() -> None:
    found = motion.of(ticks([100e6] * 20 + [10e6] * 5 + [101e6] * 5))
    assert found.typical_bps == pytest.approx(100e6)
    assert found.even_share == pytest.approx(5 / 6)
    assert found.falls_s == pytest.approx(0.5)


def test_a_missing_option_has_a_short_name() -> None:
    verdict = first(rate_bps=90e6, wscale=1, sack=0, timestamps=1, **FULL)
    assert (verdict.id, verdict.short) == ("middlebox", "no SACK")
    assert len(verdict.title) <= 18


def test_a_system_that_shows_no_rtt_cannot_be_judged() -> None:
    verdict = first(here_sends=False, rcv_rtt_us=0, over=True)
    assert (verdict.id, verdict.short) == ("cannot-tell", "no TCP counters here")
