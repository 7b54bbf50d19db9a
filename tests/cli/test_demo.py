"""The demo's loopback: what it asks for is what this user may have."""

from __future__ import annotations

import pytest

from tuiperf.cli import demo
from tuiperf.engine.spec import ClientSpec, TestSpec


def congestion(asked: str = "") -> str:
    return demo._towards(ClientSpec("x", test=TestSpec(congestion=asked)), 5201).test.congestion


def test_a_congestion_control_that_there_is_not_may_not_be_used() -> None:
    assert not demo._may_use("nosuch")


def test_cubic_only_where_this_user_may_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_may_use", lambda name: name == "cubic")
    assert congestion() == "cubic"
    assert congestion("reno") == "reno"
    monkeypatch.setattr(demo, "_may_use", lambda name: False)
    assert congestion() == ""
