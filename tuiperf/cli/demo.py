"""`tuiperf demo`: a long path in a lab on this machine, or plain loopback where none can be had."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace

from tuiperf.cli.options import Invocation, UsageError, parse
from tuiperf.engine.errors import EngineError
from tuiperf.engine.spec import ClientSpec, ServerSpec, TestSpec
from tuiperf.events import Event, EventError, Failed, Listening, from_line

DEFAULT_PROFILE = "long-fat-pipe"
PLAIN_PROFILE = "loopback"
LOOPBACK = "127.0.0.1"
START_S = 10.0
END_S = 3.0


@contextlib.contextmanager
def demo_path(asked: Invocation, tell: Callable[[str], None]) -> Iterator[Invocation]:
    """Bring the profile's path up, move this process to its near side, and end it whatever happens.

    `tell` gets a line about what is measured, and why when it is only loopback. Raises UsageError
    for a profile that there is not, EngineError when even the server on loopback does not start.
    """
    if asked.profile == PLAIN_PROFILE:
        with demo_server(asked) as towards_it:
            yield towards_it
        return
    from tuiperf.lab import profiles
    from tuiperf.lab.errors import LabError
    from tuiperf.lab.run import start

    try:
        profile = profiles.load(asked.profile or DEFAULT_PROFILE)
    except LabError as error:
        raise UsageError(0, str(error)) from None
    try:
        lab = start(profile.path, profile=profile.name)
        try:
            lab.near.enter()
        except LabError:
            lab.close()
            raise
    except LabError as error:
        tell(f"the demo measures plain loopback, for there is no lab: {error}")
        with demo_server(asked) as towards_it:
            yield towards_it
        return
    try:
        tell(f"the demo's path is {profile.name}: {profile.cause}")
        yield replace(asked, client=_along(asked.client, lab.peer, profile.options))
    finally:
        lab.close()


def _along(spec: ClientSpec | None, peer: str, options: Sequence[str]) -> ClientSpec:
    """The test that was asked for, with the profile's own options where nothing else was asked."""
    spec = replace(spec or ClientSpec(peer), host=peer)
    theirs = parse(["run", peer, "-C", "cubic", *options]).client
    if theirs is None:
        return spec
    usual, test = TestSpec(), spec.test
    for name in (each.name for each in fields(TestSpec)):
        wanted = getattr(theirs.test, name)
        if getattr(test, name) == getattr(usual, name) != wanted:
            test = replace(test, **{name: wanted})
    return replace(spec, test=test)


@contextlib.contextmanager
def demo_server(asked: Invocation) -> Iterator[Invocation]:
    """Start a server, give the invocation that measures towards it, and end it whatever happens.

    It serves as many tests as the screen wants. Raises EngineError when it does not start.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", "tuiperf.engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,  # Ctrl+C at the terminal is for the client alone
    )
    try:
        yield replace(asked, client=_towards(asked.client, _start(child)))
    finally:
        _end(child)


def _towards(spec: ClientSpec | None, port: int) -> ClientSpec:
    """The test that was asked for, with cubic where this user may have it, for it shows most."""
    spec = replace(spec or ClientSpec(LOOPBACK), host=LOOPBACK, port=port)
    if not spec.test.congestion and _may_use("cubic"):
        spec = replace(spec, test=replace(spec.test, congestion="cubic"))
    return spec


def _may_use(congestion: str) -> bool:
    """Whether a socket of this user takes it: a host may have it and keep it for root, tcp(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode("ascii"))
        except (AttributeError, OSError):  # no such option outside Linux
            return False
    return True


def _start(child: subprocess.Popen[bytes]) -> int:
    """Tell the child what to serve and wait for the port it found."""
    if child.stdin is None or child.stdout is None:
        raise EngineError(102, "the demo's server has no pipes")
    asked = {"server": ServerSpec(bind_host=LOOPBACK, port=0).to_json()}
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps(asked).encode() + b"\n")
        child.stdin.flush()
    deadline_s = time.monotonic() + START_S
    for event in _events(child.stdout.fileno(), deadline_s):
        if isinstance(event, Listening):
            return event.port
        if isinstance(event, Failed):
            raise EngineError(event.code, f"the demo's server does not start: {event.text}")
    raise EngineError(102, f"the demo's server did not start within {START_S:.0f} s")


def _events(fd: int, deadline_s: float) -> Iterator[Event]:
    data = b""
    while select.select([fd], [], [], max(0.0, deadline_s - time.monotonic()))[0]:
        chunk = os.read(fd, 4096)
        if not chunk:
            return
        *lines, data = (data + chunk).split(b"\n")
        for line in lines:
            with contextlib.suppress(EventError):
                yield from_line(line.decode("utf-8", "replace"))[1]


def _end(child: subprocess.Popen[bytes]) -> None:
    """The end of its stdin tells the child to go; it is killed when it does not."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
