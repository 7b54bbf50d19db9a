"""Options that iperf3 has for files, cores, connections and its output: values and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tuiperf.cli.options import UsageError, parse
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec


def client(words: str) -> ClientSpec:
    spec = parse(f"-c host {words}".split()).client
    assert spec is not None
    return spec


def server(words: str) -> ServerSpec:
    spec = parse(f"-s {words}".split()).server
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("-F name", {"file": "name"}),
        ("--file=name", {"file": "name"}),
        ("-A 1", {"core": 1}),
        ("--snd-timeout 0", {"snd_timeout_ms": 0}),
        ("--snd-timeout 86400000", {"snd_timeout_ms": 86_400_000}),
        ("--cntl-ka", {"keepalive_idle_s": 0}),
        ("--cntl-ka=10", {"keepalive_idle_s": 10}),
        ("--cntl-ka=/5", {"keepalive_idle_s": 0, "keepalive_interval_s": 5}),
        ("--cntl-ka=//3", {"keepalive_interval_s": 0, "keepalive_count": 3}),
        (
            "--cntl-ka=31/10/3",
            {"keepalive_idle_s": 31, "keepalive_interval_s": 10, "keepalive_count": 3},
        ),
    ],
)
def test_both_ends_have_them(words: str, settings: dict[str, Any]) -> None:
    for spec in (client(words), server(words)):
        assert {name: getattr(spec, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("words", "settings", "sent"),
    [
        ("-A 1,0", {"server_core": 0}, {"server_affinity": 0}),
        ("-A 0,3", {"server_core": 3}, {"server_affinity": 3}),
        ("-L 0xbeef", {"flow_label": 0xBEEF}, {"flowlabel": 0xBEEF}),
        ("--flowlabel 017", {"flow_label": 15}, {"flowlabel": 15}),
        ("--pacing-timer 2K", {"pacing_timer_us": 2048}, {"pacing_timer": 2048}),
        ("-m", {"mptcp": True}, {"mptcp": True}),
    ],
)
def test_some_travel_in_the_parameters(
    words: str, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    test = client(words).test
    assert {name: getattr(test, name) for name in settings} == settings
    parameters = test.to_parameters("tool")
    assert {key: parameters[key] for key in sent} == sent
    read = TestSpec.from_parameters(parameters)
    assert {name: getattr(read, name) for name in settings} == settings


def test_without_them_the_wire_is_as_before() -> None:
    parameters = client("").test.to_parameters("tool")
    assert parameters["pacing_timer"] == 1000
    assert not {"server_affinity", "flowlabel", "mptcp"} & set(parameters)
    assert "pacing_timer" not in client("--pacing-timer 0").test.to_parameters("tool")


def test_a_server_may_listen_by_mptcp() -> None:
    assert server("-m").mptcp
    assert not server("").mptcp


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("-c h -u -F name", 34),
        ("-c h --bidir -F name", 14),
        ("-c h -A -1", 132),
        ("-c h -A 1025", 132),
        ("-c h -A x", 132),
        ("-c h -A 1,x", 132),
        ("-c h -A ,1", 132),
        ("-s -A 0,1", 4),
        ("-c h -L 0", 127),
        ("-c h -L 0x100000", 127),
        ("-c h -L red", 127),
        ("-s -L 1", 4),
        ("-s --pacing-timer 1", 4),
        ("-c h --pacing-timer -1", 38),
        ("-c h --snd-timeout -1", 33),
        ("-c h --snd-timeout 86400001", 33),
        ("-c h --cntl-ka=30/10/3", 36),
        ("-c h --cntl-ka=x", 36),
        ("-c h --cntl-ka=1/2/3/4/5/6", 36),
        ("-s --cntl-ka=40000", 156),
    ],
)
def test_what_iperf3_refuses_has_its_number(line: str, code: int) -> None:
    with pytest.raises(UsageError) as caught:
        parse(line.split())
    assert caught.value.code == code
    assert caught.value.text.isprintable()


@pytest.mark.parametrize(
    ("words", "debug"),
    [("", 0), ("-d", 4), ("-d1", 1), ("--debug=2", 2), ("--debug=9", 4), ("-dx", 4)],
)
def test_levels_of_debugging(words: str, debug: int) -> None:
    assert parse(f"-c host {words}".split()).output.debug == debug


def test_a_stream_of_json_is_json() -> None:
    stream = parse(["-s", "--json-stream"]).output
    assert (stream.json, stream.stream, stream.full) == (True, True, False)
    full = parse(["-c", "h", "--json-stream-full-output"]).output
    assert (full.json, full.stream, full.full) == (True, True, True)
    notes = parse(["-c", "h", "--json-stream", "-d"]).notes
    assert notes == ("--debug has no effect on JSON output",)


def test_the_screen_does_not_show_debugging_and_says_so() -> None:
    assert parse(["host", "-d"]).notes == ("--debug shows only with -c or -s",)
    assert parse(["-c", "host", "-d"]).notes == ()


def test_sctp_and_what_belongs_to_it() -> None:
    spec = client("--sctp --nstreams 2K -X 127.0.0.1 --xbind 127.0.0.2")
    assert (spec.test.protocol, spec.test.block_bytes) == ("sctp", 65536)
    assert (spec.sctp_streams, spec.sctp_addresses) == (2048, "127.0.0.1,127.0.0.2")
    assert client("--sctp -l 1000").test.block_bytes == 1000
    with pytest.raises(UsageError) as caught:
        client("--sctp --nstreams 1M")
    assert caught.value.code == 138
