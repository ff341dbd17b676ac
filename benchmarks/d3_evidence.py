"""Evidence without a language model: D3's routing against retrieval over all paragraphs, with the
same embedder and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.d3_oracle import gold_chunks
from benchmarks.d3_systems import document_of
from benchmarks.hiqa_scores import Sizes, against, recall_points
from benchmarks.paper_metrics import evidence_f1
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, Question
from structrag.evaluation import (
    SpanMeasure,
    span_recall,
    spans_of,
)
from structrag.index.index import Index
from structrag.index.levels import query_vectors
from structrag.index.snapshot import Reader
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Flow
from structrag.model_calls.runner import Runner
from structrag.records import Chunk
from structrag.retrieval.d3.condensing import SectionSplitter
from structrag.retrieval.d3.index import PARAGRAPHS, D3Index
from structrag.retrieval.d3.outlines import row_mask
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.d3.scoring import normalised_scores, route_scores
from structrag.text.tokens import count_tokens

BUDGET, TOP = 1000, 3
SUMMARIES = (40, 60, 100, 142)  # most tokens of a summary
FIRST = 5  # sections that the stand-in for a reader may name
RECALL, F1 = f"recall at {BUDGET:,} tokens", f"evidence F1 of the first {TOP}"
OWN, ALL = "D3", "F1 of all that fit"
SCORED, PARTS, WITHIN = "paragraphs scored", "parts scored", "evidence in them"
COLUMNS = {RECALL: 100, F1: 100, ALL: 100, SCORED: 1, PARTS: 1, WITHIN: 100}
ROUTES = {"BM25": ("bm25",), "dense": ("dense",), "fused": ("bm25", "dense")}
READING = (
    "Each question is searched inside its own document, by the paragraphs' text and heading path; "
    "all systems have the same vectors "
    "and BM25 statistics. Recall is the share of the gold text (nq: of the best single occurrence) "
    "in the paragraphs taken in rank "
    f"order, the last one cut at {BUDGET:,} tokens. Evidence F1 is QASPER's, over paragraphs. In "
    "percent, means over the questions. D3 "
    "scores parts of sections, then the paragraphs of the best parts only; its router is BM25 and "
    "vectors. An interval that holds 0 "
    "is no difference that was shown."
)
OUTLINES = (
    f"In percent, evidence that lies in the first {FIRST} sections when they are ranked by path "
    "and extractive summary (BM25 and "
    "vectors): a stand-in for the language model, which was not measured. In brackets the tokens "
    "of a document's outline."
)


@dataclass(slots=True)
class Measured:
    """One system's figures, question by question; shares in [0, 1]."""

    values: dict[str, list[float]] = field(default_factory=dict)

    def note(self, **figures: float) -> None:
        """Add one question's figures."""
        for name, value in figures.items():
            self.values.setdefault(name, []).append(float(value))

    def mean(self, name: str) -> float:
        """Over the questions."""
        return float(np.mean(self.values[name]))


def evidence_scores(
    dataset: Dataset, embedder: Any, cache: Cache | None
) -> dict[str, Measured]:
    """Every system's figures; each question is searched inside its own document."""
    index = D3Index(embedder=embedder, cache=cache, batch_size=32)
    index.add(dataset.documents)
    retriever = D3Retriever(index, max_tokens=10**9)
    measure = SpanMeasure(dataset.texts)
    found: dict[str, Measured] = {}
    for question in dataset.questions:
        where = {"doc_id": document_of(question)}
        paragraphs = index.paragraphs.chunks(document_of(question))
        for name, ranking in plain_rankings(
            index.searched(PARAGRAPHS), index.runner, question.question, where
        ).items():
            figures = ranking_figures(question, ranking, paragraphs, measure)
            figures |= {SCORED: len(paragraphs), PARTS: 0, WITHIN: 1}
            found.setdefault(name, Measured()).note(**figures)
        result = retriever.result(question.question, where=where)
        ranking = [hit.chunk for hit in sorted(result.hits, key=lambda hit: hit.rank)]
        routed, most = (
            span_recall(question.gold, spans_of(chunks), measure, mode=question.mode)
            for chunks in (ranking, paragraphs)
        )
        figures = ranking_figures(question, ranking, paragraphs, measure)
        figures |= {
            SCORED: result.cost["select"].scored,
            PARTS: result.cost["route"].scored,
            WITHIN: (routed or 0.0) / (most or 1.0),
        }
        found.setdefault(OWN, Measured()).note(**figures)
    return found


def plain_rankings(
    reader: Reader, runner: Runner, question: str, where: Any
) -> dict[str, list[Chunk]]:
    """All chunks that a question may find, best first: by BM25, by vectors, and by the mean of both
    brought to [0, 1]."""
    mask = row_mask(reader.select(where), len(reader))
    scores = runner.run(_scores_flow(reader, question, mask))

    rankings = {}
    for name, routes in ROUTES.items():
        values = {
            row: round(sum(own[route] for route in routes), 9)
            for row, own in scores.items()
        }
        order = sorted(values, key=lambda row: (-values[row], row))
        rankings[name] = [reader.chunk(row) for row in order if values[row] > 0]
    return rankings


def _scores_flow(
    reader: Reader, question: str, mask: Any
) -> Flow[dict[int, dict[str, float]]]:
    (vector,) = yield from query_vectors(reader, question)
    by_route = route_scores(reader, question, vector, mask)
    return normalised_scores(by_route, mask)


def ranking_figures(
    question: Question,
    ranking: Sequence[Chunk],
    paragraphs: Sequence[Chunk],
    measure: SpanMeasure,
) -> dict[str, float]:
    """Recall at the budget, the last paragraph cut where it ends, and evidence F1 of the first few
    and of what fits whole."""
    sizes = [count_tokens(chunk.text) for chunk in ranking]
    fitting = int(np.searchsorted(np.cumsum(sizes), BUDGET, side="right"))
    gold = gold_lists(question, paragraphs)
    ids = [chunk.id for chunk in ranking]
    return {
        RECALL: recall(question, ranking, measure),
        F1: evidence_f1(gold, ids[:TOP]) or 0.0,
        ALL: evidence_f1(gold, ids[: max(1, fitting)]) or 0.0,
    }


def recall(question: Question, ranking: Sequence[Chunk], measure: SpanMeasure) -> float:
    """Of ranked paragraphs within the budget."""
    sizes = Sizes(count_tokens)
    points = recall_points(ranking, question, measure, sizes, k=TOP, budgets=(BUDGET,))
    return points[f"{BUDGET:,} tokens"]


def gold_lists(question: Question, paragraphs: Sequence[Chunk]) -> list[list[str]]:
    """The ids of the gold paragraphs: one list, or one for each span where any is enough."""
    spans = [(span,) for span in question.gold] if question.any else [question.gold]
    alone = [replace(question, gold=tuple(each)) for each in spans]
    lists = [[chunk.id for chunk in gold_chunks(each, paragraphs)] for each in alone]
    return [ids for ids in lists if ids] or [["none"]]


def summary_scores(
    dataset: Dataset, embedder: Any, cache: Cache | None
) -> dict[int, tuple[float, float]]:
    """Most tokens of a summary -> tokens of an outline; the share of the entries with evidence
    among the first five.

    Entries are ranked by path and summary, BM25 and vectors fused: a stand-in for a reader, who
    would do better.
    """
    found = {}
    for tokens in SUMMARIES:
        splitter = SectionSplitter(
            summary_tokens=tokens, whole_tokens=tokens, keywords=0
        )
        index = Index(
            splitter=splitter,
            views=("raw",),
            embedder=embedder,
            cache=cache,
            batch_size=32,
        )
        index.add(dataset.documents)
        shares = []
        for question in dataset.questions:
            where = {"doc_id": document_of(question)}
            rankings = plain_rankings(
                index.reader(), index.runner, question.question, where
            )
            hit = [
                any(
                    each.doc_id == doc_id and each.start < end and start < each.end
                    for each in rankings["fused"][:FIRST]
                )
                for doc_id, start, end in question.gold
            ]
            shares.append((max if question.any else np.mean)(hit))
        sizes = [count_tokens(chunk.index_text) for chunk in index.chunks()]
        found[tokens] = (sum(sizes) / len(dataset.documents), float(np.mean(shares)))
    return found


def evidence_table(found: dict[str, Measured]) -> str:
    """One row a system; D3 against each of the others with the 95% interval of a paired
    bootstrap."""
    rows = [
        [
            name,
            *(f"{COLUMNS[each] * system.mean(each):.1f}" for each in COLUMNS),
            *(
                "" if name == OWN else difference(found[OWN], system, each)
                for each in (RECALL, F1)
            ),
        ]
        for name, system in found.items()
    ]
    minus = [f"D3 minus it: {each}" for each in (RECALL, F1)]
    return markdown_table(["system", *COLUMNS, *minus], rows, labels=1)


def difference(own: Measured, other: Measured, name: str) -> str:
    """In points, with its interval."""
    return against(own.values[name], other.values[name])


def evidence_page(
    facts: Sequence[str],
    results: dict[str, tuple[str, dict[str, Measured]]],
    summaries: Any,
) -> str:
    """The page: set -> (its size, its systems), and what `summary_scores` gave."""
    parts = [
        "# Evidence without a language model",
        "\n".join(f"- {fact}" for fact in facts),
        READING,
    ]
    for name, (size, found) in results.items():
        parts += [f"### {name}: {size}", evidence_table(found)]
    rows = [
        [
            f"{tokens}",
            *(
                f"{100 * of_set[tokens][1]:.1f} ({of_set[tokens][0]:,.0f})"
                for of_set in summaries.values()
            ),
        ]
        for tokens in SUMMARIES
    ]
    parts += [
        "### How long summaries must be",
        OUTLINES,
        markdown_table(["most tokens of a summary", *summaries], rows, labels=1),
    ]
    return "\n\n".join(parts) + "\n"
