"""The feed from an engine process: dropped lines, a dead child, a child that will not go."""

from __future__ import annotations

import asyncio
import errno
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests import made
from tests.terminal.emulator import gone
from tuiperf import events as ev
from tuiperf import feed
from tuiperf.feed import EngineFeed
from tuiperf.session import Session

EVENTS = made.run(made.spec(time_s=3))
LINES = [ev.to_line(event, number) for number, event in enumerate(EVENTS)]


def printing(path: Path, lines: list[str], then: str = "") -> list[str]:
    """A child that prints these lines and then does something."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = f"import os,sys,time; sys.stdout.write(open({str(path)!r}).read()); sys.stdout.flush()"
    return [sys.executable, "-c", f"{code}\n{then}"]


def followed(command: list[str], recording: str = "") -> tuple[Session, str]:
    async def run() -> tuple[Session, str]:
        source = EngineFeed(replace(made.spec(time_s=3), recording=recording), command)
        lost = await asyncio.wait_for(source.run(), 20)
        await source.close()
        return source.session, lost

    return asyncio.run(run())


def series(session: Session) -> list[float]:
    return [tick.goodput_bps for flow in session.flows.values() for tick in flow.ticks]


def test_events_become_the_session(tmp_path: Path) -> None:
    session, lost = followed(printing(tmp_path / "out", LINES))
    assert lost == ""
    assert series(session) == series(made.session_of(EVENTS))
    assert session.ended is not None


def test_dropped_lines_come_back_from_the_recording(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    recording.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    holes = [line for number, line in enumerate(LINES) if not 10 <= number < 20]
    session, lost = followed(printing(tmp_path / "out", holes), str(recording))
    assert lost == ""
    assert series(session) == series(made.session_of(EVENTS))


def test_dropped_lines_are_mended_while_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "MEND_S", 0.05)
    recording = tmp_path / "run.jsonl"
    recording.write_text("\n".join(LINES[:25]) + "\n", encoding="utf-8")
    holes = [line for number, line in enumerate(LINES[:25]) if not 10 <= number < 20]

    async def run() -> Session:
        command = printing(tmp_path / "out", holes, "time.sleep(60)")
        source = EngineFeed(replace(made.spec(time_s=3), recording=str(recording)), command)
        following = asyncio.ensure_future(source.run())
        wanted = series(made.session_of(EVENTS[:25]))
        for _ in range(200):
            await asyncio.sleep(0.05)
            if series(source.session) == wanted:
                break
        session = source.session
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        monkeypatch.setattr(feed, "GOODBYE_S", 0.1)
        await source.close()
        return session

    assert series(asyncio.run(run())) == series(made.session_of(EVENTS[:25]))


def test_nonsense_between_events_is_passed_over(tmp_path: Path) -> None:
    lines = [LINES[0], "not json", '{"kind": 7}', *LINES[1:]]
    session, lost = followed(printing(tmp_path / "out", lines))
    assert lost == ""
    assert series(session) == series(made.session_of(EVENTS))


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("sys.exit(3)", "ended with code 3"),
        ("os.kill(os.getpid(), 9)", "was killed by signal 9"),
        ("sys.stderr.write('x\\nout of \\x1b memory\\n'); sys.exit(1)", "code 1"),
    ],
)
def test_a_child_that_dies_says_how(tmp_path: Path, then: str, why: str) -> None:
    session, lost = followed(printing(tmp_path / "out", LINES[:30], then))
    assert why in lost
    assert "\x1b" not in lost
    assert ("out of \\x1b memory" in lost) is ("memory" in then)
    assert session.ended is None
    assert series(session)


def test_a_child_that_cannot_start() -> None:
    _, lost = followed(["/nonexistent/python"])
    assert lost == "the measuring process could not be started: No such file or directory"


def test_stop_and_close_reach_the_child(tmp_path: Path) -> None:
    then = "sys.stdin.readline(); open(%r, 'w').write(sys.stdin.readline() + sys.stdin.read())"
    told = tmp_path / "told"

    async def run() -> None:
        source = EngineFeed(made.spec(), printing(tmp_path / "out", LINES[:5], then % str(told)))
        following = asyncio.ensure_future(source.run())
        while source.session.run is None:
            await asyncio.sleep(0.02)
        source.stop()
        await source.close()
        await following

    asyncio.run(run())
    assert told.read_text(encoding="utf-8") == "stop\n"


def test_a_child_that_will_not_go_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "GOODBYE_S", 0.1)

    async def run() -> int:
        source = EngineFeed(made.spec(), printing(tmp_path / "out", LINES[:5], "time.sleep(60)"))
        following = asyncio.ensure_future(source.run())
        while source.session.run is None:
            await asyncio.sleep(0.02)
        assert source._process is not None
        await source.close()
        assert "killed by signal 9" in await following
        return source._process.pid

    assert gone(asyncio.run(run()))


def test_the_engine_itself_tells_of_a_refused_connection() -> None:
    async def run() -> Session:
        source = EngineFeed(replace(made.spec("127.0.0.1"), port=1))
        assert await asyncio.wait_for(source.run(), 20) == ""
        await source.close()
        return source.session

    session = asyncio.run(run())
    assert session.failure is not None
    assert session.failure.errno == errno.ECONNREFUSED
