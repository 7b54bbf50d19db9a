"""Guards of the terminal, one by one."""

from __future__ import annotations

import asyncio
import io
import os
import sys

import pytest

from tests.screens.pages import going_on
from tuiperf import guards
from tuiperf.app import TuiperfApp
from tuiperf.feed import ListFeed


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class SlowStream(io.StringIO):
    """A stream whose writes take a while, and which looks at its meter meanwhile."""

    def __init__(self, clock: Clock, takes_s: float) -> None:
        super().__init__()
        self.meter: guards.ByteMeter | None = None
        self.seen: list[bool] = []
        self._clock = clock
        self._takes_s = takes_s

    def write(self, text: str) -> int:
        self._clock.now_s += self._takes_s
        assert self.meter is not None
        self.seen.append(self.meter.stalled)
        return super().write(text)


@pytest.mark.parametrize(("takes_s", "stalled"), [(0.1, False), (0.5, True)])
def test_a_write_that_waits_is_a_stall(takes_s: float, stalled: bool) -> None:
    clock = Clock()
    stream = SlowStream(clock, takes_s)
    meter = stream.meter = guards.ByteMeter(stream, clock)
    meter.write("▇▇")
    assert stream.seen == [stalled]
    assert not meter.stalled
    assert meter.written_bytes == 6
    assert meter.getvalue() == "▇▇"


def test_a_stalled_terminal_is_spared() -> None:
    class Hung(guards.ByteMeter):
        stalled = True

    shown: list[str] = []
    so_far, ending = going_on()
    app = TuiperfApp(
        make_feed=lambda: (ListFeed(so_far, ending), ""), meter=Hung(io.StringIO()), live=False
    )

    async def look() -> None:
        async with app.run_test(size=(80, 24)):
            app.run_screen.tick = lambda: shown.append("tick")  # type: ignore[method-assign]
            app._tick()
            assert shown == []
            app._meter = None
            app._tick()
            assert shown == ["tick"]

    asyncio.run(look())


def test_the_meter_stands_where_textual_writes() -> None:
    before = sys.__stderr__
    with guards.metered() as meter:
        assert id(sys.__stderr__) == id(meter)
    assert sys.__stderr__ is before


def test_a_closed_terminal_is_noticed() -> None:
    master, slave = os.openpty()
    assert not guards.terminal_gone(slave)
    os.close(master)
    assert guards.terminal_gone(slave)
    os.close(slave)
    assert guards.terminal_gone(slave)


@pytest.mark.parametrize(
    ("locale", "ascii"),
    [
        ({"LANG": "C.UTF-8"}, False),
        ({"LANG": "en_US.utf8"}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "C.UTF-8", "LC_ALL": "POSIX"}, True),
        ({}, False),
    ],
)
def test_a_locale_without_utf8_means_ascii(
    locale: dict[str, str], ascii: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in locale.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "__stderr__", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert guards.needs_ascii() is ascii
    monkeypatch.setattr(sys, "__stderr__", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert guards.needs_ascii()


def test_over_ssh_the_screen_is_calmer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.delenv("TEXTUAL_ANIMATIONS", raising=False)
    assert guards.set_pace() == 4.0
    assert os.environ["TEXTUAL_FPS"] == "15"
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert guards.set_pace() == 2.0
    assert os.environ.pop("TEXTUAL_ANIMATIONS") == "none"
