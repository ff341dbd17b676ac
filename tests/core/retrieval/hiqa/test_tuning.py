"""Alpha and beta fitted to labelled questions: the choice, the estimate, the report, bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import Document, Index
from structrag.errors import InvalidParameter
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.tuning import (
    ALPHAS,
    BETAS,
    DEFAULT,
    LabelledQuestion,
    TuningReport,
    _best,
    _report,
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
    assert (
        report.alpha < 0.5
        and report.score > report.default_score
        and report.held_out is not None
    )
    assert report.default_score <= report.held_out <= report.score
    assert (retriever.alpha, retriever.beta) == (report.alpha, report.beta)
    assert report.n_questions == 20 and "at least as well" in report.note


def test_the_score_is_the_mean_reciprocal_rank_of_a_search() -> None:
    index = index_of(HashEmbedder())
    questions = questions_for(index, 7)
    report = HiQARetriever(index, alpha=0.9).tune(questions)
    for weights, expected in (
        ((report.alpha, report.beta), report.score),
        (DEFAULT, report.default_score),
    ):
        retriever = HiQARetriever(index, alpha=weights[0], beta=weights[1], k=50)
        ranks = [
            next(
                (
                    hit.rank
                    for hit in retriever.search(each.question)
                    if hit.chunk.doc_id in each.relevant
                ),
                None,
            )
            for each in questions
        ]
        assert sum(1 / rank for rank in ranks if rank) / len(ranks) == pytest.approx(
            expected
        )


def test_a_keyword_of_the_question_counts_as_in_a_search() -> None:
    index = index_of(Misleading())
    index.add([Document("Of Q7 this is said: nothing.", id="x")])
    retriever = HiQARetriever(index, keywords=["Q7"], routes=("dense", "keywords"))
    report = retriever.tune([LabelledQuestion("The water pump of Q7?", {"x"})])
    assert report.score == 1 and report.beta > 0


def test_recall_counts_the_characters_of_spans_among_the_first_k() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(
        [
            Document(
                "# A\n\nOne pump.\n\n# B\n\nOne valve.\n", id="d", format="markdown"
            ),
            Document("Other oil.", id="e"),
        ]
    )
    first, second = index.chunks()[:2]
    half = LabelledQuestion("One pump", {("d", first.start, second.end)})
    report = HiQARetriever(index, k=1).tune([half], metric="recall")
    share = (first.end - first.start) / (second.end - first.start)
    assert report.score == pytest.approx(share) and report.k == 1
    assert HiQARetriever(index, k=2).tune(
        [half], metric="recall"
    ).score == pytest.approx(1)
    both = LabelledQuestion("One pump", {"d", "e"})
    assert HiQARetriever(index, k=1).tune(
        [both], metric="recall"
    ).score == pytest.approx(0.5)
    elsewhere = LabelledQuestion("One pump", {("e", first.start, second.end)})
    assert HiQARetriever(index, k=1).tune([elsewhere], metric="recall").score == 0
    limited = LabelledQuestion("One pump", {"e"}, where={"doc_id": "e"})
    assert HiQARetriever(index, k=1).tune([limited], metric="recall").score == 1


def test_questions_out_of_reach_are_counted() -> None:
    index = index_of(HashEmbedder())
    report = HiQARetriever(index).tune(
        [*questions_for(index, 3), LabelledQuestion("pump", {"unknown"})]
    )
    assert report.out_of_reach == 1 and report.score <= 0.75


def test_few_questions_are_said_to_be_few() -> None:
    index = index_of(HashEmbedder())
    (one,) = questions_for(index, 1)
    report = HiQARetriever(index).tune([one])
    assert report.held_out is None and report.note.startswith("1 question is little")
    assert "are little" in HiQARetriever(index).tune(questions_for(index, 4)).note
    assert "are little" not in HiQARetriever(index).tune(questions_for(index, 14)).note


def test_the_report_can_be_read() -> None:
    index = index_of(HashEmbedder())
    report = HiQARetriever(index).tune(questions_for(index, 12))
    lines = report.table().splitlines()
    assert len(lines) == 1 + len(ALPHAS) and all(
        line.count(".") >= len(BETAS) for line in lines[1:]
    )
    assert report.table().count("*") == 1 and report.table() in str(report)
    assert f"{report.score:.4f}" in str(
        report
    ) and f"{report.default_score:.4f}" in str(report)
    assert all(line == line.rstrip() for line in str(report).splitlines())


def test_async_and_a_second_time_give_the_same() -> None:
    index = index_of(Misleading())
    questions = questions_for(index, 11)
    report = HiQARetriever(index).tune(questions)
    assert asyncio.run(HiQARetriever(index).atune(questions)) == report
    again = HiQARetriever(index)
    again.tune(questions)
    assert again.tune(questions) == report


def test_weights_that_do_not_hold_up_are_not_taken() -> None:
    grid = [(0.0, 0.0), DEFAULT]
    report = _report(np.array([[1, 0.5], [0.2, 0.5]]), grid, "mrr", 5, 0)
    assert (
        report.alpha,
        report.beta,
    ) == DEFAULT and report.score == report.default_score == 0.5
    assert report.held_out == pytest.approx(0.35) and "the default stays" in report.note
    report = _report(np.array([[1, 0.5], [0.9, 0.5]]), grid, "mrr", 5, 0)
    assert (report.alpha, report.score) == (0.0, 0.95)


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


INDEX = index_of(HashEmbedder())


@pytest.mark.parametrize(
    ("questions", "options", "named"),
    [
        ([], {}, "questions"),
        ([LabelledQuestion("pump", set())], {}, "relevant"),
        ([LabelledQuestion("pump", "d1")], {}, "relevant"),
        ([LabelledQuestion("pump", {"d1"})], {"metric": "ndcg"}, "metric"),
    ],
)
def test_what_cannot_be_tuned_by_is_named(
    questions: Any, options: Any, named: str
) -> None:
    with pytest.raises(InvalidParameter, match=named):
        HiQARetriever(INDEX).tune(questions, **options)


@pytest.mark.parametrize("options", [{"fusion": "rrf"}, {"preset": "code"}])
def test_a_retriever_without_alpha_and_beta_is_not_tuned(options: Any) -> None:
    with pytest.raises(InvalidParameter, match="alpha and beta"):
        HiQARetriever(INDEX, **options).tune([LabelledQuestion("pump", {"d1"})])


def test_the_weights_tried_are_shares_and_hold_the_default() -> None:
    for weights in (ALPHAS, BETAS):
        assert list(weights) == sorted(set(weights)) and (weights[0], weights[-1]) == (
            0,
            1,
        )
    assert DEFAULT[0] in ALPHAS and DEFAULT[1] in BETAS


def test_of_equal_weights_the_nearest_to_the_default_are_taken_then_the_first() -> None:
    assert DEFAULT == (0.5, 0.2)
    assert _best(np.ones(2), [(0.2, 0.2), (0.5, 0.4)]) == 1
    assert _best(np.ones(2), [(0.5, 0.4), (0.5, 0.0)]) == 0
    assert _best(np.array([1.0, 0.9]), [(0.0, 1.0), DEFAULT]) == 0
    # 0.1 and 0.2 away, against 0.2
    assert _best(np.ones(2), [(0.4, 0.4), (0.3, 0.2)]) == 1


def test_weights_that_do_as_well_on_questions_left_out_are_taken() -> None:
    grid = [(0.0, 0.0), DEFAULT]
    report = _report(np.array([[1, 0.5], [0.5, 0.5]]), grid, "mrr", 5, 0)
    assert report.held_out == report.default_score == 0.5
    assert (report.alpha, report.beta, report.score) == (0.0, 0.0, 0.75)


@examples
def test_fewer_than_ten_questions_are_few(n: int, few: str) -> None:
    report = _report(np.full((n, 1), 0.5), [DEFAULT], "mrr", 5, 0)
    assert report.note.startswith(few or "No weights did better than the default.")
    assert report.note.endswith("No weights did better than the default.")


def test_the_report_says_what_was_measured() -> None:
    grid = [(alpha, beta) for alpha in ALPHAS for beta in BETAS]
    values = np.full((2, len(grid)), 0.25)
    text = str(_report(values, grid, "recall", 7, 1))
    assert text.startswith(
        "alpha 0.5, beta 0.2: recall at 7 0.2500 over 2 questions (default weights 0.2500; "
        "fitted without the question 0.2500; out of reach 1)\n"
    )
    alone = str(_report(values[:1], grid, "mrr", 7, 0))
    assert "mean reciprocal rank 0.2500 over 1 question (" in alone
    assert "fitted without the question none;" in alone


def test_the_columns_of_the_table_stand_below_their_betas() -> None:
    grid = [(alpha, beta) for alpha in ALPHAS for beta in BETAS]
    values = np.arange(len(grid))[None] / 1000
    head, *lines = _report(values, grid, "mrr", 5, 0).table().splitlines()
    for i, beta in enumerate(BETAS):
        column = 7 + 11 * i
        assert head[column:].split()[:2] == ["beta", f"{beta:g}"]
        cells = [float(line[column : column + 6]) for line in lines]
        assert cells == values.reshape(len(ALPHAS), len(BETAS))[:, i].tolist()


def test_a_span_is_gained_by_the_share_of_its_characters() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    text = "# A\n\nOne pump.\n\n# B\n\nOne valve.\n"
    index.add([Document(text, id="d", format="markdown"), Document("Oil.", id="e")])
    border = index.chunks()[1].start
    retriever = HiQARetriever(index, k=1)

    def recall_at_1(start: int, end: int) -> float:
        question = LabelledQuestion("One pump", {("d", start, end)})
        return retriever.tune([question], metric="recall").default_score

    # The first hit is the first chunk.
    assert recall_at_1(border - 2, border + 6) == pytest.approx(0.25)
    assert recall_at_1(border - 6, border - 1) == pytest.approx(1)
    assert recall_at_1(border, border + 6) == 0
    assert recall_at_1(border - 1, border - 1) == 0
