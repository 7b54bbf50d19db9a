"""The path's probes against real routers made of namespaces, and their bytes."""

from __future__ import annotations

import errno
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.spaces import Space, routed_path, spaces, wire
from tuiperf.evidence import hops, latency, path_mtu, ports, probing
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.ports import PortState

FAR = "10.2.0.2"


def test_round_trips_by_icmp_without_rights() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: latency.measure(FAR, Gaps(), probes=5, spacing_s=0.02))
    assert (found.method, found.sent, found.lost) == ("icmp", 5, 0)
    assert found.least_ms is not None
    assert found.median_ms is not None
    assert 0 < found.least_ms <= found.median_ms
    assert found.jitter_ms is not None


def test_round_trips_where_icmp_is_answered_by_nobody() -> None:
    with routed_path() as (here, _, far):
        far.set("net/ipv4/icmp_echo_ignore_all", "1")
        found = here.do(lambda: latency.measure(FAR, Gaps(), probes=4, spacing_s=0.02, wait_s=0.2))
    assert found.method == "tcp 5201"
    assert found.rtts_ms


def test_round_trips_by_udp() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: latency._by_udp(FAR, 0, 4, 0.02, 0.5))
    assert (found.method, found.lost) == ("udp", 0)


def test_nobody_answers() -> None:
    with routed_path() as (here, router, _):
        router.ip("route add blackhole 10.3.0.0/16")
        found = here.do(
            lambda: latency.measure("10.3.0.1", Gaps(), probes=2, spacing_s=0.01, wait_s=0.1)
        )
    assert found.rtts_ms == ()
    assert found.median_ms is None


def test_the_path_mtu_that_a_router_names() -> None:
    with routed_path(middle_mtu=1400) as (here, _, _):
        found = here.do(lambda: path_mtu.find(FAR, 1500, Gaps()))
    assert (found.mtu_bytes, found.named_by, found.black_hole) == (1400, "10.1.0.2", False)


def test_the_whole_path_carries_what_the_interface_sends() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: path_mtu.find(FAR, 1500, Gaps()))
    assert (found.mtu_bytes, found.named_by, found.black_hole) == (1500, "", False)


def test_a_black_hole() -> None:
    with routed_path() as (here, _, far):
        far.ip("link set b1 mtu 1400")  # a veth drops what its end cannot take, without a word
        found = here.do(lambda: path_mtu.find(FAR, 1500, Gaps(), wait_s=0.15, limit_s=6))
    assert found.black_hole
    assert found.mtu_bytes is not None
    assert 1400 <= found.mtu_bytes <= 1418, "the end lets a few bytes more through"
    assert found.fails_bytes is not None
    assert 0 < found.fails_bytes - found.mtu_bytes <= 8


class _Wire:
    """A path of a given MTU that loses the packets whose numbers are named, for the search."""

    method = "icmp"

    def __init__(self, mtu: int, lost: Sequence[int] = ()) -> None:
        self.mtu, self.lost, self.sent = mtu, set(lost), 0

    def try_size(self, size: int, wait_s: float) -> path_mtu._Answer:
        for packets in (1, 2):
            arrived = False
            for _ in range(packets):
                self.sent += 1
                arrived = arrived or (size <= self.mtu and self.sent not in self.lost)
            if arrived:
                return path_mtu._Answer(True)
        return path_mtu._Answer(False)


def searched(wire: _Wire, limit_s: float = 60.0) -> path_mtu.PathMtu:
    until_s = time.monotonic() + limit_s
    return path_mtu._search(cast(path_mtu._Probe, wire), 1500, 576, 0.0, until_s)


@pytest.mark.parametrize("lost", [(1,), (2,), (2, 3), (3, 4), (1, 4, 5), (2, 5)])
def test_single_losses_are_no_black_hole(lost: tuple[int, ...]) -> None:
    found = searched(_Wire(1500, lost))
    assert (found.mtu_bytes, found.black_hole, found.fails_bytes) == (1500, False, None)


@pytest.mark.parametrize("mtu", [1499, 1492, 1420, 1419, 1400, 1280, 900, 576])
def test_every_mtu_of_a_black_hole_is_found(mtu: int) -> None:
    found = searched(_Wire(mtu))
    assert found.black_hole
    assert found.settled
    assert found.mtu_bytes is not None
    assert found.mtu_bytes <= mtu < (found.fails_bytes or 0) <= found.mtu_bytes + 8


def test_a_search_without_time_says_only_what_passed() -> None:
    found = searched(_Wire(1400), limit_s=0.0)
    assert (found.mtu_bytes, found.settled, found.black_hole) == (576, False, False)


def test_a_black_hole_for_pings_alone_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pings = path_mtu.PathMtu(1000, 1500, black_hole=True, fails_bytes=1001)
    monkeypatch.setattr(path_mtu, "_search", lambda *rest: pings)
    with routed_path() as (here, _, _):
        found = here.do(lambda: path_mtu.find(FAR, 1500, Gaps(), wait_s=0.3))
    assert (found.mtu_bytes, found.black_hole) == (None, False)
    assert found.error == "pings of 1001 bytes are refused, other packets pass"


def test_the_path_mtu_without_icmp_sockets() -> None:
    with routed_path(middle_mtu=1400) as (here, _, _):
        found = here.do(lambda: _unprivileged(lambda: path_mtu.find(FAR, 1500, Gaps())))
    assert (found.mtu_bytes, found.method) == (1400, "udp")


def _unprivileged(work: Callable[[], path_mtu.PathMtu]) -> path_mtu.PathMtu:
    """As on systems that allow no ICMP sockets."""
    original = probing.echo_socket

    def refuse(address: str) -> tuple[socket.socket, bool]:
        raise PermissionError(errno.EACCES, "Permission denied")

    probing.echo_socket = refuse
    try:
        return work()
    finally:
        probing.echo_socket = original


def test_the_hops() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: hops.trace(FAR))
    assert [hop.address for hop in found.hops] == ["10.1.0.2", FAR]
    assert found.reached
    assert found.hops[1].is_target


def test_the_hops_end_where_a_router_refuses() -> None:
    with routed_path() as (here, _, _):
        found = here.do(lambda: hops.trace("10.9.0.1", wait_s=0.3))
    (hop,) = found.hops
    assert (hop.address, hop.refusal) == ("10.1.0.2", "network is unreachable")
    assert not found.reached


def test_the_hops_of_ipv6() -> None:
    with spaces(2) as (here, there):
        wire(here, there, "2001:db8::1/64", "2001:db8::2/64")
        found = here.do(lambda: hops.trace("2001:db8::2", wait_s=0.5))
        sizes = here.do(lambda: path_mtu.find("2001:db8::2", 1500, Gaps()))
    assert [hop.address for hop in found.hops] == ["2001:db8::2"]
    assert sizes.mtu_bytes == 1500


def test_silent_hops_keep_their_place() -> None:
    third = hops.Hop(3, "10.0.0.3", 1.0, is_target=True)
    found = hops.in_order({1: hops.Hop(1, "10.0.0.1", 0.5), 3: third}, 30)
    assert [(hop.distance, hop.address) for hop in found.hops] == [
        (1, "10.0.0.1"),
        (2, ""),
        (3, "10.0.0.3"),
    ]


@contextmanager
def serving(space: Space, answer: bytes | None, *, first: bytes = b"") -> Iterator[int]:
    """A server in a namespace that reads a cookie, then says `answer` (None: nothing)."""
    listener = space.do(lambda: socket.create_server(("0.0.0.0", 0)))
    done = threading.Event()

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            if first:
                link.sendall(first)
            else:
                link.recv(37)
            if answer is None:
                done.wait(5)
            elif answer:
                link.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        done.set()
        thread.join(5)
        listener.close()


@pytest.mark.parametrize(
    ("answer", "first", "iperf3", "busy", "words"),
    [
        (b"\x09", b"", True, False, "an iperf3 server"),
        (b"\xff", b"", True, True, "an iperf3 server, busy with another test"),
        (None, b"", False, False, "it is silent: iperf2, or no iperf3 server"),
        (b"", b"", False, False, "it closes at once: no iperf3 server"),
        (
            b"",
            b"SSH-2.0-x\x1b[31m\n",
            False,
            False,
            "an SSH server: it says 'SSH-2.0-x\x1b[31m'",
        ),
        (b"", b"hello\n", False, False, "no iperf3 server: it says 'hello'"),
    ],
)
def test_which_server_answers(
    answer: bytes | None, first: bytes, iperf3: bool, busy: bool, words: str
) -> None:
    with spaces(1) as (here,), serving(here, answer, first=first) as number:
        found = here.do(lambda: ports.look("127.0.0.1", number))
    assert (found.state, found.speaks_iperf3, found.busy) == (PortState.OPEN, iperf3, busy)
    assert found.server == words
    assert found.rtt_ms is not None


class _Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *rest: object) -> None:
        """Say nothing."""


def test_a_web_server_waits_for_a_whole_request() -> None:
    with spaces(1) as (here,):
        server = here.do(lambda: HTTPServer(("127.0.0.1", 0), _Quiet))
        thread = threading.Thread(target=server.handle_request, daemon=True)
        thread.start()
        found = here.do(lambda: ports.look("127.0.0.1", server.server_port, wait_s=0.3))
        thread.join(5)
        server.server_close()
    assert found.server.startswith("a web server: it says 'HTTP/1.")
    assert not found.speaks_iperf3


def test_refused_and_filtered_and_unreachable() -> None:
    with routed_path() as (here, router, _):
        refused = here.do(lambda: ports.look(FAR, 5201))
        router.ip("route add blackhole 10.3.0.0/16")
        filtered = here.do(lambda: ports.look("10.3.0.1", 5201, wait_s=0.2))
        unreachable = here.do(lambda: ports.look("10.9.0.1", 5201, wait_s=1))
    assert refused.state is PortState.REFUSED
    assert (filtered.state, filtered.detail) == (PortState.FILTERED, "no answer within 0.2 s")
    assert (unreachable.state, unreachable.detail) == (
        PortState.UNREACHABLE,
        "network is unreachable",
    )


def test_an_echo_and_its_checksum() -> None:
    request = probing.echo_request(socket.AF_INET, 0x1234, 7, 20)
    assert len(request) == 20
    assert request[:2] == b"\x08\x00"
    assert probing.checksum(request) == 0
    header = bytes([0x45]) + bytes(19)
    reply = b"\x00" + request[1:]
    assert probing.echo_reply(socket.AF_INET, header + reply) == (0x1234, 7)
    assert probing.echo_reply(socket.AF_INET, request) is None


def test_an_entry_of_the_error_queue() -> None:
    offender = struct.pack("=HH4s8x", socket.AF_INET, 0, bytes([10, 0, 0, 1]))
    data = struct.pack("=IBBBBII", errno.EMSGSIZE, 2, 3, 4, 0, 1400, 0) + offender
    found = probing.decode_error(data, port=33440)
    assert found is not None
    assert (found.error, found.mtu_bytes, found.offender) == (errno.EMSGSIZE, 1400, "10.0.0.1")
    assert not found.local


@given(st.binary(max_size=80), st.sampled_from([socket.AF_INET, socket.AF_INET6]))
def test_random_packets_never_raise(data: bytes, family: int) -> None:
    probing.decode_error(data)
    probing.echo_reply(family, data)
