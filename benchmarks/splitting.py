"""Retrieval quality of splitters at equal token budgets, and how well they find where sections began: prints the tables and writes them.

    python benchmarks/splitting.py [--sets qmsum,cuad,covid_qa,qasper,chroma] [--questions N] [--full]

Every splitter's chunks are indexed alike: one view, all-MiniLM-L6-v2 and BM25. Boundaries are measured on Markdown documents of the set
`parsing` and on the papers of qasper, their headings taken out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import Dataset, load, load_or_exit
from benchmarks.quality_tables import markdown_table
from benchmarks.splitting_systems import FIXED, RECURSIVE, SEMANTIC, SIZES, Reading, Splitting, systems
from benchmarks.unheaded import Unheaded, segmentation, unheaded, unheaded_documents
from structrag import __version__
from structrag.cache import Cache
from structrag.chunks.given import GivenChunks
from structrag.evaluation import (
    SpanMeasure,
    baseline_segmentations,
    boundary_f1,
    paired_bootstrap,
    pk,
    recall_at_budget,
    spans_of,
    window_diff,
)
from structrag.index.index import Index
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.steps import Runner
from structrag.tokens import TokenCounter

SAMPLES: Mapping[str, int | None] = {"qmsum": 5, "cuad": 4, "covid_qa": 8, "qasper": None, "chroma": None}  # documents
LARGEST = 150_000  # characters; without --full longer documents are left out, which in chroma are two of five
BUDGETS = (500, 1000, 2000)
ROUTES = {"dense": ("dense",), "both": ("dense", "bm25")}
RANKING = 100  # chunks asked for
UNHEADED = 20  # documents of parsing
SEMANTIC_SETS = (
    "qasper",
    "chroma",
)  # without --full the semantic chunkers, which embed three times as much, are run on these only


def recalls(
    dataset: Dataset, splitter: Any, embedder: Any, cache: Cache | None, counter: TokenCounter
) -> dict[str, list[float]]:
    """Route and budget -> the recall of every question, in [0, 1]."""
    index = Index(embedder=embedder, cache=cache, splitter=splitter, views=("raw",))
    index.add(dataset.documents)
    measure = SpanMeasure(dataset.texts)
    found: dict[str, list[float]] = {}
    for route, kinds in ROUTES.items():
        retriever = MultiViewRetriever(index, k=RANKING, routes=kinds)
        for question in dataset.questions:
            hits = retriever.search(question.question, where={"doc_id": question.gold[0][0]})
            spans = spans_of(hit.chunk for hit in hits)
            sizes = [counter(hit.chunk.text) for hit in hits]
            for budget in BUDGETS:
                value = recall_at_budget(spans, question.gold, budget, measure, sizes=sizes, mode=question.mode)
                found.setdefault(f"{route} {budget}", []).append(value or 0.0)
    return found


def retrieval_rows(
    dataset: Dataset, splitters: Mapping[str, Splitting], embedder: Any, cache: Cache | None, counter: TokenCounter
) -> dict[str, dict[str, Any]]:
    """System -> its mean recalls in percent, chunk sizes, and the difference to the better of fixed and recursive at 1,000 tokens."""
    rows: dict[str, dict[str, Any]] = {}
    by_question: dict[str, dict[str, list[float]]] = {}
    for name, split in splitters.items():
        chunks = split(dataset.documents)
        given = GivenChunks({document.id: found for document, found in zip(dataset.documents, chunks, strict=True)})
        splitter = split.splitter if isinstance(split, Reading) else given
        by_question[name] = recalls(dataset, splitter, embedder, cache, counter)
        sizes = [chunk.n_tokens for several in chunks for chunk in several]
        rows[name] = {
            "chunks": len(sizes),
            "tokens": round(float(np.mean(sizes)), 1),
            "recall": {point: round(100 * float(np.mean(values)), 2) for point, values in by_question[name].items()},
        }
        print(f"{dataset.name} {name}: {rows[name]['recall']}", file=sys.stderr, flush=True)
    plain = [name for name in splitters if name in plain_names()]
    base = max(plain or splitters, key=lambda name: rows[name]["recall"]["both 1000"])
    for name, row in rows.items():
        gap = paired_bootstrap(by_question[name]["both 1000"], by_question[base]["both 1000"])
        row["against"] = [base, *(round(100 * value, 1) for value in (gap.difference, gap.low, gap.high))]
    return rows


def plain_names() -> list[str]:
    """The splitters by size alone."""
    return [pattern.format(size) for pattern in (FIXED, RECURSIVE) for size in SIZES]


def boundary_rows(documents: Sequence[Unheaded], splitters: Mapping[str, Splitting]) -> dict[str, list[float]]:
    """System -> mean Pk, WindowDiff, boundary F1 within one sentence, and segments a document; the baselines first."""
    found: dict[str, list[Sequence[int]]] = {"reference": [document.reference for document in documents]}
    for document in documents:
        for name, gaps in baseline_segmentations(document.reference).items():
            found.setdefault(f"({name})", []).append(gaps)
    texts = [document.document for document in documents]
    for name, split in splitters.items():
        chunks = split(texts)
        starts = [[chunk.start for chunk in several] for several in chunks]
        found[name] = [segmentation(document.sentences, own) for document, own in zip(documents, starts, strict=True)]
    return {name: _boundary_scores(documents, segmentations) for name, segmentations in found.items()}


def _boundary_scores(documents: Sequence[Unheaded], segmentations: Sequence[Sequence[int]]) -> list[float]:
    scores = [
        (
            pk(document.reference, own),
            window_diff(document.reference, own),
            boundary_f1(document.reference, own, tolerance=1),
            sum(own) + 1,
        )
        for document, own in zip(documents, segmentations, strict=True)
    ]
    return [round(float(value), 3) for value in np.mean(scores, axis=0)]


def page(results: Mapping[str, Any]) -> str:
    """The tables as Markdown."""
    facts = "\n".join(f"- {key}: {value}" for key, value in results["about"].items())
    sets = results["sets"]
    names = [
        name
        for name in max((one["rows"] for one in sets.values()), key=len)
        if all(name in one["rows"] for one in sets.values())
    ]
    points = [f"{route} {budget}" for route in ROUTES for budget in BUDGETS]
    mean_rows = [
        [name, *(f"{np.mean([one['rows'][name]['recall'][point] for one in sets.values()]):.1f}" for point in points)]
        for name in names
    ]
    parts = ["# Splitters: retrieval and boundaries", facts, _reading()]
    parts += ["## Recall, mean over the sets", markdown_table(["splitter", *points], mean_rows, labels=1)]
    for set_name, one in sets.items():
        rows = []
        for name, row in one["rows"].items():
            base, difference, low, high = row["against"]
            recall = [f"{row['recall'][point]:.1f}" for point in points]
            gap = "" if base == name else f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]"
            rows.append([name, f"{row['chunks']:,}", f"{row['tokens']:.0f}", *recall, gap])
        head = ["splitter", "chunks", "tokens each", *points, f"both 1000: against {base}"]
        size = f"{one['documents']} documents, {one['questions']} questions"
        parts += [f"## {set_name}: {size}", markdown_table(head, rows, labels=1)]
    head = ["splitter", "Pk", "WindowDiff", "F1", "segments"]
    for title, found in results["boundaries"].items():
        rows = [[name, *(f"{value:.3f}" for value in values[:3]), f"{values[3]:.1f}"] for name, values in found.items()]
        parts += [f"## Boundaries: {title}", markdown_table(head, rows, labels=1)]
    return "\n\n".join(parts) + "\n"


def _reading() -> str:
    return (
        "Recall is the share of the gold text in the chunks that fit a token budget (500, 1,000, 2,000), in percent, each "
        'question searched inside its own document; "dense" by vectors alone, "both" with BM25. Chunks are handed over in rank '
        "order, the last one cut where the budget ends. The last column is the difference in points to the best splitter by size "
        "alone, with the 95% interval of a paired bootstrap over the questions. Pk and WindowDiff: lower is better; F1 of "
        "boundaries within one sentence: higher is better. Rows in brackets are segmentations that read nothing: none, all, as "
        "many at random, as many at equal distances. PIC and IDMS are indexed by their sentences' vectors, except where "
        "reuse_vectors is False."
    )


def _affordable(splitters: Mapping[str, Splitting], dataset: Dataset, full: bool) -> Mapping[str, Splitting]:
    return splitters if full or dataset.name in SEMANTIC_SETS else _without_semantic(splitters)


def _without_semantic(splitters: Mapping[str, Splitting]) -> dict[str, Splitting]:
    return {name: split for name, split in splitters.items() if name not in SEMANTIC}


def _sample(name: str, options: argparse.Namespace) -> Dataset:
    dataset = load_or_exit(name)
    if options.full:
        return quality.sampled(dataset, None, options.questions)
    short = tuple(document for document in dataset.documents if len(document.text) <= LARGEST)
    return quality.sampled(replace(dataset, documents=short), SAMPLES[name], options.questions)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SAMPLES), help="some of them, or none")
    parser.add_argument("--questions", type=int, help="at most so many questions a set")
    parser.add_argument(
        "--splitters", default="", help="only those with one of these words in their names, such as PIC,fixed"
    )
    parser.add_argument("--full", action="store_true", help="all documents of every set (hours on two cores)")
    parser.add_argument("--output", type=Path, default=quality.RESULTS, help="folder for the results")
    options = parser.parse_args(arguments)
    names = [name for name in options.sets.split(",") if name]
    if set(names) - set(SAMPLES):
        parser.error(f"--sets must be some of {', '.join(SAMPLES)}; got {options.sets!r}.")
    datasets = [_sample(name, options) for name in names]
    embedder, label = quality.chosen_embedder("minilm")
    cache = Cache(quality.CACHE)
    counter, counter_label = quality.reader_counter()
    of_peers, _ = quality.chosen_embedder("minilm")
    splitters, absent = systems(of_peers, Runner(embedder=embedder, cache=cache, batch_size=256))
    wanted = options.splitters.split(",")
    splitters = {name: split for name, split in splitters.items() if any(word in name for word in wanted)}
    about = {
        "structrag": __version__,
        "encoder": label,
        "reader's tokens": counter_label,
        "not installed": ", ".join(absent) or "none",
    }
    sets = {
        dataset.name: {
            "documents": len(dataset.documents),
            "questions": len(dataset.questions),
            "rows": retrieval_rows(dataset, _affordable(splitters, dataset, options.full), embedder, cache, counter),
        }
        for dataset in datasets
    }
    compared = splitters if options.full else _without_semantic(splitters)
    papers = [made for made in map(unheaded, load("qasper").documents) if made is not None]
    documents = unheaded_documents(UNHEADED)
    boundaries = {
        f"{len(documents)} documents of parsing": boundary_rows(documents, compared),
        f"{len(papers)} papers of qasper": boundary_rows(papers, compared),
    }
    results = {"about": about, "sets": sets, "boundaries": boundaries}
    text = page(results)
    print(text)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "splitting.md").write_text(text, encoding="utf-8")
    (options.output / "splitting.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
