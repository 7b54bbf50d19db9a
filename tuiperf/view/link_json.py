"""The link check as one JSON document: the page's rows, its verdicts, and all facts behind them."""

from __future__ import annotations

from typing import Any

from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import rights_missing
from tuiperf.rules.link import exit_code, judge_link

from .link_checks import Check, checks


def document(facts: LinkFacts) -> dict[str, Any]:
    """The rows of the page, the verdicts, what root would add, and all facts."""
    verdicts = judge_link(facts)
    listed = [] if facts.problem else checks(facts, verdicts)
    return {
        "checks": [_row(each) for each in listed],
        "verdicts": [verdict.to_json() for verdict in verdicts],
        "exit_code": exit_code(facts),
        "needs_root": list(rights_missing(facts.gaps)),
        "facts": facts.to_json(),
    }


def _row(check: Check) -> dict[str, Any]:
    return {
        "check": check.name,
        "level": check.level.value,
        "found": check.found,
        "reading": check.reading,
        "details": [{"name": name, "text": text} for name, text in check.more],
    }
