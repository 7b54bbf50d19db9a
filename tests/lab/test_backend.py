"""Which backend carries a path, and what netem would be asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyroute2.netlink.rtnl.tcmsg import sched_netem, sched_tbf

from tuiperf.lab import backend, netem, profiles
from tuiperf.lab.errors import LabError
from tuiperf.lab.spec import MTU_BYTES, Direction, PathSpec

PLAIN = profiles.build({"rate": "100M", "rtt": "20ms", "loss": "1%", "duplicate": "0.5%"})


def test_netem_is_taken_where_the_kernel_has_it_and_else_the_relay() -> None:
    assert backend.choose(PLAIN, has_netem=True) == (backend.NETEM, "")
    assert backend.choose(PLAIN, has_netem=False) == (backend.RELAY, "this kernel has no netem")


def test_a_path_without_anything_to_emulate_is_a_cable() -> None:
    assert backend.choose(PathSpec(), has_netem=True) == (backend.CABLE, "")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("policed", "it has no policer"),
        ("bursty-loss", "it loses no bursts of a given length"),
        ("outages", "it has no outages"),
        ("mtu-blackhole", "it has no narrower link within"),
        ("ecn-marked", "it marks nothing"),
        ("duplex-mismatch", "it has no collisions"),
        ("jittery", "its jitter changes the order"),
        ("reordered", "it reorders by the whole delay only"),
        ("shared-medium", "it has no shared medium"),
    ],
)
def test_what_netem_cannot_do_goes_to_the_relay(name: str, why: str) -> None:
    assert backend.choose(profiles.load(name).path, has_netem=True) == (backend.RELAY, why)


@pytest.mark.parametrize(
    ("wanted", "path", "has_netem", "complaint"),
    [
        ("netem", PLAIN, False, "netem cannot carry this path: this kernel has no netem"),
        ("netem", profiles.load("policed").path, True, "it has no policer"),
        ("cable", PLAIN, True, "a plain cable cannot carry this path"),
        ("string", PLAIN, True, "backend 'string' is not one of cable, netem, relay"),
    ],
)
def test_a_backend_that_cannot_carry_a_path_is_refused(
    wanted: str, path: PathSpec, has_netem: bool, complaint: str
) -> None:
    with pytest.raises(LabError, match=complaint):
        backend.choose(path, has_netem, wanted)
    assert backend.choose(path, has_netem, "relay") == (backend.RELAY, "")


def test_netem_delays_and_loses_and_a_bucket_behind_it_is_the_bottleneck() -> None:
    first, second = netem.requests(PLAIN.there)
    assert first == {
        "kind": "netem",
        "handle": "1:",
        "limit": 1225,
        "delay": 10_000,
        "loss": 1.0,
        "duplicate": 0.5,
    }
    share = (MTU_BYTES + 14) / (MTU_BYTES + 38)
    assert second["kind"] == "tbf"
    assert (second["parent"], second["handle"]) == ("1:", "10:")
    assert second["rate"] == round(12_500_000 * share)
    assert second["burst"] == round(second["rate"] / 500)
    assert second["limit"] == round(250_000 * share) + second["burst"]


def test_a_full_packet_takes_its_time_on_the_wire_behind_the_bucket() -> None:
    for rate_bps in (10_000_000, 10**9):
        request = netem.requests(Direction(rate_bps=rate_bps, queue_bytes=10**6))[1]
        tbf_s = (MTU_BYTES + 14) / request["rate"]
        assert tbf_s == pytest.approx((MTU_BYTES + 38) * 8 / rate_bps, rel=1e-5)


def test_without_a_rate_there_is_no_bucket_and_without_a_loss_no_share() -> None:
    (only,) = netem.requests(Direction(delay_s=0.042))
    assert only == {"kind": "netem", "handle": "1:", "limit": 1000, "delay": 42_000}


def test_the_limit_holds_what_is_on_a_long_wire() -> None:
    held = replace(PLAIN.there, rate_bps=10**9, delay_s=0.1)
    assert netem.requests(held)[0]["limit"] >= 10**9 * 0.1 / 8 / 1538


def test_pyroute2_encodes_the_requests_as_the_kernel_reads_them() -> None:
    first, second = netem.requests(PLAIN.there)
    options = sched_netem.get_parameters(dict(first))
    assert options["loss"] == pytest.approx(0.01 * 2**32, rel=1e-3)
    assert options["duplicate"] == pytest.approx(0.005 * 2**32, rel=1e-3)
    assert options["limit"] == 1225
    assert sched_tbf.get_parameters(dict(second))["attrs"]
