"""iperf3's error numbers and their words."""

from __future__ import annotations

import copy
import errno

import pytest

from tuiperf.engine.errors import ERRORS, EngineError, describe, os_words


def test_every_number_of_iperf3_has_one_line_of_words() -> None:
    expected = {*range(1, 41), *range(100, 149), *range(150, 161), *range(200, 209), 300, 301} - {
        19
    }
    assert set(ERRORS) == expected
    for entry in ERRORS.values():
        assert entry.text.isprintable()
        assert entry.text == entry.text.strip(" :")


@pytest.mark.parametrize(
    ("code", "number", "words"),
    [
        (121, 0, "the server is busy running a test. try again later"),
        (121, errno.EINVAL, "the server is busy running a test. try again later"),
        (123, errno.EINVAL, "unable to set TCP/SCTP MSS: Invalid argument"),
        (123, 0, "unable to set TCP/SCTP MSS"),
        (107, errno.EPIPE, "unable to write to the control socket: Broken pipe"),
        (19, 0, "unknown iperf3 error 19"),
        (4711, errno.EPIPE, "unknown iperf3 error 4711: Broken pipe"),
        (0, 0, "an error without a number"),
        (123, 99999, "unable to set TCP/SCTP MSS: errno 99999"),
        (123, -7, "unable to set TCP/SCTP MSS: errno -7"),
        (123, 2**70, f"unable to set TCP/SCTP MSS: errno {2**70}"),
    ],
)
def test_words_of_a_number(code: int, number: int, words: str) -> None:
    assert describe(code, number) == words
    error = EngineError.from_code(code, number)
    assert (error.code, error.errno, error.text, str(error)) == (code, number, words, words)


def test_no_errno_has_no_words() -> None:
    assert os_words(0) == ""


def test_a_hint_follows_in_brackets_and_counts_for_equality() -> None:
    error = EngineError(109, "closed", 0, "it crashed")
    assert str(error) == "closed (it crashed)"
    assert error == EngineError(109, "closed", hint="it crashed")
    assert error != EngineError(109, "closed")
    assert len({error, copy.copy(error)}) == 1
