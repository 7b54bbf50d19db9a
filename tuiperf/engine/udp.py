"""One UDP stream's worker process; the loops are in udp_send and udp_receive."""

from __future__ import annotations

import socket

from . import counters as shared
from . import mmsg, udp_receive, udp_send, worker
from .counters import Counters
from .udp_plan import Plan


class Worker(worker.Worker):
    """The process that sends or receives one UDP stream."""

    @classmethod
    def start(cls, sock: socket.socket, counters: Counters, slot: int, plan: Plan) -> Worker:
        """Start the worker of one connected socket. Senders wait for counters.release().

        A limit on bytes must be a whole number of datagrams. Raises EngineError 150 when no
        process can be had.
        """
        mmsg.load()
        counters.words[counters.base(slot) + shared.BLOCK_BYTES] = plan.block_bytes
        loop = udp_send.send if plan.sends else udp_receive.receive
        return cls.fork(sock, counters, slot, plan.sends, lambda: loop(sock, counters, slot, plan))
