"""The short form of the torture suite: the first cases of each promise, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from torture.promises import ALL

NAMES = [promise.name for promise in ALL]


@pytest.fixture(scope="module")
def tallies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came out of each promise."""
    results = tmp_path_factory.mktemp("torture") / "results.json"
    paths = [ROOT / "tests", ROOT / "shared", ROOT]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "torture", "--short", "--json", str(results)]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=280
    )
    assert results.exists(), run.stderr
    loaded: dict[str, Any] = json.loads(results.read_text())
    return loaded


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_promise_holds(name: str, tallies: dict[str, Any]) -> None:
    tally = tallies[name]
    if tally["not_here"]:
        pytest.skip(tally["not_here"])
    promise = next(promise for promise in ALL if promise.name == name)
    assert tally["failures"] == {}
    assert tally["cases"] == promise.short


def test_promises_have_names_and_time(tmp_path: Path) -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(promise.share > 0 and promise.short <= promise.cases for promise in ALL)
