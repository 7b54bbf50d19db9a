"""Netlink as bytes, and the kernel's answers to real questions."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.evidence import netlink
from tuiperf.evidence.netlink_socket import NETLINK_ROUTE, Generic, Netlink, family


def test_a_request_has_the_layout_of_the_header() -> None:
    request = netlink.message(18, b"abcd", 7, dump=True)
    assert request == struct.pack("=IHHII", 20, 18, 0x301, 7, 0) + b"abcd"


def test_attributes_are_padded_and_come_back() -> None:
    data = netlink.attribute(3, b"eth0\0") + netlink.nest(5, netlink.attribute(1, b"\x07"))
    assert len(data) % 4 == 0
    assert netlink.string(netlink.attributes(data)[3]) == "eth0"
    inner = netlink.attributes(netlink.attributes(data)[5])
    assert netlink.unsigned(inner[1]) == 7


def test_a_refusal_carries_its_errno_and_the_kernels_words() -> None:
    quoted = netlink.message(10, b"\0" * 8, 4)
    words = netlink.attribute(1, b"no such thing\0")
    body = struct.pack("=i", -errno.EOPNOTSUPP) + quoted + words
    data = struct.pack("=IHHII", 16 + len(body), 2, 0x200, 4, 0) + body
    (message,) = netlink.messages(data)
    assert (message.error, message.text) == (errno.EOPNOTSUPP, "no such thing")


def test_the_words_of_a_refusal_that_quotes_the_header_alone() -> None:
    words = netlink.attribute(1, b"not now\0")
    body = struct.pack("=i", -errno.EBUSY) + netlink.message(10, b"", 4) + words
    data = struct.pack("=IHHII", 16 + len(body), 2, 0x300, 4, 0) + body
    (message,) = netlink.messages(data)
    assert (message.error, message.text) == (errno.EBUSY, "not now")


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    for message in netlink.messages(data):
        assert len(message.body) <= len(data)
    for _, value in netlink.each_attribute(data):
        netlink.unsigned(value)
        netlink.string(value)
        netlink.generic_body(value)


@given(st.lists(st.tuples(st.integers(0, 0x3FFF), st.binary(max_size=40)), max_size=20))
def test_what_is_built_is_read_again(pairs: list[tuple[int, bytes]]) -> None:
    data = b"".join(netlink.attribute(type_, value) for type_, value in pairs)
    assert list(netlink.each_attribute(data)) == pairs


@pytest.mark.parametrize(
    ("value", "number"),
    [(b"\x05", 5), (struct.pack("=H", 300), 300), (b"", None), (b"abc", None), (None, None)],
)
def test_numbers(value: bytes | None, number: int | None) -> None:
    assert netlink.unsigned(value) == number


def test_a_signed_number() -> None:
    assert netlink.signed(b"\xc8") == -56


def test_the_kernel_answers_a_dump() -> None:
    with Netlink(NETLINK_ROUTE) as kernel:
        bodies = kernel.ask(18, struct.pack("=BxHiII", 0, 0, 0, 0, 0), dump=True)
    assert len(bodies) >= 1


def test_a_refused_question_is_an_error_of_the_system() -> None:
    with Netlink(NETLINK_ROUTE) as kernel, pytest.raises(OSError) as refused:
        kernel.ask(18, struct.pack("=BxHiII", 0, 0, 2**30, 0, 0))
    assert refused.value.errno == errno.ENODEV


def test_a_family_that_is_not_there() -> None:
    with pytest.raises(OSError) as refused:
        Generic("no-such-family")
    assert refused.value.errno == errno.ENOENT


def test_a_family_by_its_answer() -> None:
    group = netlink.attribute(1, b"monitor\0"), netlink.attribute(2, struct.pack("=I", 6))
    body = netlink.generic(
        1,
        netlink.attribute(1, struct.pack("=H", 21)) + netlink.nest(7, netlink.nest(1, *group)),
    )
    assert family(body) == (21, {"monitor": 6})
    with pytest.raises(ValueError, match="names no family"):
        family(b"")
