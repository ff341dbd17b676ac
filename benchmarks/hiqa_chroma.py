"""Chroma's five corpora as one pool: recall at five chunks and within 1,000 tokens, beside the
published tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import hiqa_peers
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
from benchmarks.paper_metrics import chroma_scores, precision_omega
from benchmarks.placing import placed
from benchmarks.question_sets import Dataset, load
from benchmarks.speed_tables import Table
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.evaluation import SpanMeasure, spans_of
from structrag.index.index import Index
from structrag.model_calls.cache import Cache
from structrag.records import Chunk, Document
from structrag.text.tokens import TokenCounter

K = 5
BUDGET = 1000
POINT, WITHIN = f"{K} chunks", f"{BUDGET:,} tokens"
WINDOW = 150  # tokens of the encoder, about 110 words
SIZE = 400  # tokens of a chunk
SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]  # those of the report

# Smith and Troynikov, July 2024: percent, mean over the 472 questions at five chunks.
COLUMNS = ("recall", "precision", "precision-omega", "IoU")
PUBLISHED: Mapping[str, Mapping[str, list[float]]] = json.loads(
    Path(__file__).with_name("chroma_published.json").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Recursive:
    """LangChain's recursive splitter with the report's separators, sizes in tokens of the counter,
    chunks at their places."""

    max_tokens: int
    counter: TokenCounter

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document; their text lacks the white space that the splitter strips."""
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(
            separators=SEPARATORS,
            chunk_size=self.max_tokens,
            chunk_overlap=0,
            length_function=self.counter,
        )
        return placed(document, splitter.split_text(document.text))


def run(
    embedder: Any,
    label: str,
    cache: Cache | None,
    counter: TokenCounter,
    counter_label: str,
) -> list[Table]:
    """The table."""
    dataset = load("chroma")
    read_questions(embedder, dataset)
    found = rows(dataset, embedder, cache, counter)
    base = next(own for name, own in found.items() if name.startswith("recursive 400"))
    published = [
        (
            f"published: {name}",
            f"dense, {model}",
            f"{recall:.1f}",
            "",
            "",
            *(f"{value:.1f}" for value in others),
            "",
        )
        for model, table in PUBLISHED.items()
        for name, (recall, *others) in table.items()
    ]
    shown = ("recall", WITHIN, "tokens", *COLUMNS[1:])
    head = (
        "chunks",
        "routes",
        f"recall, {POINT}",
        f"recall, {WITHIN}",
        f"tokens, {POINT}",
    )
    return [
        Table(
            f"chroma: {len(dataset.documents)} corpora as one pool, {len(dataset.questions)} "
            "questions",
            (*head, *COLUMNS[1:], f"recall, {POINT}, against recursive 400, dense"),
            (*table_rows(found, shown, "recall", base), *published),
            corpus_line("chroma", (document.text for document in dataset.documents)),
            (
                f"Vectors: {label}; our indexes embed chunks longer than the encoder reads in "
                f"windows of {WINDOW} of its tokens "
                "(about 110 words), and a chunk scores as its best window. BM25 is ours in all "
                "rows. Published rows have no BM25.",
                "In percent, means over the questions, counted in characters as Chroma's code "
                f"does; tokens by {counter_label}.",
                f"{WITHIN}: chunks in rank order, the last one cut at the budget; here by "
                "characters that are not white space.",
                "HiQASplitter on plain text without headings cuts like ContentAwareSplitter: at "
                "paragraphs, then sentences.",
                "Last column: points, 95% interval of a paired bootstrap. Recall at five chunks "
                "rises with the size of a chunk.",
            ),
            figures(found, (*COLUMNS, WITHIN)),
        )
    ]


def rows(
    dataset: Dataset, embedder: Any, cache: Cache | None, counter: TokenCounter
) -> dict[str, Points]:
    """Every system's scores."""
    found: dict[str, Points] = {}
    sizes = Sizes(counter)
    splitters = {
        f"HiQASplitter({SIZE})": HiQASplitter(SIZE),
        f"recursive {SIZE}": Recursive(SIZE, counter),
    }
    for name, splitter in splitters.items():
        index = Index(
            embedder=embedder,
            cache=cache,
            splitter=splitter,
            views=("raw",),
            window_tokens=WINDOW,
            batch_size=256,
        )
        index.add(dataset.documents)
        spans = spans_of(index.chunks())
        omega = [
            precision_omega(question.gold, spans) or 0.0
            for question in dataset.questions
        ]
        for routes, search in systems(index).items():
            scores = score(dataset, search, sizes)
            row = f"{name} ({len(index):,}) | {routes}"
            found[row] = {**scores, "precision-omega": omega}
            print(
                f"chroma: {name}, {routes}: {mean_of(scores['recall']):.2f} "
                f"{mean_of(scores[WITHIN]):.2f}",
                file=sys.stderr,
                flush=True,
            )
    return found


def systems(index: Index) -> dict[str, Search]:
    """The rows of one index."""
    own = {
        "dense": hiqa_peers.route(index, "dense"),
        "BM25": hiqa_peers.route(index, "bm25"),
        "HiQARetriever": hiqa_peers.hiqa(index),
        "HiQARetriever, pool of 100": hiqa_peers.hiqa(index, 100),
        "HiQARetriever, reciprocal ranks": hiqa_peers.hiqa(
            index, kind=hiqa_peers.ReciprocalRanks
        ),
        "MultiViewRetriever": hiqa_peers.multiview(index),
    }
    return own | hiqa_peers.peers(index)


def score(dataset: Dataset, search: Search, sizes: Sizes) -> dict[str, list[float]]:
    """Chroma's scores at five chunks as coded, recall within the budget, and tokens, of every
    question."""
    measure = SpanMeasure(dataset.texts)
    found: list[dict[str, float]] = []
    for question in dataset.questions:
        ranking = [chunk for chunk, _ in search(question.question)]
        coded = chroma_scores(question.gold, spans_of(ranking[:K]))
        points = recall_points(
            ranking, question, measure, sizes, k=K, budgets=(BUDGET,)
        )
        own = (
            {"recall": coded.recall, "precision": coded.precision, "IoU": coded.iou}
            if coded
            else {}
        )
        tokens = points["tokens"] / 100  # means are printed in percent
        found.append({**own, WITHIN: points[WITHIN], "tokens": tokens})
    return {name: [row[name] for row in found] for name in found[0]}
