"""A whole look at a link in a namespace: what changes while it goes on is not told as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.evidence.spaces import Space, spaces, wire
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.gather import Plan, again, gather

SHORT = Plan("w0", window_s=0.01)


@pytest.fixture
def ends() -> Iterator[tuple[Space, Space]]:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        yield here, there


def looked(space: Space, plan: Plan, meanwhile: Callable[[], None]) -> LinkFacts:
    """The last facts of a look; `meanwhile` happens while the counters are watched."""

    def work() -> LinkFacts:
        found = gather(plan, sleep=lambda _: None)
        facts = next(found)
        while facts.pending != ("counters",):
            facts = next(found)
        kept.append((facts, found))
        return facts

    kept: list[tuple[LinkFacts, Iterator[LinkFacts]]] = []
    space.do(work)
    meanwhile()
    return space.do(lambda: next(kept[0][1]))


def test_a_cable_that_is_pulled_meanwhile(ends: tuple[Space, Space]) -> None:
    here, there = ends
    facts = looked(here, SHORT, lambda: there.ip("link set w1 down"))
    assert facts.device is not None
    assert facts.device.carrier is False
    assert facts.window is not None
    assert facts.window.carrier_changes == 1


def test_an_interface_that_vanishes_meanwhile(ends: tuple[Space, Space]) -> None:
    here, _ = ends
    facts = looked(here, SHORT, lambda: here.ip("link del w0"))
    assert facts.gone == "w0"
    assert (facts.link, facts.window) == (None, None)
    assert facts.over


def test_it_is_known_again_when_it_is_plugged_in_anew(ends: tuple[Space, Space]) -> None:
    here, there = ends
    facts = looked(here, SHORT, lambda: here.ip("link del w0"))
    wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
    back = here.do(lambda: again(facts, Gaps()))
    assert back.gone == ""
    assert back.device is not None
    assert back.device.carrier is True
    assert back.link is not None


def test_an_address_that_exists_on_every_link(ends: tuple[Space, Space]) -> None:
    here, there = ends
    own = there.run("ip", "-br", "-6", "addr", "show", "dev", "w1", "scope", "link").split()[2]
    address = own.partition("/")[0]
    (without,) = here.do(lambda: list(gather(Plan(address, window_s=0))))
    assert without.problem == f"{address} is valid on one link alone: say on which, as {address}%w0"
    found = here.do(lambda: list(gather(Plan(f"{address}%w0", window_s=0))))[-1]
    assert (found.problem, found.address) == ("", f"{address}%w0")
    assert found.latency is not None
    assert found.latency.method == "icmp"
    assert found.latency.rtts_ms
    assert found.path_mtu is not None
    assert found.path_mtu.mtu_bytes == 1500
    assert found.port is not None
    assert found.port.state.value == "refused"
