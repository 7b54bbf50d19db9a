"""Read the values of options as iperf3 reads them: whole numbers, units, addresses, DSCP names."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import NamedTuple

from tuiperf.engine.errors import describe
from tuiperf.engine.own_end import NO_CORE
from tuiperf.engine.spec import MAX_BURST_BLOCKS, MAX_CORE, MAX_COUNT, MAX_FLOW_LABEL

_REAL = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(.?)", re.DOTALL)
_WHOLE = re.compile(r"\s*([+-]?\d+)")
_C_INTEGER = re.compile(r"\s*(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)\s*\Z")
_STEPS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LINK_LOCAL = re.compile(r"fe[89ab][0-9a-f]:", re.IGNORECASE)
_MAX_DIGITS = 30  # no number that means anything here is longer

# RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 1349's bits, as TOS bytes.
DSCP_NAMES: dict[str, int] = {
    **{f"cs{level}": level << 5 for level in range(8)},
    **{f"af{cls}{drop}": (8 * cls + 2 * drop) << 2 for cls in range(1, 5) for drop in range(1, 4)},
    "ef": 0xB8,
    "va": 0xB0,
    "lowdelay": 0x10,
    "throughput": 0x08,
    "reliability": 0x04,
}


class UsageError(Exception):
    """A command line that cannot be followed: iperf3's error number (0 for none) and one line."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return self.text


class Target(NamedTuple):
    """Where to connect: `port` and `device` are None and "" where the text names none."""

    host: str
    port: int | None
    device: str


def text(value: str) -> str:
    return value


def name(code: int) -> Callable[[str], str]:
    """Make a reader of names that may not be empty; `code` is the error when one is."""

    def read(value: str) -> str:
        if not value:
            raise UsageError(code, f"{describe(code)}: the name is empty")
        return value

    return read


def whole(code: int, low: int, high: int) -> Callable[[str], int]:
    """Make a reader of whole numbers from `low` to `high`; `code` is the error outside of them.

    Like C's atoi it stops at the first character that is no digit, so `22x` is 22. Unlike it, a
    text without any digit is an error and not 0: `-t abc` would otherwise run without an end.
    """

    def read(value: str) -> int:
        match = _WHOLE.match(value)
        if match is None or len(match[1]) > _MAX_DIGITS or not low <= int(match[1]) <= high:
            raise UsageError(code, describe(code))
        return int(match[1])

    return read


def real(code: int, low: float, high: float) -> Callable[[str], float]:
    """Make a reader of 0 or a number from `low` to `high`; `code` is the error outside of them."""

    def read(value: str) -> float:
        match = _REAL.match(value)
        number = float(match[1]) if match else -1.0
        if number and not low <= number <= high:
            raise UsageError(code, describe(code))
        return number

    return read


def amount(step: int) -> Callable[[str], int]:
    """Make a reader of counts with a suffix: `step` 1024 for bytes, 1000 for rates.

    One letter of kKmMgGtT may follow the number and anything may follow the letter (`10Mbit`).
    """

    def read(value: str) -> int:
        match = _REAL.match(value)
        suffix = match[2].lower() if match else "?"
        if match is None or suffix not in _STEPS:
            raise UsageError(38, f"{describe(38)}: '{value}'")
        number = float(match[1]) * step ** _STEPS[suffix]
        if not 0 <= number <= MAX_COUNT:
            raise UsageError(38, f"{describe(38)}: '{value}' is negative or too large")
        return int(number)

    return read


def rate_and_average(value: str) -> tuple[int, float]:
    """Read `RATE[/SECONDS]`: a limit in bits a second, and what it is averaged over, 0 as usual."""
    rate, slash, seconds = value.partition("/")
    return amount(1000)(rate), real(28, 0.1, 60)(seconds) if slash else 0.0


def rate_and_burst(value: str) -> tuple[int, int]:
    """Read `RATE[/BURST]`: bits a second, and how many blocks go out at once."""
    rate, slash, burst = value.partition("/")
    blocks = whole(15, 1, MAX_BURST_BLOCKS)(burst) if slash else 0
    return amount(1000)(rate), blocks


def format_letter(value: str) -> str:
    if value[:1] not in tuple("kmgtKMGT"):
        raise UsageError(24, describe(24))
    return value[0]


def type_of_service(value: str) -> int:
    """Read the TOS byte in C's notation: 52, 064 and 0x34 are the same."""
    tos = _c_integer(value)
    if tos is None or tos > 255:
        raise UsageError(21, describe(21))
    return tos


def flow_label(value: str) -> int:
    """Read an IPv6 flow label in C's notation."""
    label = _c_integer(value)
    if label is None or not 1 <= label <= MAX_FLOW_LABEL:
        raise UsageError(127, f"{describe(127)}: it is a number from 1 to {MAX_FLOW_LABEL:#x}")
    return label


def dscp(value: str) -> int:
    """Read a DSCP, a number from 0 to 63 or a name such as ef, and return the TOS byte."""
    number = _c_integer(value)
    if number is not None and number <= 63:
        return number << 2
    tos = DSCP_NAMES.get(value.strip().lower())
    if tos is None:
        raise UsageError(
            40, f"{describe(40)} (0 to 63, or one of cs0..cs7, af11..af43, ef, va): '{value}'"
        )
    return tos


def _c_integer(value: str) -> int | None:
    match = _C_INTEGER.match(value)
    if match is None or len(match[1]) > _MAX_DIGITS:
        return None
    digits = match[1].lower()
    if digits.startswith("0x"):
        return int(digits, 16)
    return int(digits, 8 if digits.startswith("0") else 10)


def core_and_far_core(value: str) -> tuple[int, int]:
    """Read `N[,M]`: the processor core to run on, and the server's, -1 where none is named."""
    own, comma, far = value.partition(",")
    core = whole(132, 0, MAX_CORE)
    return core(own), core(far) if comma else NO_CORE


def keep_alive(value: str) -> tuple[int, int, int]:
    """Read `IDLE/INTERVAL/COUNT`, seconds and a number; any part may be missing."""
    parts = [*value.split("/"), "", ""]
    if len(parts) > 5:
        raise UsageError(36, f"{describe(36)}: '{value}'")
    part = whole(36, 0, MAX_COUNT)
    idle, interval, count = (part(each) if each else 0 for each in parts[:3])
    return idle, interval, count


def debug_level(value: str) -> int:
    """Read a level from 1 to 4; as in iperf3 all else is the most."""
    match = _WHOLE.match(value)
    level = int(match[1]) if match and len(match[1]) <= _MAX_DIGITS else 0
    return level if 1 <= level <= 4 else 4


def host_and_device(value: str) -> tuple[str, str]:
    """Split `HOST[%DEV]`; of a link-local IPv6 address `%DEV` is a part (RFC 4007) and stays."""
    host, percent, device = value.partition("%")
    if not host or (percent and not device):
        raise UsageError(0, f"'{value}' names no host")
    if percent and _LINK_LOCAL.match(host):
        return value, ""
    return host, device


def target(value: str) -> Target:
    """Read HOST: a name, an IPv4 or IPv6 address, `host:port`, `[v6]:port`, with `%DEV` or not."""
    if value.startswith("["):
        inner, bracket, rest = value[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise UsageError(0, f"'{value}' is no address: write [address]:port")
        if not is_ipv6(inner):
            raise UsageError(0, f"'{inner}' in brackets is no IPv6 address")
        address, port = inner, rest[1:] if rest else None
    elif value.count(":") == 1:
        address, _, port = value.partition(":")
    else:
        address, port = value, None
        if ":" in value and not is_ipv6(value):
            raise UsageError(0, f"'{value}' is neither host:port nor an IPv6 address")
    host, device = host_and_device(address)
    return Target(host, None if port is None else _port(port, value), device)


def _port(digits: str, value: str) -> int:
    if not digits.isascii() or not digits.isdigit() or len(digits) > 5:
        raise UsageError(26, f"'{digits}' in '{value}' is no port number")
    if not 1 <= int(digits) <= 65535:
        raise UsageError(26, describe(26))
    return int(digits)


def is_ipv6(value: str) -> bool:
    """True for an IPv6 address in figures, with `%DEV` or not."""
    try:
        socket.inet_pton(socket.AF_INET6, value.partition("%")[0])
    except (OSError, ValueError):
        return False
    return True


def is_ipv4(value: str) -> bool:
    """True for an IPv4 address of four figures."""
    try:
        socket.inet_pton(socket.AF_INET, value)
    except (OSError, ValueError):
        return False
    return True
