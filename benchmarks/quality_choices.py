"""What stands behind the default settings: chunk size, views, fusion and window size, one changed
at a time; prints the tables.

    python benchmarks/quality_choices.py [--sets nq,qasper,cuad] [--questions N] [--cuad-documents
    M] [--embedder minilm|lsa] [--full]

It shares the vectors that benchmarks/quality.py keeps, so run that first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import quality
from benchmarks.freshness import save
from benchmarks.quality_scores import AT_BUDGETS, POINTS, score
from benchmarks.quality_systems import ROUTES, System
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.index.index import Index
from structrag.index.views import VIEWS
from structrag.model_calls.cache import Cache
from structrag.records import Document
from structrag.retrieval.multiview import MultiViewRetriever

Row = tuple[
    str, str, dict[str, float]
]  # what was changed, to what, point -> mean recall in percent
LIMITS = (None, 2000, 512, 300, 200)
WINDOWS = (None, 128)
VIEW_SETS = (("raw",), ("raw", "summary"), ("raw", "keywords"), VIEWS)
FUSIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("minmax", {}),
    ("minmax, BM25 at half weight", {"weights": {"bm25": 0.5}}),
    ("minmax, raw at double weight", {"weights": {"raw": 2.0}}),
)


def variants(
    documents: Sequence[Document], embedder: Any, cache: Cache | None
) -> Iterator[tuple[str, str, MultiViewRetriever]]:
    """(what is changed, its value, a retriever); everything not named is the default."""

    def index(**options: Any) -> Index:
        made = Index(embedder=embedder, cache=cache, batch_size=32, **options)
        made.add(documents)
        return made

    for limit in LIMITS:
        raw = index(splitter=ContentAwareSplitter(max_tokens=limit), views=("raw",))
        for label, kinds in ROUTES.items():
            yield (
                "max_tokens, view raw",
                f"{limit}, {label}",
                MultiViewRetriever(raw, routes=kinds),
            )
    default = index()
    for views in VIEW_SETS:
        yield "views", " + ".join(views), MultiViewRetriever(default, views=views)
    for label, options in FUSIONS:
        yield "fusion, all views", label, MultiViewRetriever(default, **options)
    for tokens in WINDOWS:
        long = index(
            splitter=ContentAwareSplitter(max_tokens=2000),
            views=("raw",),
            window_tokens=tokens,
        )
        yield (
            "window_tokens, max_tokens=2000, view raw",
            str(tokens),
            MultiViewRetriever(long),
        )


def rows(dataset: Dataset, embedder: Any, cache: Cache | None) -> list[Row]:
    """Every variant's mean recall on one set."""
    counter, _ = quality.reader_counter()
    found: list[Row] = []
    for what, value, retriever in variants(dataset.documents, embedder, cache):
        scores = score(System(what, value, "", retriever, True), dataset, counter)
        found.append((what, value, {point: scores.mean(point) for point in POINTS}))
    return found


def tables(by_set: dict[str, list[Row]]) -> str:
    """One table for each thing that was changed: both budgets set by set, then means over the sets
    with equal weight."""
    first = next(iter(by_set.values()))
    averaged = (*AT_BUDGETS, "top 5", "top 10")
    parts = []
    for what in dict.fromkeys(changed for changed, _, _ in first):
        head = [what, *(f"{name}: {point}" for name in by_set for point in AT_BUDGETS)]
        head += [f"mean: {point}" for point in averaged]
        lines = []
        for i, (changed, value, _) in enumerate(first):
            if changed == what:
                recalls = [found[i][2] for found in by_set.values()]
                cells = [
                    f"{recall[point]:.1f}" for recall in recalls for point in AT_BUDGETS
                ]
                means = [
                    sum(recall[point] for recall in recalls) / len(recalls)
                    for point in averaged
                ]
                lines.append([value, *cells, *(f"**{mean:.1f}**" for mean in means)])
        parts.append(markdown_table(head, lines, labels=1))
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every variant on every set."""
    parser = quality.argument_parser(__doc__)
    options = parser.parse_args(arguments)
    datasets = quality.chosen_sets(parser, options)
    embedder, label = quality.chosen_embedder(options.embedder)
    cache = None if embedder is None else Cache(quality.CACHE)
    page = f"# What the defaults rest on\n\n- dense route: {label}\n\n"
    page += tables(
        {dataset.name: rows(dataset, embedder, cache) for dataset, _ in datasets}
    )
    print(page)
    options.output.mkdir(parents=True, exist_ok=True)
    save(options.output / "quality_choices.md", page, __file__)


if __name__ == "__main__":
    main()
