"""The grammar: every option's right value, every error's number and words."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.cli import help as help_page
from tuiperf.cli.grammar import COMMANDS, OPTIONS
from tuiperf.cli.options import Invocation, UsageError, parse
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec

K, M, G = 1024, 1024**2, 1024**3

IPERF3_NAMES = """
-p --port -f --format -i --interval -I --pidfile -F --file --logfile --forceflush -V --verbose
-d --debug -v --version -h --help -A --affinity -B --bind --bind-dev -J --json --json-stream
--json-stream-full-output --timestamps --rcv-timeout --snd-timeout --cntl-ka -m --mptcp -4
--version4 -6 --version6 -s --server -D --daemon -1 --one-off --server-bitrate-limit
--server-max-duration --idle-timeout --rsa-private-key-path --authorized-users-path
--time-skew-threshold --use-pkcs1-padding -c --client -u --udp --sctp --nstreams -X --xbind
--connect-timeout -b --bitrate --bandwidth --pacing-timer --fq-rate -t --time -n --bytes -k
--blockcount -l --length --cport -P --parallel -R --reverse --bidir -w --window -C --congestion
--linux-congestion -M --set-mss -N --no-delay -Z --zerocopy --skip-rx-copy --dont-fragment
--repeating-payload --udp-counters-64bit --get-server-output --gsro -S --tos --dscp -L
--flowlabel -O --omit -T --title --extra-data --username --rsa-public-key-path
"""


def read(line: str) -> Invocation:
    return parse(line.split())


def client(line: str) -> ClientSpec:
    spec = read(line).client
    assert spec is not None
    return spec


def server(line: str) -> ServerSpec:
    spec = read(line).server
    assert spec is not None
    return spec


def refusal(line: str | list[str]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(line if isinstance(line, list) else line.split())
    assert "\n" not in caught.value.text
    return caught.value


def test_every_option_of_iperf3_is_known() -> None:
    ours = {name for option in OPTIONS for name in option.names}
    assert set(IPERF3_NAMES.split()) <= ours
    assert ours - set(IPERF3_NAMES.split()) == {
        "--plain",
        "--tui",
        "--ascii",
        "--copy",
        "--record",
        "--no-record",
    }


def test_no_name_is_given_twice() -> None:
    names = [name for option in OPTIONS for name in option.names]
    assert len(names) == len(set(names))


def test_the_defaults_are_those_of_the_specs() -> None:
    assert client("-c lab-b") == ClientSpec(host="lab-b")
    assert server("-s") == ServerSpec()


def test_defaults_named_in_the_help_are_the_true_ones() -> None:
    named = {each.name: each.default for each in OPTIONS if each.default and each.role != "server"}
    line = [word for name, value in named.items() for word in (name, value)]
    line = [*line, "--reverse"]  # --rcv-timeout is for a client that receives
    assert parse(["-c", "x", *line]).client == ClientSpec(host="x", test=TestSpec(reverse=True))


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("-t 30", "time_s", 30),
        ("-t 0", "time_s", 0),
        ("-t 86400", "time_s", 86400),
        ("-t22x", "time_s", 22),
        ("--time=5", "time_s", 5),
        ("-n 10M", "total_bytes", 10 * M),
        ("-n 1.5K", "total_bytes", 1536),
        ("-n 0", "total_bytes", 0),
        ("--bytes 2g", "total_bytes", 2 * G),
        ("-n 1T", "total_bytes", 1024 * G),
        ("-k 3k", "total_blocks", 3 * K),
        ("-O 2", "omit_s", 2),
        ("-R", "reverse", True),
        ("--rev", "reverse", True),
        ("--bidir", "bidir", True),
        ("-P4", "parallel", 4),
        ("--parallel=128", "parallel", 128),
        ("-b 10M", "rate_bps", 10_000_000),
        ("-b 1.5g", "rate_bps", 1_500_000_000),
        ("--bandwidth 10Mbit", "rate_bps", 10_000_000),
        ("-b 0", "rate_bps", 0),
        ("-b 1M/20", "burst_blocks", 20),
        ("--fq-rate 1G", "fq_rate_bps", 1_000_000_000),
        ("-l 1M", "block_bytes", M),
        ("-l 0", "block_bytes", 131072),
        ("-w 512M", "window_bytes", 512 * M),
        ("-w 0", "window_bytes", 0),
        ("-C cubic", "congestion", "cubic"),
        ("--linux-congestion reno", "congestion", "reno"),
        ("-M 1400", "mss_bytes", 1400),
        ("-N", "nodelay", True),
        ("-S 52", "tos", 52),
        ("-S 064", "tos", 52),
        ("-S 0x34", "tos", 52),
        ("--dscp 46", "tos", 184),
        ("--dscp EF", "tos", 184),
        ("--dscp af11", "tos", 40),
        ("--dscp af43", "tos", 152),
        ("--dscp cs7", "tos", 224),
        ("--dscp va", "tos", 0xB0),
        ("--dscp lowdelay", "tos", 0x10),
        ("-T title", "title", "title"),
        ("--extra-data x", "extra_data", "x"),
        ("--get-server-output", "get_server_output", True),
        ("--repeating-payload", "repeating_payload", True),
        ("--skip-rx-copy", "skip_rx_copy", True),
        ("-Z", "zerocopy", True),
        ("--copy", "copy_payload", True),
    ],
)
def test_settings_of_the_test(words: str, field: str, value: Any) -> None:
    assert getattr(client(f"-c x {words}").test, field) == value


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("-p 5300", "port", 5300),
        ("-4", "family", 4),
        ("--version6", "family", 6),
        ("-4 -6", "family", 6),
        ("-B 10.0.0.1", "bind_host", "10.0.0.1"),
        ("-B 10.0.0.1%eth1", "bind_device", "eth1"),
        ("-B fe80::1%eth1", "bind_host", "fe80::1%eth1"),
        ("-B fe80::1%eth1", "bind_device", ""),
        ("--bind-dev eth2", "bind_device", "eth2"),
        ("--cport 6000", "client_port", 6000),
        ("--connect-timeout 1k", "connect_timeout_ms", 1024),
        ("-i 0", "interval_s", 0),
        ("-i 0.1", "interval_s", 0.1),
        ("-i 60", "interval_s", 60),
        ("--rcv-timeout 500 -R", "rcv_timeout_ms", 500),
    ],
)
def test_settings_of_the_client(words: str, field: str, value: Any) -> None:
    assert getattr(client(f"-c x {words}"), field) == value


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("-p 5300", "port", 5300),
        ("-1", "one_off", True),
        ("-B ::1", "bind_host", "::1"),
        ("--bind-dev eth2", "bind_device", "eth2"),
        ("-6", "family", 6),
        ("-i 2", "interval_s", 2),
        ("--idle-timeout 60", "idle_timeout_s", 60),
        ("--server-max-duration 30", "max_duration_s", 30),
        ("--rcv-timeout 100", "rcv_timeout_ms", 100),
    ],
)
def test_settings_of_the_server(words: str, field: str, value: Any) -> None:
    assert getattr(server(f"-s {words}"), field) == value


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        ("-f M", "unit_format", "M"),
        ("-f kbits", "unit_format", "k"),
        ("-J", "json", True),
        ("--json", "json", True),
        ("-V", "verbose", True),
        ("-T up", "title", "up"),
        ("--timestamps", "timestamps", "%c "),
        ("--timestamps=%H:%M", "timestamps", "%H:%M"),
        ("--forceflush", "forceflush", True),
        ("--logfile f", "logfile", "f"),
        ("-I f", "pidfile", "f"),
        ("--plain", "surface", "plain"),
        ("--tui", "surface", "tui"),
        ("--ascii", "ascii", True),
        ("--record f.gz", "record", "f.gz"),
        ("--no-record", "record", "none"),
    ],
)
def test_settings_of_the_output(words: str, field: str, value: Any) -> None:
    assert getattr(read(f"-c x {words}").output, field) == value


def test_flags_may_be_joined_and_may_follow_other_words() -> None:
    found = parse(["lab-b", "-RJP4", "-t", "3"])
    assert found.command == "run"
    assert found.client == ClientSpec(
        host="lab-b", test=TestSpec(reverse=True, parallel=4, time_s=3)
    )
    assert found.output.json


def test_two_dashes_end_the_options() -> None:
    assert parse(["run", "--", "-odd-name"]).client == ClientSpec(host="-odd-name")


def test_a_shortened_name_of_iperf3_goes_before_our_own_longer_choice() -> None:
    assert client("-c x --no").test.nodelay
    assert read("-c x --no-r").output.record == "none"


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("lab-b", ("lab-b", 5201, "")),
        ("lab-b:5300", ("lab-b", 5300, "")),
        ("10.0.0.7", ("10.0.0.7", 5201, "")),
        ("10.0.0.7:80", ("10.0.0.7", 80, "")),
        ("lab-b%eth1", ("lab-b", 5201, "eth1")),
        ("2001:db8::7", ("2001:db8::7", 5201, "")),
        ("[2001:db8::7]", ("2001:db8::7", 5201, "")),
        ("[2001:db8::7]:5300", ("2001:db8::7", 5300, "")),
        ("2001:db8::7%eth1", ("2001:db8::7", 5201, "eth1")),
        ("fe80::1%eth0", ("fe80::1%eth0", 5201, "")),
        ("[fe80::1%eth0]:5300", ("fe80::1%eth0", 5300, "")),
        ("FEBF::1%eth0", ("FEBF::1%eth0", 5201, "")),
        ("::1", ("::1", 5201, "")),
        ("[::ffff:10.0.0.7]:9", ("::ffff:10.0.0.7", 9, "")),
    ],
)
def test_forms_of_host(host: str, wanted: tuple[str, int, str]) -> None:
    for line in (["-c", host], ["run", host], [host]):
        spec = parse(line).client
        assert spec is not None
        assert (spec.host, spec.port, spec.bind_device) == wanted


def test_the_same_port_may_be_named_twice() -> None:
    assert client("-c x:5300 -p 5300").port == 5300


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("-s -c x", 1, "cannot be both server and client"),
        ("", 2, "must either be a client (-c) or server (-s)"),
        ("-t 3", 2, "must either be a client (-c) or server (-s)"),
        ("run", 2, "run needs a HOST"),
        ("-c x -1", 3, "some option you are trying to set is server only: --one-off"),
        ("-c x --idle-timeout 5", 3, "server only"),
        ("x --server-max-duration 5", 3, "server only"),
        ("-s -t 3", 4, "some option you are trying to set is client only: --time"),
        ("-s -u", 4, "client only: --udp"),
        ("-s --record f", 4, "client only: --record"),
        ("-c x -t 86401", 5, "test duration valid values are 0 to 86400 seconds"),
        ("-c x -t -1", 5, "test duration"),
        ("-c x -t abc", 5, "test duration"),
        (f"-c x -t {'9' * 5000}", 5, "test duration"),
        ("-s --server-max-duration 90000", 5, "test duration"),
        ("-c x -P 0", 6, "invalid number of parallel streams (min = 1, max = 128)"),
        ("-c x -P 129", 6, "parallel streams"),
        ("-c x -l 1025K", 7, "block size too large (maximum = 1048576 bytes)"),
        ("-c x -w 513M", 8, "socket buffer size too large (maximum = 536870912 bytes)"),
        ("-c x -i 0.05", 9, "invalid report interval (min = 0.1, max = 60 seconds)"),
        ("-c x -i 61", 9, "report interval"),
        ("-c x -i -1", 9, "report interval"),
        ("-c x -i nan", 9, "report interval"),
        ("-c x -i 1e400", 9, "report interval"),
        ("-s -i 0.01", 9, "report interval"),
        ("-c x -M 32768", 10, "TCP MSS too large (maximum = 32767 bytes)"),
        ("-c x -O 601", 12, "bogus value for --omit (maximum = 600 seconds)"),
        ("-c x -b 1M/0", 15, "invalid burst count (maximum = 1000)"),
        ("-c x -b 1M/1001", 15, "invalid burst count"),
        ("-c x -b 1M/", 15, "invalid burst count"),
        ("-c x -t 5 -n 1M", 16, "only one test end condition (-t, -n, -k) may be specified"),
        ("-c x -t 0 -k 5", 16, "only one test end condition"),
        ("-c x -n 5 -k 5", 16, "only one test end condition"),
        ("-c x -S 256", 21, "bad TOS value (must be between 0 and 255 inclusive)"),
        ("-c x -S ef", 21, "bad TOS value"),
        ("-c x -S 09", 21, "bad TOS value"),
        ("-c x -f x", 24, "bad format specifier (valid formats are in the set [kmgtKMGT])"),
        ("-c x -R --bidir", 25, "cannot be both reverse and bidirectional"),
        ("-c x -p 0", 26, "port number must be between 1 and 65535 inclusive"),
        ("-s -p 65536", 26, "port number"),
        ("-c x --cport 0", 26, "port number"),
        ("-c x:0", 26, "port number"),
        ("-c x:ssh", 26, "'ssh' in 'x:ssh' is no port number"),
        ("-c x:5300 -p 5301", 26, "'x:5300' and -p 5301 name two ports"),
        ("-s --idle-timeout 0", 30, "idle timeout parameter is not positive"),
        ("-c x -R --rcv-timeout 99", 31, "receive timeout value is incorrect or not in range"),
        ("-c x --rcv-timeout 500", 32, "valid only in receiving mode"),
        ("-c x -n 3q", 38, "invalid unit value or suffix: '3q'"),
        ("-c x -n -5", 38, "'-5' is negative or too large"),
        ("-c x -b 1e30", 38, "too large"),
        ("-c x -b 1e400", 38, "too large"),
        ("-c x -w K", 38, "invalid unit value or suffix: 'K'"),
        ("-c x --fq-rate inf", 38, "invalid unit value"),
        ("-c x -n 0x10", 38, "invalid unit value"),
        ("-c x --dscp 64", 40, "bad DSCP value"),
        ("-c x --dscp af14", 40, "bad DSCP value"),
        ("--formt", 0, "unknown option '--formt'; did you mean '--format'?"),
        ("-c x --revers --qqq", 0, "unknown option '--qqq'"),
        ("-c x -q", 0, "unknown option '-q'"),
        ("-c x -RQ", 0, "unknown option '-Q'"),
        ("-c x --ti 3", 0, "option '--ti' is ambiguous: --time, --time-skew"),
        ("-c x -t", 0, "option '-t' needs a value: SECONDS"),
        ("-c x --time", 0, "option '--time' needs a value: SECONDS"),
        ("-c", 0, "option '-c' needs a value: HOST"),
        ("-c x --reverse=1", 0, "option '--reverse' takes no value"),
        ("-server", 0, "unknown option '-e'; did you mean '--server'?"),
        ("rnu x", 0, "unknown command 'rnu'; did you mean 'run'?"),
        ("--plain compare x", 0, "'compare' must be the first word: tuiperf compare"),
        ("-c x --file=", 14, "unable to open -F file: the name is empty"),
        ("-c x --congestion=", 134, "the name is empty"),
        ("-c x --xbind=", 139, "the name is empty"),
        ("-c x --logfile=", 17, "the name is empty"),
        ("-c x --pidfile=", 135, "the name is empty"),
        ("-c x --bind-dev=", 143, "the name is empty"),
        ("x 5201", 0, "a port is given as -p 5201"),
        ("run x y", 0, "'y' belongs to no option"),
        ("run x -s", 1, "'run' measures as a client"),
        ("replay", 0, "replay needs one FILE"),
        ("replay a b", 0, "replay needs one FILE"),
        ("x --tui -J", 0, "--tui and --json exclude each other"),
        ("x --tui --logfile f", 0, "--tui and --logfile exclude each other"),
        ("replay a -t 3", 0, "replay shows what was measured: --time does not go with it"),
        ("demo -p 5", 0, "demo runs its own server: --port does not go with it"),
        ("demo x y", 0, "'y' belongs to no option"),
        ("-c [::1", 0, "write [address]:port"),
        ("-c [::1]5201", 0, "write [address]:port"),
        ("-c [lab-b]:5201", 0, "'lab-b' in brackets is no IPv6 address"),
        ("-c 1:2:3", 0, "neither host:port nor an IPv6 address"),
        ("-c %eth0", 0, "names no host"),
        ("-c x%", 0, "names no host"),
        ("-c ::1 -4", 0, "'::1' is an IPv6 address, but -4 asks for IPv4 only"),
        ("-c x -B 10.0.0.1 -6", 0, "'10.0.0.1' is an IPv4 address"),
    ],
)
def test_errors(line: str, code: int, words: str) -> None:
    error = refusal(line)
    assert error.code == code
    assert words in error.text


@pytest.mark.parametrize("typed", ["--bogus", "--foo"])
def test_nothing_is_suggested_for_an_option_that_is_like_none(typed: str) -> None:
    assert refusal(f"-c x {typed}").text == f"unknown option '{typed}'"


def test_an_empty_host_is_an_error() -> None:
    assert "names no host" in refusal(["-c", ""]).text


@pytest.mark.parametrize(
    ("words", "rate_bps", "size"),
    [
        ("-u", 1_048_576, 0),
        ("-u -b 0", 0, 0),
        ("-b 10m -u -l 1400", 10_000_000, 1400),
        ("-u -l 0", 1_048_576, 0),
        ("-u -l 64K", None, None),
        ("-u -l 15", None, None),
        ("-u -l 65507", 1_048_576, 65507),
    ],
)
def test_udp(words: str, rate_bps: int | None, size: int | None) -> None:
    if rate_bps is None:
        assert refusal(f"-c x {words}").code == 20
        return
    test = parse(f"-c x {words}".split()).client.test  # type: ignore[union-attr]
    assert (test.protocol, test.rate_bps, test.block_bytes) == ("udp", rate_bps, size)


def test_udps_own_options() -> None:
    words = "-c x -u --udp-counters-64bit --dont-fragment --gsro -b 5M/10"
    test = parse(words.split()).client.test  # type: ignore[union-attr]
    assert test.udp_counters_64bit and test.dont_fragment and test.gso and test.gro
    assert (test.rate_bps, test.burst_blocks) == (5_000_000, 10)


def test_bytes_or_blocks_end_a_test_in_place_of_time() -> None:
    assert client("-c x -n 1M").test.time_s == 0
    assert client("-c x -k 10").test.time_s == 0
    assert client("-c x -n 0").test.time_s == 10
    assert client("-c x -n 0 -t 3").test.time_s == 3


def test_words_that_belong_to_nothing_are_noted_in_a_drop_in() -> None:
    assert read("-c x foo").notes == ("'foo' belongs to no option and is ignored",)


def test_settings_of_text_are_noted_beside_json() -> None:
    assert read("-c x -J -V").notes == ("--verbose has no effect on JSON output",)


def test_a_command_that_may_be_mistyped_is_noted() -> None:
    found = parse(["demoo"])
    assert found.command == "run"
    assert found.notes == ("'demoo' is taken for a HOST; the command is 'demo'",)
    assert parse(["run", "demoo"]).notes == ()
    assert parse(["lab-b"]).notes == ()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands(command: str) -> None:
    words = {"run": ["x"], "replay": ["f"]}.get(command, [])
    assert parse([command, *words]).command == command


def test_a_host_may_have_the_name_of_a_command() -> None:
    assert parse(["run", "demo"]).client == ClientSpec(host="demo")
    assert parse(["-c", "demo"]).client == ClientSpec(host="demo")


def test_run_may_name_its_host_as_iperf3_does() -> None:
    assert read("run -c lab-b -R").client == ClientSpec(host="lab-b", test=TestSpec(reverse=True))


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("--help", "help"),
        ("-h -s -c x", "help"),
        ("-s -c x -h", "help"),
        ("-v", "version"),
        ("-c x --version --foo", "version"),
    ],
)
def test_help_and_version_answer_before_anything_else(line: str, command: str) -> None:
    assert read(line) == Invocation(command)


WORDS = [name for option in OPTIONS for name in option.names]
VALUES = ["1", "-1", "0", "x", "10M", "1M/5", "::1", "[::1]:5", "a:1", "fe80::1%lo", "", "9" * 400]


@given(st.lists(st.one_of(st.sampled_from([*WORDS, *VALUES, *COMMANDS]), st.text(max_size=9))))
def test_any_words_give_an_invocation_or_one_line(words: list[str]) -> None:
    try:
        found = parse(words)
    except UsageError as error:
        assert error.text
        return
    if found.client is not None:
        found.client.check()
        assert ClientSpec.from_json(found.client.to_json()) == found.client
    if found.server is not None:
        assert ServerSpec.from_json(found.server.to_json()) == found.server


def test_the_help_fits_80_columns_and_names_every_option() -> None:
    page = help_page.page()
    assert max(len(line) for line in page.splitlines()) <= 80
    assert page.isascii()
    for option in OPTIONS:
        assert option.name in page


def test_every_example_of_the_help_parses() -> None:
    examples = help_page.page().partition("Examples\n")[2].splitlines()
    assert len(examples) >= 3
    for line in examples:
        words = shlex.split(line.strip().partition("  ")[0].partition(">")[0])
        assert parse(words[1:]).client is not None
