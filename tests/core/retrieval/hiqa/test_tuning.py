"""Alpha and beta fitted to labelled questions: the choice, the estimate, the report, bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.errors import InvalidParameter
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.scores import (
    ALPHAS,
    BETAS,
    DEFAULT,
    LabelledQuestion,
    TuningReport,
)

# The collections here have no names.
pytestmark = pytest.mark.filterwarnings(
    "ignore:HiQARetriever found no critical keyword"
)

WORDS = ["pump", "valve", "water", "oil", "brass", "gear", "noise", "filter"]


class Misleading(HashEmbedder):
    """Vectors by which the documents least like a query come first."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        return (-1 if query else 1) * super().embed(texts, query=query)


def index_of(embedder: Any) -> Index:
    index = Index(embedder=embedder, views=("raw",))
    texts = [
        f"The {a} and the {b} are {a} parts." for a in WORDS for b in WORDS if a != b
    ]
    index.add([Document(text, id=f"d{i}") for i, text in enumerate(texts)])
    return index


def questions_for(index: Index, n: int) -> list[LabelledQuestion]:
    ids = index.document_ids[:: max(1, len(index) // n)][:n]
    texts = [index.chunks(name)[0].text for name in ids]
    return [
        LabelledQuestion(text.replace("are", "or"), {name})
        for name, text in zip(ids, texts, strict=True)
    ]


def test_misleading_vectors_are_given_less_weight() -> None:
    index = index_of(Misleading())
    retriever = HiQARetriever(index, detect_keywords=False)
    questions = questions_for(index, 20)
    report = retriever.tune(questions)
    assert report.alpha < 0.5 and report.score > report.default_score
    assert (retriever.alpha, retriever.beta) == (report.alpha, report.beta)
    assert report.n_questions == 20
    assert str(report).startswith(f"alpha {report.alpha:g}, beta {report.beta:g}: mean")


def test_a_chunk_that_holds_a_character_of_a_span_is_relevant() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    text = "# A\n\nOne pump.\n\n# B\n\nOne valve.\n"
    index.add([Document(text, id="d", format="markdown"), Document("Oil.", id="e")])
    border = index.chunks()[1].start

    def score(*span: Any, where: Any = None) -> float:
        question = LabelledQuestion("One pump", {span}, where)
        return HiQARetriever(index, detect_keywords=False).tune([question]).score

    # The first hit is the first chunk, the second the second.
    assert score("d", border - 2, border + 6) == score("d", border - 1, border) == 1
    assert score("d", border, border + 6) == 0.5
    assert score("d", border - 1, border - 1) == 0 == score("x", 0, 9)
    assert score("e", 0, 1, where={"doc_id": "e"}) == 1


def test_async_and_a_second_time_give_the_same() -> None:
    index = index_of(Misleading())
    questions = questions_for(index, 11)
    report = HiQARetriever(index).tune(questions)
    assert asyncio.run(HiQARetriever(index).atune(questions)) == report
    again = HiQARetriever(index)
    again.tune(questions)
    assert again.tune(questions) == report


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.integers(0, 55)
        ),
        min_size=1,
        max_size=8,
    )
)
def test_never_worse_than_the_default(asked: list[tuple[list[str], int]]) -> None:
    questions = [
        LabelledQuestion(" ".join(words), {f"d{number}"}) for words, number in asked
    ]
    report: TuningReport = HiQARetriever(INDEX).tune(questions)
    scores = {(alpha, beta): score for alpha, beta, score in report.grid}
    assert (
        len(scores) == len(ALPHAS) * len(BETAS)
        and scores[report.alpha, report.beta] == report.score
    )
    assert report.score >= report.default_score == scores[DEFAULT]
    # Of equal scores the nearest to the default.
    for (alpha, beta), score in scores.items():
        if round(score, 9) == round(report.score, 9):
            assert distance(report.alpha, report.beta) <= distance(alpha, beta)


def distance(alpha: float, beta: float) -> float:
    return round(abs(alpha - DEFAULT[0]) + abs(beta - DEFAULT[1]), 9)


INDEX = index_of(HashEmbedder())


@pytest.mark.parametrize(
    ("questions", "named"),
    [
        ([], "questions"),
        ([LabelledQuestion("pump", set())], "relevant"),
        ([LabelledQuestion("pump", "d1")], "relevant"),
    ],
)
def test_what_cannot_be_tuned_by_is_named(questions: Any, named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        HiQARetriever(INDEX).tune(questions)


@pytest.mark.parametrize("options", [{"preset": "paper"}, {"preset": "code"}])
def test_a_retriever_without_alpha_and_beta_is_not_tuned(options: Any) -> None:
    with pytest.raises(InvalidParameter, match="alpha and beta"):
        HiQARetriever(INDEX, **options).tune([LabelledQuestion("pump", {"d1"})])
