"""The screen of the lessons: pages, sliders, answers, the live path and the way back."""

from __future__ import annotations

import asyncio

import pytest

from tests import made
from tests.lessons.made import WINDOW_RUN
from tests.screens.lesson_pages import LessonBench, on_lessons
from tuiperf.engine.spec import ClientSpec
from tuiperf.lessons.text import NUMBERS, lesson
from tuiperf.screens.lesson_try import LabFeed, TryScreen, lab_feed, spec_of, why_no_lab
from tuiperf.view.rows import ASCII

LATER, EARLIER = "right_square_bracket", "left_square_bracket"


async def text_of(bench: LessonBench) -> str:
    return bench.text()


@pytest.mark.parametrize(
    "size", [(120, 35), (80, 24), (60, 20), (40, 10), (20, 5), (10, 3), (1, 1)]
)
@pytest.mark.parametrize("number", [1, 4, 8])
def test_every_size_shows_what_fits(size: tuple[int, int], number: int) -> None:
    shown = on_lessons(text_of, number, size=size)
    assert len(shown.splitlines()) == size[1]
    assert all(len(line) <= size[0] for line in shown.splitlines())


def test_side_by_side_from_76_cells_on() -> None:
    shown = on_lessons(text_of, 2)
    for words in ("What a path holds", "Calculate", "Check yourself", "example numbers"):
        assert words in shown
    assert "Lessons ─" not in shown
    assert "Lessons ─" in on_lessons(text_of, 2, size=(120, 35))


def test_ascii() -> None:
    async def asked(bench: LessonBench) -> str:
        await bench.press("t")
        return bench.text()

    for case in (text_of, asked):
        for size in ((80, 24), (120, 35)):
            assert on_lessons(case, 2, size=size, glyphs=ASCII).isascii()


@pytest.mark.parametrize("number", NUMBERS)
def test_the_question_before_a_live_path_fits_a_small_terminal(number: int) -> None:
    async def case(bench: LessonBench) -> str:
        await bench.press("t")
        return bench.text()

    assert "enter begin    esc not now" in on_lessons(case, number, size=(60, 20))


def test_pages_lead_on_to_the_next_lesson_and_back() -> None:
    async def case(bench: LessonBench) -> list[tuple[int, int]]:
        places = []
        for keys in (
            ("space",),
            ("space",) * 3,
            ("p",),
            ("p",) * 9,
            (LATER,) * 7,
            (LATER,),
            (EARLIER,),
        ):
            await bench.press(*keys)
            places.append((bench.screen.page.number, bench.screen.page.at))
        return places

    assert on_lessons(case, 2) == [(2, 1), (3, 0), (2, 3), (1, 0), (8, 0), (8, 0), (7, 0)]


def test_the_first_and_the_last_page_say_so() -> None:
    async def case(bench: LessonBench) -> list[str]:
        await bench.press("p", *[LATER] * 7, "space", "space", "space", "space")
        return bench.toasts()

    assert on_lessons(case) == ["This is the first page.", "That was the last page."]


def test_sliders_move_and_return() -> None:
    async def case(bench: LessonBench) -> tuple[str, str, str]:
        first = bench.text()
        await bench.press("down", "down", *["right"] * 6)
        moved = bench.text()
        await bench.press("r")
        return first, moved, bench.text()

    first, moved, back = on_lessons(case, 2)
    assert "256 KiB" in first and "105 Mbit/s" in first
    assert "16 MiB" in moved and "14.3 MB queue" in moved
    assert "256 KiB" in back and "10 %" in back


def test_sliders_keep_their_place_while_another_lesson_is_read() -> None:
    async def case(bench: LessonBench) -> str:
        await bench.press("up", "right", LATER, EARLIER)
        return bench.text()

    assert "512 KiB" in on_lessons(case, 2)


def test_a_wrong_answer_and_then_the_right_one() -> None:
    async def case(bench: LessonBench) -> tuple[str, str, frozenset[int]]:
        await bench.press("a")
        wrong = bench.text()
        await bench.press("c")
        return wrong, bench.text(), bench.screen.page.solved

    wrong, right, solved = on_lessons(case, 2)
    assert "■ a" in wrong and "● c" in wrong and "No: c. 1 Gbit/s × 40 ms = 5 MB" in wrong
    assert "■" not in right and "Right. 1 Gbit/s" in right
    assert solved == {2}


def test_the_list_tells_what_is_answered() -> None:
    async def case(bench: LessonBench) -> str:
        await bench.press("c", LATER)
        return bench.text()

    shown = on_lessons(case, 2, size=(120, 35))
    assert "● 2 BDP" in shown and "▌  3 Window or wire" in shown and "1 of 8 answered" in shown


def test_where_one_panel_fits_tab_leads_round() -> None:
    async def case(bench: LessonBench) -> list[str]:
        titles = []
        for keys in (("left",), ("tab",), ("tab",), ("b",), ("escape",), ("shift+tab",)):
            await bench.press(*keys)
            titles.append(bench.text().splitlines()[2].split("─")[1].strip())
        return titles

    check, calculate, read = "Check yourself", "Calculate", "What a path holds"
    assert on_lessons(case, 2, size=(60, 20)) == [calculate, check, read, check, read, check]


def test_ones_own_numbers_come_from_the_newest_run() -> None:
    shown = on_lessons(text_of, 2, runs=[WINDOW_RUN])
    assert "your own numbers" in shown
    assert "1 Gbit/s × 11.8 ms = 1.48 MB" in shown


def test_help_names_its_keys_and_returns_without_losing_the_page() -> None:
    async def case(bench: LessonBench) -> tuple[str, str]:
        await bench.press("space", "c", "question_mark")
        sheet = bench.text()
        await bench.press("escape")
        return sheet, bench.text()

    sheet, back = on_lessons(case, 2)
    assert "try it on a live path" in sheet
    assert "A window too small" in back and "Right." in back


def test_the_live_path_and_back_with_its_numbers() -> None:
    async def case(bench: LessonBench) -> tuple[str, str, str]:
        await bench.press("space", "t")
        asked = bench.text()
        await bench.press("enter")
        running = bench.text()
        await bench.press("q")
        await bench.app.workers.wait_for_complete()
        await bench.look()
        assert bench.tried == [lesson(2)]
        assert bench.screen.trying is None
        return asked, running, bench.text()

    asked, running, back = on_lessons(case, 2)
    assert "buffers of 4 MiB are too small" in asked and "tuiperf demo long-fat-pipe" in asked
    assert "DONE" in running and "q Lesson" in running and "q Quit" not in running
    assert "A window too small" in back and "your own numbers" in back
    assert "Your last run had" in back


def test_leaving_a_run_that_goes_on_stops_it() -> None:
    async def case(bench: LessonBench) -> tuple[str, str]:
        await bench.press("t", "enter")
        running = bench.text()
        await bench.press("escape")
        await bench.app.workers.wait_for_complete()
        await bench.look()
        return running, bench.text()

    whole = made.run(made.spec(time_s=5))
    part, rest = whole[:40], whole[40:]
    running, back = on_lessons(case, 5, events=part, ending=rest)
    assert "RUNNING" in running
    assert "Where packets wait" in back


def test_leaving_the_app_ends_what_is_being_tried() -> None:
    async def case(bench: LessonBench) -> tuple[bool, int | None]:
        await bench.press("t", "enter")
        trying = bench.screen.trying
        assert isinstance(trying, TryScreen)
        await bench.pilot.press("ctrl+q")
        await bench.pilot.pause()
        return trying.running, bench.app.return_code

    whole = made.run(made.spec(time_s=5))
    assert on_lessons(case, 5, events=whole[:40], ending=whole[40:]) == (False, 0)


def test_escape_explains_no_more_before_it_leaves_the_run() -> None:
    async def case(bench: LessonBench) -> tuple[bool, bool]:
        await bench.press("t", "enter", "b", "escape")
        trying = bench.screen.trying
        assert trying is not None
        still_there = bench.app.screen is trying
        await bench.press("question_mark")
        listed = "to the lesson" in bench.text()
        return still_there, listed

    assert on_lessons(case, 5) == (True, True)


def test_not_now_leaves_everything_as_it_is() -> None:
    async def case(bench: LessonBench) -> tuple[int, str]:
        await bench.press("t", "escape")
        return len(bench.tried), bench.text()

    tried, shown = on_lessons(case, 2)
    assert tried == 0
    assert "What a path holds" in shown


def test_where_no_path_can_be_made_it_says_why() -> None:
    async def case(bench: LessonBench) -> tuple[str, int]:
        await bench.press("t")
        shown = bench.text()
        await bench.press("enter")
        return shown, len(bench.tried)

    shown, tried = on_lessons(case, 2, why_not="not root, and user namespaces are switched off")
    assert "No live path can be made here: not root, and user" in shown
    assert "enter begin" not in shown
    assert tried == 0


@pytest.mark.parametrize("key", ["q", "ctrl+q", "ctrl+c"])
def test_quit(key: str) -> None:
    async def case(bench: LessonBench) -> int | None:
        await bench.pilot.press(key)
        await bench.pilot.pause()
        return bench.app.return_code

    assert on_lessons(case) == 0


@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_measured_for_each_lesson(number: int) -> None:
    spec = spec_of(lesson(number))
    spec.check()
    assert spec.test.congestion == "cubic" or spec.test.udp
    assert 1 <= spec.test.time_s <= 10


def test_lesson_three_asks_for_the_window_of_its_path() -> None:
    assert spec_of(lesson(3)).test.window_bytes == 400 * 1024
    assert spec_of(lesson(7)).test.rate_bps == 20_000_000


def test_a_path_can_be_made_where_these_tests_run() -> None:
    assert asyncio.run(why_no_lab()) == ""


def test_a_live_run_is_recorded(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    feed, recording = lab_feed(lesson(2))
    assert isinstance(feed, LabFeed)
    assert recording.startswith(str(tmp_path)) and "lab-long-fat-pipe" in recording


def test_a_lab_that_does_not_come_up_is_told_in_words() -> None:
    async def run() -> str:
        return await LabFeed(ClientSpec("198.18.0.2"), "no-such-path").run()

    assert asyncio.run(run()).startswith("This path cannot be made here: ")
