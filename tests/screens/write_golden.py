"""Write the golden pages anew: `python -m tests.screens.write_golden`, then read the difference."""

from __future__ import annotations

from tests.screens import test_link
from tests.screens.link_pages import on_link_screen
from tests.screens.mode_pages import LOOKS, PAGES, page_of
from tests.screens.pages import Bench, going_on, on_screen
from tests.screens.test_run import GOLDEN, SIZES
from tuiperf.view.rows import ASCII, UNICODE


async def _text(bench: Bench) -> str:
    return bench.text()


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    so_far, ending = going_on()
    wanted = {name: (size, UNICODE) for name, size in SIZES.items()}
    wanted["ascii-80x24"] = ((80, 24), ASCII)
    for name, (size, glyphs) in wanted.items():
        text = on_screen(_text, so_far, ending, size=size, glyphs=glyphs)
        (GOLDEN / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    links = {name: (size, UNICODE) for name, size in test_link.SIZES.items()}
    links["link-ascii-80x24"] = ((80, 24), ASCII)
    for name, (size, glyphs) in links.items():
        text = on_link_screen(test_link.text_of, size=size, glyphs=glyphs)
        (GOLDEN / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    for name in PAGES:
        for look in LOOKS:
            page = page_of(name, look)
            (GOLDEN / f"{name}-{look}.txt").write_text(page + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
