"""Workers on loopback: exact counts, prompt ends, nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tuiperf.engine import counters as shared
from tuiperf.engine import sockets
from tuiperf.engine.counters import Counters
from tuiperf.engine.errors import EngineError
from tuiperf.engine.sockets import TcpOptions
from tuiperf.engine.tcp import Plan, Worker, _lent_bytes, _WakeUps

PROMPT_S = 10.0  # a worker that needs this long hangs

Pair = tuple[socket.socket, socket.socket]


def connected(count: int = 1, window_bytes: int = 0) -> list[Pair]:
    """Connected loopback sockets, cubic at both ends: (connecting end, accepting end)."""
    options = TcpOptions(congestion="cubic", window_bytes=window_bytes)
    with socket.socket() as listener:
        sockets.apply_options(listener, options)
        listener.bind(("127.0.0.1", 0))
        listener.listen(count)
        address = sockets.resolve(*listener.getsockname())
        pairs = []
        for _ in range(count):
            pairs.append((sockets.connect(address, options=options), listener.accept()[0]))
    return pairs


class End:
    """One end of a test: its counters and its workers."""

    def __init__(self, socks: list[socket.socket], plan: Plan) -> None:
        self.socks = socks
        self.closed = False
        self.counters = Counters(len(socks))
        self.workers = [
            Worker.start(sock, self.counters, slot, plan) for slot, sock in enumerate(socks)
        ]

    def finish(self) -> None:
        """End all workers as a test does: phase, wake, reap."""
        self.counters.stop()
        for worker in self.workers:
            worker.wake()
        for worker in self.workers:
            assert worker.reap(PROMPT_S)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.counters.stop()
        for worker in self.workers:
            worker.kill()
            assert worker.reap(PROMPT_S)
        for sock in self.socks:
            sock.close()
        self.counters.close()


Ends = Callable[..., tuple[End, End]]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Make a sending and a receiving end with workers, taken down after the test."""
    made: list[End] = []

    def make(plan: Plan, count: int = 1, reverse: bool = False) -> tuple[End, End]:
        pairs = connected(count)
        sending, receiving = (1, 0) if reverse else (0, 1)
        made.append(End([pair[sending] for pair in pairs], plan))
        made.append(End([pair[receiving] for pair in pairs], plan._replace(sends=False)))
        return made[-2], made[-1]

    yield make
    for end in made:
        end.close()


def wait_until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PROMPT_S
    while not true():
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.001)


def read_to_end(sock: socket.socket) -> bytes:
    sock.setblocking(True)
    chunks = []
    while chunk := sock.recv(1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


class TestCounts:
    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("count", [1, 2, 5])
    @pytest.mark.parametrize(
        ("limit", "block"),
        [
            (1, 131072),
            (1000, 131072),
            (5_000_003, 131072),
            (3_000_000, 1000),
            (7, 1),
            (4 << 20, 1 << 20),
        ],
    )
    def test_a_limit_is_met_exactly(
        self, ends: Ends, limit: int, block: int, count: int, reverse: bool
    ) -> None:
        sender, receiver = ends(Plan(sends=True, block_bytes=block), count, reverse)
        sender.counters.limit_bytes = limit
        assert sender.counters.total_sent_bytes() == 0
        sender.counters.release()
        wait_until(sender.counters.limit_reached)
        sender.finish()
        assert sender.counters.total_sent_bytes() == limit
        for worker in receiver.workers:
            assert worker.reap(PROMPT_S)
        assert receiver.counters.total_received_bytes() == limit
        for slot in range(count):
            assert receiver.counters.bytes(slot) == sender.counters.bytes(slot)
            assert receiver.counters.state(slot) == shared.PEER_CLOSED

    def test_a_limit_raised_while_its_sender_waits(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True))
        sender.counters.limit_bytes = 300_000
        sender.counters.release()
        wait_until(lambda: sender.counters.state(0) == shared.AT_LIMIT)
        assert sender.counters.sent_bytes(0) == 300_000
        sender.counters.limit_bytes = 700_000
        wait_until(lambda: receiver.counters.received_bytes(0) == 700_000)
        sender.finish()
        assert sender.counters.sent_bytes(0) == 700_000

    @pytest.mark.parametrize("copy", [False, True], ids=["lent", "copied"])
    @pytest.mark.parametrize("count", [1, 4])
    @pytest.mark.parametrize("block", [100, 131072, 1 << 20])
    def test_both_ends_agree_after_a_stop(
        self, ends: Ends, block: int, count: int, copy: bool
    ) -> None:
        sender, receiver = ends(Plan(sends=True, block_bytes=block, copy=copy), count)
        sender.counters.release()
        wait_until(lambda: all(sender.counters.blocks(slot) > 20 for slot in range(count)))
        sender.finish()
        for worker in receiver.workers:
            assert worker.reap(PROMPT_S)
        for slot in range(count):
            sent = sender.counters.sent_bytes(slot)
            assert receiver.counters.received_bytes(slot) == sent > 0
            assert sender.counters.blocks(slot) == sent // block
            assert sender.counters.state(slot) == shared.ENDED

    def test_bytes_that_are_not_copied_count_as_well(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True, skip_rx_copy=True))
        sender.counters.limit_bytes = 10_000_000
        sender.counters.release()
        wait_until(sender.counters.limit_reached)
        sender.finish()
        assert receiver.workers[0].reap(PROMPT_S)
        assert receiver.counters.received_bytes(0) == 10_000_000

    def test_what_is_read_after_the_drain_does_not_count(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True))
        sender.counters.release()
        wait_until(lambda: receiver.counters.received_bytes(0) > 0)
        receiver.counters.drain()
        counted = receiver.counters.received_bytes(0)
        wait_until(lambda: receiver.counters.drained_bytes(0) > 1_000_000)
        assert receiver.counters.received_bytes(0) == counted == receiver.counters.bytes(0)
        assert receiver.counters.total_received_bytes() == counted
        sender.finish()
        assert receiver.workers[0].reap(PROMPT_S)
        read = counted + receiver.counters.drained_bytes(0)
        assert read == sender.counters.sent_bytes(0)

    @pytest.mark.parametrize("block", [3, 16, 1000, 200_000])
    def test_payload_of_digits(self, block: int) -> None:
        ((near, far),) = connected()
        end = End([near], Plan(sends=True, block_bytes=block, repeating_payload=True))
        end.counters.limit_bytes = 4 * block
        end.counters.release()
        wait_until(end.counters.limit_reached)
        end.finish()
        received = read_to_end(far)
        end.close()
        far.close()
        assert received == (b"0123456789" * (block // 10 + 1))[:block] * 4

    def test_random_payload_repeats_its_block(self) -> None:
        ((near, far),) = connected()
        end = End([near], Plan(sends=True, block_bytes=500))
        end.counters.limit_bytes = 2000
        end.counters.release()
        wait_until(end.counters.limit_reached)
        end.finish()
        received = read_to_end(far)
        end.close()
        far.close()
        assert received == received[:500] * 4
        assert len(set(received)) > 100


class TestEnds:
    def test_senders_wait_for_their_release(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True), 2)
        time.sleep(0.1)
        assert sender.counters.total_sent_bytes() == 0
        sender.counters.release()
        wait_until(lambda: all(receiver.counters.received_bytes(slot) for slot in (0, 1)))

    def test_a_stop_before_the_release(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True), 3)
        sender.finish()
        assert sender.counters.total_sent_bytes() == 0
        receiver.finish()
        assert receiver.counters.total_received_bytes() == 0

    def test_a_peer_that_never_reads(self) -> None:
        ((near, far),) = connected(window_bytes=65536)
        end = End([near], Plan(sends=True))
        end.counters.release()
        wait_until(lambda: end.counters.sent_bytes(0) > 0)
        last = -1
        while last != end.counters.sent_bytes(0):
            last = end.counters.sent_bytes(0)
            time.sleep(0.5)
        end.finish()
        assert end.workers[0].exit_code == 0
        assert end.counters.state(0) == shared.ENDED
        assert len(read_to_end(far)) == end.counters.sent_bytes(0)
        end.close()
        far.close()

    def test_a_peer_that_never_sends(self) -> None:
        ((near, far),) = connected()
        end = End([near], Plan(sends=False))
        end.counters.release()
        time.sleep(0.05)
        assert not end.workers[0].reap()
        end.finish()
        assert end.counters.state(0) == shared.ENDED
        end.close()
        far.close()

    def test_a_peer_that_closes_early_ends_its_sender(self) -> None:
        ((near, far),) = connected()
        end = End([near], Plan(sends=True))
        end.counters.release()
        wait_until(lambda: end.counters.sent_bytes(0) > 0)
        far.close()
        assert end.workers[0].reap(PROMPT_S)
        assert end.workers[0].exit_code == 0
        assert end.counters.state(0) == shared.FAILED
        assert end.counters.errno(0) in (errno.EPIPE, errno.ECONNRESET)
        end.close()

    def test_a_peer_that_resets_ends_its_receiver(self) -> None:
        ((near, far),) = connected()
        end = End([near], Plan(sends=False))
        far.sendall(b"x" * 1000)
        wait_until(lambda: end.counters.received_bytes(0) == 1000)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()
        assert end.workers[0].reap(PROMPT_S)
        assert end.counters.state(0) == shared.FAILED
        assert end.counters.errno(0) == errno.ECONNRESET
        end.close()

    def test_one_broken_stream_leaves_the_limit_to_the_others(self) -> None:
        (first, second) = connected(2)
        end = End([first[0], second[0]], Plan(sends=True))
        reader = End([second[1]], Plan(sends=False))
        end.counters.limit_bytes = 20_000_000
        end.counters.release()
        wait_until(lambda: end.counters.sent_bytes(0) > 0)
        first[1].close()
        wait_until(end.counters.limit_reached)
        end.finish()
        assert end.counters.state(0) == shared.FAILED
        assert end.counters.total_sent_bytes() == 20_000_000
        end.close()
        reader.close()


class TestProcesses:
    def test_many_workers_come_and_go(self, ends: Ends) -> None:
        held = open_files()
        sender, receiver = ends(Plan(sends=True, block_bytes=8192), 64)
        sender.counters.limit_bytes = 20_000_000
        sender.counters.release()
        wait_until(sender.counters.limit_reached)
        sender.finish()
        for worker in receiver.workers:
            assert worker.reap(PROMPT_S)
        assert receiver.counters.total_received_bytes() == 20_000_000
        workers = sender.workers + receiver.workers
        assert len({worker.pid for worker in workers}) == 128
        assert [worker.exit_code for worker in workers] == [0] * 128
        for worker in workers:
            with pytest.raises(ProcessLookupError):
                os.kill(worker.pid, 0)
        sender.close()
        receiver.close()
        assert open_files() == held

    def test_a_worker_holds_nothing_but_its_socket_the_gate_and_its_payload(
        self, ends: Ends
    ) -> None:
        sender, receiver = ends(Plan(sends=True), 2)
        sender.counters.release()
        wait_until(lambda: all(sender.counters.sent_bytes(slot) for slot in (0, 1)))
        for end in (sender, receiver):
            for sock, worker in zip(end.socks, end.workers, strict=True):
                held = {
                    int(path.name): str(path.readlink())
                    for path in Path(f"/proc/{worker.pid}/fd").iterdir()
                }
                del held[sock.fileno()], held[end.counters.gate]
                assert len(held) == (1 if end is sender else 0)
                assert all(name.endswith(" (deleted)") for name in held.values())

    def test_signals_meant_for_the_parent(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True))
        sender.counters.release()
        wait_until(lambda: receiver.counters.received_bytes(0) > 0)
        for worker in (sender.workers[0], receiver.workers[0]):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(worker.pid, number)
        before = receiver.counters.received_bytes(0)
        wait_until(lambda: receiver.counters.received_bytes(0) > before + 1_000_000)
        os.kill(receiver.workers[0].pid, signal.SIGKILL)
        assert receiver.workers[0].reap(PROMPT_S)
        assert receiver.workers[0].exit_code == -signal.SIGKILL

    def test_kill(self, ends: Ends) -> None:
        sender, _ = ends(Plan(sends=True))
        (worker,) = sender.workers
        worker.kill()
        assert worker.reap(PROMPT_S)
        assert worker.exit_code == -signal.SIGKILL
        worker.kill()
        assert worker.reap()

    def test_a_defect_in_a_worker_is_told_by_its_state(self, ends: Ends) -> None:
        ((near, far),) = connected()
        counters = Counters(1)
        worker = Worker.fork(near, counters, 0, True, break_down)
        assert worker.reap(PROMPT_S)
        assert (worker.exit_code, counters.state(0)) == (1, shared.FAULT)
        counters.close()
        near.close()
        far.close()

    def test_handlers_and_mask_of_the_parent_stay(self, ends: Ends) -> None:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        handler = signal.getsignal(signal.SIGINT)
        ends(Plan(sends=True))
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
        assert signal.getsignal(signal.SIGINT) == handler

    def test_processor_time(self, ends: Ends) -> None:
        sender, _ = ends(Plan(sends=True))
        (worker,) = sender.workers
        sender.counters.release()
        wait_until(lambda: sum(worker.cpu_times()) > 0)
        live = worker.cpu_times()
        sender.finish()
        user_s, system_s = worker.cpu_times()
        assert user_s + system_s >= sum(live) - 0.02
        noted = sender.counters.cpu_s(0)
        assert 0 < sum(noted) <= user_s + system_s
        waited = worker.sched_wait_s()
        assert (waited is not None) == Path("/proc/self/schedstat").exists()

    def test_a_child_collected_elsewhere(self, ends: Ends) -> None:
        sender, _ = ends(Plan(sends=True))
        (worker,) = sender.workers
        worker.kill()
        os.waitpid(worker.pid, 0)
        assert worker.reap()
        assert worker.exit_code is None


def break_down() -> None:
    raise RuntimeError("a defect")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


ORPHANS = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from tests.engine.test_tcp import End, connected
from tuiperf.engine import prctl
from tuiperf.engine.tcp import Plan
if {without_prctl}:
    prctl.load = lambda: None
(idle, busy) = connected(2)
ends = [
    End([idle[0]], Plan(sends=True)),
    End([idle[1]], Plan(sends=False)),
    End([busy[0]], Plan(sends=True)),
    End([busy[1]], Plan(sends=False)),
]
ends[2].counters.release()
while not ends[3].counters.received_bytes(0):
    time.sleep(0.001)
print(*[worker.pid for end in ends for worker in end.workers], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("without_prctl", [False, True])
def test_workers_do_not_outlive_a_killed_parent(without_prctl: bool) -> None:
    root = str(Path(__file__).parents[2])
    script = ORPHANS.format(root=root, without_prctl=without_prctl)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 4
        assert all(is_running(pid) for pid in pids)
        parent.kill()
    wait_until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    """Whether a process does anything; a zombie that init has not collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class TestRate:
    @pytest.mark.parametrize(
        ("rate_bps", "burst"), [(2_000_000, 0), (50_000_000, 0), (500_000_000, 0), (50_000_000, 3)]
    )
    def test_average(self, ends: Ends, rate_bps: int, burst: int) -> None:
        plan = Plan(sends=True, block_bytes=65536, rate_bps=rate_bps, burst_blocks=burst)
        sender, receiver = ends(plan)
        began_s = time.monotonic()
        sender.counters.release()
        time.sleep(0.6)
        sender.finish()
        due = (time.monotonic() - began_s) * rate_bps / 8
        sent = sender.counters.sent_bytes(0)
        piece = max(200_000, burst * 65536)
        assert due * 0.3 - piece < sent < due + piece
        assert receiver.workers[0].reap(PROMPT_S)
        assert receiver.counters.received_bytes(0) == sent > 0

    def test_a_limit_and_a_rate(self, ends: Ends) -> None:
        sender, receiver = ends(Plan(sends=True, rate_bps=400_000_000))
        sender.counters.limit_bytes = 1_000_001
        sender.counters.release()
        wait_until(lambda: receiver.counters.received_bytes(0) == 1_000_001)
        assert sender.counters.limit_reached()

    def test_the_kernel_paces_a_little_above(self, ends: Ends) -> None:
        sender, _ = ends(Plan(sends=True, rate_bps=80_000_000))
        assert sockets.max_pacing_bps(sender.socks[0]) == 84_000_000

    def test_a_lower_limit_asked_for_stays(self) -> None:
        ((near, far),) = connected()
        sockets.set_max_pacing_rate(near, 8_000_000)
        end = End([near], Plan(sends=True, rate_bps=80_000_000))
        assert sockets.max_pacing_bps(near) == 8_000_000
        end.close()
        far.close()


def test_no_process_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    ((near, far),) = connected()
    counters = Counters(1)
    monkeypatch.setattr(os, "fork", fail)
    with pytest.raises(EngineError) as caught:
        Worker.start(near, counters, 0, Plan(sends=True))
    assert (caught.value.code, caught.value.errno) == (150, errno.EAGAIN)
    counters.close()
    near.close()
    far.close()


class TestWakeUps:
    def waits_for(self, rates_bps: list[float], many: bool = True) -> list[int]:
        """SO_RCVLOWAT after each tenth of a second at these rates."""
        near, far = socket.socketpair()
        with near, far:
            wake_ups = _WakeUps(near, many)
            found, received = [], 0
            for rate_bps in rates_bps:
                now_s = wake_ups.review_s
                if now_s < float("inf"):
                    received += int(rate_bps / 80)
                    wake_ups.review(now_s, received)
                found.append(near.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
        return found

    def test_a_slow_stream_wakes_its_receiver_at_once(self) -> None:
        assert self.waits_for([1e6, 1e8, 1e9, 2e9]) == [1, 1, 1, 1]

    def test_a_fast_one_half_a_millisecond_later_up_to_a_mebibyte(self) -> None:
        assert self.waits_for([8e9, 8.1e9, 40e9]) == pytest.approx([5e5, 5e5, 1 << 20], rel=0.01)

    def test_one_that_becomes_slow(self) -> None:
        assert self.waits_for([8e9, 1e6])[-1] == 1

    def test_few_streams_are_left_alone(self) -> None:
        assert self.waits_for([8e9, 8e9], many=False) == [1, 1]


class TestLending:
    """Which senders lend their payload's pages, and how many bytes at a time; 0 is copied.

    `kernel` tells the congestion control and the pacing limit in bit/s.
    """

    @pytest.mark.parametrize(
        ("plan", "streams", "kernel", "lent_bytes"),
        [
            pytest.param(Plan(sends=True), 1, ("cubic", None), 1 << 20, id="one"),
            pytest.param(Plan(sends=True), 4, ("cubic", None), 1 << 17, id="many"),
            pytest.param(Plan(sends=True), 1, ("bbr", None), 0, id="bbr"),
            pytest.param(Plan(sends=True), 2, ("bbr2", None), 0, id="two-bbr2"),
            pytest.param(Plan(sends=True), 3, ("bbr", None), 1 << 20, id="three-bbr"),
            pytest.param(Plan(sends=True), 1, ("cubic", 10**10), 0, id="paced"),
            pytest.param(Plan(sends=True, lend=True), 1, ("bbr", None), 1 << 20, id="asked"),
            pytest.param(
                Plan(sends=True, lend=True), 1, ("cubic", 10**10), 1 << 20, id="paced-asked"
            ),
            pytest.param(Plan(sends=True), 1, (None, None), 1 << 20, id="not-known"),
        ],
    )
    def test_what_a_sender_lends(
        self,
        monkeypatch: pytest.MonkeyPatch,
        plan: Plan,
        streams: int,
        kernel: tuple[str | None, int | None],
        lent_bytes: int,
    ) -> None:
        monkeypatch.setattr(sockets, "congestion_used", lambda sock: kernel[0])
        monkeypatch.setattr(sockets, "max_pacing_bps", lambda sock: kernel[1])
        with socket.socket() as sock:
            assert _lent_bytes(sock, plan, streams) == lent_bytes
