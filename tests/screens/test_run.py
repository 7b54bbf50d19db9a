"""The screen of a run: its actions, its sizes, its failures."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest

from tests import made
from tests.screens.pages import Bench, going_on, on_screen
from tuiperf import events as ev
from tuiperf.app import TuiperfApp
from tuiperf.feed import ListFeed
from tuiperf.session import Session
from tuiperf.view.rows import ASCII

GOLDEN = Path(__file__).parent / "golden"
SIZES = {"120x35": (120, 35), "80x24": (80, 24), "60x20": (60, 20), "59x17": (59, 17)}


@pytest.mark.parametrize("name", SIZES)
def test_the_page_at_every_size(name: str) -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, so_far, ending, size=SIZES[name])
    assert shown == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def test_the_page_in_ascii() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, so_far, ending, glyphs=ASCII)
    assert shown.isascii()
    assert shown == (GOLDEN / "ascii-80x24.txt").read_text(encoding="utf-8").rstrip("\n")


@pytest.mark.parametrize("size", [(120, 35), (110, 24), (80, 24), (76, 18), (60, 20), (60, 18)])
def test_the_verdict_is_there_at_every_size(size: tuple[int, int]) -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, so_far, ending, size=size)
    assert "▲ Window-limited  256 KB, 12 ms" in shown
    assert "THROUGHPUT" in shown
    assert "q Quit" in shown


@pytest.mark.parametrize("size", [(59, 17), (40, 10), (20, 5), (10, 3), (1, 1)])
def test_small_terminals_get_what_fits(size: tuple[int, int]) -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> str:
        await bench.press("b", "b", "question_mark", "escape")
        return bench.text()

    shown = on_screen(case, so_far, ending, size=size)
    if size[0] >= 40:
        assert "THROUGHPUT  941.2 Mbit/s" in shown
        assert "▲ Window-limited" in shown


def test_a_resize_keeps_everything_in_place() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str]:
        await bench.pilot.resize_terminal(60, 20)
        await bench.look()
        small = bench.text()
        await bench.pilot.resize_terminal(80, 24)
        await bench.look()
        return small, bench.text()

    small, back = on_screen(case, so_far, ending)
    assert small == (GOLDEN / "60x20.txt").read_text(encoding="utf-8").rstrip("\n")
    assert back == (GOLDEN / "80x24.txt").read_text(encoding="utf-8").rstrip("\n")


@pytest.mark.parametrize("key", ["space", "x", "ctrl+c"])
def test_stop_ends_the_run_with_both_ends_results(key: str) -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str, list[str]]:
        before = bench.text()
        await bench.press(key)
        return before, bench.text(), bench.toasts()

    before, after, toasts = on_screen(case, so_far, ending)
    assert "RUNNING" in before
    assert "space Stop" in before
    assert "STOPPED" in after
    assert "r Rerun" in after
    assert toasts == []


def test_ctrl_c_after_the_run_says_how_to_leave() -> None:
    async def case(bench: Bench) -> list[str]:
        await bench.press("ctrl+c")
        return bench.toasts()

    assert on_screen(case, made.run(made.spec(time_s=2))) == ["The run is over. Press q to quit."]


def test_rerun_begins_anew() -> None:
    client = made.spec(time_s=2)
    feeds = [ListFeed(made.run(client)), ListFeed(made.opening(client, made.Path())[:1], [ENDED])]

    async def case(bench: Bench) -> tuple[str, str]:
        done = bench.text()
        await bench.press("r")
        return done, bench.text()

    done, again = on_screen(case, feeds=lambda: feeds.pop(0))
    assert "DONE" in done
    assert "CONNECTING" in again
    assert "connecting to lab-b port 5201" in again


ENDED = ev.RunEnded(9.0, "interrupted", None)


def test_rerun_waits_for_the_end() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> list[str]:
        await bench.press("r")
        return bench.toasts()

    assert on_screen(case, so_far, ending) == ["Stop the run first: press space."]


def test_freeze_keeps_the_page_while_the_run_goes_on() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str, str]:
        await bench.press("f")
        still = bench.text()
        assert bench.screen.feed is not None
        bench.screen.feed.stop()
        await bench.look()
        await bench.press("j", "k")
        later = bench.text()
        await bench.press("f")
        return still, later, bench.text()

    still, later, thawed = on_screen(case, so_far, ending)
    assert "FROZEN" in still
    assert "RUNNING" in later
    assert still.replace("space Stop", "r Rerun   ")[:400] == later[:400]
    assert "STOPPED" in thawed
    assert "FROZEN" not in thawed


def test_why_explains_with_the_readers_numbers_and_goes_back() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str, str]:
        before = bench.text()
        await bench.press("b")
        why = bench.text()
        await bench.press("escape")
        return before, why, bench.text()

    before, why, back = on_screen(case, so_far, ending)
    assert "256 KB / 11.8 ms = 178 Mbit/s" in why
    assert "ruled out" in why
    assert back == before


def test_copy_says_where_and_writes_the_file(tmp_path: Path) -> None:
    recording = tmp_path / "20260101-lab-b.jsonl.gz"
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[list[str], str]:
        await bench.press("y")
        return bench.toasts(), bench.app.clipboard

    toasts, clipboard = on_screen(case, so_far, ending, recording=str(recording))
    written = tmp_path / "20260101-lab-b.txt"
    assert toasts == [f"Copied, if this terminal allows it, and written into {written}"]
    assert written.read_text(encoding="utf-8") == clipboard + "\n"
    assert clipboard.startswith("tuiperf  TCP · here → lab-b")
    assert "▲ Window-limited  256 KB, 12 ms" in clipboard


def test_copy_of_an_explanation(tmp_path: Path) -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> str:
        await bench.press("b", "y")
        return bench.app.clipboard

    copied = on_screen(case, so_far, ending, recording=str(tmp_path / "a.jsonl"))
    assert "256 KB / 11.8 ms = 178 Mbit/s" in copied


def test_copy_where_nothing_can_be_written() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> list[str]:
        await bench.press("y")
        return bench.toasts()

    toasts = on_screen(case, so_far, ending, recording="/proc/nowhere/a.jsonl")
    assert toasts == [
        "Copied, if this terminal allows it; no file: "
        "/proc/nowhere/a.txt: No such file or directory"
    ]


def test_export_copies_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, here = tmp_path / "store", tmp_path / "here"
    store.mkdir()
    here.mkdir()
    recording = store / "20260101-lab-b.jsonl"
    recording.write_text("{}\n", encoding="utf-8")
    monkeypatch.chdir(here)

    async def case(bench: Bench) -> list[str]:
        await bench.press("e")
        return bench.toasts()

    toasts = on_screen(case, made.run(made.spec(time_s=2)), recording=str(recording))
    copied = here / recording.name
    assert copied.read_text(encoding="utf-8") == "{}\n"
    assert toasts == [f"The recording is copied here: tuiperf replay {recording.name}"]


def test_export_of_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def case(bench: Bench) -> list[str]:
        await bench.press("e")
        return bench.toasts()

    gone = str(tmp_path / "store" / "gone.jsonl")
    (toast,) = on_screen(case, made.run(made.spec(time_s=2)), recording=gone)
    assert toast.startswith("Not exported: ")
    assert toast.endswith("No such file or directory")
    assert on_screen(case, made.run(made.spec(time_s=2))) == [
        "This run has no recording to export."
    ]


def test_help_lists_every_key_and_goes_away() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str, str]:
        before = bench.text()
        await bench.press("question_mark")
        shown = bench.text()
        await bench.press("escape")
        return before, shown, bench.text()

    before, shown, after = on_screen(case, so_far, ending)
    for words in ("space, x", "freeze the screen", "why:", "copy the summary", "quit at once"):
        assert words in shown
    assert "▲ worth a look" in shown
    assert after == before


def test_quit_asks_while_the_run_goes_on() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, bool, str]:
        await bench.press("q")
        asked = bench.text()
        await bench.press("n")
        stays = bench.app.screen is bench.screen and bench.screen.running
        await bench.press("q")
        await bench.pilot.press("y")
        await bench.app.workers.wait_for_complete()
        return asked, stays, bench.screen.summary_text()

    asked, stays, summary = on_screen(case, so_far, ending)
    assert "The run is still going. Stop it and quit?" in asked
    assert stays
    assert "stopped by Interrupt(2)" in summary


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
def test_quit_after_the_run_asks_nothing(key: str) -> None:
    async def run() -> int | None:
        app = TuiperfApp(
            make_feed=lambda: (ListFeed(made.run(made.spec(time_s=2))), ""), live=False
        )
        async with app.run_test() as pilot:
            await pilot.pause()
            app.run_screen.tick()
            await pilot.press(key)
            await pilot.pause()
        return app.return_code

    assert asyncio.run(run()) == 0


def test_the_table_scrolls() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[str, str, str]:
        await bench.press("j", "j")
        down = bench.text()
        await bench.press("G")
        end = bench.text()
        await bench.press("g")
        return down, end, bench.text()

    down, end, top = on_screen(case, so_far, ending)
    assert "22–23" not in down
    assert "20–21" in down
    assert "0–1" in end
    assert "22–23" in top


def test_streams_and_sums() -> None:
    so_far, ending = going_on(parallel=4)

    async def case(bench: Bench) -> tuple[str, str]:
        before = bench.text()
        await bench.press("p")
        return before, bench.text()

    before, after = on_screen(case, so_far, ending, size=(120, 35))
    assert "p Streams" in before
    assert before.count("SUM") == 5
    assert after.count("SUM") == 2


def test_a_refused_connection_is_told_with_what_to_check() -> None:
    events = [
        *made.opening(made.spec(), made.Path())[:1],
        ev.Failed(
            0.01, 103, "nothing listens on lab-b port 5201: is it running?", errno.ECONNREFUSED
        ),
        ev.RunEnded(0.02, "failed"),
    ]

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, events)
    assert "■ FAILED" in shown
    assert "nothing listens on lab-b port 5201: is it running?" in shown
    assert "tuiperf -s -p 5201" in shown
    assert "r Rerun" in shown


def test_a_failure_in_the_middle_keeps_the_measurement() -> None:
    so_far, _ = going_on()
    events = [*so_far, ev.Failed(24, 104, "the server closed"), ev.RunEnded(24, "failed")]

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, events)
    assert " ■ the server closed. 23.4 s were measured and are kept." in shown
    assert "22–23" in shown
    assert "THROUGHPUT" in shown


def test_an_engine_that_dies_is_a_state() -> None:
    class DyingFeed(ListFeed):
        async def run(self) -> str:
            await super().run()
            return "the measuring process was killed by signal 9 before the run was over"

    so_far, _ = going_on()

    async def case(bench: Bench) -> str:
        return bench.text()

    shown = on_screen(case, feeds=lambda: DyingFeed(so_far))
    assert "■ ENGINE LOST" in shown
    assert "killed by signal 9" in shown
    assert "22–23" in shown


def test_a_recording_is_shown_without_an_engine() -> None:
    async def run() -> tuple[str, list[str]]:
        session: Session = made.session_of(made.run(made.spec(time_s=4)))
        app = TuiperfApp(session=session, recording="a.jsonl", live=False)
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            bench = Bench(app, pilot)
            await bench.look()
            await bench.press("r")
            return bench.text(), bench.toasts()

    shown, toasts = asyncio.run(run())
    assert "DONE" in shown
    assert "r Rerun" not in shown
    assert toasts == ["This is a recording; there is nothing to run again."]


def test_nothing_is_painted_when_nothing_happened() -> None:
    so_far, ending = going_on()

    async def case(bench: Bench) -> tuple[bool, bool]:
        return bench.screen._news(), bench.screen._news()

    assert on_screen(case, so_far, ending) == (False, False)
