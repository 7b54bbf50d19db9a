"""Debian's iperf3 as a peer: servers on free ports, clients with their JSON documents."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

PATIENCE_S = 30.0
START_S = 10.0


def iperf3_path() -> str:
    """Where iperf3 is. It is needed: without it the tests fail, they are not skipped."""
    path = shutil.which("iperf3")
    assert path, "iperf3 is not installed"
    return path


def free_port() -> int:
    """A TCP port that nobody uses now, in both families."""
    with socket.socket(socket.AF_INET6) as sock:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.bind(("::", 0))
        return int(sock.getsockname()[1])


class Iperf3Server(NamedTuple):
    """A stock server that listens, for one test or for many."""

    port: int
    process: subprocess.Popen[str]

    def document(self) -> dict[str, Any]:
        """The JSON document of a server started with -J and -1, once its test is over."""
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        document = json.loads(out[out.index("{") :])
        assert isinstance(document, dict)
        return document

    def output(self) -> str:
        """Everything a server started with -1 has printed, once its test is over."""
        out, errors = self.process.communicate(timeout=PATIENCE_S)
        return out + errors


@contextmanager
def iperf3_server(*options: str) -> Iterator[Iperf3Server]:
    """A stock server in the background; it is killed at the end if it still runs."""
    server = _start(options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def _start(options: tuple[str, ...]) -> Iperf3Server:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s:
        port = free_port()
        process = subprocess.Popen(
            [iperf3_path(), "-s", "-p", str(port), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and time.monotonic() < deadline_s:
            if _listens(port, process.pid):
                return Iperf3Server(port, process)
            time.sleep(0.01)
        process.kill()  # another program took the port first: try the next one
        process.communicate()
    raise AssertionError("iperf3 -s does not start")


def _listens(port: int, pid: int) -> bool:
    found = subprocess.run(
        ["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=True
    )
    return f"pid={pid}," in found.stdout


class Iperf3Client(NamedTuple):
    """A stock client's exit code and its document; 3.12 exits with 0 even when it failed."""

    code: int
    document: dict[str, Any]
    errors: str

    @property
    def error(self) -> str:
        return str(self.document.get("error", ""))

    def total(self, key: str) -> int:
        """Bytes of `end.KEY`, such as sum_sent."""
        return int(self.document["end"][key]["bytes"])


def iperf3_client(port: int, *options: str, host: str = "127.0.0.1") -> Iperf3Client:
    """Run a stock client with -J to its end. It must find its server listening."""
    return _iperf3_client(port, options, host)


def next_iperf3_client(port: int, *options: str) -> Iperf3Client:
    """The same for a stock server that has just ended a test: a stock server closes its listening
    socket between two tests, and who is waiting in it then is reset or refused; so try again."""
    deadline_s = time.monotonic() + START_S
    while True:
        found = _iperf3_client(port, options, "127.0.0.1")
        between_tests = any(word in found.error for word in ("reset by peer", "refused"))
        if not between_tests or time.monotonic() > deadline_s:
            return found
        time.sleep(0.05)


def _iperf3_client(port: int, options: tuple[str, ...], host: str) -> Iperf3Client:
    done = subprocess.run(
        [iperf3_path(), "-J", "-c", host, "-p", str(port), *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Iperf3Client(done.returncode, json.loads(done.stdout or "{}"), done.stderr)
