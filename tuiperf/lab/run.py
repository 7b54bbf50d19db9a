"""Bring a path up, run commands and functions on its sides, and leave nothing behind.

with path("long-fat-pipe") as lab:
    lab.near.run(["iperf3", "-c", lab.peer])
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

import tuiperf
from tuiperf.engine import prctl
from tuiperf.lab import backend as backends
from tuiperf.lab import limits, messages, namespaces, profiles, registry
from tuiperf.lab.errors import LabEndedError, LabError
from tuiperf.lab.namespaces import Namespaces
from tuiperf.lab.spec import PathSpec

PEER_VARIABLE = "TUIPERF_PEER"
START_S = 30.0
END_S = 5.0

P = ParamSpec("P")
T = TypeVar("T")


class Started(Generic[T]):
    """A function that runs on one side, in a process of its own."""

    def __init__(self, side: str, pid: int, reader: int) -> None:
        self._side, self._pid, self._reader = side, pid, reader

    def result(self) -> T:
        """Wait for what it returns, or raise what it raised."""
        with os.fdopen(self._reader, "rb") as pipe:
            data = pipe.read()
        os.waitpid(self._pid, 0)
        if not data:
            raise LabError(f"the function on the {self._side} side ended without an answer")
        fine, value = pickle.loads(data)
        if not fine:
            raise value
        return cast(T, value)


@dataclass(frozen=True)
class Side:
    """One side of a lab: where commands and functions run."""

    name: str
    peer: str  # the other side's address
    spaces: Namespaces
    limits: tuple[int, int] = (0, 0)  # net.core.rmem_max and wmem_max in bytes, 0: the machine's

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a command there; it dies with the thread that started it. Takes Popen's options."""
        options.setdefault("env", os.environ)
        options["env"] = {**options["env"], PEER_VARIABLE: self.peer}
        return subprocess.Popen(argv, preexec_fn=self._enter, **options)  # noqa: PLW1509

    def run(
        self, argv: Sequence[str], timeout: float | None = None, **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command there to its end, its output captured as text."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        with self.popen(argv, **options) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function there, in a forked process, and return what it returns.

        Its exceptions come back as they are, if they can be pickled. Raises LabError when the
        process ends without an answer. Not for processes with threads.
        """
        return self.start(function, *args, **kwargs).result()

    def start(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Started[T]:
        """Begin what `call` does, and go on meanwhile."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            self._answer(writer, lambda: function(*args, **kwargs))
        os.close(writer)
        return Started(self.name, pid, reader)

    def enter(self) -> None:
        """Move this whole process to this side, for good. Raises LabError."""
        try:
            self._go()
        except OSError as error:
            raise LabError(f"cannot enter the {self.name} side: {error.strerror}") from None
        os.environ[PEER_VARIABLE] = self.peer

    def _enter(self) -> None:
        prctl.die_with_parent()
        self._go()

    def _go(self) -> None:
        namespaces.enter(self.spaces, self.name)
        if any(self.limits):
            limits.restrict(*self.limits)

    def _answer(self, writer: int, function: Callable[[], object]) -> None:
        try:
            self._enter()
            try:
                answer = pickle.dumps((True, function()))
            except Exception as error:
                answer = pickle.dumps((False, error))
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(answer)
        finally:
            os._exit(0)


class Lab:
    """A lab that is up. `info` is what its keeper tells about it."""

    def __init__(
        self,
        control: socket.socket,
        info: Mapping[str, Any],
        fds: Sequence[int],
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.info = info
        self.peer = str(info["peer"])
        self.backend = str(info["backend"])
        self._control = control
        self._process = process
        self.spaces = Namespaces(fds[0], fds[1], fds[2] if len(fds) > 2 else None)
        path = self.path
        self.near = Side("near", self.peer, self.spaces, path.near.limits)
        self.far = Side("far", str(info["here"]), self.spaces, path.far.limits)
        if any((*self.near.limits, *self.far.limits)):
            limits.check_supported()
        prctl.load()
        namespaces.load()

    @property
    def path(self) -> PathSpec:
        return PathSpec.from_json(self.info["path"])

    def counters(self) -> dict[str, Any]:
        """What the relay counted so far, {} with another backend. Raises LabEndedError."""
        return self._ask({"want": "counters"})

    def change(self, spec: PathSpec) -> None:
        """Give the directions other properties while traffic runs. Raises LabError."""
        spec.check()
        answer = self._ask({"want": "change", "path": spec.to_json()})
        if "error" in answer:
            raise LabError(str(answer["error"]))

    def alive(self) -> bool:
        """False once a part of the lab has ended, and with it the whole."""
        readable, _, _ = select.select([self._control], [], [], 0)
        return not readable

    def fileno(self) -> int:
        """A descriptor that becomes readable when the lab ends."""
        return self._control.fileno()

    def why_ended(self) -> str:
        """The reason, once `alive` is False."""
        with contextlib.suppress(LabError):
            return str(messages.receive(self._control)[0].get("ended", ""))
        return "its keeper was killed"

    def close(self) -> None:
        """Let go of the lab; one of our own ends with that, and is waited for."""
        self._control.close()
        if self._process is not None:
            self._await(self._process)
        for fd in (self.spaces.near, self.spaces.far, self.spaces.user):
            if fd is not None:
                os.close(fd)

    def _await(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        namespaces.clear(self.spaces, {os.getpid()})

    def down(self) -> None:
        """End the lab, whoever it belongs to, and wait until it is gone.

        Raises LabSilentError when it does not go in time.
        """
        with contextlib.suppress(OSError):
            messages.send(self._control, {"want": "down"})
        with contextlib.suppress(LabEndedError):
            while True:
                messages.receive(self._control)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        return messages.ask(self._control, message)[0]


def start(
    spec: PathSpec,
    *,
    name: str = "",
    profile: str = "",
    backend: str | None = None,
    in_user_namespace: bool | None = None,
) -> Lab:
    """Bring a path up. With a `name` it stays until it is taken down, else it ends with us.

    Raises LabError with one line when it cannot be.
    """
    namespaces.supported()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tuiperf.lab.keeper"],
        stdin=theirs.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if name else None,
        env=_environment(),
        cwd="/",
        start_new_session=True,
    )
    theirs.close()
    ours.settimeout(START_S)
    asked = {
        "path": spec.to_json(),
        "name": name,
        "profile": profile,
        "backend": backends.wanted_here() if backend is None else backend,
        "in_user_namespace": in_user_namespace,
    }
    try:
        info, fds = messages.ask(ours, asked)
        if not fds:
            raise LabError(str(info.get("ended", "the lab cannot be made")))
        if name:
            ours.close()
            _let_go(process)
            return _joined(name)
        return Lab(ours, info, fds, process)
    except BaseException:
        ours.close()
        if process.returncode is None:
            process.kill()
            process.wait()
        raise


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """A keeper with a name outlives us: nobody here waits for it."""
    process.returncode = 0


def _joined(name: str) -> Lab:
    lab = join(name)
    if lab is None:
        raise LabEndedError(f"the lab {name!r} has ended already")
    return lab


def join(name: str) -> Lab | None:
    """A lab that is up under this name, None when there is none. Raises LabError."""
    control = registry.connect(name)
    if control is None:
        return None
    try:
        info, fds = messages.ask(control, {"want": "join"})
    except LabError:
        control.close()
        raise
    return Lab(control, info, fds)


@contextmanager
def path(what: str | PathSpec | Mapping[str, Any], **options: Any) -> Iterator[Lab]:
    """A lab for the time of a `with`: a profile's name, a path, or a table as in a profile.

    Takes the options of `start`. Raises LabError when it cannot be.
    """
    profile = what if isinstance(what, str) else ""
    if isinstance(what, PathSpec):
        spec = what
    elif isinstance(what, str):
        spec = profiles.load(what).path
    else:
        spec = profiles.build(what)
    lab = start(spec, profile=profile, **options)
    try:
        yield lab
    finally:
        lab.close()


def _environment() -> dict[str, str]:
    """Ours, with this package found first, wherever it is run from."""
    root = str(Path(tuiperf.__file__).resolve().parents[1])
    rest = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{rest}" if rest else root}


def exit_code_of(process: subprocess.Popen[Any]) -> int:
    """The exit code as a shell has it: 128 and the signal's number when one ended it."""
    code = process.returncode
    return code if code >= 0 else 128 - code


def stop_politely(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    """Pass a signal on to a command, if it still runs."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)
