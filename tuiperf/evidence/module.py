"""A pluggable module's own measurements against its own thresholds: SFF-8472, SFF-8636, CMIS.

Decoding is pure: pages of memory in, a Module out, whatever the bytes. Layouts: SFF-8472 rev 12.4
tables 9-5, 9-6 and 9-11; SFF-8636 rev 2.11 tables 6-7 and 6-16 and page 03h; OIF CMIS 5.2
chapter 8.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .ethtool_reader import eeprom_page
from .gaps import Gaps
from .netlink_socket import Generic

DARK_DBM = -40.0
"""The least power that can be told (0.1 µW): no light."""

_SFP = (0x03,)
_QSFP = (0x0C, 0x0D, 0x11)
_CMIS = (0x18, 0x19, 0x1B, 0x1E, 0x1F)
_NAMES = {
    0x03: "SFP",
    0x0C: "QSFP",
    0x0D: "QSFP+",
    0x11: "QSFP28",
    0x18: "QSFP-DD",
    0x19: "OSFP",
    0x1B: "DSFP",
    0x1E: "QSFP+ (CMIS)",
    0x1F: "SFP-DD (CMIS)",
}

Pages = dict[tuple[int, int, int], bytes]
"""Half pages of 128 bytes by (I2C address, page, offset)."""


@dataclass(frozen=True)
class Limits:
    """A module's thresholds for one measurement."""

    low_alarm: float
    low_warning: float
    high_warning: float
    high_alarm: float


@dataclass(frozen=True)
class Reading:
    """One measurement of one lane (0 for the whole module) with its unit."""

    name: str
    value: float
    unit: str
    lane: int = 0
    limits: Limits | None = None

    @property
    def state(self) -> str:
        """ "ok", or which threshold is passed: "low alarm", "high warning"…; "" without limits."""
        limits = self.limits
        if limits is None or limits.high_alarm <= limits.low_alarm:
            return ""
        if self.value < limits.low_alarm:
            return "low alarm"
        if self.value > limits.high_alarm:
            return "high alarm"
        if self.value < limits.low_warning:
            return "low warning"
        return "high warning" if self.value > limits.high_warning else "ok"


@dataclass(frozen=True)
class Module:
    """What is plugged in. No readings when it measures nothing (copper, old modules)."""

    kind: str
    vendor: str = ""
    part: str = ""
    readings: tuple[Reading, ...] = ()


def dbm(microwatts: float) -> float:
    """Optical power as dBm, no less than DARK_DBM."""
    if microwatts <= 0:
        return DARK_DBM
    return max(DARK_DBM, round(10 * math.log10(microwatts / 1000), 2))


def read(interface: str, gaps: Gaps) -> Module | None:
    """Read the module of an interface; needs CAP_NET_ADMIN. None when there is none to read."""
    try:
        with Generic("ethtool") as kernel:
            return _read(lambda i2c, page, offset: _page(kernel, interface, i2c, page, offset))
    except OSError as error:
        gaps.failed("optical power", error)
        return None


def _page(kernel: Generic, interface: str, i2c: int, page: int, offset: int) -> bytes:
    return eeprom_page(kernel, interface, page=page, offset=offset, i2c=i2c)


def _read(fetch: Callable[[int, int, int], bytes]) -> Module | None:
    pages: Pages = {(0x50, 0, 0): fetch(0x50, 0, 0)}
    for key in wanted(pages[0x50, 0, 0]):
        try:
            pages[key] = fetch(*key)
        except OSError:
            continue
    return decode(pages)


def wanted(low: bytes) -> tuple[tuple[int, int, int], ...]:
    """Which further half pages a module has, by its first one."""
    kind = low[0] if low else 0
    if kind in _SFP:
        return ((0x51, 0, 0),) if len(low) > 92 and low[92] & 0x40 else ()
    flat = len(low) > 2 and bool(low[2] & (0x04 if kind in _QSFP else 0x80))
    if kind in _QSFP:
        return ((0x50, 0, 128),) if flat else ((0x50, 0, 128), (0x50, 3, 128))
    if kind in _CMIS:
        pages = ((0x50, 0, 128), (0x50, 2, 128), (0x50, 0x11, 128))
        return pages[:1] if flat else pages
    return ()


def decode(pages: Pages) -> Module | None:
    """The module that these half pages describe; None when the first one says nothing."""
    low = pages.get((0x50, 0, 0), b"")
    if not low or low[0] in (0, 0xFF):
        return None
    kind = low[0]
    name = _NAMES.get(kind, f"module type 0x{kind:02x}")
    high = pages.get((0x50, 0, 128), b"")
    if kind in _SFP:
        return Module(name, _text(low, 20, 16), _text(low, 40, 16), _sfp(low, pages))
    if kind in _QSFP:
        limits = pages.get((0x50, 3, 128), b"")
        return Module(name, _text(high, 20, 16), _text(high, 40, 16), _qsfp(low, limits))
    if kind in _CMIS:
        readings = _cmis(low, pages.get((0x50, 2, 128), b""), pages.get((0x50, 0x11, 128), b""))
        return Module(name, _text(high, 1, 16), _text(high, 20, 16), readings)
    return Module(name)


def _text(data: bytes, at: int, size: int) -> str:
    return data[at : at + size].decode("ascii", "replace").strip(" \0\xff")


def _word(data: bytes, at: int) -> int | None:
    return None if at + 2 > len(data) else int(struct.unpack_from(">H", data, at)[0])


def _celsius(raw: int) -> float:
    return round((raw - 0x10000 if raw & 0x8000 else raw) / 256, 1)


def _volts(raw: int) -> float:
    return round(raw / 10_000, 3)


def _milliamperes(raw: int) -> float:
    return round(raw * 2 / 1000, 2)


def _power(raw: int) -> float:
    return dbm(raw / 10)


def _limits(data: bytes, at: int, scale: Callable[[int], float]) -> Limits | None:
    """Four words: high alarm, low alarm, high warning, low warning; None when all are zero."""
    words = [_word(data, at + 2 * index) for index in range(4)]
    if None in words or not any(words):
        return None
    high_alarm, low_alarm, high_warning, low_warning = (scale(word or 0) for word in words)
    return Limits(low_alarm, low_warning, high_warning, high_alarm)


class _Quantity(NamedTuple):
    """What a word of memory means."""

    name: str
    unit: str
    scale: Callable[[int], float]


_TEMPERATURE = _Quantity("temperature", "°C", _celsius)
_VOLTAGE = _Quantity("voltage", "V", _volts)
_BIAS = _Quantity("laser bias", "mA", _milliamperes)
_SENT = _Quantity("sent power", "dBm", _power)
_RECEIVED = _Quantity("received power", "dBm", _power)


def _reading(
    what: _Quantity, data: bytes, at: int, limits: Limits | None, lane: int = 0
) -> list[Reading]:
    raw = _word(data, at)
    return [] if raw is None else [Reading(what.name, what.scale(raw), what.unit, lane, limits)]


def _sfp(low: bytes, pages: Pages) -> tuple[Reading, ...]:
    """SFF-8472: measurements at A2h, calibrated by the module or by constants it holds."""
    data = pages.get((0x51, 0, 0), b"")
    if len(data) < 106:
        return ()
    outside = len(low) > 92 and bool(low[92] & 0x10)
    constants = (84, 88, 76, 80)
    whats = [_TEMPERATURE, _VOLTAGE, _BIAS, _SENT, _RECEIVED]
    if outside:
        scaled = [_scaled(data, at, what) for at, what in zip(constants, whats, strict=False)]
        whats = [*scaled, _RECEIVED._replace(scale=_polynomial(data))]
    readings: list[Reading] = []
    for number, (what, plain) in enumerate(
        zip(whats, (_celsius, _volts, _milliamperes, _power, _power), strict=True)
    ):
        limits = _limits(data, 8 * number, plain)
        readings += _reading(what, data, 96 + 2 * number, limits, int(number > 1))
    return tuple(readings)


def _scaled(data: bytes, at: int, what: _Quantity) -> _Quantity:
    """External calibration: slope (unsigned, 1/256) and offset (signed) of SFF-8472 9.3."""
    slope = (_word(data, at) or 0) / 256
    offset = _signed(_word(data, at + 2) or 0)
    is_signed = what is _TEMPERATURE

    def apply(raw: int) -> float:
        number = _signed(raw) if is_signed else raw
        total = int(slope * number + offset)
        return what.scale(total & 0xFFFF if is_signed else min(max(total, 0), 0xFFFF))

    return what._replace(scale=apply)


def _polynomial(data: bytes) -> Callable[[int], float]:
    """Received power by external calibration: a polynomial of degree 4, highest constant first."""
    constants = struct.unpack_from(">5f", data, 56)

    def apply(raw: int) -> float:
        total = 0.0
        for constant in constants:
            total = total * raw + constant
        return dbm(total / 10) if math.isfinite(total) else DARK_DBM

    return apply


def _signed(raw: int) -> int:
    return raw - 0x10000 if raw & 0x8000 else raw


def _qsfp(low: bytes, limits: bytes) -> tuple[Reading, ...]:
    """SFF-8636: four lanes in the lower page, thresholds in page 03h."""
    readings = [
        *_reading(_TEMPERATURE, low, 22, _limits(limits, 0, _celsius)),
        *_reading(_VOLTAGE, low, 26, _limits(limits, 16, _volts)),
    ]
    bounds = (
        _limits(limits, 48, _power),
        _limits(limits, 56, _milliamperes),
        _limits(limits, 64, _power),
    )
    for lane in range(4):
        readings += _lane(lane, low, (34, 42, 50), bounds)
    return tuple(readings)


def _cmis(low: bytes, limits: bytes, lanes: bytes) -> tuple[Reading, ...]:
    """CMIS: eight lanes in page 11h, of which only the activated ones count; limits in page 02h."""
    readings = [
        *_reading(_TEMPERATURE, low, 14, _limits(limits, 0, _celsius)),
        *_reading(_VOLTAGE, low, 16, _limits(limits, 8, _volts)),
    ]
    bounds = (
        _limits(limits, 64, _power),
        _limits(limits, 56, _milliamperes),
        _limits(limits, 48, _power),
    )
    for lane in range(8):
        state = lanes[lane // 2] >> (4 * (lane % 2)) & 0xF if len(lanes) >= 4 else 0
        if state == 4:  # DPActivated
            readings += _lane(lane, lanes, (58, 42, 26), bounds)
    return tuple(readings)


def _lane(
    lane: int,
    data: bytes,
    starts: tuple[int, int, int],
    bounds: tuple[Limits | None, Limits | None, Limits | None],
) -> list[Reading]:
    received, bias, sent = (start + 2 * lane for start in starts)
    return [
        *_reading(_RECEIVED, data, received, bounds[0], lane + 1),
        *_reading(_BIAS, data, bias, bounds[1], lane + 1),
        *_reading(_SENT, data, sent, bounds[2], lane + 1),
    ]
