"""Requests to stop: signals, commands, the end of the parent."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from tuiperf.engine import stops as stops_module
from tuiperf.engine.stops import AT_ONCE, GRACEFUL, Stops


@pytest.fixture(autouse=True)
def _every_signal_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops_module, "SAME_PRESS_S", 0.0)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (signal.SIGINT, "Interrupt(2)"),
        (signal.SIGTERM, "Terminated(15)"),
        (signal.SIGHUP, "Hangup(1)"),
    ],
)
def test_the_first_signal_ends_in_order_the_second_at_once(number: int, name: str) -> None:
    with Stops.from_signals() as stops:
        assert stops.poll() == 0
        signal.raise_signal(number)
        assert stops.poll() == GRACEFUL
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert stops.poll() == AT_ONCE
        assert stops.signal_name == name


def test_one_press_that_arrives_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stops_module, "SAME_PRESS_S", 60.0)
    with Stops() as stops:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        assert stops.poll() == GRACEFUL
        assert stops.signal_name == "Interrupt(2)"


def test_a_press_and_the_command_that_follows_from_it_are_one(pipe: tuple[int, int]) -> None:
    """A terminal signals the whole group; the app then says `stop` to its engine as well."""
    with Stops(command_fd=pipe[0]) as stops:
        signal.raise_signal(signal.SIGINT)
        os.write(pipe[1], b"stop\n")
        assert stops.poll() == GRACEFUL


def test_a_signal_makes_a_descriptor_readable_and_poll_drains_it() -> None:
    with Stops() as stops:
        signal.raise_signal(signal.SIGTERM)
        assert select.select(stops.fds, [], [], 5)[0]
        stops.poll()
        assert not select.select(stops.fds, [], [], 0)[0]


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Stops():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_without_signals_the_handlers_stay() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stops(catch_signals=False) as stops:
        assert signal.getsignal(signal.SIGINT) == before
        assert stops.fds == []
        assert stops.poll() == 0


@pytest.mark.parametrize(
    ("said", "level"),
    [
        (b"stop\n", GRACEFUL),
        (b"stop\nstop\n", GRACEFUL),
        (b"abort\n", AT_ONCE),
        (b" stop \nabort\n", AT_ONCE),
        (b"sto", 0),
        (b"halt\n\n", 0),
        (b"x" * 10_000 + b"\n", 0),
    ],
)
def test_commands(pipe: tuple[int, int], said: bytes, level: int) -> None:
    with Stops(command_fd=pipe[0], catch_signals=False) as stops:
        os.write(pipe[1], said)
        for _ in range(4):
            stops.poll()
        assert stops.level == level


def test_a_command_in_pieces(pipe: tuple[int, int]) -> None:
    with Stops(command_fd=pipe[0], catch_signals=False) as stops:
        os.write(pipe[1], b"ab")
        assert stops.poll() == 0
        os.write(pipe[1], b"ort\n")
        assert stops.poll() == AT_ONCE


def test_the_end_of_the_commands_is_the_end_of_the_parent(pipe: tuple[int, int]) -> None:
    with Stops(command_fd=pipe[0], catch_signals=False) as stops:
        assert stops.fds == [pipe[0]]
        os.close(pipe[1])
        assert stops.poll() == AT_ONCE
        assert stops.fds == []
        assert stops.poll() == AT_ONCE


def test_a_second_request_does_not_lower_the_first() -> None:
    stops = Stops(catch_signals=False)
    stops.request(AT_ONCE)
    stops.request(GRACEFUL)
    assert stops.poll() == AT_ONCE


def test_a_signal_ends_a_poll_that_waits() -> None:
    """The loop's poll() must return at once, not when its time is over."""
    program = """
        import select, sys
        from tuiperf.engine.stops import Stops
        with Stops() as stops:
            poll = select.poll()
            poll.register(stops.fds[0], select.POLLIN)
            print("ready", flush=True)
            assert poll.poll(60_000)
            print(stops.poll(), stops.signal_name)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == f"{GRACEFUL} Interrupt(2)\n"
