"""Scoring paragraphs without a language model, and the rules that cut."""

from __future__ import annotations

import pytest
from d3_making import TEXTS, Overlap, selected
from fixture_cases import examples

from structrag.retrieval.d3.scoring import keep, shares


@examples
def test_what_a_rule_keeps(
    scores: list[float],
    strategy: str,
    k: int | None,
    threshold: float | None,
    expected: list[int],
) -> None:
    assert keep(scores, strategy, k=k, threshold=threshold) == expected


@pytest.mark.parametrize("strategy", ["monot5", "cross_encoder"])
@pytest.mark.parametrize("with_context", [True, False])
def test_each_strategy_asks_its_own_reranker(strategy: str, with_context: bool) -> None:
    rerankers = {"monot5": Overlap(lambda share: share - 1), "cross_encoder": Overlap()}
    selected(strategy, TEXTS[:2], "Guide", with_path=with_context, **rerankers)
    expected = [f"Guide\n{text}" if with_context else text for text in TEXTS[:2]]
    asked = {name: reranker.texts for name, reranker in rerankers.items()}
    assert asked == {"monot5": [], "cross_encoder": [], strategy: expected}


@examples
def test_shares_are_probabilities_where_there_are_some(
    strategy: str, scores: list[float], expected: list[float]
) -> None:
    assert shares(scores, strategy) == pytest.approx(expected, abs=1e-4)
