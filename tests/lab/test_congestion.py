"""`-C` means what it says in a lab too, whose routes name a congestion control of their own."""

from __future__ import annotations

import json
import sys

from tests.lab.conftest import MakePath


def test_an_asked_congestion_control_wins_over_the_route_at_both_ends(make_path: MakePath) -> None:
    lab = make_path({})
    argv = [sys.executable, "-m", "tuiperf", "-c", lab.peer, "-t", "1", "-C", "reno", "-J"]
    done = lab.near.run([*argv, "--no-record"], timeout=30)
    end = json.loads(done.stdout)["end"]
    assert (end["sender_tcp_congestion"], end["receiver_tcp_congestion"]) == ("reno", "reno")
