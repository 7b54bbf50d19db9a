"""`tuiperf link cable-test` takes the link down: it asks first, and cuts no user off."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable

from tuiperf.cli.printer import Printer
from tuiperf.evidence import cable_test, interfaces, route
from tuiperf.evidence.cable_test import Pair, Reflection
from tuiperf.evidence.facts import as_json
from tuiperf.evidence.gaps import NEEDS_RIGHTS, Gaps, reason
from tuiperf.evidence.interfaces import by_index, by_name
from tuiperf.evidence.link import walk

REFUSED_CODE, NOT_FOUND_CODE, UNAVAILABLE_CODE, NO_RIGHTS_CODE = 64, 68, 69, 77
NOTHING_TOLD_CODE = 70

NO_RIGHTS = "error - a cable test needs root (CAP_NET_ADMIN)"

Ask = Callable[[str], bool]


def run(
    interface: str,
    printer: Printer,
    *,
    sure: bool,
    as_json: bool,
    ask: Ask | None,
    tdr: bool = False,
) -> int:
    """Test the cable; 0 all pairs are fine, 2 one is not, 64 and above: there was no test."""
    device = by_name(interfaces.read(Gaps()), interface)
    if device is None:
        printer.complain(f"error - there is no interface '{interface[:40]}' here")
        return NOT_FOUND_CODE
    if device.loopback or device.kind:
        printer.complain(f"error - {interface} has no cable of its own: name the card below it")
        return UNAVAILABLE_CODE
    if not cable_test.may_test():
        printer.complain(NO_RIGHTS)
        return NO_RIGHTS_CODE
    if not sure and not _is_wanted(device.name, printer, ask):
        return REFUSED_CODE
    try:
        if tdr:
            samples = cable_test.reflections(device.name)
            return tell_reflections(device.name, samples, printer, as_json)
        pairs = cable_test.run(device.name)
    except OSError as error:
        return _refused(error, interface, printer)
    if not pairs:
        printer.complain("error - the card has told no result within 20 s")
        return NOTHING_TOLD_CODE
    return tell(interface, pairs, printer, as_json)


def _is_wanted(interface: str, printer: Printer, ask: Ask | None) -> bool:
    """Ask, but never about the cable that this shell comes over."""
    if carries_this_shell(interface):
        printer.complain(
            f"error - this SSH session comes over {interface}; the test takes its link down "
            "for seconds. --yes-cut-me-off does it all the same"
        )
        return False
    if ask is None:
        printer.complain("error - there is nobody to ask here: --yes-cut-me-off goes on")
        return False
    return ask(f"The test takes {interface}'s link down for some seconds. Go on?")


def _refused(error: OSError, interface: str, printer: Printer) -> int:
    if error.errno in NEEDS_RIGHTS:
        printer.complain(NO_RIGHTS)
        return NO_RIGHTS_CODE
    if error.errno in (errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL, errno.ENOENT):
        printer.complain(f"error - {interface}'s card or its driver has no cable test")
        return UNAVAILABLE_CODE
    printer.complain(f"error - the cable test was refused: {reason(error)}")
    return UNAVAILABLE_CODE


def carries_this_shell(interface: str) -> bool:
    """True when the packets of this SSH session go by this interface, at whatever layer."""
    peer = cable_test.ssh_peer()
    if not peer:
        return False
    known = interfaces.read(Gaps())
    way = route.towards(peer, Gaps())
    top = by_index(known, way.device_index) or by_name(known, way.device)
    if top is None:
        return True  # it cannot be told: take no risk
    down = walk(top, known)
    return interface in [each.name for each in (*down.chain, *down.members)]


def tell(interface: str, pairs: tuple[Pair, ...], printer: Printer, as_json_text: bool) -> int:
    """Write the result, a line a pair, and return the exit code."""
    if as_json_text:
        document = {"interface": interface, "pairs": [as_json(pair) for pair in pairs]}
        printer.lines([json.dumps(document, indent=2)])
    else:
        printer.lines([f"{interface}'s cable, by its pairs"])
        printer.lines(f"  {_line(pair)}" for pair in pairs)
    return printer.code(0 if all(pair.ok for pair in pairs) else 2)


def _line(pair: Pair) -> str:
    where = f" at {pair.distance_m:.1f} m" if pair.distance_m is not None and not pair.ok else ""
    return f"pair {pair.name}  pins {pair.wires}  {pair.state}{where}"


def tell_reflections(
    interface: str, samples: tuple[Reflection, ...], printer: Printer, as_json_text: bool
) -> int:
    """Write the strongest reflection of every pair; as JSON all of them. It judges nothing: 0."""
    if not samples:
        printer.complain("error - the card has told no reflections within 60 s")
        return NOTHING_TOLD_CODE
    if as_json_text:
        document = {"interface": interface, "reflections": [as_json(each) for each in samples]}
        printer.lines([json.dumps(document, indent=2)])
    else:
        printer.lines([f"{interface}'s cable, the strongest reflection of each pair"])
        printer.lines(f"  {_reflection(each)}" for each in cable_test.strongest(samples))
    return printer.code(0)


def _reflection(each: Reflection) -> str:
    where = f"{each.millivolts:+5d} mV at {each.distance_m:.1f} m"
    return f"pair {each.pair}  {where}, as of {each.likely}"
