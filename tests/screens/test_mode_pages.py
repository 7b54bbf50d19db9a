"""The pages of home, settings, recordings and a comparison, as they are drawn at each size."""

from __future__ import annotations

import pytest

from tests.screens.mode_pages import LOOKS, PAGES, page_of
from tests.screens.test_run import GOLDEN


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_at_every_size(name: str, look: str) -> None:
    shown = page_of(name, look)
    assert shown == (GOLDEN / f"{name}-{look}.txt").read_text(encoding="utf-8").rstrip("\n")
    assert shown.isascii() or not look.startswith("ascii")
