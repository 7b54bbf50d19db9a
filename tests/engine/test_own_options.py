"""Options of one end alone: the core, limits and keepalive of connections, flow labels, MPTCP."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.engine.driving import OurServer, client_spec, run, short
from tuiperf.engine import cores, flow_label, mptcp, sockets
from tuiperf.engine import listener as listener_module
from tuiperf.engine.control import USUAL, ControlSocket, KeepAlive, check_keep_alive
from tuiperf.engine.errors import EngineError
from tuiperf.engine.listener import Listener
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec
from tuiperf.events import Agreed, StreamOpened

NO_SUCH_CORE = 1000
ETH_P_IPV6 = 0x86DD


@pytest.fixture(scope="module")
def server() -> Iterator[OurServer]:
    with OurServer(bind_host="") as ours:
        yield ours


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = sockets.TcpOptions(user_timeout_ms=4321)
        sock = sockets.connect(sockets.resolve(*listener.getsockname()), options=options)
        with sock, listener.accept()[0]:
            yield sock


# ---------------------------------------------------------------------- -A


def test_a_process_is_pinned_to_one_core() -> None:
    with subprocess.Popen(["sleep", "30"]) as child:
        cores.pin(child.pid, 0)
        assert os.sched_getaffinity(child.pid) == {0}
        child.kill()


def test_looking_at_a_core_leaves_this_process_where_it_was() -> None:
    before = os.sched_getaffinity(0)
    cores.check(min(before))
    assert os.sched_getaffinity(0) == before
    with pytest.raises(EngineError) as caught:
        cores.check(NO_SUCH_CORE)
    assert caught.value.code == 132
    assert f"no core {NO_SUCH_CORE}" in str(caught.value)


def test_every_worker_runs_on_the_core(server: OurServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[set[int]] = []

    usual = cores.pin

    def pin(pid: int, core: int) -> None:
        usual(pid, core)
        if pid:
            pinned.append(os.sched_getaffinity(pid))

    monkeypatch.setattr(cores, "pin", pin)
    done = run(client_spec(server.port, short(parallel=2), core=0))
    assert done.outcome == "completed"
    assert pinned == [{0}, {0}]


def test_the_servers_core_travels_and_the_server_tells_what_it_lacks(server: OurServer) -> None:
    done = run(client_spec(server.port, short(server_core=0)))
    assert done.one(Agreed).parameters["server_affinity"] == 0
    assert done.outcome == "completed"
    refused = run(client_spec(server.port, short(server_core=NO_SUCH_CORE)))
    assert (refused.failed_as, refused.failure.remote) == (132, True)
    assert "server_affinity" not in short().to_parameters("x")


# ---------------------------------------------------------------------- connections


def test_unconfirmed_data_has_a_limit(connection: socket.socket) -> None:
    assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 4321


def test_both_ends_have_that_limit_on_their_data(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    usual = sockets.set_user_timeout

    def set_user_timeout(sock: socket.socket, timeout_ms: int) -> None:
        usual(sock, timeout_ms)
        seen.append(timeout_ms)

    monkeypatch.setattr(sockets, "set_user_timeout", set_user_timeout)
    done = run(client_spec(server.port, short(parallel=2), snd_timeout_ms=1234))
    assert done.outcome == "completed"
    assert seen == [1234] * 3  # the control connection and two of data


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (USUAL, (10, 5, 6)),
        (KeepAlive(40, 0, 0), (40, 5, 6)),
        (KeepAlive(0, 7, 0), (10, 7, 6)),
        (KeepAlive(90, 8, 4), (90, 8, 4)),
    ],
)
def test_keepalive_is_as_asked(
    connection: socket.socket, asked: KeepAlive, granted: tuple[int, int, int]
) -> None:
    ControlSocket(connection, asked)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    assert tuple(connection.getsockopt(socket.IPPROTO_TCP, each) for each in names) == granted


@pytest.mark.parametrize(
    ("asked", "code"),
    [(KeepAlive(40_000), 156), (KeepAlive(0, 40_000), 157), (KeepAlive(0, 0, 200), 158)],
)
def test_what_the_system_does_not_take_is_said(asked: KeepAlive, code: int) -> None:
    with pytest.raises(EngineError) as caught:
        check_keep_alive(asked)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"snd_timeout_ms": 86_400_001}, 33),
        ({"core": 1025}, 132),
        ({"keepalive_idle_s": 6, "keepalive_interval_s": 2, "keepalive_count": 3}, 36),
        ({"keepalive_interval_s": -1}, 36),
        ({"keepalive_idle_s": 32_768}, 156),
        ({"keepalive_interval_s": 32_768}, 157),
        ({"keepalive_count": 128}, 158),
    ],
)
def test_both_specs_check_their_own_end(settings: dict[str, Any], code: int) -> None:
    for spec in (ClientSpec("x"), ServerSpec()):
        with pytest.raises(EngineError) as caught:
            replace(spec, **settings).check()
        assert caught.value.code == code


# ---------------------------------------------------------------------- -L


@pytest.mark.parametrize(
    "test",
    [
        short(flow_label=0x12345, total_bytes=100_000, time_s=0),
        TestSpec(
            protocol="udp", time_s=1, rate_bps=1_000_000, block_bytes=1000, flow_label=0xABCDE
        ),
    ],
)
def test_the_flow_label_is_on_the_wire(server: OurServer, test: TestSpec) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IPV6)) as wire:
        wire.bind(("lo", ETH_P_IPV6))
        done = run(client_spec(server.port, test, host="::1"))
        ports = {opened.local_port for opened in done.all(StreamOpened)}
        labels = set()
        wire.setblocking(False)
        while packet := _next(wire):
            if int.from_bytes(packet[40:42], "big") in ports:
                labels.add(int.from_bytes(packet[1:4], "big") & 0xFFFFF)
    assert done.outcome == "completed"
    assert labels == {test.flow_label}
    assert done.one(Agreed).parameters["flowlabel"] == test.flow_label


def _next(wire: socket.socket) -> bytes:
    try:
        return wire.recv(64)
    except BlockingIOError:
        return b""


def test_ipv4_has_no_flow_label(server: OurServer) -> None:
    refused = run(client_spec(server.port, short(flow_label=5)))
    assert refused.failed_as == 127
    assert "127.0.0.1 is not an IPv6 address" in refused.failure.text


def test_a_label_that_the_system_refuses() -> None:
    with socket.socket(socket.AF_INET6) as sock, pytest.raises(EngineError) as caught:
        flow_label.set_label(sock, ("ff02::1", 1, 0, 0), 2**20)
    assert caught.value.code == 127


def test_systems_without_them_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cores, flow_label, mptcp):
        monkeypatch.setattr(module.sys, "platform", "darwin")
    attempts: list[tuple[int, Callable[[], object]]] = [
        (132, lambda: cores.check(0)),
        (127, lambda: flow_label.set_label(here, ("::1", 1, 0, 0), 1)),
        (131, lambda: mptcp.stream_socket(socket.AF_INET, True)),
    ]
    with socket.socket() as here:
        for code, attempt in attempts:
            with pytest.raises(EngineError, match="this system") as caught:
                attempt()
            assert caught.value.code == code


# ---------------------------------------------------------------------- -m


@pytest.mark.parametrize("way", [{}, {"reverse": True}, {"bidir": True}, {"parallel": 2}])
def test_data_goes_by_mptcp_and_the_next_test_by_tcp(
    server: OurServer, way: dict[str, Any]
) -> None:
    done = run(client_spec(server.port, short(mptcp=True, **way)))
    there = server.run_of(done)
    assert done.one(Agreed).parameters["mptcp"] is True
    assert (done.option("mptcp").effective, there.option("mptcp").effective) == (1, 1)
    plain = run(client_spec(server.port, short(mss_bytes=1000, **way)))
    assert plain.outcome == "completed"
    granted_bytes = plain.option("mss").granted
    assert isinstance(granted_bytes, int)
    assert granted_bytes <= 1000


def test_a_peer_without_mptcp_gets_plain_tcp_and_that_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = sockets.TcpOptions(mptcp=True)
        sock = sockets.connect(sockets.resolve(*listener.getsockname()), options=options)
        with sock, listener.accept()[0]:
            reading = sockets.read_options(sock, options)[-1]
    assert (reading.name, reading.effective) == ("mptcp", 0)
    assert "plain TCP" in reading.note


def test_a_kernel_without_mptcp_is_named(
    server: OurServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mptcp, "IPPROTO_MPTCP", 250)
    refused = run(client_spec(server.port, short(mptcp=True)))
    assert refused.failed_as == 131
    assert "this kernel has no MPTCP" in refused.failure.text


def test_an_option_that_mptcp_does_not_have_is_said(server: OurServer) -> None:
    refused = run(client_spec(server.port, short(mptcp=True, flow_label=9), host="::1"))
    assert refused.failed_as == 127
    assert "MPTCP does not take that option" in refused.failure.text


def test_mptcp_does_not_swallow_a_name_that_no_congestion_control_has(server: OurServer) -> None:
    refused = run(client_spec(server.port, short(mptcp=True, congestion="nonsense")))
    assert refused.failed_as == 134
    done = run(client_spec(server.port, short(mptcp=True, congestion="reno")))
    assert done.option("congestion").effective == "reno"


@pytest.mark.parametrize("family", [0, 4, 6])
def test_who_comes_while_the_listener_changes_is_served(family: int) -> None:
    listener = Listener(ServerSpec(port=0, family=family))
    host = "::1" if family == 6 else "127.0.0.1"
    with contextlib.ExitStack() as stack:
        stack.callback(listener.close)
        for _ in range(4):
            early = stack.enter_context(socket.create_connection((host, listener.port)))
            listener.prepare(0, "", True)
            assert listener.holds_some
            taken, far = listener.accept()
            with taken:
                assert far[1] == early.getsockname()[1]
            assert not listener.holds_some
            listener.restore()
            plain = stack.enter_context(socket.create_connection((host, listener.port)))
            listener.accept()[0].close()
            assert plain.recv(1) == b""


def test_a_listener_whose_place_was_taken_goes_on_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = Listener(ServerSpec(port=0, family=4))
    with monkeypatch.context() as patch:
        patch.setattr(listener_module, "_listen", _refuse)
        with pytest.raises(EngineError) as caught:
            listener.prepare(0, "", True)
    assert caught.value.code == 102
    with socket.create_connection(("127.0.0.1", listener.port)):
        listener.accept()[0].close()
    listener.prepare(0, "", True)
    with monkeypatch.context() as patch:
        patch.setattr(listener_module, "_listen", _refuse)
        listener.restore()
    with socket.create_connection(("127.0.0.1", listener.port)):
        listener.accept()[0].close()
    listener.close()


def _refuse(*_: object, **__: object) -> None:
    raise EngineError(102, "the port is in use")


def test_a_server_may_listen_by_mptcp_from_the_start() -> None:
    with OurServer(mptcp=True) as ours:
        done = run(client_spec(ours.port, short(mptcp=True)))
        assert done.option("mptcp").effective == 1
        assert run(client_spec(ours.port, short())).outcome == "completed"
