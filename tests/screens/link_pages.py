"""The link check's screen without a terminal and without a host: facts are given."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from textual.pilot import Pilot

from tests.rules.linkmade import CARD, towards, watched
from tuiperf.evidence.facts import STAGES, LinkFacts
from tuiperf.evidence.gather import Plan, Sleep
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.link import DeviceClass, Link, Speed
from tuiperf.evidence.listing import Listed
from tuiperf.evidence.path_mtu import PathMtu
from tuiperf.evidence.rates import Rates
from tuiperf.evidence.watch import Change
from tuiperf.link_app import LinkApp
from tuiperf.view.rows import UNICODE, Glyphs

T = TypeVar("T")

TROUBLED = towards(
    window=watched(rx_missed_errors=412), path_mtu=PathMtu(1420, 1500, named_by="10.9.9.9")
)
HALF_WAY = replace(towards(window=None, hops=None, port=None), pending=STAGES[3:])


class MadeSource:
    """Gives facts, then changes; keeps the plans that it was asked for."""

    def __init__(self, facts: Sequence[LinkFacts], changes: Sequence[Change] = ()) -> None:
        self.plans: list[Plan] = []
        self.agains = 0
        self._facts = facts
        self._changes = changes

    def facts(self, plan: Plan, sleep: Sleep) -> Iterator[LinkFacts]:
        self.plans.append(plan)
        return iter(self._facts)

    def changes(self, facts: LinkFacts, stopped: threading.Event) -> Iterator[list[Change]]:
        yield list(self._changes)

    def again(self, facts: LinkFacts) -> LinkFacts:
        self.agains += 1
        return facts

    def interfaces(self) -> Sequence[Listed]:
        veth = Interface(7, "veth0", "veth", carrier=False)
        off = Interface(8, "eth1", enabled=False, bus="pci")
        return (
            Listed(
                CARD,
                Link(DeviceClass.PHYSICAL, "a card (igb)", Speed.KNOWN, 1000, "full"),
                "10.0.0.9",
                True,
            ),
            Listed(veth, Link(DeviceClass.VIRTUAL, "one end of a pair")),
            Listed(off, Link(DeviceClass.PHYSICAL, "a card (e1000e)")),
        )

    def rates(self, facts: LinkFacts) -> list[Rates]:
        return [
            Rates(8e5 + 1e4 * n, 9e4, float(n % 7 == 3), 0.0, 40 + n % 20, 1) for n in range(60)
        ]


class LinkBench:
    """A screen under test, without timers: `look` takes what there is and shows it."""

    def __init__(self, app: LinkApp, pilot: Pilot[None], source: MadeSource) -> None:
        self.app = app
        self.pilot = pilot
        self.source = source
        self.screen = app.link_screen

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.look()

    async def look(self) -> None:
        await self.pilot.pause()
        await self.app.workers.wait_for_complete()
        self.screen.tick()
        await self.pilot.pause()

    def text(self) -> str:
        """The screen as it would be drawn."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in lines)

    def toasts(self) -> list[str]:
        return [each.message for each in self.app._notifications]


def on_link_screen(
    case: Callable[[LinkBench], Awaitable[T]],
    *facts: LinkFacts,
    changes: Sequence[Change] = (),
    size: tuple[int, int] = (80, 24),
    glyphs: Glyphs = UNICODE,
) -> T:
    """Run a case against a screen that was given these facts."""

    async def run() -> T:
        source = MadeSource(facts or (TROUBLED,), changes)
        app = LinkApp(Plan("lab-b"), glyphs, source=source, live=False)
        async with app.run_test(size=size, notifications=True) as pilot:
            bench = LinkBench(app, pilot, source)
            await bench.look()
            return await case(bench)

    return asyncio.run(run())
