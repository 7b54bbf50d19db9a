"""Labs for tests: a path with a known fault, up for as long as the test needs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from tuiperf.lab.errors import LabError
from tuiperf.lab.run import Lab, path
from tuiperf.lab.spec import PathSpec

MakePath = Callable[..., Lab]


@pytest.fixture(scope="session")
def lab_here() -> None:
    """A lab can be had on this machine; where CI says so it must."""
    try:
        with path({}):
            return
    except LabError as error:
        if os.environ.get("CI"):
            pytest.fail(f"no lab here: {error}")
        pytest.skip(f"no lab here: {error}")


@pytest.fixture
def make_path(lab_here: None) -> Iterator[MakePath]:
    """`make_path(profile or table or PathSpec)` brings a path up until the test is over."""
    with ExitStack() as stack:

        def make(what: str | PathSpec | Mapping[str, Any], **options: Any) -> Lab:
            return stack.enter_context(path(what, **options))

        yield make
