"""The link check as JSON: the same rows as the page has."""

from __future__ import annotations

import json
from typing import Any

from tests.rules.linkmade import check, towards, watched
from tuiperf.evidence.facts import LinkFacts
from tuiperf.evidence.gaps import Gap
from tuiperf.rules.link import judge_link
from tuiperf.view.link import plain_rows
from tuiperf.view.link_checks import checks
from tuiperf.view.link_json import document
from tuiperf.view.rows import to_text


def found(facts: LinkFacts) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(document(facts)))
    return told


def test_it_says_what_root_would_add() -> None:
    gap = Gap("optical power", "needs root: CAP_NET_ADMIN", rights=True)
    told = found(towards(gaps=(gap,)))
    assert told["verdicts"][0]["id"] == "link-fine"
    assert told["needs_root"] == ["optical power"]
    assert told["facts"]["link"]["speed_mbps"] == 1000
    assert told["facts"]["port"]["state"] == "open"


def test_it_has_the_rows_of_the_page() -> None:
    for facts in (check(), towards(), towards(window=watched(rx_crc_errors=42))):
        verdicts = judge_link(facts)
        page = plain_rows(facts, checks(facts, verdicts), verdicts, 120)
        text = "\n".join(to_text(row) for row in page)
        rows = found(facts)["checks"]
        assert len(rows) >= 10
        for row in rows:
            words = (row["check"], row["found"], row["reading"])
            assert any(all(word in line for word in words) for line in text.splitlines()), row


def test_details_and_levels_of_a_row() -> None:
    rows = {each["check"]: each for each in found(check(modes={"speed_mbps": 100}))["checks"]}
    assert rows["Negotiation"]["level"] == "fault"
    assert rows["Carrier and duplex"]["found"] == "100 Mbit/s, full"
    names = [each["name"] for each in rows["Negotiation"]["details"]]
    assert names[:2] == ["offers", "partner"]


def test_nothing_to_look_at_has_no_rows() -> None:
    told = found(LinkFacts(problem="there is nothing", pending=()))
    assert (told["checks"], told["exit_code"]) == ([], 68)
