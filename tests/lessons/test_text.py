"""The texts: complete, short enough for small screens, and what they name exists."""

from __future__ import annotations

import re

import pytest

from tests.lessons.made import UDP_RUN, WINDOW_RUN
from tuiperf.cli.options import parse
from tuiperf.lab import profiles
from tuiperf.lessons.case import Case, case_of
from tuiperf.lessons.numbers import numbers, start_trips
from tuiperf.lessons.text import (
    FORMULA,
    ITEM,
    NUMBERS,
    OWN,
    TEXT,
    Block,
    Lesson,
    lesson,
    lessons,
)
from tuiperf.lessons.text import (
    parse as parse_text,
)
from tuiperf.view.lesson import reading_rows
from tuiperf.view.rows import UNICODE, cell_width

CASES = {"example": Case(), "tcp": case_of(WINDOW_RUN), "udp": case_of(UDP_RUN)}
SMALL = ((40, 11), (56, 14))
"""The reading panel's inside at 80x24 and 60x20, less the line about a run."""


def test_eight_lessons() -> None:
    assert [each.number for each in lessons()] == [1, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(KeyError):
        lesson(9)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("case", CASES)
def test_every_page_fits_a_small_screen(number: int, size: tuple[int, int], case: str) -> None:
    width, height = size
    known = numbers(CASES[case])
    for page in lesson(number).pages:
        rows = reading_rows(page.filled(known), width)
        assert len(rows) <= height, page.title
        assert all(sum(cell_width(text) for text, _ in row) == width for row in rows)
        assert cell_width(page.title) <= width - 4


@pytest.mark.parametrize("number", NUMBERS)
def test_no_mark_and_no_gap_is_left(number: int) -> None:
    for page in lesson(number).pages:
        for block in page.filled(numbers(Case())).blocks:
            shown = "".join(text for text, _ in block.runs())
            assert not re.search(r"[{}`]|\*\*", shown), shown


@pytest.mark.parametrize("number", NUMBERS)
def test_the_readers_own_lines_need_a_run(number: int) -> None:
    found = lesson(number)
    own = [block for page in found.pages for block in page.blocks if block.kind == OWN]
    others = [block for page in found.pages for block in page.blocks if block.kind != OWN]
    assert all("{run_" in block.text for block in own)
    assert not any("{run_" in block.text for block in others)


def test_a_runs_own_lines_are_filled() -> None:
    page = lesson(2).pages[1].filled(numbers(case_of(WINDOW_RUN)))
    assert page.blocks[-1].text == (
        "Your last run had 265 KB in flight at 12.4 ms: 171 Mbit/s. It measured 171 Mbit/s."
    )
    assert len(lesson(2).pages[1].filled(numbers(Case())).blocks) == len(page.blocks) - 1


@pytest.mark.parametrize("number", NUMBERS)
def test_its_live_path_exists_and_its_options_are_understood(number: int) -> None:
    found = lesson(number)
    assert found.path in profiles.names()
    asked = parse(found.command.split()[1:])
    assert (asked.command, asked.profile) == ("demo", found.path)
    assert found.watch


def test_the_options_that_texts_name_exist() -> None:
    names: set[str] = set()
    for found in lessons():
        for page in found.pages:
            for block in page.blocks:
                names |= set(re.findall(r"(?<=`)--?[a-zA-Z-]+", block.text))
    assert {"-P", "-w", "-O", "-R", "-b", "-C", "--fq-rate", "-t"} <= names
    for name in names:
        value = {"-C": ["cubic"], "-R": []}.get(name, ["1"])
        assert parse(["run", "lab-b", name, *value]).client is not None


def test_the_first_window_doubles() -> None:
    assert start_trips(Case()) == 8  # 10 segments, 1727 wanted: 10 * 2**8 = 2560
    assert start_trips(Case(rate_bps=1e6, rtt_us=1000)) == 1


def test_the_little_markdown() -> None:
    found: Lesson = parse_text(
        1,
        "# Title: more\nshort: T\ntry: clean-lan -t 3\nwatch: it\n\n## One\nA **b** `c` d\ne.\n\n"
        "- x\n- y\n\n    1 + 1\n    2\n\n> own {run_peer}\n\n## Two\nZ\n",
    )
    assert (found.title, found.short, found.options) == ("Title: more", "T", ("-t", "3"))
    one, two = found.pages
    assert [block.kind for block in one.blocks] == [TEXT, ITEM, ITEM, FORMULA, FORMULA, OWN]
    assert one.blocks[0].runs() == [
        ("A ", "text"),
        ("b", "strong"),
        (" ", "text"),
        ("c", "key"),
        (" d e.", "text"),
    ]
    assert two.blocks == (Block(TEXT, "Z"),)
    with pytest.raises(KeyError):
        parse_text(1, "# T\nshort: T\ntry: a\nwatch: b\n\n## One\n{gone}\n").pages[0].filled({})


def test_hostile_names_stay_text() -> None:
    run = case_of(UDP_RUN).run
    assert run is not None
    known = {**numbers(Case()), "run_peer": "\x1b[31m{rate}**x**", "run_goodput": "1"}
    rows = reading_rows(lesson(1).pages[0].filled(known), 40, UNICODE)
    assert "\x1b" not in "".join(text for row in rows for text, _ in row)
