from __future__ import annotations

from typing import Any

import pytest

from tests.rules import steady
from tuiperf import events as ev
from tuiperf.rules import window
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Confidence, Level, Verdict


def first(**made: Any) -> Verdict:
    return judge(steady.session(**made))[0]


def test_the_receivers_window_with_hand_computed_advice() -> None:
    # 2.5 MB per 40 ms are 500 Mbit/s; 1 Gbit/s needs 5 MB, so two windows,
    # or a buffer of 7.5 MB, which -w writes as 8M.
    verdict = first(rate_bps=500e6, **steady.window_full(0.9, 2_500_000))
    assert verdict.id == "window-limited"
    assert verdict.qualifier == (("side", "receiver"),)
    assert (verdict.level, verdict.confidence) == (Level.LOOK, Confidence.HIGH)
    assert verdict.short == "2.50 MB per 40.0 ms"
    assert verdict.claim == (
        "here → far: the receive window of far limits the speed to 500 Mbit/s."
    )
    assert verdict.because[0] == (
        "2.50 MB in flight per 40.0 ms of RTT is 500 Mbit/s; measured: 500 Mbit/s"
    )
    assert verdict.next == (
        "try -P 2 (that many windows carry up to 1.00 Gbit/s) or -w 8M",
        "-w 8M needs net.core.wmem_max on this host and net.core.rmem_max on far of 4194304 "
        "or more",
        'on far, as root: sysctl -w net.ipv4.tcp_rmem="4096 131072 8388608"',
    )
    assert "8 * 2.50 MB / 40.0 ms = 500 Mbit/s" in verdict.explanation


def test_our_own_send_buffer() -> None:
    verdict = first(growing={"busy_time_us": 1e6, "sndbuf_limited_us": 0.8e6})
    assert verdict.qualifier == (("side", "sender"),)
    assert verdict.title == "Send buffer small"
    assert 'on this host, as root: sysctl -w net.ipv4.tcp_wmem="4096 16384 8388608"' in verdict.next


def test_the_window_asked_for_is_named_and_not_blamed_on_one_end() -> None:
    # 400K are clamped to 212992 and doubled; 0.66 of that is usable.
    granted = ev.OptionRead(0.0, "send_buffer", 409_600, 425_984, 281_149, "bytes")
    verdict = first(
        rate_bps=52.6e6,
        option=granted,
        test={"window_bytes": 409_600},
        unacked_packets=263,
        snd_cwnd_packets=500,
        growing={"busy_time_us": 1e6},
    )
    assert verdict.id == "window-limited"
    assert verdict.qualifier == (("side", "either"),)
    assert "-w 400K" in verdict.claim
    assert verdict.next[0].startswith("leave -w out")


def test_our_receive_window_seen_from_the_receiver() -> None:
    verdict = first(here_sends=False, rate_bps=480e6, rcv_ssthresh_bytes=2_500_000)
    assert verdict.qualifier == (("side", "receiver"),)
    assert verdict.claim.startswith("far → here: the receive window of this host limits")
    assert verdict.confidence is Confidence.MEDIUM


def test_a_far_sender_that_holds_back_is_only_inferred() -> None:
    verdict = first(here_sends=False, rate_bps=100e6)
    assert verdict.id == "window-limited"
    assert verdict.qualifier == (("side", "sender"),)
    assert verdict.confidence is Confidence.LOW
    assert "seems to limit" in verdict.claim
    assert any("inferred" in line for line in verdict.because)
    assert any("--get-server-output" in line for line in verdict.next)


def test_four_streams_share_the_target() -> None:
    full = steady.window_full(0.9, 250_000)
    verdict = first(rate_bps=200e6, test={"parallel": 4}, **full)
    # 50 Mbit/s a stream: 20 for 1 Gbit/s, 16 at most; 7.5 MB / 4 = 1.79 MiB
    assert verdict.next[0] == "try -P 16 (that many windows carry up to 800 Mbit/s) or -w 2M"


@pytest.mark.parametrize(
    "void",
    [
        pytest.param({"rtt_us": 80_000}, id="queue"),
        pytest.param({"host": (0.5, 0.4)}, id="busy host"),
        pytest.param({"local_host": "10.0.0.2"}, id="loopback"),
        pytest.param({"test": {"rate_bps": 500_000_000}}, id="-b reached"),
        pytest.param({"test": {"fq_rate_bps": 510_000_000}}, id="--fq-rate reached"),
        pytest.param({"rate_bps": 1e9 * 1000 / 1090}, id="line rate"),
        pytest.param({"snd_cwnd_packets": 2_500}, id="cwnd in full use"),
        pytest.param({"min_rtt_us": 500, "rtt_us": 510}, id="no distance"),
    ],
)
def test_never_when_something_else_can_be_the_limit(void: dict[str, Any]) -> None:
    full = steady.window_full()
    assert first(**full).id == "window-limited"
    assert first(**{**full, **void}).id not in ("window-limited", "lossy")


def test_a_reader_that_hardly_lets_the_cwnd_be_used_is_slow() -> None:
    full = {**steady.window_full(), "snd_cwnd_packets": 25_000}
    verdict = first(**full)
    assert verdict.id == "slow-reader"


def test_bbr_needs_less_of_its_time_to_be_limited() -> None:
    assert first(congestion="bbr", **steady.window_full(0.35)).id == "window-limited"
    assert first(congestion="cubic", **steady.window_full(0.35)).id != "window-limited"


@pytest.mark.parametrize(
    ("goodput_bps", "target"),
    [(1e6, 1e9), (800e6, 1e9), (900e6, 1e10), (9e9, 1e11), (9e10, 1.08e11)],
)
def test_the_target_is_the_next_line_rate_well_above(goodput_bps: float, target: float) -> None:
    assert window.target_bps(goodput_bps) == pytest.approx(target)


@pytest.mark.parametrize(
    ("capped_bps", "streams", "wanted"),
    [(500e6, 1, 2), (501e6, 1, 2), (333e6, 1, 4), (200e6, 4, 16), (1e6, 1, 16), (0.0, 1, 16)],
)
def test_streams_that_fill_a_gigabit(capped_bps: float, streams: int, wanted: int) -> None:
    assert window.streams_for(1e9, capped_bps, streams) == wanted


@pytest.mark.parametrize(
    ("rtt_us", "streams", "wanted"),
    [
        (40_000, 1, 8 << 20),  # 7.5 MB
        (42_000, 1, 8 << 20),  # 7.875 MB
        (1_000, 1, 192 << 10),  # 187.5 KB, in steps of 64 KiB
        (40_000, 4, 2 << 20),
    ],
)
def test_the_buffer_a_gigabit_needs(rtt_us: float, streams: int, wanted: int) -> None:
    assert window.buffer_for(1e9, rtt_us, streams) == wanted
