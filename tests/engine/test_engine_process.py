"""`python -m tuiperf.engine`: a spec in, events out, and an end whatever happens to its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.driving import (
    EngineProcess,
    OurServer,
    carried,
    client_spec,
    eventually,
    is_running,
    run,
    short,
)
from tuiperf.engine.spec import ClientSpec
from tuiperf.events import Results, RunEnded, RunStarted, StreamSample, TestStarted
from tuiperf.recording import read

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with OurServer() as server:
        yield server.port


def running(spec: ClientSpec) -> EngineProcess:
    """An engine whose test is under way."""
    engine = EngineProcess.client(spec)
    engine.next(StreamSample)
    assert engine.workers
    return engine


def endless(port: int, **settings: Any) -> ClientSpec:
    return client_spec(port, short(time_s=0, parallel=2), **settings)


def test_a_spec_in_events_out(port: int) -> None:
    with EngineProcess.client(client_spec(port, short(total_bytes=1_000_000))) as engine:
        done = engine.rest()
        assert engine.wait() == 0
    assert done.outcome == "completed"
    assert sum(carried(done.local).values()) == 1_000_000
    assert engine.numbers == list(range(len(engine.numbers)))


def test_the_name_of_the_tool_is_the_parents(port: int) -> None:
    spec = client_spec(port, short(total_bytes=1)).to_json()
    with EngineProcess({"client": spec, "tool": "tuiperf 9.9"}) as engine:
        assert engine.rest().one(RunStarted).tool == "tuiperf 9.9"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"", 114),
        (b"\n", 114),
        (b"{}\n", 114),
        (b"[1]\n", 114),
        (b"no JSON\n", 114),
        (b"[" * 60_000 + b"\n", 114),
        (b"x" * 200_000, 114),
        (b'{"client": 7}\n', 114),
        (b'{"client": {}}\n', 114),
        (b'{"client": {"host": "a", "port": "5201"}}\n', 114),
        (b'{"client": {"host": "a", "colour": 1}}\n', 114),
        (b'{"client": {"host": "a", "port": 0}}\n', 26),
        (b'{"client": {"host": "a", "test": {"parallel": 200}}}\n', 6),
        (b'{"server": {"port": 70000}}\n', 26),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_spec_is_a_failure_in_events(said: bytes, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tuiperf.engine"],
        input=said,
        capture_output=True,
        timeout=30,
        cwd=ROOT,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["kind"] for event in events] == ["failed", "run_ended"]
    assert events[0]["code"] == code
    assert "\n" not in events[0]["text"]
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_failure_is_the_exit_code_too() -> None:
    with EngineProcess.client(client_spec(1)) as engine:
        assert engine.wait() == 1
        assert engine.rest().failure.code == 103


# ---------------------------------------------------------------- stopping


@pytest.mark.parametrize("how", ["stop", signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_ends_the_test_with_its_summary(port: int, how: Any) -> None:
    with running(endless(port)) as engine:
        if how == "stop":
            engine.say("stop")
        else:
            engine.signal(how)
        done = engine.rest()
        assert engine.wait() == 0
    assert done.outcome == "interrupted"
    assert set(carried(done.local)) == set(carried(done.remote)) == {1, 3}
    assert (done.one(RunEnded).signal is None) == (how == "stop")


@pytest.mark.parametrize("how", ["abort", "abort behind a stop", "end of stdin"])
def test_an_abort_ends_it_at_once_with_what_was_measured(port: int, how: str) -> None:
    with running(endless(port)) as engine:
        workers = engine.workers
        if how == "abort":
            engine.say("abort")
        elif how == "abort behind a stop":
            engine.signal(signal.SIGSTOP)
            engine.say("stop")
            engine.say("abort")
            engine.signal(signal.SIGCONT)
        else:
            assert engine.process.stdin
            engine.process.stdin.close()
        done = engine.rest()
        assert engine.wait() == 0
    assert done.outcome == "interrupted"
    assert [results.side for results in done.all(Results)] == ["local"]
    assert carried(done.local)[1] > 0
    assert not any(is_running(pid) for pid in workers)


def test_a_signal_to_the_whole_group_ends_it_in_order(port: int) -> None:
    """Ctrl+C in a terminal reaches the workers as well; timeout(1) does so with SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with running(endless(port)) as engine:
            os.killpg(engine.process.pid, number)
            done = engine.rest()
            assert engine.wait() == 0
        assert done.outcome == "interrupted"
        assert carried(done.local)[1] > 0
        assert carried(done.remote)[1] > 0


def test_a_stopped_and_continued_engine_goes_on(port: int) -> None:
    with running(client_spec(port, short(time_s=1), interval_s=0.2)) as engine:
        engine.signal(signal.SIGSTOP)
        time.sleep(0.5)
        engine.signal(signal.SIGCONT)
        done = engine.rest()
    assert done.outcome == "completed"
    measured = sum(row.bytes for interval in done.measured for row in interval.streams)
    assert measured == sum(carried(done.local).values())


# ---------------------------------------------------------------- ends that it does not survive


def test_a_killed_engine_leaves_no_worker(port: int) -> None:
    with running(endless(port)) as engine:
        workers = engine.workers
        engine.signal(signal.SIGKILL)
        assert engine.wait() == -signal.SIGKILL
        assert eventually(lambda: not any(is_running(pid) for pid in workers))
    assert run(client_spec(port, short(total_bytes=1))).outcome == "completed"


def test_a_killed_parent_ends_the_engine_and_the_record_is_whole(port: int, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    asked = json.dumps({"client": endless(port, recording=str(record)).to_json()})
    program = f"""
        import subprocess, sys, time
        engine = subprocess.Popen([sys.executable, "-m", "tuiperf.engine"], cwd={str(ROOT)!r},
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        engine.stdin.write({asked!r}.encode() + b"\\n")
        engine.stdin.flush()
        while b'"kind":"stream_sample"' not in engine.stdout.readline():
            pass
        print(engine.pid, flush=True)
        time.sleep(60)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE
    )
    assert parent.stdout
    engine = int(parent.stdout.readline())
    children = Path(f"/proc/{engine}/task/{engine}/children").read_text(encoding="ascii")
    parent.kill()
    parent.communicate()
    family = [engine, *map(int, children.split())]
    assert len(family) == 3
    assert eventually(lambda: not any(is_running(pid) for pid in family))
    events = list(read(record))
    assert events[-1] == RunEnded(events[-1].t_s, "interrupted")
    assert any(isinstance(event, Results) for event in events)


# ---------------------------------------------------------------- a reader that does not read


MANY = short(time_s=2, parallel=32, rate_bps=1_000_000)  # far more events than a pipe holds


def test_a_reader_that_never_reads_does_not_hold_up_the_run(port: int, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    spec = client_spec(port, MANY, interval_s=0.5, recording=str(record))
    with EngineProcess.client(spec) as engine:
        assert engine.wait() == 0
    events = list(read(record))
    assert events[-1] == RunEnded(events[-1].t_s, "completed")
    begun = next(event for event in events if isinstance(event, TestStarted))
    ticks = {event.tick for event in events if isinstance(event, StreamSample)}
    assert ticks == set(range(1, max(ticks) + 1))
    assert max(ticks) > 15
    assert events[-1].t_s - begun.t_s < 10


def test_what_a_late_reader_missed_are_samples_and_gaps_in_the_numbers(
    port: int, tmp_path: Path
) -> None:
    record = tmp_path / "run.jsonl.gz"
    spec = client_spec(port, MANY, interval_s=0.5, recording=str(record))
    with EngineProcess.client(spec) as engine:
        time.sleep(1.8)
        done = engine.rest()
        assert engine.wait() == 0
    assert done.outcome == "completed"
    recorded = list(read(record))
    assert engine.numbers == sorted(engine.numbers)
    assert len(engine.numbers) < len(recorded) == engine.numbers[-1] + 1
    for number, event in zip(engine.numbers, engine.events, strict=True):
        assert recorded[number] == event
    missing = set(range(len(recorded))) - set(engine.numbers)
    assert {type(recorded[number]) for number in missing} == {StreamSample}


def test_a_reader_that_goes_away_does_not_end_the_run(port: int, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl.gz"
    with running(client_spec(port, short(time_s=1), recording=str(record))) as engine:
        assert engine.process.stdout
        engine.process.stdout.close()
        assert engine.wait() == 0
    assert list(read(record))[-1] == RunEnded(list(read(record))[-1].t_s, "completed")


def test_nothing_is_printed_beside_the_events(port: int) -> None:
    spec = json.dumps({"client": client_spec(port, short(total_bytes=1000)).to_json()})
    process = subprocess.Popen(
        [sys.executable, "-W", "default", "-X", "dev", "-m", "tuiperf.engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(spec + "\n")
    process.stdin.flush()
    lines = process.stdout.read().splitlines()
    assert all(json.loads(line)["v"] == 1 for line in lines)
    assert process.stderr.read() == ""
    process.communicate()
    assert process.returncode == 0
