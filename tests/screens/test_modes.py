"""The app's modes: going between them, a run behind them, home, settings, own keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from tests import made
from tests.screens.pages import fixed_verdict, going_on
from tuiperf import keymap, peers
from tuiperf.actions import ACTIONS
from tuiperf.app import TuiperfApp
from tuiperf.engine.spec import ClientSpec
from tuiperf.feed import Feed, ListFeed
from tuiperf.peers import Peer
from tuiperf.screens.home import HomeScreen
from tuiperf.screens.lessons import LessonsScreen
from tuiperf.screens.link import LinkScreen
from tuiperf.screens.recordings import RecordingsScreen
from tuiperf.screens.run import RunScreen
from tuiperf.screens.sweep import SweepScreen

SIZES = [(1, 1), (20, 5), (60, 20), (80, 24), (120, 35), (300, 100)]


def text(app: TuiperfApp) -> str:
    lines = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in lines)


async def settle(app: TuiperfApp, pilot: Pilot[None]) -> None:
    for _ in range(3):
        await pilot.pause()
        app.tick()
    await pilot.pause()


def in_app(
    case: Callable[[TuiperfApp, Pilot[None]], Awaitable[None]],
    app: TuiperfApp,
    size: tuple[int, int] = (80, 24),
) -> None:
    async def run() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(app, pilot)
            await case(app, pilot)

    asyncio.run(run())


def with_run() -> TuiperfApp:
    so_far, ending = going_on()

    def make_feed() -> tuple[Feed, str]:
        return ListFeed(so_far, ending), ""

    return TuiperfApp(make_feed=make_feed, judge=fixed_verdict, live=False)


def test_a_run_goes_on_behind_other_screens_and_is_told_of() -> None:
    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        await pilot.press("escape")
        await settle(app, pilot)
        shown = text(app)
        assert "What would you like to find out?" in shown
        assert "RUNNING  lab-b" in shown
        assert "Mbit/s" in shown.splitlines()[-2]
        app.run_screen.action_stop()
        await settle(app, pilot)
        assert "STOPPED  lab-b" in text(app)
        await pilot.press("ctrl+r")
        await settle(app, pilot)
        assert "THROUGHPUT" in text(app)
        await pilot.press("0")
        await settle(app, pilot)
        assert "STOPPED" not in text(app)

    in_app(case, with_run())


def test_quitting_elsewhere_asks_while_a_run_goes_on() -> None:
    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        await pilot.press("0")
        await settle(app, pilot)
        await pilot.press("q")
        await settle(app, pilot)
        assert "still going" in text(app)
        await pilot.press("n")
        await settle(app, pilot)
        assert app.running
        await pilot.press("q", "y")
        await pilot.pause(0.2)
        assert app.return_code == 0
        assert not app.running

    in_app(case, with_run())


@pytest.mark.parametrize("size", SIZES)
def test_every_mode_opens_at_every_size(size: tuple[int, int]) -> None:
    peers.remember(Peer("\x1b[31mlab\u202e", (), "10.0.0.1", 1.0, 1e9, "fine", "Fü宽", "TCP"))

    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        for key in ("0", "4", "0", "5", "0", "n", "escape"):
            await pilot.press(key)
            await settle(app, pilot)
            assert "\x1b" not in text(app)
        await pilot.resize_terminal(3, 3)
        await pilot.resize_terminal(90, 30)
        await settle(app, pilot)
        assert "Recent peers" in text(app)

    in_app(case, TuiperfApp(start="home", live=False), size)


def test_settings_give_a_test_or_say_what_is_wrong() -> None:
    begun: list[ClientSpec] = []
    app = TuiperfApp(start="home", live=False)
    app.begin = begun.append  # type: ignore[method-assign, assignment]

    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        await pilot.press("n", "enter")
        await settle(app, pilot)
        assert "Name the peer" in text(app)
        await pilot.press(*"lab-q", "down", "down", "right", "down", *"0x")
        await settle(app, pilot)
        assert "tuiperf run lab-q -t 0 -R" in text(app)
        await pilot.press("ctrl+u", "5", "ctrl+y")
        assert app.clipboard == "tuiperf run lab-q -t 5 -R"
        await pilot.press("enter")
        await settle(app, pilot)

    in_app(case, app)
    (spec,) = begun
    assert (spec.host, spec.test.time_s, spec.test.reverse) == ("lab-q", 5, True)


def test_a_peer_is_measured_again_or_forgotten() -> None:
    begun: list[ClientSpec] = []
    app = TuiperfApp(start="home", live=False)
    app.begin = begun.append  # type: ignore[method-assign, assignment]

    now_s = time.time()
    peers.remember(Peer("lab-b:5300", ("-P", "4"), "10.20.0.7", now_s - 7200, 941e6))
    peers.remember(Peer("lab-c", (), "10.20.0.9", now_s - 60))

    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        assert "2 h ago" in text(app)
        await pilot.press("j", "r")
        await pilot.press("d")
        await settle(app, pilot)
        assert "Forget lab-b:5300?" in text(app)
        await pilot.press("y")
        await settle(app, pilot)
        assert "lab-b" not in text(app)

    in_app(case, app)
    (spec,) = begun
    assert (spec.host, spec.port, spec.test.parallel) == ("lab-b", 5300, 4)
    assert [peer.target for peer in peers.load()] == ["lab-c"]


def test_a_finished_run_is_remembered_where_runs_are_recorded() -> None:
    client = made.spec("lab-b", time_s=2)

    def remembered(recording: str, *, passing: bool = False) -> list[str]:
        def make_feed() -> tuple[Feed, str]:
            return ListFeed(made.run(client)), recording

        async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
            assert not app.running

        app = TuiperfApp(make_feed=make_feed, spec=client, passing=passing, live=False)
        in_app(case, app)
        return [peer.target for peer in peers.load()]

    assert remembered("") == []
    assert remembered("/nowhere/x.jsonl.gz", passing=True) == []
    assert remembered("/nowhere/x.jsonl.gz") == ["lab-b"]


def test_bytes_in_place_of_bits() -> None:
    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        assert "941.2 Mbit/s" in text(app)
        await pilot.press("u")
        await settle(app, pilot)
        assert "117.65 MB/s" in text(app)
        await pilot.press("u")
        await settle(app, pilot)
        assert "941.2 Mbit/s" in text(app)

    in_app(case, with_run())


def test_the_table_of_actions_is_what_the_screens_bind() -> None:
    bound: dict[str, str] = {}
    kinds = (TuiperfApp, HomeScreen, RunScreen, SweepScreen, LinkScreen)
    for kind in (*kinds, LessonsScreen, RecordingsScreen):
        for each in kind.BINDINGS:
            if isinstance(each, Binding) and each.id:
                bound[each.id] = each.key
    assert {name: action.keys for name, action in ACTIONS.items()} == bound


def test_own_keys_take_the_place_of_the_usual_ones() -> None:
    keys = keymap.checked({"run.units": "z", "run.nothing": "x", "run": {"stop": 5}})
    assert dict(keys.wanted) == {"run.units": "z"}
    assert len(keys.problems) == 2

    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await settle(app, pilot)
        assert "941.2 Mbit/s" in text(app)
        await pilot.press("z")
        await settle(app, pilot)
        assert "117.65 MB/s" in text(app)
        assert len(app._notifications) == 2

    app = with_run()
    app.keys = keys
    in_app(case, app)


def test_footer_and_help_name_the_keys_that_are_real() -> None:
    wanted = {"run.stop": "s,f5", "run.why": "f", "run.help": "h", "app.sweep": "f7"}

    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        foot = text(app).splitlines()[-1]
        assert foot.split()[:4] == ["s", "Stop", "f", "Why?"]
        assert "Freeze" not in foot, "another action has taken its only key"
        assert "f explains why" in text(app)
        await pilot.press("h")
        await settle(app, pilot)
        sheet = " ".join(text(app).split())
        assert "s, f5, ^c stop the run" in sheet
        assert "f why: the first verdict" in sheet
        assert "0, 1, f7, 3, 4, 5, n other screens" in sheet
        assert "freeze" not in sheet
        await pilot.press("escape", "0")
        await settle(app, pilot)
        assert "f7  Why is it slower" in text(app)
        assert "1/f7/3/4/5 Choose" in text(app)

    app = with_run()
    app.keys = keymap.checked(wanted)
    in_app(case, app, (120, 35))


def test_the_palette_offers_every_mode() -> None:
    async def case(app: TuiperfApp, pilot: Pilot[None]) -> None:
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Home", "Sweep", "Link check", "Lessons", "Recordings", "New run"} <= titles

    in_app(case, with_run())
