"""The transmitter: what was offered comes out when it must, and never faster than was asked."""

from __future__ import annotations

import itertools

import pytest

from tests.lab.packets import packet
from tuiperf.lab.link import Link, Medium
from tuiperf.lab.segments import VNET_BYTES
from tuiperf.lab.spec import FRAMING_BYTES, Direction

SMALL = packet(bytes(48), 1448)  # 100 bytes of IP
FULL = packet(bytes(1448), 1448)  # 1500 bytes of IP
SUPER = packet(bytes(40 * 1448), 1448)


def drain(link: Link) -> list[tuple[float, bytes]]:
    """All that is on the wire: when it is due, and what."""
    found = []
    while link.next_s < float("inf"):
        due_s = link.next_s
        data = link.take(due_s)
        assert data is not None
        found.append((due_s, data))
    return found


def test_a_packet_is_due_after_its_bits_and_the_delay() -> None:
    link = Link(Direction(rate_bps=1_000_000, delay_s=0.02), 1)
    link.offer(FULL, 5.0)
    link.offer(FULL, 5.0)
    each_s = (1500 + FRAMING_BYTES) * 8 / 1e6
    assert [due for due, _ in drain(link)] == pytest.approx([5.02 + each_s, 5.02 + 2 * each_s])


def test_nothing_comes_before_it_is_due() -> None:
    link = Link(Direction(delay_s=0.02), 1)
    link.offer(SMALL, 1.0)
    assert link.take(1.0199) is None
    assert link.take(1.0201) == SMALL


@pytest.mark.parametrize("rate_bps", [5_000_000, 100_000_000, 2_000_000_000])
def test_the_rate_is_met_and_never_exceeded_whatever_comes(rate_bps: int) -> None:
    link = Link(Direction(rate_bps=rate_bps, queue_bytes=500_000), 1)
    each_s = (1500 + FRAMING_BYTES) * 40 * 8 / rate_bps
    for step in range(60):
        link.offer(SUPER, step * each_s / 1.3)
    out = drain(link)
    wire_bytes = link.counters.delivered_bytes
    assert wire_bytes * 8 / out[-1][0] == pytest.approx(rate_bps, rel=1e-6)
    assert link.counters.queue_dropped > 0
    assert link.counters.delivered + link.counters.queue_dropped == link.counters.offered == 2400


def test_low_rates_leave_in_pieces_of_a_millisecond() -> None:
    link = Link(Direction(rate_bps=100_000_000), 1)
    link.offer(SUPER, 0.0)
    due = [at for at, _ in drain(link)]
    assert len(due) == 5
    assert all(0 < b - a <= 0.001 for a, b in itertools.pairwise(due))


def test_the_queue_holds_bytes_and_drops_the_segments_that_do_not_fit() -> None:
    room = 10 * (1500 + FRAMING_BYTES)
    link = Link(Direction(rate_bps=1_000_000, queue_bytes=room), 1)
    link.offer(SUPER, 0.0)
    assert link.counters.delivered == 10
    assert link.counters.queue_dropped == 30


def test_losses_take_single_segments_out_of_super_packets() -> None:
    link = Link(Direction(loss=0.02), 1)
    for _ in range(500):
        link.offer(SUPER, 0.0)
    counters = link.counters
    assert 300 < counters.lost < 500  # 400 expected of 20000
    assert counters.delivered == 20_000 - counters.lost
    payload = sum(len(data) - VNET_BYTES - 52 for _, data in drain(link))
    assert payload == counters.delivered * 1448


def test_reordered_segments_come_later_and_duplicates_twice() -> None:
    link = Link(Direction(delay_s=0.01, reorder=0.02, reorder_s=0.003, duplicate=0.01), 1)
    for step in range(2000):
        link.offer(FULL, step * 1e-4)
    assert 20 < link.counters.reordered < 62
    assert 7 < link.counters.duplicated < 36
    assert len(drain(link)) == 2000 + link.counters.duplicated


def test_jitter_varies_the_delay_and_keeps_the_order() -> None:
    link = Link(Direction(delay_s=0.01, jitter_s=0.02), 1)
    sent = [packet(bytes([n, n]), 1448) for n in range(200)]
    for n, data in enumerate(sent):
        link.offer(data, n * 0.05)
    out = drain(link)
    extra = [due - n * 0.05 - 0.01 for n, (due, _) in enumerate(out)]
    assert [data for _, data in out] == sent
    assert 0 <= min(extra) < 0.004
    assert 0.016 < max(extra) < 0.02


def test_a_policer_passes_its_rate_and_a_burst_and_delays_nothing() -> None:
    link = Link(Direction(police_bps=10_000_000, police_bytes=20_000), 1)
    for step in range(2000):
        link.offer(FULL, step * 0.001)
    passed_bytes = link.counters.delivered_bytes
    assert passed_bytes <= 20_000 + 2.0 * 10_000_000 / 8
    assert passed_bytes >= 0.98 * 2.0 * 10_000_000 / 8
    assert link.counters.policed == 2000 - link.counters.delivered
    assert all(due == pytest.approx(round(due, 3)) for due, _ in drain(link))


@pytest.mark.parametrize("silent", [True, False])
def test_a_narrower_link_drops_large_packets_and_may_say_so(silent: bool) -> None:
    there, here = Link(Direction(mtu_bytes=1400, mtu_silent=silent), 1), Link(Direction(), 2)
    there.other, here.other = here, there
    there.offer(SMALL, 0.0)
    there.offer(SUPER, 0.0)
    assert there.counters.too_big == 40
    assert [data for _, data in drain(there)] == [SMALL]
    assert len(drain(here)) == (0 if silent else 1)


def test_a_short_last_segment_passes_a_narrower_link() -> None:
    link = Link(Direction(mtu_bytes=1400, mtu_silent=True), 1)
    link.offer(packet(bytes(2 * 1448 + 10), 1448), 0.0)
    ((_, data),) = drain(link)
    assert len(data) == VNET_BYTES + 52 + 10


def test_outages_come_regularly_and_lose_all() -> None:
    link = Link(Direction(outage_s=0.25, outage_every_s=2.0), 1)
    for step in range(700):
        link.offer(SMALL, step * 0.01)
    assert link.counters.lost == 3 * 25
    due = [at for at, _ in drain(link)]
    gaps = [b - a for a, b in itertools.pairwise(due)]
    assert sum(gap > 0.2 for gap in gaps) == 3


def test_only_packets_that_waited_and_can_carry_it_are_marked() -> None:
    able = packet(bytes(1448), 1448, tos=2)
    link = Link(Direction(rate_bps=10_000_000, mark_s=0.005), 1)
    for data in (able, FULL) * 10:
        link.offer(data, 0.0)
    assert link.counters.marked == 7  # 1.23 ms each: the sixth is the first to wait longer
    assert sum(data not in (able, FULL) for _, data in drain(link)) == 7


def test_both_directions_take_turns_on_a_shared_medium() -> None:
    medium = Medium()
    spec = Direction(rate_bps=1_000_000)
    there, here = Link(spec, 1, medium), Link(spec, 2, medium)
    each_s = (1500 + FRAMING_BYTES) * 8 / 1e6
    there.offer(FULL, 0.0)
    here.offer(FULL, 0.0)
    there.offer(FULL, 0.0)
    assert [due for due, _ in drain(there)] == pytest.approx([each_s, 3 * each_s])
    assert [due for due, _ in drain(here)] == pytest.approx([2 * each_s])


def test_a_frame_against_the_other_direction_costs_one() -> None:
    there = Link(Direction(rate_bps=1_000_000, collides=True), 1)
    here = Link(Direction(rate_bps=1_000_000), 2)
    there.other, here.other = here, there
    there.offer(FULL, 0.0)
    here.offer(SMALL, 0.001)
    there.offer(FULL, 1.0)
    there.offer(FULL, 2.0)
    assert (there.counters.lost, here.counters.lost) == (1, 0)
    assert [round(due) for due, _ in drain(there)] == [0, 2]


def test_properties_change_while_packets_are_on_the_wire() -> None:
    link = Link(Direction(delay_s=0.05), 1)
    link.offer(SMALL, 0.0)
    link.change(Direction(delay_s=0.01))
    link.offer(SMALL, 0.1)
    assert [round(due, 3) for due, _ in drain(link)] == [0.05, 0.11]
