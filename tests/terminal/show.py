"""Opens the app on a played run: `python -m tests.terminal.show SECONDS RECORDING [options]`.

The options are those of the player.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from tests import made
from tuiperf import app, feed


def main() -> int:
    seconds, recording, *options = sys.argv[1:]
    player = [sys.executable, "-m", "tests.terminal.player", *options]
    setattr(app, "EngineFeed", partial(feed.EngineFeed, command=player))  # noqa: B010
    spec = made.spec(time_s=int(seconds), congestion="cubic")
    return app.run_app(replace(spec, recording=recording))


if __name__ == "__main__":
    sys.exit(main())
