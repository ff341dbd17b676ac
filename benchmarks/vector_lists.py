"""How many lists of LanceDB's vector index a question must read, on vectors of real texts.

    python benchmarks/vector_lists.py [--lists 500] [--read 10 30 50 100]

The vectors are those of all-MiniLM-L6-v2 that the other benchmarks have left in their cache
(benchmarks/results/cache; `python benchmarks/evidence.py` and others fill it), each once, in as
many lists as a store of a million rows has. The questions are 50 of each evaluation set. Prints
the share of a question's nearest vectors that are found, with 95 % intervals, and the processor
time, beside reading all; writes benchmarks/results/vector_lists.md. Without the evaluation data
(STRUCTRAG_DATA), a cache or the encoder it says so and stops.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks import quality, question_sets
from benchmarks.freshness import save
from benchmarks.machine import machine_line, versions_line
from benchmarks.quality_tables import markdown_table
from structrag.evaluation.aggregate import estimate

DIMENSIONS = 384
QUESTIONS = 50  # of each set
FEWEST = 10_000  # vectors that say something
DEPTHS = (10, 100, 1000)

Floats = NDArray[np.float32]


def kept_vectors(cache: Path) -> Floats:
    """All different vectors of a cache, (n, 384), in random order."""
    with sqlite3.connect(f"file:{cache}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            "SELECT value FROM answers WHERE length(value) = ?", [4 * DIMENSIONS]
        )
        vectors = np.frombuffer(b"".join(value for (value,) in rows), "<f4")
    vectors = np.unique(vectors.reshape(-1, DIMENSIONS), axis=0)
    return np.random.default_rng(0).permutation(vectors)


def questions() -> list[str]:
    """Some different questions of each set."""
    chosen: list[str] = []
    for name in question_sets.NAMES:
        asked = sorted(
            {question.question for question in question_sets.load(name).questions}
        )
        random.Random(1).shuffle(asked)
        chosen += asked[:QUESTIONS]
    return chosen


def filled(folder: str, vectors: Floats, n_lists: int) -> Any:
    """A table of LanceDB with the index that our stores have."""
    import lancedb
    import pyarrow as pa
    from lancedb.index import IvfFlat

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS)
    rows = pa.table({"id": pa.array(np.arange(len(vectors))), "vector": column})
    table = lancedb.connect(folder).create_table("vectors", rows)
    table.create_index(
        "vector", config=IvfFlat(distance_type="dot", num_partitions=n_lists)
    )
    return table


def found_shares(
    table: Any, asked: Floats, nearest: NDArray[np.int64], n_read: int
) -> tuple[dict[int, list[float]], float]:
    """Of each question the share of the nearest found by depth; milliseconds of a question."""
    shares: dict[int, list[float]] = {depth: [] for depth in DEPTHS}
    began = process_time()
    for vector, right in zip(asked, nearest, strict=True):
        search = table.search(vector, vector_column_name="vector").distance_type("dot")
        search = search.nprobes(n_read).limit(max(DEPTHS)).select(["id", "_distance"])
        ids = search.to_arrow()["id"].to_numpy()
        for depth in DEPTHS:
            shares[depth].append(float(np.isin(right[:depth], ids[:depth]).mean()))
    return shares, 1000 * (process_time() - began) / len(asked)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=int, default=500)
    parser.add_argument("--read", type=int, nargs="+", default=[10, 30, 40, 50, 100])
    parser.add_argument("--output", type=Path, default=quality.RESULTS)
    options = parser.parse_args(arguments)
    try:
        texts = questions()
    except question_sets.DataMissing as error:
        raise SystemExit(str(error)) from error
    vectors = (
        kept_vectors(quality.CACHE)
        if quality.CACHE.exists()
        else np.empty((0, DIMENSIONS))
    )
    if len(vectors) < FEWEST:
        raise SystemExit(
            f"{quality.CACHE} keeps {len(vectors):,} vectors; {FEWEST:,} are needed. Run "
            "python benchmarks/evidence.py first."
        )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        table = filled(folder, vectors, options.lists)
        encoder, _ = quality.chosen_embedder("minilm")
        asked = np.asarray(encoder.embed(texts, query=True), np.float32)
        nearest = np.argsort(-(asked @ vectors.T), axis=1)[:, : max(DEPTHS)]
        found_shares(table, asked, nearest, options.lists)  # all is read once
        for n_read in sorted({*options.read, options.lists}):
            shares, milliseconds = found_shares(table, asked, nearest, n_read)
            cells = [estimate(shares[depth]) for depth in DEPTHS]
            rows.append(
                [
                    f"{n_read} of {options.lists}",
                    *(
                        f"{cell.mean:.3f} [{cell.low:.3f}, {cell.high:.3f}]"
                        for cell in cells
                    ),
                    f"{milliseconds:.1f}",
                ]
            )
    page = rendered(rows, len(vectors), len(texts), options)
    print(page)
    save(options.output / "vector_lists.md", page, __file__)


def rendered(
    rows: list[list[str]], n_vectors: int, n_questions: int, options: argparse.Namespace
) -> str:
    """The page of results."""
    command = f"--lists {options.lists} --read {' '.join(map(str, options.read))}"
    header = [
        "lists read",
        *(f"first {depth:,}" for depth in DEPTHS),
        "CPU ms a question",
    ]
    lines = [
        "# Lists that a question reads in LanceDB",
        "",
        f"Measured by `python benchmarks/vector_lists.py {command}`; what is measured stands in "
        "its head.",
        "",
        f"- machine: {machine_line()}",
        f"- {versions_line(['lancedb', 'numpy', 'sentence-transformers'])}",
        f"- {n_vectors:,} different vectors of real texts, {n_questions} questions",
        "- the share of the first so many vectors that are found, means over the questions; "
        "intervals hold the central 95 % of 1,000 bootstrap samples of them",
        "",
        markdown_table(header, rows, labels=1),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
