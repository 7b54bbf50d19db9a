"""Link modes: the bits of ethtool by their names, and what a name says of speed and duplex.

The order is that of `enum ethtool_link_mode_bit_indices` (include/uapi/linux/ethtool.h), by the
names of the kernel's string set "link-modes". A kernel may know more of them than this table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAMES = tuple(
    """
    10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Half 1000baseT/Full Autoneg
    TP AUI MII FIBRE BNC 10000baseT/Full Pause Asym_Pause 2500baseX/Full Backplane
    1000baseKX/Full 10000baseKX4/Full 10000baseKR/Full 10000baseR_FEC 20000baseMLD2/Full
    20000baseKR2/Full 40000baseKR4/Full 40000baseCR4/Full 40000baseSR4/Full 40000baseLR4/Full
    56000baseKR4/Full 56000baseCR4/Full 56000baseSR4/Full 56000baseLR4/Full 25000baseCR/Full
    25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full 100000baseKR4/Full
    100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full 50000baseSR2/Full
    1000baseX/Full 10000baseCR/Full 10000baseSR/Full 10000baseLR/Full 10000baseLRM/Full
    10000baseER/Full 2500baseT/Full 5000baseT/Full None RS BASER 50000baseKR/Full
    50000baseSR/Full 50000baseCR/Full 50000baseLR_ER_FR/Full 50000baseDR/Full 100000baseKR2/Full
    100000baseSR2/Full 100000baseCR2/Full 100000baseLR2_ER2_FR2/Full 100000baseDR2/Full
    200000baseKR4/Full 200000baseSR4/Full 200000baseLR4_ER4_FR4/Full 200000baseDR4/Full
    200000baseCR4/Full 100baseT1/Full 1000baseT1/Full 400000baseKR8/Full 400000baseSR8/Full
    400000baseLR8_ER8_FR8/Full 400000baseDR8/Full 400000baseCR8/Full LLRS 100000baseKR/Full
    100000baseSR/Full 100000baseLR_ER_FR/Full 100000baseCR/Full 100000baseDR/Full
    200000baseKR2/Full 200000baseSR2/Full 200000baseLR2_ER2_FR2/Full 200000baseDR2/Full
    200000baseCR2/Full 400000baseKR4/Full 400000baseSR4/Full 400000baseLR4_ER4_FR4/Full
    400000baseDR4/Full 400000baseCR4/Full 100baseFX/Half 100baseFX/Full 10baseT1L/Full
    800000baseCR8/Full 800000baseKR8/Full 800000baseDR8/Full 800000baseDR8_2/Full
    800000baseSR8/Full 800000baseVR8/Full 10baseT1S/Full 10baseT1S/Half 10baseT1S_P2MP/Half
    10baseT1BRR/Full 200000baseCR/Full 200000baseKR/Full 200000baseDR/Full 200000baseDR_2/Full
    200000baseSR/Full 200000baseVR/Full 400000baseCR2/Full 400000baseKR2/Full 400000baseDR2/Full
    400000baseDR2_2/Full 400000baseSR2/Full 400000baseVR2/Full 800000baseCR4/Full
    800000baseKR4/Full 800000baseDR4/Full 800000baseDR4_2/Full 800000baseSR4/Full
    800000baseVR4/Full
    """.split()  # noqa: SIM905
)
AUTONEG = "Autoneg"

_SPEED = re.compile(r"(\d{1,8})base")


def name(index: int) -> str:
    """The mode of a bit; "bit 140" for one that is newer than this table."""
    return NAMES[index] if 0 <= index < len(NAMES) else f"bit {index}"


def from_bitmap(bitmap: bytes) -> tuple[str, ...]:
    """The modes of a little-endian bitmap."""
    bits = int.from_bytes(bitmap, "little")
    return tuple(name(index) for index in range(len(bitmap) * 8) if bits >> index & 1)


def speed_mbps(mode: str) -> int | None:
    """The speed of a mode, None for what is none (a port type, pause, FEC, an unknown bit)."""
    found = _SPEED.match(mode)
    return int(found[1]) if found else None


def in_words(mbps: float) -> str:
    """A link's speed as people say it: 100 Mbit/s, 2.5 Gbit/s."""
    return f"{mbps:g} Mbit/s" if mbps < 1000 else f"{mbps / 1000:g} Gbit/s"


def is_half(mode: str) -> bool:
    return mode.endswith("/Half")


def fastest_mbps(modes: Iterable[str]) -> int | None:
    """The highest speed among modes, None when none of them has one."""
    return max((speed for mode in modes if (speed := speed_mbps(mode)) is not None), default=None)
