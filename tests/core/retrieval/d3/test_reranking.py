"""Scoring paragraphs without a language model, and the rules that cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from d3_making import QUESTION, TEXTS, Overlap, chunks, selected
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.asking.runner import Runner
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.evidence import select_steps
from structrag.retrieval.d3.reranking import keep, shares, with_path
from structrag.retrieval.d3.selection import Selection
from structrag.text.tokens import count_tokens


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
    # P = .03: below .05.
    assert keep([-3.5, -9.0], "monot5", k=None, threshold=0.5) == []
    assert keep([0.2, 0.9, 0.9, 0.5], "cross_encoder", k=2, threshold=None) == [1, 2]
    # Ties: the earlier.
    assert keep([0.5, 0.5, 0.5], "dense", k=2, threshold=None) == [0, 1]
    assert keep([4.0, 2.0, 1.9, 0.0], "lexical", k=3, threshold=None) == [0, 1]
    assert keep([0.0, 0.0], "lexical", k=3, threshold=0.0) == []
    assert keep([], "dense", k=3, threshold=0.5) == []


@examples
def test_what_a_rule_keeps(
    scores: list[float],
    strategy: str,
    k: int | None,
    threshold: float | None,
    expected: list[int],
) -> None:
    assert keep(scores, strategy, k=k, threshold=threshold) == expected


def test_the_question_is_embedded_as_a_query_and_paragraphs_with_their_path() -> None:
    embedder = HashEmbedder()
    settings = Selection(strategy="dense", k=1)
    Runner(embedder=embedder).run(
        select_steps(QUESTION, chunks(TEXTS[:2], "Guide > Animals"), settings)
    )
    assert embedder.queries == [QUESTION]
    assert embedder.texts == [f"Guide > Animals\n{text}" for text in TEXTS[:2]]


@given(
    st.lists(st.floats(-40, 40), max_size=8),
    st.sampled_from(["monot5", "cross_encoder", "lexical", "dense"]),
)
def test_shares_are_from_0_to_1_in_the_order_of_the_scores(
    scores: list[float], strategy: str
) -> None:
    found = shares(scores, strategy)
    assert all(0 <= share <= 1 for share in found)
    for score, share in zip(scores, found, strict=True):
        assert all(
            share >= found[i] for i, other in enumerate(scores) if score >= other
        )


def test_shares_are_probabilities_where_there_are_some() -> None:
    assert shares([-0.1269, -0.9163], "monot5") == pytest.approx(
        [0.8808, 0.4], abs=1e-4
    )
    assert shares([0.5], "monot5") == [1.0]
    assert shares([0.3, 0.9], "cross_encoder") == [0.3, 0.9]
    assert shares([0.0, 1.0], "cross_encoder") == [0.0, 1.0]
    assert shares([], "cross_encoder") == []
    assert shares([-2.0, 0.0], "cross_encoder") == pytest.approx(
        [0.1192, 0.5], abs=1e-4
    )
    assert shares([0.0, 2.0], "cross_encoder") == pytest.approx([0.5, 0.8808], abs=1e-4)
    assert shares([3.0, 1.5, 0.0], "lexical") == [1.0, 0.5, 0.0]
    assert shares([0.2, 0.6, 0.4], "dense") == pytest.approx([0.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("context", "expected"),
    [("A > B", "A > B\nCats eat fish every day."), ("", TEXTS[0])],
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


class Opposite(HashEmbedder):
    """Vectors by which the texts most like a query are least alike."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return (-1 if query else 1) * super().embed(texts, query=query)


def test_a_cosine_may_be_as_low_as_minus_one() -> None:
    settings = Selection(strategy="dense", k=1)
    evidence = Runner(embedder=Opposite()).run(
        select_steps(QUESTION, chunks([QUESTION], ""), settings)
    )
    assert evidence.scores == pytest.approx((-1.0,))


@examples
def test_180_tokens_are_embedded_at_once(tokens: int, windows: int) -> None:
    text = next(
        "word " * n for n in range(100, 200) if count_tokens("word " * n) >= tokens
    )
    assert count_tokens(text) in (180, 181, 182)
    embedder = HashEmbedder()
    Runner(embedder=embedder).run(
        select_steps(QUESTION, chunks([text], ""), Selection(strategy="dense"))
    )
    assert len(embedder.texts) == windows
