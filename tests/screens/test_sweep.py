"""The screen of a sweep: its states, its keys, and what it leaves behind. No network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from textual.pilot import Pilot

from tests.sweep.states import running, state_of
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec
from tuiperf.screens.sweep import SweepScreen
from tuiperf.sweep.drive import Order, Sweep
from tuiperf.sweep.state import SweepState
from tuiperf.sweep_app import SweepApp
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, to_text

T = TypeVar("T")


class Standing(Sweep):
    """A sweep that stands still at a given state; it notes what the user wants."""

    def __init__(self, order: Order, state: SweepState) -> None:
        super().__init__(order)
        self.state = state
        self.wanted: list[str] = []
        self._end = asyncio.Event()

    async def run(self) -> None:
        await self._end.wait()

    def skip(self) -> None:
        self.wanted.append("skip")

    def accept(self) -> None:
        self.wanted.append("accept")

    def more(self) -> None:
        self.wanted.append("more")

    def stop(self) -> None:
        self.wanted.append("stop")
        self.state.ended = ev.SweepEnded(20.0, "interrupted", "interrupted")
        self._end.set()


class Bench:
    """The app with a sweep that stands still."""

    def __init__(self, screen: SweepScreen, app: SweepApp, pilot: Pilot[None]) -> None:
        self.screen, self.app, self.pilot = screen, app, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        if self.app.is_running and self.screen.is_mounted:
            self.screen.tick()
            await self.pilot.pause()

    @property
    def wanted(self) -> list[str]:
        assert isinstance(self.screen.sweep, Standing)
        return self.screen.sweep.wanted

    def text(self) -> str:
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(part.text for part in line).rstrip() for line in lines)


def on_sweep_screen(
    case: Callable[[Bench], Awaitable[T]],
    *,
    state: SweepState | None = None,
    size: tuple[int, int] = (80, 24),
    glyphs: Glyphs = UNICODE,
    live: bool = True,
) -> T:
    async def go() -> T:
        shown = state or running()
        order = Order(ClientSpec("lab-b"))
        screen = SweepScreen(
            glyphs,
            order=order if live else None,
            state=None if live else shown,
            make=lambda asked: Standing(asked, shown),
        )
        app = SweepApp(screen, glyphs, live=False)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            screen.tick()
            await pilot.pause()
            return await case(Bench(screen, app, pilot))

    return asyncio.run(go())


async def text_of(bench: Bench) -> str:
    return bench.text()


@pytest.mark.parametrize("size", [(120, 35), (80, 24), (60, 20)])
def test_every_size_shows_the_running_step_its_reason_and_the_verdict(
    size: tuple[int, int],
) -> None:
    shown = on_sweep_screen(text_of, size=size)
    assert "STEP 4" in shown
    assert "paced" in shown
    assert "paced evenly at" in shown
    assert "Verdict so far" in shown
    assert "lossy" in shown


@pytest.mark.parametrize("size", [(59, 17), (40, 10), (20, 5), (10, 3), (1, 1)])
def test_small_terminals_get_what_fits(size: tuple[int, int]) -> None:
    shown = on_sweep_screen(text_of, size=size)
    assert len(shown.splitlines()) <= size[1]
    assert all(len(line) <= size[0] for line in shown.splitlines())


def test_ascii_draws_with_ascii_alone() -> None:
    assert on_sweep_screen(text_of, glyphs=ASCII).isascii()


def test_the_keys_are_wishes_to_the_driver() -> None:
    async def case(bench: Bench) -> tuple[list[str], bool]:
        await bench.press("x", "plus", "space", "enter")
        assert bench.screen.sweep is not None
        return list(bench.wanted), bench.screen.sweep.paused

    assert on_sweep_screen(case) == (["skip", "more", "accept"], True)


def test_a_pause_is_seen() -> None:
    async def case(bench: Bench) -> str:
        await bench.press("space")
        return bench.text()

    shown = on_sweep_screen(case)
    assert "PAUSED" in shown
    assert "Go on" in shown


def test_why_shows_the_first_verdict_in_full() -> None:
    async def case(bench: Bench) -> tuple[str, str]:
        await bench.press("b")
        full = bench.text()
        await bench.press("escape")
        return full, bench.text()

    full, back = on_sweep_screen(case)
    assert "confidence" in full
    assert "Why step" not in full
    assert "Why step" in back


def test_quitting_asks_while_it_goes_on_and_leaves_the_page() -> None:
    async def case(bench: Bench) -> tuple[str, list[str], int | None]:
        await bench.press("q")
        question = bench.text()
        await bench.pilot.press("y")
        await bench.pilot.pause(0.2)
        rows = [to_text(row) for row in bench.app.farewell_rows(80)]
        return question, rows, bench.app.return_code

    question, rows, code = on_sweep_screen(case)
    assert "still going" in question
    assert rows[0] == "tuiperf  sweep towards lab-b"
    assert code == 2  # what was known by then: losses


def test_a_recorded_sweep_has_no_keys_that_measure() -> None:
    shown = on_sweep_screen(text_of, state=state_of(), live=False)
    assert "SETTLED" in shown
    assert "Skip" not in shown.splitlines()[-1]


def test_the_report_is_written_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def case(bench: Bench) -> None:
        await bench.press("e", "y")

    on_sweep_screen(case, state=state_of(), live=False)
    assert (tmp_path / "tuiperf-sweep.md").read_text(encoding="utf-8").startswith("# ")
    assert "sweep towards lab-b" in (tmp_path / "tuiperf-sweep.txt").read_text(encoding="utf-8")
