"""What this host's kernel tells of its own losses and of its cores: the verdicts it gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests import made_udp
from tests.made_udp import Losses
from tests.rules import steady
from tuiperf import events as ev
from tuiperf.rules import host
from tuiperf.rules.book import judge
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.session import Session, reduce


def first(**made: Any) -> Verdict:
    return judge(steady.session(over=True, **made))[0]


def received(grown: dict[str, int], again: int = 100) -> Verdict:
    far = steady.far_results(again, 500_000_000)
    growing = {"rcv_ooopack_packets": 4.0}
    return first(here_sends=False, grown=grown, far=far, growing=growing, rcv_rtt_us=41_000)


def test_a_backlog_that_overflows_is_this_host_not_the_path() -> None:
    verdict = received({"softnet.dropped": 80, "softnet.squeezed": 7})
    assert (verdict.id, dict(verdict.qualifier)) == ("host-limited", {"side": "receiver"})
    assert verdict.level is Level.FAULT
    assert verdict.short == "80 packets"
    assert "80 were dropped in a core's receive backlog" in verdict.because[0]
    assert "7 times a core had no time left" in verdict.because[2]
    assert "netdev_max_backlog" in verdict.next[0]


@pytest.mark.parametrize("name", ["device.rx_dropped", "tcp.TCPRcvQDrop"])
def test_each_counter_of_received_packets_counts(name: str) -> None:
    assert received({name: 80}).id == "host-limited"


@pytest.mark.parametrize("count", [9, 49])
def test_few_drops_do_not_explain_the_losses(count: int) -> None:
    assert received({"softnet.dropped": count}).id == "lossy"


def test_what_a_sender_drops_itself() -> None:
    verdict = first(grown={"device.tx_dropped": 60}, **steady.losing(1e-2))
    assert (verdict.id, dict(verdict.qualifier)) == ("host-limited", {"side": "sender"})
    assert "tx_dropped" in verdict.because[0]


def test_drops_on_the_way_in_say_nothing_of_what_is_sent() -> None:
    assert first(grown={"softnet.dropped": 600}, **steady.losing(1e-2)).id == "lossy"


@pytest.mark.parametrize(
    ("grown", "words"),
    [
        ({"core1.softirq_s": 7, "core1.steal_s": 0}, "interrupts"),
        ({"core0.softirq_s": 1, "core0.steal_s": 6}, "hypervisor"),
    ],
)
def test_a_core_without_time(grown: dict[str, int], words: str) -> None:
    both = {f"core{core}.{kind}_s": 0 for core in (0, 1) for kind in ("softirq", "steal")}
    verdict = first(grown=both | grown, here_sends=False)
    assert (verdict.id, verdict.level) == ("host-limited", Level.LOOK)
    assert words in verdict.claim
    assert verdict.short == "88 % of a core"


def test_a_busy_core_is_no_limit_where_the_path_is_full() -> None:
    grown = {"core0.softirq_s": 7, "core0.steal_s": 0}
    assert first(grown=grown, rtt_us=80_000, unacked_packets=5_000).id == "path-full"


def test_shares_of_cores_are_known_only_at_the_end() -> None:
    session = steady.session(grown={"core0.steal_s": 4, "core0.softirq_s": 0})
    assert host.core_share(session, ("steal_s",)) == pytest.approx(0.5)
    del session.host_facts["end"]
    assert host.core_share(session, ("steal_s",)) is None


@pytest.mark.parametrize("value", [None, True, "x", float("nan"), float("inf")])
def test_what_is_no_time_counts_as_none(value: Any) -> None:
    session = steady.session(grown={"core0.steal_s": 4})
    session.host_facts["end"].counters["core0.steal_s"] = value
    assert host.core_share(session, ("steal_s",)) == 0.0


def udp(losses: Losses, grown: dict[str, int], *, reverse: bool) -> Verdict:
    session: Session = made_udp.session(made_udp.spec(reverse=reverse), losses, seconds=5)
    reduce(session, ev.HostFacts(0.0, "begin", {}, dict.fromkeys(grown, 0), {}))
    reduce(session, ev.HostFacts(5.0, "end", {}, grown, {}))
    return judge(session)[0]


@pytest.mark.parametrize("name", ["udp.RcvbufErrors", "softnet.dropped", "device.rx_dropped"])
def test_datagrams_that_this_host_drops(name: str) -> None:
    verdict = udp(Losses(lost=100, host_dropped=None), {name: 400}, reverse=True)
    assert (verdict.id, dict(verdict.qualifier)) == ("udp-host-drops", {"side": "receiver"})
    assert "about 400 of 500 lost datagrams" in verdict.because[0]


def test_a_socket_counts_once() -> None:
    losses = Losses(lost=100, host_dropped=30)
    assert udp(losses, {"udp.RcvbufErrors": 150}, reverse=True).id == "udp-loss"


@pytest.mark.parametrize("name", ["udp.SndbufErrors", "device.tx_dropped"])
def test_datagrams_that_never_left(name: str) -> None:
    verdict = udp(Losses(lost=100), {name: 400}, reverse=False)
    assert (verdict.id, dict(verdict.qualifier)) == ("udp-host-drops", {"side": "sender"})


def test_few_drops_here_leave_it_to_the_path() -> None:
    assert udp(Losses(lost=100), {"device.tx_dropped": 200}, reverse=False).id == "udp-loss"
