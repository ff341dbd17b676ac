"""How well splitters find where sections began, in documents whose headings were taken out: prints
the tables and writes them. python benchmarks/boundaries.py On Markdown documents of the set
`parsing` and on the papers of qasper."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.freshness import save
from benchmarks.methods_peers import Splitting
from benchmarks.methods_systems import Models, splitters
from benchmarks.paper_metrics import (
    baseline_segmentations,
    boundary_f1,
    pk,
    window_diff,
)
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import load_or_exit
from benchmarks.unheaded import Unheaded, segmentation, unheaded, unheaded_documents
from structrag import __version__
from structrag.model_calls.cache import Cache

DOCUMENTS = 20  # of parsing
READING = (
    "Pk and WindowDiff: lower is better; F1 of boundaries within one sentence: higher is better. "
    "Rows in brackets are segmentations that "
    "read nothing: none, all, as many at random, as many at equal distances. A paper's sections "
    "are several times longer than chunks "
    "of 200 to 300 tokens, so that few boundaries win there whatever they are; compare rows with "
    "as many segments."
)


def scores(
    documents: Sequence[Unheaded], named: Mapping[str, Splitting]
) -> dict[str, list[float]]:
    """System -> mean Pk, WindowDiff, boundary F1 within one sentence, and segments a document; the
    baselines first."""
    found: dict[str, list[Sequence[int]]] = {
        "reference": [document.reference for document in documents]
    }
    for document in documents:
        for name, gaps in baseline_segmentations(document.reference).items():
            found.setdefault(f"({name})", []).append(gaps)
    texts = [document.document for document in documents]
    for name, split in named.items():
        starts = [[chunk.start for chunk in chunks] for chunks in split(texts)]
        found[name] = [
            segmentation(document.sentences, own)
            for document, own in zip(documents, starts, strict=True)
        ]
        print(f"boundaries: {name}", file=sys.stderr, flush=True)
    return {
        name: _mean_scores(documents, segmentations)
        for name, segmentations in found.items()
    }


def _mean_scores(
    documents: Sequence[Unheaded], segmentations: Sequence[Sequence[int]]
) -> list[float]:
    found = [
        (
            pk(document.reference, own),
            window_diff(document.reference, own),
            boundary_f1(document.reference, own, tolerance=1),
            sum(own) + 1,
        )
        for document, own in zip(documents, segmentations, strict=True)
    ]
    return [round(float(value), 3) for value in np.mean(found, axis=0)]


def page(results: Mapping[str, Any]) -> str:
    """The tables as Markdown."""
    facts = "\n".join(f"- {key}: {value}" for key, value in results["about"].items())
    parts = ["# Boundaries: where sections began, headings taken out", facts, READING]
    for title, found in results["sets"].items():
        rows = [
            [name, *(f"{value:.3f}" for value in values[:3]), f"{values[3]:.1f}"]
            for name, values in found.items()
        ]
        head = ["splitter", "Pk", "WindowDiff", "F1", "segments"]
        parts += [f"## {title}", markdown_table(head, rows, labels=1)]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=quality.RESULTS, help="folder for the results"
    )
    options = parser.parse_args(arguments)
    papers = [
        made
        for made in map(unheaded, load_or_exit("qasper").documents)
        if made is not None
    ]
    documents = unheaded_documents(DOCUMENTS)
    embedder, label = quality.chosen_embedder("minilm")
    models = Models(embedder, Cache(quality.CACHE))
    named, absent = splitters(quality.chosen_embedder("minilm")[0], models)
    about = {
        "structrag": __version__,
        "encoder": label,
        "not installed": ", ".join(absent) or "none",
    }
    sets = {
        f"{len(documents)} Markdown documents of parsing": scores(documents, named),
        f"{len(papers)} papers of qasper": scores(papers, named),
    }
    results = {"about": about, "sets": sets}
    text = page(results)
    print(text)
    options.output.mkdir(parents=True, exist_ok=True)
    save(options.output / "boundaries.md", text, __file__)


if __name__ == "__main__":
    main()
