"""What nl80211 tells of a Wi-Fi interface: network, frequency, signal, rates of both directions.

Layouts: include/uapi/linux/nl80211.h. Decoding is pure; the reader never raises.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .gaps import Gaps
from .netlink import attribute, attributes, generic_body, signed, string, unsigned
from .netlink_socket import Generic

_GET_INTERFACE, _GET_STATION = 5, 17
_IFINDEX, _STA_INFO, _FREQUENCY, _SSID = 3, 21, 38, 52
_SIGNAL, _TX_BITRATE, _TX_PACKETS, _TX_RETRIES, _TX_FAILED = 7, 8, 10, 11, 12
_SIGNAL_AVERAGE, _RX_BITRATE = 13, 14
_BITRATE, _BITRATE32 = 1, 5


@dataclass(frozen=True)
class Wifi:
    """One station's view of its access point. Rates are those of the radio, not of TCP."""

    ssid: str = ""
    frequency_mhz: int | None = None
    signal_dbm: int | None = None
    tx_mbps: float | None = None
    rx_mbps: float | None = None
    sent_frames: int | None = None
    retried_frames: int | None = None
    failed_frames: int | None = None


def read(interface_index: int, gaps: Gaps) -> Wifi | None:
    """None for what is no Wi-Fi interface."""
    try:
        with Generic("nl80211") as kernel:
            index = attribute(_IFINDEX, struct.pack("=I", interface_index))
            bodies = kernel.get(_GET_INTERFACE, index)
            try:
                stations = kernel.get(_GET_STATION, index, dump=True)
            except OSError as error:
                gaps.failed("Wi-Fi rates", error)
                stations = []
    except OSError:
        return None
    return decode(bodies[0], stations[0] if stations else b"") if bodies else None


def decode(interface: bytes, station: bytes) -> Wifi:
    """The answers to GET_INTERFACE and GET_STATION."""
    about = generic_body(interface)[1]
    info = attributes(generic_body(station)[1].get(_STA_INFO, b""))
    average = signed(info.get(_SIGNAL_AVERAGE))
    return Wifi(
        ssid=string(about.get(_SSID)) or "",
        frequency_mhz=unsigned(about.get(_FREQUENCY)),
        signal_dbm=average if average else signed(info.get(_SIGNAL)),
        tx_mbps=_rate(info.get(_TX_BITRATE)),
        rx_mbps=_rate(info.get(_RX_BITRATE)),
        sent_frames=unsigned(info.get(_TX_PACKETS)),
        retried_frames=unsigned(info.get(_TX_RETRIES)),
        failed_frames=unsigned(info.get(_TX_FAILED)),
    )


def _rate(value: bytes | None) -> float | None:
    """A rate in Mbit/s, told in units of 100 kbit/s."""
    found = attributes(value or b"")
    units = unsigned(found.get(_BITRATE32)) or unsigned(found.get(_BITRATE))
    return units / 10 if units else None
