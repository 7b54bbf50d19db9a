"""The calculators of the lessons: sliders, and what follows from where they stand.

A calculator knows no screen. What it says is a list of figures, gauges, pipes, curves and remarks,
and whoever shows them draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from tuiperf.lessons import formulas, words
from tuiperf.lessons.case import Case
from tuiperf.lessons.reading import Reader
from tuiperf.lessons.sliders import Slider, doublings, steps

DATAGRAM_BYTES = 1448
PAGE_TRIPS = 4
"""Round trips before a page begins to show: name, TCP, TLS 1.3 and the request itself."""


@dataclass(frozen=True)
class Figure:
    """A number with its name. `role` is one of a row's roles."""

    label: str
    text: str
    role: str = "strong"


@dataclass(frozen=True)
class Gauge:
    """A bar: `share` of it, 0 to 1, is full."""

    label: str
    share: float
    text: str
    role: str = "data"


@dataclass(frozen=True)
class Pipe:
    """A path between two hosts: how full it is, 0 to 1, and how many pipes' worth waits before."""

    share: float
    waiting: float


@dataclass(frozen=True)
class Curve:
    """Values one after the other, the highest of them `top`."""

    label: str
    values: tuple[float, ...]
    text: str


@dataclass(frozen=True)
class Remark:
    """What follows, in a sentence."""

    text: str
    role: str = "text"


Part = Figure | Gauge | Pipe | Curve | Remark


@dataclass(frozen=True)
class Calculator:
    """Sliders, and the work that makes parts of their values."""

    sliders: tuple[Slider, ...]
    work: Callable[..., list[Part]]

    def parts(self) -> list[Part]:
        """What follows from where the sliders stand."""
        return self.work(*(each.value for each in self.sliders))

    def moved(self, index: int, count: int) -> Calculator:
        """The same with one slider moved by so many steps."""
        return self._with(index, self.sliders[index].moved(count))

    def set(self, name: str, text: str) -> Calculator:
        """The same with the slider of this name at what `text` says. Raises ValueError."""
        for index, slider in enumerate(self.sliders):
            if slider.name.lower() == name.lower():
                return self._with(index, slider.holding(slider.read(text)))
        known = ", ".join(each.name.lower() for each in self.sliders)
        raise ValueError(f"there is no slider '{name}' here; there are {known}")

    def _with(self, index: int, slider: Slider) -> Calculator:
        before, after = self.sliders[:index], self.sliders[index + 1 :]
        return replace(self, sliders=(*before, slider, *after))


def calculator(lesson: int, case: Case) -> Calculator:
    """The calculator of a lesson, with its sliders at the case's numbers."""
    return _MAKERS[lesson](case)


def _rate(name: str, at_bps: float) -> Slider:
    stops = steps(1e6, 1e11, (1, 2, 3, 5))
    return Slider(name, stops, words.rate, Reader("rate", 1e4, 1e12)).holding(at_bps)


def _rtt(at_us: float, name: str = "RTT") -> Slider:
    stops = steps(20, 6e5, (1, 1.5, 2, 3, 5, 7))
    return Slider(name, stops, words.milliseconds, Reader("time", 1, 1e7)).holding(at_us)


def _window(at_bytes: float) -> Slider:
    stops = doublings(16 * 1024, 1 << 30)
    return Slider("Window", stops, words.binary_size, Reader("size", 1448, 2**40)).holding(at_bytes)


def _amount(name: str, at_bytes: float) -> Slider:
    stops = steps(1e4, 1e13)
    return Slider(name, stops, words.size, Reader("size", 1, 1e15)).holding(at_bytes)


def _count(name: str, stops: Sequence[float], at: float, most: float) -> Slider:
    return Slider(name, tuple(stops), words.count, Reader("count", 1, most)).holding(at)


def _reached(speed_bps: float, rate_bps: float) -> list[Part]:
    """How much of a path a speed is."""
    share = min(1.0, speed_bps / rate_bps)
    role = "ok" if share > 0.9 else "look"
    speed = words.rate(min(speed_bps, rate_bps))
    return [Gauge("Used", share, words.percent(share), role), Figure("Speed", speed)]


def _units(case: Case) -> Calculator:
    def work(amount_bytes: float, rate_bps: float) -> list[Part]:
        return [
            Figure("In bytes", f"{words.size(rate_bps / 8)}/s"),
            Figure("Takes", words.duration(formulas.transfer_s(amount_bytes, rate_bps))),
            Remark(
                "A file's size is in bytes, a line's rate in bits: eight bits are a byte. "
                f"{words.rate(rate_bps)} / 8 = {words.size(rate_bps / 8)} a second."
            ),
        ]

    return Calculator((_amount("File", 1e10), _rate("Goodput", case.goodput_bps)), work)


def _pipe(case: Case) -> Calculator:
    def work(rate_bps: float, rtt_us: float, window_bytes: float) -> list[Part]:
        bdp = formulas.bdp_bytes(rate_bps, rtt_us)
        fill = window_bytes / bdp
        speed = formulas.window_bps(window_bytes, rtt_us)
        parts: list[Part] = [
            Figure("Holds", f"{words.size(bdp)} = rate × RTT"),
            Pipe(min(1.0, fill), max(0.0, fill - 1)),
            *_reached(speed, rate_bps),
        ]
        if fill < 1:
            parts.append(Remark(f"A window of {words.size(bdp)} would fill the pipe.", "look"))
            return parts
        waits_us = formulas.queued_us(rate_bps, window_bytes - bdp)
        before, after = words.milliseconds(rtt_us), words.milliseconds(rtt_us + waits_us)
        if waits_us < rtt_us / 10:
            return [*parts, Remark("The pipe is just full. More window gains nothing.", "ok")]
        rest = words.size(window_bytes - bdp)
        text = f"{rest} queue: the RTT grows from {before} to {after}."
        return [*parts, Remark(text, "look")]

    sliders = (_rate("Rate", case.rate_bps), _rtt(case.rtt_us), _window(case.window_bytes))
    return Calculator(sliders, work)


def _streams(case: Case) -> Calculator:
    def work(rate_bps: float, rtt_us: float, window_bytes: float, streams: float) -> list[Part]:
        one = formulas.window_bps(window_bytes, rtt_us)
        needed = max(1, ceil(rate_bps / one))
        bdp = formulas.bdp_bytes(rate_bps, rtt_us)
        parts: list[Part] = [
            Figure("One", f"{words.rate(one)} a stream"),
            *_reached(one * streams, rate_bps),
        ]
        if one * streams >= rate_bps:
            return [*parts, Remark("Now the wire is the limit, not the window.", "ok")]
        many = f"-P {needed}" if needed <= 128 else f"more than 128 streams ({needed})"
        parts.append(Remark(f"The window is the limit. {many} or a window of {words.size(bdp)}"))
        return parts

    sliders = (
        _rate("Rate", case.rate_bps),
        _rtt(case.rtt_us),
        _window(case.small_window_bytes),
        _count("Streams", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128], 1, 128),
    )
    return Calculator(sliders, work)


def _loss(case: Case) -> Calculator:
    mss = case.mss_bytes

    def work(rate_bps: float, rtt_us: float, loss: float) -> list[Part]:
        reached = formulas.mathis_bps(mss, rtt_us, loss)
        allowed = formulas.mathis_loss(mss, rtt_us, rate_bps)
        keeps = rate_bps if loss < 0.005 else rate_bps * (1 - loss)
        ignores = loss < formulas.LOSS_LEFT_TO_BBR
        bbr = f"about {words.rate(keeps)}" if ignores else "falls as well"
        return [
            Figure("Loss", f"1 packet in {words.count(1 / loss)}"),
            *_reached(reached, rate_bps),
            Figure("bbr", bbr, "text"),
            Remark(f"To fill {words.rate(rate_bps)}, lose at most 1 in {words.count(1 / allowed)}"),
        ]

    stops = steps(1e-7, 0.05)
    share = Slider("Loss", stops, words.percent, Reader("share", 1e-9, 0.5)).holding(case.loss)
    return Calculator((_rate("Rate", case.rate_bps), _rtt(case.rtt_us), share), work)


def _queue(case: Case) -> Calculator:
    def work(rate_bps: float, rtt_us: float, queue_bytes: float) -> list[Part]:
        waits = formulas.queued_us(rate_bps, queue_bytes)
        loaded = rtt_us + waits
        role = "fault" if waits > 2e5 else "look" if waits > 3e4 else "ok"
        page, slow = PAGE_TRIPS * rtt_us / 1e6, PAGE_TRIPS * loaded / 1e6
        return [
            Figure("Waits", f"{words.milliseconds(waits)} when it is full", role),
            Gauge("Queue", waits / loaded, f"{words.percent(waits / loaded)} of RTT", role),
            Figure("RTT", f"{words.milliseconds(rtt_us)} → {words.milliseconds(loaded)}"),
            Figure("RPM", f"{words.count(6e7 / loaded)} round trips a minute"),
            Remark(
                f"{PAGE_TRIPS} round trips before a page shows: {words.duration(page)} idle, "
                f"{words.duration(slow)} while somebody uploads."
            ),
        ]

    stops = doublings(16 * 1024, 1 << 28)
    queue = Slider("Queue", stops, words.binary_size, Reader("size", 1, 2**40))
    sliders = (
        _rate("Rate", case.queue_rate_bps),
        _rtt(case.rtt_us),
        queue.holding(case.queue_bytes),
    )
    return Calculator(sliders, work)


def _line(case: Case) -> Calculator:
    def work(line_bps: float, mtu: float) -> list[Part]:
        mtu_bytes = int(mtu)
        goodput = formulas.ethernet_goodput_bps(line_bps, mtu_bytes)
        frame = mtu_bytes + formulas.ETHERNET_BYTES
        payload = mtu_bytes - formulas.IP_TCP_BYTES[4]
        six = formulas.ethernet_goodput_bps(line_bps, mtu_bytes, 6)
        return [
            Figure("Payload", f"{payload} of {frame} bytes"),
            Gauge("Share", goodput / line_bps, f"{100 * goodput / line_bps:.1f} %", "ok"),
            Figure("TCP gets", words.rate(goodput)),
            Figure("by IPv6", words.rate(six), "text"),
            Figure("Frames", f"{words.count(line_bps / 8 / frame)} a second", "text"),
            Remark(f"An even {words.rate(goodput)} is a full line of {words.rate(line_bps)}."),
        ]

    lines = (1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 4e10, 1e11)
    port = Slider("Line", lines, words.rate, Reader("rate", 1e6, 1e12)).holding(case.rate_bps)
    mtus = [576, 1280, 1400, 1420, 1492, 1500, 4000, 9000]
    return Calculator((port, _count("MTU", mtus, 1500, 65535)), work)


def _datagrams(case: Case) -> Calculator:
    def work(offered_bps: float, path_bps: float, spread_us: float) -> list[Part]:
        received = min(offered_bps, path_bps)
        lost = 1 - received / offered_bps
        transits = transit_times_us(spread_us)
        jitter = formulas.jitter_us(transits)
        role = "ok" if lost == 0 else "fault"
        a_second = words.count(offered_bps / 8 / DATAGRAM_BYTES)
        return [
            Figure("Sent", f"{a_second} datagrams a second", "text"),
            Gauge("Arrives", 1 - lost, words.rate(received), "ok" if lost == 0 else "look"),
            Figure("Lost", words.percent(lost), role),
            Curve("Delay", transits[:24], f"0 to {words.milliseconds(spread_us)}"),
            Figure("Jitter", f"{words.milliseconds(jitter)}, smoothed"),
            Remark("UDP sends on at the rate it was told. Only what arrives is a result."),
        ]

    stops = (0.0, *steps(100, 1e5))
    varies = Slider("Varies", stops, words.milliseconds, Reader("time", 0, 1e7)).holding(5000)
    sliders = (_rate("Offered", case.offered_bps), _rate("Path", min(case.rate_bps, 1e8)), varies)
    return Calculator(sliders, work)


def transit_times_us(spread_us: float, count: int = 240) -> tuple[float, ...]:
    """Delays that vary evenly between 0 and `spread_us`, the same ones each time."""
    state, found = 20_011, []
    for _ in range(count):
        state = (state * 1_103_515_245 + 12_345) % 2**31  # the C standard's example generator
        found.append(spread_us * (state >> 8) / 2**23)
    return tuple(found)


def _chatty(case: Case) -> Calculator:
    def work(trips: float, rtt_us: float, amount_bytes: float, rate_bps: float) -> list[Part]:
        waiting_s = trips * rtt_us / 1e6
        whole_s = formulas.chatty_s(trips, rtt_us, amount_bytes, rate_bps)
        faster_s = formulas.chatty_s(trips, rtt_us, amount_bytes, 2 * rate_bps)
        nearer_s = formulas.chatty_s(trips, rtt_us / 2, amount_bytes, rate_bps)
        share = waiting_s / whole_s
        return [
            Figure("Takes", words.duration(whole_s)),
            Gauge("Waiting", share, words.percent(share), "look" if share > 0.5 else "ok"),
            Figure("2 × rate", f"{words.duration(faster_s)}"),
            Figure("RTT / 2", f"{words.duration(nearer_s)}"),
            Remark(
                "Mostly waiting: a faster line does not help. Ask less often, or nearer."
                if share > 0.5
                else "Mostly data: a faster line does help.",
                "look" if share > 0.5 else "ok",
            ),
        ]

    trips = _count("Asks", steps(1, 20_000), 200, 1_000_000)
    sliders = (trips, _rtt(case.rtt_us), _amount("Data", 1e7), _rate("Rate", case.rate_bps))
    return Calculator(sliders, work)


_MAKERS: dict[int, Callable[[Case], Calculator]] = {
    1: _units,
    2: _pipe,
    3: _streams,
    4: _loss,
    5: _queue,
    6: _line,
    7: _datagrams,
    8: _chatty,
}
