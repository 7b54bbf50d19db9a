"""What a test asks of its data sockets and of the workers that move their bytes."""

from __future__ import annotations

import os

from . import cores, disk_file, tcp, udp, udp_plan, worker
from .counters import Counters
from .errors import EngineError
from .leg import Leg
from .own_end import NO_CORE, OwnEnd
from .sockets import TcpOptions
from .spec import TestSpec
from .udp_socket import UdpOptions

_END_S = 0.3  # what a killed worker is given to end


def tcp_options(spec: TestSpec) -> TcpOptions:
    """What a test asks of its data sockets."""
    return TcpOptions(
        window_bytes=spec.window_bytes,
        mss_bytes=spec.mss_bytes,
        nodelay=spec.nodelay,
        congestion=spec.congestion,
        max_pacing_bps=spec.fq_rate_bps,
        tos=spec.tos,
        mptcp=spec.mptcp,
        sctp=spec.protocol == "sctp",
    )


def udp_options(spec: TestSpec) -> UdpOptions:
    """What a test asks of its UDP data sockets."""
    return UdpOptions(
        block_bytes=spec.block_bytes,
        window_bytes=spec.window_bytes,
        tos=spec.tos,
        max_pacing_bps=spec.fq_rate_bps,
        dont_fragment=spec.dont_fragment,
    )


def start_worker(spec: TestSpec, own: OwnEnd, leg: Leg, counters: Counters) -> worker.Worker:
    """Fork the worker of one stream. Raises EngineError 14 (file), 132 (core), 150."""
    moves = _start_udp if spec.udp else _start_tcp
    started = moves(spec, own, leg, counters)
    if own.core != NO_CORE:
        try:
            cores.pin(started.pid, own.core)
        except EngineError:
            started.kill()
            started.reap(_END_S)
            raise
    return started


def _start_udp(spec: TestSpec, own: OwnEnd, leg: Leg, counters: Counters) -> worker.Worker:
    datagrams = udp_plan.Plan(
        sends=leg.sends,
        block_bytes=spec.block_bytes,
        rate_bps=spec.rate_bps,
        burst_blocks=spec.burst_blocks,
        counters_64bit=spec.udp_counters_64bit,
        repeating_payload=spec.repeating_payload,
    )
    return udp.Worker.start(leg.sock, counters, leg.slot, datagrams)


def _start_tcp(spec: TestSpec, own: OwnEnd, leg: Leg, counters: Counters) -> worker.Worker:
    file = disk_file.open_file(own.file, leg.sends) if own.file else -1
    plan = tcp.Plan(
        sends=leg.sends,
        block_bytes=spec.block_bytes,
        rate_bps=spec.rate_bps,
        burst_blocks=spec.burst_blocks,
        skip_rx_copy=spec.skip_rx_copy,
        repeating_payload=spec.repeating_payload,
        copy=(spec.copy_payload and not spec.zerocopy) or spec.protocol == "sctp",
        lend=spec.zerocopy,
        messages=spec.protocol == "sctp",
        file=file,
    )
    try:
        return tcp.Worker.start(leg.sock, counters, leg.slot, plan)
    finally:
        if file >= 0:
            os.close(file)
