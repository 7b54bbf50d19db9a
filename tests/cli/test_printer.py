"""Output that may fail: closed pipes, full disks, log files."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from tuiperf.cli.options import UsageError
from tuiperf.cli.printer import GONE_CODE, Printer


def test_lines_go_to_stdout_and_problems_to_stderr() -> None:
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(out, err)
    printer.lines(["one", "two"])
    printer.complain("error - three")
    assert out.getvalue() == "one\ntwo\n"
    assert err.getvalue() == "tuiperf: error - three\n"
    assert printer.code(0) == 0


def test_closed_streams_are_no_error() -> None:
    printer = Printer(None, None)
    printer.lines(["one"])
    printer.complain("two")
    assert not printer.gone


def test_a_reader_that_left_ends_the_output_quietly() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    err = io.StringIO()
    with os.fdopen(write_end, "w") as pipe:
        printer = Printer(pipe, err)
        printer.lines(["one"])
        assert printer.gone
        printer.lines(["two"])
    assert printer.code(0) == GONE_CODE
    assert err.getvalue() == ""


def test_a_full_disk_is_told_and_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as full:
        printer = Printer(full, io.StringIO())
        printer.lines(["one"])
        assert printer.gone
    assert printer.code(0) == 1
    assert capsys.readouterr().err == "tuiperf: error - cannot write: No space left on device\n"


def test_a_log_file_takes_all_and_is_appended_to(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for word in ("one", "two"):
        with Printer.open(str(log)) as printer:
            printer.lines([word])
            printer.complain(word)
    assert log.read_text() == "one\ntuiperf: one\ntwo\ntuiperf: two\n"


def test_a_log_file_that_cannot_be_written_is_error_17(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Printer.open(str(tmp_path / "missing" / "log"))
    assert caught.value.code == 17
    assert caught.value.text == "unable to open log file: No such file or directory"


def test_text_that_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    printer = Printer(io.TextIOWrapper(raw, encoding="ascii"), None)
    printer.lines(["here → lab-b \udc80"])
    assert raw.getvalue() == b"here \\u2192 lab-b \\udc80\n"
