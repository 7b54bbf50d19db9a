"""Looking names up without being held up by a name server."""

from __future__ import annotations

import os
import socket
import time

import pytest

from tests.engine.driving import client_spec, run
from tuiperf.engine import lookup, sockets
from tuiperf.engine.errors import EngineError
from tuiperf.engine.lookup import look_up
from tuiperf.engine.sockets import Address
from tuiperf.engine.stops import AT_ONCE, GRACEFUL, Stops
from tuiperf.events import Event, RunStarted


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
@pytest.mark.parametrize("family", [socket.AF_UNSPEC, socket.AF_INET, socket.AF_INET6])
def test_it_finds_what_the_system_finds(host: str, family: int) -> None:
    before = descriptors()
    try:
        expected: Address | str = sockets.resolve(host, 5201, family, 103)
    except EngineError as error:
        expected = error.text
    try:
        found: Address | str = look_up(host, 5201, family, 103)
    except EngineError as error:
        assert error.code == 103
        found = error.text
    assert found == expected
    assert descriptors() == before


def test_a_numeric_address_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", None)
    assert look_up("192.0.2.7", 5201, socket.AF_UNSPEC, 103).shown == "192.0.2.7"


def test_an_odd_name_is_an_error_in_one_line() -> None:
    for host in ("\x1b[2J", "a..b", "x" * 300, "nul\0byte", ""):
        with pytest.raises(EngineError) as raised:
            look_up(host, 5201, socket.AF_UNSPEC, 103)
        assert raised.value.text.isprintable()


def slow(host: str, port: int, family: int, code: int) -> Address:
    time.sleep(60)
    raise AssertionError


@pytest.mark.parametrize("level", [GRACEFUL, AT_ONCE])
def test_a_stop_ends_the_wait_for_a_name_server(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "resolve", slow)

    def watch(event: Event, stops: Stops) -> None:
        if isinstance(event, RunStarted):
            stops.request(level)

    began_s = time.monotonic()
    done = run(client_spec(5201, host="far.example"), watch)
    assert done.outcome == "interrupted"
    assert time.monotonic() - began_s < 30
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_look_up_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "resolve", lambda *asked: os._exit(1))
    with pytest.raises(EngineError, match="broke off") as raised:
        look_up("far.example", 5201, socket.AF_UNSPEC, 103)
    assert raised.value.code == 103
