"""The page of results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import evaluation


def test_every_figure_of_the_conclusions_is_a_result() -> None:
    text = evaluation.conclusions()
    assert text.startswith("## Conclusions") and "{" not in text
    for name, place in evaluation.FIGURES.items():
        assert re.match(r"[+-]?\d+\.\d", evaluation.figure(*place)), name
        assert evaluation.figure(*place) in text


def test_they_stand_in_front_of_the_results() -> None:
    page = evaluation.page()
    assert page.index("## Conclusions") < page.index(
        "## All methods, all peers, all sets"
    )
    assert "\n\n\n" not in page


def test_without_a_result_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "RESULTS", tmp_path)
    assert (
        evaluation.figure("methods.md", "a", "b", 1) == ""
        and evaluation.conclusions() == ""
    )
