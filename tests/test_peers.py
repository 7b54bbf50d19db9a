"""Peers that are remembered: what comes back, what a damaged file costs, how it is bounded."""

from __future__ import annotations

import json

import pytest

from tests import made
from tuiperf import peers
from tuiperf.peers import KEEP, MAX_BYTES, Peer


def test_the_newest_comes_first_and_once() -> None:
    assert peers.load() == []
    first = Peer(
        "lab-b:5300", ("-P", "4"), "10.20.0.7", 100.0, 941e6, "fine", "Path is full", "TCP"
    )
    assert peers.remember(first)
    assert peers.remember(Peer("lab-c", when_s=200.0))
    assert peers.load() == [Peer("lab-c", when_s=200.0), first]
    again = Peer("lab-b:5300", ("-R",), when_s=300.0)
    assert peers.remember(again)
    assert [peer.target for peer in peers.load()] == ["lab-b:5300", "lab-c"]
    assert peers.load()[0] == again


def test_forgotten_peers_are_gone() -> None:
    for name in ("a", "b", "c"):
        peers.remember(Peer(name, when_s=1.0))
    assert peers.forget("b")
    assert not peers.forget("b")
    assert {peer.target for peer in peers.load()} == {"a", "c"}
    assert peers.forget_all()
    assert peers.load() == []


def test_no_more_are_kept_than_the_limit() -> None:
    for number in range(KEEP + 3):
        peers.remember(Peer(f"host-{number}", when_s=float(number)))
    assert len(peers.load()) == KEEP
    assert peers.load()[0].target == f"host-{KEEP + 2}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"peers": 5}',
        "\x00\xff",
        "[" * 100_000,
        " " * (MAX_BYTES + 1),
        '{"peers": [1, null, {}, {"target": ""}, {"target": 5}, {"target": "x", "words": "no"}]}',
        '{"peers": [{"target": "x", "when_s": 1e999}, {"target": "x", "goodput_bps": true}]}',
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_mended(text: str) -> None:
    file = peers.path()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="latin-1")
    assert peers.load() == []
    assert peers.remember(Peer("lab-b", when_s=1.0))
    assert [peer.target for peer in peers.load()] == ["lab-b"]


def test_one_wrong_entry_costs_only_itself() -> None:
    peers.remember(Peer("lab-b", when_s=1.0))
    table = json.loads(peers.path().read_text(encoding="utf-8"))
    table["peers"].append({"target": ["no"]})
    peers.path().write_text(json.dumps(table), encoding="utf-8")
    assert [peer.target for peer in peers.load()] == ["lab-b"]


def test_where_nothing_can_be_written_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    assert not peers.remember(Peer("lab-b"))
    assert peers.load() == []


def test_what_a_run_leaves() -> None:
    session = made.session_of(made.run(made.spec("lab-b", time_s=3, parallel=4)))
    peer = peers.of_run(session, (), ["lab-b", "-P", "4"], 5.0)
    assert peer is not None
    assert (peer.target, peer.words, peer.address) == ("lab-b", ("-P", "4"), "10.20.0.7")
    assert peer.test == "TCP ×4"
    assert peer.goodput_bps is not None
    assert 700e6 < peer.goodput_bps < 941e6
    assert peers.of_run(made.session_of([]), (), ["lab-b"], 5.0) is None
