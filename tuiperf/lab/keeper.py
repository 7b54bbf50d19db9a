"""`python -m tuiperf.lab.keeper`: makes a lab, keeps it alive, and ends all of it.

It holds the namespaces and is the parent of the relay, the server and the helpers, which the
kernel kills when it ends, however it ends. It ends itself when its owner's socket closes, when a
part of the lab ends, or when it is told to; then it kills who is still on either side. A lab with a
name has no owner: it listens on an abstract socket, which leaves no file behind, and lives until it
is told to end.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from tuiperf.engine import prctl
from tuiperf.lab import backend, messages, namespaces, netem, topology
from tuiperf.lab.errors import LabError
from tuiperf.lab.farserver import FarServer
from tuiperf.lab.namespaces import Namespaces, inside
from tuiperf.lab.registry import listen
from tuiperf.lab.spec import SIDES, Helper, PathSpec

CROWD_PORT = 5299
END_S = 2.0
_STOPPING = (signal.SIGTERM, signal.SIGINT)
_NO_HELPERS = ("the server", "the warden")

Json = dict[str, Any]


@dataclass
class Part:
    """A process of the lab."""

    name: str
    process: subprocess.Popen[bytes]
    vital: bool = True


class Keeper:
    """One lab. `owner` is the socket of who asked for it."""

    def __init__(self, owner: socket.socket) -> None:
        self._owner = owner
        self._owner_pid = os.getppid()
        self._parts: list[Part] = []
        self._relay: socket.socket | None = None
        self._listener: socket.socket | None = None
        self._guests: list[socket.socket] = []
        self._server: FarServer | None = None
        self._spaces: Namespaces | None = None
        self._info: Json = {}
        self._why = ""
        self._wake, self._woken = os.pipe()

    def keep(self) -> None:
        """Make the lab that the owner asks for, tell them, and keep it until its end."""
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        for number in _STOPPING:
            signal.signal(number, self._on_signal)
        try:
            asked, _ = messages.receive(self._owner)
            self._make(asked)
            messages.send(self._owner, self._info, self._fds())
            if self._listener is not None:
                self._owner.close()
            self._watch()
        except LabError as error:
            self._why = str(error)
        except Exception as error:
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            self._why = f"the lab failed: {reason}"
        finally:
            self._end()

    def _on_signal(self, number: int, frame: object) -> None:
        self._why = self._why or f"it was told to end ({signal.Signals(number).name})"

    def _make(self, asked: Json) -> None:
        path = PathSpec.from_json(asked["path"])
        name = str(asked.get("name", ""))
        if name:
            self._listener = listen(name)
        spaces = self._spaces = namespaces.make(asked.get("in_user_namespace"))
        self._start_warden(spaces)
        has_netem = not path.empty and netem.available()
        chosen, because = backend.choose(path, has_netem, str(asked.get("backend", "")))
        self._connect(chosen, path)
        for side in SIDES:
            topology.set_host(spaces, side, path.near if side == "near" else path.far)
        with inside(spaces, "far"):
            self._server = FarServer(path.far)
        self._parts.append(Part("the server", self._server.process))
        for helper in path.helpers:
            self._help(helper)
        port = self._server.wait()
        self._info = {
            "name": name,
            "profile": str(asked.get("profile", "")),
            "path": path.to_json(),
            "backend": chosen,
            "because": because,
            "realtime": bool(self._ask_relay({})["realtime"]) if self._relay else False,
            "peer": topology.ADDRESSES["far"],
            "peer6": topology.ADDRESSES6["far"],
            "here": topology.ADDRESSES["near"],
            "port": port,
            "pid": os.getpid(),
            "parts": {part.name: part.process.pid for part in self._parts},
            "since": time.time(),
            "as_root": spaces.user is None,
        }

    def _connect(self, chosen: str, path: PathSpec) -> None:
        assert self._spaces is not None
        if chosen == backend.CABLE:
            topology.make_veth(self._spaces)
        elif chosen == backend.NETEM:
            netem.make(self._spaces, path)
        else:
            self._start_relay(path)

    def _start_relay(self, path: PathSpec) -> None:
        assert self._spaces is not None
        near, far = topology.make_tuns(self._spaces)
        self._relay, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fds = (near, far, theirs.fileno())
        process = self._start("tuiperf.lab.relay", [str(fd) for fd in fds], pass_fds=fds)
        self._parts.append(Part("the relay", process))
        for fd in (near, far):
            os.close(fd)
        theirs.close()
        self._relay.settimeout(10.0)
        messages.ask(self._relay, path.to_json())

    def _start_warden(self, spaces: Namespaces) -> None:
        fds = (spaces.near, spaces.far)
        arguments = [*map(str, fds), str(self._owner_pid)]
        process = self._start("tuiperf.lab.warden", arguments, pass_fds=fds)
        self._parts.append(Part("the warden", process))

    def _start(
        self, module: str, arguments: list[str], pass_fds: tuple[int, ...] = ()
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=pass_fds,
            start_new_session=True,
        )

    def _help(self, helper: Helper) -> None:
        assert self._spaces is not None
        module = "tuiperf.lab.helpers"
        if helper.kind == "crowd":
            peer = topology.ADDRESSES["far"]
            with inside(self._spaces, "far"):
                sink = self._start(module, ["sink", str(CROWD_PORT)])
            self._parts.append(Part("the other traffic's far end", sink))
            arguments = ["crowd", peer, str(CROWD_PORT), helper.toward, str(helper.streams)]
        elif helper.kind == "pause":
            arguments = ["pause", str(helper.run_s), str(helper.stop_s)]
        else:
            arguments = ["hog"]
        arguments += [str(helper.after_s), str(helper.for_s)]
        side = "near" if helper.kind == "crowd" else helper.side
        with inside(self._spaces, side):
            self._parts.append(Part(f"the {helper.kind}", self._start(module, arguments)))

    def _fds(self) -> list[int]:
        spaces = self._spaces
        assert spaces is not None
        return [spaces.near, spaces.far, *([spaces.user] if spaces.user is not None else [])]

    def _watch(self) -> None:
        assert self._server is not None
        poll = select.poll()
        pidfds = {os.pidfd_open(part.process.pid): part for part in self._parts}
        for fd in (self._wake, self._server.fd, *pidfds):
            poll.register(fd, select.POLLIN)
        clients = {self._listener.fileno(): self._listener} if self._listener else {}
        if not self._listener:
            clients = {self._owner.fileno(): self._owner}
        for fd in clients:
            poll.register(fd, select.POLLIN)
        while not self._why:
            for fd, _ in poll.poll():
                if fd in pidfds:
                    self._why = self._why or f"{pidfds[fd].name} ended"
                elif fd == self._server.fd:
                    self._tell_helpers()
                elif self._listener is not None and fd == self._listener.fileno():
                    self._accept(poll, clients)
                elif fd in clients and not self._answer(clients[fd]):
                    poll.unregister(fd)
                    clients.pop(fd).close()
                    if self._listener is None:
                        self._why = "its owner ended"

    def _tell_helpers(self) -> None:
        assert self._server is not None
        for word in self._server.news():
            for part in self._parts:
                if part.process.stdin is not None and part.name not in _NO_HELPERS:
                    with contextlib.suppress(OSError):
                        os.write(part.process.stdin.fileno(), word)

    def _accept(self, poll: Any, clients: dict[int, socket.socket]) -> None:
        assert self._listener is not None
        guest, _ = self._listener.accept()
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack(
            "3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        )
        if uid not in (0, os.geteuid()):
            guest.close()
            return
        guest.settimeout(5.0)
        clients[guest.fileno()] = guest
        poll.register(guest.fileno(), select.POLLIN)

    def _answer(self, client: socket.socket) -> bool:
        """Answer one message; False when the other end is gone."""
        try:
            asked, _ = messages.receive(client)
            want = asked.get("want")
            if want == "down":
                self._why = "it was taken down"
                self._guests.append(client)
            elif want == "join":
                messages.send(client, self._info, self._fds())
            elif want == "counters":
                messages.send(client, self._ask_relay({}))
            elif want == "change":
                messages.send(client, self._change(asked))
            else:
                messages.send(client, {"error": "the lab does not know this question"})
        except (LabError, OSError):
            return False
        return True

    def _ask_relay(self, message: Json) -> Json:
        if self._relay is None:
            return {}
        return messages.ask(self._relay, message)[0]

    def _change(self, asked: Json) -> Json:
        try:
            path = PathSpec.from_json(asked.get("path", {}))
        except LabError as error:
            return {"error": str(error)}
        if self._relay is None:
            return {"error": "only a lab with the relay can change while it is up"}
        self._info["path"] = path.to_json()
        return self._ask_relay({"path": path.to_json()})

    def _end(self) -> None:
        for part in self._parts:
            part.process.kill()
        for part in self._parts:
            with contextlib.suppress(subprocess.TimeoutExpired):
                part.process.wait(END_S)
        if self._spaces is not None:
            namespaces.clear(self._spaces, {self._owner_pid})
        for client in (self._owner, *self._guests):
            with contextlib.suppress(OSError):
                messages.send(client, {"ended": self._why})


def main() -> int:
    """Keep the lab of the socket on descriptor 0."""
    prctl.load()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    owner = socket.socket(fileno=os.dup(0))
    Keeper(owner).keep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
