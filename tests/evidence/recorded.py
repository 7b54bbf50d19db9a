"""Answers of kernels and drivers as they came, in bytes: a machine with cards of five makers.

A Linux 6.1 whose cards were e1000e, igb, vmxnet3, virtio_net and 8139cp, negotiated, forced to
100 Mbit/s half duplex, and with the cable pulled; and a bridge on a VLAN on a bond of two cards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ALL: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "recorded.json").read_text(encoding="ascii")
)
CASES = tuple(_ALL)


def answer(case: str, question: str) -> bytes:
    """The bytes of one answer."""
    return bytes.fromhex(_ALL[case][question])


def answers() -> list[tuple[str, bytes]]:
    """All answers that are a single one, with what was asked."""
    return [
        (question, bytes.fromhex(text))
        for case in _ALL.values()
        for question, text in case.items()
        if isinstance(text, str)
    ]


def tower() -> list[bytes]:
    """The interfaces of the machine with the bridge on a VLAN on a bond."""
    return [bytes.fromhex(each) for each in _ALL["tower of bridge, VLAN, bond"]["links"]]
