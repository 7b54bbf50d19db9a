"""The link check in plain text and JSON: once, watched, and against a kept one."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from tuiperf.cli.link_store import Kept
from tuiperf.cli.printer import Printer
from tuiperf.cli.terminal import may_colour
from tuiperf.evidence.facts import LinkFacts, as_json
from tuiperf.evidence.gaps import Gaps
from tuiperf.evidence.gather import Plan, again, gather
from tuiperf.evidence.link import DeviceClass
from tuiperf.evidence.watch import RISES, Change, Watch
from tuiperf.rules.link import NOTHING_FOUND, exit_code, judge_link
from tuiperf.rules.link_cable import not_as_expected
from tuiperf.rules.link_diff import LinkChange, compare
from tuiperf.rules.verdict import Level
from tuiperf.view.link import plain_rows, subject
from tuiperf.view.link_checks import checks
from tuiperf.view.link_json import document
from tuiperf.view.rows import ASCII, UNICODE, Row, pad, wrap
from tuiperf.view.terminal_text import painted
from tuiperf.view.verdicts import ROLE_OF, level_glyph

WIDTH = 79
_WHAT = 26  # cells for what has changed
_LEVELS = {"ok": Level.FINE, "look": Level.LOOK, "fault": Level.FAULT}
_CODES = {"ok": 0, "look": 1, "fault": 2}
_CHANGED = {Level.PENDING: 0, Level.FINE: 1, Level.LOOK: 1, Level.FAULT: 2}


def clock(when_s: float) -> str:
    """A moment as people read it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when_s))


class LinkPage:
    """Looks, and writes what was found."""

    def __init__(self, printer: Printer, ascii_only: bool, *, as_json: bool = False) -> None:
        self._printer = printer
        self._glyphs = ASCII if ascii_only else UNICODE
        self._json = as_json
        self._colour = not as_json and may_colour(printer.stream)

    def check(self, plan: Plan) -> int:
        """Look once and tell."""
        return self.tell(self.look(plan))

    def look(self, plan: Plan) -> LinkFacts:
        """Gather all facts, with a word on a terminal while it takes its time."""
        facts = LinkFacts()
        for facts in gather(plan):
            if facts.pending == ("counters",) and not plan.quick and sys.stderr is not None:
                self._say_waiting(facts, plan)
        return facts

    def _say_waiting(self, facts: LinkFacts, plan: Plan) -> None:
        if sys.stderr.isatty() and facts.device is not None:
            text = f"watching {facts.device.name}'s counters for {plan.window_s:.0f} s"
            self._printer.complain(self._glyphs.text(text))

    def tell(self, facts: LinkFacts) -> int:
        """Write the check and return its exit code."""
        if self._json:
            self._printer.lines([json.dumps(document(facts), indent=2)])
            return self._printer.code(exit_code(facts))
        verdicts = judge_link(facts)
        listed = [] if facts.problem else checks(facts, verdicts)
        self._rows(plain_rows(facts, listed, verdicts, WIDTH, self._glyphs))
        return self._printer.code(exit_code(facts))

    def _rows(self, rows: list[Row]) -> None:
        self._printer.lines(painted(row, self._colour) for row in rows)

    def watch(self, plan: Plan) -> int:
        """Look, then tell of every change until it is interrupted."""
        facts = self.look(plan)
        if self._json:
            self._printer.lines([json.dumps({"check": document(facts)})])
            code = exit_code(facts)
        else:
            code = self.tell(facts)
        if facts.problem or facts.device is None:
            return code
        virtual = facts.link is not None and facts.link.device_class is DeviceClass.VIRTUAL
        if not self._json:
            self._rows([[(f"watching {self._glyphs.text(subject(facts))}; ^C ends it", "muted")]])
        try:
            with Watch(facts.device, virtual) as watch:
                while not self._printer.gone:
                    news = watch.wait()
                    for change in news:
                        self._change(change, facts.device.name)
                        code = max(code, _CODES[change.level])
                    if plan.expected and any(each.what not in RISES for each in news):
                        facts = again(facts, Gaps())
                        code = max(code, self._expected(facts))
        except KeyboardInterrupt:
            pass
        return self._printer.code(code)

    def _expected(self, facts: LinkFacts) -> int:
        """Tell whether the link is now as --expect wants it, once it has a carrier."""
        if facts.device is None or not facts.device.carrier:
            return 0
        missed = not_as_expected(facts)
        text = missed.claim if missed else f"as expected by --expect {facts.expected}"
        level = "fault" if missed else "ok"
        self._change(Change(time.time(), "expected", level, text), facts.device.name)
        return _CODES[level]

    def _change(self, change: Change, name: str) -> None:
        if self._json:
            self._printer.lines([json.dumps({"change": as_json(change)})])
            return
        level = _LEVELS[change.level]
        clock = time.strftime("%H:%M:%S", time.localtime(change.time_s))
        tenths = int(change.time_s * 10) % 10
        self._rows(
            [
                [
                    (f"{clock}.{tenths}  ", "muted"),
                    (f"{level_glyph(level, self._glyphs)} ", ROLE_OF[level]),
                    (self._glyphs.text(f"{name}: {change.text}"), "text"),
                ]
            ]
        )

    def difference(self, kept: Kept, facts: LinkFacts) -> int:
        """Write what has changed since; 0 nothing, 1 something, 2 something for the worse."""
        if facts.problem:
            self.tell(facts)
            return NOTHING_FOUND
        found = compare(kept.facts, facts.to_json(), time.time() - kept.when_s)
        worst = max((_CHANGED[each.level] for each in found), default=0)
        if self._json:
            self._printer.lines([json.dumps(_difference(kept, found), indent=2)])
            return self._printer.code(worst)
        title = f"{subject(facts)}, since '{kept.name}' of {clock(kept.when_s)}"
        rows: list[Row] = [
            [("tuiperf  ", "title"), (self._glyphs.text(f"Link, {title}"), "strong")],
            [],
        ]
        for each in found:
            rows += self._changed(each)
        if all(each.level is Level.PENDING for each in found):
            rows.append(
                [
                    (f" {self._glyphs.ok} ", "ok"),
                    ("nothing has changed: speed, duplex, offers, counters, settings", "text"),
                ]
            )
        self._rows(rows)
        return self._printer.code(worst)

    def _changed(self, change: LinkChange) -> list[Row]:
        glyphs = self._glyphs
        mark = f" {level_glyph(change.level, glyphs)} "
        what = pad(glyphs.text(change.what), _WHAT)
        rows: list[Row] = []
        for line in wrap(glyphs.text(change.values), WIDTH - len(mark) - _WHAT - 2):
            head: Row = [(mark, ROLE_OF[change.level]), (what, "text")]
            if rows:
                head = [(" " * (len(mark) + _WHAT), "text")]
            rows.append([*head, (f"  {line}", "strong")])
        return rows


def _difference(kept: Kept, found: list[LinkChange]) -> dict[str, Any]:
    return {
        "since": {"name": kept.name, "when_s": kept.when_s, "subject": kept.subject},
        "changes": [each.to_json() for each in found],
    }
