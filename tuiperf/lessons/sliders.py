"""A slider: one number of a calculator, moved in steps that suit it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Slider:
    """A number that the reader moves. `stops` are its values, lowest first, `at` the chosen one."""

    name: str
    stops: tuple[float, ...]
    show: Callable[[float], str]
    read: Callable[[str], float]  # raises ValueError
    at: int = 0

    @property
    def value(self) -> float:
        return self.stops[self.at]

    @property
    def text(self) -> str:
        """The value with its unit."""
        return self.show(self.value)

    @property
    def share(self) -> float:
        """Where the knob is, 0 at the left end and 1 at the right one."""
        return self.at / max(1, len(self.stops) - 1)

    def moved(self, steps: int) -> Slider:
        """The slider so many steps further, no further than it goes."""
        return replace(self, at=max(0, min(self.at + steps, len(self.stops) - 1)))

    def holding(self, value: float) -> Slider:
        """The slider at exactly this value, which becomes one of its stops."""
        place = bisect_left(self.stops, value)
        if place < len(self.stops) and self.stops[place] == value:
            return replace(self, at=place)
        stops = (*self.stops[:place], value, *self.stops[place:])
        return replace(self, stops=stops, at=place)


def steps(first: float, last: float, within: tuple[float, ...] = (1, 2, 5)) -> tuple[float, ...]:
    """Round numbers from `first` to `last`, the same few in every power of ten."""
    found = []
    power = 1.0
    while power > first:
        power /= 10
    while power <= last:
        for each in within:
            value = float(f"{each * power:.6g}")
            if first <= value <= last:
                found.append(value)
        power *= 10
    return tuple(found)


def doublings(first: int, last: int) -> tuple[float, ...]:
    """Powers of two from `first` to `last`."""
    found = []
    value = first
    while value <= last:
        found.append(float(value))
        value *= 2
    return tuple(found)
