"""What stems bring to BM25 in chunk retrievers: each with words as they stand, and by their stems.

    python benchmarks/stems.py [--sets qasper,cuad,...] [--evidence]

Prints a table of recall within 1,000 tokens and of the paired differences, with 95 % intervals, and
writes benchmarks/results/stems.md. Vectors are those of all-MiniLM-L6-v2, in D3 also LSA's. With
--evidence the same is asked of `EvidenceRetriever` and its first stage instead, within 500 and
1,000 tokens, and stems_evidence.md is written. Without the evaluation data (STRUCTRAG_DATA) or the
encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.evidence import (
    ENCODERS,
    EVIDENCE,
    UNMATCHED,
    Setting,
    Unmatched,
    evidence,
    shown,
)
from benchmarks.freshness import save
from benchmarks.machine import machine_line
from benchmarks.methods import SAMPLES, sample
from benchmarks.methods_tables import Interval, mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import (
    D3Index,
    D3Retriever,
    FixedSplitter,
    Index,
    MultiViewRetriever,
    __version__,
)
from structrag.evaluation import SpanMeasure, paired_bootstrap
from structrag.evaluation.measure import spans_of
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.text import terms as stemming
from structrag.text.terms import tokenizer_for

BUDGET = 1000
EVIDENCE_BUDGETS = (500, BUDGET)
MOST = 60  # chunks of a question
READING = (
    "Recall is the share of the gold text within 1,000 tokens, in percent, over the questions of "
    "benchmarks/evidence.py; differences are those of stems to words as they stand, paired by "
    "question. Intervals hold the central 95 % of 1,000 bootstrap samples of the questions, for "
    "the mean drawn within each set. Chunks are sentences packed to 200 tokens; D3 has its own "
    "paragraphs."
)
EVIDENCE_READING = (
    "Recall is the share of the gold text within so many tokens, in percent; differences are those "
    "of stems to words as they stand, in the sentences, titles and questions of EvidenceRetriever, "
    "paired by question. Intervals hold the central 95 % of 1,000 bootstrap samples of the "
    "questions, for the mean drawn within each set; bold where 0 is not inside."
)
Recalls = Mapping[str, Sequence[float]]  # system -> recall of every question


def chunk_index(setting: Setting, stems: bool) -> Index:
    """Chunks of 200 tokens with the encoder's vectors."""
    index = Index(
        embedder=setting.encoder,
        splitter=FixedSplitter(200),
        views=("raw",),
        stems=stems,
        batch_size=256,
    )
    index.add(setting.dataset.documents)
    return index


def d3(setting: Setting, stems: bool, encoder: Any) -> Any:
    """D3 without a language model."""
    index = D3Index(embedder=encoder, stems=stems, batch_size=256)
    index.add(setting.dataset.documents)
    return D3Retriever(index)


def retrievers(setting: Setting, stems: bool) -> dict[str, Callable[[], Any]]:
    """The systems by name; each is made when it is asked for."""
    index = chunk_index(setting, stems)
    return {
        "BM25": lambda: MultiViewRetriever(index, routes=("bm25",)),
        "MultiView": lambda: MultiViewRetriever(index, routes=("dense", "bm25")),
        "HiQA": lambda: HiQARetriever(index),
        "D3": lambda: d3(setting, stems, setting.encoder),
        "D3, LSA": lambda: d3(setting, stems, None),
    }


def recalls(setting: Setting, stems: bool) -> Recalls:
    """Recall of every question by every system."""
    found: dict[str, list[float]] = {}
    for name, make in retrievers(setting, stems).items():
        retriever = make()
        for question in setting.dataset.questions:
            hits = retriever.search(
                question.question, MOST, where=setting.where(question)
            )
            ranked = sorted(hits, key=lambda hit: hit.rank)  # D3 gives reading order
            spans = spans_of([hit.chunk for hit in ranked])
            found.setdefault(name, []).append(
                setting.at_budgets(question, spans)[BUDGET]
            )
        mean = 100 * float(np.mean(found[name]))
        print(
            f"{setting.dataset.name}: {name}, stems {stems}: {mean:.1f}",
            file=sys.stderr,
        )
    return found


def evidence_recalls(setting: Setting, stems: bool) -> Recalls:
    """Recall of every question by evidence and by its first stage, at two budgets."""
    found: dict[str, list[float]] = {}
    whole = patch.object(
        stemming, "tokenizer_for", lambda language, stems: tokenizer_for(language)
    )
    with nullcontext() if stems else whole:
        for name, kind in ((EVIDENCE, {}), (UNMATCHED, {"kind": Unmatched})):
            search = evidence(setting, **kind)
            for question in setting.dataset.questions:
                recall = search(question)
                for budget in EVIDENCE_BUDGETS:
                    found.setdefault(f"{name}, {budget:,}", []).append(recall[budget])
            mean = 100 * float(np.mean(found[f"{name}, {BUDGET:,}"]))
            print(
                f"{setting.dataset.name}: {name}, stems {stems}: {mean:.1f}",
                file=sys.stderr,
            )
    return found


def table(words: Mapping[str, Recalls], stems: Mapping[str, Recalls]) -> str:
    """A row a system: the means of the sets, the mean difference, and that of each set."""
    rows = []
    for name in next(iter(words.values())):
        plain = [words[of_set][name] for of_set in words]
        stemmed = [stems[of_set][name] for of_set in words]
        gaps = [np.subtract(b, a).tolist() for a, b in zip(plain, stemmed, strict=True)]
        cells = [str(mean_of_sets(plain)), str(mean_of_sets(stemmed))]
        cells.append(shown(mean_of_sets(gaps)))
        for a, b in zip(plain, stemmed, strict=True):
            one = paired_bootstrap(b, a)
            points = (100 * value for value in (one.mean, one.low, one.high))
            cells.append(shown(Interval(*points)))
        rows.append([name, *cells])
    return markdown_table(["", "words", "stems", "difference", *words], rows, labels=1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SAMPLES))
    parser.add_argument(
        "--evidence", action="store_true", help="of EvidenceRetriever instead of chunks"
    )
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    encoder, *_ = ENCODERS["minilm"]()
    counter, label = quality.reader_counter()
    words: dict[str, Recalls] = {}
    stems: dict[str, Recalls] = {}
    for name in options.sets.split(","):
        one = sample(name, False)
        setting = Setting(one.dataset, encoder, counter, SpanMeasure(one.dataset.texts))
        measure = evidence_recalls if options.evidence else recalls
        words[name], stems[name] = measure(setting, False), measure(setting, True)
    facts = f"- structrag: {__version__}\n- machine: {machine_line()}\n- reader's tokens: {label}"
    reading = EVIDENCE_READING if options.evidence else READING
    text = f"# Stems in BM25\n\n{facts}\n\n{reading}\n\n{table(words, stems)}\n"
    print(text)
    file = "stems_evidence.md" if options.evidence else "stems.md"
    save(options.output / file, text, __file__)


if __name__ == "__main__":
    main()
