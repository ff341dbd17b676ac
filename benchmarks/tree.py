"""Search in a tree of sections, and under lines of context, beside flat search.

    python benchmarks/tree.py [--sets qasper,nq,...]

Prints the tables and writes benchmarks/results/tree.md. All rows search the same chunks with the
vectors of all-MiniLM-L6-v2 and BM25. Lines and summaries are extracted; the walk down the tree
needs a language model, and has no row. Without the evaluation data (STRUCTRAG_DATA) or the encoder
it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import Dataset
from benchmarks.evidence import Asked, sampled
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from structrag import ContentAwareSplitter, __version__
from structrag.evaluation import SpanMeasure, span_recall
from structrag.evaluation.measure import spans_of
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever
from structrag.text.tokens import TokenCounter

SETS = ("qasper", "nq")
BUDGETS = (500, 1000)
CHUNKS = 200  # tokens of a chunk at most
MOST = 100  # hits of a question
FLAT = "flat: chunks alone"
ROWS: Mapping[str, Mapping[str, Any]] = {
    FLAT: {"levels": False, "merge_share": None},
    "merged: most children found": {"levels": False},
    "merged: three quarters found": {"levels": False, "merge_share": 0.75},
    "levels, weight 0.25": {"merge_share": None},
    "levels, weight 0.5": {"merge_share": None, "level_weight": 0.5},
    "levels, weight 1": {"merge_share": None, "level_weight": 1.0},
    "levels and merged (0.25, most)": {},
}
READING = (
    "Recall is the share of the gold text that the reader is given within so many tokens (of the "
    "best single occurrence where any one answers), in percent. Each question is searched inside "
    f"its own document, by vectors and BM25 over the same section chunks of at most {CHUNKS} "
    "tokens. Every row gives whole chunks or sections, best first, until the next one does not "
    "fit. Summaries and lines of context are extractive. Intervals hold the central 95 % of 1,000 "
    "bootstrap samples of the questions, drawn within each set; those of differences are paired. "
    "Bold: 0 is not inside."
)
# Views searched flat -> the name of the row; "context" is a line of context above the raw text.
VIEWS: Mapping[tuple[str, ...], str] = {
    ("raw",): FLAT,
    ("context",): "flat, under a line of context",
    ("raw", "context"): "flat, both",
}
# Row -> budget -> recall of every question.
Recalls = Mapping[str, Mapping[int, Sequence[float]]]


@dataclass(frozen=True)
class Setting:
    """One set with its index."""

    dataset: Dataset
    index: TreeIndex
    measure: SpanMeasure

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        encoder: Any,
        counter: TokenCounter,
        views: tuple[str, ...],
    ) -> Setting:
        """The set indexed; vectors are kept in the cache of the benchmarks."""
        index = TreeIndex(
            embedder=encoder,
            views=views,
            splitter=ContentAwareSplitter(
                max_tokens=CHUNKS, flat_max_tokens=None, counter=counter
            ),
            cache=str(quality.CACHE),
            batch_size=64,
        )
        index.add(dataset.documents)
        return cls(dataset, index, SpanMeasure(dataset.texts))

    def recall(self, retriever: TreeRetriever, asked: Asked) -> float:
        """The recall of a question by what a retriever gives."""
        hits = retriever.search(
            asked.question, MOST, where={"doc_id": asked.gold[0][0]}
        )
        spans = spans_of([hit.chunk for hit in hits])
        return span_recall(asked.gold, spans, self.measure, mode=asked.mode) or 0.0


def recalls(setting: Setting, rows: Mapping[str, Mapping[str, Any]]) -> Recalls:
    """The recall of every question, by row and budget."""
    found: dict[str, dict[int, list[float]]] = {}
    for name, options in rows.items():
        found[name] = {}
        for budget in BUDGETS:
            retriever = TreeRetriever(setting.index, max_tokens=budget, **options)
            questions = setting.dataset.questions
            found[name][budget] = [
                setting.recall(retriever, asked) for asked in questions
            ]
            mean = 100 * float(np.mean(found[name][budget]))
            print(
                f"{setting.dataset.name}: {name}, {budget}: {mean:.1f}", file=sys.stderr
            )
    return found


def table(by_set: Mapping[str, Recalls], budget: int) -> str:
    """A line a row: the recall on each set, the mean, and the difference of the mean to flat."""
    lines = []
    for name in next(iter(by_set.values())):
        groups = [of_set[name][budget] for of_set in by_set.values()]
        flat = [of_set[FLAT][budget] for of_set in by_set.values()]
        gaps = [
            np.subtract(own, base).tolist()
            for own, base in zip(groups, flat, strict=True)
        ]
        cells = [f"{100 * float(np.mean(group)):.1f}" for group in groups]
        of_sets = [_shown([gap]) if name != FLAT else "" for gap in gaps]
        difference = _shown(gaps) if name != FLAT else ""
        both = [
            f"{cell} {gap}".rstrip() for cell, gap in zip(cells, of_sets, strict=True)
        ]
        lines.append([name, *both, str(mean_of_sets(groups)), difference])
    return markdown_table(["", *by_set, "mean", "mean: difference"], lines, labels=1)


def _shown(groups: Sequence[Sequence[float]]) -> str:
    gap = mean_of_sets(groups)
    text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
    return f"**{text}**" if gap.low > 0 or gap.high < 0 else text


def page(about: Mapping[str, str], by_set: Mapping[str, Recalls]) -> str:
    """All tables."""
    facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
    parts = ["# A tree of sections", facts, READING]
    for budget in BUDGETS:
        parts += [f"## Within {budget:,} tokens", table(by_set, budget)]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    encoder, label = quality.chosen_embedder("minilm")
    counter, counter_label = quality.reader_counter()
    by_set: dict[str, dict[str, Any]] = {}
    sizes = []
    for name in options.sets.split(","):
        dataset = sampled(name, "large").dataset
        setting = Setting.of(dataset, encoder, counter, ("raw",))
        sizes.append(
            f"{name}: {len(dataset.documents)} documents, {len(dataset.questions)} questions, "
            f"{len(setting.index):,} chunks, {len(setting.index.nodes()):,} nodes"
        )
        by_set[name] = {**recalls(setting, ROWS)}
        for views, row in VIEWS.items():
            if row != FLAT:
                of_views = Setting.of(dataset, encoder, counter, views)
                by_set[name].update(recalls(of_views, {row: ROWS[FLAT]}))
    about = {
        "structrag": __version__,
        "machine": machine_line(),
        "encoder": label,
        "reader's tokens": counter_label,
        "samples": "; ".join(sizes),
    }
    text = page(about, by_set)
    print(text)
    (options.output / "tree.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
