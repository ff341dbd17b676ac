"""`EvidenceRetriever` by the protocol of Chroma's report, beside its published figures.

    python benchmarks/evidence_chroma.py

The five corpora are one pool, each of the 472 questions is given five passages, and scores are
counted in characters as Chroma's code does. Prints the table and writes
benchmarks/results/evidence_chroma.md. Token vectors are kept as benchmarks/evidence.py keeps them.
Without the evaluation data (STRUCTRAG_DATA) or the encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import Dataset, Question, load_or_exit
from benchmarks.evidence import KEPT, KeptTokens
from benchmarks.hiqa_chroma import COLUMNS, PUBLISHED, K
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import EvidenceRetriever, FixedSplitter, Index, MultiViewRetriever, __version__
from structrag.evaluation import chroma_scores, spans_of
from structrag.reading.settings import Reading
from structrag.records import Hit
from structrag.text.tokens import TokenCounter

FIXED = "fixed 200, vectors and BM25"
FIVE = f"**EvidenceRetriever, k={K}**"
AS_MANY = "EvidenceRetriever, max_tokens={:,}"
ABOUT = {  # tokens that five of the published chunks hold, by the mean size they name
    690: "five of Recursive 200 (~137)",
    1380: "five of Recursive 400 (~276)",
    3305: "five of Recursive 800 (~661)",
}
READING = (
    "The five corpora are searched as one pool. Recall, precision and IoU are those of the five "
    "passages that a question is given, in percent, means over the questions, counted in "
    "characters as Chroma's code does. Intervals hold the central 95 % of 1,000 bootstrap samples "
    "of the questions; the published tables have none, but standard deviations. Recall at five "
    "chunks rises with the size of a chunk, so the tokens of the five are beside it: counted by "
    "the reader's counter in our rows, five times the published mean size in the others, where one "
    "is named. Rows with `max_tokens` depart from the protocol: they are given as many tokens as "
    "five of the published chunks hold, in as many passages as fit."
)
Find = Callable[[str], Sequence[Hit]]
Scores = dict[str, list[float]]  # of every question, in [0, 1]; "tokens" as they are


def scores(questions: Sequence[Question], find: Find, counter: TokenCounter) -> Scores:
    """Chroma's scores of what a system finds, and how many tokens and passages that is."""
    found: Scores = {name: [] for name in ("recall", "precision", "IoU", "tokens", "passages")}
    for question in questions:
        chunks = [hit.chunk for hit in find(question.question)]
        coded = chroma_scores(question.gold, spans_of(chunks), as_coded=True)
        found["recall"].append(coded.recall if coded else 0.0)
        found["precision"].append(coded.precision if coded else 0.0)
        found["IoU"].append(coded.iou if coded else 0.0)
        found["tokens"].append(float(sum(counter(chunk.text) for chunk in chunks)))
        found["passages"].append(float(len(chunks)))
    return found


def systems(dataset: Dataset, encoder: Any, counter: TokenCounter) -> dict[str, Find]:
    """The rows that are measured."""
    index = Index(embedder=encoder, splitter=FixedSplitter(200), views=("raw",), batch_size=256)
    index.add(dataset.documents)
    fixed = MultiViewRetriever(index, routes=("dense", "bm25"))
    reading = Reading(counter=counter)
    retriever = EvidenceRetriever.from_documents(dataset.documents, encoder, reading=reading)
    rows: dict[str, Find] = {
        FIXED: partial(fixed.search, k=K),
        FIVE: partial(retriever.search, k=K),
    }
    for budget in ABOUT:
        rows[AS_MANY.format(budget)] = partial(retriever.search, max_tokens=budget)
    return rows


def table(measured: Mapping[str, Scores]) -> str:
    """Our rows, then the published ones."""
    rows = []
    for name, found in measured.items():
        cells = [f"{np.mean(found['passages']):.1f}", f"{np.mean(found['tokens']):,.0f}"]
        cells.append(str(mean_of_sets([found["recall"]])))
        cells += [f"{100 * float(np.mean(found[column])):.1f}" for column in ("precision", "IoU")]
        rows.append([name, "all-MiniLM-L6-v2", *cells])
    for model, published in PUBLISHED.items():
        for name, values in published.items():
            of_row = dict(zip(COLUMNS, values, strict=True))
            cells = [f"{of_row[column]:.1f}" for column in ("recall", "precision", "IoU")]
            rows.append([f"published: {name}", model, str(K), _five_times(name), *cells])
    heads = ["", "encoder", "passages", "tokens", "recall", "precision", "IoU"]
    return markdown_table(heads, rows, labels=2)


def _five_times(name: str) -> str:
    """The tokens of five chunks whose mean size a published row names, as "(~137)"."""
    size = name.partition("(~")[2].partition(")")[0]
    return f"~{K * int(size):,}" if size else ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    dataset = load_or_exit("chroma")
    _, label = quality.chosen_embedder("minilm")
    from structrag.models.bundled import minilm

    encoder = KeptTokens(minilm(), KEPT / "tokens")
    counter, counter_label = quality.reader_counter()
    measured = {}
    for name, find in systems(dataset, encoder, counter).items():
        measured[name] = scores(dataset.questions, find, counter)
        recall = 100 * float(np.mean(measured[name]["recall"]))
        print(f"chroma: {name}: {recall:.1f}", file=sys.stderr, flush=True)
    about = [f"structrag: {__version__}", f"machine: {machine_line()}", f"encoder: {label}"]
    about += [f"reader's tokens: {counter_label}"]
    about += [f"max_tokens={budget:,}: as {what}" for budget, what in ABOUT.items()]
    about += [f"samples: {len(dataset.documents)} corpora, {len(dataset.questions)} questions"]
    facts = "\n".join(f"- {fact}" for fact in about)
    parts = ["# Evidence by the protocol of Chroma's report", facts, READING, table(measured)]
    text = "\n\n".join(parts) + "\n"
    print(text)
    (options.output / "evidence_chroma.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
