"""The lessons' formulas against numbers worked out by hand and from their sources."""

from __future__ import annotations

import pytest

from tuiperf.lessons import formulas


def test_bandwidth_times_delay() -> None:
    assert formulas.bdp_bytes(1e9, 42_000) == 5_250_000
    assert formulas.bdp_bytes(1e8, 20_000) == 250_000


def test_a_window_each_round_trip() -> None:
    assert formulas.window_bps(262_144, 11_800) == pytest.approx(177.7e6, rel=1e-3)
    assert formulas.window_bps(65_535, 100_000) == pytest.approx(5.24e6, rel=1e-3)
    assert formulas.window_bps(1, 0) == 0


def test_mathis_at_one_percent_and_forty_milliseconds() -> None:
    assert formulas.mathis_bps(1448, 40_000, 0.01) == pytest.approx(3.53e6, rel=1e-2)


@pytest.mark.parametrize("rate_bps", [1e7, 1e9, 1e10])
def test_the_loss_that_mathis_allows_gives_the_rate_again(rate_bps: float) -> None:
    loss = formulas.mathis_loss(1448, 42_000, rate_bps)
    assert formulas.mathis_bps(1448, 42_000, loss) == pytest.approx(rate_bps)


def test_the_loss_allowed_is_a_share() -> None:
    assert formulas.mathis_loss(1448, 1000, 1000) == 1.0


@pytest.mark.parametrize(
    ("line_bps", "mtu", "ip", "mbps"),
    [(1e8, 1500, 4, 94.15), (1e9, 1500, 4, 941.5), (1e9, 1500, 6, 928.5), (1e10, 9000, 4, 9900.4)],
)
def test_what_an_ethernet_port_gives(line_bps: float, mtu: int, ip: int, mbps: float) -> None:
    assert formulas.ethernet_goodput_bps(line_bps, mtu, ip) / 1e6 == pytest.approx(mbps, rel=1e-4)


def test_a_queue_takes_its_time() -> None:
    assert formulas.queued_us(1e8, 1 << 20) == pytest.approx(83_886, rel=1e-4)
    assert formulas.queued_us(0, 1) == 0


def test_times_of_transfers() -> None:
    assert formulas.transfer_s(1e10, 941e6) == pytest.approx(85.0, rel=1e-3)
    assert formulas.chatty_s(200, 40_000, 0, 1e9) == pytest.approx(8.0)


def test_jitter_of_the_rfc() -> None:
    assert formulas.jitter_us([0, 16, 16]) == pytest.approx(1 - 1 / 16)
    assert formulas.jitter_us([5.0] * 20) == 0
    assert formulas.jitter_us([0.0, 10.0] * 500) == pytest.approx(10, rel=1e-6)
