"""Search over all documents of a set at once: contracts whose question names the contract,
Wikipedia pages, papers."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks import hiqa_peers, quality
from benchmarks.hiqa_scores import (
    Points,
    Search,
    Sizes,
    figures,
    mean_of,
    read_questions,
    recall_points,
    table_rows,
)
from benchmarks.machine import corpus_line
from benchmarks.question_sets import Dataset, load, visible
from benchmarks.speed_tables import Table
from structrag.chunks.fixed import FixedSplitter
from structrag.evaluation import SpanMeasure
from structrag.index.index import Index
from structrag.model_calls.cache import Cache
from structrag.text.tokens import TokenCounter

K = 5
BUDGETS = (1000, 2000)
RIGHT, POINT = "right document first", f"{K} chunks"
POINTS = (RIGHT, POINT, *(f"{budget:,} tokens" for budget in BUDGETS))
PLAIN, DEFAULT = "plain dense: fixed 300, no path", "HiQARetriever"
_MARKS = re.compile(
    r"_| - |EX-[\d.]+-"
)  # between the party, the date, the exhibit and the kind of a contract of cuad


def contract_name(title: str) -> str:
    """What a reader would call a contract of cuad, whose titles are file names: the party and the
    kind of agreement.

    "TubeMediaCorp_20060310_8-K_EX-10.1_513921_EX-10.1_Affiliate Agreement" is "TubeMediaCorp
    Affiliate Agreement".
    """
    parts = [part.strip() for part in _MARKS.split(title)]
    return " ".join(dict.fromkeys((parts[0], parts[-1])))


def named(dataset: Dataset) -> Dataset:
    """The set with the contract's name in every question."""
    titles = {document.id: document.title for document in dataset.documents}
    questions = tuple(
        replace(
            question,
            question=f"{contract_name(titles[question.gold[0][0]])}: {question.question}",
        )
        for question in dataset.questions
    )
    return replace(dataset, questions=questions)


def run(
    embedder: Any,
    label: str,
    cache: Cache | None,
    counter: TokenCounter,
) -> list[Table]:
    """One table a set."""
    contracts = quality.sampled(load("cuad"), quality.CUAD_DOCUMENTS, None)
    tables = []
    for dataset, title in (
        (named(contracts), "cuad, the contract's name in the question"),
        (contracts, "cuad, no name: most questions fit every contract"),
        (quality.sampled(visible(load("nq")), None, None), "nq"),
        (quality.sampled(load("qasper"), None, None), "qasper"),
    ):
        tables.append(measure(dataset, title, embedder, label, cache, counter))
    return tables


def measure(
    dataset: Dataset,
    title: str,
    embedder: Any,
    label: str,
    cache: Cache | None,
    counter: TokenCounter,
) -> Table:
    """Every system on one pool."""
    read_questions(embedder, dataset)
    sizes = Sizes(counter)
    rows: dict[str, Points] = {}
    for name, search in systems(dataset, embedder, cache).items():
        rows[name] = scores(dataset, search, sizes)
        print(
            f"{title}: {name}: {mean_of(rows[name]['1,000 tokens']):.1f}",
            file=sys.stderr,
            flush=True,
        )
    return Table(
        f"{title}: {len(dataset.documents)} documents as one pool, {len(dataset.questions)} "
        "questions",
        ("system", *POINTS, f"1,000 tokens, against {DEFAULT}"),
        table_rows(rows, POINTS, "1,000 tokens", rows[DEFAULT]),
        corpus_line(dataset.name, (document.text for document in dataset.documents)),
        (
            "Share of the gold text found, in percent (nq: of the best single occurrence). "
            "Questions were written for one document; no "
            f"filter is set. Vectors: {label}.",
            "All systems but the plain one search the same chunks: ContentAwareSplitter, 300 "
            "tokens, heading path in front. Peers fuse "
            "the 50 best of the same vectors and the same BM25.",
            "Last column: points, 95% interval of a paired bootstrap; an interval that holds 0 "
            "shows no difference.",
        ),
        figures(rows, POINTS),
    )


def systems(dataset: Dataset, embedder: Any, cache: Cache | None) -> dict[str, Search]:
    """The rows of a table."""
    plain = Index(
        embedder=embedder, cache=cache, splitter=FixedSplitter(300), views=("raw",)
    )
    index = Index(embedder=embedder, cache=cache)
    for one in (plain, index):
        one.add(dataset.documents)
    return {
        PLAIN: hiqa_peers.route(plain, "dense"),
        "dense, with path": hiqa_peers.route(index, "dense"),
        "BM25, with path": hiqa_peers.route(index, "bm25"),
        DEFAULT: hiqa_peers.hiqa(index),
        "HiQARetriever, the question's own vector": hiqa_peers.hiqa_alone(index),
        "HiQARetriever without keywords": hiqa_peers.hiqa(
            index, routes=("dense", "bm25")
        ),
        "HiQARetriever, alpha and beta auto": hiqa_peers.hiqa(
            index, alpha="auto", beta="auto"
        ),
        "HiQARetriever, reciprocal ranks": hiqa_peers.hiqa(
            index, kind=hiqa_peers.ReciprocalRanks
        ),
        "MultiViewRetriever, raw view": hiqa_peers.multiview(index, views=("raw",)),
        "MultiViewRetriever, three views": hiqa_peers.multiview(index),
        **hiqa_peers.peers(index),
    }


def scores(dataset: Dataset, search: Search, sizes: Sizes) -> Points:
    """Every question's scores, in [0, 1]."""
    measure = SpanMeasure(dataset.texts)
    found: Points = {point: [] for point in POINTS}
    for question in dataset.questions:
        ranking: Sequence[Any] = [chunk for chunk, _ in search(question.question)]
        row = recall_points(ranking, question, measure, sizes, k=K, budgets=BUDGETS)
        row[RIGHT] = float(bool(ranking) and ranking[0].doc_id == question.gold[0][0])
        for point in POINTS:
            found[point].append(row[point])
    return found
