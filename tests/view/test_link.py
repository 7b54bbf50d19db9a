"""The link check's rows: exact sizes for any check, and the words that must be there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules import linkmade
from tests.rules.linkmade import check, towards, watched
from tuiperf.evidence.container import Surroundings
from tuiperf.evidence.cpu import CoreLoad, Cpu
from tuiperf.evidence.ethtool import Driver, LinkInfo
from tuiperf.evidence.facts import STAGES, LinkFacts
from tuiperf.evidence.gaps import Gap
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.latency import Latency
from tuiperf.evidence.module import Limits, Module, Reading
from tuiperf.evidence.path_mtu import PathMtu
from tuiperf.evidence.route import Route
from tuiperf.evidence.wifi import Wifi
from tuiperf.rules.link import judge_link
from tuiperf.rules.verdict import Level
from tuiperf.view import link
from tuiperf.view.link_checks import Check, checks
from tuiperf.view.rows import ASCII, ROLES, UNICODE, Glyphs, Row, row_width, to_text

OPTICS = Module(
    "SFP", "MAKER", "PART", (Reading("received power", -19.2, "dBm", 1, Limits(-20, -18, -1, 0)),)
)
HOSTILE = "\x1b[31mevil\u202e\n名前"
CASES: dict[str, LinkFacts] = {
    "in order": towards(),
    "nothing yet": LinkFacts(asked="eth0"),
    "nothing to look at": LinkFacts(asked="x", problem="there is no x", pending=()),
    "half way": replace(towards(hops=None, port=None, window=None), pending=STAGES[3:]),
    "drops": towards(window=watched(rx_missed_errors=412)),
    "tunnel": towards(path_mtu=PathMtu(1420, 1500, named_by="10.9.9.9")),
    "black hole": towards(path_mtu=PathMtu(1400, 1500, black_hole=True)),
    "dead": check(interface={"carrier": False}),
    "optics": check(module=OPTICS),
    "no rights": check(gaps=(Gap("optical power", "needs root: CAP_NET_ADMIN", True),)),
    "virtual": check(interface={"bus": "virtio"}, ethtool={"driver": Driver("virtio_net")}),
    "wifi": check(wireless=True, wifi=Wifi("net", 5220, -81, 24.0, 12.0)),
    "bond": check(
        group=Interface(9, "bond0", "bond", bond_mode="802.3ad"),
        members=(linkmade.CARD, Interface(3, "eth1", carrier=False)),
    ),
    "hostile": replace(
        towards(ethtool={"driver": Driver(HOSTILE, HOSTILE, HOSTILE, HOSTILE)}), host=HOSTILE
    ),
}


def listed_of(facts: LinkFacts) -> list[Check]:
    return checks(facts, judge_link(facts))


def by_name(facts: LinkFacts) -> dict[str, Check]:
    return {each.name: each for each in listed_of(facts)}


def exact(rows: list[Row], width: int, height: int | None = None) -> None:
    assert all(row_width(row) == width for row in rows), [to_text(row) for row in rows]
    assert height is None or len(rows) == height
    for row in rows:
        for text, role in row:
            assert role in ROLES
            assert text.isprintable()


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(CASES)),
    width=st.integers(1, 130),
    height=st.integers(1, 40),
    selected=st.integers(0, 20),
    glyphs=st.sampled_from([UNICODE, ASCII]),
)
def test_every_builder_is_exact(
    name: str, width: int, height: int, selected: int, glyphs: Glyphs
) -> None:
    facts = CASES[name]
    verdicts, listed = judge_link(facts), listed_of(facts)
    exact(link.heading_rows(facts, listed, width, glyphs), width, 2)
    rows = link.check_rows(listed, width, height, glyphs, selected=selected)
    exact(rows, width, height)
    chosen = listed[selected % len(listed)]
    exact(link.detail_rows(chosen, width, height, glyphs, offset=selected), width, height)
    exact(link.summary_rows(facts, listed, verdicts, (width, height), glyphs), width, height)
    series = [link.Series("rx", (1.0, 5e6, 0.0), "/s"), link.Series("cpu", (), "%")]
    exact(link.counter_rows(series, width, height, glyphs), width, height)
    if glyphs.ascii:
        page = link.plain_rows(facts, listed, verdicts, max(40, width), glyphs)
        assert all(to_text(row).isascii() for row in page)


@pytest.mark.parametrize("name", CASES)
def test_the_plain_page_fits_and_escapes(name: str) -> None:
    facts = CASES[name]
    rows = link.plain_rows(facts, listed_of(facts), judge_link(facts), 79)
    for row in rows:
        assert "\x1b" not in to_text(row)
        assert row_width(row) <= 79 or row is rows[0]


def test_findings_of_a_path_in_order() -> None:
    found = {each.name: (each.found, each.reading) for each in listed_of(towards())}
    assert found["Carrier and duplex"] == ("1 Gbit/s, full", "as expected")
    assert found["Negotiation"] == ("auto, partner 1 Gbit/s", "as expected")
    assert found["Interface errors"] == ("0 rx, 0 tx in 5 s", "clean")
    assert found["Offloads"] == ("tso gso gro on", "as expected")
    assert found["CPU"] == ("busiest core 30 %", "has time left")
    assert found["Gateway"] == ("10.0.0.1, 0.30 ms", "answers")
    assert found["MTU"] == ("1500 here, 1500 on path", "as expected")
    assert found["Idle RTT and jitter"][0] == "12.10 ms, ± 0.14"
    assert found["Hops"] == ("3 hops", "as found")
    assert found["Server's port"] == ("5201 open", "iperf3 is ready")
    assert {each.level for each in listed_of(towards())} == {Level.FINE}


def test_a_fault_stands_at_its_check() -> None:
    drops = by_name(CASES["drops"])["Interface drops"]
    assert (drops.level, drops.found, drops.reading) == (
        Level.FAULT,
        "412 rx in 5 s",
        "drops in this host",
    )
    assert link.command_of(drops) == "ethtool -G eth0 rx 4096"


def test_what_is_still_running_is_told_apart() -> None:
    facts = CASES["half way"]
    found = by_name(facts)
    assert found["Hops"].running
    assert found["Interface errors"].reading == "checking"
    heading = to_text(link.heading_rows(facts, listed_of(facts), 80)[0])
    assert "9 of 15 checked" in heading


def test_what_root_would_add_is_said() -> None:
    facts = CASES["no rights"]
    assert by_name(facts)["Optics"].reading == "needs root"
    page = "\n".join(
        to_text(row) for row in link.plain_rows(facts, listed_of(facts), judge_link(facts), 79)
    )
    assert "root would add: optical power" in page


def test_a_virtual_card_is_not_judged() -> None:
    found = by_name(CASES["virtual"])
    assert found["Carrier and duplex"].level is Level.PENDING
    for name in ("Negotiation", "Link flaps", "Interface errors", "Offloads"):
        assert (found[name].level, found[name].reading) == (Level.PENDING, "virtual: not judged")


def test_buffers_are_not_judged_without_a_host() -> None:
    assert by_name(check())["Socket buffers"].reading == "a HOST tells if enough"
    assert by_name(towards())["Socket buffers"].reading == "enough for this path"


BRIDGE = check(
    group=Interface(9, "br0", "bridge"),
    members=(linkmade.CARD, Interface(3, "eth1", carrier=False)),
)


@pytest.mark.parametrize(
    ("name", "facts", "words"),
    [
        (
            "CPU",
            check(cpu=Cpu(loads=(CoreLoad(0.97, 0.02, 0.0),))),
            "a core is full, not by frames",
        ),
        ("Gateway", check(gateway_latency=Latency("icmp", 3)), "known, answers no pings"),
        ("Gateway", towards(route=Route("192.0.2.7", "eth0", 2)), "no router in between"),
        ("MTU", towards(path_mtu=PathMtu(1280, 1500, settled=False)), "the time ran out"),
        ("MTU", towards(path_mtu=PathMtu(None, 1500)), "larger packets not known"),
        ("Queue discipline", check(window=watched(qdisc_drops=3)), "a few, as full queues do"),
        ("Members", BRIDGE, "not all have a carrier"),
        (
            "Negotiation",
            check(modes={"autoneg": False}, ethtool={"info": LinkInfo("fibre")}),
            "set by hand",
        ),
        ("Optics", check(module=Module("SFP")), "it tells no limits"),
        ("Socket buffers", towards(modes={"speed_mbps": None}), "needs the link's speed"),
    ],
)
def test_what_was_not_judged_is_not_called_fine(name: str, facts: LinkFacts, words: str) -> None:
    found = by_name(facts)[name]
    assert (found.level, found.reading) == (Level.PENDING, words)


def test_a_container_with_its_hosts_own_card_says_whose_it_is() -> None:
    facts = check(surroundings=Surroundings(container="Docker"))
    whose = dict(by_name(facts)["Carrier and duplex"].more)["whose"]
    assert whose == "this is Docker's container; the card is its host's own"
    assert "whose" not in dict(by_name(check())["Carrier and duplex"].more)


def test_members_wifi_and_optics_come_where_they_are() -> None:
    assert by_name(CASES["bond"])["Members"].found == "1 of 2 up"
    assert by_name(CASES["wifi"])["Wi-Fi"].found == "24 Mbit/s, -81 dBm"
    assert by_name(CASES["optics"])["Optics"].found == "-19.2 dBm received"
    assert not {"Members", "Wi-Fi", "Optics"} & set(by_name(check()))


def test_every_verdict_has_its_check() -> None:
    for facts in CASES.values():
        if facts.problem:
            continue
        shown = {each.verdict.id for each in listed_of(facts) if each.verdict}
        assert {each.id for each in judge_link(facts)} - {"link-fine"} <= shown


def test_the_detail_names_what_needs_root() -> None:
    drops = by_name(CASES["drops"])["Interface drops"]
    lines = [to_text(row) for row in link.detail_rows(drops, 78, 12)]
    line = next(each for each in lines if "ethtool -G" in each)
    assert line.split()[0] == "try"
    assert line.endswith("needs root; tuiperf never runs it")


def test_the_selection_stays_in_sight() -> None:
    assert link.clamp(5, 16, 11, 0) == (5, 0)
    assert link.clamp(12, 16, 11, 0) == (12, 2)
    assert link.clamp(99, 16, 11, 0) == (15, 5)
    assert link.clamp(1, 16, 11, 5) == (1, 1)
    assert link.clamp(3, 0, 11, 4) == (0, 0)


def test_counters_of_the_last_minute() -> None:
    series = [
        link.Series("rx packets", tuple(float(n) for n in range(100)), "/s"),
        link.Series("drops", (0.0, 0.0, 5.0), "/s", bad=True),
        link.Series("softirq, core 1", (61.0,), "%"),
    ]
    rows = link.counter_rows(series, 118, 3)
    assert to_text(rows[0]).endswith("99 /s")
    assert "▁▁▇" in to_text(rows[1])
    assert any(role == "fault" for _, role in rows[1])
    assert to_text(rows[2]).endswith("61 %")


def test_round_trips_that_nobody_answered() -> None:
    facts = towards(latency=Latency("icmp", 10), path_mtu=None)
    assert by_name(facts)["Idle RTT and jitter"].reading == "not told here"
