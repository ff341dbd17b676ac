"""Every method and every peer on every question set: prints and writes the tables.

    python benchmarks/methods.py [--sets qmsum,cuad,...] [--systems WORD,WORD] [--again] [--full]

All chunks are indexed and searched alike, by all-MiniLM-L6-v2 and BM25; a method of ours that is
more than chunks is searched by its own retriever. What was measured is kept in
benchmarks/results/cache/methods, so that a run that was stopped goes on where it was; --again
measures the chosen rows anew. Peers are optional; docling is asked in a Python of its own, which
STRUCTRAG_DOCLING_PYTHON names.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import hiqa_boards, quality
from benchmarks.freshness import save
from benchmarks.hiqa_scores import Sizes, read_questions
from benchmarks.machine import machine_line
from benchmarks.methods_systems import Models, System, systems
from benchmarks.methods_tables import page
from benchmarks.question_sets import Dataset, load, load_or_exit, visible
from structrag import __version__
from structrag.evaluation import SpanMeasure, recall_at_budget, spans_of
from structrag.model_calls.cache import Cache
from structrag.text.tokens import TokenCounter

SAMPLES: Mapping[str, int | None] = {  # documents; None: all
    "qasper": None,
    "nq": None,
    "cuad": 8,
    "covid_qa": 16,
    "qmsum": 5,
    "chroma": None,
    "boards": 60,
}
# characters; without --full longer documents are left out, which in chroma are two of five
LARGEST = 150_000
POOLED = ("boards",)  # searched as one pool: which document is meant is the question
BUDGETS = (500, 1000, 2000)
KEPT = quality.RESULTS / "cache" / "methods"


@dataclass(frozen=True)
class Sample:
    """A set as it is searched, and how much of it that is."""

    dataset: Dataset
    of_documents: int
    of_questions: int

    @property
    def key(self) -> str:
        """Tells this sample from others of the set."""
        ids = [document.id for document in self.dataset.documents] + [
            each.id for each in self.dataset.questions
        ]
        return sha256("\n".join(ids).encode()).hexdigest()[:12]


def sample(name: str, full: bool) -> Sample:
    """A set's documents in their reading, and the questions about them."""
    whole = visible(load_or_exit(name))
    count = len(whole.documents), len(whole.questions)
    if full:
        return Sample(quality.sampled(whole, None, None), *count)
    if name in POOLED:
        return Sample(hiqa_boards.sample(whole, SAMPLES[name]), *count)
    short = tuple(
        document for document in whole.documents if len(document.text) <= LARGEST
    )
    return Sample(
        quality.sampled(replace(whole, documents=short), SAMPLES[name], None), *count
    )


def measured(
    system: System, dataset: Dataset, models: Models, counter: TokenCounter
) -> dict[str, Any]:
    """Recall of every question by route and budget, in [0, 1], and what the chunks are like."""
    began = perf_counter()
    indexed = system.index(dataset, models)
    measure, sizes = SpanMeasure(dataset.texts), Sizes(counter)
    recall: dict[str, list[float]] = {}
    for question in dataset.questions:
        where = None if dataset.name in POOLED else {"doc_id": question.gold[0][0]}
        for route, search in indexed.searches.items():
            ranking = search(question.question, where)
            spans, spent = spans_of(ranking), [sizes(chunk) for chunk in ranking]
            for budget in BUDGETS:
                value = recall_at_budget(
                    question.gold,
                    spans,
                    budget,
                    measure,
                    sizes=spent,
                    mode=question.mode,
                )
                recall.setdefault(f"{route} {budget}", []).append(
                    round(value or 0.0, 6)
                )
    tokens = [sizes(chunk) for chunk in indexed.chunks]
    return {
        "recall": recall,
        "chunks": len(tokens),
        "tokens": float(np.mean(tokens)),
        "largest": max(tokens),
        "seconds": round(perf_counter() - began, 1),
    }


def reads(system: System, dataset: Dataset) -> bool:
    """Whether the system reads the set's formats."""
    return system.formats is None or all(
        document.format in system.formats for document in dataset.documents
    )


def remembered(
    folder: Path,
    one: Sample,
    name: str,
    again: bool,
    measure: Callable[[], dict[str, Any]],
) -> tuple[dict[str, Any], bool]:
    """What `measure` gives, or gave in an earlier run; whether it is new."""
    slug = re.sub(r"\W+", "-", name.lower()).strip("-")
    path = folder / f"{one.dataset.name}-{one.key}" / f"{slug}.json"
    if path.is_file() and not again:
        return json.loads(path.read_text(encoding="utf-8")), False
    values = measure()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values) + "\n", encoding="utf-8")
    return values, True


def cell(
    system: System, one: Sample, models: Models, counter: TokenCounter, again: bool
) -> dict[str, Any]:
    """What `measured` gives, from an earlier run where there was one."""
    measure = partial(measured, system, one.dataset, models, counter)
    values, is_new = remembered(KEPT, one, system.name, again, measure)
    if is_new:
        point = f"{100 * float(np.mean(values['recall']['both 1000'])):.1f}"
        line = f"{one.dataset.name}: {system.name}: {point} ({values['seconds']} s)"
        print(line, file=sys.stderr, flush=True)
    return values


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = _options(arguments)
    samples = [sample(name, options.full) for name in options.sets]
    sources = {
        document.id: document.text
        for one in samples
        for document in load(one.dataset.name).documents
    }
    embedder, label = quality.chosen_embedder("minilm")
    models = Models(embedder, Cache(quality.CACHE))
    counter, counter_label = quality.reader_counter()
    rows, absent = systems(sources, quality.chosen_embedder("minilm")[0], models)
    wanted = [word.lower() for word in options.systems.split(",")]
    rows = [row for row in rows if any(word in row.name.lower() for word in wanted)]
    about = {
        "structrag": __version__,
        "machine": machine_line(),
        "encoder": label,
        "reader's tokens": counter_label,
        "not installed": ", ".join(absent) or "none",
    }
    results: dict[str, Any] = {
        "about": about,
        "families": {row.name: row.family for row in rows},
        "sets": {},
    }
    for one in samples:
        read_questions(embedder, one.dataset)
        results["sets"][one.dataset.name] = {
            "documents": [len(one.dataset.documents), one.of_documents],
            "questions": [len(one.dataset.questions), one.of_questions],
            "rows": {
                row.name: cell(row, one, models, counter, options.again)
                for row in rows
                if reads(row, one.dataset)
            },
        }
    text = page(results)
    print(text)
    save(options.output / "methods.md", text, __file__)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", default=",".join(SAMPLES), help=f"some of {', '.join(SAMPLES)}"
    )
    parser.add_argument(
        "--systems",
        default="",
        help="only those with one of these words in their names",
    )
    parser.add_argument(
        "--again", action="store_true", help="measure the chosen rows anew"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="all documents of every set (many hours on two cores)",
    )
    parser.add_argument(
        "--output", type=Path, default=quality.RESULTS, help="folder for the results"
    )
    options = parser.parse_args(arguments)
    options.sets = [name for name in options.sets.split(",") if name]
    if not options.sets or set(options.sets) - set(SAMPLES):
        parser.error(
            f"--sets must be some of {', '.join(SAMPLES)}; got {','.join(options.sets)!r}."
        )
    options.output.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    main()
