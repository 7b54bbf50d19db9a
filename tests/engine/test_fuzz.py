"""Anything at all as a peer's words: 20,000 cases and more; TUIPERF_FUZZ=50 makes it 50 times so.

What must hold: only the one error that is meant for it, and only values in their ranges.
"""

from __future__ import annotations

import json
import os
import random
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.wired import COOKIE, LIVE_STATES, machine_in
from tuiperf.engine import results
from tuiperf.engine.errors import EngineError
from tuiperf.engine.framing import (
    PARAMETER_KEYS,
    RESULT_KEYS,
    STREAM_RESULT_KEYS,
    FrameError,
    encode_json_frame,
    parse_json_frame,
)
from tuiperf.engine.protocol import TERMINAL, TRANSITIONS, Role, State, Trigger
from tuiperf.engine.spec import TestSpec
from tuiperf.events import EventError, from_line

LONGER = int(os.environ.get("TUIPERF_FUZZ", "1"))


def cases(count: int) -> settings:
    return settings(
        max_examples=count * LONGER,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


ODD_NUMBERS = st.sampled_from([0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1e308, 0.5, -1e9])
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_NUMBERS | st.text(max_size=8)
)
KEYS = st.sampled_from([*PARAMETER_KEYS, *RESULT_KEYS, *STREAM_RESULT_KEYS]) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=8)


def spoiled(document: Any, seed: int) -> bytes:
    """A document as text with some of its bytes changed, taken out or doubled."""
    text = bytearray(json.dumps(document).encode())
    draw = random.Random(seed)
    for _ in range(draw.randint(0, 4)):
        at = draw.randrange(len(text) + 1)
        text[at : at + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
    return bytes(text)


@cases(4000)
@given(document=VALUES, seed=st.integers(0, 2**32))
def test_the_reader_of_the_wire(document: Any, seed: int) -> None:
    with suppress(FrameError):
        read = parse_json_frame(spoiled(document, seed))
        assert isinstance(read, dict)
        encode_json_frame(read)


@cases(3000)
@given(body=st.binary(max_size=120))
def test_the_reader_of_the_wire_with_any_bytes(body: bytes) -> None:
    with suppress(FrameError):
        assert isinstance(parse_json_frame(body), dict)


@cases(4000)
@given(document=DOCUMENTS, seed=st.integers(0, 2**32))
def test_the_reader_of_recordings(document: dict[str, Any], seed: int) -> None:
    kind = random.Random(seed).choice(["interval", "agreed", "results", "failed", "note"])
    line = spoiled({"v": 1, "n": 1, "kind": kind, "t_s": 0.5, **document}, seed)
    with suppress(EventError):
        number, event = from_line(line.decode("utf-8", "replace"))
        assert number >= 0 and event.t_s == event.t_s


@cases(4000)
@given(document=DOCUMENTS)
def test_parameters(document: dict[str, Any]) -> None:
    with suppress(EngineError):
        spec = TestSpec.from_parameters(document)
        assert 1 <= spec.parallel <= 128 and 0 <= spec.time_s <= 86400
        assert 0 <= spec.limit_bytes < 2**63


@cases(3000)
@given(document=DOCUMENTS, rows=st.lists(DOCUMENTS, max_size=3))
def test_results(document: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    with suppress(EngineError):
        read = results.from_json({**document, "streams": rows}, 1.0)
        assert all(row.bytes >= 0 for row in read.streams)
        encode_json_frame(results.to_json(read))


PIECES = st.lists(
    st.binary(max_size=40)
    | st.sampled_from([bytes([word]) for word in (1, 2, 4, 9, 10, 11, 12, 13, 14, 16, 254, 255)])
    | DOCUMENTS.map(lambda each: spoiled(each, 7)).map(lambda b: len(b).to_bytes(4, "big") + b)
    | st.just(COOKIE),
    max_size=6,
)


@cases(4000)
@given(at=st.sampled_from(LIVE_STATES), pieces=PIECES)
def test_the_machines(at: tuple[Role, State], pieces: list[bytes]) -> None:
    machine = machine_in(*at)
    for piece in pieces:
        machine.receive(piece)
        machine.bytes_to_send()
    if (machine.state, Trigger.TIMEOUT) in TRANSITIONS[at[0]]:
        machine.timed_out()
    machine.eof()
    assert machine.state in TERMINAL and machine.want_close
