"""What has changed between two checks, in words and for better or worse."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.rules.linkmade import QUIET, TO_100, check, towards
from tuiperf.evidence.counters import Counts
from tuiperf.evidence.ethtool import Driver, Eee
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.latency import Latency
from tuiperf.evidence.module import Module, Reading
from tuiperf.rules.link_diff import compare
from tuiperf.rules.verdict import Level


def plain(facts: LinkFacts) -> dict[str, Any]:
    """A check as it is kept: through JSON and back."""
    found: dict[str, Any] = json.loads(json.dumps(facts.to_json()))
    return found


def changes(before: LinkFacts, after: LinkFacts) -> dict[str, tuple[Level, str]]:
    found = compare(plain(before), plain(after))
    return {each.what: (each.level, f"{each.before} → {each.after}") for each in found}


def test_nothing_has_changed() -> None:
    assert changes(towards(), towards()) == {}


def test_slower_after_recabling() -> None:
    found = changes(check(), check(modes={"speed_mbps": 100, "duplex": "half"}))
    assert found["speed"] == (Level.FAULT, "1 Gbit/s → 100 Mbit/s")
    assert found["duplex"] == (Level.FAULT, "full → half")


def test_faster_after_recabling() -> None:
    found = changes(check(modes={"speed_mbps": 100}), check())
    assert found["speed"] == (Level.FINE, "100 Mbit/s → 1 Gbit/s")


def test_a_lost_carrier_is_worse_and_comes_first() -> None:
    found = compare(plain(check()), plain(check(interface={"carrier": False, "mtu_bytes": 9000})))
    assert (found[0].what, found[0].level, found[0].text) == (
        "carrier",
        Level.FAULT,
        "carrier: yes → no",
    )
    assert "speed" not in {each.what for each in found}


def test_settings_that_are_only_different() -> None:
    found = changes(
        check(),
        check(
            interface={"mtu_bytes": 9000},
            ethtool={"driver": Driver("igb", "6.1", "3.30"), "eee": Eee(True, True)},
            modes={"partner": TO_100},
        ),
    )
    assert found["MTU"] == (Level.LOOK, "1500 → 9000")
    assert found["firmware"] == (Level.LOOK, "3.25 → 3.30")
    assert found["partner's modes"][1] == "1000baseT/Full Autoneg TP → gone"
    assert "EEE" not in found, "it was not known before"


def test_counters_that_grew_and_one_that_was_started_anew() -> None:
    before = Counts(1.0, nic={**QUIET, "rx_crc_errors": 5, "tx_carrier_errors": 9})
    after = Counts(2.0, nic={**QUIET, "rx_crc_errors": 47, "tx_carrier_errors": 1})
    found = changes(check(totals=before), check(totals=after))
    assert found == {"damaged frames (CRC)": (Level.FAULT, "none more → 42 more since")}


def test_flaps_since() -> None:
    found = changes(
        check(totals=Counts(1.0, nic=QUIET, carrier_changes=2)),
        check(totals=Counts(2.0, nic=QUIET, carrier_changes=6)),
    )
    assert found["carrier changes"] == (Level.LOOK, "none more → 4 more since")


def test_signs_that_only_the_driver_counts() -> None:
    before = Counts(1.0, nic=QUIET, driver={"rx_crc_errors_phy": 4})
    after = Counts(
        2.0,
        nic=QUIET,
        driver={"rx_crc_errors_phy": 10},
        standard={"SymbolErrorDuringCarrier": 7, "PauseFramesReceived": 2},
    )
    found = changes(check(totals=before), check(totals=after))
    assert found["damaged frames (CRC)"][1] == "none more → 6 more since"
    assert found["symbol errors"][0] is Level.FAULT
    assert found["pauses asked for"][0] is Level.LOOK


def test_counters_of_another_card_are_not_compared() -> None:
    grown = check(
        interface={"name": "eth1", "index": 3},
        totals=Counts(2.0, nic={**QUIET, "rx_crc_errors": 9}),
    )
    found = changes(check(), grown)
    assert found["device carried by"] == (Level.LOOK, "eth0 → eth1")
    assert found["counters"] == (Level.PENDING, "not compared → another device counts now")
    assert "damaged frames (CRC)" not in found


def test_counters_of_another_start_of_this_host_are_not_compared() -> None:
    before, after = check(uptime_s=1000.0), check(uptime_s=4000.0)
    (change,) = compare(plain(before), plain(after), 86_400.0)
    assert (change.level, change.text) == (
        Level.PENDING,
        "counters: not compared: this host was started anew",
    )
    assert compare(plain(before), plain(after), 3000.0) == []


def test_optical_power() -> None:
    def lit(dbm: float) -> LinkFacts:
        return check(module=Module("SFP", readings=(Reading("received power", dbm, "dBm", 1),)))

    assert changes(lit(-3.0), lit(-7.5))["received power"] == (Level.FAULT, "-3 dBm → -7.5 dBm")
    assert changes(lit(-7.5), lit(-3.0))["received power"][0] is Level.FINE
    assert changes(lit(-3.0), lit(-3.2)) == {}


def test_round_trips() -> None:
    slow = towards(latency=Latency("icmp", 3, (30.0, 31.0, 29.0)))
    assert changes(towards(), slow)["idle round trip"][0] is Level.FAULT
    assert changes(slow, towards())["idle round trip"] == (Level.FINE, "30.00 ms → 12.10 ms")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "link",
                    "speed_mbps",
                    "duplex",
                    "totals",
                    "nic",
                    "rx_crc_errors",
                    "module",
                    "readings",
                    "name",
                    "value",
                    "lane",
                    "latency",
                    "rtts_ms",
                    "device",
                    "carrier",
                    "ethtool",
                    "modes",
                    "partner",
                    "kernel",
                    "tcp_rmem_bytes",
                    "uptime_s",
                    "standard",
                    "SymbolErrorDuringCarrier",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_JSON, _JSON)
def test_documents_of_another_make_never_raise(before: Any, after: Any) -> None:
    wrapped = [each if isinstance(each, dict) else {"link": each} for each in (before, after)]
    for change in compare(wrapped[0], wrapped[1]):
        assert change.text
        json.dumps(change.to_json())
