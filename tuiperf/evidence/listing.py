"""The interfaces of this host in one line each: state, speed, address, what each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import ethtool_reader, interfaces, route
from .ethtool import Driver, Ethtool
from .gaps import Gaps
from .interfaces import Interface
from .link import Link, normalise


@dataclass(frozen=True)
class Listed:
    """One interface. `address` is its first one, "" without; `way_out` by the default route."""

    interface: Interface
    link: Link
    address: str = ""
    way_out: bool = False


def read(gaps: Gaps) -> tuple[Listed, ...]:
    """All interfaces: those with a carrier first, loopback last. Never raises."""
    ways_out = {each.device_index for each in route.default_routes(gaps)}
    addresses = _addresses(gaps)
    found = [
        Listed(each, _link(each), addresses.get(each.name, ""), each.index in ways_out)
        for each in interfaces.read(gaps)
    ]
    return tuple(sorted(found, key=lambda each: rank(each.interface)))


def rank(interface: Interface) -> tuple[bool, bool, bool, int]:
    """What a reader most likely looks for comes first."""
    off = interface.enabled is False
    return interface.loopback, off, interface.carrier is False, interface.index


def _link(interface: Interface) -> Link:
    own = interfaces.is_in_sysfs(interface)
    driver = ethtool_reader.driver_of_sysfs(interface.name) if own else None
    return normalise(
        interface,
        Ethtool(driver=Driver(driver)),
        wireless=own and interfaces.has_radio(interface),
        fallback=ethtool_reader.modes_of_sysfs(interface.name) if own else None,
    )


def _addresses(gaps: Gaps) -> dict[str, str]:
    """The first address of each interface that is not valid on its link alone, by psutil."""
    try:
        import psutil

        known = psutil.net_if_addrs()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        gaps.note("addresses", f"psutil cannot tell: {error}"[:120])
        return {}
    return {name: first_address(entries) for name, entries in plain(known).items()}


def plain(known: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
    """Internet addresses by interface, out of psutil's entries of all families."""
    return {
        name: [
            str(getattr(each, "address", ""))
            for each in entries
            if getattr(each, "family", 0) in route.FAMILIES
        ]
        for name, entries in known.items()
    }


def first_address(addresses: Sequence[str]) -> str:
    """The one to show: any but a link-local one, which is shown when there is no other."""
    wide = [each for each in addresses if not route.is_link_local(each)]
    return (wide or [each.partition("%")[0] for each in addresses] or [""])[0]
