"""The payload of TCP senders: lent where the socket takes pages, copied where it does not."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tuiperf.engine import payload
from tuiperf.engine.payload import Payload

WAYS = pytest.mark.parametrize(
    ("lend", "on_disk"), [(True, False), (True, True), (False, False)], ids=str
)


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
def test_what_is_sent_is_the_block_again_and_again(lend: bool, on_disk: bool, size: int) -> None:
    source = Payload(1000, repeating=False, lend=lend, on_disk=on_disk)
    data = received(lambda near: source.writing(near.fileno(), size)())
    block = received(lambda near: source.writing(near.fileno(), 1000)())
    assert data == (block * (size // 1000 + 1))[:size]
    assert len(set(block)) > 100


@WAYS
def test_digits(lend: bool, on_disk: bool) -> None:
    source = Payload(200_000, repeating=True, lend=lend, on_disk=on_disk)
    data = received(lambda near: source.writing(near.fileno(), 64)())
    assert data == (b"0123456789" * 7)[:64]


def test_pages_are_lent_unless_copies_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    lent: list[int] = []

    def lend(fd: int, file: int, at: int, size: int) -> int:
        lent.append(size)
        return size

    monkeypatch.setattr("os.sendfile", lend)
    Payload(1000).writing(1, 5000)()
    assert lent == [5000]
    received(lambda near: Payload(1000, lend=False).writing(near.fileno(), 5000)())
    assert lent == [5000]


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


@pytest.mark.parametrize("on_disk", [True, False])
def test_no_file_to_be_had(monkeypatch: pytest.MonkeyPatch, on_disk: bool) -> None:
    def refuse() -> int:
        raise OSError

    monkeypatch.setattr(payload, "_in_memory", refuse)
    monkeypatch.setattr(payload, "_on_disk", refuse)
    source = Payload(10, repeating=True, on_disk=on_disk)
    assert (
        received(lambda near: source.writing(near.fileno(), 25)()) == b"0123456789" * 2 + b"01234"
    )


def test_a_folder_that_is_not_there_leaves_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    source = Payload(10, repeating=True, on_disk=True)
    assert received(lambda near: source.writing(near.fileno(), 10)()) == b"0123456789"
