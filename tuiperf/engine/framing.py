"""JSON messages of iperf3's control connection: a 4-byte big-endian length, then the text.

Writing is strict and compact. Reading is lenient, because 3.1 to 3.21 write different things
and their own reader (cJSON) forgives a lot: what it would accept, `parse_json_frame` accepts.
Nothing is allocated on the word of a peer's length field.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Optional

JsonObject = dict[str, Any]

LENGTH_BYTES = 4
MAX_PARAMETERS_BYTES = 8192
"""What a server of 3.18 and newer accepts as parameters, and ours too."""
MAX_RESULTS_BYTES = 16 * 1024 * 1024 - 1
"""Largest results read; they may carry the server's whole output. Below 2**24 on purpose: the
first byte of every acceptable length is 0, so it cannot be mistaken for a state byte."""
MAX_JSON_VALUES = 1_000_000
MAX_JSON_DEPTH = 100

PARAMETER_KEYS = [
    "tcp",
    "udp",
    "sctp",
    "omit",
    "server_affinity",
    "time",
    "num",
    "blockcount",
    "MSS",
    "nodelay",
    "parallel",
    "reverse",
    "bidirectional",
    "mptcp",
    "window",
    "len",
    "bandwidth",
    "fqrate",
    "pacing_timer",
    "burst",
    "gso",
    "gso_dg_size",
    "gso_bf_size",
    "gro",
    "gro_bf_size",
    "TOS",
    "flowlabel",
    "title",
    "extra_data",
    "congestion",
    "congestion_used",
    "get_server_output",
    "udp_counters_64bit",
    "repeating_payload",
    "zerocopy",
    "dont_fragment",
    "authtoken",
    "skip_rx_copy",
    "client_version",
]
RESULT_KEYS = [
    "cpu_util_total",
    "cpu_util_user",
    "cpu_util_system",
    "sender_has_retransmits",
    "congestion_used",
    "server_output_text",
    "server_output_json",
    "streams",
]
STREAM_RESULT_KEYS = [
    "id",
    "bytes",
    "retransmits",
    "jitter",
    "errors",
    "omitted_errors",
    "packets",
    "omitted_packets",
    "start_time",
    "end_time",
]

_TOP_SPELLING = {key.lower(): key for key in PARAMETER_KEYS + RESULT_KEYS}
_STREAM_SPELLING = {key.lower(): key for key in STREAM_RESULT_KEYS}
_STRING_OR_NOT_FINITE = re.compile(
    r'("[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))|-?\b(?:nan|inf(?:inity)?)\b', re.DOTALL | re.IGNORECASE
)
_SURROGATE_ESCAPE = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


class FrameError(ValueError):
    """A peer's JSON message cannot be used; the text says why, without quoting the peer."""


def encode_json_frame(document: JsonObject) -> bytes:
    """Compact JSON behind its length. Strings that came from undecodable bytes go out as such.

    Raises ValueError for a NaN or an infinity, which no peer could read.
    """
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        body = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        body = text.encode("utf-8", "replace")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def check_length(header: bytes, limit_bytes: int) -> int:
    """Length of the text announced by the 4-byte `header`; FrameError when 0 or over the limit."""
    length = int.from_bytes(header, "big")
    if length == 0:
        raise FrameError("the message is empty")
    if length > limit_bytes:
        raise FrameError(f"a message of {length} bytes was announced, {limit_bytes} is the limit")
    return length


def parse_json_frame(body: bytes) -> JsonObject:
    """Read the text of one message as leniently as iperf3's own reader.

    A byte order mark, anything behind the first NUL and anything behind the object are dropped;
    bytes that are not UTF-8 become U+FFFD; numbers that are not finite become None; integers
    from 2**63 up lose 2**64 (3.12 writes -1 that way); keys of the protocol get the protocol's
    spelling whatever their case, and the first of two equal keys wins; an array counts as an
    object without members. Raises FrameError for anything else.
    """
    text = body.split(b"\0", 1)[0].decode("utf-8-sig", "replace").strip()
    if text.count(",") + text.count("[") + text.count("{") > MAX_JSON_VALUES:
        raise FrameError(f"the message holds more than {MAX_JSON_VALUES} values")
    value = _without_lone_surrogates(_decode(text), text)
    if isinstance(value, list):
        return {}
    if not isinstance(value, dict):
        raise FrameError("the message is not a JSON object")
    document = _respelled(value, _TOP_SPELLING)
    streams = document.get("streams")
    if isinstance(streams, list):
        document["streams"] = [
            _respelled(one, _STREAM_SPELLING) if isinstance(one, dict) else one for one in streams
        ]
    return document


def _decode(text: str) -> Any:
    try:
        try:
            value, _ = _DECODER.raw_decode(text)
        except ValueError:
            value, _ = _DECODER.raw_decode(
                _STRING_OR_NOT_FINITE.sub(lambda found: found.group(1) or "null", text)
            )
    except ValueError:
        raise FrameError("the message is not valid JSON") from None
    except RecursionError:
        raise FrameError("the message is nested too deeply") from None
    if _deeper_than(value, MAX_JSON_DEPTH):
        raise FrameError("the message is nested too deeply")
    return value


def _first_wins(pairs: list[tuple[str, Any]]) -> JsonObject:
    members: JsonObject = {}
    for key, value in pairs:
        members.setdefault(key, value)
    return members


def _whole_number(digits: str) -> Any:
    if len(digits) > 20:
        return _real_number(digits)
    number = int(digits)
    if 2**63 <= number < 2**64:
        return number - 2**64
    return number if -(2**63) <= number < 2**63 else float(number)


def _real_number(digits: str) -> Optional[float]:
    number = float(digits)
    return number if math.isfinite(number) else None


def _not_finite(_word: str) -> None:
    return None


_DECODER = json.JSONDecoder(
    object_pairs_hook=_first_wins,
    parse_int=_whole_number,
    parse_float=_real_number,
    parse_constant=_not_finite,
    strict=False,
)


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [
            child
            for parent in level
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return any(isinstance(one, (dict, list)) for one in level)


def _without_lone_surrogates(value: Any, text: str) -> Any:
    """Strings that UTF-8 can hold, also where the peer wrote half a surrogate pair."""
    if not _SURROGATE_ESCAPE.search(text):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _respelled(members: JsonObject, spelling: dict[str, str]) -> JsonObject:
    return _first_wins([(spelling.get(key.lower(), key), one) for key, one in members.items()])
