"""-F: what a file holds arrives whole, in every way, and every reason why it cannot is told."""

from __future__ import annotations

import os
import resource
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.driving import OurServer, client_spec, run, short
from tuiperf.engine import disk_file
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import TestSpec
from tuiperf.events import FileMoved

CONTENT = os.urandom(3_000_001)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return path


@pytest.mark.parametrize("way", [{}, {"copy_payload": True}, {"rate_bps": 100_000_000}])
def test_a_file_arrives_whole_and_its_end_ends_the_test(
    source: Path, tmp_path: Path, way: dict[str, Any]
) -> None:
    target = tmp_path / "target"
    with OurServer(file=str(target)) as server:
        done = run(client_spec(server.port, short(time_s=60, **way), file=str(source)))
        there = server.run_of(done)
    assert done.outcome == "completed"
    assert target.read_bytes() == CONTENT
    assert done.local.streams[0].bytes == there.local.streams[0].bytes == len(CONTENT)
    moved = (done.one(FileMoved), there.one(FileMoved))
    assert [each.size_bytes for each in moved] == [len(CONTENT)] * 2
    assert [each.name for each in moved] == [str(source), str(target)]


def test_a_server_sends_its_file_in_reverse(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"what was there before")
    with OurServer(file=str(source)) as server:
        done = run(client_spec(server.port, short(reverse=True), file=str(target)))
    assert target.read_bytes() == CONTENT
    assert done.local.streams[0].bytes == done.remote.streams[0].bytes == len(CONTENT)


def test_each_of_several_streams_sends_the_whole_file(source: Path) -> None:
    with OurServer() as server:
        done = run(client_spec(server.port, short(time_s=60, parallel=3), file=str(source)))
    assert [row.bytes for row in done.remote.streams] == [len(CONTENT)] * 3


def test_streams_that_overwrite_each_other_in_a_file_are_told_of(tmp_path: Path) -> None:
    target = tmp_path / "target"
    test = short(reverse=True, parallel=2)
    with OurServer() as server:
        done = run(client_spec(server.port, test, file=str(target)))
        assert done.notes["file"].startswith("2 streams write to one file")
        assert target.stat().st_size < done.local.streams[0].bytes + done.local.streams[1].bytes
        assert "file" not in run(client_spec(server.port, test, file="/dev/null")).notes
        alone = run(client_spec(server.port, short(reverse=True), file=str(target)))
        assert "file" not in alone.notes


def test_an_empty_file_is_a_test_without_bytes(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with OurServer() as server:
        done = run(client_spec(server.port, short(time_s=60), file=str(empty)))
    assert done.outcome == "completed"
    assert done.local.streams[0].bytes == 0


def test_a_device_is_read_as_long_as_the_test_lasts() -> None:
    test = short(total_bytes=1_000_000, time_s=0)
    with OurServer() as server:
        done = run(client_spec(server.port, test, file="/dev/zero"))
    assert done.remote.streams[0].bytes == 1_000_000


@pytest.mark.parametrize(
    ("name", "test", "code", "words"),
    [
        ("absent", {}, 14, "No such file"),
        ("", {}, 14, "directory"),
        ("absent/x", {"reverse": True}, 14, "No such file"),
        ("", {"reverse": True}, 14, "directory"),
        ("source", {"bidir": True}, 14, "at once"),
        ("source", {"protocol": "udp", "block_bytes": 1000}, 34, "UDP"),
    ],
)
def test_what_cannot_be_is_said_before_the_server_hears_of_it(
    source: Path, name: str, test: dict[str, Any], code: int, words: str
) -> None:
    path = str(source.parent / name) if name else str(source.parent)
    done = run(client_spec(1, TestSpec(**test), file=path))
    assert done.failed_as == code
    assert words in done.failure.text


@pytest.mark.parametrize(
    ("test", "code"),
    [({"bidir": True}, 14), ({"protocol": "udp", "block_bytes": 1000}, 34)],
)
def test_a_server_with_a_file_refuses_what_it_cannot_do(
    source: Path, test: dict[str, Any], code: int
) -> None:
    with OurServer(file=str(source)) as server:
        refused = run(client_spec(server.port, TestSpec(**test)))
        assert (refused.failed_as, refused.failure.remote) == (code, True)
        served = run(client_spec(server.port, short(reverse=True)))
    assert served.local.streams[0].bytes == len(CONTENT)


def test_a_payload_that_is_only_partly_taken_goes_on_where_it_stopped(source: Path) -> None:
    for lend in (True, False):
        fd = disk_file.open_file(str(source), sends=True)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            got = _pumped(disk_file.FilePayload(fd, lend).writing(ours.fileno(), 1 << 20), theirs)
        os.close(fd)
        assert got == CONTENT


def _pumped(write: Callable[[], int], theirs: socket.socket) -> bytes:
    got, sent = b"", 0
    while True:
        try:
            sent += write()
        except BlockingIOError:
            got += theirs.recv(1 << 20)
        except EOFError:
            break
    while len(got) < sent:
        got += theirs.recv(1 << 20)
    return got


def test_a_full_disk_ends_the_test_with_its_reason() -> None:
    with OurServer() as server:
        ours = run(client_spec(server.port, short(reverse=True), file="/dev/full"))
    assert (ours.failed_as, ours.failure.remote) == (14, False)
    assert "/dev/full: No space left" in ours.failure.text
    with OurServer(file="/dev/full") as server:
        ours = run(client_spec(server.port, short(time_s=30)))
    assert (ours.failed_as, ours.failure.remote) == (14, True)


def test_a_file_that_the_system_lets_grow_no_more_ends_the_test(tmp_path: Path) -> None:
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    with OurServer() as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, usual[1]))
        try:
            done = run(client_spec(server.port, short(reverse=True), file=str(tmp_path / "x")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert done.failed_as == 14
    assert "unable to write to -F file" in done.failure.text
    assert "File too large" in done.failure.text


def test_a_pipe_whose_reader_goes_ends_the_test(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    watch = threading.Timer(0.5, os.close, [reader])
    with OurServer() as server:
        watch.start()
        done = run(client_spec(server.port, short(reverse=True, time_s=30), file=str(pipe)))
    watch.join()
    assert done.failed_as == 14
    assert "Broken pipe" in done.failure.text


def test_a_file_that_cannot_be_read_ends_the_test() -> None:
    file = "/proc/self/mem"  # its first page is nobody's
    with OurServer() as server:
        done = run(client_spec(server.port, short(time_s=30), file=file))
    assert (done.failed_as, done.failure.remote) == (14, False)
    assert "unable to read from -F file /proc/self/mem: Input/output error" in done.failure.text
    with OurServer(file=file) as server:
        done = run(client_spec(server.port, short(reverse=True, time_s=30)))
    assert (done.failed_as, done.failure.remote) == (14, True)


def test_a_file_too_small_for_a_wait_fails_all_the_same() -> None:
    with OurServer(file="/dev/full") as server:
        done = run(client_spec(server.port, short(total_bytes=1000)))
    assert (done.failed_as, done.failure.remote) == (14, True)


@pytest.mark.parametrize("late_s", [0.0, 0.7])
def test_a_pipe_is_waited_for_and_loses_nothing(tmp_path: Path, late_s: float) -> None:
    pipe, target = tmp_path / "pipe", tmp_path / "target"
    os.mkfifo(pipe)
    writer = threading.Timer(late_s, pipe.write_bytes, [CONTENT])
    with OurServer(file=str(target)) as server:
        writer.start()
        done = run(client_spec(server.port, short(time_s=20), file=str(pipe)))
        server.run_of(done)
    writer.join()
    assert done.outcome == "completed"
    assert target.read_bytes() == CONTENT


def test_a_silent_pipe_does_not_outlast_the_test(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with OurServer() as server:
        done = run(client_spec(server.port, short(), file=str(pipe)))
    assert done.outcome == "completed"
    assert done.local.streams[0].bytes == 0


def test_a_name_that_is_none_is_an_error() -> None:
    with pytest.raises(EngineError) as caught:
        disk_file.open_file("a\0b", sends=True)
    assert caught.value.code == 14
    assert str(caught.value).isprintable()
