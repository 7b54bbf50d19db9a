"""Network namespaces for tests: one thread lives in each, and runs there what it is told."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000


class Space:
    """A network namespace of its own; needs root, as the laboratory's machines and CI have it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._thread = self._pool.submit(_leave_home).result()
        self.ip("link set lo up")
        for which in ("all", "default"):  # IPv6 addresses are ready at once
            self.set(f"net/ipv6/conf/{which}/accept_dad", "0")

    @property
    def path(self) -> str:
        """The namespace as a file that ip(8) takes."""
        return f"/proc/{os.getpid()}/task/{self._thread}/ns/net"

    def do(self, work: Callable[[], T]) -> T:
        """Run `work` in the namespace and return what it returns."""
        return self._pool.submit(work).result(timeout=30)

    def ip(self, words: str) -> None:
        """Run ip(8) there; a refusal is an error with ip's own words."""
        self.run("ip", *words.split())

    def run(self, *words: str) -> str:
        def work() -> str:
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
            assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
            return done.stdout

        return self.do(work)

    def await_carrier(self, interface: str) -> None:
        """Return when the kernel has noticed that a cable is in: it takes up to a second."""
        for _ in range(100):
            if " UP " in self.run("ip", "-br", "link", "show", "dev", interface):
                return
            time.sleep(0.05)
        raise AssertionError(f"{interface} has no carrier")

    def set(self, name: str, value: str) -> None:
        """Write a sysctl of the namespace: `net/ipv4/ip_forward`."""
        self.do(lambda: Path(f"/proc/sys/{name}").write_text(value, encoding="ascii"))

    def close(self) -> None:
        self._pool.shutdown()


def _leave_home() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace of our own was refused")
    return threading.get_native_id()


@contextmanager
def spaces(count: int) -> Iterator[list[Space]]:
    """As many namespaces as a test wants, gone at its end."""
    made = [Space() for _ in range(count)]
    try:
        yield made
    finally:
        for each in made:
            each.close()


def wire(left: Space, right: Space, left_address: str, right_address: str, name: str = "w") -> None:
    """A veth pair between two namespaces: `w0` at the left end, `w1` at the right one."""
    left.ip(f"link add {name}0 type veth peer name {name}1 netns {right.path}")
    for space, end, address in ((left, 0, left_address), (right, 1, right_address)):
        space.ip(f"addr add {address} dev {name}{end}{' nodad' if ':' in address else ''}")
        space.ip(f"link set {name}{end} up")
    for space, end in ((left, 0), (right, 1)):
        space.await_carrier(f"{name}{end}")


def narrow(space: Space, name: str) -> None:
    """Let this end of a wire send 1 kB a second from a queue of 3 kB: it drops what else comes."""
    words = f"qdisc add dev {name} root tbf rate 8kbit burst 2000 limit 3000"
    space.run("tc", *words.split())


def send(address: str, count: int) -> None:
    """Send datagrams of 1000 bytes that nobody waits for, as fast as it goes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
        for _ in range(count):
            plug.sendto(bytes(1000), (address, 9))


@contextmanager
def routed_path(middle_mtu: int = 1500) -> Iterator[tuple[Space, Space, Space]]:
    """Here, a router, and a far host: 10.1.0.1 - 10.1.0.2 | 10.2.0.1 - 10.2.0.2."""
    with spaces(3) as (here, router, far):
        wire(here, router, "10.1.0.1/24", "10.1.0.2/24", "a")
        wire(router, far, "10.2.0.1/24", "10.2.0.2/24", "b")
        here.ip("route add default via 10.1.0.2")
        far.ip("route add default via 10.2.0.1")
        router.set("net/ipv4/ip_forward", "1")
        for space in (here, far, router):
            space.set("net/ipv4/ping_group_range", "0 2147483647")
            space.set("net/ipv4/icmp_ratelimit", "0")
        if middle_mtu != 1500:
            router.ip(f"link set b0 mtu {middle_mtu}")
            far.ip(f"link set b1 mtu {middle_mtu}")
        yield here, router, far
