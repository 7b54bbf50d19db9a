"""Profiles, and paths put together from words."""

from __future__ import annotations

from typing import Any

import pytest

from tuiperf.lab import profiles
from tuiperf.lab.errors import LabError
from tuiperf.lab.spec import Direction, Helper, PathSpec

VERDICTS = {
    "window-limited",
    "slow-reader",
    "lossy",
    "reordered",
    "host-limited",
    "offered-less",
    "line-rate",
    "slow-hop",
    "duplex-mismatch",
    "shared-medium",
    "bufferbloat",
    "jitter",
    "outage",
    "duplicated",
    "ecn-marked",
    "mtu-blackhole",
    "still-ramping",
    "unsteady",
    "path-full",
}
ASKED_FOR = {
    "clean-lan",
    "long-fat-pipe",
    "lossy-reverse",
    "small-receiver",
    "small-sender",
    "shallow-queue",
    "policed",
    "bloated",
    "fast-ethernet-hop",
    "reordered",
    "mtu-blackhole",
    "far-and-short",
    "busy-host",
    "crowded",
}


@pytest.mark.parametrize("name", profiles.names())
def test_a_profile_tells_its_cause_in_a_line_and_the_right_verdict(name: str) -> None:
    profile = profiles.load(name)
    assert 20 < len(profile.cause) < 110
    assert "\n" not in profile.cause
    assert profile.verdict in VERDICTS
    assert PathSpec.from_json(profile.path.to_json()) == profile.path


def test_the_profiles_that_teach_are_all_there_and_cover_every_verdict() -> None:
    assert set(profiles.names()) >= ASKED_FOR
    assert {profiles.load(name).verdict for name in profiles.names()} == VERDICTS


def test_the_long_fat_pipe_is_the_textbook_case() -> None:
    path = profiles.load("long-fat-pipe").path
    assert path.there == path.here
    assert path.there.rate_bps == 10**9
    assert path.rtt_s == pytest.approx(0.042)
    assert path.there.queue_bytes == 5_250_000  # 1 Gbit/s for 42 ms
    assert path.near.tcp_wmem_max_bytes == path.far.tcp_rmem_max_bytes == 4 << 20


def test_properties_are_laid_over_a_profile() -> None:
    base = profiles.load("lossy-reverse").path
    changed = profiles.build({"rtt": "10ms", "here": {"loss": "1%"}}, base)
    assert changed.here.loss == 0.01
    assert changed.there.loss == 0
    assert changed.there.rate_bps == base.there.rate_bps
    assert changed.rtt_s == pytest.approx(0.01)
    assert changed.there.queue_bytes == 1_250_000


def test_a_queue_of_a_profile_stays_when_its_rate_changes() -> None:
    changed = profiles.build({"rate": "50M"}, profiles.load("bloated").path)
    assert (changed.there.rate_bps, changed.there.queue_bytes) == (50_000_000, 6 << 20)


@pytest.mark.parametrize("table", [{}, {"loss": "2%"}])
def test_the_losses_of_a_profile_can_be_sent_the_other_way(table: dict[str, Any]) -> None:
    changed = profiles.build({**table, "loss-toward": "there"}, profiles.load("lossy-reverse").path)
    assert (changed.there.loss, changed.here.loss) == (0.02 if table else 0.001, 0)


def test_a_narrow_link_may_begin_to_speak() -> None:
    base = profiles.load("mtu-blackhole").path
    changed = profiles.build({"mtu": 1400}, base)
    assert base.there.mtu_silent
    assert (changed.there.mtu_bytes, changed.there.mtu_silent) == (1400, False)


def test_a_loss_can_be_for_one_direction_only() -> None:
    path = profiles.build({"rate": "100M", "rtt": "20ms", "loss": "1%", "loss-toward": "here"})
    assert (path.there.loss, path.here.loss) == (0, 0.01)


def test_directions_hosts_and_helpers_have_tables_of_their_own() -> None:
    path = profiles.build(
        {
            "rate": "50M",
            "there": {"rate": "10M", "blackhole-mtu": 1400, "queue": "64K"},
            "here": {"mtu": 1300},
            "near": {"congestion": "reno", "ecn": True},
            "helper": [{"kind": "crowd", "after": "2s", "streams": 3}],
        }
    )
    assert path.there == Direction(
        rate_bps=10_000_000, queue_bytes=65536, mtu_bytes=1400, mtu_silent=True
    )
    assert (path.here.mtu_bytes, path.here.mtu_silent) == (1300, False)
    assert (path.near.congestion, path.near.ecn) == ("reno", True)
    assert path.helpers == (Helper("crowd", after_s=2.0, streams=3),)


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"rate": "1"}, "rate toward there: possible are 10 kbit/s to 10 Gbit/s"),
        ({"rate": "400G"}, "rate toward there: possible are 10 kbit/s to 10 Gbit/s"),
        ({"rtt": "-5ms"}, "rtt: '-5ms' is negative"),
        ({"rtt": "1min"}, "a delay toward there is negative or more than 10 s"),
        ({"loss": "100%"}, "leaves nothing"),
        ({"rate": "10G", "rtt": "9s"}, "would hold more than 1 GiB"),
        ({"rate": "10M", "queue": "1K"}, "queue toward there: less than three packets"),
        ({"rate": "10M", "queue": "-1bdp"}, "queue: '-1bdp' is negative"),
        ({"mtu": 100}, "mtu toward there: possible are 576 to 1500 bytes"),
        ({"outage": "1s"}, "outage toward there: both its length and a longer period"),
        ({"burst-loss": "90%"}, "burst-loss toward there: at most 50%"),
        ({"los": "1%"}, "'los' is not a property of a path; did you mean 'loss'?"),
        ({"loss-toward": "up"}, "loss-toward: 'up' is neither here nor there"),
        ({"there": 5}, "there: a table was expected"),
        ({"near": {"tcp_rmem": "1"}}, "tcp_rmem_max of the near side: possible are 4K to 1G"),
        ({"near": {"congestion": "a b"}}, "not the name of an algorithm"),
        ({"near": {"ecn": "yes"}}, "ecn: true or false was expected"),
        ({"helper": [{"kind": "dwarf"}]}, "helper 'dwarf' is not one of hog, pause, crowd"),
        ({"helper": [3]}, "helper: a table was expected"),
        ({"shared-medium": True, "there": {"rate": "1M"}}, "a shared medium has one rate"),
        ({"shared-medium": True, "rtt": "4ms"}, "a shared medium needs a rate"),
        ({"rate": "10M", "queue": "0"}, "queue: '0' is less than three packets"),
        ({"rtt": "10s"}, "so long a delay needs a rate"),
        ({"mtu": 1400, "blackhole-mtu": 1300}, "mtu and blackhole-mtu: only one of them can be"),
        ({"there": {"rtt": "9ms", "delay": "1ms"}}, "rtt and delay: only one of them can be"),
        ({"loss-toward": "here"}, "loss-toward: no loss is asked for"),
        ({"loss-toward": "here", "there": {"loss": "1%"}}, "a loss toward there is asked for"),
        ({"queue": "64K"}, "queue: that has a meaning only with rate"),
        ({"burst-length": 5}, "burst-length: that has a meaning only with burst-loss"),
        ({"reorder-by": "5ms"}, "reorder-by: that has a meaning only with reorder"),
        (
            {"there": {"police-burst": "90K"}, "here": {"police": "1M"}},
            "police-burst: that has a meaning only with police",
        ),
    ],
)
def test_an_impossible_path_gets_one_line(table: dict[str, Any], complaint: str) -> None:
    with pytest.raises(LabError) as error:
        profiles.build(table)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_profile_gets_the_nearest_name() -> None:
    with pytest.raises(LabError, match="no profile 'polced'; did you mean 'policed'"):
        profiles.load("polced")
    with pytest.raises(LabError, match="'tuiperf lab list' names them"):
        profiles.load("../../../etc/passwd")


@pytest.mark.parametrize("data", [{}, {"there": 1}, {"there": {"speed": 1}}, []])
def test_what_is_no_path_is_refused(data: Any) -> None:
    with pytest.raises(LabError, match="not the description of a path"):
        PathSpec.from_json(data)
