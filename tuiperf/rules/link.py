"""The rule book of the link check: facts in, verdicts out, the gravest first. Pure.

Order within a level goes from the bottom up: light, link, frames, this host, the path.
"""

from __future__ import annotations

from collections.abc import Callable

from tuiperf.evidence.facts import LinkFacts

from . import link_cable, link_host, link_path, link_virtual
from .expectation import speed
from .link_signs import is_cable, name
from .verdict import Confidence, Level, Verdict

Rule = Callable[[LinkFacts], Verdict | None]

RULES: tuple[Rule, ...] = (
    link_cable.gone,
    link_cable.no_carrier,
    link_cable.weak_optics,
    link_cable.flapping,
    link_cable.not_as_expected,
    link_cable.duplex_mismatch,
    link_cable.half_duplex,
    link_cable.slower_than_offered,
    link_cable.forced_link,
    link_cable.link_degraded,
    link_cable.member_down,
    link_host.host_drops,
    link_host.queue_drops,
    link_host.paused,
    link_host.small_ring,
    link_host.offloads_off,
    link_host.busy_core,
    link_host.one_core_for_interrupts,
    link_host.limited_container,
    link_host.slow_clock,
    link_path.gateway_silent,
    link_path.unreachable,
    link_path.black_hole,
    link_path.mtu_differs,
    link_path.lost_probes,
    link_path.jitter,
    link_host.small_buffers,
    link_host.shared_medium,
    link_virtual.virtual_link,
    link_path.port_closed,
)

_RANK = {Level.FAULT: 0, Level.LOOK: 1, Level.FINE: 2, Level.PENDING: 3}

EXIT_CODES = {Level.FINE: 0, Level.PENDING: 0, Level.LOOK: 1, Level.FAULT: 2}
NOTHING_FOUND = 68  # EX_NOHOST of sysexits.h


def judge_link(facts: LinkFacts) -> list[Verdict]:
    """All verdicts of a check so far, the first one first; there is always one."""
    if facts.problem:
        return [_cannot_tell(facts)]
    found = [verdict for rule in RULES if (verdict := rule(facts)) is not None]
    wrong = any(each.level in (Level.LOOK, Level.FAULT) for each in found)
    judged = any(each.id in ("virtual-link", "shared-medium") for each in found)
    if not wrong and not judged:
        found.append(_fine(facts))
    return sorted(found, key=lambda verdict: _RANK[verdict.level])


def exit_code(facts: LinkFacts) -> int:
    """0 fine, 1 something to look at, 2 a fault, 68 when there was nothing to look at."""
    if facts.problem:
        return NOTHING_FOUND
    return max(EXIT_CODES[each.level] for each in judge_link(facts))


def _cannot_tell(facts: LinkFacts) -> Verdict:
    return Verdict(
        id="cannot-tell",
        level=Level.PENDING,
        confidence=Confidence.HIGH,
        title="Cannot tell",
        short="nothing to look at",
        claim=f"Cannot tell: {facts.problem}.",
        next=("look: ip -br link",),
    )


def _fine(facts: LinkFacts) -> Verdict:
    local = facts.route is not None and facts.route.local
    ran = facts.speed_mbps
    word = f"{speed(ran)}, {facts.link.duplex} duplex" if ran and facts.link else "up"
    watched = (
        f"no errors, drops or flaps in {facts.window.seconds:.0f} s"
        if facts.window
        else "the counters were not watched"
    )
    so_far = "" if facts.over else " so far"
    if local:
        claim = f"{facts.host} is this host itself: no link is on the way."
    elif is_cable(facts):
        claim = f"{name(facts)} is as it should be{so_far}."
    else:
        claim = f"Nothing is wrong with {name(facts)}{so_far}, as far as can be told from here."
    return Verdict(
        id="link-fine",
        level=Level.FINE if facts.over else Level.PENDING,
        confidence=Confidence.HIGH if facts.window and ran else Confidence.MEDIUM,
        title="Link is fine" if facts.over else "Fine so far",
        short=word,
        claim=claim,
        because=(f"{name(facts)}: {word}", watched),
    )
