"""What the store costs as it grows: adding, changing, opening and searching. Each size runs in
processes of its own with one thread of BLAS, so that memory and processor time are its alone:
`python benchmarks/speed_store.py STEP SECTIONS FOLDER`."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.speed_tables import Table, by_turns, ratios, spread
from structrag.index import store as stores
from structrag.index.entries import Entry, Vectors
from structrag.index.store import Store
from structrag.records import Chunk, Document
from structrag.retrieval.fusion import maxnorm, minmax, sum_of_parts

SIZES = (100_000, 1_000_000)
PACKAGES = ("structrag", "numpy", "xxhash", "bm25s")
DIMENSION = 384
WORDS = 60
VOCABULARY = 50_000
QUERY_WORDS = 8
SECTIONS_PER_DOCUMENT = 100
POOL, K = 1000, 10
QUERIES = 5
PARTS = 20
THREADS = 8
STEPS = ("add", "search")


def run(repeat: int, sizes: Sequence[int] = SIZES) -> list[Table]:
    """The table of all sizes."""
    rows = []
    figures: dict[str, Any] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            added = _in_process("add", size, folder, repeat)
            searched = _in_process("search", size, folder, repeat)
        figures[str(size)] = {**added, **searched}
        rows.append(
            (
                f"{size:,}",
                f"{added['seconds']:,.0f}",
                f"{added['peak_mib']:,.0f}",
                f"{searched['open_cpu']:.2f}",
                f"{1000 * searched['warm_cpu']:.0f}",
                spread(searched["to_bare"], 2),
                spread(searched["after_add"], 2),
                spread(searched["parts"], 2),
                f"{searched['threads']:.2f}",
            )
        )
    return [
        Table(
            "The store as it grows: one view, vectors and BM25",
            (
                "sections",
                "adding, CPU s",
                "adding, peak MiB",
                "opening and first search, CPU s",
                "warm search, CPU ms",
                "warm search / bare products and scores",
                "first search after adding a document / warm",
                f"{PARTS} segments / one",
                f"{THREADS} threads / one, searches a second",
            ),
            tuple(rows),
            f"made: {WORDS} words a section by Zipf's law over {VOCABULARY:,}, random vectors of "
            f"{DIMENSION} float32, documents of {SECTIONS_PER_DOCUMENT} sections",
            (
                "CPU time of single processes with one thread of BLAS. A search takes the best "
                f"{POOL:,} by vectors and by BM25 and fuses them; the query vector is given, so no "
                "model runs. Bare: one float32 product and bm25s's scores, nothing ranked.",
                "Peak memory is that of the process that adds and saves; vectors and texts of a "
                "document are made as it is added. Files were just written, so they are in the "
                "system's cache.",
            ),
            figures,
        )
    ]


def _in_process(step: str, size: int, folder: str, repeat: int) -> dict[str, Any]:
    command = [sys.executable, __file__, step, str(size), folder, str(repeat)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    answer = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False
    )
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    figures: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return figures


class Words:
    """Random words by Zipf's law."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        share = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
        self._flow = share / share[-1]

    def texts(self, count: int, words: int) -> list[str]:
        """So many texts of so many words."""
        numbers = np.searchsorted(self._flow, self.random.random((count, words)))
        return [" ".join([f"w{number}" for number in row]) for row in numbers.tolist()]

    def vectors(self, count: int) -> Any:
        """Random vectors."""
        return self.random.standard_normal((count, DIMENSION), dtype=np.float32)


def entry(words: Words, name: str, sections: int) -> Entry:
    """A document of random sections."""
    texts = words.texts(sections, WORDS)
    chunks = []
    start = 0
    for i, text in enumerate(texts):
        end = start + len(text)
        chunks.append(Chunk(f"{name}:{i}", name, f"{name}#{i}", start, end, text))
        start = end
    vectors = {"raw": Vectors(words.vectors(sections), np.arange(sections))}
    return Entry(
        Document("", id=name), name, tuple(chunks), {"raw": tuple(texts)}, vectors
    )


def add(size: int, folder: Path, repeat: int) -> dict[str, Any]:
    """Add documents and save; give CPU seconds and the peak of memory."""
    words, store = Words(0), Store(("raw",))
    spent = 0.0
    for first in range(0, size, SECTIONS_PER_DOCUMENT):
        document = entry(words, f"d{first}", min(SECTIONS_PER_DOCUMENT, size - first))
        started = time.process_time()
        store.put(document)
        spent += time.process_time() - started
    started = time.process_time()
    store.save(folder / "index")
    spent += time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": spent, "peak_mib": peak / 1024}


def search_once(store: Store, query: str, vector: Any) -> list[tuple[int, float]]:
    """The best rows by vectors and BM25, fused."""
    reader = store.reader()
    dense = dict(reader.search_dense("raw", vector, POOL))
    lexical = dict(reader.search_lexical("raw", query, POOL))
    parts = [minmax(list(dense.values())), maxnorm(list(lexical.values()))]
    best = sum_of_parts([dense, lexical], parts, K)
    for row, _ in best:
        reader.chunk(row)
    return best


def search(size: int, folder: Path, repeat: int) -> dict[str, Any]:
    """Open and search what was saved."""
    words = Words(1)
    queries = words.texts(QUERIES, QUERY_WORDS)
    (vector,) = words.vectors(1)
    started = time.process_time()
    store = Store.load(folder / "index")
    search_once(store, queries[0], vector)
    opened = time.process_time() - started
    store.compact()
    ours = partial(_all, partial(search_once, store), queries, vector)
    timings = by_turns(
        {"ours": ours, "bare": partial(bare(store, vector), queries)}, repeat
    )
    return {
        "open_cpu": opened,
        "warm_cpu": median(timings["ours"].cpu) / QUERIES,
        "to_bare": ratios(timings["ours"].cpu, timings["bare"].cpu),
        "threads": _threads(store, queries, vector),
        "after_add": list(_after_adding(store, words, queries, vector, repeat)),
        "parts": _parts(store, words, queries, vector, repeat),
    }


def _all(
    one: Callable[[str, Any], object], queries: Sequence[str], vector: Any
) -> None:
    for query in queries:
        one(query, vector)


def bare(store: Store, vector: Any) -> Callable[[Sequence[str]], None]:
    """The arithmetic alone: a NumPy product and bm25s's scores."""
    import bm25s

    reader = store.reader()
    tokenizer = store.settings.tokenizer
    scorer = bm25s.BM25(k1=1.2, b=0.75)
    texts = (tokenizer(chunk.text) for chunk in reader.chunks())
    scorer.index(list(texts), show_progress=False)
    (part,) = reader.dense("raw").parts
    matrix = np.array(part.table.matrix.all())

    def score(queries: Sequence[str]) -> None:
        for query in queries:
            matrix @ vector
            scorer.get_scores(tokenizer(query))

    return score


def _after_adding(
    store: Store, words: Words, queries: Sequence[str], vector: Any, repeat: int
) -> Iterator[float]:
    """First searches after a document, by the median of warm ones just before."""
    for number in range(repeat):
        warm = []
        for query in queries:
            started = time.process_time()
            search_once(store, query, vector)
            warm.append(time.process_time() - started)
        store.put(entry(words, f"new{number}", 10))
        started = time.process_time()
        search_once(store, queries[0], vector)
        # The same query is compared, since queries differ in how frequent their words are.
        yield (time.process_time() - started) / warm[0]


def _parts(
    store: Store, words: Words, queries: Sequence[str], vector: Any, repeat: int
) -> list[float]:
    """Searches over many segments, by searches over the same rows in one."""
    fan, stores.FAN = stores.FAN, 1 << 30
    split = Store(("raw",))
    split._segments, split._live = list(store._segments), list(store._live)
    split._next_key = 1 << 40
    split._snapshot = None
    for number in range(PARTS - len(split._segments)):
        split.put(entry(words, f"part{number}", 100))
        split.reader()
    one = Store(("raw",))
    one._segments, one._live = list(split._segments), list(split._live)
    one._snapshot = None
    one.compact()
    timings = by_turns(
        {
            "split": partial(_all, partial(search_once, split), queries, vector),
            "one": partial(_all, partial(search_once, one), queries, vector),
        },
        repeat,
    )
    stores.FAN = fan
    assert len(split.snapshot().segments) == PARTS
    return ratios(timings["split"].cpu, timings["one"].cpu)


def _threads(store: Store, queries: Sequence[str], vector: Any) -> float:
    """Searches a second of several threads, by those of one."""
    rates = []
    for threads in (1, THREADS):
        with ThreadPoolExecutor(threads) as pool:
            started = time.perf_counter()
            jobs = [
                pool.submit(search_once, store, query, vector)
                for query in list(queries) * (2 * THREADS)
            ]
            for job in jobs:
                job.result()
            rates.append(len(jobs) / (time.perf_counter() - started))
    return rates[1] / rates[0]


if __name__ == "__main__":
    step, sections, place, repetitions = sys.argv[1:]
    figures = {"add": add, "search": search}[step](
        int(sections), Path(place), int(repetitions)
    )
    print(json.dumps(figures))
