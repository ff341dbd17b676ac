"""Several splitters on the questions of a user: how much of what answers them is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.asking.requests import Progress
from structrag.chunks.asking_splitter import runner_for
from structrag.errors import InvalidParameter, check_at_least
from structrag.evaluation.estimates import Estimate, estimate, estimated_difference
from structrag.evaluation.measure import Span, SpanMeasure
from structrag.evaluation.needs import split_counted
from structrag.evaluation.searched import Chunks, Found, check_documents, search_all
from structrag.evaluation.spans import span_recall
from structrag.models.embedders import as_embedder
from structrag.records import Document

DEPTHS = (1, 3, 5, 10)  # chunks
BUDGETS = (500, 1000, 2000)  # tokens


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and its gold, of one kind."""

    question: str
    spans: tuple[Span, ...] = ()  # together the evidence
    places: tuple[tuple[Span, ...], ...] = ()  # for each quote its places, one of which is enough
    docs: tuple[str, ...] = ()  # ids of documents


@dataclass(frozen=True, slots=True)
class MethodScores:
    """One method's recall, in [0, 1], by point: "first 5" (chunks) or "1000 tokens"."""

    name: str
    chunks: int
    recall: Mapping[str, Estimate]
    difference: Mapping[str, Estimate]  # to the first method, over the same questions
    tokens: Mapping[str, float]  # "first 5" -> the mean tokens of so many chunks
    scores: Mapping[str, tuple[float, ...]]  # of each question, in their order


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `evaluate` found."""

    documents: int
    questions: tuple[str, ...]
    embedder: str
    views: tuple[str, ...]
    depths: tuple[int, ...]
    budgets: tuple[int, ...]
    methods: tuple[MethodScores, ...]


def question_recall(question: GoldQuestion, found: Sequence[Span], measure: SpanMeasure) -> float:
    """The share of a question's gold among the spans found, in [0, 1].

    Of spans the share of their characters, white space aside; of quotes the mean over them of the
    share at each one's best place; of documents the share from which there is a span. 0 where the
    gold is blank.
    """
    if question.docs:
        reached = {doc_id for doc_id, start, end in found if start < end}
        return sum(doc_id in reached for doc_id in question.docs) / len(question.docs)
    if question.places:
        shares = [
            span_recall(places, found, measure, mode="any") or 0.0 for places in question.places
        ]
        return float(np.mean(shares))
    return span_recall(question.spans, found, measure) or 0.0


def evaluate(
    documents: Sequence[Document],
    splitters: Mapping[str, Any],
    questions: Sequence[GoldQuestion],
    *,
    embedder: Any = None,
    views: Sequence[str] = ("raw",),
    depths: Sequence[int] = DEPTHS,
    budgets: Sequence[int] = BUDGETS,
    progress: Progress | None = None,
) -> Evaluation:
    """Split documents by several splitters, search the chunks of each for every question alike, and
    measure what was found.

    All documents are searched, by vectors and BM25 together (`MultiViewRetriever`), whatever the
    splitter. Chunks of different methods differ in size, so compare methods at token budgets: there
    the last chunk is cut where the budget ends.

    Args:
        documents: At least one that holds text, each with its own id.
        splitters: Name -> splitter, anything with `split(document)`; differences are to the first.
        questions: At least one, as `question_files.read_questions` reads them.
        embedder: What `as_embedder` takes, for splitters that embed and for the index; None: LSA.
        views: Which views are indexed: some of "raw", "summary" and "keywords".
        depths: Numbers of chunks, each at least 1.
        budgets: Numbers of tokens, each at least 1.
        progress: Called as (what, done, total).

    Raises:
        InvalidParameter: there is no text, no splitter or no question, two documents have the same
            id, or a setting is not allowed.
    """
    documents = list(documents)
    check_documents(documents, splitters)
    if not questions:
        raise InvalidParameter("There is nothing to ask: give at least one question with its gold.")
    for size in (*depths, *budgets):
        check_at_least("depths and budgets", size, 1)
    model = None if embedder is None else as_embedder(embedder)
    measure = SpanMeasure({document.id: document.text for document in documents})
    asked = [question.question for question in questions]
    methods: list[MethodScores] = []
    for name, splitter in splitters.items():
        chunks = _split(name, splitter, documents, model, progress)
        found = search_all(
            documents,
            chunks,
            asked,
            budget=max(budgets),
            k=max(depths),
            embedder=model,
            views=views,
            progress=progress,
        )
        scores = _scores(questions, found, measure, depths, budgets)
        base = methods[0].scores if methods else scores
        methods.append(
            MethodScores(
                name=name,
                chunks=sum(map(len, chunks.values())),
                recall={point: estimate(values) for point, values in scores.items()},
                difference={
                    point: estimated_difference(values, base[point])
                    for point, values in scores.items()
                },
                tokens={
                    f"first {k}": float(np.mean([sum(each.tokens[:k]) for each in found]))
                    for k in depths
                },
                scores={point: tuple(values) for point, values in scores.items()},
            )
        )
    return Evaluation(
        documents=len(documents),
        questions=tuple(asked),
        embedder=as_embedder(model).name,
        views=tuple(views),
        depths=tuple(depths),
        budgets=tuple(budgets),
        methods=tuple(methods),
    )


def _split(
    name: str,
    splitter: Any,
    documents: Sequence[Document],
    embedder: Any,
    progress: Progress | None,
) -> Chunks:
    runner = runner_for(embedder)
    chunks = {}
    for number, document in enumerate(documents, start=1):
        chunks[document.id], _ = split_counted(splitter, document, runner)
        if progress is not None:
            progress(name, number, len(documents))
    return chunks


def _scores(
    questions: Sequence[GoldQuestion],
    found: Sequence[Found],
    measure: SpanMeasure,
    depths: Sequence[int],
    budgets: Sequence[int],
) -> dict[str, list[float]]:
    """Point -> the recall of each question."""
    pairs = list(zip(questions, found, strict=True))
    scores = {
        f"first {k}": [question_recall(each, own.first(k), measure) for each, own in pairs]
        for k in depths
    }
    for budget in budgets:
        scores[f"{budget} tokens"] = [
            question_recall(each, own.within(budget, measure), measure) for each, own in pairs
        ]
    return scores
