"""Pages of home, settings, recordings and a comparison, with nothing of this machine in them."""

from __future__ import annotations

import asyncio
import gzip
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests import made
from tuiperf import events as ev
from tuiperf import recording, runs
from tuiperf.app import TuiperfApp
from tuiperf.cli.form import Form
from tuiperf.glance import Glance
from tuiperf.peers import Peer
from tuiperf.screens.home import HomeScreen
from tuiperf.screens.recordings import RecordingsScreen
from tuiperf.screens.settings import SettingsScreen
from tuiperf.view.rows import ASCII, UNICODE, Glyphs

PAGES = ("home", "settings", "recordings", "compare")
LOOKS: dict[str, tuple[tuple[int, int], Glyphs]] = {
    "60x20": ((60, 20), UNICODE),
    "80x24": ((80, 24), UNICODE),
    "120x35": ((120, 35), UNICODE),
    "ascii-80x24": ((80, 24), ASCII),
}

_NOW_S = 1_750_000_000.0
_SEEN = Glance(
    "lab-a", "eth0", "10.20.0.5", 1e9, False, "full", 1500, "cubic", "fq_codel", 6_291_456, 8
)
_PEERS = [
    Peer("lab-b", ("-P", "4"), "10.20.0.7", _NOW_S - 90, 941.2e6, "fine", "Line rate", "TCP ×4"),
    Peer("lab-c:5300", (), "10.20.0.9", _NOW_S - 7200, 14.6e6, "look", "Window-limited", "TCP"),
    Peer("2001:db8::7", (), "2001:db8::7", _NOW_S - 400_000, 3.1e6, "fault", "Lossy path", "TCP"),
]


def page_of(name: str, look: str) -> str:
    """One of PAGES, in one of LOOKS."""
    size, glyphs = LOOKS[look]
    with tempfile.TemporaryDirectory() as folder, _in_utc():
        _keep(Path(folder))
        return asyncio.run(_page(name, Path(folder), size, glyphs))


async def _page(name: str, folder: Path, size: tuple[int, int], glyphs: Glyphs) -> str:
    home = HomeScreen(glyphs, load=lambda: list(_PEERS), look=lambda _: _SEEN, clock=lambda: _NOW_S)
    past = RecordingsScreen(glyphs, load=lambda: runs.listing(folder), clock=lambda: _NOW_S)
    start = "recordings" if name in ("recordings", "compare") else "home"
    app = TuiperfApp(glyphs, start=start, screens={"home": home, "recordings": past}, live=False)
    async with app.run_test(size=size) as pilot:
        await _settle(app, pilot)
        if name == "settings":
            spec = made.spec("lab-b", time_s=10, parallel=4, reverse=True)
            await app.push_screen(SettingsScreen(Form.of(spec, ""), glyphs))
        elif name == "compare":
            await pilot.press("space", "j", "space")
            await _settle(app, pilot)
            await pilot.press("c")
        await _settle(app, pilot)
        strips = app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)


async def _settle(app: TuiperfApp, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def _keep(folder: Path) -> None:
    """Two runs: one connection that its window limits, then four on a path without a limit."""
    path_of = {1: made.Path(window_bytes=262_144), 4: made.Path()}
    for number, streams in enumerate((1, 4)):
        found = made.run(made.spec("lab-b", time_s=5, parallel=streams), path_of[streams])
        path = folder / f"run-{streams}{recording.SUFFIX}"
        when_s = _NOW_S - 7200 + 3600 * number
        with gzip.open(path, "wt", encoding="utf-8") as file:
            for place, event in enumerate(found):
                dated = _dated(event, when_s)
                file.write(ev.to_line(dated, place) + "\n")
        os.utime(path, (when_s, when_s))


def _dated(event: ev.Event, when_s: float) -> ev.Event:
    return replace(event, wall_time_s=when_s) if isinstance(event, ev.RunStarted) else event


@contextmanager
def _in_utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
