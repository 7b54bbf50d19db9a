"""The engine runs on CPython 3.9 and newer, on nothing but the standard library."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.driving import EngineProcess, OurServer, carried, client_spec, short

ROOT = Path(__file__).parents[2]
OLDEST = (3, 9)
SOURCES = [ROOT / "tuiperf" / "events.py", *sorted((ROOT / "tuiperf" / "engine").glob("*.py"))]


def interpreters() -> dict[str, str]:
    """Every CPython found here, one of each version, and always the one that runs the tests."""
    found = {"{}.{}".format(*sys.version_info): sys.executable}
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 16)]
    paths = [path for path in map(shutil.which, names) if path]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    paths += [str(path) for path in sorted(pyenv.glob("versions/3.*/bin/python"))]
    for path in paths:
        asked = subprocess.run(
            [path, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        version = asked.stdout.strip()
        if asked.returncode == 0 and tuple(map(int, version.split("."))) >= OLDEST:
            found.setdefault(version, path)
    return found


INTERPRETERS = interpreters()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_syntax_is_that_of_the_oldest(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=OLDEST)
    futures = [
        name.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for name in node.names
    ]
    # Without it the annotations would be evaluated, and 3.9 cannot evaluate `int | None`.
    assert "annotations" in futures or len(tree.body) == 1


@pytest.mark.parametrize("version", INTERPRETERS)
def test_it_needs_nothing_but_the_standard_library(version: str) -> None:
    modules = [f"tuiperf.engine.{path.stem}" for path in SOURCES[1:] if path.stem != "__init__"]
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    program += "".join(f"import {module}\n" for module in modules)
    program += "from typing import get_type_hints\nfrom tuiperf import events\n"
    program += "for kind in events.KINDS.values(): get_type_hints(kind)\n"
    done = subprocess.run(
        [INTERPRETERS[version], "-I", "-S", "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", INTERPRETERS)
def test_a_whole_test_both_ways(version: str) -> None:
    python = INTERPRETERS[version]
    with OurServer(python=python) as server:
        for way in ({}, {"reverse": True}, {"bidir": True}):
            test = short(total_bytes=5_000_000, parallel=2, **way)
            with EngineProcess.client(client_spec(server.port, test), python=python) as client:
                done = client.rest()
                assert client.wait() == 0
            there = server.next_run()
            assert done.outcome == there.outcome == "completed"
            assert carried(done.remote) == carried(there.local)
            assert max(sum(carried(run.local).values()) for run in (done, there)) >= 5_000_000
