"""The sheets that lie over a screen: its keys, and a question before leaving."""

from __future__ import annotations

from collections.abc import Sequence

from .rows import UNICODE, Glyphs, Row, fit, pad, wrap

RUN_KEYS = (
    ("space, x, ^c", "stop the run; what was measured stays"),
    ("r", "run the same test again"),
    ("f", "freeze the screen; the run goes on"),
    ("b", "why: the first verdict with its numbers"),
    ("p", "streams under every interval, or sums"),
    ("u", "bytes instead of bits, and back"),
    ("j, k, g, G", "scroll the table or the explanation"),
    ("y", "copy the summary, also into a file"),
    ("e", "copy the recording into this directory"),
    ("^z", "back to the shell; fg returns"),
    ("0 to 5, n", "other screens; a new run"),
    ("^p", "all commands, and themes"),
    ("q", "quit; asks while a run goes on"),
    ("^q", "quit at once, with the summary"),
)
"""Every key of a run's screen, and what it does."""

HOME_KEYS = (
    ("n", "new run: choose what to measure"),
    ("1 to 5", "find something out, from any screen"),
    ("0, esc", "back here, from any screen"),
    ("^r", "show the run, from any screen"),
    ("j, k, g, G", "select a peer"),
    ("enter", "measure it, with its last settings"),
    ("r", "its last test again, at once"),
    ("l", "check the link towards it"),
    ("d", "forget it; its recordings stay"),
    ("^z", "back to the shell; fg returns"),
    ("^p, :", "all commands, and themes"),
    ("q", "quit; asks while a run goes on"),
)
"""Every key of the home screen, and what it does."""

RECORDINGS_KEYS = (
    ("j, k, g, G", "select a run"),
    ("enter", "open it"),
    ("p", "replay it in its own time; space ends that"),
    ("space", "mark it as A, the next one as B"),
    ("c", "A against B alone, and back"),
    ("r", "run the same test again"),
    ("e", "copy the recording into this directory"),
    ("d", "delete it; asks"),
    ("0, esc", "to the home screen"),
    ("^p, :", "all commands, and themes"),
    ("q", "quit; asks while a run goes on"),
)
"""Every key of the screen of recordings, and what it does."""

LINK_KEYS = (
    ("r", "check again"),
    ("j, k, g, G", "select a check, or scroll its details"),
    ("enter", "the details alone, and back"),
    ("i", "choose another interface"),
    ("y", "copy the check's command, or the page"),
    ("e", "write all facts and verdicts into a file"),
    ("^z", "back to the shell; fg returns"),
    ("^p", "all commands, and themes"),
    ("q", "quit; the page stays on the screen"),
)
"""Every key of the link check's screen, and what it does."""

SWEEP_KEYS = (
    ("x", "skip the running step; it does not count"),
    ("space", "no further step until it is pressed again"),
    ("enter", "end with what is known by now"),
    ("+", "one experiment more than the answer needs"),
    ("^c", "stop; what is known stays"),
    ("b", "why: the first verdict with its numbers"),
    ("j, k", "scroll the steps or the explanation"),
    ("y", "copy the page, also into a file"),
    ("e", "write a report in Markdown"),
    ("^z", "back to the shell; fg returns"),
    ("^p", "all commands, and themes"),
    ("q", "quit; the page stays on the screen"),
)
"""Every key of a sweep's screen, and what it does."""

_WIDEST_KEYS = 20

_SIGNS = (
    ("ok", "as it should be"),
    ("look", "worth a look"),
    ("fault", "something is wrong"),
    ("pending", "not known yet, or not to be told from here"),
)


def help_rows(
    width: int,
    glyphs: Glyphs = UNICODE,
    keys: Sequence[tuple[str, str]] = RUN_KEYS,
    *,
    far: bool | None = None,
) -> list[Row]:
    """The keys of a screen and the signs it uses, each row exactly `width` cells.

    `far` says whether the screen has numbers of the far side; a run's has.
    """
    names = max(13, min(_WIDEST_KEYS, max((len(key) for key, _ in keys), default=0)))
    rows: list[Row] = [
        fit([(f"  {pad(key, names)} ", "key"), (text, "text")], width, glyphs) for key, text in keys
    ]
    rows.append(fit([], width, glyphs))
    for role, text in _SIGNS:
        glyph = str(getattr(glyphs, role))
        rows.append(fit([(f"  {glyph} ", role), (text, "text")], width, glyphs))
    told = "far side: only the other end of the connection knows this number"
    for line in wrap(told, width - 4) if far or (far is None and keys is RUN_KEYS) else ():
        rows.append(fit([("  ", "text"), (line, "muted")], width, glyphs))
    return rows


def question_rows(question: str, width: int, glyphs: Glyphs = UNICODE) -> list[Row]:
    """A question to be answered by y or n."""
    rows = [
        fit([("  ", "text"), (line, "strong")], width, glyphs)
        for line in wrap(glyphs.text(question), width - 4)
    ]
    answers: Row = [
        ("  y", "key"),
        (" yes, with the summary    ", "text"),
        ("n", "key"),
        (" no", "text"),
    ]
    return [fit([], width, glyphs), *rows, fit([], width, glyphs), fit(answers, width, glyphs)]
