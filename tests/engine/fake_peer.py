"""The other side, scripted: a server or a client that says what a test wants it to say, or dies.

Both know iperf3's exchange as a list of steps; a script takes as many of them as it likes.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

COOKIE_BYTES = 37
PATIENCE_S = 20.0

PARAM_EXCHANGE = b"\x09"
CREATE_STREAMS = b"\x0a"
TEST_START, TEST_RUNNING, TEST_END = b"\x01", b"\x02", b"\x04"
EXCHANGE_RESULTS, DISPLAY_RESULTS, IPERF_DONE = b"\x0d", b"\x0e", b"\x10"
SERVER_TERMINATE, CLIENT_TERMINATE = b"\x0b", b"\x0c"
ACCESS_DENIED, SERVER_ERROR = b"\xff", b"\xfe"


def frame(document: object) -> bytes:
    text = json.dumps(document).encode()
    return struct.pack(">I", len(text)) + text


def results(*streams: tuple[int, int]) -> dict[str, Any]:
    """Results of (stream, bytes) pairs, as iperf3 writes them."""
    rows = [
        {"id": stream, "bytes": count, "retransmits": -1, "jitter": 0, "errors": 0, "packets": 0}
        | {"start_time": 0, "end_time": 1.0}
        for stream, count in streams
    ]
    return {
        "cpu_util_total": 1.5,
        "cpu_util_user": 0.5,
        "cpu_util_system": 1.0,
        "sender_has_retransmits": -1,
        "congestion_used": "cubic",
        "streams": rows,
    }


def read(sock: socket.socket, count: int) -> bytes:
    """Exactly `count` bytes; EOFError when the other side closes before."""
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise EOFError(data)
        data += more
    return data


def read_json(sock: socket.socket) -> dict[str, Any]:
    (length,) = struct.unpack(">I", read(sock, 4))
    document = json.loads(read(sock, length))
    assert isinstance(document, dict)
    return document


def reset(sock: socket.socket) -> None:
    """Close with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class ServerSide:
    """A server's end of one test, in steps."""

    def __init__(self, listener: socket.socket, control: socket.socket) -> None:
        self.listener = listener
        self.control = control
        self.data: list[socket.socket] = []
        self.parameters: dict[str, Any] = {}
        self.client_results: dict[str, Any] = {}
        self.received_bytes = 0
        self._readers: list[threading.Thread] = []

    def expect(self, word: bytes) -> None:
        came = read(self.control, len(word))
        assert came == word, f"{came!r} came instead of {word!r}"

    def say(self, data: bytes) -> None:
        self.control.sendall(data)

    def take_cookie(self) -> None:
        self.cookie = read(self.control, COOKIE_BYTES)

    def greet(self) -> None:
        self.say(PARAM_EXCHANGE)
        self.parameters = read_json(self.control)

    def open_streams(self, count: int = 1) -> None:
        self.say(CREATE_STREAMS)
        self.take_streams(count)

    def take_streams(self, count: int) -> None:
        for _ in range(count):
            sock, _ = self.listener.accept()
            sock.settimeout(PATIENCE_S)
            assert read(sock, COOKIE_BYTES) == self.cookie
            self.data.append(sock)

    def start(self) -> None:
        self.say(TEST_START)

    def run(self) -> None:
        self.say(TEST_RUNNING)
        for sock in self.data:
            thread = threading.Thread(target=self._drain, args=(sock,), daemon=True)
            thread.start()
            self._readers.append(thread)

    def await_end(self) -> None:
        self.expect(TEST_END)

    def ask_results(self) -> None:
        self.say(EXCHANGE_RESULTS)
        self.client_results = read_json(self.control)

    def give_results(self) -> None:
        streams = [(row["id"], row["bytes"]) for row in self.client_results["streams"]]
        self.say(frame(results(*streams)))

    def display(self) -> None:
        self.say(DISPLAY_RESULTS)
        self.expect(IPERF_DONE)

    steps: tuple[Callable[[ServerSide], None], ...] = (
        take_cookie,
        greet,
        open_streams,
        start,
        run,
        await_end,
        ask_results,
        give_results,
        display,
    )

    def play(self, until: Callable[..., None] | None = None) -> None:
        """Take the steps of a whole test, or those before `until`."""
        for step in self.steps:
            if step is until:
                return
            step(self)

    def heard(self) -> bytes:
        """All that still comes on the control connection, up to its end."""
        data = b""
        with suppress(OSError):
            while more := self.control.recv(65536):
                data += more
        return data

    def _drain(self, sock: socket.socket) -> None:
        with suppress(OSError):
            while more := sock.recv(1 << 20):
                self.received_bytes += len(more)

    def close(self, end: Callable[[socket.socket], None] = socket.socket.close) -> None:
        for sock in (self.control, *self.data):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RD)  # wakes a thread that reads
            end(sock)
        for thread in self._readers:
            thread.join(PATIENCE_S)


Script = Callable[[ServerSide], None]


class FakeServer:
    """Listens on loopback and plays a script for each connection in turn, in a thread.

    Leaving the context raises what a script raised.
    """

    def __init__(self, *scripts: Script, family: int = socket.AF_INET) -> None:
        self._scripts = scripts
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
        self._listener.listen(300)
        self._listener.settimeout(PATIENCE_S)
        self.port: int = self._listener.getsockname()[1]
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        try:
            for script in self._scripts:
                control, _ = self._listener.accept()
                control.settimeout(PATIENCE_S)
                side = ServerSide(self._listener, control)
                try:
                    script(side)
                finally:
                    side.close()
        except BaseException as error:
            self._error = error
        finally:
            self._listener.close()

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the script has not ended"
        if self._error and not error:
            raise self._error


COOKIE = b"2bfakefakefakefakefakefakefakefakefa\0"


class ClientSide:
    """A client's end of one test, in steps."""

    def __init__(self, port: int, cookie: bytes = COOKIE, **parameters: Any) -> None:
        self.port = port
        self.cookie = cookie
        self.parameters = {"tcp": True, "time": 1, "parallel": 1, "congestion": "cubic"}
        self.parameters.update(parameters)
        self.data: list[socket.socket] = []
        self.control = self._connect()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def expect(self, word: bytes) -> None:
        came = read(self.control, len(word))
        assert came == word, f"{came!r} came instead of {word!r}"

    def say(self, data: bytes) -> None:
        self.control.sendall(data)

    def send_cookie(self) -> None:
        self.say(self.cookie)
        self.expect(PARAM_EXCHANGE)

    def send_parameters(self) -> None:
        self.say(frame(self.parameters))
        self.expect(CREATE_STREAMS)

    def open_stream(self, cookie: bytes = b"") -> socket.socket:
        sock = self._connect()
        sock.sendall(cookie or self.cookie)
        self.data.append(sock)
        return sock

    def open_streams(self) -> None:
        for _ in range(int(str(self.parameters["parallel"]))):
            self.open_stream()
        self.expect(TEST_START + TEST_RUNNING)

    def send_data(self) -> None:
        for sock in self.data:
            sock.sendall(b"x" * 10_000)

    def end(self) -> None:
        self.say(TEST_END)
        self.expect(EXCHANGE_RESULTS)

    def exchange(self) -> None:
        self.say(frame(results((1, 10_000))))
        self.server_results = read_json(self.control)
        self.expect(DISPLAY_RESULTS)

    def finish(self) -> None:
        self.say(IPERF_DONE)
        assert self.control.recv(1) == b""

    steps: tuple[Callable[[ClientSide], None], ...] = (
        send_cookie,
        send_parameters,
        open_streams,
        send_data,
        end,
        exchange,
        finish,
    )

    def play(self, until: Callable[..., None] | None = None) -> None:
        """Take the steps of a whole test, or those before `until`."""
        for step in self.steps:
            if step is until:
                return
            step(self)

    def heard(self) -> bytes:
        """All that still comes on the control connection, up to its end."""
        data = b""
        with suppress(OSError):
            while more := self.control.recv(65536):
                data += more
        return data

    def close(self, end: Callable[[socket.socket], None] = socket.socket.close) -> None:
        for sock in (self.control, *self.data):
            end(sock)

    def __enter__(self) -> ClientSide:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
