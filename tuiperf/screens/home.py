"""The first screen: what one can find out, this machine, and peers measured before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from tuiperf import peers
from tuiperf.cli.options import UsageError, parse
from tuiperf.engine.spec import ClientSpec
from tuiperf.glance import Glance, glance
from tuiperf.peers import Peer
from tuiperf.view.help import HOME_KEYS
from tuiperf.view.home import QUESTIONS
from tuiperf.view.keys import Key
from tuiperf.view.rows import Glyphs, escape
from tuiperf.widgets.home_panels import (
    HomeHeading,
    HomeKeys,
    HomePage,
    HomeWidget,
    Machine,
    Peers,
    Questions,
)
from tuiperf.widgets.rows import RowsWidget

from .sheets import HelpScreen, QuestionScreen

if TYPE_CHECKING:
    from tuiperf.app import TuiperfApp

REFRESH_S = 30.0
"""How often the times of the peers are told anew."""

_WIDTHS = [(0, "-slim"), (60, "-narrow"), (76, "-medium"), (110, "-wide")]
_HEIGHTS = [(0, "-flat"), (18, "-low"), (22, "-middle"), (30, "-tall")]


class HomeScreen(Screen[None]):
    """Where one begins. It measures nothing and sends nothing."""

    CSS = """
    HomeScreen {
        layout: vertical;
        HomeKeys { height: 1; }
        #home-top { layout: horizontal; height: 8; margin: 0 1; }
        #questions { width: 1fr; margin: 0; }
        #machine { width: 38%; min-width: 32; margin: 0; }
        #peers { height: 1fr; }
        &.-wide #machine { width: 46; margin: 0 0 0 1; }
        &.-tall #home-top { height: 9; margin: 1 1 0 1; }
        &.-narrow #machine { display: none; }
        &.-slim #machine, &.-flat #machine { display: none; }
        &.-flat #peers { display: none; }
        &.-flat #home-top { height: 1fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", "Measure this peer", id="home.start"),
        Binding("r", "again", "The same test again", id="home.again"),
        Binding("l", "link", "Check the link towards it", id="home.link"),
        Binding("d,delete", "forget", "Forget this peer", id="home.forget"),
        Binding("j,down", "choose(1)", "Down", show=False, id="home.down"),
        Binding("k,up", "choose(-1)", "Up", show=False, id="home.up"),
        Binding("g,home", "choose(-1000)", "Top", show=False),
        Binding("G,end", "choose(1000)", "End", show=False),
        Binding("question_mark,f1", "help", "Help", id="home.help"),
        Binding("ctrl+c", "interrupt", "How to leave", show=False),
        Binding("q", "quit", "Quit", id="home.leave"),
    ]

    def __init__(
        self,
        glyphs: Glyphs,
        *,
        load: Callable[[], list[Peer]] = peers.load,
        look: Callable[[str], Glance] = glance,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = _WIDTHS
        self.VERTICAL_BREAKPOINTS = _HEIGHTS
        self._load = load
        self._look = look
        self._clock = clock
        self.page = HomePage(glyphs, QUESTIONS)

    def compose(self) -> ComposeResult:
        page = self.page
        yield HomeHeading(page, id="heading")
        with Horizontal(id="home-top"):
            yield Questions(page, id="questions", classes="panel")
            yield Machine(page, id="machine", classes="panel")
        yield Peers(page, id="peers", classes="panel")
        yield HomeKeys(page, id="keys")

    def on_mount(self) -> None:
        self.set_class(self.page.glyphs.ascii, "-ascii")
        self._fresh()

    def on_screen_resume(self) -> None:
        """Shown again, perhaps after a run: its peer is known now."""
        if self.is_mounted:
            self._fresh()

    def on_resize(self) -> None:
        self.sync()

    def _fresh(self) -> None:
        page = self.page
        page.peers = self._load()
        page.selected = max(0, min(page.selected, len(page.peers) - 1))
        page.now_s = self._clock()
        self._glance()
        self.sync()

    def _glance(self) -> None:
        peer = self.page.peer
        self.page.glance = self._look(peer.address if peer else "")

    # As a screen of the app

    def tick(self) -> None:
        """Tell the peers' ages anew now and then; nothing else moves here."""
        if self._clock() - self.page.now_s >= REFRESH_S:
            self.page.now_s = self._clock()
            self.query_one(Peers).redraw()

    async def leave(self) -> None:
        """Nothing is running here."""

    async def abandon(self) -> None:
        """Nothing is running here."""

    def outcome(self) -> int:
        """The exit code."""
        return 0

    # The page

    def sync(self) -> None:
        """Show the page as it is now."""
        page = self.page
        enter = "enter" if page.glyphs.ascii else "⏎"
        hint = f"j/k select, {enter} measures" if page.peers else ""
        toward = f", towards {escape(page.peer.target, 40)}" if page.peer else ""
        for selector, name, note in (
            ("#questions", "What would you like to find out?", ""),
            ("#machine", "This machine", ""),
            ("#peers", "Recent peers", hint),
        ):
            widget = self.query_one(selector, HomeWidget)
            widget.border_title = name
            widget.border_subtitle = note
        wide = self.size.width >= 110
        self.query_one(Machine).border_subtitle = toward.removeprefix(", ") if wide else ""
        self.query_one(HomeKeys).keys = self._keys()
        for each in self.query(RowsWidget):
            each.redraw()

    def _keys(self) -> list[Key]:
        enter = "enter" if self.page.glyphs.ascii else "⏎"
        known = [Key(enter, "Measure"), Key("r", "Again"), Key("d", "Forget")]
        first, last = self.page.questions[0].key, self.page.questions[-1].key
        keys = [Key("n", "New run"), Key(f"{first}-{last}", "Choose")]
        keys += known if self.page.peers else []
        return [*keys, Key("^p", "Commands"), Key("?", "Help"), Key("q", "Quit")]

    # What the reader can do

    @property
    def _app(self) -> TuiperfApp:
        return cast("TuiperfApp", self.app)

    def action_choose(self, step: int) -> None:
        page = self.page
        if not page.peers:
            return
        page.selected = max(0, min(page.selected + step, len(page.peers) - 1))
        self._glance()
        self.sync()

    def action_start(self) -> None:
        peer = self.page.peer
        self._app.ask_run(spec_of(peer) if peer else None, peer.target if peer else "")

    def action_again(self) -> None:
        peer = self.page.peer
        spec = spec_of(peer) if peer else None
        if spec is None:
            self._say("There is no test to run again: press n for a new run.")
        elif self._app.running:
            self._say("Stop the run first: a new one would disturb it.")
        else:
            self._app.begin(spec)

    def action_link(self) -> None:
        peer = self.page.peer
        self._app.check_link(peer.address or peer.target if peer else "")

    def action_forget(self) -> None:
        peer = self.page.peer
        if peer is None:
            return
        question = f"Forget {peer.target}? Its recordings stay."
        self.app.push_screen(QuestionScreen(question, self.page.glyphs), self._forget)

    def _forget(self, really: bool | None) -> None:
        peer = self.page.peer
        if really and peer is not None:
            if not peers.forget(peer.target):
                self._say("Not forgotten: the file of peers cannot be written.")
            self._fresh()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.page.glyphs, HOME_KEYS))

    def action_interrupt(self) -> None:
        self._say("Press q to quit.")

    async def action_quit(self) -> None:
        self._app.action_leave_app()

    def _say(self, text: str) -> None:
        self.app.notify(escape(text), timeout=4, markup=False)


def spec_of(peer: Peer) -> ClientSpec | None:
    """The peer's last test, None where its words can no longer be read."""
    try:
        return parse(["run", peer.target, *peer.words]).client
    except UsageError:
        return None
