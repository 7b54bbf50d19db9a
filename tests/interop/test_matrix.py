"""Every option between our engine and Debian's iperf3, in both roles, on loopback.

Each test asserts that bytes went the way that was asked for, that both ends report the same
figures, and that the option had its effect where it can be seen.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.engine.driving import OurServer, Run, carried, client_spec, run
from tests.interop.iperf3 import free_port, iperf3_client, iperf3_server
from tuiperf.engine.spec import TestSpec
from tuiperf.events import Agreed, Connected, Interval, Results, ServerOutput, StreamOpened

Document = dict[str, Any]
SOME_BYTES = 3_000_000
SOME = ("-n", str(SOME_BYTES))
SECOND = ("-t", "1")


class Case(NamedTuple):
    """One test, as our engine is asked for it and as iperf3 is."""

    name: str
    ours: dict[str, Any]
    theirs: tuple[str, ...]


def some(name: str, theirs: str = "", **ours: Any) -> Case:
    """A test by bytes: over in a moment."""
    ours.setdefault("congestion", "cubic")
    words = (*theirs.split(), "-C", str(ours["congestion"]))
    return Case(name, {"time_s": 0, "total_bytes": SOME_BYTES, **ours}, (*SOME, *words))


def second(name: str, theirs: str = "", **ours: Any) -> Case:
    """A test by time: the shortest there is."""
    return Case(
        name,
        {"time_s": 1, "congestion": "cubic", **ours},
        (*SECOND, "-C", "cubic", *theirs.split()),
    )


WAYS = (
    second("-t"),
    second("-R", "-R", reverse=True),
    second("--bidir", "--bidir", bidir=True),
    second("-P 4", "-P 4", parallel=4),
    second("-P 4 -R", "-P 4 -R", parallel=4, reverse=True),
    second("-P 2 --bidir", "-P 2 --bidir", parallel=2, bidir=True),
    second("-P 128", "-P 128", parallel=128),
    second("-P 128 -R", "-P 128 -R", parallel=128, reverse=True),
)


@pytest.fixture(scope="module")
def our_server() -> Iterator[OurServer]:
    """Ours for both families, with short intervals."""
    with OurServer(bind_host="", interval_s=0.5) as server:
        yield server


def to_stock(case: Case, *server_options: str, **settings: Any) -> tuple[Run, Document]:
    """Our client, a stock server: the run and the server's document."""
    with iperf3_server("-1", "-J", *server_options) as server:
        done = run(client_spec(server.port, TestSpec(**case.ours), **settings))
        document = server.document()
    assert done.outcome == "completed"
    assert "error" not in document
    return done, document


def from_stock(
    server: OurServer, case: Case, *options: str, host: str = "127.0.0.1"
) -> tuple[Document, Run]:
    """A stock client, our server: the client's document and the run."""
    client = iperf3_client(server.port, *case.theirs, *options, host=host)
    assert client.error == ""
    assert client.errors == ""
    cookie = client.document["start"]["cookie"]
    done = server.next_run()
    while done.one(Connected).cookie != cookie:
        done = server.next_run()
    assert done.outcome == "completed"
    return client.document, done


def counted(results: Results, streams: set[int]) -> int:
    return sum(count for stream, count in carried(results).items() if stream in streams)


def split(done: Run) -> tuple[set[int], set[int]]:
    """The streams that our end sends, and those it receives."""
    opened = done.all(StreamOpened)
    sends = {one.stream for one in opened if one.sends}
    return sends, {one.stream for one in opened} - sends


def check_ways(done: Run, case: Case, *, client: bool) -> None:
    """As many streams each way as asked for, bytes went each way, intervals add up, and no
    receiver has more than its sender; but the two ends do not leave out the same bytes with -O."""
    sends, receives = split(done)
    each, ours = case.ours.get("parallel", 1), case.ours
    forward = 0 if ours.get("reverse") else each
    backward = each if ours.get("reverse") or ours.get("bidir") else 0
    assert (len(sends), len(receives)) == ((forward, backward) if client else (backward, forward))
    local, remote = carried(done.local), carried(done.remote)
    assert local.keys() == remote.keys() == sends | receives
    for stream in sends | receives:
        sent, received = (local, remote) if stream in sends else (remote, local)
        assert ours.get("omit_s") or received[stream] <= sent[stream]
    for streams in (sends, receives):
        assert not streams or counted(done.local, streams) > 0
    totals = dict.fromkeys(local, 0)
    for interval in done.measured:
        for row in interval.streams:
            totals[row.stream] += row.bytes
    assert totals == local


def check_stock_server(done: Run, document: Document) -> None:
    """What the server's document says of its own side is what it told us."""
    sends, receives = split(done)
    end = document["end"]
    if sends:
        assert end["sum_received"]["bytes"] == counted(done.remote, sends)
    if receives:
        key = "sum_sent_bidir_reverse" if sends else "sum_sent"
        assert end[key]["bytes"] == counted(done.remote, receives)


def check_stock_client(document: Document, done: Run) -> None:
    """The client's document holds both ends' figures, its own and those we told it."""
    sends, receives = split(done)
    end = document["end"]
    if receives:
        assert end["sum_sent"]["bytes"] == counted(done.remote, receives)
        assert end["sum_received"]["bytes"] == counted(done.local, receives)
    if sends:
        tail = "_bidir_reverse" if receives else ""
        assert end["sum_sent" + tail]["bytes"] == counted(done.local, sends)
        assert end["sum_received" + tail]["bytes"] == counted(done.remote, sends)
        told = sum(row.retransmits or 0 for row in done.local.streams if row.stream in sends)
        assert end["sum_sent" + tail]["retransmits"] == told


# ---------------------------------------------------------------- which way, how many, how long


@pytest.mark.parametrize("case", WAYS, ids=lambda case: case.name)
def test_ways_to_a_stock_server(case: Case) -> None:
    done, document = to_stock(case)
    check_ways(done, case, client=True)
    check_stock_server(done, document)


@pytest.mark.parametrize("case", WAYS, ids=lambda case: case.name)
def test_ways_from_a_stock_client(our_server: OurServer, case: Case) -> None:
    document, done = from_stock(our_server, case)
    check_ways(done, case, client=False)
    check_stock_client(document, done)


LIMITS = (
    some("-n"),
    some("-n -P 3", "-P 3", parallel=3),
    some("-n -R", "-R", reverse=True),
    Case("-k", {"time_s": 0, "total_blocks": 50, "congestion": "cubic"}, ("-k", "50")),
    Case(
        "-k -l",
        {"time_s": 0, "total_blocks": 50, "block_bytes": 5000, "congestion": "cubic"},
        ("-k", "50", "-l", "5000"),
    ),
    Case("-n below a block", {"time_s": 0, "total_bytes": 1000}, ("-n", "1000")),
)


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case.name)
def test_limits_to_a_stock_server(case: Case) -> None:
    done, document = to_stock(case)
    check_ways(done, case, client=True)
    check_stock_server(done, document)
    spec = TestSpec(**case.ours)
    total = sum(carried(done.local).values())
    if spec.reverse:  # 3.12 sends whole blocks
        assert spec.limit_bytes <= total < spec.limit_bytes + spec.block_bytes
    else:
        assert total == spec.limit_bytes == sum(carried(done.remote).values())
    assert document["start"]["test_start"]["bytes"] == spec.total_bytes
    assert document["start"]["test_start"]["blocks"] == spec.total_blocks
    assert document["start"]["test_start"]["blksize"] == spec.block_bytes


@pytest.mark.parametrize("case", LIMITS, ids=lambda case: case.name)
def test_limits_from_a_stock_client(our_server: OurServer, case: Case) -> None:
    document, done = from_stock(our_server, case)
    check_ways(done, case, client=False)
    check_stock_client(document, done)
    spec = TestSpec(**case.ours)
    total = sum(carried(done.local).values())
    assert total >= spec.limit_bytes
    if spec.reverse:  # our own sender meets it exactly
        assert total == spec.limit_bytes
    else:
        assert total < spec.limit_bytes + 10 * spec.parallel * spec.block_bytes


@pytest.mark.parametrize("reverse", [False, True])
def test_omit_to_a_stock_server(reverse: bool) -> None:
    case = second("-O", omit_s=1, rate_bps=40_000_000, reverse=reverse)
    done, document = to_stock(case, interval_s=0.5)
    check_ways(done, case, client=True)
    check_stock_server(done, document)
    assert [interval.omitted for interval in done.all(Interval)] == [True, True, False, False]
    for results in (done.local, done.remote):
        assert carried(results)[1] == pytest.approx(5_000_000, rel=0.2)
    assert document["start"]["test_start"]["omit"] == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_omit_from_a_stock_client(our_server: OurServer, reverse: bool) -> None:
    words = "-O 1 -b 40M -R" if reverse else "-O 1 -b 40M"
    case = second("-O", words, omit_s=1, rate_bps=40_000_000, reverse=reverse)
    document, done = from_stock(our_server, case)
    check_ways(done, case, client=False)
    check_stock_client(document, done)
    assert [interval.omitted for interval in done.all(Interval)] == [True, True, False, False]
    for results in (done.local, done.remote):
        assert carried(results)[1] == pytest.approx(5_000_000, rel=0.2)


@pytest.mark.parametrize(("interval_s", "count"), [(0.0, 1), (0.25, 4), (0.5, 2)])
def test_report_intervals(interval_s: float, count: int) -> None:
    done, _ = to_stock(second("-i"), interval_s=interval_s)
    assert len(done.all(Interval)) == count


@pytest.mark.parametrize("interval", ["0", "0.5"])
def test_report_intervals_of_a_stock_client(our_server: OurServer, interval: str) -> None:
    document, done = from_stock(our_server, second("-i", f"-i {interval}"))
    check_stock_client(document, done)


# ---------------------------------------------------------------- what shapes a connection


@pytest.mark.parametrize("direction", [{}, {"reverse": True}, {"bidir": True}], ids=str)
@pytest.mark.parametrize("congestion", ["cubic", "reno"])
def test_congestion_control_is_used_at_both_ends(
    our_server: OurServer, congestion: str, direction: dict[str, bool]
) -> None:
    words = {"reverse": "-R", "bidir": "--bidir"}
    case = some("-C", " ".join(words[key] for key in direction), congestion=congestion, **direction)
    done, _ = to_stock(case)
    assert done.local.congestion == done.remote.congestion == congestion
    assert done.option("congestion").effective == congestion
    document, done = from_stock(our_server, case)
    assert done.local.congestion == done.remote.congestion == congestion
    assert document["end"]["sender_tcp_congestion"] == congestion
    assert document["end"]["receiver_tcp_congestion"] == congestion


def test_segment_size(our_server: OurServer) -> None:
    for direction, word in (({}, ""), ({"reverse": True}, " -R")):
        case = some("-M", "-M 1000" + word, mss_bytes=1000, **direction)
        done, document = to_stock(case)
        assert document["start"]["tcp_mss"] == 1000
        assert 900 < int(done.option("mss").effective or 0) <= 1000
        document, done = from_stock(our_server, case)
        assert document["start"]["tcp_mss"] == 1000
        assert 900 < int(done.option("mss").effective or 0) <= 1000


def test_window(our_server: OurServer) -> None:
    """The system doubles what was asked for; both ends set it."""
    for direction, word in (({}, ""), ({"reverse": True}, " -R")):
        case = some("-w", "-w 100K" + word, window_bytes=102_400, **direction)
        done, document = to_stock(case)
        assert document["start"]["sock_bufsize"] == 102_400
        assert document["start"]["rcvbuf_actual"] == document["start"]["sndbuf_actual"] == 204_800
        for name in ("send_buffer", "receive_buffer"):
            assert (done.option(name).asked, done.option(name).granted) == (102_400, 204_800)
        document, done = from_stock(our_server, case)
        assert document["start"]["sock_bufsize"] == 102_400
        for name in ("send_buffer", "receive_buffer"):
            assert (done.option(name).asked, done.option(name).granted) == (102_400, 204_800)


def test_no_delay(our_server: OurServer) -> None:
    for nodelay, words in ((False, ""), (True, "-N")):
        case = some("-N", words, nodelay=nodelay)
        done, _ = to_stock(case)
        assert done.option("nodelay").effective == int(nodelay)
        _, done = from_stock(our_server, case)
        assert done.option("nodelay").effective == int(nodelay)


def test_type_of_service(our_server: OurServer) -> None:
    case = some("-S", "-S 16", tos=16)
    done, document = to_stock(case)
    assert done.option("tos").effective == 16
    assert document["start"]["test_start"]["tos"] == 16
    _, done = from_stock(our_server, case)
    assert done.option("tos").effective == 16


@pytest.mark.parametrize("direction", ["", "-R"])
@pytest.mark.parametrize("burst", [0, 5])
def test_rate(our_server: OurServer, direction: str, burst: int) -> None:
    words = f"-b 24M{f'/{burst}' if burst else ''} -l 20000 {direction}"
    case = second(
        "-b",
        words,
        rate_bps=24_000_000,
        burst_blocks=burst,
        block_bytes=20_000,
        reverse=bool(direction),
    )
    done, document = to_stock(case)
    assert document["start"]["test_start"]["target_bitrate"] == 24_000_000
    for results in (done.local, done.remote):
        assert carried(results)[1] == pytest.approx(3_000_000, rel=0.2)
    document, done = from_stock(our_server, case)
    assert done.one(Agreed).parameters.get("burst", 0) == burst
    for results in (done.local, done.remote):
        assert carried(results)[1] == pytest.approx(3_000_000, rel=0.2)


def test_kernel_pacing(our_server: OurServer) -> None:
    case = second("--fq-rate", "--fq-rate 24M", fq_rate_bps=24_000_000)
    done, _ = to_stock(case)
    assert done.option("max_pacing_rate").effective == 24_000_000
    # What waits in the send buffer when the test ends has left the sender but not this host.
    assert carried(done.remote)[1] == pytest.approx(3_000_000, rel=0.3)
    reverse = second("--fq-rate -R", "--fq-rate 24M -R", fq_rate_bps=24_000_000, reverse=True)
    _, done = from_stock(our_server, reverse)
    assert done.option("max_pacing_rate").effective == 24_000_000


@pytest.mark.parametrize(
    "extra",
    [
        {"zerocopy": True},
        {"copy_payload": True},
        {"repeating_payload": True},
        {"skip_rx_copy": True, "reverse": True},
        {"title": 'a "title" \x1b[31m', "extra_data": "ü"},
    ],
    ids=str,
)
def test_options_a_stock_server_may_not_know(extra: dict[str, Any]) -> None:
    case = some("extra", **extra)
    done, document = to_stock(case)
    check_ways(done, case, client=True)
    check_stock_server(done, document)


@pytest.mark.parametrize("words", ["-Z", "--repeating-payload", "-T title --extra-data more"])
def test_options_of_a_stock_client(our_server: OurServer, words: str) -> None:
    case = some("extra", words)
    document, done = from_stock(our_server, case)
    check_ways(done, case, client=False)
    check_stock_client(document, done)


def test_the_servers_own_output() -> None:
    case = some("--get-server-output", get_server_output=True)
    done, _ = to_stock(case)
    output = done.one(ServerOutput)
    assert output.document
    assert output.document["start"]["version"] == "iperf 3.12"


# ---------------------------------------------------------------- addresses and ports


@pytest.mark.parametrize(("family", "host"), [(4, "127.0.0.1"), (6, "::1"), (4, "localhost")])
def test_families_to_a_stock_server(family: int, host: str) -> None:
    done, document = to_stock(some("-4 -6"), family=family, host=host)
    remote = done.one(Connected).remote_host
    assert (":" in remote) == (family == 6)
    assert document["start"]["accepted_connection"]["host"] == done.one(Connected).local_host


@pytest.mark.parametrize(("word", "host"), [("-4", "127.0.0.1"), ("-6", "::1")])
def test_families_from_a_stock_client(our_server: OurServer, word: str, host: str) -> None:
    document, done = from_stock(our_server, some(word, word), host=host)
    assert done.one(Connected).remote_host == host
    assert done.one(StreamOpened).local_host == host
    check_stock_client(document, done)


def test_a_name_without_the_family() -> None:
    with iperf3_server("-1") as server:
        failed = run(client_spec(server.port, host="127.0.0.1", family=6))
    assert failed.failure.code == 103


def test_bind_address(our_server: OurServer) -> None:
    done, document = to_stock(some("-B"), bind_host="127.0.0.2")
    assert done.one(Connected).local_host == done.one(StreamOpened).local_host == "127.0.0.2"
    assert document["start"]["accepted_connection"]["host"] == "127.0.0.2"
    _, done = from_stock(our_server, some("-B", "-B 127.0.0.2"))
    assert done.one(Connected).remote_host == done.one(StreamOpened).remote_host == "127.0.0.2"


def free_row(count: int) -> int:
    """The first of several free ports in a row."""
    while True:
        first = free_port()
        socks = [socket.socket() for _ in range(count)]
        try:
            for offset, sock in enumerate(socks):
                sock.bind(("127.0.0.1", first + offset))
        except (OSError, OverflowError):
            continue
        finally:
            for sock in socks:
                sock.close()
        return first


def test_client_ports(our_server: OurServer) -> None:
    first = free_row(4)
    case = some("--cport", f"--cport {first} -P 2 --bidir", parallel=2, bidir=True)
    done, _ = to_stock(case, client_port=first)
    assert [opened.local_port for opened in done.all(StreamOpened)] == list(range(first, first + 4))
    first = free_row(4)
    case = some("--cport", f"--cport {first} -P 2 --bidir")
    _, done = from_stock(our_server, case)
    ports = [opened.remote_port for opened in done.all(StreamOpened)]
    assert ports == list(range(first, first + 4))


def test_connect_timeout(our_server: OurServer) -> None:
    done, _ = to_stock(some("--connect-timeout"), connect_timeout_ms=5000)
    assert done.outcome == "completed"
    from_stock(our_server, some("--connect-timeout", "--connect-timeout 5000"))


# ---------------------------------------------------------------- a server among other tests


def test_a_stock_server_takes_one_test_after_the_other() -> None:
    with iperf3_server() as server:
        for case in (some("1"), some("2", reverse=True), some("3", parallel=3)):
            assert run(client_spec(server.port, TestSpec(**case.ours))).outcome == "completed"


def test_a_stock_client_that_finds_our_server_busy(our_server: OurServer) -> None:
    spec = client_spec(our_server.port, TestSpec(time_s=0, congestion="cubic"))
    errors: list[str] = []

    def watch(event: object, stops: Any) -> None:
        if type(event).__name__ == "StreamSample" and not errors:
            errors.append(iperf3_client(our_server.port, *SOME).error)
            stops.request(1)

    assert run(spec, watch).outcome == "interrupted"
    assert "busy" in errors[0]


def test_parameters_that_our_server_refuses_reach_a_stock_client(our_server: OurServer) -> None:
    client = iperf3_client(our_server.port, "--sctp", "-t", "1")
    assert "no SCTP support available" in client.error
