"""Pictures of real runs, as root: `python screenshots/make.py [SCENE ...] [--folder FOLDER]`.

The lab makes the paths: long-fat-pipe (1 Gbit/s over 42 ms, buffers of 4 MiB) for the run and the
lesson, lossy-reverse for the sweep. The screens follow what really happens on them and are drawn
at several sizes and in both themes. Needs resvg-py, and the fonts Fira Code and DejaVu Sans Mono
for good looks.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import resvg_py
from textual.app import App
from textual.pilot import Pilot

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tuiperf.app import TuiperfApp  # noqa: E402
from tuiperf.engine.spec import ClientSpec, TestSpec  # noqa: E402
from tuiperf.evidence.gather import Plan  # noqa: E402
from tuiperf.feed import EngineFeed, Feed  # noqa: E402
from tuiperf.lab.errors import LabError  # noqa: E402
from tuiperf.lab.run import path as lab_path  # noqa: E402
from tuiperf.lesson_app import LessonApp  # noqa: E402
from tuiperf.link_app import LinkApp  # noqa: E402
from tuiperf.screens.lessons import LessonsScreen  # noqa: E402
from tuiperf.screens.sweep import SweepScreen  # noqa: E402
from tuiperf.sweep.drive import Order  # noqa: E402
from tuiperf.sweep_app import SweepApp  # noqa: E402
from tuiperf.view.rows import UNICODE  # noqa: E402

WIDE, USUAL, SMALL = (120, 35), (80, 24), (60, 20)
FONTS = "/usr/share/fonts"
FAMILIES = "'Fira Code', 'DejaVu Sans Mono', monospace"
TEST_S, PICTURE_S = 15, 11.6
LINK_S, SWEEP_S = 12.0, 120.0
PAUSE_S = 0.5

AnyApp = App[Any]


async def until(condition: Callable[[], bool], limit_s: float) -> None:
    """Wait until the condition holds. Raises TimeoutError."""

    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.1)

    await asyncio.wait_for(wait(), limit_s)


async def draw_sizes(
    app: AnyApp, pilot: Pilot[Any], folder: Path, name: str, sizes: tuple[tuple[int, int], ...]
) -> None:
    """What is on the screen now, at each size, and at the first one in the light theme as well."""
    for width, height in sizes:
        await pilot.resize_terminal(width, height)
        await pilot.pause(PAUSE_S)
        save(app, folder / f"{name}-{width}x{height}")
    width, height = sizes[0]
    await pilot.resize_terminal(width, height)
    app.theme = "tuiperf-light"
    await pilot.pause(PAUSE_S)
    save(app, folder / f"{name}-{width}x{height}-light")
    app.theme = "tuiperf-dark"
    await pilot.pause(PAUSE_S)


async def draw_run(host: str, folder: Path) -> None:
    """One run while it goes on, and its explanation."""
    spec = ClientSpec(host=host, test=TestSpec(time_s=TEST_S, congestion="cubic"))

    def make_feed() -> tuple[Feed, str]:
        return EngineFeed(spec), ""

    app = TuiperfApp(make_feed=make_feed)
    async with app.run_test(size=WIDE) as pilot:
        page = app.run_screen.page
        await until(lambda: page.session.test_s >= PICTURE_S or page.over, 2 * TEST_S)
        await draw_sizes(app, pilot, folder, "run", (WIDE, USUAL, SMALL))
        await until(lambda: page.over, 2 * TEST_S)
        await pilot.press("b")
        await pilot.pause(PAUSE_S)
        save(app, folder / "why-120x35")


async def draw_sweep(host: str, folder: Path) -> None:
    """The end of a sweep."""
    screen = SweepScreen(UNICODE, order=Order.towards(ClientSpec(host=host)))
    app = SweepApp(screen, UNICODE)
    async with app.run_test(size=WIDE) as pilot:
        await until(lambda: screen.running, LINK_S)
        await until(lambda: not screen.running, SWEEP_S)
        await draw_sizes(app, pilot, folder, "sweep", (WIDE, USUAL))


async def draw_link(host: str, folder: Path) -> None:
    """The link of the way to a far end."""
    app = LinkApp(Plan(host), UNICODE)
    async with app.run_test(size=WIDE) as pilot:
        await asyncio.sleep(LINK_S)
        await draw_sizes(app, pilot, folder, "link", (WIDE, USUAL))


async def draw_lesson(host: str, folder: Path) -> None:
    """The pipe of lesson 2, with the numbers of a run just made."""
    subprocess.run(
        [sys.executable, "-m", "tuiperf", "run", host, "-t", "5", "-C", "cubic", "--plain"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    app = LessonApp(LessonsScreen(UNICODE, 2))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause(PAUSE_S)
        for _ in range(PAGES_TO_THE_PIPE):
            await pilot.press("n")
        await draw_sizes(app, pilot, folder, "lesson-2", (WIDE, USUAL))


async def draw_home(_host: str, folder: Path) -> None:
    """Where the app begins, on this machine itself."""
    app = TuiperfApp(UNICODE, start="home")
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause(2 * PAUSE_S)
        await draw_sizes(app, pilot, folder, "home", (WIDE, USUAL))


class Scene(NamedTuple):
    """What is drawn, and on which of the lab's paths, if on any."""

    profile: str
    draw: Callable[[str, Path], Coroutine[Any, Any, None]]


PAGES_TO_THE_PIPE = 1
SCENES = {
    "run": Scene("long-fat-pipe", draw_run),
    "sweep": Scene("lossy-reverse", draw_sweep),
    "link": Scene("long-fat-pipe", draw_link),
    "lesson-2": Scene("long-fat-pipe", draw_lesson),
    "home": Scene("", draw_home),
}


def save(app: AnyApp, path: Path) -> None:
    """Write the screen as SVG, without fonts from the network, and as PNG."""
    svg = app.export_screenshot(title="tuiperf", simplify=True)
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    svg = re.sub(r"font-family: *Fira Code, *monospace", f"font-family: {FAMILIES}", svg)
    path.with_suffix(".svg").write_text(svg, encoding="utf-8")
    png = resvg_py.svg_to_bytes(
        svg_string=svg, monospace_family="DejaVu Sans Mono", font_dirs=[FONTS]
    )
    path.with_suffix(".png").write_bytes(bytes(png))


def draw_scene(scene: Scene, folder: Path) -> None:
    """Draw one scene. This process stays on the near side of its path until it ends."""
    if not scene.profile:
        asyncio.run(scene.draw("", folder))
        return
    with lab_path(scene.profile) as lab:
        lab.near.enter()
        asyncio.run(scene.draw(lab.peer, folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Pictures of real runs; needs root.")
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help="all, if none is named")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)  # the engine is started as a module from there
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    names = asked.scenes or list(SCENES)
    if len(names) > 1:
        for name in names:
            command = [sys.executable, __file__, name, "--folder", str(folder)]
            subprocess.run(command, check=True)
        return
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        try:
            draw_scene(SCENES[names[0]], folder)
        except LabError as error:
            sys.exit(f"make.py: {error}")


if __name__ == "__main__":
    main()
