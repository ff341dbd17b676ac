"""Scoring paragraphs without a language model, and the rules that cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from doubles import HashEmbedder

from structrag.asking.runner import Runner
from structrag.errors import InvalidAnswer, NoModel
from structrag.records import Chunk
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.evidence import select_steps
from structrag.retrieval.d3.reranking import keep
from structrag.retrieval.d3.selection import Evidence, Selection

QUESTION = "what do cats eat"
TEXTS = [
    "Cats eat fish every day.",
    "The pump moves water.",
    "Dogs eat meat; cats eat fish.",
    "Nothing is said.",
    "Water is wet.",
]


class Overlap:
    """A reranker whose score grows with the share of the question's words in a text."""

    def __init__(self, transform: Callable[[float], float] = lambda share: share) -> None:
        self.transform = transform
        self.texts: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        words = set(query.split())
        return [
            self.transform(len(words & set(re.findall(r"\w+", text.casefold()))) / len(words))
            for text in texts
        ]


def chunks(texts: Sequence[str], context: str) -> list[Chunk]:
    starts = [sum(map(len, texts[:i])) for i in range(len(texts))]
    return [
        Chunk(f"d:{a}", "d", "d#1", a, a + len(t), t, context)
        for a, t in zip(starts, texts, strict=True)
    ]


def selected(
    strategy: str, texts: Sequence[str] = TEXTS, context: str = "Guide > Animals", **changes: Any
) -> Evidence:
    given = {"monot5": Overlap(lambda share: share - 1), "cross_encoder": Overlap(), **changes}
    return Runner(embedder=HashEmbedder()).run(
        select_steps(QUESTION, chunks(texts, context), Selection(strategy=strategy, **given))
    )


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


def test_rerankers_see_the_path_unless_told_not_to() -> None:
    seen, alone = Overlap(), Overlap()
    selected("cross_encoder", cross_encoder=seen)
    selected("cross_encoder", cross_encoder=alone, with_path=False)
    assert seen.texts[0] == f"Guide > Animals\n{TEXTS[0]}"
    assert alone.texts == TEXTS


def test_dense_reads_all_of_a_long_paragraph() -> None:
    embedder = HashEmbedder()
    texts = ["word " * 400 + ". " + "What do cats eat. " * 60 + "other " * 400, "What is it."]
    runner = Runner(embedder=embedder)
    evidence = runner.run(
        select_steps(QUESTION, chunks(texts, ""), Selection(strategy="dense", k=1))
    )
    assert evidence.positions == (0,)
    assert evidence.scores == pytest.approx((1.0,))
    assert embedder.queries == [QUESTION]
    with pytest.raises(NoModel):
        Runner().run(select_steps(QUESTION, chunks(texts, ""), Selection(strategy="dense")))


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


@pytest.mark.parametrize("bad", [[0.1], [float("nan")] * 5, ["x"] * 5, [[0.1]] * 5, None])
def test_a_reranker_must_give_one_number_a_text(bad: Any) -> None:
    class Bad:
        def score(self, query: str, texts: Sequence[str]) -> Any:
            return bad

    with pytest.raises(InvalidAnswer, match="for each of the 5 texts"):
        selected("monot5", monot5=Bad())
