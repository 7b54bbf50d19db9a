"""The kernel's own settings for TCP and queues, as this network namespace has them."""

from __future__ import annotations

from dataclasses import dataclass

from . import files
from .gaps import Gaps

_SYS = "/proc/sys/net"
WINDOW_SHARE = 0.5
"""Share of a receive buffer that becomes window: tcp_adv_win_scale 1, and about that since 6.6."""


@dataclass(frozen=True)
class KernelSettings:
    """Buffers in bytes: (least, first, most) for TCP's own, the most for an asked-for one."""

    tcp_rmem_bytes: tuple[int, ...] | None = None
    tcp_wmem_bytes: tuple[int, ...] | None = None
    rmem_max_bytes: int | None = None
    wmem_max_bytes: int | None = None
    congestion: str | None = None
    congestion_available: tuple[str, ...] = ()
    default_qdisc: str | None = None
    window_scaling: bool | None = None
    sack: bool | None = None
    timestamps: bool | None = None
    mtu_probing: int | None = None

    @property
    def receive_window_bytes(self) -> int | None:
        """The largest receive window that autotuning can open."""
        if not self.tcp_rmem_bytes or len(self.tcp_rmem_bytes) < 3:
            return None
        return int(self.tcp_rmem_bytes[2] * WINDOW_SHARE)

    @property
    def send_buffer_bytes(self) -> int | None:
        """The most that autotuning lets be sent and not yet acknowledged."""
        if not self.tcp_wmem_bytes or len(self.tcp_wmem_bytes) < 3:
            return None
        return self.tcp_wmem_bytes[2]


def read(gaps: Gaps, root: str = _SYS) -> KernelSettings:
    """Read them. rmem_max and wmem_max are only visible outside of containers."""
    settings = KernelSettings(
        tcp_rmem_bytes=files.numbers(f"{root}/ipv4/tcp_rmem"),
        tcp_wmem_bytes=files.numbers(f"{root}/ipv4/tcp_wmem"),
        rmem_max_bytes=files.number(f"{root}/core/rmem_max"),
        wmem_max_bytes=files.number(f"{root}/core/wmem_max"),
        congestion=files.text(f"{root}/ipv4/tcp_congestion_control", 64),
        congestion_available=tuple(
            (files.text(f"{root}/ipv4/tcp_available_congestion_control", 1024) or "").split()
        ),
        default_qdisc=files.text(f"{root}/core/default_qdisc", 64),
        window_scaling=_switch(f"{root}/ipv4/tcp_window_scaling"),
        sack=_switch(f"{root}/ipv4/tcp_sack"),
        timestamps=_switch(f"{root}/ipv4/tcp_timestamps"),
        mtu_probing=files.number(f"{root}/ipv4/tcp_mtu_probing"),
    )
    if settings.tcp_rmem_bytes is None:
        gaps.note("TCP's buffers", "/proc/sys/net cannot be read")
    if settings.rmem_max_bytes is None and settings.tcp_rmem_bytes is not None:
        gaps.note("rmem_max", "this is another network namespace than the host's first one")
    return settings


def _switch(path: str) -> bool | None:
    number = files.number(path)
    return None if number is None else number != 0


def bdp_bytes(rate_mbps: float, rtt_ms: float) -> int:
    """The bandwidth-delay product: what is under way on a path that is full (RFC 6349 3.3)."""
    return int(rate_mbps * 1e6 / 8 * rtt_ms / 1e3)
