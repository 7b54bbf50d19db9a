"""The question at the end of each lesson, computed from the reader's numbers, and its working."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from tuiperf.lessons import formulas, words
from tuiperf.lessons.case import Case

LETTERS = "abc"


@dataclass(frozen=True)
class Question:
    """Three answers, of which one is right, and why."""

    text: str
    answers: tuple[str, str, str]
    right: int
    working: str

    @property
    def letter(self) -> str:
        """The right answer's letter."""
        return LETTERS[self.right]


def question(lesson: int, case: Case) -> Question:
    """The question of a lesson about this case."""
    return _MAKERS[lesson](case)


def _columns(case: Case) -> Question:
    amount = 1e10
    right = formulas.transfer_s(amount, case.goodput_bps)
    rate = words.rate(case.goodput_bps)
    return Question(
        f"The column says {rate}. How long does a file of 10 GB take at that?",
        (words.duration(right / 8), words.duration(right), words.duration(right * 8)),
        1,
        f"10 GB are 80 Gbit. 80 Gbit / {rate} = {words.duration(right)}.",
    )


def _bdp(case: Case) -> Question:
    bdp = case.bdp_bytes
    rate, rtt = words.rate(case.rate_bps), words.milliseconds(2 * case.rtt_us)
    return Question(
        f"The RTT doubles to {rtt}. How large must the window be to fill {rate}?",
        (words.size(bdp / 2), words.size(bdp), words.size(2 * bdp)),
        2,
        f"{rate} × {rtt} = {words.size(2 * bdp)}: double the distance, double the window.",
    )


def _windows(case: Case) -> Question:
    window = case.small_window_bytes
    one = formulas.window_bps(window, case.rtt_us)
    needed = max(2, ceil(case.rate_bps / one))
    few, many = max(1, needed // 4), needed * 8
    rate = words.rate(case.rate_bps)
    return Question(
        f"A stream's window is {words.size(window)}, the RTT {words.milliseconds(case.rtt_us)}. "
        f"Which -P fills {rate}?",
        (f"-P {few}", f"-P {needed}", f"-P {many}"),
        1,
        f"One stream carries window / RTT = {words.rate(one)}; {rate} / {words.rate(one)} = "
        f"{needed} streams.",
    )


def _mathis(case: Case) -> Question:
    reached = formulas.mathis_bps(case.mss_bytes, case.rtt_us, case.loss)
    better = case.loss / 4
    return Question(
        f"A loss of {words.percent(case.loss)} lets Reno reach {words.rate(reached)}. How much "
        f"at {words.percent(better)}?",
        (words.rate(reached), words.rate(2 * reached), words.rate(4 * reached)),
        1,
        f"The loss is under a root: a quarter of it gives twice the rate, {words.rate(2 * reached)}"
        ", if the window and the wire allow.",
    )


def _queues(case: Case) -> Question:
    rate, queue = case.queue_rate_bps, case.queue_bytes
    waits = formulas.queued_us(rate, queue)
    return Question(
        f"{words.binary_size(queue)} wait before a line that carries {words.rate(rate)}. How long "
        "does a packet that comes last wait?",
        (words.milliseconds(waits), words.milliseconds(waits / 8), "not at all"),
        0,
        f"{words.size(queue)} × 8 / {words.rate(rate)} = {words.milliseconds(waits)}, for "
        "calls and pages as well.",
    )


def _ethernet(case: Case) -> Question:
    line = max(case.rate_bps, 1e8)
    slow = line / 10
    got = formulas.ethernet_goodput_bps(slow, 1500)
    return Question(
        f"The port says {words.rate(line)}. The test gives an even {words.rate(got)}, "
        "hardly a retransmit. What do you look for?",
        ("a larger -w", f"a hop of {words.rate(slow)}", "lost packets"),
        1,
        f"1448 of 1538 bytes are payload: {words.rate(got)} is a full line of "
        f"{words.rate(slow)}. Check each hop's speed.",
    )


def _udp(case: Case) -> Question:
    offered = case.offered_bps
    path = offered * 0.8
    sent, got = words.rate(offered), words.rate(path)
    return Question(
        f"-u -b sends {sent} into a path that carries {got}. What part is lost?",
        ("25 %", "none: it slows down", "20 %"),
        2,
        f"UDP does not slow down. Of {sent} only {got} arrive: 20 % of what was sent are lost.",
    )


def _wrong_tool(case: Case) -> Question:
    trips = 200
    waits = trips * case.rtt_us / 1e6
    rtt = words.milliseconds(case.rtt_us)
    return Question(
        f"A program asks {trips} times, one after the other, over {rtt}. You double the line's "
        "rate. How long does it wait then?",
        (words.duration(waits), words.duration(waits / 2), words.duration(waits / 4)),
        0,
        f"{trips} × {rtt} = {words.duration(waits)}, on any line: it waits for the way, not for "
        "the width.",
    )


_MAKERS: dict[int, Callable[[Case], Question]] = {
    1: _columns,
    2: _bdp,
    3: _windows,
    4: _mathis,
    5: _queues,
    6: _ethernet,
    7: _udp,
    8: _wrong_tool,
}
