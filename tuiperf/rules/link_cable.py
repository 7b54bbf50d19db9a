"""The cable, the port and their settings: rules that need a card with a cable of its own.

Each rule returns a verdict or None; an unknown number makes no rule hold.
"""

from __future__ import annotations

from tuiperf.evidence import link_modes
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.interfaces import Interface
from tuiperf.evidence.link import DeviceClass, members_down
from tuiperf.evidence.signs import Errors, errors

from . import expectation
from .expectation import speed
from .link_signs import is_cable, is_up, name
from .verdict import Confidence, Level, Verdict

ERROR_RATE_COPPER = 1e-10
"""Most bit errors a bit of 1000BASE-T (IEEE 802.3, 40.1)."""
ERROR_RATE_FAST = 1e-12
"""Most bit errors a bit of links above 1 Gbit/s (IEEE 802.3, 49.1, 55.1), after any correction."""
DAMAGED_BAD = 10
"""Damaged frames in one look that no gigabit link in order shows."""
DAMAGED_SINCE_START = 100
FLAPS_LEAST = 5
FLAPS_AN_HOUR = 1.0
SLOW_MBPS = 100
"""Today no partner offers so little by itself: an old port, or one that was set so."""


def gone(facts: LinkFacts) -> Verdict | None:
    """The interface was there when the look began, and is not any more."""
    if not facts.gone:
        return None
    return Verdict(
        id="interface-gone",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Interface is gone",
        short=facts.gone,
        claim=f"{facts.gone} vanished while it was looked at: its card was unplugged, its driver "
        "gave up, or somebody removed it.",
        because=("the kernel does not know it any more",),
        next=("look: dmesg | tail", "look: ip -br link"),
    )


def no_carrier(facts: LinkFacts) -> Verdict | None:
    """No signal from the other end, or the interface is switched off here."""
    device = facts.device
    if device is None or (device.carrier is not False and device.enabled is not False):
        return None
    who = name(facts)
    if device.enabled is False:
        return Verdict(
            id="no-carrier",
            level=Level.FAULT,
            confidence=Confidence.HIGH,
            title="Switched off",
            short=f"{who} is down",
            claim=f"{who} is switched off on this host, so nothing can be sent or received.",
            because=("its flag IFF_UP is not set",),
            next=(f"try: ip link set {who} up",),
            qualifier=(("kind", "switched-off"),),
        )
    why = facts.ethtool.state.why_down
    cable = facts.link is not None and facts.link.device_class is DeviceClass.PHYSICAL
    likely = "the cable, the far port, or its power" if cable else _other_end(device)
    return Verdict(
        id="no-carrier",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="No carrier",
        short=_first_words(why) if why else "no signal",
        claim=f"{who} has no carrier: {why or f'no signal arrives ({likely})'}.",
        because=(
            f"the driver reports no carrier{f'; the reason it gives: {why}' if why else ''}",
            *_offers(facts),
        ),
        next=(
            ("try: plug the cable in again at both ends, then another cable, then another port",)
            if cable
            else (f"look: ip -d link show {who}",)
        ),
        qualifier=(("kind", "no-cable" if facts.ethtool.state.no_cable else "no-partner"),),
    )


def _other_end(device: Interface) -> str:
    """What a virtual device without a carrier lacks."""
    return {
        "bridge": "none of its members is up",
        "bond": "none of its members is up",
        "tun": "no program has it open",
        "vlan": "the interface below it is down",
    }.get(device.kind, "its other end is down")


def _first_words(text: str) -> str:
    return text.partition(":")[0]


def _offers(facts: LinkFacts) -> tuple[str, ...]:
    fastest = link_modes.fastest_mbps(facts.ethtool.modes.advertised)
    return (f"this end offers up to {speed(fastest)}",) if fastest else ()


def duplex_mismatch(facts: LinkFacts) -> Verdict | None:
    """One end sends when it wants, the other thinks that two must not talk at once."""
    if not is_cable(facts) or not is_up(facts) or facts.link is None:
        return None
    counted = errors(facts.window)
    duplex, autoneg = facts.link.duplex, facts.link.autoneg
    late = counted.late_collisions if counted else 0
    spoiled = counted.medium if counted else 0
    if duplex == "half" and late:
        sign = f"{late} late collisions in {_window(facts)}: only a full-duplex partner causes them"
        return _mismatch(facts, Confidence.HIGH, "half here, full there", sign)
    if duplex == "full" and autoneg is False and spoiled:
        sign = f"{spoiled} damaged frames in {_window(facts)}, as a half-duplex partner leaves them"
        return _mismatch(facts, Confidence.MEDIUM, "full here, half there", sign)
    if duplex == "half" and autoneg and _partner_is_silent(facts):
        sign = "this end negotiates, and the partner answered no negotiation (parallel detection)"
        return _mismatch(facts, Confidence.MEDIUM, "half here, full there?", sign)
    return None


def _partner_is_silent(facts: LinkFacts) -> bool:
    """The partner's modes are known, and autonegotiation is not among them."""
    modes = facts.ethtool.modes
    return (
        bool(modes.partner)
        and link_modes.AUTONEG not in modes.partner
        and not (
            any(
                link_modes.speed_mbps(mode) and not link_modes.is_half(mode)
                for mode in modes.partner
            )
        )
    )


def _mismatch(facts: LinkFacts, confidence: Confidence, short: str, sign: str) -> Verdict:
    assert facts.link is not None
    who = name(facts)
    negotiates = "on" if facts.link.autoneg else "off"
    return Verdict(
        id="duplex-mismatch",
        level=Level.FAULT,
        confidence=confidence,
        title="Duplex mismatch",
        short=short,
        claim=f"The two ends of {who} disagree about duplex: frames are lost whenever both send.",
        because=(sign, f"here: {facts.link.duplex} duplex, autonegotiation {negotiates}"),
        next=(
            f"try: ethtool -s {who} autoneg on",
            "then: set the switch's port to automatic as well; never only one of the two",
        ),
    )


def half_duplex(facts: LinkFacts) -> Verdict | None:
    """Half duplex without the signs of a mismatch."""
    if not is_cable(facts) or not is_up(facts) or facts.link is None:
        return None
    if facts.link.duplex != "half" or duplex_mismatch(facts) is not None:
        return None
    who = name(facts)
    forced = facts.link.autoneg is False
    return Verdict(
        id="half-duplex",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Half duplex",
        short="forced here" if forced else "negotiated",
        claim=f"{who} runs at half duplex: only one end can send at a time.",
        because=(
            f"the driver reports {_speed_word(facts)}half duplex, "
            f"autonegotiation {'off' if forced else 'on'}",
        ),
        ruled_out=(
            ("a mismatch so far: no late collisions while it was watched",)
            if errors(facts.window)
            else ()
        ),
        next=(
            f"try: ethtool -s {who} autoneg on",
            "then: look at the switch's port; a hub or a forced port makes half duplex",
        ),
    )


def slower_than_offered(facts: LinkFacts) -> Verdict | None:
    """The speed that came out is below what both ends offer, or below what one of them could."""
    modes, ran = facts.ethtool.modes, facts.speed_mbps
    if not is_cable(facts) or not is_up(facts) or ran is None or modes.autoneg is not True:
        return None
    own, able = (link_modes.fastest_mbps(each) for each in (modes.advertised, modes.supported))
    partner = link_modes.fastest_mbps(modes.partner)
    if own and partner:
        common = [each for each in modes.advertised if each in modes.partner]
        both = link_modes.fastest_mbps(common) or min(own, partner)
        if both > ran:
            return _slower(facts, "pair", ran, both, Confidence.HIGH)
        if partner == ran <= SLOW_MBPS < own:
            return _slower(facts, "partner", ran, own, Confidence.HIGH)
    elif own and own > ran and ran <= SLOW_MBPS:
        return _slower(facts, "unknown", ran, own, Confidence.MEDIUM)
    if own and able and own == ran and ran <= SLOW_MBPS < able:
        return _slower(facts, "own-setting", ran, able, Confidence.HIGH)
    return None


_WHY_SLOWER = {
    "pair": (
        Level.FAULT,
        "a damaged pair or a bad plug: gigabit needs all four pairs, 100 Mbit/s only two",
        "try: another cable; tuiperf link cable-test {who} names the pair, where the card can",
    ),
    "partner": (
        Level.LOOK,
        "the far port offers no more",
        "look: the switch's port; it is slow by itself or was set so",
    ),
    "unknown": (
        Level.LOOK,
        "a damaged pair, or a far port that offers no more (this driver does not tell its offer)",
        "try: another cable, then another port of the switch",
    ),
    "own-setting": (
        Level.LOOK,
        "this end was told to offer no more",
        "try: ethtool -s {who} autoneg on speed {could} duplex full",
    ),
}


def _slower(facts: LinkFacts, kind: str, ran: int, could: int, confidence: Confidence) -> Verdict:
    level, why, advice = _WHY_SLOWER[kind]
    who = name(facts)
    partner = link_modes.fastest_mbps(facts.ethtool.modes.partner)
    own = link_modes.fastest_mbps(facts.ethtool.modes.advertised)
    return Verdict(
        id="slower-than-offered",
        level=level,
        confidence=confidence,
        title="Slower than it could",
        short=f"{speed(ran)} of {speed(could)}",
        claim=f"{who} runs at {speed(ran)}, although {speed(could)} would be possible: {why}.",
        because=(
            f"the link came out at {speed(ran)}",
            f"this end offers up to {speed(own)}" if own else "this end offers no speed",
            f"the partner offers up to {speed(partner)}"
            if partner
            else "the driver does not tell what the partner offers",
        ),
        next=(advice.format(who=who, could=could),),
        qualifier=(("kind", kind),),
    )


def forced_link(facts: LinkFacts) -> Verdict | None:
    """A copper port whose speed was set by hand: the partner then guesses half duplex."""
    if not is_cable(facts) or not is_up(facts) or facts.link is None:
        return None
    copper = facts.ethtool.info.port in ("twisted pair", "MII")
    can = link_modes.AUTONEG in facts.ethtool.modes.supported
    if facts.link.autoneg is not False or not copper or not can:
        return None
    if duplex_mismatch(facts) is not None or half_duplex(facts) is not None:
        return None
    who = name(facts)
    return Verdict(
        id="forced-link",
        level=Level.LOOK,
        confidence=Confidence.HIGH,
        title="Forced, not negotiated",
        short=f"{_speed_word(facts)}autoneg off",
        claim=f"{who} is forced: a partner that negotiates will fall back to half duplex.",
        because=("autonegotiation is off on a twisted-pair port that can negotiate",),
        next=(
            f"try: ethtool -s {who} autoneg on",
            "then: or force the switch's port to the very same values",
        ),
    )


def not_as_expected(facts: LinkFacts) -> Verdict | None:
    """What --expect asked for, against what is."""
    wanted = expectation.read(facts.expected) if facts.expected else None
    if wanted is None or facts.link is None:
        return None
    ran, duplex = facts.link.speed_mbps, facts.link.duplex
    if ran == wanted.speed_mbps and wanted.duplex in (None, duplex):
        return None
    found = f"it has {speed(ran)}, {duplex or 'unknown'} duplex" if ran else _unknown_speed(facts)
    return Verdict(
        id="not-as-expected",
        level=Level.FAULT,
        confidence=Confidence.HIGH,
        title="Not as expected",
        short=f"{speed(ran)} {duplex or ''}".strip() if ran else "speed unknown",
        claim=f"{name(facts)} was expected at {wanted}; {found}.",
        because=(f"expected by --expect {facts.expected}",),
    )


def _unknown_speed(facts: LinkFacts) -> str:
    if facts.link is not None and facts.link.device_class is DeviceClass.VIRTUAL:
        return f"it is {facts.link.what}, which has no speed of its own"
    if not is_up(facts):
        return "it has no link"
    return "its driver does not tell its speed"


def flapping(facts: LinkFacts) -> Verdict | None:
    """The link went away while it was watched, or does so again and again."""
    if not is_cable(facts) or facts.device is None:
        return None
    seen = facts.window.carrier_changes if facts.window else None
    who = name(facts)
    advice = (
        "try: plug the cable in again at both ends, then another cable",
        f"look: dmesg | grep -i {who}",
    )
    if seen:
        return Verdict(
            id="flapping",
            level=Level.FAULT,
            confidence=Confidence.HIGH,
            title="Link flaps",
            short=f"{seen} changes in {_window(facts)}",
            claim=f"{who}'s link went or came {seen} times within {_window(facts)}.",
            because=(f"carrier_changes grew by {seen} while it was watched",),
            next=advice,
        )
    downs, uptime_s = facts.device.carrier_downs, facts.uptime_s
    if downs is None or not uptime_s or downs < FLAPS_LEAST:
        return None
    an_hour = downs / (uptime_s / 3600)
    if an_hour < FLAPS_AN_HOUR:
        return None
    return Verdict(
        id="flapping",
        level=Level.LOOK,
        confidence=Confidence.LOW,
        title="Link has flapped",
        short=f"{downs} times",
        claim=f"{who}'s link went down {downs} times since this host started.",
        because=(
            f"carrier_down_count is {downs} in {uptime_s / 3600:.1f} h: {an_hour:.1f} an hour",
        ),
        next=advice,
    )


def link_degraded(facts: LinkFacts) -> Verdict | None:
    """Frames arrive damaged, more often than the medium allows; or its signal is weak."""
    if not is_cable(facts):
        return None
    counted, since_start = errors(facts.window), errors(facts.totals)
    if counted is not None and _worst(counted) > counted.received_bits * _allowed(facts):
        return _damaged_now(facts, counted)
    state = facts.ethtool.state
    if state.sqi is not None and state.sqi_max and state.up and state.sqi * 2 < state.sqi_max:
        sign = f"signal quality {state.sqi} of {state.sqi_max} (SQI)"
        claim = f"{name(facts)}'s signal is weak: the cable, a plug or a port is bad."
        return _degraded(facts, Level.LOOK, Confidence.MEDIUM, "weak signal", claim, sign)
    if since_start is not None and _too_many(facts, since_start.medium, since_start.received_bits):
        rate = since_start.medium / max(1, since_start.received_bits)
        sign = (
            f"{since_start.medium} damaged frames since {name(facts)} was started: one in "
            f"{1 / rate:.1e} bits; the medium allows one in {1 / _allowed(facts):.0e}"
        )
        claim = (
            f"Frames arrived damaged at {name(facts)} at some time since it was started"
            f"{': none while it was watched' if counted else ''}."
        )
        short = f"{since_start.medium} since start"
        return _degraded(facts, Level.LOOK, Confidence.LOW, short, claim, sign)
    return None


def _worst(counted: Errors) -> int:
    return max(counted.medium, counted.symbols, counted.lost_carrier, counted.uncorrectable)


def _damaged_now(facts: LinkFacts, counted: Errors) -> Verdict:
    parts = [
        f"{count} {words}"
        for count, words in (
            (counted.damaged, "frames with a wrong checksum (CRC)"),
            (counted.misaligned, "misaligned frames"),
            (counted.symbols, "symbol errors"),
            (counted.uncorrectable, "blocks that could not be corrected (FEC)"),
            (counted.lost_carrier, "losses of the carrier while sending"),
        )
        if count
    ]
    worst = _worst(counted)
    arrives = counted.medium or counted.symbols or counted.uncorrectable
    trouble = "Frames arrive damaged at" if arrives else "The signal breaks off while sending at"
    bad = worst >= DAMAGED_BAD
    return _degraded(
        facts,
        Level.FAULT if bad else Level.LOOK,
        Confidence.HIGH if bad else Confidence.MEDIUM,
        f"{worst} in {_window(facts)}",
        f"{trouble} {name(facts)}: the cable, a plug or a port is bad.",
        f"in {_window(facts)}: {', '.join(parts)}",
        f"{counted.received_bits / 1e6:.1f} Mbit were received meanwhile; "
        f"the medium allows {counted.received_bits * _allowed(facts):.2g} errors in them",
    )


def _allowed(facts: LinkFacts) -> float:
    fast = (facts.speed_mbps or 0) > 1000
    return ERROR_RATE_FAST if fast else ERROR_RATE_COPPER


def _too_many(facts: LinkFacts, damaged: int, bits: int) -> bool:
    return damaged >= DAMAGED_SINCE_START and damaged > 10 * _allowed(facts) * bits


def _degraded(
    facts: LinkFacts, level: Level, confidence: Confidence, short: str, claim: str, *because: str
) -> Verdict:
    fibre = facts.ethtool.info.port == "fibre"
    first = "clean and reseat the connectors" if fibre else "plug the cable in again, then another"
    return Verdict(
        id="link-degraded",
        level=level,
        confidence=confidence,
        title="Link degraded",
        short=short,
        claim=claim,
        because=because,
        ruled_out=("drops in this host: damaged frames are counted before it sees them",),
        next=(
            f"try: {first}; then another port",
            f"look: ethtool -S {name(facts)} | grep -iE 'crc|fcs|symbol|align'",
        ),
    )


def weak_optics(facts: LinkFacts) -> Verdict | None:
    """A module's measurement beyond a threshold of its own."""
    if facts.module is None:
        return None
    odd = [each for each in facts.module.readings if each.state not in ("", "ok")]
    if not odd:
        return None
    odd.sort(key=lambda each: "alarm" not in each.state)
    worst = odd[0]
    lane = f" (lane {worst.lane})" if worst.lane > 1 else ""
    weak = worst.state.startswith("low") and worst.name == "received power"
    return Verdict(
        id="weak-optics",
        level=Level.FAULT if "alarm" in worst.state else Level.LOOK,
        confidence=Confidence.HIGH,
        title="Weak optics" if weak else "Optics out of range",
        short=f"{worst.value:g} {worst.unit}",
        claim=f"{name(facts)}'s module: {worst.name}{lane} of {worst.value:g} {worst.unit} is "
        f"beyond its own {worst.state.replace('low', 'lower').replace('high', 'upper')} limit.",
        because=tuple(
            f"{each.name}{f', lane {each.lane}' if each.lane else ''}: {each.value:g} {each.unit}; "
            f"allowed {each.limits.low_warning:g} to {each.limits.high_warning:g}"
            for each in odd[:4]
            if each.limits
        ),
        next=(
            "try: clean the fibre's ends and the module; check its length and bends",
            f"look: ethtool -m {name(facts)}",
        ),
    )


def member_down(facts: LinkFacts) -> Verdict | None:
    """A bond that has lost a member still works, with less."""
    if facts.group is None or facts.group.kind not in ("bond", "team"):
        return None
    down = members_down(facts.members)
    if not down:
        return None
    return Verdict(
        id="member-down",
        level=Level.LOOK if len(down) < len(facts.members) else Level.FAULT,
        confidence=Confidence.HIGH,
        title="Bond member down",
        short=", ".join(down),
        claim=f"{facts.group.name} runs on {len(facts.members) - len(down)} of "
        f"{len(facts.members)} links.",
        because=(f"no carrier at {', '.join(down)}",),
        next=(f"look: cat /proc/net/bonding/{facts.group.name}",),
    )


def _window(facts: LinkFacts) -> str:
    return f"{facts.window.seconds:.0f} s" if facts.window else "no time"


def _speed_word(facts: LinkFacts) -> str:
    return f"{speed(facts.speed_mbps)}, " if facts.speed_mbps else ""
