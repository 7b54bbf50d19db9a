"""Pictures of a real run: `python screenshots/make.py [--loopback] [FOLDER]`.

A server of ours runs at the far end of a veth pair between two network namespaces, behind a 500
Mbit/s bottleneck with a deep queue (a token bucket, tc-tbf(8)); the screen follows a test against
it and is drawn at three sizes. That needs root; `--loopback` measures this host instead. Needs
resvg-py, and the fonts Fira Code and DejaVu Sans Mono for good looks.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import resvg_py

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tuiperf.app import TuiperfApp  # noqa: E402
from tuiperf.engine.spec import ClientSpec, TestSpec  # noqa: E402
from tuiperf.feed import EngineFeed, Feed  # noqa: E402

SIZES = ((120, 35), (80, 24), (60, 20))
FONTS = "/usr/share/fonts"
FAMILIES = "'Fira Code', 'DejaVu Sans Mono', monospace"
TEST_S, PICTURE_S = 15, 11.6
BOTTLENECK = ("rate", "500mbit", "burst", "64k", "limit", "1200k")


class Place(NamedTuple):
    """Where the two ends run: prefixes of their commands, and the server's address."""

    here: tuple[str, ...]
    there: tuple[str, ...]
    address: str


@contextlib.contextmanager
def shaped_path() -> Iterator[Place]:
    """Two namespaces and a bottleneck between them."""
    mark = uuid.uuid4().hex[:6]
    here, there = f"tpshot{mark}a", f"tpshot{mark}b"
    try:
        for name in (here, there):
            _run("ip", "netns", "add", name)
        _run("ip", "-n", here, "link", "add", "v0", "type", "veth", "peer", "v0", "netns", there)
        for name, address in ((here, "10.20.0.4/24"), (there, "10.20.0.7/24")):
            _run("ip", "-n", name, "addr", "add", address, "dev", "v0")
            _run("ip", "-n", name, "link", "set", "v0", "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("tc", "-n", here, "qdisc", "add", "dev", "v0", "root", "tbf", *BOTTLENECK)
        yield Place(("ip", "netns", "exec", here), ("ip", "netns", "exec", there), "10.20.0.7")
    finally:
        for name in (here, there):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextlib.contextmanager
def loopback() -> Iterator[Place]:
    yield Place((), (), "127.0.0.1")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextlib.contextmanager
def server(place: Place, port: int) -> Iterator[None]:
    """Our server at the far end."""
    command = [*place.there, sys.executable, "-m", "tuiperf", "-s", "-p", str(port)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        time.sleep(1.0)
        yield
    finally:
        running.terminate()
        running.wait(10)


async def draw(place: Place, port: int, folder: Path) -> None:
    """One run; pictures of it at every size while it goes on, and of its explanation."""
    test = TestSpec(time_s=TEST_S, congestion="cubic")
    spec = ClientSpec(host=place.address, port=port, test=test)
    command = [*place.here, sys.executable, "-m", "tuiperf.engine"]

    def make_feed() -> tuple[Feed, str]:
        return EngineFeed(spec, command), ""

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
    parser = argparse.ArgumentParser(description="Pictures of a real run.")
    parser.add_argument("--loopback", action="store_true", help="measure this host, without root")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_THEME"):
        os.environ.pop(name, None)
    with loopback() if asked.loopback else shaped_path() as place, server(place, 5201):
        asyncio.run(draw(place, 5201, asked.folder))


if __name__ == "__main__":
    main()
