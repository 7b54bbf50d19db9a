"""`tuiperf -s` and `tuiperf -c` as processes, for tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.iperf3 import free_port

PATIENCE_S = 30.0
COMMAND = [sys.executable, "-m", "tuiperf"]


class Ran(NamedTuple):
    """What a client's process left."""

    code: int
    document: dict[str, Any]
    errors: str


class OurCli(NamedTuple):
    """Our server that listens, and the file that has its output."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @classmethod
    @contextmanager
    def server(cls, *options: str) -> Iterator[OurCli]:
        """Our server, ended with SIGTERM."""
        port = free_port()
        with tempfile.NamedTemporaryFile() as log:
            words = ["-s", "-B", "127.0.0.1", "-p", str(port), *options]
            process = subprocess.Popen([*COMMAND, *words], stdout=log, stderr=subprocess.STDOUT)
            try:
                await_listener(port)
                yield cls(port, process, Path(log.name))
            finally:
                process.terminate()
                process.wait(PATIENCE_S)

    @staticmethod
    def client(port: int, *options: str) -> Ran:
        """Our client with -J, to its end."""
        done = subprocess.run(
            [*COMMAND, "-c", "127.0.0.1", "-p", str(port), "-J", *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Ran(done.returncode, json.loads(done.stdout or "{}"), done.stderr)


def await_listener(port: int) -> None:
    """Wait until somebody listens at a port."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not _listens(port):
        assert time.monotonic() < deadline_s, f"nobody listens at {port}"
        time.sleep(0.02)


def _listens(port: int) -> bool:
    listening = rf"^\s*\d+: \w+:{port:04X} \w+:0000 0A"
    tables = (Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    return any(re.search(listening, table, re.MULTILINE) for table in tables)
