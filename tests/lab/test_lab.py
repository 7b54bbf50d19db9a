"""Real paths in namespaces: what goes in comes out as it should, with real TCP over them."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.interop.iperf3 import iperf3_path
from tests.lab.conftest import MakePath
from tests.lab.traces import network_of, own_network
from tuiperf.lab import profiles
from tuiperf.lab.errors import LabError
from tuiperf.lab.run import Lab
from tuiperf.lab.topology import ADDRESSES, ADDRESSES6

PORT = 5300
TCP_CONGESTION = socket.TCP_CONGESTION
WAIT_S = 60


def iperf3(lab: Lab, *options: str) -> dict[str, Any]:
    """Run Debian's iperf3 from the near side to the lab's own server; its JSON."""
    argv = [iperf3_path(), "-c", lab.peer, "-C", "cubic", "-J", *options]
    done = lab.near.run(argv, timeout=WAIT_S)
    document: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in document, document["error"]
    return document


def received_bps(document: dict[str, Any]) -> float:
    return float(document["end"]["sum_received"]["bits_per_second"])


def receive_all(ready: int, family: int) -> str:
    with socket.create_server(("", PORT), family=family) as listener:
        os.write(ready, b"r")
        sock, _ = listener.accept()
    digest = hashlib.sha256()
    with sock:
        while chunk := sock.recv(1 << 16):
            digest.update(chunk)
    return digest.hexdigest()


def send_all(peer: str, size: int) -> tuple[str, str]:
    """Send so many random bytes; their digest, and the congestion control that was used."""
    data = random.Random(1).randbytes(size)
    with socket.create_connection((peer, PORT), timeout=WAIT_S) as sock:
        used = sock.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()
        sock.sendall(data)
    return hashlib.sha256(data).hexdigest(), used


@pytest.mark.parametrize(("family", "addresses"), [(2, ADDRESSES), (10, ADDRESSES6)])
def test_a_stream_survives_loss_reordering_and_duplicates(
    make_path: MakePath, family: int, addresses: dict[str, str]
) -> None:
    lab = make_path(
        {
            "rate": "200M",
            "rtt": "4ms",
            "loss": "1%",
            "burst-loss": "0.2%",
            "reorder": "2%",
            "duplicate": "1%",
            "near": {"congestion": "reno"},
        }
    )
    reader, writer = os.pipe()
    receiving = lab.far.start(receive_all, writer, family)
    os.read(reader, 1)
    sent, used = lab.near.call(send_all, addresses["far"], 3_000_000)
    assert receiving.result() == sent
    assert used == "reno"
    counters = lab.counters()["there"]
    assert counters["offered"] > 2000
    assert min(counters["lost"], counters["reordered"], counters["duplicated"]) > 0


def test_every_loss_of_the_relay_is_a_retransmission_of_the_sender(make_path: MakePath) -> None:
    lab = make_path({"rate": "100M", "rtt": "10ms", "loss": "0.5%", "loss-toward": "there"})
    sent = iperf3(lab, "-t", "2")["end"]["sum_sent"]
    counters = lab.counters()
    lost = counters["there"]["lost"] + counters["there"]["queue_dropped"]
    assert counters["here"]["lost"] == 0
    assert lost >= 5
    assert abs(sent["retransmits"] - lost) <= max(5, 0.3 * lost)


def test_a_small_receive_buffer_is_a_small_window(make_path: MakePath) -> None:
    lab = make_path({"rate": "1G", "rtt": "40ms", "far": {"tcp_rmem": "256K"}})
    stream = iperf3(lab, "-t", "2")["end"]["streams"][0]["sender"]
    assert stream["max_snd_wnd"] <= 256 * 1024
    assert stream["min_rtt"] >= 40_000


def test_the_way_back_has_properties_of_its_own(make_path: MakePath) -> None:
    lab = make_path({"rtt": "6ms", "there": {"rate": "50M"}, "here": {"rate": "10M"}})
    there, here = received_bps(iperf3(lab, "-t", "2")), received_bps(iperf3(lab, "-t", "2", "-R"))
    assert here < 10e6 < there < 50e6


def test_tuiperf_itself_measures_over_a_path(make_path: MakePath, tmp_path: Path) -> None:
    lab = make_path({"rate": "50M", "rtt": "10ms"})
    words = ["-c", lab.peer, "-C", "cubic", "-t", "2", "-J", "--no-record"]
    done = lab.near.run([sys.executable, "-m", "tuiperf", *words], timeout=WAIT_S)
    document = json.loads(done.stdout)
    assert 25e6 < received_bps(document) < 50e6
    assert document["end"]["streams"][0]["sender"]["mean_rtt"] >= 10_000


def test_a_black_hole_lets_small_packets_through_and_a_tunnel_says_what_fits(
    make_path: MakePath,
) -> None:
    hole = make_path("mtu-blackhole")
    small = iperf3(hole, "-t", "1", "-M", "1200")
    assert received_bps(small) > 1e6
    tunnel = make_path("tunnel")
    stream = iperf3(tunnel, "-t", "1")["intervals"][-1]["streams"][0]
    assert stream["pmtu"] == 1400
    assert tunnel.counters()["there"]["too_big"] > 0


def test_a_path_without_faults_is_a_plain_cable(make_path: MakePath) -> None:
    lab = make_path({})
    assert lab.backend == "cable"
    assert lab.counters() == {}
    with pytest.raises(LabError, match="only a lab with the relay can change"):
        lab.change(lab.path)


def test_properties_change_while_the_path_is_up(make_path: MakePath) -> None:
    lab = make_path({"rtt": "4ms"}, backend="relay")
    before = lab.near.call(connect_s, lab.peer)
    lab.change(profiles.build({"rtt": "300ms"}, lab.path))
    assert before < 0.3 <= lab.near.call(connect_s, lab.peer)


def connect_s(peer: str) -> float:
    begun_s = time.monotonic()
    socket.create_connection((peer, 5201), timeout=WAIT_S).close()
    return time.monotonic() - begun_s


def fail() -> None:
    raise ValueError("told so")


def vanish() -> None:
    os._exit(3)


def test_functions_run_on_their_side_and_answer(make_path: MakePath) -> None:
    lab = make_path({})
    near, far = lab.near.call(network_of, "self"), lab.far.call(network_of, "self")
    assert len({near, far, network_of("self")}) == 3
    with pytest.raises(ValueError, match="told so"):
        lab.near.call(fail)
    with pytest.raises(LabError, match="ended without an answer"):
        lab.near.call(vanish)


def test_commands_get_the_peers_address(make_path: MakePath) -> None:
    lab = make_path({})
    done = lab.near.run(["sh", "-c", "echo $TUIPERF_PEER"])
    assert (done.stdout, done.returncode) == (f"{lab.peer}\n", 0)
    assert lab.far.run(["sh", "-c", "echo $TUIPERF_PEER"]).stdout == f"{lab.info['here']}\n"


def test_labs_do_not_collide_and_touch_nothing_of_ours(make_path: MakePath) -> None:
    before = own_network()
    slow, fast = make_path({"rtt": "80ms"}), make_path({"rtt": "2ms", "near": {"ecn": True}})
    assert slow.peer == fast.peer
    assert slow.near.call(connect_s, slow.peer) >= 0.08 > fast.near.call(connect_s, fast.peer)
    assert own_network() == before


def test_without_root_a_user_namespace_does(make_path: MakePath) -> None:
    lab = make_path({"rate": "50M", "rtt": "10ms"}, in_user_namespace=True)
    assert lab.info["as_root"] is False
    assert 10e6 < received_bps(iperf3(lab, "-t", "1")) < 50e6
    assert lab.near.call(os.getuid) == 0


def test_an_algorithm_that_is_not_there_gets_a_line(lab_here: None, make_path: MakePath) -> None:
    with pytest.raises(LabError, match="the congestion control 'nosuch' is not to be had here"):
        make_path({"near": {"congestion": "nosuch"}})


@pytest.mark.parametrize("side", ["far", "near"])
def test_a_program_that_pauses_is_slower_than_the_path(make_path: MakePath, side: str) -> None:
    helper = {"kind": "pause", "side": side, "run": "2ms", "stop": "80ms"}
    buffers = {"near": {"tcp_wmem": "512K"}, "far": {"tcp_rmem": "512K"}}
    lab = make_path({"rate": "1G", "rtt": "4ms", "helper": [helper], **buffers})
    document = iperf3(lab, "-t", "3")
    assert received_bps(document) < 400e6
    paused = document["intervals"][-1]["streams"][0]
    assert paused["bits_per_second"] > 1e6


def test_other_traffic_comes_when_it_should_and_goes_with_the_test(make_path: MakePath) -> None:
    crowd = {"kind": "crowd", "after": "1s", "for": "60s", "streams": 2}
    lab = make_path({"rate": "50M", "rtt": "4ms", "helper": [crowd]})
    document = iperf3(lab, "-t", "4")
    first, *_, last = [each["sum"]["bits_per_second"] for each in document["intervals"]]
    assert last < 0.8 * first
    settled = lab.counters()["there"]["offered"]
    time.sleep(1.0)
    before = lab.counters()["there"]["offered"]
    time.sleep(0.5)
    assert settled > 0
    assert lab.counters()["there"]["offered"] - before < 50


def granted(option: int, asked: int) -> int:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, option, asked)
        return sock.getsockopt(socket.SOL_SOCKET, option)


def test_a_socket_gets_no_more_than_its_sides_limits(make_path: MakePath) -> None:
    lab = make_path({"near": {"rmem_max": "208K"}, "far": {"rmem_max": "64K", "wmem_max": "32K"}})
    for call, option, kib in (
        (lab.near.call, socket.SO_RCVBUF, 208),
        (lab.far.call, socket.SO_RCVBUF, 64),
        (lab.far.call, socket.SO_SNDBUF, 32),
    ):
        assert call(granted, option, 8 << 20) == 2 * kib << 10
        assert call(granted, option, 20 << 10) == 40 << 10
    machine = min(int(Path("/proc/sys/net/core/wmem_max").read_text()), 1 << 20)
    assert lab.near.call(granted, socket.SO_SNDBUF, machine) == 2 * machine


def test_iperf3_refuses_a_window_beyond_the_limit(make_path: MakePath) -> None:
    lab = make_path("clamped-window")
    argv = [iperf3_path(), "-c", lab.peer, "-C", "cubic", "-t", "1", "-J", "-w"]
    refused = json.loads(lab.near.run([*argv, "8M"], timeout=WAIT_S).stdout)
    assert "socket buffer size not set correctly" in refused["error"]
    clamped = json.loads(lab.near.run([*argv, "400K"], timeout=WAIT_S).stdout)
    assert clamped["start"]["sndbuf_actual"] == clamped["start"]["rcvbuf_actual"] == 416 << 10
