"""One index in each store: what building, searching and changing it costs.

    python benchmarks/stores.py [--rows 10000] [--questions 100]

Real texts of the evaluation data; copies of them, their words shuffled, where more rows are asked
for than there are. Vectors are made of words by a stand-in embedder of 384 dimensions. Each store
is filled in a process of its own, in groups as `Index.add` makes them, view "raw". A question is
eight words of a chunk that follow each other, asked of `MultiViewRetriever` (vectors and BM25, ten
hits). An update adds a document again that has changed, and keeps it. Overlap is the share of the
first ten hits that are those of the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.datasets import NAMES, DataMissing
from benchmarks.ingestion import pieces
from benchmarks.machine import machine_line, versions_line
from structrag import FunctionEmbedder, Index, MultiViewRetriever, read_text
from structrag.records import Document
from structrag.text.terms import terms

RESULTS = Path(__file__).resolve().parent / "results" / "stores.md"
STORES = {"folder": "{}", "LanceDB": "lancedb:{}", "Milvus Lite": "milvus:{}.db"}
DIMENSIONS = 384
UPDATES = 10


def main() -> int:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--one", help=argparse.SUPPRESS)  # the store that this process measures
    options = parser.parse_args()
    if options.one:
        (n_rows,) = options.rows
        print(json.dumps(measured(options.one, n_rows, options.questions)))
        return 0
    try:
        next(pieces(NAMES[0]))
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 0
    tables = [
        (n_rows, {name: in_process(name, n_rows, options.questions) for name in STORES})
        for n_rows in options.rows
    ]
    page = rendered(tables)
    print(page)
    options.results.write_text(page, encoding="utf-8")
    return 0


def in_process(name: str, n_rows: int, questions: int) -> dict[str, Any]:
    """`measured` in a process of its own, whose memory is its own."""
    command = [sys.executable, __file__, "--one", name, "--rows", n_rows, "--questions", questions]
    outcome = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True)
    figures: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
    return figures


def measured(name: str, n_rows: int, questions: int) -> dict[str, Any]:
    """The figures of one store, and what it found."""
    documents = list(enough(n_rows))
    # Milvus Lite may still be joining segments.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "corpus"
        index = Index(
            embedder=FunctionEmbedder(embedded, name="words"),
            views=["raw"],
            store=STORES[name].format(place),
        )
        began, before = time.perf_counter(), time.process_time()
        index.add(documents)
        build, build_cpu = time.perf_counter() - began, time.process_time() - before
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        retriever = MultiViewRetriever(index, k=10)
        seconds, found = [], []
        for question in asked(index, questions):
            began = time.perf_counter()
            hits = retriever.search(question)
            seconds.append(time.perf_counter() - began)
            found.append([hit.chunk.id for hit in hits])
        updates = []
        for document in documents[:UPDATES]:
            changed = replace(document, text=f"{document.text}\nIt has changed.\n")
            began = time.perf_counter()
            index.add([changed])
            updates.append(time.perf_counter() - began)
        return {
            "chunks": len(index),
            "build": build,
            "build_cpu": build_cpu,
            "megabytes": size / 1e6,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "p50": float(np.percentile(seconds, 50)) * 1000,
            "p95": float(np.percentile(seconds, 95)) * 1000,
            "update": float(np.median(updates)) * 1000,
            "found": found,
        }


def enough(n_rows: int) -> Iterator[Document]:
    """Documents of about so many chunks together, each set in turn."""
    rng = random.Random(0)
    real = [
        (name, text)
        for dataset in NAMES
        if dataset != "hotpotqa"  # paragraphs, no files
        for name, text in pieces(dataset)
    ]
    rng.shuffle(real)
    chunks = copy = 0
    while True:
        for name, text in real:
            if chunks >= n_rows:
                return
            if copy:
                words = text.split(" ")
                rng.shuffle(words)
                text = " ".join(words)
            chunks += 1 + len(text) // 1000
            yield read_text(text, id=f"{name}-{copy}")
        copy += 1


@cache
def vector_of(word: str) -> np.ndarray:
    seed = int.from_bytes(word.encode("utf-8", "surrogatepass")[:16].ljust(16, b" "), "big")
    return np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)


def embedded(texts: Sequence[str]) -> np.ndarray:
    """The sum of the vectors of a text's words."""
    rows = []
    for text in texts:
        words = terms(text)[:200] or [""]
        rows.append(np.sum([vector_of(word) for word in words], axis=0))
    return np.array(rows).reshape(len(texts), DIMENSIONS)


def asked(index: Index, count: int) -> Iterator[str]:
    """Words that follow each other in some chunks."""
    rng = random.Random(1)
    chunks = index.chunks()
    while count:
        words = rng.choice(chunks).text.split()
        if len(words) >= 8:
            start = rng.randrange(len(words) - 7)
            yield " ".join(words[start : start + 8])
            count -= 1


def overlap(found: Sequence[Sequence[str]], expected: Sequence[Sequence[str]]) -> float:
    """The mean share of expected hits that were found."""
    shares = [
        len(set(hits) & set(right)) / len(right)
        for hits, right in zip(found, expected, strict=True)
        if right
    ]
    return float(np.mean(shares))


def rendered(tables: Sequence[tuple[int, dict[str, dict[str, Any]]]]) -> str:
    """The page of results."""
    questions = len(tables[0][1]["folder"]["found"])
    lines = [
        "# One index in each store",
        "",
        "Measured by `python benchmarks/stores.py --rows "
        f"{' '.join(str(n_rows) for n_rows, _ in tables)} --questions {questions}`; what is "
        "measured stands in its head.",
        "",
        f"- machine: {machine_line()}",
        f"- {versions_line(['lancedb', 'pymilvus', 'milvus-lite', 'numpy'])}",
        "- seconds and milliseconds by the clock, of a machine that did other work too; memory is "
        "the peak of the whole process, embedder and documents included",
        "",
        "| store | chunks | build, s | of it CPU, s | disk, MB | peak memory, MiB | question p50, "
        "ms | p95, ms | update, ms | first ten as in the folder |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for _, by_store in tables:
        expected = by_store["folder"]["found"]
        for name, figures in by_store.items():
            lines.append(
                f"| {name} | {figures['chunks']:,} | {figures['build']:.1f} | "
                f"{figures['build_cpu']:.1f} | {figures['megabytes']:.0f} | "
                f"{figures['memory']:.0f} | {figures['p50']:.1f} | {figures['p95']:.1f} | "
                f"{figures['update']:.1f} | {overlap(figures['found'], expected):.3f} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
