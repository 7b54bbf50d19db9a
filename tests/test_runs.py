"""The list of past runs: what it says, and that it agrees with the whole recording."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests import made
from tuiperf import events as ev
from tuiperf import recording, runs
from tuiperf.recording import RecordingError


def kept(name: str, events: list[ev.Event], when_s: float) -> Path:
    folder = recording.directory()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{recording.SUFFIX}"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for number, event in enumerate(events):
            file.write(ev.to_line(event, number) + "\n")
    os.utime(path, (when_s, when_s))
    return path


def test_the_newest_comes_first_with_what_it_measured() -> None:
    kept("a", made.run(made.spec("lab-b", time_s=5, parallel=4)), 1000.0)
    kept("b", made.run(made.spec("lab-c", time_s=5, reverse=True)), 2000.0)
    second, first = runs.listing()
    assert (first.peer, first.test, first.way) == ("lab-b", "TCP ×4", "to")
    assert (second.peer, second.test, second.way) == ("lab-c", "TCP", "from")
    assert first.outcome == "completed"
    assert first.rate_bps is not None
    assert 800e6 < first.rate_bps < 941e6
    assert first.rtt_us is not None
    assert 11_800 < first.rtt_us < 50_000
    assert second.rtt_us is None
    assert first.spec == made.spec("lab-b", time_s=5, parallel=4)


def test_without_samples_the_totals_are_those_of_the_whole_recording() -> None:
    path = kept("a", made.run(made.spec(time_s=5)), 1000.0)
    from tuiperf.session import Direction, headline

    whole = headline(recording.replay_run(path), Direction.FORWARD)
    assert runs.glimpse(path).rate_bps == whole.goodput_bps
    assert runs.glimpse(path).retransmits == whole.retransmits


def test_what_cannot_be_read_is_left_out() -> None:
    kept("a", made.run(made.spec(time_s=2)), 1000.0)
    folder = recording.directory()
    (folder / f"bad{recording.SUFFIX}").write_bytes(b"\x1f\x8b nothing")
    (folder / f"empty{recording.SUFFIX}").write_bytes(b"")
    (folder / f"text{recording.SUFFIX}").write_text("{}\n[]\nno\n", encoding="utf-8")
    kept("tail", made.run(made.spec(time_s=2))[3:], 3000.0)
    assert [run.path.name for run in runs.listing()] == [f"a{recording.SUFFIX}"]
    with pytest.raises(RecordingError):
        runs.glimpse(folder / f"bad{recording.SUFFIX}")


def test_a_run_that_was_cut_off_is_listed_without_an_outcome() -> None:
    kept("a", made.part(made.spec(time_s=30), seconds=5.2), 1000.0)
    (run,) = runs.listing()
    assert run.outcome == ""
    assert run.rate_bps is not None


def test_no_folder_is_no_runs(tmp_path: Path) -> None:
    assert runs.listing(tmp_path / "nowhere") == []
    assert runs.listing() == []
