"""Watching a link, the cable test's notifications, and whose cable this shell hangs on."""

from __future__ import annotations

import struct
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.spaces import Space, narrow, send, spaces, wire
from tests.rules.linkmade import CARD, QUIET
from tuiperf.evidence import cable_test, interfaces, watch
from tuiperf.evidence.cable_test import Pair, Reflection
from tuiperf.evidence.counters import Counts, Qdisc, Softnet
from tuiperf.evidence.ethtool import LinkModes
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.interfaces import Interface, by_name
from tuiperf.evidence.netlink import attribute, generic, nest
from tuiperf.evidence.rates import RateSampler
from tuiperf.evidence.signs import Errors
from tuiperf.evidence.watch import Change, State, Watch, changes

BEFORE = State(CARD, LinkModes(True, 1000, "full"), Counts(1.0, nic=QUIET))


def told(after: State) -> list[tuple[str, str, str]]:
    return [(each.what, each.level, each.text) for each in changes(BEFORE, after, 7.0)]


def test_nothing_changes() -> None:
    assert told(BEFORE) == []


def test_a_carrier_that_is_lost_and_comes_back() -> None:
    lost = replace(BEFORE, interface=replace(CARD, carrier=False))
    assert told(lost) == [("carrier", "fault", "carrier lost")]
    back = [each.text for each in changes(lost, BEFORE, 7.0)]
    assert back == ["carrier is back, 1 Gbit/s, full duplex"]


def test_a_flap_between_two_looks() -> None:
    assert told(replace(BEFORE, interface=replace(CARD, carrier_changes=4))) == [
        ("flap", "fault", "the link flapped: 2 changes between two looks")
    ]


def test_speed_duplex_and_negotiation() -> None:
    assert told(replace(BEFORE, modes=LinkModes(False, 100, "half"))) == [
        ("speed", "fault", "speed 1 Gbit/s → 100 Mbit/s"),
        ("duplex", "fault", "duplex full → half"),
        ("autoneg", "look", "autonegotiation switched off"),
    ]
    assert told(replace(BEFORE, modes=LinkModes(True, 2500, "full")))[0][1] == "ok"
    assert told(replace(BEFORE, modes=LinkModes(True, None, None))) == []


def test_counters_that_rise() -> None:
    counts = Counts(2.5, nic={**QUIET, "rx_crc_errors": 42})
    assert told(replace(BEFORE, counts=counts)) == [
        ("damaged", "fault", "42 damaged frames (CRC) in 1.5 s")
    ]
    before = replace(BEFORE, counts=Counts(1.0, nic=QUIET, driver={"rx_symbol_err_phy": 3}))
    after = replace(BEFORE, counts=Counts(2.0, nic=QUIET, driver={"rx_symbol_err_phy": 8}))
    assert [each.text for each in changes(before, after, 7.0)] == ["5 symbol errors in 1.0 s"]


def risen(
    softnet: Softnet | None = None, drops: int = 0, tx_packets: int = 40_000
) -> list[tuple[str, str, str]]:
    """What is told after two seconds in which the host counted this."""
    queues = (Qdisc("fq_codel", True, 70),)
    before = Counts(1.0, nic=QUIET, softnet=Softnet(0), qdiscs=queues)
    after = Counts(
        3.0,
        nic={**QUIET, "tx_packets": QUIET["tx_packets"] + tx_packets},
        softnet=softnet or Softnet(1000),
        qdiscs=(Qdisc("fq_codel", True, 70 + drops),),
    )
    news = changes(replace(BEFORE, counts=before), replace(BEFORE, counts=after), 7.0)
    assert all(each.time_s == 7.0 for each in news)
    return [(each.what, each.level, each.text) for each in news]


def test_the_hosts_receive_path_is_told_to_be_of_all_interfaces() -> None:
    where = "this host, any interface (softnet) in 2.0 s"
    assert risen(Softnet(99_995, 5)) == [("softnet_dropped", "look", f"5 frames dropped: {where}")]
    assert risen(Softnet(995, 5))[0][1] == "fault", "more than one of a thousand"
    assert risen(Softnet(1000, 0, 3)) == [
        ("softnet_squeezed", "ok", f"3 squeezed, not lost: {where}")
    ]
    assert [each[0] for each in risen(Softnet(9, 4, 3))] == ["softnet_dropped", "softnet_squeezed"]
    assert risen() == []


def test_drops_of_the_own_queue_are_weighed_as_the_check_weighs_them() -> None:
    text = "dropped before they were sent (fq_codel)"
    assert risen(drops=100) == [("qdisc_drops", "look", f"100 {text} in 2.0 s")]
    few = "a few, as full queues do, in 2.0 s"
    assert risen(drops=9, tx_packets=9) == [("qdisc_drops", "ok", f"9 {text}, {few}")]
    assert risen(drops=30) == [("qdisc_drops", "ok", f"30 {text}, {few}")]


def test_a_queue_that_is_replaced_while_it_is_watched_counts_nothing() -> None:
    before = replace(BEFORE, counts=Counts(1.0, nic=QUIET, qdiscs=(Qdisc("fq", True, 3),)))
    after = replace(BEFORE, counts=Counts(2.0, nic=QUIET, qdiscs=(Qdisc("tbf", True, 900),)))
    assert changes(before, after, 7.0) == []


def test_counters_that_were_not_read_or_went_back_tell_nothing() -> None:
    full = Counts(1.0, nic=QUIET, softnet=Softnet(9, 9, 9), qdiscs=(Qdisc("fq", True, 9),))
    empty = replace(full, softnet=Softnet(0), qdiscs=(Qdisc("fq", True, 0),))
    for before, after in ((full, empty), (full, Counts(2.0)), (Counts(0.0), full)):
        news = changes(replace(BEFORE, counts=before), replace(BEFORE, counts=after), 7.0)
        assert news == []


def test_switched_off_renumbered_and_gone() -> None:
    off = replace(CARD, enabled=False, carrier=False)
    assert [each[0] for each in told(replace(BEFORE, interface=off))] == ["enabled", "carrier"]
    assert told(replace(BEFORE, interface=replace(CARD, mtu_bytes=9000))) == [
        ("mtu", "look", "MTU 1500 → 9000")
    ]
    gone = Interface(2, "eth0", enabled=None, carrier=None)
    assert told(State(gone, LinkModes())) == [("interface", "fault", "the interface is gone")]


def device_of(space: Space, name: str) -> Interface:
    found = by_name(space.do(lambda: interfaces.read(Gaps())), name)
    assert found is not None
    return found


def test_a_real_carrier_is_told_of_when_it_goes_and_comes() -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        device = device_of(here, "w0")
        watching = here.do(lambda: Watch(device, virtual=True).__enter__())
        try:
            assert here.do(lambda: watching.wait(0.01)) == []
            there.ip("link set w1 down")
            down = _until_news(here, watching)
            there.ip("link set w1 up")
            back = _until_news(here, watching)
        finally:
            here.do(watching.__exit__)
    assert [(each.what, each.level) for each in down] == [("carrier", "fault")]
    assert ("carrier", "ok") in [(each.what, each.level) for each in back]


def _until_news(space: Space, watching: Watch) -> list[Change]:
    """The next news of the interface; this host's receive path is busy with others' work."""
    for _ in range(20):
        news = [each for each in space.do(watching.wait) if not each.what.startswith("softnet")]
        if news:
            return news
    return []


def test_an_interface_that_goes_while_it_is_watched() -> None:
    with spaces(1) as (here,):
        here.ip("link add d0 type veth peer name d1")
        here.ip("link set d0 up")
        device = device_of(here, "d0")
        watching = here.do(lambda: Watch(device, virtual=True).__enter__())
        try:
            here.ip("link del d0")
            news = _until_news(here, watching)
        finally:
            here.do(watching.__exit__)
    assert ("interface", "fault") in [(each.what, each.level) for each in news]


def test_an_interface_that_is_plugged_in_again() -> None:
    with spaces(1) as (here,):
        here.ip("link add d0 type veth peer name d1")
        device = device_of(here, "d0")
        watching = here.do(lambda: Watch(device, virtual=True).__enter__())
        try:
            here.ip("link del d0")
            gone = _until_news(here, watching)
            here.ip("link add filler type veth peer name filler1")  # it takes the next numbers
            here.ip("link add d0 type veth peer name d1")
            back = _until_news(here, watching)
            here.ip("link set d1 up")
            here.ip("link set d0 up")
            up = _until_news(here, watching)
        finally:
            here.do(watching.__exit__)
    assert [(each.what, each.level) for each in gone] == [("interface", "fault")]
    assert [each.text for each in back] == ["the interface is back, without a carrier"]
    assert "switched on" in [each.text for each in up]


def test_a_real_queue_that_overflows_is_told_of_and_a_neighbours_is_not() -> None:
    with spaces(2) as (here, there):
        for name, net in (("w", 0), ("v", 1)):
            wire(here, there, f"10.0.{net}.1/24", f"10.0.{net}.2/24", name)
            narrow(here, f"{name}0")
        device = device_of(here, "w0")
        watching = here.do(lambda: Watch(device, virtual=True).__enter__())
        try:
            here.do(lambda: send("10.0.1.2", 90))
            here.do(lambda: send("10.0.0.2", 60))
            (news,) = _until_news(here, watching)
        finally:
            here.do(watching.__exit__)
    assert (news.what, news.level) == ("qdisc_drops", "look")
    assert news.text.split(" in ")[0].endswith(" dropped before they were sent (tbf)")
    assert 50 <= int(news.text.split()[0]) < 70


def test_news_of_other_interfaces_are_not_its_own() -> None:
    with spaces(1) as (here,):
        here.ip("link add d0 type veth peer name d1")
        here.ip("link add other type veth peer name other1")
        device = device_of(here, "d0")
        watching = here.do(lambda: Watch(device, virtual=True).__enter__())
        try:
            here.ip("link set other up")
            others = here.do(watching._heard)
            here.ip("link set d0 up")
            own = here.do(watching._heard)
        finally:
            here.do(watching.__exit__)
    assert (others, own) == (False, True)


def test_rates_of_a_real_device() -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        sampler = RateSampler(device_of(here, "w0"))
        here.do(sampler.sample)
        assert not sampler.rates
        here.do(sampler.sample)
    (rate,) = sampler.rates
    assert rate.drops == rate.errors == 0
    assert rate.rx_packets >= 0


def notification(*pairs: tuple[int, int, int | None], status: int = 2, name: str = "eth0") -> bytes:
    """ETHTOOL_MSG_CABLE_TEST_NTF."""
    results = []
    for pair, code, length_cm in pairs:
        number = attribute(1, struct.pack("=B", pair))
        results.append(nest(1, number, attribute(2, struct.pack("=B", code))))
        if length_cm is not None:
            results.append(nest(2, number, attribute(2, struct.pack("=I", length_cm))))
    head = nest(1, attribute(1, struct.pack("=I", 2)), attribute(2, name.encode() + b"\0"))
    body = head + attribute(2, struct.pack("=B", status))
    return generic(27, body + (nest(3, *results) if results else b""))


def test_a_cable_by_its_pairs() -> None:
    found = cable_test.decode(notification((0, 1, None), (1, 2, 1230), (2, 3, 400), (3, 99, None)))
    assert found == (
        "eth0",
        (
            Pair("A", "ok"),
            Pair("B", "open", 12.3),
            Pair("C", "short within the pair", 4.0),
            Pair("D", "result 99"),
        ),
    )
    assert [pair.wires for pair in found[1]] == ["1-2", "3-6", "4-5", "7-8"]


def test_a_test_that_has_only_begun_and_other_news() -> None:
    assert cable_test.decode(notification(status=1)) == ("eth0", ())
    assert cable_test.decode(generic(3, b"")) is None


def reflection(*nests: bytes, name: str = "eth0") -> bytes:
    """ETHTOOL_MSG_CABLE_TEST_TDR_NTF."""
    head = nest(1, attribute(2, name.encode() + b"\0"))
    return generic(28, head + attribute(2, b"\2") + nest(3, *nests))


def test_reflections_by_their_distance() -> None:
    def step(first_cm: int, step_cm: int) -> bytes:
        words = ((1, first_cm), (2, 9999), (3, step_cm))
        return nest(1, *(attribute(type_, struct.pack("=I", word)) for type_, word in words))

    def sample(pair: int, millivolts: int) -> bytes:
        return nest(2, attribute(1, bytes([pair])), attribute(2, struct.pack("=h", millivolts)))

    told = cable_test.decode_reflections(
        reflection(
            nest(3, attribute(1, struct.pack("=h", 1000))),
            step(966, 80),
            sample(0, 46),
            sample(1, 117),
            sample(0, -7),
            step(2000, 100),
            sample(0, 5),
            sample(9, 5),
        )
    )
    assert told is not None
    name, samples = told
    assert (name, samples) == (
        "eth0",
        (
            Reflection("A", 9.66, 46),
            Reflection("B", 9.66, 117),
            Reflection("A", 10.46, -7),
            Reflection("A", 20.0, 5),
        ),
    )
    assert cable_test.strongest(samples) == (samples[0], samples[1])
    assert cable_test.decode_reflections(notification((0, 1, None))) is None


@given(st.binary(max_size=120))
def test_random_reflections_never_raise(data: bytes) -> None:
    cable_test.decode_reflections(generic(28, data))
    cable_test.decode_reflections(generic(28, nest(3, data)))


@given(st.binary(max_size=120))
def test_random_notifications_never_raise(data: bytes) -> None:
    cable_test.decode(data)
    cable_test.decode(b"\x1b" + data)


def test_the_peer_of_this_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.9 50000 192.0.2.1 22")
    assert cable_test.ssh_peer() == "192.0.2.9"
    monkeypatch.setenv("SSH_CONNECTION", "")
    monkeypatch.setattr(
        cable_test, "_environments", lambda: iter([["A=b", "SSH_CONNECTION=::1 1"]])
    )
    assert cable_test.ssh_peer() == "::1"


@pytest.mark.parametrize(
    ("stat", "parent"), [("7 (a) b) S 42 1", 42), ("7 (x) S", 0), ("", 0), ("7 (x) S z", 0)]
)
def test_the_parent_of_a_process(stat: str, parent: int) -> None:
    assert cable_test.parent_of(stat) == parent


def test_what_is_watched_are_signs_that_are_counted() -> None:
    assert {name for name, _ in watch.WATCHED} <= {each.name for each in fields(Errors)}
    assert not watch.HOST_RISES & {each.name for each in fields(Errors)}
