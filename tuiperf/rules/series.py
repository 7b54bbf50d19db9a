"""One stream's samples of TCP_INFO over the steady part, and sums and medians of what is known."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

from tuiperf import events as ev
from tuiperf.session import Stream

SERIES_MAX = 400
"""Samples of all streams together of which a median is taken; a longer series is thinned evenly."""
LARGEST = 2**64  # of any counter in struct tcp_info


class Series(NamedTuple):
    """One stream's samples: the ends of the steady part, and some of those between."""

    first: ev.Json
    last: ev.Json
    between: list[ev.StreamSample]
    every: list[ev.StreamSample]
    warmup: list[ev.StreamSample]

    @classmethod
    def of(cls, stream: Stream, begin_s: float, streams: int) -> Series:
        samples = list(stream.samples)
        start = bisect_left(samples, begin_s - 1e-6, key=lambda sample: sample.test_s)
        steady = samples[start:]
        if not steady:
            last = samples[-1].tcp if samples else None
            return cls({}, last or {}, [], [], [])
        stride = 1 + len(samples) * max(1, streams) // SERIES_MAX
        return cls(
            steady[0].tcp or {},
            steady[-1].tcp or {},
            steady[::stride],
            steady,
            samples[:start:stride],
        )

    def grown(self, name: str) -> int | None:
        """How much a counter grew over the steady part."""
        first, last = counter(self.first, name), counter(self.last, name)
        return max(0, last - first) if first is not None and last is not None else None

    def values(self, name: str) -> list[int]:
        return values_of(self.between, name)


def values_of(samples: Iterable[ev.StreamSample], name: str) -> list[int]:
    """The known values of a field."""
    known = (counter(sample.tcp, name) for sample in samples)
    return [value for value in known if value is not None]


def counter(info: ev.Json | None, name: str) -> int | None:
    """A field of TCP_INFO, None for what is no counter."""
    value = info.get(name) if info else None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST:
        return value
    return None


def grown(series: Iterable[Series], name: str) -> int | None:
    known = [value for each in series if (value := each.grown(name)) is not None]
    return sum(known) if known else None


def total(series: Iterable[Series], name: str) -> int | None:
    """What a counter stands at, all streams together."""
    known = [value for each in series if (value := counter(each.last, name)) is not None]
    return sum(known) if known else None


def median_of(values: Sequence[float]) -> float | None:
    """The median, None of nothing."""
    return median(values) if values else None


def sum_known(values: Iterable[Any]) -> Any:
    """The sum of what is known, None of nothing."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def ratio(part: float | None, whole: float | None) -> float | None:
    """None where either is not known, or the whole is 0."""
    return part / whole if part is not None and whole else None
