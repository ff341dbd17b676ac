"""Whether keywords and summaries that a small model's likelihoods choose find more evidence than
those that are extracted without one.

    python benchmarks/chosen_views.py [--sets qasper,cuad] [--documents 3] [--whole]

Prints the table and writes benchmarks/results/chosen_views.md. The model is that of real_llm.py, on
one thread: one to three seconds a chunk. Scores and vectors are kept in results/cache. Without the
evaluation data (STRUCTRAG_DATA), the encoder or the model it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.datasets import Dataset, load_or_exit, visible
from benchmarks.machine import machine_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_scores import AT_BUDGETS, score
from benchmarks.quality_systems import ROUTES, System
from benchmarks.quality_tables import markdown_table
from benchmarks.real_llm import chosen_model
from structrag import ContentAwareSplitter, Index, MultiViewRetriever, __version__
from structrag.asking.cache import Cache
from structrag.index.views import VIEWS

LIMITED, WHOLE = "of at most 300 tokens", "of whole sections"
SEARCHED: Mapping[str, tuple[str, ...]] = {
    "summary": ("summary",),
    "keywords": ("keywords",),
    "all three": VIEWS,
}
READING = (
    "The same chunks, candidates and numbers of keywords and sentences; chosen: by how much "
    "likelier the section makes each (`choose_views=True`); extracted: by term frequencies and "
    "the sentences nearest to all others. Vectors and BM25, each question inside its own document. "
    "Recall within 1,000 / 2,000 tokens in percent, sets of equal weight; the difference is chosen "
    "minus extracted, with the central 95 % of 1,000 paired bootstrap samples of the questions; "
    "bold where 0 is not inside. Seconds are of the processor for one chunk, of choosing alone; "
    "0 where the scores were kept from an earlier run."
)
Recalls = Mapping[str, list[float]]  # budget -> recall of every question


def recalls(
    dataset: Dataset, embedder: Any, llm: Any, most: int | None, cache: Cache
) -> tuple[dict[str, Recalls], float]:
    """The recall of each view, and the seconds a chunk that indexing took."""
    options: dict[str, Any] = (
        {"llm": llm, "choose_views": True} if llm is not None else {}
    )
    splitter = ContentAwareSplitter(max_tokens=most)
    index = Index(embedder=embedder, splitter=splitter, cache=cache, **options)
    began = process_time()
    index.add(dataset.documents)
    seconds = (process_time() - began) / max(1, len(index))
    values = {}
    for name, views in SEARCHED.items():
        retriever = MultiViewRetriever(index, views=views)
        row = System("", name, "both", retriever, True)
        assert set(retriever.kinds) == set(ROUTES["both"])
        values[name] = score(row, dataset, quality.reader_counter()[0]).recall
    return values, seconds


def row(
    name: str, chosen: Sequence[Recalls], extracted: Sequence[Recalls], seconds: str
) -> Any:
    """A row of the table: recalls of every set."""
    cells = [name]
    for values in (extracted, chosen):
        means = [
            mean_of_sets([one[point] for one in values]).mean for point in AT_BUDGETS
        ]
        cells.append(" / ".join(f"{mean:.1f}" for mean in means))
    for point in AT_BUDGETS:
        gaps = [
            np.subtract(one[point], other[point]).tolist()
            for one, other in zip(chosen, extracted, strict=True)
        ]
        gap = mean_of_sets(gaps)
        text = f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]"
        cells.append(f"**{text}**" if gap.low > 0 or gap.high < 0 else text)
    return [*cells, seconds]


def table(
    datasets: Sequence[Dataset],
    embedder: Any,
    llm: Any,
    cache: Cache,
    chunks: Mapping[str, int | None],
) -> str:
    """A row for each way of chunking and each view."""
    rows = []
    for label, most in chunks.items():
        chosen, extracted, seconds = [], [], []
        for dataset in datasets:
            without, _ = recalls(dataset, embedder, None, most, cache)
            by_model, took = recalls(dataset, embedder, llm, most, cache)
            extracted.append(without)
            chosen.append(by_model)
            seconds.append(took)
            print(
                f"{dataset.name}, {label}: {took:.1f} s a chunk",
                file=sys.stderr,
                flush=True,
            )
        for view in SEARCHED:
            of_view = ([one[view] for one in chosen], [one[view] for one in extracted])
            rows.append(
                row(f"{view}, chunks {label}", *of_view, f"{np.mean(seconds):.1f}")
            )
    heads = ["view", "extracted", "chosen", *(f"difference at {p}" for p in AT_BUDGETS)]
    return markdown_table([*heads, "s a chunk"], rows, labels=1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default="qasper,cuad")
    parser.add_argument("--documents", type=int, default=3, help="of each set")
    parser.add_argument(
        "--whole", action="store_true", help="also chunks of whole sections"
    )
    options = parser.parse_args(arguments)
    chunks: dict[str, int | None] = {LIMITED: 300}
    if options.whole:
        chunks[WHOLE] = None
    datasets = [
        quality.sampled(visible(load_or_exit(name)), options.documents, None)
        for name in options.sets.split(",")
    ]
    embedder, _ = quality.chosen_embedder("minilm")
    llm = chosen_model("")
    sizes = ", ".join(
        f"{one.name} {len(one.documents)} documents, {len(one.questions)} questions"
        for one in datasets
    )
    page = [
        "# Views chosen by likelihood",
        f"- structrag {__version__}, all-MiniLM-L6-v2, SmolLM2-135M-Instruct; {machine_line()}\n"
        f"- python benchmarks/chosen_views.py --sets {options.sets} --documents "
        f"{options.documents}{' --whole' if options.whole else ''}: {sizes}",
        READING,
        table(datasets, embedder, llm, Cache(quality.CACHE), chunks),
    ]
    text = "\n\n".join(page) + "\n"
    print(text)
    (quality.RESULTS / "chosen_views.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
