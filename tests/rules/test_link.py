"""The link's rules: what each says of made facts, and that unknown numbers make none hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.rules import linkmade
from tests.rules.linkmade import COPPER, TO_100, check, towards, watched
from tuiperf.evidence.container import Surroundings
from tuiperf.evidence.counters import Counts, Softnet
from tuiperf.evidence.cpu import CoreLoad, Cpu
from tuiperf.evidence.ethtool import Driver, Features, Fec, LinkInfo, LinkState, Rings
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gather import _gone
from tuiperf.evidence.hops import Hop, Hops
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.latency import Latency
from tuiperf.evidence.module import Limits, Module, Reading
from tuiperf.evidence.path_mtu import PathMtu
from tuiperf.evidence.ports import Port, PortState
from tuiperf.evidence.route import Route
from tuiperf.evidence.wifi import Wifi
from tuiperf.rules import expectation
from tuiperf.rules.link import exit_code, judge_link
from tuiperf.rules.verdict import Confidence, Level, Verdict


def first(facts: LinkFacts) -> Verdict:
    return judge_link(facts)[0]


def ids(facts: LinkFacts) -> list[str]:
    return [verdict.id for verdict in judge_link(facts)]


def kind(verdict: Verdict) -> str:
    return dict(verdict.qualifier).get("kind", "")


def test_a_link_in_order() -> None:
    verdict = first(check())
    assert (verdict.id, verdict.level) == ("link-fine", Level.FINE)
    assert verdict.short == "1 Gbit/s, full duplex"
    assert exit_code(check()) == 0


def test_a_path_in_order() -> None:
    assert ids(towards()) == ["link-fine"]


def test_a_check_that_goes_on_says_so() -> None:
    verdict = first(check(window=None, pending=("counters",)))
    assert (verdict.id, verdict.level) == ("link-fine", Level.PENDING)
    assert "so far" in verdict.claim


class TestCarrier:
    def test_nothing_arrives(self) -> None:
        facts = check(interface={"carrier": False}, ethtool={"state": LinkState(up=False)})
        verdict = first(facts)
        assert (verdict.id, verdict.level, kind(verdict)) == (
            "no-carrier",
            Level.FAULT,
            "no-partner",
        )
        assert "this end offers up to 1 Gbit/s" in verdict.because
        assert exit_code(facts) == 2

    def test_the_reason_that_the_driver_gives(self) -> None:
        state = LinkState(up=False, why_down="no cable is plugged in", no_cable=True)
        verdict = first(check(interface={"carrier": False}, ethtool={"state": state}))
        assert kind(verdict) == "no-cable"
        assert verdict.claim == "eth0 has no carrier: no cable is plugged in."

    def test_switched_off_here(self) -> None:
        verdict = first(check(interface={"carrier": False, "enabled": False}))
        assert kind(verdict) == "switched-off"
        assert verdict.next == ("try: ip link set eth0 up",)

    def test_nothing_else_is_said_of_a_dead_link(self) -> None:
        assert ids(check(interface={"carrier": False}, modes={"autoneg": False})) == ["no-carrier"]

    def test_an_interface_that_is_gone(self) -> None:
        verdict = first(_gone(check(), "eth0"))
        assert (verdict.id, verdict.level) == ("interface-gone", Level.FAULT)
        assert ids(_gone(check(), "eth0")) == ["interface-gone"]

    @pytest.mark.parametrize(
        ("made", "words"),
        [("bridge", "none of its members is up"), ("tun", "no program has it open")],
    )
    def test_what_a_virtual_device_lacks(self, made: str, words: str) -> None:
        facts = check(interface={"kind": made, "bus": "", "carrier": False})
        assert words in first(facts).claim


class TestDuplex:
    def test_late_collisions_at_half_duplex(self) -> None:
        facts = check(
            modes={"duplex": "half", "speed_mbps": 100}, window=watched(tx_window_errors=7)
        )
        verdict = first(facts)
        assert (verdict.id, verdict.confidence) == ("duplex-mismatch", Confidence.HIGH)
        assert verdict.because[0].startswith("7 late collisions in 5 s")
        assert "half-duplex" not in ids(facts)

    def test_damage_at_a_forced_full_duplex(self) -> None:
        facts = check(modes={"autoneg": False, "speed_mbps": 100}, window=watched(rx_crc_errors=30))
        verdict = first(facts)
        assert (verdict.id, verdict.confidence) == ("duplex-mismatch", Confidence.MEDIUM)
        assert "forced-link" not in ids(facts)

    def test_a_partner_that_does_not_negotiate(self) -> None:
        modes = {"duplex": "half", "speed_mbps": 100, "partner": ("100baseT/Half",)}
        assert first(check(modes=modes)).id == "duplex-mismatch"

    def test_half_duplex_without_the_signs_of_a_mismatch(self) -> None:
        modes = {"duplex": "half", "speed_mbps": 100, "autoneg": False, "partner": ()}
        verdict = first(check(modes=modes))
        assert (verdict.id, verdict.short) == ("half-duplex", "forced here")
        assert verdict.next[0] == "try: ethtool -s eth0 autoneg on"


class TestSpeed:
    def test_both_offer_gigabit_and_100_came_out(self) -> None:
        verdict = first(check(modes={"speed_mbps": 100}))
        assert (verdict.id, verdict.level, kind(verdict)) == (
            "slower-than-offered",
            Level.FAULT,
            "pair",
        )
        assert verdict.short == "100 Mbit/s of 1 Gbit/s"
        assert "all four pairs" in verdict.claim

    def test_the_partner_offers_no_more(self) -> None:
        verdict = first(check(modes={"speed_mbps": 100, "partner": (*TO_100, "Autoneg")}))
        assert (verdict.level, kind(verdict)) == (Level.LOOK, "partner")

    def test_the_partner_tells_nothing(self) -> None:
        verdict = first(check(modes={"speed_mbps": 100, "partner": ()}))
        assert (kind(verdict), verdict.confidence) == ("unknown", Confidence.MEDIUM)

    def test_this_end_was_told_to_offer_less(self) -> None:
        verdict = first(
            check(modes={"speed_mbps": 100, "advertised": (*TO_100, "Autoneg"), "partner": ()})
        )
        assert (kind(verdict), verdict.level) == ("own-setting", Level.LOOK)
        assert verdict.next == ("try: ethtool -s eth0 autoneg on speed 1000 duplex full",)

    def test_a_fast_card_at_a_gigabit_switch_is_in_order(self) -> None:
        fast = (*COPPER, "10000baseT/Full")
        modes = {"speed_mbps": 1000, "advertised": fast, "supported": fast}
        assert ids(check(modes=modes)) == ["link-fine"]
        assert ids(check(modes={**modes, "partner": ()})) == ["link-fine"]

    @pytest.mark.parametrize("speed", [-1, 0, 65535, 4294967295, None])
    def test_an_unknown_speed_is_not_judged(self, speed: int | None) -> None:
        assert ids(check(modes={"speed_mbps": speed})) == ["link-fine"]

    def test_forced_copper(self) -> None:
        verdict = first(check(modes={"autoneg": False, "partner": ()}))
        assert (verdict.id, verdict.level) == ("forced-link", Level.LOOK)

    def test_forced_fibre_is_usual(self) -> None:
        facts = check(ethtool={"info": LinkInfo("fibre")}, modes={"autoneg": False})
        assert ids(facts) == ["link-fine"]

    @pytest.mark.parametrize(
        ("text", "holds"), [("1G/full", True), ("1000", True), ("1G/half", False), ("10G", False)]
    )
    def test_expectations(self, text: str, holds: bool) -> None:
        found = ids(check(expected=text))
        assert ("not-as-expected" not in found) is holds

    def test_an_expectation_of_a_speed_that_nobody_knows(self) -> None:
        facts = check(expected="1G", modes={"speed_mbps": None})
        assert first(facts).id == "not-as-expected"
        assert exit_code(facts) == 2


@pytest.mark.parametrize(
    ("text", "mbps", "duplex"),
    [
        ("1G/full", 1000, "full"),
        ("100M/half", 100, "half"),
        ("2.5g", 2500, None),
        ("10", 10, None),
        ("1000/FULL", 1000, "full"),
        ("1 Gbit/s", 1000, None),
        ("1Gbit/full", 1000, "full"),
        ("1Gb/s/full", 1000, "full"),
        ("1Gbps full-duplex", 1000, "full"),
        ("10GbE", 10_000, None),
        ("1000baseT/Full", 1000, "full"),
        ("100BASE-TX/Half", 100, "half"),
        ("1.6T", 1_600_000, None),
    ],
)
def test_reading_an_expectation(text: str, mbps: int, duplex: str | None) -> None:
    assert expectation.read(text) == expectation.Expectation(mbps, duplex)


@pytest.mark.parametrize(
    "text",
    ["", "fast", "1G/both", "0", "-1", "1", "2.5", "1G/", "1e3", "１G", "1G/full/auto", "9" * 30],
)
def test_what_is_no_expectation(text: str) -> None:
    assert expectation.read(text) is None


class TestErrors:
    def test_damage_now(self) -> None:
        verdict = first(check(window=watched(rx_crc_errors=42)))
        assert (verdict.id, verdict.level, verdict.short) == (
            "link-degraded",
            Level.FAULT,
            "42 in 5 s",
        )

    def test_a_single_error_is_worth_a_look(self) -> None:
        verdict = first(check(window=watched(rx_crc_errors=1)))
        assert (verdict.id, verdict.level) == ("link-degraded", Level.LOOK)

    def test_standard_counters_of_the_driver(self) -> None:
        window = watched(standard={"SymbolErrorDuringCarrier": 900})
        verdict = first(check(window=window))
        assert verdict.because[0] == "in 5 s: 900 symbol errors"

    def test_a_drivers_own_name_for_it(self) -> None:
        window = watched(driver={"rx_crc_errors_phy": 12, "rx_bytes_phy": 10**9, "crc_ok": 7})
        assert first(check(window=window)).short == "12 in 5 s"

    def test_damage_since_the_start(self) -> None:
        nic = {"rx_crc_errors": 5000, "rx_bytes": 10**9}
        verdict = first(check(totals=Counts(1.0, nic=nic)))
        assert (verdict.id, verdict.level, verdict.confidence) == (
            "link-degraded",
            Level.LOOK,
            Confidence.LOW,
        )

    def test_damage_that_the_medium_allows(self) -> None:
        nic = {"rx_crc_errors": 500, "rx_bytes": 10**13}
        assert ids(check(totals=Counts(1.0, nic=nic))) == ["link-fine"]

    def test_a_weak_signal(self) -> None:
        state = LinkState(up=True, sqi=2, sqi_max=7)
        verdict = first(check(ethtool={"state": state}))
        assert verdict.because == ("signal quality 2 of 7 (SQI)",)

    def test_blocks_that_could_not_be_corrected(self) -> None:
        window = watched(standard={"FecUncorrectableBlocks": 30})
        verdict = first(check(window=window))
        assert (verdict.level, verdict.short) == (Level.FAULT, "30 in 5 s")
        assert "30 blocks that could not be corrected (FEC)" in verdict.because[0]

    def test_blocks_of_the_time_when_the_link_came_up_are_no_sign(self) -> None:
        facts = check(ethtool={"fec": Fec(active="RS", uncorrectable=3)})
        assert ids(facts) == ["link-fine"]

    def test_errors_that_the_medium_allows(self) -> None:
        nic = {**linkmade.QUIET, "rx_bytes": 5 * 10**9, "rx_crc_errors": 3}
        assert ids(check(window=replace(watched(), nic=nic))) == ["link-fine"]
        assert ids(check(window=replace(watched(), nic={**nic, "rx_crc_errors": 5})))[0] == (
            "link-degraded"
        )

    def test_damage_of_the_past_is_told_as_past(self) -> None:
        nic = {"rx_crc_errors": 5000, "rx_bytes": 10**9}
        claim = first(check(totals=Counts(1.0, nic=nic))).claim
        assert claim.startswith("Frames arrived damaged at eth0 at some time")
        assert claim.endswith("none while it was watched.")

    def test_a_carrier_that_breaks_off_damages_no_frame_that_arrives(self) -> None:
        claim = first(check(window=watched(tx_carrier_errors=2))).claim
        assert claim.startswith("The signal breaks off while sending at eth0")

    def test_pauses_by_the_standard_counter(self) -> None:
        window = watched(standard={"PauseFramesReceived": 7})
        assert first(check(window=window)).short == "7 pauses in 5 s"

    def test_the_kernels_backlog_is_nobodys_card(self) -> None:
        verdict = first(check(window=watched(softnet=Softnet(90_000, 12, 0))))
        assert verdict.claim.startswith("This host dropped 12 frames that had arrived already")
        assert verdict.level is Level.LOOK
        assert verdict.next == ("try: sysctl -w net.core.netdev_max_backlog=5000",)

    def test_flaps_while_watched(self) -> None:
        verdict = first(check(window=watched(carrier_changes=2)))
        assert (verdict.id, verdict.level) == ("flapping", Level.FAULT)

    def test_flaps_before(self) -> None:
        verdict = first(check(interface={"carrier_downs": 40}, uptime_s=36_000.0))
        assert (verdict.id, verdict.level, verdict.confidence) == (
            "flapping",
            Level.LOOK,
            Confidence.LOW,
        )

    def test_a_few_flaps_in_ten_days_are_none(self) -> None:
        assert ids(check(interface={"carrier_downs": 9})) == ["link-fine"]


class TestOptics:
    LIMITS = Limits(-20.0, -18.0, -1.0, 0.0)

    def module(self, value: float) -> Module:
        reading = Reading("received power", value, "dBm", 1, self.LIMITS)
        return Module("SFP", "MAKER", "PART", (reading,))

    @pytest.mark.parametrize(
        ("dbm", "level"), [(-25.0, Level.FAULT), (-19.0, Level.LOOK), (0.5, Level.FAULT)]
    )
    def test_power_beyond_its_own_limits(self, dbm: float, level: Level) -> None:
        verdict = first(check(module=self.module(dbm)))
        assert (verdict.id, verdict.level) == ("weak-optics", level)
        assert "allowed -18 to -1" in verdict.because[0]

    def test_power_in_order(self) -> None:
        assert ids(check(module=self.module(-7.0))) == ["link-fine"]
        assert ids(check(module=Module("SFP"))) == ["link-fine"]


class TestHost:
    def test_frames_that_found_no_room(self) -> None:
        verdict = first(check(window=watched(rx_missed_errors=412)))
        assert (verdict.id, verdict.level, verdict.short) == (
            "host-drops",
            Level.FAULT,
            "412 in 5 s",
        )
        assert verdict.next[0] == "try: ethtool -G eth0 rx 4096"
        assert "the cable: these frames arrived whole" in verdict.ruled_out

    def test_a_full_backlog(self) -> None:
        window = watched(softnet=Softnet(90_000, 3, 0))
        verdict = first(check(window=window))
        assert (verdict.id, verdict.level) == ("host-drops", Level.LOOK)
        assert verdict.next[0] == "try: sysctl -w net.core.netdev_max_backlog=5000"

    def test_a_small_ring_at_ten_gigabit(self) -> None:
        verdict = first(check(modes={"speed_mbps": 10_000}))
        assert (verdict.id, verdict.short) == ("small-ring", "256 of 4096")

    def test_a_ring_as_large_as_it_gets(self) -> None:
        facts = check(modes={"speed_mbps": 10_000}, ethtool={"rings": Rings(256, 256)})
        assert ids(facts) == ["link-fine"]

    def test_offloads_that_were_switched_off(self) -> None:
        off = Features(("rx-checksum",), linkmade.TOLD.features.switchable, known=True)
        verdict = first(check(ethtool={"features": off}))
        assert (verdict.id, verdict.short) == ("offloads-off", "TSO, GSO, GRO")
        assert verdict.next == ("try: ethtool -K eth0 tso on gso on gro on",)

    def test_offloads_that_the_card_does_not_have(self) -> None:
        fixed = Features(("tx-generic-segmentation",), (), known=True)
        assert ids(check(ethtool={"features": fixed})) == ["link-fine"]

    def test_pause_frames(self) -> None:
        verdict = first(check(window=watched(driver={"rx_flow_control_xoff": 90})))
        assert (verdict.id, verdict.level) == ("paused", Level.LOOK)

    def test_a_core_full_of_frames_and_a_stolen_one(self) -> None:
        full = Cpu(cores=2, loads=(CoreLoad(0.2, 0.1, 0.0), CoreLoad(0.9, 0.7, 0.0)))
        stolen = Cpu(cores=1, loads=(CoreLoad(0.5, 0.0, 0.3),))
        assert first(check(cpu=full)).short == "core 1, 70 % softirq"
        assert first(check(cpu=stolen)).id == "stolen-cpu"

    def test_interrupts_on_one_core(self) -> None:
        cpu = Cpu(cores=8, irqs=8, irq_cores=(3,))
        facts = check(cpu=cpu, modes={"speed_mbps": 10_000}, ethtool={"rings": Rings(4096, 4096)})
        assert first(facts).id == "one-core-irqs"

    def test_a_limited_container_and_a_slow_clock(self) -> None:
        assert first(check(cpu=Cpu(quota_cores=0.5))).id == "cpu-quota"
        slow = Cpu(governors=("powersave",), frequency_driver="acpi-cpufreq")
        assert first(check(cpu=slow)).id == "cpu-governor"
        usual = Cpu(governors=("powersave",), frequency_driver="intel_pstate")
        assert ids(check(cpu=usual)) == ["link-fine"]

    def test_buffers_against_the_path(self) -> None:
        verdict = first(towards(latency=Latency("icmp", 5, (80.0,) * 5)))
        assert verdict.id == "small-buffers"
        assert verdict.short == "3.15 MB of 10.0 MB"
        assert verdict.next == (
            "try: sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432'",
            "try: sysctl -w net.ipv4.tcp_wmem='4096 16384 16777216'",
        )


class TestPath:
    def test_a_tunnel_takes_its_part(self) -> None:
        verdict = first(towards(path_mtu=PathMtu(1420, 1500, named_by="10.9.9.9")))
        assert (verdict.id, kind(verdict)) == ("mtu-differs", "path")
        assert verdict.short == "1500 here, 1420 on path"

    def test_jumbo_frames_that_end_on_the_way(self) -> None:
        path = PathMtu(1500, 9000, named_by="10.9.9.9", fails_bytes=1501)
        verdict = first(towards(interface={"mtu_bytes": 9000}, path_mtu=path))
        assert (verdict.id, verdict.title) == ("mtu-differs", "Jumbo frames end on the path")
        assert verdict.claim.endswith("a link on the way has no jumbo frames.")

    def test_a_search_that_ran_out_of_time_judges_nothing(self) -> None:
        path = PathMtu(1280, 1500, fails_bytes=1460, settled=False)
        assert ids(towards(path_mtu=path)) == ["link-fine"]

    def test_datagrams_that_fit_have_the_headers_of_their_family(self) -> None:
        path = PathMtu(1420, 1500, named_by="2001:db8::9")
        steps = [first(towards(path_mtu=path)).next[0]]
        steps.append(first(towards(path_mtu=path, address="2001:db8::7")).next[0])
        assert [each.split()[-1] for each in steps] == ["1392", "1372"]

    def test_a_layer_that_sends_more_than_the_one_below_takes(self) -> None:
        top = replace(linkmade.CARD, index=9, name="br0", kind="bridge", mtu_bytes=9000)
        verdict = first(check(interface=None, chain=("br0", "eth0")))
        assert verdict.id == "link-fine"
        facts = replace(check(), interface=top)
        assert (first(facts).id, kind(first(facts))) == ("mtu-differs", "layers")

    def test_a_black_hole(self) -> None:
        verdict = first(towards(path_mtu=PathMtu(1400, 1500, black_hole=True)))
        assert (verdict.id, verdict.level) == ("mtu-blackhole", Level.FAULT)
        assert verdict.next[0] == "try: sysctl -w net.ipv4.tcp_mtu_probing=1"
        assert "let ICMP type 3 code 4 pass" in verdict.next[1]

    def test_a_black_hole_whose_edge_was_not_found_in_time(self) -> None:
        path = PathMtu(1280, 1500, black_hole=True, fails_bytes=1460, settled=False)
        verdict = first(towards(path_mtu=path, address="2001:db8::7"))
        assert verdict.claim.startswith("Packets of 1460 bytes vanish")
        assert "let ICMPv6 type 2 pass" in verdict.next[1]

    def test_a_gateway_without_an_address(self) -> None:
        silent = Latency("icmp", 3)
        facts = check(gateway_state="failed", gateway_latency=silent)
        assert (first(facts).id, first(facts).level) == ("gateway-silent", Level.FAULT)
        assert ids(check(gateway_state="stale", gateway_latency=silent)) == ["link-fine"]

    def test_a_queue_that_drops_what_should_be_sent(self) -> None:
        verdict = first(check(window=watched(qdisc_drops=900)))
        assert (verdict.id, verdict.level, verdict.short) == (
            "queue-drops",
            Level.LOOK,
            "900 in 5 s",
        )
        assert ids(check(window=watched(qdisc_drops=9))) == ["link-fine"]

    def test_a_neighbour_that_nobody_knows(self) -> None:
        facts = towards(
            route=Route("10.0.0.99", "eth0", 2),
            latency=Latency("icmp", 10, error="no route to host"),
            path_mtu=None,
            port=None,
            host_state="failed",
        )
        assert (first(facts).title, first(facts).level) == ("Not on this network", Level.FAULT)

    def test_a_filtered_port_of_a_host_that_is_silent_accuses_no_firewall(self) -> None:
        port = Port(5201, PortState.FILTERED)
        silent = towards(latency=Latency("icmp", 10), path_mtu=None, port=port)
        (claim,) = [each.claim for each in judge_link(silent) if each.id == "port-not-ready"]
        assert claim.endswith("nothing comes from the host at all.")
        (claim,) = [each.claim for each in judge_link(towards(port=port)) if each.next]
        assert claim.endswith("a firewall drops it silently.")

    def test_lost_probes_are_not_steady(self) -> None:
        some = Latency("icmp", 10, (12.0,) * 8)
        verdict = first(towards(latency=some))
        assert (verdict.id, verdict.level, verdict.short) == ("lost-probes", Level.LOOK, "2 of 10")
        assert ids(towards(latency=Latency("icmp", 10, (12.0,) * 9))) == ["link-fine"]

    def test_a_host_that_does_not_answer(self) -> None:
        facts = towards(
            latency=Latency("icmp", 10),
            path_mtu=None,
            hops=Hops((Hop(1, "10.0.0.1", 0.3),)),
            port=Port(5201, PortState.FILTERED, detail="no answer within 1 s"),
        )
        assert first(facts).id == "unreachable"
        assert "the last that answers is 10.0.0.1, 1 hops away" in first(facts).because[0]

    def test_a_host_that_drops_pings_but_answers(self) -> None:
        assert ids(towards(latency=Latency("icmp", 10), path_mtu=None)) == ["link-fine"]

    def test_delay_that_varies_at_rest(self) -> None:
        verdict = first(towards(latency=Latency("icmp", 6, (10.0, 40.0, 12.0, 55.0, 11.0, 30.0))))
        assert verdict.id == "jitter"

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            (PortState.REFUSED, "nothing listens"),
            (PortState.FILTERED, "a firewall drops it silently"),
            (PortState.UNREACHABLE, "cannot be reached"),
        ],
    )
    def test_the_port_is_explained_and_judges_nothing(self, state: PortState, words: str) -> None:
        facts = towards(port=Port(5201, state, detail="x"))
        (verdict,) = [each for each in judge_link(facts) if each.id == "port-not-ready"]
        assert words in verdict.claim
        assert exit_code(facts) == 0


class TestWhatIsNotJudged:
    def test_a_virtual_card(self) -> None:
        facts = check(
            interface={"bus": "virtio"},
            ethtool={"driver": Driver("virtio_net")},
            modes={"duplex": "half", "autoneg": False, "speed_mbps": 10},
            window=watched(rx_crc_errors=50),
        )
        assert ids(facts) == ["virtual-link"]
        assert "ask there" in first(facts).claim
        assert exit_code(facts) == 0

    def test_a_container_says_whose_link_it_is(self) -> None:
        facts = check(
            interface={"kind": "veth", "bus": "", "lower_elsewhere": True},
            surroundings=Surroundings(container="Docker"),
        )
        assert "Docker's container: the host's own link cannot be seen" in first(facts).claim

    def test_a_container_with_its_hosts_virtual_card(self) -> None:
        facts = check(interface={"bus": "virtio"}, surroundings=Surroundings(container="Podman"))
        assert "This is Podman's container, the card is its host's." in first(facts).claim

    @pytest.mark.parametrize(
        ("interface", "driver", "words"),
        [
            ({"kind": "", "bus": "virtio"}, "virtio_net", "The hypervisor knows the cable"),
            ({"kind": "", "bus": "pci"}, "ixgbevf", "The host that owns the card"),
            ({"kind": "", "bus": "", "loopback": True}, None, "no cable, so there is nothing"),
            ({"kind": "dummy", "bus": ""}, "dummy", "no cable, so there is nothing"),
            ({"kind": "tun", "bus": ""}, "tun", "Another interface carries its packets"),
            ({"kind": "wireguard", "bus": ""}, "wireguard", "Another interface carries"),
            ({"kind": "veth", "bus": ""}, "veth", "this host's processor is its only limit"),
            (
                {"kind": "veth", "bus": "", "lower_elsewhere": True},
                "veth",
                "If this is a container, the host's own link cannot be seen",
            ),
        ],
    )
    def test_who_knows_more_of_it(
        self, interface: dict[str, Any], driver: str | None, words: str
    ) -> None:
        facts = check(interface=interface, ethtool={"driver": Driver(driver)})
        assert [each.id for each in judge_link(facts)] == ["virtual-link"]
        assert words in first(facts).claim
        expected = first(replace(facts, expected="1G/full"))
        assert "which has no speed of its own" in expected.claim

    def test_this_host_itself(self) -> None:
        facts = towards(
            interface={"loopback": True, "bus": ""}, route=Route("127.0.0.1", "lo", 1, local=True)
        )
        assert first(facts).claim == "lab-b is this host itself: no link is on the way."

    def test_wifi(self) -> None:
        good = check(wireless=True, wifi=Wifi("x", 5220, -50, 866.0, 866.0))
        weak = check(wireless=True, wifi=Wifi("x", 2412, -81, 24.0, 12.0))
        assert (first(good).id, first(good).level) == ("shared-medium", Level.FINE)
        assert first(weak).level is Level.LOOK

    def test_a_bond_that_lost_a_member(self) -> None:
        bond = Interface(9, "bond0", "bond")
        one = Interface(2, "eth0", carrier=True, master=9)
        two = Interface(3, "eth1", carrier=False, master=9)
        verdict = first(check(group=bond, members=(one, two)))
        assert (verdict.id, verdict.short) == ("member-down", "eth1")

    def test_nothing_known_at_all(self) -> None:
        nothing = LinkFacts(interface=Interface(2, "x"), device=Interface(2, "x"), pending=())
        assert ids(nothing) == ["link-fine"]
        assert first(nothing).confidence is Confidence.MEDIUM

    def test_nothing_to_look_at(self) -> None:
        facts = LinkFacts(problem="this host has no interface")
        assert (first(facts).id, exit_code(facts)) == ("cannot-tell", 68)


def test_faults_come_before_what_is_worth_a_look() -> None:
    facts = check(
        modes={"speed_mbps": 100}, window=watched(rx_missed_errors=1), cpu=Cpu(quota_cores=1.0)
    )
    levels = [verdict.level for verdict in judge_link(facts)]
    assert levels == sorted(levels, key=[Level.FAULT, Level.LOOK].index)
    assert exit_code(facts) == 2
