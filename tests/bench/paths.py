"""Two places to measure in: a loopback and a veth pair, in network namespaces of their own.

Cubic is set on the routes, so that both tools get it in the same way and before they connect:
set on a socket after connect, as `iperf3 -C` does, it keeps what another algorithm left behind.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
from collections.abc import Iterator
from typing import NamedTuple


class Place(NamedTuple):
    """Where client and server run: prefixes of their commands, and the server's address."""

    name: str
    client: tuple[str, ...]
    server: tuple[str, ...]
    address: str
    device: str = "lo"  # at the server


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _set_cubic(namespace: str) -> None:
    for prefix in ("127.0.0.0/8", "127.0.0.1"):
        _ip(
            *("-n", namespace, "route", "replace", "local", prefix, "dev", "lo"),
            *("table", "local", "src", "127.0.0.1", "congctl", "cubic"),
        )


@contextlib.contextmanager
def loopback() -> Iterator[Place]:
    """A namespace's own loopback. Needs root."""
    name = f"tpb{os.getpid()}{uuid.uuid4().hex[:4]}"
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        _set_cubic(name)
        prefix = ("ip", "netns", "exec", name)
        yield Place("loopback", prefix, prefix, "127.0.0.1")
    finally:
        _ip("netns", "del", name)


@contextlib.contextmanager
def veth() -> Iterator[Place]:
    """Two namespaces joined by a veth pair, MTU 1500, segmentation offload on. Needs root."""
    near, far = (f"tpb{os.getpid()}{uuid.uuid4().hex[:4]}{end}" for end in "nf")
    try:
        for name in (near, far):
            _ip("netns", "add", name)
        _ip("-n", near, "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", far)
        for name, host in ((near, 1), (far, 2)):
            _ip("-n", name, "addr", "add", f"10.77.0.{host}/24", "dev", "v0")
            _ip("-n", name, "link", "set", "v0", "up")
            _ip(
                *("-n", name, "route", "replace", "10.77.0.0/24", "dev", "v0"),
                *("proto", "kernel", "scope", "link", "src", f"10.77.0.{host}"),
                *("congctl", "cubic"),
            )
        yield Place(
            "veth",
            ("ip", "netns", "exec", near),
            ("ip", "netns", "exec", far),
            "10.77.0.2",
            "v0",
        )
    finally:
        for name in (near, far):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
