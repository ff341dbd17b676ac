"""Settings of a selection: what is refused, and the preset of the paper."""

from __future__ import annotations

from typing import Any

import pytest
from d3_making import QUESTION, TEXTS, selected
from doubles import HashEmbedder
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.retrieval.d3.selection import (
    Selection,
)


class Scorer:
    def score(self, query: str, texts: list[str]) -> list[float]:
        return [0.0] * len(texts)


@examples
def test_bad_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        Selection(**changes)


def test_chains_may_have_spaces() -> None:
    selection = Selection(strategy="base + monot5", monot5=Scorer())
    assert selection.stages == ("base", "monot5")


def test_scores_are_those_of_the_models() -> None:
    assert selected("monot5", k=2).scores == (-0.5, -0.5)
    assert selected("cross_encoder", k=2).scores == (0.5, 0.5)
    embedder = HashEmbedder()
    expected = [
        float(embedder.vector(f"Guide > Animals\n{text}") @ embedder.vector(QUESTION))
        for text in TEXTS
    ]
    assert selected("dense", k=5).scores == pytest.approx(expected, abs=1e-6)


def test_a_match_in_the_path_alone_is_found_lexically() -> None:
    assert selected(
        "lexical", ["Water is wet.", "Pumps move it."], context="What cats eat"
    ).positions == (0, 1)
    assert selected("lexical", ["Water is wet.", "Pumps move it."]).positions == ()
