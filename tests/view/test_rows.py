"""Rows: widths by cells, wide characters, foreign strings made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tuiperf.view.rows import (
    ASCII,
    UNICODE,
    cell_width,
    cut,
    ends,
    escape,
    fit,
    pad,
    pad_left,
    row_width,
    to_text,
    whole_words,
    wrap,
)
from tuiperf.view.terminal_text import painted


def test_whole_words_cut_no_number() -> None:
    assert whole_words("2.78 MB per 43.1 ms", 19) == "2.78 MB per 43.1 ms"
    assert whole_words("2.78 MB per 43.1 ms", 18) == "2.78 MB per…"
    assert whole_words("2.78 MB per 43.1 ms", 9) == "2.78 MB…"
    assert whole_words("2.78 MB", 4) == ""
    assert whole_words("2.78 MB per 43.1 ms", 8, ASCII) == "2.78 MB~"


def test_controls_of_a_peer_are_shown_not_sent() -> None:
    assert escape("a\x1b[31mred\x07") == "a\\x1b[31mred\\x07"
    assert escape("two\nlines\tand") == "two lines and"
    assert escape("\u202eevil") == "\\u202eevil"
    assert escape("caf\u00e9") == "café"
    assert escape("x" * 5000, limit=10) == "x" * 10


def test_ascii_glyphs_spell_out_what_they_cannot_draw() -> None:
    assert ASCII.text("here → lab-b ×4 ≥ 1 µs…") == "here -> lab-b x4 >= 1 us..."
    assert ASCII.text("日本") == "??"
    assert UNICODE.text("here → 日本") == "here → 日本"


def test_wide_characters_take_two_cells() -> None:
    assert cell_width("日本") == 4
    assert cut("日本語", 4) == "日…"
    assert pad("日本", 5) == "日本 "
    assert pad_left("abc", 5) == "  abc"
    assert cut("abcdef", 4) == "abc…"
    assert cut("abc", 0) == ""


def test_a_row_that_is_too_long_says_so() -> None:
    row = fit([("alpha", "text"), ("beta", "muted")], 7)
    assert row == [("alpha", "text"), ("b…", "muted")]
    assert fit([("a", "text"), ("b", "text")], 4) == [("ab  ", "text")]


def test_the_right_end_stays_whole() -> None:
    row = ends([("a long title", "text")], [("12.3 s", "data")], 12)
    assert to_text(row) == "a lo… 12.3 s"


def test_words_are_kept_whole_where_they_can() -> None:
    assert wrap("the window was full", 10) == ["the window", "was full"]
    assert wrap("abcdefghij kl", 4) == ["abcd", "efgh", "ij", "kl"]
    assert wrap("", 10) == []


def test_paint_for_a_scrolling_terminal() -> None:
    row = [("▲ ", "look"), ("Lossy", "strong"), ("   ", "text")]
    assert painted(row) == "\x1b[33m▲ \x1b[0m\x1b[1mLossy\x1b[0m"
    assert painted(row, colour=False) == "▲ Lossy"


@given(st.text(max_size=60))
def test_escaped_text_is_as_wide_as_the_screen_library_thinks(text: str) -> None:
    assert cell_width(escape(text)) == cell_len(escape(text))


@given(
    st.lists(st.tuples(st.text(max_size=12).map(escape), st.sampled_from(["text", "muted"]))),
    st.integers(0, 40),
)
def test_fit_is_exact(row: list[tuple[str, str]], width: int) -> None:
    assert row_width(fit(row, width)) == width


@given(st.text(max_size=80).map(escape), st.integers(2, 30))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_glyph_is_one_cell(glyphs: object) -> None:
    for name, value in vars(glyphs).items():
        if isinstance(value, str):
            expected = 8 if name == "rising" else 1
            assert cell_width(value) == len(value) == expected, name
