"""Recordings on disk: found, read, replayed, pruned; bad ones end in one clear line."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests import made
from tuiperf import recording
from tuiperf.engine.record import Record
from tuiperf.events import Note, RunEnded, StreamSample, to_line
from tuiperf.recording import RecordingError, default_path, read, read_run, replay, replay_run

EVENTS = made.run(made.spec(time_s=5), seconds=5)
TEXT = "".join(to_line(event, number) + "\n" for number, event in enumerate(EVENTS)).encode()


def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl.gz"
    record = Record(str(path))
    for event in EVENTS:
        record.write(event)
    record.close()
    return path


def inside(thing: Any) -> Any:
    """All that an object holds, for objects that do not compare themselves."""
    if isinstance(thing, dict):
        return {key: inside(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [inside(value) for value in thing]
    if callable(thing):
        return None
    names = vars(thing) if hasattr(thing, "__dict__") else {}
    return (type(thing), inside(names)) if names else thing


def test_what_was_recorded_is_read(tmp_path: Path) -> None:
    assert list(read(recorded(tmp_path))) == EVENTS


def test_a_replay_is_the_session_that_it_was(tmp_path: Path) -> None:
    assert inside(replay(recorded(tmp_path))) == inside(made.session_of(EVENTS))


def test_a_plain_file_reads_as_well(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(TEXT)
    assert list(read(path)) == EVENTS


@pytest.mark.parametrize("size", range(1, 100_000, 9_973))
def test_any_amount_of_text_comes_out_whole(tmp_path: Path, size: int) -> None:
    """The decompressor's output is taken in pieces; none of it may stay inside."""
    path = tmp_path / "run.jsonl.gz"
    whole = (TEXT * 3)[: 64 * 1024 + size]
    path.write_bytes(gzip.compress(whole))
    assert b"".join(recording._chunks(path)) == whole


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_recording_that_was_cut_off_gives_what_it_has(tmp_path: Path, share: float) -> None:
    path = recorded(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    found = list(read(path))
    assert found == EVENTS[: len(found)]
    assert found
    assert inside(replay(path)) == inside(made.session_of(found))


def test_a_cut_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(TEXT[:-5])
    assert list(read(path)) == EVENTS[:-1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no events"),
        (b"\n", "holds no run"),
        (b"no JSON at all\n", "line 1 is no event of a run: not JSON"),
        (TEXT[: TEXT.index(b"\n") + 1] + b"{}\n", "line 2 is no event of a run"),
        (b"\x1f\x8bnot really gzip", "not a recording, or a damaged one"),
        (gzip.compress(TEXT)[:10] + b"\xff" * 200, "not a recording, or a damaged one"),
        (b"\x7fELF" + b"\0\xff" * 3_000_000, "the line is too long"),
        (gzip.compress(b"0" * 50_000_000), "the line is too long"),
        (TEXT.split(b"\n", 1)[1], "holds no run"),
    ],
)
def test_what_is_no_recording_says_so_in_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(RecordingError) as raised:
        replay(path)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_run_whose_recording_was_cut_off_is_not_going_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    kept = len(EVENTS) // 2
    path.write_bytes(b"".join(TEXT.splitlines(keepends=True)[:kept]))
    *found, note, ended = read_run(path)
    assert found == EVENTS[:kept]
    at_s = EVENTS[kept - 1].t_s
    text = "the recording ends before the run does"
    assert note == Note(at_s, "warning", "recording", text)
    assert ended == RunEnded(at_s, "interrupted")
    assert replay_run(path).ended == ended


def test_a_whole_recording_is_the_run_as_it_was(tmp_path: Path) -> None:
    assert list(read_run(recorded(tmp_path))) == EVENTS


def test_a_file_that_does_not_begin_as_a_run_does_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    newer = TEXT.replace(b'"v": 1', b'"v": 99').replace(b'"v":1', b'"v":99')
    for data in (TEXT.split(b"\n", 1)[1], newer):
        path.write_bytes(data)
        with pytest.raises(RecordingError, match="holds no run, or one of a newer tuiperf"):
            next(read_run(path))


@pytest.mark.parametrize(
    "number", ["1e999", "NaN", "-1e300", "18446744073709551616", "-18446744073709551616", '"9"']
)
def test_numbers_that_nothing_can_measure_are_damage(tmp_path: Path, number: str) -> None:
    sample = next(event for event in EVENTS if isinstance(event, StreamSample) and event.tcp)
    line = re.sub(r'"rtt_us": ?\d+', f'"rtt_us":{number}', to_line(sample, 1))
    assert number in line
    path = tmp_path / "run.jsonl"
    path.write_bytes(TEXT[: TEXT.index(b"\n") + 1] + line.encode() + b"\n")
    with pytest.raises(RecordingError, match=r"line 2 is no event of a run: stream_sample.tcp.rtt"):
        list(read(path))


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(RecordingError, match=words):
            list(read(path))


def test_a_bad_checksum_is_not_the_readers_concern(tmp_path: Path) -> None:
    """The trailer tells nothing that the lines do not; a run that was killed has none."""
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(TEXT)[:-8])
    assert list(read(path)) == EVENTS


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "tuiperf" / "runs"


def test_the_default_path_lies_in_the_state_directory(state: Path) -> None:
    path = default_path("fe80::1%eth0/../../etc")
    assert path and path.parent == state == recording.directory()
    assert path.name.endswith(recording.SUFFIX)
    assert state.stat().st_mode & 0o777 == 0o700


def test_without_the_variable_it_is_under_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert recording.directory() == tmp_path / ".local" / "state" / "tuiperf" / "runs"


def test_no_place_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_path("host") is None


def test_old_recordings_go_when_there_are_too_many(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "KEEP_FILES", 3)
    state.mkdir(parents=True)
    for age in range(6):
        path = state / f"{age}{recording.SUFFIX}"
        path.write_bytes(b"x")
        os.utime(path, (1e9 - age, 1e9 - age))
    other = state / "notes.txt"
    other.write_text("not ours")
    assert default_path("host")
    assert sorted(path.name for path in state.iterdir()) == [
        f"0{recording.SUFFIX}",
        f"1{recording.SUFFIX}",
        "notes.txt",
    ]


def test_old_recordings_go_when_they_take_too_much(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "KEEP_BYTES", 250)
    state.mkdir(parents=True)
    for age in range(4):
        path = state / f"{age}{recording.SUFFIX}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (1e9 - age, 1e9 - age))
    assert default_path("host")
    assert sorted(path.name[0] for path in state.iterdir()) == ["0", "1"]


def test_a_recording_is_gzip_for_other_tools(tmp_path: Path) -> None:
    data = recorded(tmp_path).read_bytes()
    assert gzip.decompress(data) == TEXT
    assert zlib.decompress(data, 16 + zlib.MAX_WBITS) == TEXT
