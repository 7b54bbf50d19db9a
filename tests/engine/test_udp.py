"""UDP workers on loopback: exact counts, whatever this system can or cannot do."""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tuiperf.engine import counters as shared
from tuiperf.engine import mmsg, udp_receive, udp_send
from tuiperf.engine.counters import Counters, UdpCounts
from tuiperf.engine.udp import Worker
from tuiperf.engine.udp_header import ANSWER, REQUESTS
from tuiperf.engine.udp_plan import UDP_GRO, UDP_SEGMENT, Plan

PROMPT_S = 10.0
LARGE_BUFFER_BYTES = 4 << 20


def wait_until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PROMPT_S
    while not true():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.001)


def connected(family: int = socket.AF_INET) -> tuple[socket.socket, socket.socket]:
    """Two UDP sockets on loopback, connected to each other."""
    ends = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER_BYTES)
        end.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
    ends[0].connect(ends[1].getsockname())
    ends[1].connect(ends[0].getsockname())
    return ends


class End:
    """A worker, its socket and its counters."""

    def __init__(self, sock: socket.socket, plan: Plan) -> None:
        self.sock = sock
        self.counters = Counters(1)
        self.worker = Worker.start(sock, self.counters, 0, plan)

    @property
    def counts(self) -> UdpCounts:
        return self.counters.udp(0)

    def word(self, index: int) -> int:
        return self.counters.words[self.counters.base(0) + index]

    def finish(self) -> UdpCounts:
        self.counters.stop()
        self.worker.wake()
        assert self.worker.reap(PROMPT_S)
        return self.counts

    def close(self) -> None:
        self.counters.stop()
        self.worker.kill()
        assert self.worker.reap(PROMPT_S)
        self.sock.close()
        self.counters.close()


@pytest.fixture
def ends() -> Iterator[Callable[..., End]]:
    made: list[End] = []

    def make(sock: socket.socket, plan: Plan) -> End:
        made.append(End(sock, plan))
        return made[-1]

    yield make
    for end in made:
        end.close()


@pytest.fixture
def far() -> Iterator[Callable[[], tuple[socket.socket, socket.socket]]]:
    """A pair of which the far end is this test's own."""
    kept = []

    def make() -> tuple[socket.socket, socket.socket]:
        near, other = connected()
        other.settimeout(PROMPT_S)
        kept.append(other)
        return near, other

    yield make
    for sock in kept:
        sock.close()


def without_ctypes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(mmsg, "load", lambda: False)


def without_offload(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(udp_send, "UDP_SEGMENT", 9999)
    patch.setattr(udp_receive, "UDP_GRO", 9999)


def without_either(patch: pytest.MonkeyPatch) -> None:
    without_ctypes(patch)
    without_offload(patch)


def as_it_is(patch: pytest.MonkeyPatch) -> None:
    del patch


SYSTEMS = [as_it_is, without_ctypes, without_offload, without_either]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("size", [16, 17, 1001, 1400, 1448, 40_000, 65_507])
def test_all_that_is_sent_is_received_and_counted(
    ends: Callable[..., End],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    wide: bool,
    system: Callable[[pytest.MonkeyPatch], None],
) -> None:
    system(monkeypatch)
    near, other = connected()
    datagrams = 300 if size < 10_000 else 20
    plan = Plan(True, size, rate_bps=datagrams * size * 8 * 10, counters_64bit=wide)
    sender, receiver = ends(near, plan), ends(other, plan._replace(sends=False))
    sender.counters.limit_bytes = datagrams * size
    sender.counters.release()
    wait_until(lambda: sender.counters.sent_bytes(0) == datagrams * size)
    wait_until(lambda: receiver.counts.datagrams == datagrams)
    sent, received = sender.finish(), receiver.finish()
    assert (sent.packets, sent.bytes) == (datagrams, datagrams * size)
    assert (received.packets, received.bytes) == (datagrams, datagrams * size)
    assert received.errors == received.out_of_order == received.lost == received.duplicates == 0
    assert sender.word(shared.STATE) == receiver.word(shared.STATE) == shared.ENDED


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("system", SYSTEMS)
def test_without_a_rate(
    ends: Callable[..., End],
    monkeypatch: pytest.MonkeyPatch,
    family: int,
    system: Callable[[pytest.MonkeyPatch], None],
) -> None:
    system(monkeypatch)
    near, other = connected(family)
    plan = Plan(True, 1400)
    sender, receiver = ends(near, plan), ends(other, plan._replace(sends=False))
    sender.counters.limit_bytes = 1400 * 1000
    sender.counters.release()
    wait_until(sender.counters.limit_reached)
    sent = sender.finish()
    assert sent.packets == 1000
    wait_until(lambda: receiver.counts.packets > 900)
    time.sleep(0.05)
    found = receiver.finish()
    assert found.datagrams + found.lost == found.packets <= 1000
    assert found.datagrams * 1400 == found.bytes
    assert found.late == found.duplicates == 0


@pytest.mark.parametrize("size", [1400, 1001, 16])
@pytest.mark.parametrize("system", SYSTEMS)
def test_datagrams_on_the_wire(
    ends: Callable[..., End],
    far: Callable[[], tuple[socket.socket, socket.socket]],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    system: Callable[[pytest.MonkeyPatch], None],
) -> None:
    system(monkeypatch)
    near, other = far()
    sender = ends(near, Plan(True, size, repeating_payload=True))
    sender.counters.limit_bytes = 100 * size
    before_s = time.time()
    sender.counters.release()
    got = [other.recv(70_000) for _ in range(100)]
    after_s = time.time()
    assert {len(datagram) for datagram in got} == {size}
    heads = [struct.unpack_from(">III", datagram) for datagram in got]
    assert [number for _, _, number in heads] == list(range(1, 101))
    times = [seconds + us / 1e6 for seconds, us, _ in heads]
    assert before_s - 0.1 < times[0] <= times[-1] < after_s + 0.1
    assert times == sorted(times)
    assert all(each[12:] == (b"0123456789" * (size // 10 + 1))[12:size] for each in got)


def test_a_rate_and_even_spacing(ends: Callable[..., End]) -> None:
    near, other = connected()
    plan = Plan(True, 1250, rate_bps=20_000_000)
    sender, receiver = ends(near, plan), ends(other, plan._replace(sends=False))
    sender.counters.release()
    began_s = time.monotonic()
    time.sleep(0.5)
    sent, passed_s = sender.counts.packets, time.monotonic() - began_s
    assert sent == pytest.approx(2000 * passed_s, rel=0.2)
    sender.finish()
    receiver.finish()


def test_small_paths_get_no_segments_and_large_ones_do(
    far: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    near, _ = far()
    assert udp_send.largest_whole_bytes(near) == 65507
    assert udp_send.Ladder(near, Plan(True, 1400)).segments == 46
    assert udp_send.Ladder(near, Plan(True, 1400, offload=False)).segments == 1
    assert udp_send.Ladder(near, Plan(True, 40_000)).segments == 1
    near.close()


@pytest.mark.parametrize("number", [errno.EMSGSIZE, errno.EINVAL, errno.EIO])
def test_a_refused_segment_brings_the_next_simpler_way(
    far: Callable[[], tuple[socket.socket, socket.socket]], number: int
) -> None:
    near, other = far()
    ladder = udp_send.Ladder(near, Plan(True, 100))
    troubles = udp_send._Troubles(ladder)
    found = [ladder.segments]
    while ladder.segments > 1:
        troubles.heed(OSError(number, "refused"))
        found.append(ladder.segments)
    assert found == [128, 64, 1]
    assert ladder.outlet.send(1, 3, 0) == 3
    assert [len(other.recv(1000)) for _ in range(3)] == [100, 100, 100]
    with pytest.raises(OSError, match="refused"):
        troubles.heed(OSError(number, "refused"))
    near.close()


def test_no_room_is_counted_and_tried_again(
    far: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    near, _ = far()
    troubles = udp_send._Troubles(udp_send.Ladder(near, Plan(True, 100)))
    troubles.heed(OSError(errno.ENOBUFS, "no room"))
    troubles.heed(OSError(errno.EAGAIN, "later"))
    assert troubles.no_buffer == 1
    near.close()


def test_a_sender_whose_peer_is_gone_ends_with_the_reason(ends: Callable[..., End]) -> None:
    near, other = connected()
    sender = ends(near, Plan(True, 100, rate_bps=10**6))
    other.close()
    sender.counters.release()
    wait_until(lambda: sender.word(shared.STATE) == shared.FAILED)
    assert sender.word(shared.ERRNO) == errno.ECONNREFUSED


def head(number: int) -> bytes:
    return struct.pack(">III", 1, 2, number)


@pytest.mark.parametrize("system", SYSTEMS)
def test_only_whole_datagrams_count(
    ends: Callable[..., End],
    far: Callable[[], tuple[socket.socket, socket.socket]],
    monkeypatch: pytest.MonkeyPatch,
    system: Callable[[pytest.MonkeyPatch], None],
) -> None:
    system(monkeypatch)
    near, other = far()
    receiver = ends(near, Plan(False, 100))
    pieces = [b"", b"x", *REQUESTS, b"elevenbytes", head(1) + bytes(88), head(2), head(3)[:11]]
    for piece in [*pieces, head(3) + bytes(88)]:
        other.send(piece)
    wait_until(lambda: receiver.counts.packets == 3)
    assert receiver.counts.datagrams == 3
    assert receiver.counts.bytes == 100 + 12 + 100
    assert [other.recv(100) for _ in REQUESTS] == [ANSWER] * 3
    assert receiver.counts.errors == 0


@pytest.mark.parametrize("system", [without_offload, without_either])
def test_too_long_datagrams_are_cut(
    ends: Callable[..., End],
    far: Callable[[], tuple[socket.socket, socket.socket]],
    monkeypatch: pytest.MonkeyPatch,
    system: Callable[[pytest.MonkeyPatch], None],
) -> None:
    system(monkeypatch)
    near, other = far()
    receiver = ends(near, Plan(False, 100))
    other.send(head(1) + bytes(300))
    wait_until(lambda: receiver.counts.datagrams == 1)
    assert receiver.counts.bytes == 100


def test_joined_datagrams_are_told_apart(
    ends: Callable[..., End], far: Callable[[], tuple[socket.socket, socket.socket]]
) -> None:
    near, other = far()
    receiver = ends(near, Plan(False, 100))
    wait_until(lambda: receiver.word(shared.SEGMENTS) > 0)
    other.setsockopt(17, UDP_SEGMENT, 100)
    runs = [range(1, 41), range(43, 44), range(44, 60)]
    for run in runs:
        other.send(b"".join(head(number) + bytes(88) for number in run))
    other.send(head(60) + bytes(88) + head(61) + bytes(20))
    wait_until(lambda: receiver.counts.packets == 61)
    assert receiver.counts.lost == receiver.counts.errors == 2
    assert receiver.counts.datagrams == 59
    assert receiver.counts.bytes == 58 * 100 + 32
    assert receiver.counts.messages == 4


def test_where_nothing_is_joined_only_heads_are_copied(
    far: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    near, other = far()
    intakes = udp_receive.Intakes(near, Plan(False, 100))
    near.setblocking(False)
    first = intakes.present
    now_ns, read = 10**9, 0
    for number in range(1, 600):
        other.send(head(number) + bytes(88))
        count = intakes.present.read(0)
        read += count
        intakes.review(count, now_ns)
    assert read == 599
    assert intakes.present is not first
    assert near.getsockopt(17, UDP_GRO) == 0
    intakes.review(1, now_ns + 2 * udp_receive.TRY_AGAIN_NS)
    assert intakes.present is first
    assert near.getsockopt(17, UDP_GRO) == 1
    near.close()


def test_a_queue_that_is_never_empty_is_read_the_better_way_as_well(
    far: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    near, other = far()
    intakes = udp_receive.Intakes(near, Plan(False, 100))
    near.setblocking(False)
    first = intakes.present
    waiting = read = 0
    for number in range(1, 20_000):
        other.send(head(number) + bytes(88))
        waiting += 1
        if waiting < 2 * udp_receive.JOINED_MESSAGES:
            continue
        count = intakes.present.read(0)
        assert not intakes.present.emptied or intakes.present is not first
        intakes.review(count, 10**9)
        waiting -= count
        read += count
        if intakes.present is not first:
            break
    assert intakes.present is not first
    assert read >= udp_receive.TRIAL_MESSAGES + 2 * udp_receive.JOINED_MESSAGES
    near.close()


def test_the_omitted_part_ends_for_jitter_alone(
    ends: Callable[..., End], far: Callable[[], tuple[socket.socket, socket.socket]]
) -> None:
    near, other = far()
    receiver = ends(near, Plan(False, 100))
    for number in (1, 2):
        other.send(struct.pack(">III", number * 1000, 0, number) + bytes(88))
        wait_until(lambda number=number: receiver.counts.packets == number)  # type: ignore[misc]
    assert receiver.counts.jitter_ns > 10**9
    receiver.counters.end_omitted()
    other.send(head(3) + bytes(88))
    wait_until(lambda: receiver.counts.packets == 3)
    assert receiver.counts.jitter_ns == 0


def test_nothing_counts_after_the_end(
    ends: Callable[..., End], far: Callable[[], tuple[socket.socket, socket.socket]]
) -> None:
    near, other = far()
    receiver = ends(near, Plan(False, 100))
    other.send(head(1) + bytes(88))
    wait_until(lambda: receiver.counts.packets == 1)
    receiver.counters.drain()
    other.send(head(2) + bytes(88))
    assert receiver.finish().packets == 1


def test_counts_are_read_whole() -> None:
    counters = Counters(1)
    base = counters.base(0)
    counters.words[base + shared.VERSION] = 1  # a worker that was killed while it wrote
    counters.words[base + shared.PACKETS] = 7
    assert counters.udp(0).packets == 7
    counters.close()


def test_messages_keep_their_parts(
    far: Callable[[], tuple[socket.socket, socket.socket]],
) -> None:
    near, other = far()
    assert mmsg.load()
    data: Any = bytearray(b"abcdefgh")
    messages = mmsg.Messages(
        [[mmsg.Part(data, 0, 2), mmsg.Part(data, 4, 1)], [mmsg.Part(data, 6, 2)]]
    )
    assert messages.send(near.fileno(), 2) == 2
    assert [other.recv(10), other.recv(10)] == [b"abe", b"gh"]
    assert messages.lengths.tolist() == [3, 2]
    messages.use_parts(0, 1)
    messages.resize_part(2, 1)
    assert messages.send(near.fileno(), 2) == 2
    assert [other.recv(10), other.recv(10)] == [b"ab", b"g"]
    near.shutdown(socket.SHUT_WR)
    with pytest.raises(BrokenPipeError):
        messages.send(near.fileno(), 2)
    near.close()
