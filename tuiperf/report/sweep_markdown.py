"""A sweep as Markdown, for a ticket: the first verdict on top, all steps below."""

from __future__ import annotations

from collections.abc import Iterator

from tuiperf.rules.quantities import rate, size
from tuiperf.rules.verdict import Level, Verdict
from tuiperf.sweep.conclude import Conclusion
from tuiperf.sweep.state import SweepState
from tuiperf.view.rows import escape
from tuiperf.view.sweep_page import METRICS, idle_words
from tuiperf.view.sweep_words import cells

_LEVELS = {
    Level.FINE: "fine",
    Level.LOOK: "worth a look",
    Level.FAULT: "fault",
    Level.PENDING: "not settled",
}
_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\`*_[]<>|#"})


def markdown(state: SweepState, conclusion: Conclusion) -> str:
    """The report, ending with a line's end."""
    return "\n".join(_lines(state, conclusion)) + "\n"


def _lines(state: SweepState, conclusion: Conclusion) -> Iterator[str]:
    yield f"# {_safe(conclusion.first.title)}: sweep towards {_safe(state.host)}"
    yield ""
    yield _safe(conclusion.first.claim)
    for verdict in conclusion.verdicts:
        yield from _verdict(verdict)
    yield from _steps(state)
    yield from _uses(conclusion)
    yield from _metrics(conclusion)
    if conclusion.open:
        yield from ("", "## Left open", "")
        yield from (f"- {_safe(each)}" for each in conclusion.open)
    yield from ("", "## How", "")
    carried = sum(row.done.carried_bytes for row in state.rows if row.done)
    tool = state.started.tool if state.started else "tuiperf"
    ended = f"; {state.ended.text}" if state.ended else ""
    yield f"{_safe(tool)}, {state.t_s:.0f} s, {size(carried)} carried{_safe(ended)}."
    if state.idle is not None:
        yield f"Without load: {_safe(idle_words(state.idle))}."


def _verdict(verdict: Verdict) -> Iterator[str]:
    sure = "" if verdict.level is Level.PENDING else f", {verdict.confidence.value} confidence"
    yield from ("", f"## {_safe(verdict.title)} ({_LEVELS[verdict.level]}{sure})", "")
    yield _safe(verdict.claim)
    for name, texts in (
        ("Because", verdict.because),
        ("Ruled out", verdict.ruled_out),
        ("Next", verdict.next),
    ):
        if texts:
            yield from ("", f"{name}:", "", *(f"- {_safe(text)}" for text in texts))


def _steps(state: SweepState) -> Iterator[str]:
    yield from ("", "## Steps", "")
    yield "| # | step | way | Mbit/s | lost | RTT ms | reading | why |"
    yield "|--:|---|---|--:|--:|--:|---|---|"
    for row in state.rows:
        shown = cells(row, None, state.idle)
        parts = (
            shown.number,
            shown.name,
            shown.way,
            shown.rate,
            shown.lost,
            shown.rtt,
            shown.reading,
            row.step.why,
        )
        yield f"| {' | '.join(map(_safe, parts))} |"


def _uses(conclusion: Conclusion) -> Iterator[str]:
    if conclusion.uses:
        yield from ("", "## What it is good for", "", "| use | | measured | needs |")
        yield "|---|---|---|---|"
    for use in conclusion.uses:
        yield (
            f"| {use.name} | {_LEVELS[use.level]} | {_safe(use.text)} | {_safe(use.threshold)} |"
        )
    for best in conclusion.best:
        yield ""
        yield (
            f"Best number of connections, {best.way.value}: {best.streams} "
            f"({rate(best.goodput_bps)})."
        )


def _metrics(conclusion: Conclusion) -> Iterator[str]:
    if conclusion.rfc6349:
        yield from ("", "## RFC 6349", "")
    for way, metrics in conclusion.rfc6349.items():
        told = [f"{words} {metrics[name]}" for name, words in METRICS if metrics.get(name)]
        yield f"- {way}: {', '.join(told)}"


def _safe(text: str) -> str:
    """A foreign or worded string that Markdown shows as it is."""
    return escape(text).translate(_SPECIAL)
