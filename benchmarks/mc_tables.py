"""Two tables of the MC-indexing paper that need no model, with the paper's figures beside ours.

    python benchmarks/mc_tables.py

Table 6: how often a chunk border cuts the evidence. Table 9: what each view is worth to sparse
retrieval, by preset `paper` with extracted views. Prints the tables and writes
benchmarks/results/mc_tables.md; a minute. Without the evaluation data (STRUCTRAG_DATA) it says so
and stops.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import quality
from benchmarks.datasets import Dataset, Question, load_or_exit, visible
from benchmarks.freshness import save
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_scores import TOP, gold_questions
from benchmarks.quality_tables import markdown_table
from structrag import (
    ContentAwareSplitter,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    __version__,
)
from structrag.evaluation import (
    SpanMeasure,
    chunking_error,
    paper_recall,
    span_recall,
    spans_of,
)
from structrag.index.views import VIEWS
from structrag.models import FunctionEmbedder
from structrag.records import Document

SETS = ("nq", "qasper", "cuad")
SIZES = (100, 200, 300)
CUAD = 12  # documents of cuad
# Table 6 on Wiki-NQ and Wiki-2M: chunks of so many tokens -> in the document, within sections.
PAPER_ERRORS = {
    100: ("66.4 / 75.3", "50.8 / 60.9"),
    200: ("41.4 / 46.6", "23.2 / 28.7"),
}
PAPER_ERRORS[300] = ("26.4 / 32.2", "13.5 / 15.0")
# Table 9, on NQ: recall of the answer's span at 1.5, 3, 5 and 10 chunks.
PAPER_VIEWS = {
    "TF-IDF": {
        "MC-indexing": "40.9 / 54.1 / 67.6 / 85.7",
        "without raw": "32.4 / 49.5 / 63.5 / 83.8",
        "without keywords": "34.5 / 51.2 / 64.5 / 84.3",
        "without summary": "32.4 / 47.6 / 60.1 / 82.6",
    },
    "BM25": {
        "MC-indexing": "36.9 / 47.6 / 60.1 / 78.2",
        "without raw": "25.9 / 41.6 / 52.0 / 72.9",
        "without keywords": "30.4 / 43.2 / 55.1 / 74.2",
        "without summary": "27.6 / 41.6 / 54.4 / 72.7",
    },
}
ROUTES = {"TF-IDF": "dense", "BM25": "bm25"}
LEFT_OUT = {
    "MC-indexing": VIEWS,
    "without raw": ("summary", "keywords"),
    "without keywords": ("raw", "summary"),
    "without summary": ("raw", "keywords"),
    "raw view alone": ("raw",),
}
READING = (
    "The paper's sets are other questions over Wikipedia, its evidence whole passages of 50 to 500 "
    "tokens where nq's is the answer's words, and its views were written by a language model; so "
    "what can be compared is the order of rows, not the numbers."
)
ERRORS = (
    "The share of evidence spans that no single chunk holds, in percent. Whole sections cut none "
    "where the evidence lies in one section; qasper's and cuad's may reach over several."
)
RECALLS = (
    "Recall in percent at 1.5 / 3 / 5 / 10 chunks, inside the question's own document, whose "
    "chunks alone are counted; preset `paper`, extracted views; the paper's recall (qasper), or "
    "the best single occurrence of the answer (nq). Intervals of ours at 5 chunks hold the central "
    "95 % of 1,000 bootstrap samples of the questions."
)


def errors(datasets: Sequence[Dataset]) -> str:
    """Table 6."""
    splitters: dict[str, Any] = {}
    papers: dict[str, str] = {}
    for size in SIZES:
        for label, within in (
            (f"fixed {size}", False),
            (f"fixed {size} within sections", True),
        ):
            splitters[label] = FixedSplitter(size, within_sections=within)
            papers[label] = PAPER_ERRORS[size][within]
    splitters["whole sections"] = ContentAwareSplitter(max_tokens=None, context=False)
    papers["whole sections"] = "0.0 / 0.0"
    splitters["structrag's default, 300"] = ContentAwareSplitter()
    rows = []
    for label, splitter in splitters.items():
        cells = [label, papers.get(label, "")]
        for dataset in datasets:
            spans = [
                span
                for one in dataset.documents
                for span in spans_of(splitter.split(one))
            ]
            gold = [
                span for question in gold_questions(dataset) for span in question.gold
            ]
            error = chunking_error(gold, spans, dataset.texts) or 0.0
            cells.append(f"{100 * error:.1f}")
        rows.append(cells)
    heads = [
        "chunks",
        "paper: Wiki-NQ / Wiki-2M",
        *(dataset.name for dataset in datasets),
    ]
    return markdown_table(heads, rows, labels=1)


def retrievers(document: Document) -> dict[tuple[str, str], MultiViewRetriever]:
    """Retrievers over one document, by route and views."""
    splitter = ContentAwareSplitter(max_tokens=None, context=False)
    bodies = [chunk.body for chunk in splitter.split(document)]
    vectorizer = TfidfVectorizer().fit(bodies)
    embedder = FunctionEmbedder(
        lambda texts: vectorizer.transform(texts).toarray(),
        name=f"TF-IDF of {document.id}",
    )
    index = Index(preset="paper", embedder=embedder)
    index.add([document])
    return {
        (route, name): MultiViewRetriever(
            index, preset="paper", routes=(kind,), views=views
        )
        for route, kind in ROUTES.items()
        for name, views in LEFT_OUT.items()
    }


def recalls(dataset: Dataset) -> Mapping[tuple[str, str], Mapping[float, list[float]]]:
    """The recall of every question, by route and views, and by the number of chunks."""
    measure = SpanMeasure(dataset.texts)
    of_document = {document.id: retrievers(document) for document in dataset.documents}
    shares: dict[tuple[str, str], dict[float, list[float]]] = {}
    for question in gold_questions(dataset):
        for row, retriever in of_document[question.gold[0][0]].items():
            for k in TOP:
                hits = retriever.search(question.question, k)
                spans = spans_of([hit.chunk for hit in hits])
                share = recall_of(question, spans, measure)
                shares.setdefault(row, {}).setdefault(k, []).append(share)
    return shares


def recall_of(question: Question, spans: Any, measure: SpanMeasure) -> float:
    """The paper's recall, or that of the best occurrence where one is enough."""
    if question.any:
        return span_recall(question.gold, spans, measure, mode="any") or 0.0
    return paper_recall(question.gold, spans, measure) or 0.0


def views(datasets: Sequence[Dataset]) -> str:
    """Table 9."""
    of_sets = [recalls(dataset) for dataset in datasets]
    rows = []
    for route in ROUTES:
        for name in LEFT_OUT:
            cells = [f"{route}: {name}", PAPER_VIEWS[route].get(name, "")]
            for shares in of_sets:
                values = shares[route, name]
                means = " / ".join(f"{mean_of_sets([values[k]]).mean:.1f}" for k in TOP)
                at_5 = mean_of_sets([values[5]])
                cells.append(f"{means} [{at_5.low:.1f}, {at_5.high:.1f}]")
            rows.append(cells)
    heads = ["views", "paper: NQ", *(dataset.name for dataset in datasets)]
    return markdown_table(heads, rows, labels=1)


def main() -> None:
    """Run the benchmark."""
    datasets = [
        quality.sampled(
            visible(load_or_exit(name)), CUAD if name == "cuad" else None, None
        )
        for name in SETS
    ]
    page = [
        "# Tables of the MC-indexing paper without a model",
        f"- structrag {__version__}; python benchmarks/mc_tables.py",
        READING,
        "## Table 6: chunking error",
        ERRORS,
        errors(datasets),
        "## Table 9: each view left out",
        RECALLS,
        views(datasets[:2]),
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    save(quality.RESULTS / "mc_tables.md", text, __file__)


if __name__ == "__main__":
    main()
