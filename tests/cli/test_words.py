"""A test's command line: what it says, and that it asks for the very same test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.cli.form import Form
from tuiperf.cli.options import parse
from tuiperf.cli.words import command_of, words_of
from tuiperf.engine.spec import ClientSpec

LINES = (
    ["lab-b"],
    ["lab-b:5300", "-t", "30", "-R", "-P", "4"],
    ["2001:db8::7", "-6", "-b", "500M/10", "-u", "-l", "1200"],
    ["[2001:db8::7]:5300"],
    ["x", "-B", "10.0.0.1%eth0", "-n", "1G", "-w", "256K", "-C", "bbr", "-S", "184"],
    ["x", "--bind-dev", "eth1", "-k", "100", "-O", "2", "-u", "--gsro", "-i", "0.5"],
    ["x", "--connect-timeout", "3000", "--rcv-timeout", "5000", "-R", "-Z"],
    ["x", "-b", "0", "-u"],
    ["x", "-t", "0", "--bidir", "-b", "1M"],
    ["x", "-T", "a 'b'"],
)


def spec_of(words: list[str]) -> ClientSpec:
    spec = parse(["run", *words]).client
    assert spec is not None
    return spec


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_words_and_form_ask_for_the_same_test(words: list[str]) -> None:
    spec = spec_of(words)
    assert spec_of(words_of(spec)) == spec
    read, problem = Form.of(spec).read()
    assert (read, problem) == (spec, "")


def test_only_what_is_not_usual_is_said() -> None:
    assert command_of(spec_of(["lab-b", "-t", "10", "-p", "5201"])) == "tuiperf run lab-b"
    assert command_of(spec_of(["lab-b", "-n", "1073741824"])) == "tuiperf run lab-b -n 1G"
    assert command_of(spec_of(["lab-b", "-T", "a b"])) == "tuiperf run lab-b -T 'a b'"


def test_the_form_is_typed_and_turned() -> None:
    form = Form.of(None)
    assert form.read() == (None, "Name the peer: a host that runs iperf3 -s or tuiperf -s.")
    form.type("lab-bb")
    form.erase()
    assert form.command() == "tuiperf run lab-b"
    form.go(1)
    form.turn(1)
    form.go(1)
    form.type("b")
    assert form.command() == "tuiperf run lab-b --bidir -u"
    form.go(1)
    form.type("99999999")
    spec, problem = form.read()
    assert spec is None
    assert "test duration" in problem
    form.erase(all_before=True)
    form.go(-4)
    form.type("-M '1400")
    assert form.read() == (None, "More options: no closing quotation")


@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_is_typed_gives_a_test_or_one_line(peer: str, more: str) -> None:
    form = Form.of(None)
    form.type(peer)
    form.go(-1)
    form.type(more)
    spec, problem = form.read()
    assert (spec is None) == bool(problem)
    assert "\n" not in form.command()
