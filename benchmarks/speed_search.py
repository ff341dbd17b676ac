"""Searching 100,000 made sections in three views: against the bare arithmetic, and against
LangChain's ensemble."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import corpus_line
from benchmarks.speed_search_data import (
    VIEWS,
    Made,
    Search,
    bare_search,
    langchain_search,
    made_entry,
    make,
)
from benchmarks.speed_tables import Table, Timing, by_turns, ratios, spread
from structrag.retrieval.multiview import MultiViewRetriever

PACKAGES = (
    "structrag",
    "numpy",
    "bm25s",
    "rank-bm25",
    "langchain-core",
    "langchain-classic",
    "langchain-community",
)
SIZES = (10_000, 20_000, 100_000)
K = 10

_FIRST_RESULT = """\
import json, sys, time
started = time.perf_counter()
import numpy as np
from structrag.index.index import Index
from structrag.models.embedders import FunctionEmbedder
from structrag.retrieval.multiview import MultiViewRetriever
imported = time.perf_counter()
vector = np.load(sys.argv[2])
embedder = FunctionEmbedder(
    lambda texts: np.tile(vector, (len(texts), 1)), name="fixed query vector"
)
index = Index.load(sys.argv[1], embedder=embedder)
loaded = time.perf_counter()
hits = MultiViewRetriever(index, k=10).search(sys.argv[3])
first = time.perf_counter()
MultiViewRetriever(index, k=10).search(sys.argv[3])
second = time.perf_counter()
print(json.dumps({"import": imported - started, "load": loaded - imported, "first": first - loaded,
                  "second": second - first, "ids": [hit.chunk.id for hit in hits]}))
"""


def run(repeat: int, sizes: Sequence[int] = SIZES) -> list[Table]:
    """All tables of this part; the last of `sizes` is the one of the other tables."""
    made = {size: make(size) for size in sizes[:-1]}
    largest = made[sizes[-1]] = make(sizes[-1])
    with tempfile.TemporaryDirectory() as folder:
        half = make(sizes[-1], dtype="float16")
        tables = [
            search_table(made, repeat),
            precision_table(largest, half, repeat),
            change_table(largest, repeat=min(repeat, 3)),
            saving_table({"float32": largest, "float16": half}, Path(folder)),
        ]
    return tables


def search_table(made: dict[int, Made], repeat: int) -> Table:
    """One search of ours, of the bare arithmetic and of LangChain, at each size."""
    rows = []
    figures: dict[str, Any] = {}
    for size, one in made.items():
        ours, raw_only = (
            MultiViewRetriever(one.index, k=K).search,
            MultiViewRetriever(one.index, k=K, views=("raw",)),
        )
        searches: dict[str, Search] = {
            "ours": ours,
            "ours, raw only": raw_only.search,
            "bare": bare_search(one),
        }
        timings = _searches(searches, one.queries, repeat)
        against = {
            "ours": ours,
            "ours, raw only": raw_only.search,
            "langchain": langchain_search(one, k=K),
        }
        peers = _searches(against, one.queries[:2], min(repeat, 3))
        n = len(one.queries)
        to_bare = ratios(timings["ours"].wall, timings["bare"].wall)
        to_bare_cpu = ratios(timings["ours"].cpu, timings["bare"].cpu)
        to_langchain = [
            spread(ratios(peers["langchain"].wall, peers[name].wall), 0)
            for name in ("ours, raw only", "ours")
        ]
        figures[str(size)] = {
            **{
                name: {"wall": timing.wall, "cpu": timing.cpu, "queries": n}
                for name, timing in timings.items()
            },
            **{
                f"{name}, 2 queries": {"wall": timing.wall, "cpu": timing.cpu}
                for name, timing in peers.items()
            },
        }
        rows.append(
            (
                f"{size:,}",
                _milliseconds(timings["ours"], n),
                _milliseconds(timings["bare"], n),
                spread(to_bare, 2),
                spread(to_bare_cpu, 2),
                _milliseconds(timings["ours, raw only"], n),
                _milliseconds(peers["langchain"], 2),
                *to_langchain,
            )
        )
    return Table(
        f"One search: {len(VIEWS)} views by vectors and BM25, scores fused, {K} hits",
        (
            "sections",
            "structrag, ms",
            "bare products and scores, ms",
            "structrag / bare",
            "the same, CPU",
            "structrag, raw view only, ms",
            "LangChain, raw view only, ms",
            "LangChain / structrag, both raw view only",
            "LangChain (raw view) / structrag (all views)",
        ),
        tuple(rows),
        corpus_line("made, raw view of the largest", made[max(made)].texts["raw"]),
        (
            "The query vector is given, so no model runs. Bare: three `matrix @ q` in float32 and "
            "three bm25s `get_scores`, unranked.",
            "LangChain: InMemoryVectorStore and EnsembleRetriever of langchain-classic; "
            "langchain-community, where BM25Retriever lives, "
            "is not needed: a retriever of ten lines calls rank_bm25 as that one does. It searches "
            "one view, ours three.",
        ),
        figures,
    )


def precision_table(single: Made, half: Made, repeat: int) -> Table:
    """float32 against float16 vectors."""
    searches: dict[str, Search] = {
        name: MultiViewRetriever(one.index, k=K).search
        for name, one in (("float32", single), ("float16", half))
    }
    timings = _searches(searches, single.queries, repeat)
    found = [
        [{hit.chunk.id for hit in search(query)} for query in single.queries]
        for search in searches.values()
    ]
    shared = sum(len(a & b) for a, b in zip(*found, strict=True)) / max(
        1, sum(map(len, found[0]))
    )
    slower = spread(ratios(timings["float16"].wall, timings["float32"].wall), 2)
    rows = tuple(
        (name, _milliseconds(timing, len(single.queries)))
        for name, timing in timings.items()
    )
    return Table(
        f"Vectors as float32 and float16, {len(single.texts['raw']):,} sections, one search",
        ("vectors", "ms, median (min-max)"),
        rows,
        "",
        (
            f"float16 / float32 in time: {slower}. Hits in common: {100 * shared:.1f} %.",
        ),
        {
            name: {"wall": timing.wall, "cpu": timing.cpu}
            for name, timing in timings.items()
        },
    )


def change_table(made: Made, *, repeat: int) -> Table:
    """What a change costs, and the search after it."""
    store = made.index.store
    search = partial(MultiViewRetriever(made.index, k=K).search, made.queries[0])
    random = np.random.default_rng(1)
    entries = [made_entry("new", 100, random), made_entry("new", 100, random)]
    changes: dict[str, Callable[[], object]] = {
        "add a document of 100 sections": lambda: store.put(entries[0]),
        "replace it": lambda: store.put(entries[1]),
        "delete it": lambda: store.delete("new"),
    }
    spent: dict[str, list[tuple[float, float, float]]] = {name: [] for name in changes}
    search()
    for _ in range(repeat):
        for name, change in changes.items():
            changed = _seconds(change)
            first = _seconds(search)
            spent[name].append((changed, first, _seconds(search)))
    rows = tuple(
        (name, *(spread([1000 * row[i] for row in values]) for i in range(3)))
        for name, values in spent.items()
    )
    return Table(
        f"Changes at {len(made.texts['raw']):,} sections",
        ("change", "the change, ms", "next search, ms", "the search after, ms"),
        rows,
        "",
        ("Texts and vectors are given: no splitting, no model.",),
        dict(spent),
    )


def saving_table(made: dict[str, Made], folder: Path) -> Table:
    """Save, size on disk, and the first result in a new process."""
    rows = []
    figures: dict[str, Any] = {}
    for name, one in made.items():
        path = folder / name
        saving = _seconds(partial(one.index.save, path))
        vector = folder / f"{name}.npy"
        np.save(vector, one.vector)
        command = [
            sys.executable,
            "-c",
            _FIRST_RESULT,
            str(path),
            str(vector),
            one.queries[0],
        ]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        times = json.loads(answer.stdout)
        expected = [
            hit.chunk.id
            for hit in MultiViewRetriever(one.index, k=K).search(one.queries[0])
        ]
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        figures[name] = {
            "save": saving,
            **{k: v for k, v in times.items() if k != "ids"},
            "bytes": size,
        }
        rows.append(
            (
                name,
                f"{saving:.1f}",
                f"{size / 1e6:,.0f}",
                *(
                    f"{1000 * times[step]:,.0f}"
                    for step in ("import", "load", "first", "second")
                ),
                "yes" if times["ids"] == expected else "no",
            )
        )
    return Table(
        "Save, and first result in a new process",
        (
            "vectors",
            "save, s",
            "on disk, MB",
            "import, ms",
            "load, ms",
            "first search, ms",
            "second search, ms",
            "same hits",
        ),
        tuple(rows),
        "",
        (
            "Measured once. Files were just written, so they are in the system's cache. Checksums "
            "are written at saving, and compared when a block is first read.",
        ),
        figures,
    )


def _searches(
    searches: dict[str, Search], queries: Sequence[str], repeat: int
) -> dict[str, Timing]:
    return by_turns(
        {name: partial(_all, search, queries) for name, search in searches.items()},
        repeat,
    )


def _all(search: Search, queries: Sequence[str]) -> None:
    for query in queries:
        search(query)


def _milliseconds(timing: Timing, n: int) -> str:
    return spread([1000 * value / n for value in timing.wall])


def _seconds(task: Callable[[], object]) -> float:
    started = time.perf_counter()
    task()
    return time.perf_counter() - started
