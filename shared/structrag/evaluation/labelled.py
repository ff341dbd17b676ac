"""Splitters compared on labelled questions: how much of the gold is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.chunks.model_splitter import runner_for
from structrag.errors import InvalidParameter, check_at_least
from structrag.evaluation.aggregate import MeanEstimate, estimates
from structrag.evaluation.measure import Span, SpanMeasure, span_recall
from structrag.evaluation.searched import (
    PassageRanking,
    Passages,
    RankedSpans,
    check_documents,
    search_all,
    search_passages,
    split_counted,
)
from structrag.model_calls.requests import Progress
from structrag.model_calls.settings import counted
from structrag.models.embedders import as_embedder
from structrag.records import Document

DEPTHS = (1, 3, 5, 10)  # chunks
BUDGETS = (500, 1000, 2000)  # tokens


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and its gold, of one kind.

    Example:
        >>> GoldQuestion("How long does it last?", spans=(("nova.md", 8, 30),)).docs
        ()
    """

    question: str
    spans: tuple[Span, ...] = ()  # together the evidence
    # For each quote its places, one of which is enough.
    places: tuple[tuple[Span, ...], ...] = ()
    docs: tuple[str, ...] = ()  # ids of documents


@dataclass(frozen=True, slots=True)
class MethodScores:
    """One method's recall, in [0, 1], by point.

    A point is "first 5" (chunks) or "1000 tokens".

    Example:
        >>> MethodScores("mc", 12, {}, {}, {"first 5": 410.0}, {}).tokens["first 5"]
        410.0
    """

    name: str
    chunks: int  # of `Passages` sentences, rows and headings
    recall: Mapping[str, MeanEstimate]
    difference: Mapping[
        str, MeanEstimate
    ]  # to the first method, over the same questions
    tokens: Mapping[str, float]  # "first 5" -> the mean tokens of so many chunks
    scores: Mapping[str, tuple[float, ...]]  # of each question, in their order


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of `evaluate`.

    Example:
        >>> from structrag.chunks.content_aware import ContentAwareSplitter
        >>> document = Document("# Nova\\n\\nA phone.\\n", id="nova.md", format="markdown")
        >>> question = GoldQuestion("What is the Nova?", spans=(("nova.md", 8, 16),))
        >>> found = evaluate([document], {"mc": ContentAwareSplitter()}, [question])
        >>> found.methods[0].recall["first 1"].mean
        1.0
    """

    documents: int
    questions: tuple[str, ...]
    embedder: str
    views: tuple[str, ...]
    depths: tuple[int, ...]
    budgets: tuple[int, ...]
    methods: tuple[MethodScores, ...]


def question_recall(
    question: GoldQuestion, retrieved: Sequence[Span], measure: SpanMeasure
) -> float:
    """The share of a question's gold that was retrieved, in [0, 1].

    - Of spans it is the share of their characters, white space aside.
    - Of quotes it is the mean over them of the share at each one's best place.
    - Of documents it is the share from which there is a span.

    0 where the gold is blank.
    """
    if question.docs:
        reached = {doc_id for doc_id, start, end in retrieved if start < end}
        return sum(doc_id in reached for doc_id in question.docs) / len(question.docs)
    if question.places:
        shares = []
        for places in question.places:
            shares.append(span_recall(places, retrieved, measure, mode="any") or 0.0)
        return float(np.mean(shares))
    return span_recall(question.spans, retrieved, measure) or 0.0


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
    """Split documents by several splitters and measure what searches find.

    All documents are searched for every question, by vectors and BM25 together
    (`MultiViewRetriever`), whatever the splitter; only `Passages` are searched otherwise. Chunks of
    different methods differ in size, so compare methods at token budgets: there the last chunk is
    cut where the budget ends.

    Args:
        documents: At least one that holds text, each with its own id.
        splitters: Name -> splitter, anything with `split(document)`, or `Passages()`, which
            searches with `EvidenceRetriever`. Differences are to the first.
        questions: At least one, as `question_files.read_questions` reads them.
        embedder: What `as_embedder` takes, for splitters that embed and for the index. None: LSA.
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
        raise InvalidParameter(
            "There is nothing to ask: pass at least one question with its gold."
        )
    for size in (*depths, *budgets):
        check_at_least("depths and budgets", size, 1)
    model = None if embedder is None else as_embedder(embedder)
    measure = SpanMeasure({document.id: document.text for document in documents})
    asked = [question.question for question in questions]
    methods: list[MethodScores] = []
    for name, splitter in splitters.items():
        rankings: Sequence[RankedSpans | PassageRanking]
        if isinstance(splitter, Passages):
            retriever = splitter.retriever([], model, progress)
            n_chunks = retriever.add(documents).chunks
            rankings = search_passages(
                retriever, asked, depths=depths, budgets=budgets, progress=progress
            )
        else:
            runner = runner_for(model, progress=progress)
            chunks = {
                document.id: split_counted(splitter, document, runner)[0]
                for document in counted(progress, name, documents)
            }
            n_chunks = sum(map(len, chunks.values()))
            rankings = search_all(
                documents,
                chunks,
                asked,
                budget=max(budgets),
                k=max(depths),
                embedder=model,
                views=views,
                progress=progress,
            )
        scores = _scores(questions, rankings, measure, depths, budgets)
        base = methods[0].scores if methods else scores
        tokens = {}
        for k in depths:
            handed = [ranking.tokens_of_first(k) for ranking in rankings]
            tokens[f"first {k}"] = float(np.mean(handed))
        recall, difference = estimates(scores, base)
        values = {point: tuple(of_point) for point, of_point in scores.items()}
        methods.append(MethodScores(name, n_chunks, recall, difference, tokens, values))
    return Evaluation(
        documents=len(documents),
        questions=tuple(asked),
        embedder=as_embedder(model).name,
        views=tuple(views),
        depths=tuple(depths),
        budgets=tuple(budgets),
        methods=tuple(methods),
    )


def _scores(
    questions: Sequence[GoldQuestion],
    rankings: Sequence[RankedSpans | PassageRanking],
    measure: SpanMeasure,
    depths: Sequence[int],
    budgets: Sequence[int],
) -> dict[str, list[float]]:
    """Point -> the recall of each question."""
    scores: dict[str, list[float]] = {}
    for question, ranking in zip(questions, rankings, strict=True):
        retrieved = {f"first {k}": ranking.first(k) for k in depths}
        for budget in budgets:
            retrieved[f"{budget} tokens"] = ranking.within(budget, measure)
        for point, spans in retrieved.items():
            recall = question_recall(question, spans, measure)
            scores.setdefault(point, []).append(recall)
    return scores
