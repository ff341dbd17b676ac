"""Scoring paragraphs without a language model, and the rules that cut."""

from __future__ import annotations

import pytest
from d3_making import QUESTION, TEXTS, Overlap, chunks, selected
from doubles import HashEmbedder

from structrag.asking.runner import Runner
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.evidence import select_steps
from structrag.retrieval.d3.reranking import keep, with_path
from structrag.retrieval.d3.selection import Selection


@pytest.mark.parametrize("strategy", ["monot5", "cross_encoder", "lexical", "dense"])
def test_scoring_strategies_keep_the_best_in_reading_order(strategy: str) -> None:
    evidence = selected(strategy, k=2)
    assert evidence.positions == (0, 2)
    assert evidence.scores is not None
    assert len(evidence.scores) == 2
    assert evidence.cost == StageCost(scored=5)
    (best,) = selected(strategy, k=1).positions
    assert best == evidence.positions[evidence.scores.index(max(evidence.scores))]
    assert selected(strategy, k=1, texts=[]).positions == ()


def test_cut_rules() -> None:
    logs = [-0.1269, -0.7985, -0.9163]  # p = .8808, .45, .40
    assert (
        keep(logs, "monot5", k=None, threshold=0.5)
        == keep(logs, "monot5", k=None, threshold=None)
        == [0, 1]
    )
    assert keep(logs, "monot5", k=3, threshold=None) == [0, 1, 2]
    assert keep([-3.5, -9.0], "monot5", k=None, threshold=0.5) == []  # p = .03: below .05
    assert keep([0.2, 0.9, 0.9, 0.5], "cross_encoder", k=2, threshold=None) == [1, 2]
    assert keep([0.5, 0.5, 0.5], "dense", k=2, threshold=None) == [0, 1]  # ties: the earlier
    assert keep([4.0, 2.0, 1.9, 0.0], "lexical", k=3, threshold=None) == [0, 1]
    assert keep([0.0, 0.0], "lexical", k=3, threshold=0.0) == []
    assert keep([], "dense", k=3, threshold=0.5) == []


def test_the_question_is_embedded_as_a_query_and_paragraphs_with_their_path() -> None:
    embedder = HashEmbedder()
    settings = Selection(strategy="dense", k=1)
    Runner(embedder=embedder).run(
        select_steps(QUESTION, chunks(TEXTS[:2], "Guide > Animals"), settings)
    )
    assert embedder.queries == [QUESTION]
    assert embedder.texts == [f"Guide > Animals\n{text}" for text in TEXTS[:2]]


@pytest.mark.parametrize(
    ("context", "expected"), [("A > B", "A > B\nCats eat fish every day."), ("", TEXTS[0])]
)
def test_a_paragraph_with_its_path(context: str, expected: str) -> None:
    assert with_path(chunks(TEXTS[:1], context)[0]) == expected


@pytest.mark.parametrize("strategy", ["monot5", "cross_encoder"])
@pytest.mark.parametrize("with_context", [True, False])
def test_each_strategy_asks_its_own_reranker(strategy: str, with_context: bool) -> None:
    rerankers = {"monot5": Overlap(lambda share: share - 1), "cross_encoder": Overlap()}
    selected(strategy, TEXTS[:2], "Guide", with_path=with_context, **rerankers)
    expected = [f"Guide\n{text}" if with_context else text for text in TEXTS[:2]]
    asked = {name: reranker.texts for name, reranker in rerankers.items()}
    assert asked == {"monot5": [], "cross_encoder": [], strategy: expected}
