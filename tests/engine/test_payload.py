"""The payload of TCP senders: lent where the socket takes pages, copied where it does not."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tuiperf.engine import payload
from tuiperf.engine.payload import UNIT_BYTES, Payload

WAYS = pytest.mark.parametrize("way", ["folder", "memory", "nothing", "copy"])


def made(monkeypatch: pytest.MonkeyPatch, way: str, block_bytes: int, repeating: bool) -> Payload:
    """A payload on a system that has this and no better."""

    def refuse() -> int:
        raise OSError

    if way != "folder":
        monkeypatch.setattr(payload, "_in_folder", refuse)
    if way == "nothing":
        monkeypatch.setattr(payload, "_in_memory", refuse)
    return Payload(block_bytes, repeating, lent_bytes=0 if way == "copy" else UNIT_BYTES)


def received(sent_by: Callable[[socket.socket], int]) -> bytes:
    near, far = socket.socketpair()
    with near, far:
        size = sent_by(near)
        data = b""
        while len(data) < size:
            data += far.recv(size)
    return data


@WAYS
@pytest.mark.parametrize("size", [1, 999, 4096, 30_000])
def test_what_is_sent_is_the_block_again_and_again(
    monkeypatch: pytest.MonkeyPatch, way: str, size: int
) -> None:
    source = made(monkeypatch, way, 1000, False)
    data = received(lambda near: source.writing(near.fileno(), size)())
    block = received(lambda near: source.writing(near.fileno(), 1000)())
    assert data == (block * (size // 1000 + 1))[:size]
    assert len(set(block)) > 100


@WAYS
def test_digits(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    source = made(monkeypatch, way, 200_000, True)
    data = received(lambda near: source.writing(near.fileno(), 64)())
    assert data == (b"0123456789" * 7)[:64]


def test_pages_are_lent_unless_copies_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lent: list[int] = []

    def lend(fd: int, file: int, at: int, size: int) -> int:
        lent.append(size)
        return size

    monkeypatch.setattr("os.sendfile", lend)
    Payload(1000).writing(1, 5000)()
    Payload(131072).writing(1, 1 << 20)()
    Payload(131072, lent_bytes=1 << 20).writing(1, 1 << 21)()
    assert lent == [5000, 131072, 1 << 20]
    received(lambda near: Payload(1000, lent_bytes=0).writing(near.fileno(), 5000)())
    assert len(lent) == 3


def test_where_pages_are_not_taken_bytes_are_copied(tmp_path: Path) -> None:
    """sendfile(2) refuses a file opened for appending (EINVAL), write(2) does not."""
    path = tmp_path / "out"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    source = Payload(10, repeating=True)
    write = source.writing(fd, 10)
    assert [write(), write(), source.writing(fd, 5)()] == [10, 10, 5]
    os.close(fd)
    assert path.read_bytes() == b"0123456789012345678901234"


def test_another_error_is_the_callers(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    far.close()
    with near, pytest.raises(BrokenPipeError):
        Payload(10).writing(near.fileno(), 10)()


def test_a_folder_that_is_not_there_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    source = Payload(10, repeating=True)
    assert received(lambda near: source.writing(near.fileno(), 10)()) == b"0123456789"
