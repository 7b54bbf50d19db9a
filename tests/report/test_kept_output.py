"""What a server keeps of its lines for a client that wants them: its test alone, not too much."""

from __future__ import annotations

from tuiperf import events as ev
from tuiperf.report.kept_output import KeptOutput

BEGUN = ev.RunStarted(0.0, "id", "server", "tool", "system", 0.0, {})
WANTED = ev.Agreed(0.0, {"get_server_output": 1})
LATER = ev.Note(0.0, "info", "x", "y")


def kept(*lines: list[str], most_bytes: int = 100, agreed: ev.Event = WANTED) -> str:
    output = KeptOutput(most_bytes)
    output.after(BEGUN, ["before"])
    output.after(agreed, ["Accepted"])
    for each in lines:
        output.after(LATER, each)
    return output.text


def test_from_the_agreement_on() -> None:
    assert kept(["one", "two"], ["three"]) == "Accepted\none\ntwo\nthree\n"


def test_nothing_for_a_client_that_does_not_ask() -> None:
    assert kept(["one"], agreed=ev.Agreed(0.0, {"tcp": True})) == ""


def test_the_last_lines_of_too_many() -> None:
    text = kept([f"line {number:03d}" for number in range(50)], most_bytes=30)
    assert text == "(48 lines before this are left out)\nline 047\nline 048\nline 049\n"


def test_each_test_begins_anew() -> None:
    output = KeptOutput()
    for name in ("one", "two"):
        output.after(BEGUN, [])
        output.after(WANTED, [name])
    assert output.text == "two\n"
