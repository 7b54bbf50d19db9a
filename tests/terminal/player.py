"""Plays a made run as the engine would: a spec on stdin, events on stdout in their own time.

`python -m tests.terminal.player [--pace N] [--die S]`: N times as fast; ends without a word after S
seconds. Like the engine it obeys `stop`, and ends when its stdin closes.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests import made
from tuiperf import events as ev
from tuiperf.engine.spec import ClientSpec


class StopAsked(Exception):  # noqa: N818
    """The screen asked for the end."""


def play(client: ClientSpec, pace: float, die_s: float) -> Iterator[ev.Event]:
    """Yield the run's events when they are due."""
    path = made.Path(loss_at_s=(3.0,))
    begun_s = time.monotonic()
    played: list[ev.Event] = []
    middle = made.data(client, path)
    outcome = "completed"
    try:
        for event in [*made.opening(client, path), *middle]:
            _wait_until(begun_s + event.t_s / pace)
            if die_s and time.monotonic() - begun_s > die_s:
                os._exit(3)
            played.append(event)
            yield event
    except StopAsked:
        outcome = "interrupted"
    yield from made.closing(client, played, outcome)


def _wait_until(due_s: float) -> None:
    while (left_s := due_s - time.monotonic()) > 0:
        ready, _, _ = select.select([0], [], [], left_s)
        if ready:
            if not os.read(0, 4096):
                os._exit(0)
            raise StopAsked


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--die", type=float, default=0.0)
    asked = parser.parse_args()
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(0, 1)
    client = ClientSpec.from_json(json.loads(line)["client"])
    with Path(client.recording or os.devnull).open("w", encoding="utf-8") as record:
        for number, event in enumerate(play(client, asked.pace, asked.die)):
            text = ev.to_line(event, number) + "\n"
            record.write(text)
            record.flush()
            sys.stdout.write(text)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
