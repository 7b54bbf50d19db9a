from __future__ import annotations

import pytest

from tuiperf.report.units import bitrate, transfer, unit

KIB, MIB, GIB, TIB = 1024, 1024**2, 1024**3, 1024**4


@pytest.mark.parametrize(
    ("count_bytes", "text"),
    [
        (0, "0.00 Bytes"),
        (1, "1.00 Bytes"),
        (9, "9.00 Bytes"),
        (10, "10.0 Bytes"),
        (99, "99.0 Bytes"),
        (100, " 100 Bytes"),
        (1023, "1023 Bytes"),
        (KIB, "1.00 KBytes"),
        (10234, "9.99 KBytes"),  # 9.9941
        (10235, "10.0 KBytes"),  # 9.9951
        (102348, "99.9 KBytes"),  # 99.949
        (102349, " 100 KBytes"),  # 99.950
        (123 * KIB, " 123 KBytes"),
        (1023 * KIB, "1023 KBytes"),
        (MIB - 1, "1024 KBytes"),
        (MIB, "1.00 MBytes"),
        (1310720, "1.25 MBytes"),
        (GIB - 1, "1024 MBytes"),
        (GIB, "1.00 GBytes"),
        (TIB - 1, "1024 GBytes"),
        (TIB, "1.00 TBytes"),
        (5000 * TIB, "5000 TBytes"),  # there is no larger step
    ],
)
def test_transfer_takes_the_step_that_fits(count_bytes: int, text: str) -> None:
    assert transfer(count_bytes) == text


@pytest.mark.parametrize(
    ("bits_per_s", "text"),
    [
        (0, "0.00 bits/sec"),
        (8, "8.00 bits/sec"),
        (992, " 992 bits/sec"),
        (1000, "1.00 Kbits/sec"),
        (9994, "9.99 Kbits/sec"),
        (9996, "10.0 Kbits/sec"),
        (99_944, "99.9 Kbits/sec"),
        (99_952, " 100 Kbits/sec"),
        (999_992, "1000 Kbits/sec"),
        (1_000_000, "1.00 Mbits/sec"),
        (10_485_760, "10.5 Mbits/sec"),
        (1_000_000_000, "1.00 Gbits/sec"),
        (1e12, "1.00 Tbits/sec"),
        (5e15, "5000 Tbits/sec"),
    ],
)
def test_bitrate_takes_the_step_that_fits(bits_per_s: float, text: str) -> None:
    assert bitrate(bits_per_s / 8, "a") == text


@pytest.mark.parametrize(
    ("unit_format", "text"),
    [
        ("k", "10473 Kbit"),
        ("m", "10.5 Mbit"),
        ("g", "0.01 Gbit"),
        ("t", "0.00 Tbit"),
        ("K", "1278 KByte"),
        ("M", "1.25 MByte"),
        ("G", "0.00 GByte"),
        ("T", "0.00 TByte"),
        ("a", "10.5 Mbit"),
        ("A", "1.25 MByte"),
    ],
)
def test_a_letter_fixes_the_step(unit_format: str, text: str) -> None:
    assert unit(1_309_125, unit_format) == text


def test_a_number_beyond_all_floats_is_shown_as_such() -> None:
    assert unit(10**400, "A") == " inf TByte"
