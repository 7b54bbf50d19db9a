"""Write the golden pages anew: `python -m tests.screens.write_golden`, then read the difference."""

from __future__ import annotations

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


if __name__ == "__main__":
    main()
