"""Who answers, or calls, when it is not iperf3: told from the first bytes.

iperf2's headers are those of its `payloads.h` (client_hdr_v1 and client_hdr_ack), seen on the
wire with 2.1.8; the rest are the well-known openings of each protocol.
"""

from __future__ import annotations

import struct
from typing import Optional

_SERVER_OPENINGS = (
    (b"0123456789", "an iperf2 server that sends (reverse mode), or another source of data"),
    (b"HTTP/", "an HTTP server"),
    (b"<", "a web server"),
    (b"SSH-", "an SSH server"),
    (b"\x15\x03", "a TLS server"),
    (b"\x16\x03", "a TLS server"),
    (b"220", "a mail or FTP server"),
    (b"+OK", "a POP3 server"),
    (b"* OK", "an IMAP server"),
    (b"RFB ", "a VNC server"),
    (b"-ERR", "a Redis server"),
)
_CLIENT_OPENINGS = (
    (b"GET ", "an HTTP client"),
    (b"HEAD ", "an HTTP client"),
    (b"POST ", "an HTTP client"),
    (b"PUT ", "an HTTP client"),
    (b"OPTIONS ", "an HTTP client"),
    (b"CONNECT ", "an HTTP client that wants a proxy"),
    (b"PRI * HTTP/2", "an HTTP client"),
    (b"SSH-", "an SSH client"),
    (b"\x16\x03", "a TLS client"),
    (b"EHLO ", "a mail client"),
    (b"HELO ", "a mail client"),
    (b"\x03\x00\x00", "a remote desktop client"),
)
_IPERF2_SERVER_PREFIXES = (b"\0\0\0\x02\0\0\0\x1c", b"\0\0\0\x02\0\0\0\x34")
_IPERF2_CLIENT_FIRST_BYTES = b"\x00\x40\x44\x46\x80\xc0"
_SILENT_SERVER = (
    "a silent service: iperf2 before 2.1, another program, or an iperf3 server that is stuck"
)
_SILENT_CLIENT = "a silent client: a port scan or a health check"


def identify_server(first_bytes: bytes) -> Optional[str]:
    """Words for who sent `first_bytes` where an iperf3 server's greeting should be, or None."""
    if not first_bytes:
        return _SILENT_SERVER
    if first_bytes.startswith(_IPERF2_SERVER_PREFIXES):
        return _iperf2_with_version("an iperf2 server", first_bytes[12:18])
    return _by_opening(first_bytes, _SERVER_OPENINGS)


def identify_client(first_bytes: bytes) -> Optional[str]:
    """Words for who sent `first_bytes` where an iperf3 client's cookie should be, or None."""
    if not first_bytes:
        return _SILENT_CLIENT
    if first_bytes[0] in _IPERF2_CLIENT_FIRST_BYTES and len(first_bytes) >= 8:
        (threads,) = struct.unpack_from(">I", first_bytes, 4)
        if 1 <= threads <= 128:
            return "an iperf2 client"
    return _by_opening(first_bytes, _CLIENT_OPENINGS)


def _iperf2_with_version(words: str, version: bytes) -> str:
    if len(version) < 6:
        return words
    return "{}, version {}.{}.{}".format(words, *struct.unpack(">HHH", version))


def _by_opening(first_bytes: bytes, openings: tuple[tuple[bytes, str], ...]) -> Optional[str]:
    for opening, words in openings:
        if first_bytes.startswith(opening):
            return words
    return None
