"""Netlink messages as bytes: build requests, take answers apart. Pure; no bytes make it raise.

Layouts: include/uapi/linux/netlink.h and genetlink.h; RFC 3549.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE, NLMSG_OVERRUN = 1, 2, 3, 4
NLA_F_NESTED = 0x8000
_TYPE_MASK = 0x3FFF
_ORDER = sys.byteorder

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_GENERIC = struct.Struct("=BBH")

Attributes = dict[int, bytes]


@dataclass(frozen=True)
class Message:
    """One message: its type and what follows the header. `error` is an errno, 0 for none."""

    type: int
    sequence: int
    body: bytes
    error: int = 0
    text: str = ""  # what the kernel says about an error


def message(
    type_: int, body: bytes, sequence: int, *, dump: bool = False, ack: bool = False
) -> bytes:
    """A request."""
    flags = NLM_F_REQUEST | (NLM_F_DUMP if dump else 0) | (NLM_F_ACK if ack else 0)
    return _HEADER.pack(_HEADER.size + len(body), type_, flags, sequence, 0) + body


def generic(command: int, attributes: bytes, version: int = 1) -> bytes:
    """The body of a generic netlink request."""
    return _GENERIC.pack(command, version, 0) + attributes


def attribute(type_: int, value: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), type_) + value + b"\0" * (-len(value) % 4)


def nest(type_: int, *inner: bytes) -> bytes:
    """An attribute that holds attributes."""
    return attribute(type_ | NLA_F_NESTED, b"".join(inner))


def messages(data: bytes) -> Iterator[Message]:
    """The messages of one datagram; ends quietly where the bytes do not go on."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, type_, flags, sequence, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or at + length > len(data):
            return
        body = data[at + _HEADER.size : at + length]
        if type_ == NLMSG_ERROR:
            yield _error(body, flags, sequence)
        else:
            yield Message(type_, sequence, body)
        at += (length + 3) & ~3


def _error(body: bytes, flags: int, sequence: int) -> Message:
    """An acknowledgement or a refusal, with the kernel's words where it gives some (extack)."""
    number = -int.from_bytes(body[:4], _ORDER, signed=True) if len(body) >= 4 else 0
    text = ""
    if flags & 0x200 and len(body) >= 20:  # NLM_F_ACK_TLVS
        capped = flags & 0x100
        quoted = int.from_bytes(body[4:8], _ORDER) if not capped else _HEADER.size
        text = string(attributes(body[4 + ((quoted + 3) & ~3) :]).get(1)) or ""
    return Message(NLMSG_ERROR, sequence, body, max(0, number), text)


def generic_body(body: bytes) -> tuple[int, Attributes]:
    """The command and the attributes of a generic netlink message; -1 when it is too short."""
    if len(body) < _GENERIC.size:
        return -1, {}
    return body[0], attributes(body[_GENERIC.size :])


def attributes(data: bytes) -> Attributes:
    """Attributes by type; of a type that comes twice the last one counts."""
    return dict(each_attribute(data))


def each_attribute(data: bytes) -> Iterator[tuple[int, bytes]]:
    """All attributes in their order; ends quietly where the bytes do not go on."""
    at = 0
    while at + _ATTRIBUTE.size <= len(data):
        length, type_ = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size or at + length > len(data):
            return
        yield type_ & _TYPE_MASK, data[at + _ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3


def unsigned(value: bytes | None) -> int | None:
    """A number of 1, 2, 4 or 8 bytes in this machine's order; other lengths mean nothing."""
    if value is None or len(value) not in (1, 2, 4, 8):
        return None
    return int.from_bytes(value, _ORDER)


def signed(value: bytes | None) -> int | None:
    """Like `unsigned`, for a number that may be negative."""
    if value is None or len(value) not in (1, 2, 4, 8):
        return None
    return int.from_bytes(value, _ORDER, signed=True)


def flag(value: bytes | None) -> bool | None:
    """A number that means yes or no."""
    number = unsigned(value)
    return None if number is None else bool(number)


def string(value: bytes | None) -> str | None:
    """A text that ends at the first NUL; bytes that are no UTF-8 are kept as escapes."""
    if value is None:
        return None
    return value.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
