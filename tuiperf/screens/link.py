"""The screen of the link check: checks as they become known, one in detail, and what changes."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from tuiperf.evidence import listing
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.gather import Plan, Sleep, again, gather
from tuiperf.evidence.link import DeviceClass
from tuiperf.evidence.listing import Listed
from tuiperf.evidence.rates import Rates, RateSampler
from tuiperf.evidence.watch import HOST_RISES, Change, Watch
from tuiperf.rules.link import exit_code, judge_link
from tuiperf.view.help import LINK_KEYS
from tuiperf.view.interfaces import choices
from tuiperf.view.keys import Key
from tuiperf.view.link import Series, command_of, plain_rows, subject
from tuiperf.view.link_checks import checks
from tuiperf.view.link_json import document
from tuiperf.view.rows import Glyphs, escape, to_text
from tuiperf.view.verdicts import level_glyph
from tuiperf.widgets.link_panels import (
    Checks,
    Counters,
    Detail,
    LinkHeading,
    LinkKeys,
    LinkPage,
    LinkSummary,
    LinkWidget,
)
from tuiperf.widgets.rows import RowsWidget

from .interfaces import InterfaceScreen
from .sheets import HelpScreen

SUMMARY_WIDTH = 79
SAMPLE_S = 1.0
CHANGES_KEPT = 200
NOTE_KEPT_S = 30.0
"""How long a change for the worse stays in the heading before a usual one takes its place."""

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]


class LinkSource(Protocol):
    """Where facts and changes come from."""

    def facts(self, plan: Plan, sleep: Sleep) -> Iterator[LinkFacts]:
        """The facts after each stage."""

    def changes(self, facts: LinkFacts, stopped: threading.Event) -> Iterator[list[Change]]:
        """What changes afterwards, until `stopped`."""

    def again(self, facts: LinkFacts) -> LinkFacts:
        """What the device tells now, in place of what it told before."""

    def rates(self, facts: LinkFacts) -> list[Rates]:
        """The counters' last minute."""

    def interfaces(self) -> Sequence[Listed]:
        """The interfaces that can be looked at."""


class Host:
    """This host, as LinkSource."""

    def __init__(self) -> None:
        self._sampler: RateSampler | None = None

    def facts(self, plan: Plan, sleep: Sleep) -> Iterator[LinkFacts]:
        return gather(plan, sleep)

    def changes(self, facts: LinkFacts, stopped: threading.Event) -> Iterator[list[Change]]:
        if facts.device is None:
            return
        virtual = facts.link is not None and facts.link.device_class is DeviceClass.VIRTUAL
        with Watch(facts.device, virtual) as watch:
            while not stopped.is_set():
                yield watch.wait(0.5)

    def again(self, facts: LinkFacts) -> LinkFacts:
        return again(facts, Gaps())

    def interfaces(self) -> Sequence[Listed]:
        return listing.read(Gaps())

    def rates(self, facts: LinkFacts) -> list[Rates]:
        if facts.device is None:
            return []
        if self._sampler is None or self._sampler.device.index != facts.device.index:
            self._sampler = RateSampler(facts.device)
        self._sampler.sample()
        return list(self._sampler.rates)


class LinkScreen(Screen[None]):
    """A link check, from its first stage to the watch that follows it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "again", "Check again", id="link.again"),
        Binding("j,down", "choose(1)", "Down", show=False),
        Binding("k,up", "choose(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown", "choose(6)", "Down", show=False),
        Binding("ctrl+u,pageup", "choose(-6)", "Up", show=False),
        Binding("g,home", "choose(-1000)", "Top", show=False),
        Binding("G,end", "choose(1000)", "End", show=False),
        Binding("enter,b", "details", "Details", id="link.details"),
        Binding("i", "interface", "Choose an interface", id="link.interface"),
        Binding("y", "copy", "Copy the command", id="link.copy"),
        Binding("e", "export", "Export as JSON", id="link.export"),
        Binding("question_mark,f1", "help", "Help", id="link.help"),
        Binding("escape", "back", "Back", show=False),
        Binding("q,ctrl+c", "quit", "Quit", id="link.quit"),
    ]

    def __init__(
        self,
        plan: Plan,
        glyphs: Glyphs,
        source: LinkSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self.plan = plan
        self.page = LinkPage(glyphs=glyphs)
        self._source: LinkSource = source or Host()
        self._clock = clock
        self._inbox: deque[LinkFacts | Change] = deque(maxlen=1000)
        self._stopped = threading.Event()
        self._sampled_s = -SAMPLE_S
        self._asked_host = ""
        self._chosen_by_reader = False

    @property
    def _host(self) -> str:
        """The host that was asked for first, "" when it was an interface or nothing."""
        self._asked_host = self.page.facts.host or self._asked_host
        return self._asked_host

    def compose(self) -> ComposeResult:
        page = self.page
        yield LinkHeading(page, id="heading")
        with Horizontal(id="link-top"):
            yield Checks(page, id="checks", classes="panel")
            yield LinkSummary(page, id="link-summary", classes="panel")
        yield Detail(page, id="detail", classes="panel")
        yield Counters(page, id="counters", classes="panel")
        yield LinkKeys(page, id="keys")

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        self._begin()
        self.sync()

    # The check

    def _begin(self) -> None:
        self._stopped.set()
        self._stopped = threading.Event()
        self._inbox.clear()
        page = self.page
        page.facts, page.verdicts, page.checks = LinkFacts(asked=self.plan.asked), (), ()
        page.note = ""
        page.told = 0
        self._chosen_by_reader = False
        plan, stopped = self.plan, self._stopped
        self.run_worker(
            lambda: self._work(plan, stopped), thread=True, exclusive=True, exit_on_error=False
        )

    def _work(self, plan: Plan, stopped: threading.Event) -> None:
        """In a thread: gather, then watch. All it has to say goes to the inbox."""
        facts = LinkFacts()
        for facts in self._source.facts(plan, stopped.wait):
            if stopped.is_set():
                return
            self._inbox.append(facts)
        for news in self._source.changes(facts, stopped):
            if stopped.is_set():
                return
            self._inbox.extend(news)
            if any(each.what not in HOST_RISES for each in news):
                facts = self._source.again(facts)
                self._inbox.append(facts)

    async def abandon(self) -> None:
        """Let the thread end."""
        self._stopped.set()

    async def leave(self) -> None:
        """End the check; what was found stays."""
        self._stopped.set()
        self._take()

    def outcome(self) -> int:
        """0 fine, 1 something to look at, 2 a fault, 68 when there was nothing to look at."""
        return exit_code(self.page.facts)

    # The page

    def tick(self) -> None:
        """Take what the thread has found, and show it unless something lies on top."""
        news = self._take()
        if self.query_one(Counters).display and self._clock() - self._sampled_s >= SAMPLE_S:
            self._sampled_s = self._clock()
            self.page.series = series_of(self._source.rates(self.page.facts))
            news = True
        if news and self.app.screen is self:
            self.sync()

    def _take(self) -> bool:
        taken = False
        while self._inbox:
            each = self._inbox.popleft()
            taken = True
            if isinstance(each, Change):
                self._changed(each)
            else:
                self._found(each)
        return taken

    def _found(self, facts: LinkFacts) -> None:
        page = self.page
        name = page.chosen.name if page.chosen else ""
        page.facts = facts
        page.verdicts = judge_link(facts)
        page.checks = [] if facts.problem else checks(facts, page.verdicts)
        names = [each.name for each in page.checks]
        if self._chosen_by_reader and name in names:
            page.selected = names.index(name)
        elif page.checks:
            page.selected = self._gravest()

    def _gravest(self) -> int:
        """The check that the first verdict belongs to: it is shown until the reader chooses."""
        for verdict in self.page.verdicts:
            for number, check in enumerate(self.page.checks):
                if check.verdict is verdict:
                    return number
        return 0

    def _changed(self, change: Change) -> None:
        page = self.page
        usual = change.level == "ok" and change.what in HOST_RISES
        fresh_s = change.time_s - NOTE_KEPT_S
        worse = any(each.level != "ok" and each.time_s > fresh_s for each in page.changes)
        page.changes = [change, *page.changes][:CHANGES_KEPT]
        if usual and worse:
            return
        clock = time.strftime("%H:%M:%S", time.localtime(change.time_s))
        page.note = f"{clock} {change.text}"
        if usual:
            return
        severity = {"ok": "information", "look": "warning", "fault": "error"}[change.level]
        self._say(page.note, severity)

    def sync(self) -> None:
        """Show the page as it is now."""
        page = self.page
        self.set_class(page.full, "-full")
        self._name_panels()
        self.query_one(LinkKeys).keys = self._keys()
        for widget in self.query(RowsWidget):
            widget.redraw()

    def _name_panels(self) -> None:
        page, glyphs = self.page, self.page.glyphs
        chosen = page.chosen
        title = f"{level_glyph(chosen.level, glyphs)} {chosen.name}" if chosen else "Details"
        enter = "enter" if glyphs.ascii else "⏎"
        place = f"{page.selected + 1} of {len(page.checks)}  " if page.checks else ""
        copies = "y copies the command" if command_of(chosen) else ""
        for selector, name, hint in (
            ("#checks", "Checks", f"{place}j/k select, {enter} details"),
            ("#link-summary", "Summary", ""),
            ("#detail", title, f"j/k scroll, {enter} back" if page.full else copies),
            ("#counters", "Counters, last minute", ""),
        ):
            widget = self.query_one(selector, LinkWidget)
            if str(widget.border_title) != name:
                widget.border_title = name
            if str(widget.border_subtitle) != hint:
                widget.border_subtitle = hint

    def _keys(self) -> list[Key]:
        enter = "enter" if self.page.glyphs.ascii else "⏎"
        keys = [Key("r", "Again"), Key(enter, "Back" if self.page.full else "Details")]
        keys += [Key("i", "Interface"), Key("y", "Copy"), Key("e", "Export")]
        return [*keys, Key("?", "Help"), Key("q", "Quit")]

    # What the reader can do

    def action_again(self) -> None:
        self._begin()
        self.sync()

    def action_choose(self, step: int) -> None:
        page = self.page
        if page.full:
            self.query_one(Detail).scroll_rows(step)
            return
        self._chosen_by_reader = True
        page.selected = max(0, min(page.selected + step, len(page.checks) - 1))
        page.told = 0
        self.sync()

    def action_details(self) -> None:
        self.page.full = not self.page.full
        self.page.told = 0
        self.sync()

    def action_back(self) -> None:
        if self.page.full:
            self.action_details()
        else:
            self.call_later(self.run_action, "app.go('home')")

    def action_interface(self) -> None:
        """List this host's interfaces, to look at another one."""
        page = self.page
        offered = choices(self._source.interfaces(), self._host)
        if not offered:
            self._say("No interface can be read here.", "warning")
            return
        here = self.plan.asked or (page.facts.interface.name if page.facts.interface else "")
        self.app.push_screen(InterfaceScreen(offered, here, page.glyphs), self._look_at)

    def _look_at(self, asked: str | None) -> None:
        if asked is None:
            return
        self.plan = replace(self.plan, asked=asked)
        self._begin()
        self.sync()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs, LINK_KEYS))

    def action_copy(self) -> None:
        command = command_of(self.page.chosen)
        self.app.copy_to_clipboard(command or self.summary_text())
        copied = "Copied, if this terminal allows it"
        if command:
            self._say(f"{copied}: {command}")
            return
        path = self._file("txt")
        try:
            path.write_text(self.summary_text() + "\n", encoding="utf-8")
        except OSError as error:
            self._say(f"{copied}; no file: {path}: {error.strerror}", "warning")
            return
        self._say(f"{copied}, and written into {path}")

    def _file(self, suffix: str) -> Path:
        """A file of this check in the current directory."""
        name = "".join(c if c.isalnum() or c in ".-" else "_" for c in subject(self.page.facts))
        return Path.cwd() / f"tuiperf-link-{name[:40] or 'check'}.{suffix}"

    def action_export(self) -> None:
        path = self._file("json")
        try:
            text = json.dumps(document(self.page.facts), indent=2) + "\n"
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            self._say(f"Not exported: {path}: {error.strerror}", "error")
            return
        self._say(f"All facts and verdicts are in {path}")

    async def action_quit(self) -> None:
        await self.run_action("app.leave_app")

    def summary_text(self) -> str:
        """The whole check as plain text."""
        page = self.page
        rows = plain_rows(page.facts, page.checks, page.verdicts, SUMMARY_WIDTH, page.glyphs)
        return "\n".join(to_text(row) for row in rows)

    def _say(self, text: str, severity: Any = "information") -> None:
        self.app.notify(escape(text), severity=severity, timeout=4, markup=False)


def series_of(rates: list[Rates]) -> list[Series]:
    """The counters' last minute as lines to draw."""
    core = rates[-1].softirq_core if rates else 0
    return [
        Series("rx packets", tuple(each.rx_packets for each in rates), "/s"),
        Series("tx packets", tuple(each.tx_packets for each in rates), "/s"),
        Series("drops", tuple(each.drops for each in rates), "/s", bad=True),
        Series("damaged", tuple(each.errors for each in rates), "/s", bad=True),
        Series(f"softirq, core {core}", tuple(each.softirq_percent for each in rates), "%"),
    ]
