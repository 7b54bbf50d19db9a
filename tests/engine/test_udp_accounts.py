"""A receiver's accounts against iperf3's rules taken one datagram at a time, and right values."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuiperf.engine.udp_accounts import LARGEST, WINDOW, Account, Accounts
from tuiperf.engine.udp_header import HEAD_BYTES, NS_PER_S, layout

MOST = 128  # heads that are read together


class Datagram(NamedTuple):
    number: int
    sent_us: int = 0


class Reference:
    """iperf3's rules as they stand, and a set of all numbers that have come."""

    def __init__(self) -> None:
        self.packets = self.errors = self.out_of_order = 0
        self.jitter_s = 0.0
        self.transit_s: float | None = None
        self.seen: set[int] = set()
        self.late = self.duplicates = self.deepest = 0

    def add(self, datagram: Datagram, arrival_us: int) -> None:
        number = datagram.number
        if number >= self.packets + 1:
            if number > self.packets + 1:
                self.errors += number - 1 - self.packets
            self.packets = number
        else:
            self.out_of_order += 1
            if self.errors > 0:
                self.errors -= 1
            if number in self.seen or number < 1:
                self.duplicates += 1
            else:
                self.late += 1
                self.deepest = max(self.deepest, self.packets - number)
        self.seen.add(number)
        transit_s = abs(arrival_us - datagram.sent_us) / 1e6
        change_s = 0.0 if self.transit_s is None else abs(transit_s - self.transit_s)
        self.transit_s = transit_s
        self.jitter_s += (change_s - self.jitter_s) / 16

    @property
    def lost(self) -> int:
        return self.packets - len([number for number in self.seen if number > 0])


class Receiver:
    """Accounts with the array of heads they read."""

    def __init__(self, counters_64bit: bool = False) -> None:
        self.heads = bytearray(MOST * HEAD_BYTES)
        self.accounts = Accounts(layout(counters_64bit), self.heads)
        self._head = struct.Struct(">IIQ" if counters_64bit else ">III")

    def add(self, datagrams: Sequence[Datagram], arrival_us: int = 0) -> None:
        for at, datagram in enumerate(datagrams):
            seconds, us = divmod(datagram.sent_us, 1_000_000)
            self._head.pack_into(self.heads, at * HEAD_BYTES, seconds, us, datagram.number)
        self.accounts.add(len(datagrams), arrival_us * 1000)

    def add_numbers(self, *numbers: int) -> Account:
        for number in numbers:
            self.add([Datagram(number)])
        return self.accounts.account()


@pytest.mark.parametrize(
    ("numbers", "packets", "errors", "out_of_order"),
    [
        ((1, 2, 3, 4, 5), 5, 0, 0),
        ((1, 2, 5, 4, 4, 3), 5, 0, 3),
        ((10, 11), 11, 9, 0),
        ((1, 1, 1), 1, 0, 2),
        ((0, 0, 0), 0, 0, 3),
        ((3, 2, 1), 3, 0, 2),
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_iperf3s_figures(
    numbers: tuple[int, ...], packets: int, errors: int, out_of_order: int, together: bool
) -> None:
    receiver = Receiver()
    if together:
        receiver.add([Datagram(number) for number in numbers])
    else:
        receiver.add_numbers(*numbers)
    found = receiver.accounts.account()
    assert (found.highest, found.errors, found.out_of_order) == (packets, errors, out_of_order)


def test_a_duplicate_hides_a_loss_from_iperf3_but_not_from_us() -> None:
    found = Receiver().add_numbers(1, 2, 4, 4, 5)
    assert found.errors == 0
    assert (found.lost, found.duplicates, found.late) == (1, 1, 0)


def test_late_datagrams_and_how_late_they_were() -> None:
    found = Receiver().add_numbers(1, 5, 2, 6, 4, 7)
    assert (found.lost, found.late, found.deepest, found.duplicates) == (1, 2, 3, 0)


def test_what_comes_after_the_window_stays_lost() -> None:
    receiver = Receiver()
    receiver.add_numbers(1, 3, WINDOW + 3)
    found = receiver.add_numbers(2)
    assert (found.lost, found.late, found.deepest) == (WINDOW, 1, WINDOW + 1)
    found = receiver.add_numbers(4)
    assert (found.lost, found.late) == (WINDOW - 1, 2)


def test_a_counter_of_32_bits_may_wrap_around() -> None:
    receiver = Receiver()
    receiver.accounts.highest = 2**32 - 3
    receiver.add([Datagram(number % 2**32) for number in range(2**32 - 2, 2**32 + 5)])
    found = receiver.add_numbers(7, 2**32 - 2)
    assert found.highest == 2**32 + 7
    assert (found.errors, found.out_of_order, found.lost) == (1, 1, 2)


def test_the_top_bit_at_the_start_is_a_gap() -> None:
    found = Receiver().add_numbers(1, 0xFFFFFFFF)
    assert (found.highest, found.errors) == (0xFFFFFFFF, 0xFFFFFFFD)


def test_absurd_numbers_stay_countable() -> None:
    receiver = Receiver(counters_64bit=True)
    found = receiver.add_numbers(2**64 - 1, 5, 2**63)
    assert found.highest == LARGEST
    assert max(found) < 2**63


def test_jitter_of_a_known_row() -> None:
    receiver = Receiver()
    for number, (sent_us, arrival_us) in enumerate([(0, 100), (1000, 1116), (2000, 2116)], 1):
        receiver.add([Datagram(number, sent_us)], arrival_us)
    assert receiver.accounts.jitter_ns == pytest.approx(1000 * 15 / 16)


def test_jitter_begins_anew_and_the_counters_run_on() -> None:
    receiver = Receiver()
    receiver.add([Datagram(1, 0)], 100)
    receiver.add([Datagram(2, 0)], 900)
    receiver.accounts.restart_jitter()
    receiver.add([Datagram(3, 0)], 5000)
    assert receiver.accounts.jitter_ns == 0
    assert receiver.accounts.highest == 3


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[int, list[Datagram]]]:
    """Batches as a path may deliver them: mostly in order, with losses, doubles and overtaking."""
    number, sent_us, now_us = 0, draw(st.integers(0, 3_000_000)), 0
    batches = []
    for _ in range(draw(st.integers(1, 6))):
        batch = []
        for _ in range(draw(st.integers(1, 12))):
            number += draw(st.sampled_from([1, 1, 1, 1, 1, 2, 9, 0, -1, -5]))
            number = max(0, number)
            sent_us += draw(st.sampled_from([0, 0, 7, 900, 1_000_001, -3]))
            batch.append(Datagram(number, max(0, sent_us)))
        now_us = sent_us + draw(st.integers(-2000, 5000))
        batches.append((max(0, now_us), batch))
    return batches


@given(arrivals(), st.booleans())
def test_batches_count_as_single_datagrams_do(
    batches: list[tuple[int, list[Datagram]]], counters_64bit: bool
) -> None:
    receiver, reference = Receiver(counters_64bit), Reference()
    for arrival_us, batch in batches:
        receiver.add(batch, arrival_us)
        for datagram in batch:
            reference.add(datagram, arrival_us)
    found = receiver.accounts.account()
    assert (found.highest, found.errors, found.out_of_order) == (
        reference.packets,
        reference.errors,
        reference.out_of_order,
    )
    assert found.jitter_ns == pytest.approx(reference.jitter_s * NS_PER_S, rel=1e-9, abs=1e-3)
    assert (found.late, found.duplicates, found.deepest) == (
        reference.late,
        reference.duplicates,
        reference.deepest,
    )
    assert found.lost == reference.lost


@given(st.integers(2, MOST), st.lists(st.integers(0, 50), min_size=MOST), st.integers(0, 400))
def test_a_steady_row_read_at_once(count: int, rises_us: list[int], delay_us: int) -> None:
    receiver, reference = Receiver(), Reference()
    sent_us = 5_000_000
    datagrams = []
    for number in range(1, count + 1):
        sent_us += rises_us[number - 1]
        datagrams.append(Datagram(number, sent_us))
    receiver.add(datagrams, sent_us + delay_us)
    for datagram in datagrams:
        reference.add(datagram, sent_us + delay_us)
    assert not receiver.accounts.disturbed
    assert receiver.accounts.jitter_ns == pytest.approx(
        reference.jitter_s * NS_PER_S, rel=1e-9, abs=1e-3
    )
