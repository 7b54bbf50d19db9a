"""Pictures of a real run, as root: `python screenshots/make.py [--profile NAME] [FOLDER]`.

The lab makes a path of 1 Gbit/s over 42 ms whose far side has buffers of 4 MiB (long-fat-pipe);
the screen follows a test along it and is drawn at three sizes, in the light theme, and with its
explanation. Needs resvg-py, and the fonts Fira Code and DejaVu Sans Mono for good looks.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from pathlib import Path

import resvg_py

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tuiperf.app import TuiperfApp  # noqa: E402
from tuiperf.engine.spec import ClientSpec, TestSpec  # noqa: E402
from tuiperf.feed import EngineFeed, Feed  # noqa: E402
from tuiperf.lab.errors import LabError  # noqa: E402
from tuiperf.lab.run import path as lab_path  # noqa: E402

SIZES = ((120, 35), (80, 24), (60, 20))
FONTS = "/usr/share/fonts"
FAMILIES = "'Fira Code', 'DejaVu Sans Mono', monospace"
PROFILE = "long-fat-pipe"
TEST_S, PICTURE_S = 15, 11.6


async def draw(host: str, folder: Path) -> None:
    """One run; pictures of it at every size while it goes on, and of its explanation."""
    spec = ClientSpec(host=host, test=TestSpec(time_s=TEST_S, congestion="cubic"))

    def make_feed() -> tuple[Feed, str]:
        return EngineFeed(spec), ""

    app = TuiperfApp(make_feed=make_feed)
    async with app.run_test(size=SIZES[0]) as pilot:
        screen = app.run_screen
        while screen.page.session.test_s < PICTURE_S and not screen.page.over:
            await asyncio.sleep(0.1)
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await pilot.pause(0.2)
            save(app, folder / f"run-{width}x{height}")
        await pilot.resize_terminal(*SIZES[0])
        app.theme = "tuiperf-light"
        await pilot.pause(0.5)
        save(app, folder / "run-120x35-light")
        app.theme = "tuiperf-dark"
        while not screen.page.over:
            await asyncio.sleep(0.1)
        await pilot.press("b")
        await pilot.pause(0.5)
        save(app, folder / "why-120x35")


def save(app: TuiperfApp, path: Path) -> None:
    """Write the screen as SVG, without fonts from the network, and as PNG."""
    svg = app.export_screenshot(title="tuiperf", simplify=True)
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    svg = re.sub(r"font-family: *Fira Code, *monospace", f"font-family: {FAMILIES}", svg)
    path.with_suffix(".svg").write_text(svg, encoding="utf-8")
    png = resvg_py.svg_to_bytes(
        svg_string=svg, monospace_family="DejaVu Sans Mono", font_dirs=[FONTS]
    )
    path.with_suffix(".png").write_bytes(bytes(png))


def main() -> None:
    parser = argparse.ArgumentParser(description="Pictures of a real run; needs root.")
    parser.add_argument("--profile", default=PROFILE, help="a path that `tuiperf lab list` names")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)  # the engine is started as a module from there
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    try:
        with lab_path(asked.profile) as lab:
            lab.near.enter()  # this process and the engine it starts, until the end
            asyncio.run(draw(lab.peer, folder))
    except LabError as error:
        sys.exit(f"make.py: {error}")


if __name__ == "__main__":
    main()
