"""Every card and column of a run has a page that explains it, and every page fits."""

from __future__ import annotations

import pytest

from tests import made
from tests.screens.pages import Bench, going_on, on_screen
from tuiperf.view import cards, intervals
from tuiperf.view.explanations import EXPLANATIONS, explanation_pages
from tuiperf.view.numbers import units_of
from tuiperf.view.rows import ASCII, UNICODE, Glyphs, row_width, to_text

ABOUT = [name for each in EXPLANATIONS for name in each.about]


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("reverse", [False, True])
def test_every_card_and_column_is_explained_once(protocol: str, reverse: bool) -> None:
    spec = made.spec("lab-b", time_s=5, protocol=protocol, reverse=reverse)
    session = made.session_of(made.opening(spec, made.Path()))
    columns = intervals._wanted(session, units_of(session), UNICODE)
    names = {card.name for card in cards.cards(session)} | {each.name for each in columns}
    assert names <= set(ABOUT)
    assert len(ABOUT) == len(set(ABOUT))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_page_fits_a_terminal_of_60_by_20_whole(glyphs: Glyphs) -> None:
    for (_, rows), each in zip(explanation_pages(56, glyphs), EXPLANATIONS, strict=True):
        assert len(rows) <= 18
        assert {row_width(row) for row in rows} == {56}
        told = " ".join(" ".join(to_text(row)[12:].split()) for row in rows)
        for part in (each.meaning, each.formula, each.typical, each.caveats):
            assert part in told


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
def test_help_leads_page_by_page_through_all_of_them(size: tuple[int, int]) -> None:
    async def case(bench: Bench) -> list[str]:
        await bench.press("question_mark")
        seen = [bench.text()]
        for _ in range(12):
            await bench.press("n")
            seen.append(bench.text())
        await bench.press("p")
        assert "Verdict" in bench.text()
        await bench.press("escape")
        assert "n next" not in bench.text()
        return seen

    shown = "\n".join(on_screen(case, *going_on(), size=size))
    assert "Keys and signs" in shown
    assert "far side: only the other end" in shown
    assert [each.title for each in EXPLANATIONS if each.title not in shown] == []
    assert "BDP = rate x idle RTT / 8" in shown
