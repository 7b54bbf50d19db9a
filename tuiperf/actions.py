"""Every action that has a key: its name in keys.toml, its usual keys, and what it does."""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    """The usual keys as Textual names them, comma between them, and a line about the action."""

    keys: str
    text: str


ACTIONS: dict[str, Action] = {
    "app.quit": Action("ctrl+q", "quit at once, with the summary"),
    "app.suspend": Action("ctrl+z", "to the shell; fg returns"),
    "app.show": Action("ctrl+r", "show the run, from any screen"),
    "app.new": Action("n", "new run: choose what to measure"),
    "app.palette": Action("colon", "all commands, as ctrl+p"),
    "app.home": Action("0", "go to the home screen"),
    "app.run": Action("1", "go to the run"),
    "app.sweep": Action("2", "go to the sweep"),
    "app.link": Action("3", "go to the link check"),
    "app.lessons": Action("4", "go to the lessons"),
    "app.recordings": Action("5", "go to the recordings"),
    "home.start": Action("enter", "measure the selected peer"),
    "home.again": Action("r", "the selected peer's last test again"),
    "home.link": Action("l", "check the link towards the selected peer"),
    "home.forget": Action("d,delete", "forget the selected peer"),
    "home.down": Action("j,down", "the next peer"),
    "home.up": Action("k,up", "the peer before"),
    "home.help": Action("question_mark,f1", "keys and signs"),
    "home.leave": Action("q", "quit; asks while a run goes on"),
    "run.stop": Action("space,x", "stop the run; what was measured stays"),
    "run.interrupt": Action("ctrl+c", "stop the run"),
    "run.rerun": Action("r", "run the same test again"),
    "run.freeze": Action("f", "freeze the screen; the run goes on"),
    "run.why": Action("b", "why: the first verdict with its numbers"),
    "run.streams": Action("p", "streams under every interval, or sums"),
    "run.units": Action("u", "bytes instead of bits, and back"),
    "run.copy": Action("y", "copy the summary, also into a file"),
    "run.export": Action("e", "copy the recording into this directory"),
    "run.help": Action("question_mark,f1", "keys and signs"),
    "run.quit": Action("q", "quit; asks while a run goes on"),
    "sweep.skip": Action("x", "skip the step"),
    "sweep.pause": Action("space", "pause, and go on"),
    "sweep.accept": Action("enter", "accept what is known"),
    "sweep.more": Action("plus,equals_sign", "more certainty"),
    "sweep.interrupt": Action("ctrl+c", "stop the sweep"),
    "sweep.why": Action("b", "why: the first verdict with its numbers"),
    "sweep.copy": Action("y", "copy the page"),
    "sweep.export": Action("e", "write a report"),
    "sweep.help": Action("question_mark,f1", "keys and signs"),
    "sweep.quit": Action("q", "quit; asks while a sweep goes on"),
    "link.again": Action("r", "check again"),
    "link.details": Action("enter,b", "the details alone, and back"),
    "link.interface": Action("i", "choose another interface"),
    "link.copy": Action("y", "copy the check's command, or the page"),
    "link.export": Action("e", "write all facts and verdicts into a file"),
    "link.help": Action("question_mark,f1", "keys and signs"),
    "link.quit": Action("q,ctrl+c", "quit"),
    "past.open": Action("enter", "open the recording"),
    "past.replay": Action("p", "replay it in its own time"),
    "past.mark": Action("space", "mark A, then B"),
    "past.compare": Action("c", "A against B alone, and back"),
    "past.rerun": Action("r", "run the same test again"),
    "past.export": Action("e", "copy the recording here"),
    "past.delete": Action("d,delete", "delete the recording"),
    "past.down": Action("j,down", "the next run"),
    "past.up": Action("k,up", "the run before"),
    "past.help": Action("question_mark,f1", "keys and signs"),
    "past.quit": Action("q,ctrl+c", "quit; asks while a run goes on"),
    "lesson.next": Action("space,n,pagedown", "the next page"),
    "lesson.before": Action("p,backspace,pageup", "the page before"),
    "lesson.later": Action("right_square_bracket", "the next lesson"),
    "lesson.earlier": Action("left_square_bracket", "the lesson before"),
    "lesson.reset": Action("r", "put the sliders back"),
    "lesson.try": Action("t", "try it on a live path"),
    "lesson.help": Action("question_mark,f1", "keys and signs"),
    "lesson.quit": Action("q,ctrl+c", "quit"),
}
"""In the order of `tuiperf keys`. A test holds this to the screens' own bindings."""

_SHOWN = {
    "question_mark": "?",
    "colon": ":",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "slash": "/",
    "plus": "+",
    "minus": "-",
}


def shown(key: str) -> str:
    """A key as footers and help name it: ^x, ?, space."""
    key = _SHOWN.get(key, key)
    return f"^{key.removeprefix('ctrl+')}" if key.startswith("ctrl+") else key
