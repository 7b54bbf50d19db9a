"""Ask the kernel over netlink: one socket, one question at a time, bounded in time and in size."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence

from . import netlink
from .netlink import Message

NETLINK_ROUTE, NETLINK_GENERIC = 0, 16
_SOL_NETLINK, _EXT_ACK, _ADD_MEMBERSHIP = 270, 11, 1
_GENL_CONTROL, _GET_FAMILY = 16, 3  # include/uapi/linux/genetlink.h
_FAMILY_ID, _FAMILY_NAME, _GROUPS, _GROUP_NAME, _GROUP_ID = 1, 2, 7, 1, 2

TIMEOUT_S = 1.0
MAX_ANSWER_BYTES = 16 << 20
_READ_BYTES = 1 << 18


class Netlink:
    """A netlink socket. A context manager. Everything raises OSError; extack's words are in it."""

    def __init__(self, protocol: int, timeout_s: float = TIMEOUT_S) -> None:
        family = getattr(socket, "AF_NETLINK", None)
        if family is None:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        self._timeout_s = timeout_s
        self._sequence = 0
        self.socket = socket.socket(family, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        with contextlib.suppress(OSError):
            self.socket.setsockopt(_SOL_NETLINK, _EXT_ACK, 1)

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def ask(self, type_: int, body: bytes, *, dump: bool = False, act: bool = False) -> list[bytes]:
        """The bodies of the answers to one request; `act` asks for an acknowledgement alone."""
        self._sequence += 1
        request = netlink.message(type_, body, self._sequence, dump=dump, ack=act)
        self.socket.send(request)
        answers: list[bytes] = []
        for each in self._answers(time.monotonic() + self._timeout_s):
            if each.sequence != self._sequence:
                continue
            if each.error:
                raise OSError(each.error, each.text or os.strerror(each.error))
            if each.type in (netlink.NLMSG_DONE, netlink.NLMSG_ERROR):
                return answers
            answers.append(each.body)
            if not dump and not act:
                return answers
        return answers

    def _answers(self, until_s: float) -> Iterator[Message]:
        total = 0
        while total < MAX_ANSWER_BYTES:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            self.socket.settimeout(left_s)
            try:
                data = self.socket.recv(_READ_BYTES)
            except TimeoutError:
                continue
            total += len(data)
            yield from netlink.messages(data)
        raise OSError(errno.EMSGSIZE, "the kernel's answer has no end")

    def join(self, groups: Sequence[int]) -> None:
        """Hear the notifications of these multicast groups.

        A socket without an address would hear none: it looks like the kernel, who sends them.
        """
        if self.socket.getsockname()[0] == 0:
            self.socket.bind((0, 0))
        for group in groups:
            self.socket.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, struct.pack("=I", group))

    def heard(self) -> list[Message]:
        """The notifications of one datagram; none when nothing waits or some were lost."""
        self.socket.settimeout(0)
        try:
            return list(netlink.messages(self.socket.recv(_READ_BYTES)))
        except (BlockingIOError, TimeoutError):
            return []
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return []
            raise


class Generic(Netlink):
    """One family of generic netlink, by its name. Raises OSError (ENOENT) when it is not there."""

    def __init__(self, name: str, timeout_s: float = TIMEOUT_S) -> None:
        super().__init__(NETLINK_GENERIC, timeout_s)
        try:
            question = netlink.attribute(_FAMILY_NAME, name.encode() + b"\0")
            (answer,) = self.ask(_GENL_CONTROL, netlink.generic(_GET_FAMILY, question))
            self.family, self.groups = family(answer)
        except (OSError, ValueError) as error:
            self.close()
            raise (
                error if isinstance(error, OSError) else OSError(errno.ENOENT, str(error))
            ) from None

    def __enter__(self) -> Generic:
        return self

    def get(self, command: int, attributes: bytes, *, dump: bool = False) -> list[bytes]:
        """The bodies of the answers to a command of the family."""
        return self.ask(self.family, netlink.generic(command, attributes), dump=dump)

    def act(self, command: int, attributes: bytes) -> None:
        """Have something done, and wait for the acknowledgement."""
        self.ask(self.family, netlink.generic(command, attributes), act=True)


def family(body: bytes) -> tuple[int, dict[str, int]]:
    """A family's number and its multicast groups by name. Raises ValueError when there is none."""
    _, found = netlink.generic_body(body)
    number = netlink.unsigned(found.get(_FAMILY_ID))
    if number is None:
        raise ValueError("the answer names no family")
    groups: dict[str, int] = {}
    for _, each in netlink.each_attribute(found.get(_GROUPS, b"")):
        group = netlink.attributes(each)
        name, group_id = netlink.string(group.get(_GROUP_NAME)), group.get(_GROUP_ID)
        identity = netlink.unsigned(group_id)
        if name and identity is not None:
            groups[name] = identity
    return number, groups
