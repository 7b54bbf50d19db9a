"""iperf3's error numbers with their words, and the exception that carries one through the engine.

The numbers travel in a SERVER_ERROR message and stand in logs of both ends, so ours are the same
as those of iperf3 3.21 (its `iperf_error.c`).
"""

from __future__ import annotations

import os
from typing import NamedTuple


class ErrorText(NamedTuple):
    """Words for one error number, and whether the words of the OS's errno belong behind them."""

    text: str
    with_os_error: bool


def _plain(text: str) -> ErrorText:
    return ErrorText(text, False)


def _with_os(text: str) -> ErrorText:
    return ErrorText(text, True)


_CONTROL_MESSAGE_LOST = (
    "control message - port may not be available, the other side may have stopped running, etc."
)

ERRORS: dict[int, ErrorText] = {
    1: _plain("cannot be both server and client"),
    2: _plain("must either be a client (-c) or server (-s)"),
    3: _plain("some option you are trying to set is server only"),
    4: _plain("some option you are trying to set is client only"),
    5: _plain("test duration valid values are 0 to 86400 seconds"),
    6: _plain("invalid number of parallel streams (min = 1, max = 128)"),
    7: _plain("block size too large (maximum = 1048576 bytes)"),
    8: _plain("socket buffer size too large (maximum = 536870912 bytes)"),
    9: _plain("invalid report interval (min = 0.1, max = 60 seconds)"),
    10: _plain("TCP MSS too large (maximum = 32767 bytes)"),
    11: _plain("this OS does not support sendfile"),
    12: _plain("bogus value for --omit (maximum = 600 seconds)"),
    13: _plain("an option you are trying to set is not implemented yet"),
    14: _with_os("unable to open -F file"),
    15: _plain("invalid burst count (maximum = 1000)"),
    16: _plain("only one test end condition (-t, -n, -k) may be specified"),
    17: _with_os("unable to open log file"),
    18: _plain("no SCTP support available"),
    20: _plain("block size invalid (minimum = 16 bytes, maximum = 65507 bytes)"),
    21: _plain("bad TOS value (must be between 0 and 255 inclusive)"),
    22: _plain("you must specify a username, password, and path to a valid RSA public key"),
    23: _plain("you must specify a path to a valid RSA private key and a user credential file"),
    24: _plain("bad format specifier (valid formats are in the set [kmgtKMGT])"),
    25: _plain("cannot be both reverse and bidirectional"),
    26: _plain("port number must be between 1 and 65535 inclusive"),
    27: _plain("total required bandwidth is larger than server limit"),
    28: _plain("invalid time interval for calculating average data rate"),
    29: _plain("skew threshold must be a positive number"),
    30: _plain("idle timeout parameter is not positive or larger than allowed limit"),
    31: _with_os("receive timeout value is incorrect or not in range"),
    32: _with_os("client receive timeout is valid only in receiving mode"),
    33: _with_os("send timeout value is incorrect or not in range"),
    34: _plain("cannot transfer file using UDP"),
    35: _plain("cannot access authorized users file"),
    36: _with_os(
        "control connection Keepalive period should be larger than the full retry period "
        "(interval * count)"
    ),
    37: _plain("client's requested duration exceeds the server's maximum permitted limit"),
    38: _plain("invalid unit value or suffix"),
    39: _plain("this OS does not support --skip-rx-copy"),
    40: _plain("bad DSCP value"),
    100: _with_os("unable to create a new test"),
    101: _with_os("test initialization failed"),
    102: _with_os("unable to start listener for connections"),
    103: _with_os(
        "unable to connect to server - server may have stopped running or use a different port, "
        "firewall issue, etc."
    ),
    104: _with_os("unable to accept connection from client"),
    105: _with_os("unable to send cookie to server"),
    106: _with_os("unable to receive cookie at server"),
    107: _with_os("unable to write to the control socket"),
    108: _with_os("unable to read from the control socket"),
    109: _plain("control socket has closed unexpectedly"),
    110: _plain("received an unknown control message (ensure other side is iperf3 and not iperf)"),
    111: _with_os("unable to send " + _CONTROL_MESSAGE_LOST),
    112: _with_os("unable to receive " + _CONTROL_MESSAGE_LOST),
    113: _with_os("unable to send parameters to server"),
    114: _with_os("unable to receive parameters from client"),
    115: _with_os("unable to package results"),
    116: _with_os("unable to send results"),
    117: _with_os("unable to receive results"),
    118: _with_os("select failed"),
    119: _plain("the client has terminated"),
    120: _plain("the server has terminated"),
    121: _plain("the server is busy running a test. try again later"),
    122: _with_os("unable to set TCP/SCTP NODELAY"),
    123: _with_os("unable to set TCP/SCTP MSS"),
    124: _with_os("unable to set socket buffer size"),
    125: _with_os("unable to set IP TOS"),
    126: _with_os("unable to set IPv6 traffic class"),
    127: _plain("unable to set IPv6 flow label"),
    128: _with_os("unable to reuse address on socket"),
    129: _with_os("unable to set socket to non-blocking"),
    130: _with_os("unable to set socket window size"),
    131: _plain("protocol does not exist"),
    132: _with_os("unable to set CPU affinity"),
    133: _with_os("unable to become a daemon"),
    134: _plain(
        "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on "
        "this host"
    ),
    135: _with_os("unable to write PID file"),
    136: _with_os("unable to set/reset IPV6_V6ONLY"),
    137: _with_os("unable to set SCTP_DISABLE_FRAGMENTS"),
    138: _with_os("unable to set SCTP_INIT num of SCTP streams"),
    139: _plain("unable to process sctp_bindx() parameters"),
    140: _with_os("unable to set socket pacing"),
    141: _plain("socket buffer size not set correctly"),
    142: _plain("test authorization failed"),
    143: _plain("unable to bind-to-device"),
    144: _plain("idle timeout for receiving data"),
    145: _plain("unable to set IP Do-Not-Fragment flag"),
    146: _plain("<ip>%<dev> is not supported, as the system cannot bind to a device"),
    147: _plain("<ip>%<dev> is supported (and required) only for an IPv6 link-local address"),
    148: _with_os("unable to set TCP USER_TIMEOUT"),
    150: _with_os("unable to create thread"),
    151: _with_os("unable to cancel thread"),
    152: _with_os("unable to join thread"),
    153: _with_os("unable to create thread attributes"),
    154: _with_os("unable to destroy thread attributes"),
    155: _with_os("unable to set socket keepalive (SO_KEEPALIVE) option"),
    156: _with_os("unable to set socket keepalive TCP period (TCP_KEEPIDLE) option"),
    157: _with_os("unable to set socket keepalive TCP retry interval (TCP_KEEPINTVL) option"),
    158: _with_os("unable to set socket keepalive TCP number of retries (TCP_KEEPCNT) option"),
    159: _with_os("unable to change mask of blocked signals"),
    160: _with_os("server test duration expired"),
    200: _with_os("unable to create a new stream"),
    201: _with_os("unable to initialize stream"),
    202: _with_os("unable to start stream listener"),
    203: _with_os("unable to connect stream"),
    204: _with_os("unable to accept stream connection"),
    205: _with_os("unable to write to stream socket"),
    206: _with_os("unable to read from stream socket"),
    207: _plain("stream socket has closed unexpectedly"),
    208: _plain("stream has an invalid id"),
    300: _with_os("unable to create new timer"),
    301: _with_os("unable to update timer"),
}


class EngineError(Exception):
    """A test or a connection failed: iperf3's error number, one line of words, the OS's errno.

    `text` is complete in itself; `hint` adds the likely cause or what to try next ("" = none).
    `errno` is the errno of the host where it happened (0 = none), which may be the peer's.
    """

    def __init__(self, code: int, text: str, errno: int = 0, hint: str = "") -> None:
        super().__init__(code, text, errno, hint)
        self.code = code
        self.text = text
        self.errno = errno
        self.hint = hint

    @classmethod
    def from_code(cls, code: int, errno: int = 0, hint: str = "") -> EngineError:
        """Build the error with the words of `ERRORS`; any number is accepted."""
        return cls(code, describe(code, errno), errno, hint)

    def __str__(self) -> str:
        return f"{self.text} ({self.hint})" if self.hint else self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EngineError) and self.args == other.args

    def __hash__(self) -> int:
        return hash(self.args)


def describe(code: int, errno: int = 0) -> str:
    """Words for an iperf3 error number, followed by the OS's words for `errno` where they fit."""
    known = ERRORS.get(code)
    if known is None:
        text = f"unknown iperf3 error {code}" if code else "an error without a number"
        return f"{text}: {os_words(errno)}" if errno else text
    return f"{known.text}: {os_words(errno)}" if known.with_os_error and errno else known.text


def os_words(errno: int) -> str:
    """The OS's words for `errno`, or the bare number where there are none ("" for 0)."""
    if errno == 0:
        return ""
    try:
        words = os.strerror(errno)
    except (ValueError, OverflowError):
        return f"errno {errno}"
    return f"errno {errno}" if words.startswith("Unknown error") else words
