"""The list of this host's interfaces."""

from __future__ import annotations

from tests.evidence.spaces import spaces, wire
from tuiperf.evidence import listing
from tuiperf.evidence.gaps import Gaps


def test_what_is_listed() -> None:
    with spaces(2) as (here, there):
        wire(here, there, "10.0.0.1/24", "10.0.0.2/24")
        here.ip("route add default via 10.0.0.2")
        here.ip("link add d0 type veth peer name d1")
        found = here.do(lambda: listing.read(Gaps()))
    listed = {each.interface.name: each for each in found}
    assert found[0].interface.name == "w0"
    assert found[-1].interface.loopback
    assert (listed["w0"].address, listed["w0"].way_out) == ("10.0.0.1", True)
    assert (listed["d0"].address, listed["d0"].way_out) == ("", False)
    assert listed["w0"].link.what == "one end of a pair inside this host (veth)"


def test_which_address_is_shown() -> None:
    assert listing.first_address(["fe80::1%eth0", "2001:db8::1"]) == "2001:db8::1"
    assert listing.first_address(["fe80::1%eth0"]) == "fe80::1"
    assert listing.first_address([]) == ""
