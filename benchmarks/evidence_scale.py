"""Evidence over a million pieces, in a folder and in LanceDB.

    python benchmarks/evidence_scale.py [--pieces 1000000] [--stores lancedb folder]

fills a store of each kind with so many pieces, asks it questions in fresh processes, and writes
benchmarks/results/evidence_scale.md. What was measured is kept in
benchmarks/results/cache/evidence_scale, so that a run that was stopped goes on, and the stores too:
25 GB for a million pieces. `--again` measures anew. The real documents are embedded the first time
by all-MiniLM-L6-v2 in bfloat16, which takes six minutes of a processor; questions are read from a
file then, and no figure has the encoder's part. All times are seconds of the process on processors.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import structrag.retrieval.evidence.level as store_module
import structrag.retrieval.evidence.retriever as retriever_module
from benchmarks.evidence_pieces import (
    KEPT,
    KeptQuestions,
    Pieces,
    real_entries,
    real_pieces,
    repeat,
)
from benchmarks.freshness import RESULTS, save
from benchmarks.machine import machine_line, versions_line
from benchmarks.methods_tables import mean_of_sets
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset
from structrag import EvidenceRetriever, __version__
from structrag.evaluation import SpanMeasure, span_recall
from structrag.evaluation.measure import spans_of
from structrag.index.document_index import engine_of, open_store
from structrag.index.entries import Entry
from structrag.index.lance import INDEX_CACHE, METADATA_CACHE
from structrag.index.store import Store
from structrag.retrieval.evidence.pool import VIEW

COMMIT = 10_240  # pieces that are put together
NUMBERS = (50, 100, 200)  # of pieces that a question reads
MADE = 500_000  # pieces that are put as documents; further rows of LanceDB are copied
REFERENCE = 1000  # pieces in place of all, where all would take an hour
WARM = 40  # questions that are asked before those whose times count
COLD = 8  # fresh processes
DEPTHS = (10, 100, 200)
NEAREST = 20  # questions whose nearest vectors are compared with all
GIB = 2**30
MILLIONS = (1, 10, 100)

Asked = list[tuple[str, Any]]  # the set and the question
Values = dict[str, Any]


# -- building


def groups(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Entries of about COMMIT pieces each."""
    group: list[Entry] = []
    size = 0
    for entry in entries:
        group.append(entry)
        size += len(entry.chunks)
        if size >= COMMIT:
            yield group
            group, size = [], 0
    if group:
        yield group


def filled(
    address: str, settings: Any, config: Any, shared: Any, pipe: Connection
) -> None:
    """Put what comes through a pipe into a new store. Sends what that cost."""
    waited, began = 0.0, perf_counter()
    store = open_store(address, settings, config)
    store.shared.update(shared)
    while True:
        began_waiting = perf_counter()
        group = pipe.recv()
        waited += perf_counter() - began_waiting
        if group is None:
            break
        store.put_all(group)
    if engine_of(address) is None:
        store.save(address, config=config)
    pipe.send(costs(began + waited))


def indexed(address: str) -> Values:
    """Make what an engine searches by."""
    began = perf_counter()
    store = open_store(address)
    store.save(address)
    joining = getattr(store, "_joining", None)
    if joining is not None:
        joining.join()
    return costs(began)


def costs(began: float) -> Values:
    """The seconds of this process, and the most memory that it has used, in GiB."""
    return {"cpu": process_time(), "wall": perf_counter() - began, "peak": peak()}


def peak() -> float:
    """The most memory that this process has used, in GiB. `ru_maxrss` would begin with what the
    process that started it had used."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 2**20


def put(address: str, index: Path, entries: Iterator[Entry]) -> Values:
    """Put documents into a store in a fresh process, whose memory is thus the store's alone."""
    saved = Store.load(index)
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    given = saved.settings, saved.config, dict(saved.shared), theirs
    process = context.Process(target=filled, args=(address, *given))
    process.start()
    count = told = 0
    for group in groups(entries):
        ours.send(group)
        count += sum(len(entry.chunks) for entry in group)
        if count - told >= 50_000:
            print(f"{address}: {count:,} pieces", file=sys.stderr, flush=True)
            told = count
    ours.send(None)
    values: Values = ours.recv()
    process.join()
    return {"pieces": count, **values}


def build(address: str, n_pieces: int, n_made: int, index: Path) -> Values:
    """Fill a store with made pieces, in LanceDB with rows of them once more, and the real ones."""
    place = address.removeprefix("lancedb:")
    shutil.rmtree(place, ignore_errors=True)
    n_pieces -= len(Store.load(index))
    values = put(address, index, Pieces(index).entries(min(n_pieces, n_made)))
    if engine_of(address) is not None:
        repeat(place, n_pieces)
    put(address, index, real_entries(index))
    return values


def pieces_in(address: str) -> int:
    return len(open_store(address))


def size_of(address: str) -> float:
    """The size of an index's folder, in GiB."""
    folder = Path(address.removeprefix("lancedb:"))
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files) / GIB


# -- questions


def asked(
    address: str, kept: Path, questions: Sequence[str], found: int | None
) -> Values:
    """Ask a store, of which a question reads so many pieces; None: all, of which a pool is made
    once. Gives the milliseconds of opening and of each question, the spans that it was given, and
    the most memory."""
    if found is not None:
        for module in (retriever_module, store_module):
            module.FOUND = found  # type: ignore[attr-defined]
    began = process_time()
    retriever = EvidenceRetriever.load(address, KeptQuestions(kept))
    level = retriever.level
    opening = 1000 * (process_time() - began)
    if found is None:
        whole = level.all_of(level.reader(), None)
        level.near = lambda *_: whole  # type: ignore[method-assign]
    times, spans = [], []
    for question in questions:
        began = process_time()
        hits = retriever.search(question)
        times.append(1000 * (process_time() - began))
        spans.append(spans_of([hit.chunk for hit in hits]))
    return {"opening": opening, "times": times, "spans": spans, "peak": peak()}


def nearest(
    address: str, kept: Path, questions: Sequence[str]
) -> dict[str, list[float]]:
    """Of each question the share of its nearest vectors that LanceDB's index finds, by depth."""
    encoder, store = KeptQuestions(kept), open_store(address)
    shares: dict[str, list[float]] = {str(depth): [] for depth in DEPTHS}
    for question in questions:
        (vector,) = encoder.embed([question])
        ranked = []
        for exact in (False, True):
            store.exact = exact  # type: ignore[attr-defined]
            rows = store.reader().search_dense(VIEW, vector, 2 * NUMBERS[1])
            ranked.append([row for row, _ in rows])
        for depth in DEPTHS:
            near, right = (set(rows[:depth]) for rows in ranked)
            shares[str(depth)].append(len(near & right) / depth)
    return shares


def fresh(work: Callable[..., Any], *given: Any) -> Any:
    """What a function gives in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


class Kept:
    """What was measured."""

    def __init__(self, path: Path, again: bool) -> None:
        self._path = path
        is_there = path.is_file() and not again
        self.values: Values = json.loads(path.read_text()) if is_there else {}

    def of(self, name: str, work: Callable[..., Any], *given: Any) -> Any:
        """What a function gives, or gave in an earlier run."""
        if name not in self.values:
            self.values[name] = work(*given)
            self._path.write_text(json.dumps(self.values))
            print(name, file=sys.stderr, flush=True)
        return self.values[name]


def measured(
    kept: Kept,
    store: str,
    sizes: tuple[int, int],
    index: Path,
    vectors: Path,
    asks: Asked,
) -> Values:
    """All figures of a store of so many pieces."""
    n_pieces, n_made = sizes
    address = str(KEPT / f"{store}-{n_pieces}")
    if store != "folder":
        address = f"{store}:{address}"
    of = partial(_of_store, kept, f"{store} {n_pieces}")
    texts = [question.question for _, question in asks]
    values: Values = {
        "putting": of("putting", build, address, n_pieces, n_made, index),
        "indexing": of("indexing", fresh, indexed, address),
        "disk": of("disk", size_of, address),
        "pieces": of("pieces", fresh, pieces_in, address),
    }
    # A folder finds the same.
    for found in (*NUMBERS, *([REFERENCE] if store == "lancedb" else [])):
        ask = fresh, asked, address, vectors
        values[f"asked {found}"] = of(f"asked {found}", *ask, texts, found)
    values["cold"] = [
        of(f"cold {text}", fresh, asked, address, vectors, [text], NUMBERS[1])
        for text in texts[:: max(1, len(texts) // COLD)][:COLD]
    ]
    if store == "lancedb":
        some = texts[:: max(1, len(texts) // NEAREST)]
        values["nearest"] = of("nearest", fresh, nearest, address, vectors, some)
    return values


def _of_store(kept: Kept, store: str, name: str, *work: Any) -> Any:
    return kept.of(f"{store} {name}", *work)


def recalls(
    sets: Mapping[str, Dataset], asks: Asked, spans: Sequence[Any]
) -> list[list[float]]:
    """The recall of each set's questions."""
    found: dict[str, list[float]] = {name: [] for name in sets}
    measures = {name: SpanMeasure(of_set.texts) for name, of_set in sets.items()}
    for (name, question), given in zip(asks, spans, strict=True):
        own = [tuple(span) for span in given if span[0] in sets[name].texts]
        recall = span_recall(question.gold, own, measures[name], mode=question.mode)
        found[name].append(recall or 0.0)
    return list(found.values())


# -- the page


def page(
    values: Mapping[str, Values],
    exact: Mapping[Any, Values],
    sets: Mapping[str, Dataset],
    asks: Asked,
    n_real: int,
) -> str:
    """All tables."""
    by_number = {f"{found} pieces": of["spans"] for found, of in exact.items() if found}
    all_of = exact[None]["spans"]
    parts = [
        "# Evidence at scale",
        f"- structrag {__version__}, {versions_line(['lancedb', 'numpy'])}; {machine_line()}",
        f"- {n_real:,} real pieces of {', '.join(sets)} (all-MiniLM-L6-v2, bfloat16), and copies "
        "made of them: half of their words replaced by others of one length and of about the same "
        "frequency, in texts and stems; half of their tokens by those of other pieces; and to each "
        "vector three quarters of another piece's added. `benchmarks/evidence_pieces.py` has it "
        "exactly. The rows of LanceDB beyond those put as documents are copies of these, with "
        "vectors turned again and half of their terms of other pieces; real pieces come last.",
        f"- {len(asks)} questions of the sets, asked of all pieces together, within 1,000 tokens",
        "- milliseconds and seconds are those of the process on processors, GiB the most memory "
        "that a process used, mapped files among it; other work was on the machine",
        "## Building",
        f"Putting {COMMIT:,} pieces a commit, embedding aside; then the indexes.",
        building(values),
        "## A question",
        f"Opened: of {COLD} fresh processes, before the first question. First: their first "
        f"question. Warm: the questions after {WARM} others, no two of them the same.",
        questions(values),
        f"## Recall of the {n_real:,} real pieces alone",
        "Of the exact search, which scores all pieces, and the difference of searches that read "
        "so many pieces and their neighbours; in points, with the central 95 % of 1,000 paired "
        "bootstrap samples.",
        recall_table(sets, asks, by_number, all_of, "all pieces"),
        "Pieces chosen by the other sets: " + left_out(sets, asks, by_number, all_of),
    ]
    for store, of_store in values.items():
        if f"asked {REFERENCE}" not in of_store:
            continue
        spans = {
            f"{found} pieces": of_store[f"asked {found}"]["spans"] for found in NUMBERS
        }
        reference = of_store[f"asked {REFERENCE}"]["spans"]
        label = f"{REFERENCE:,} pieces"
        parts += [
            f"## Recall of {of_store['pieces']:,} pieces, {store}",
            f"Beside searches that read {label}, as reading all would take hours.",
            recall_table(sets, asks, spans, reference, label),
            "Pieces chosen by the other sets: "
            + left_out(sets, asks, spans, reference),
        ]
        if "nearest" in of_store:
            found = ", ".join(
                f"{mean_of_sets([of_store['nearest'][str(depth)]])} % of the first {depth}"
                for depth in DEPTHS
            )
            parts.append(f"Of the nearest vectors LanceDB's index finds {found}.")
    parts += [
        "## More pieces",
        "By proportion. A question reads as many pieces and more lists of vectors; the first of a "
        "process reads the numbers of all rows once. What LanceDB keeps of indexes and files in "
        f"memory is at most {(INDEX_CACHE + METADATA_CACHE) / GIB:.2f} GiB.",
        more(values),
    ]
    return "\n\n".join(parts) + "\n"


def building(values: Mapping[str, Values]) -> str:
    rows = []
    for store, of in values.items():
        putting, indexing = of["putting"], of["indexing"]
        rows.append(
            [
                f"{store}, {of['pieces']:,}",
                f"{putting['pieces']:,}",
                f"{putting['cpu']:.0f}",
                f"{1000 * putting['cpu'] / putting['pieces']:.2f}",
                f"{putting['peak']:.1f}",
                f"{indexing['cpu']:.0f}",
                f"{indexing['peak']:.1f}",
                f"{of['disk']:.1f}",
                f"{of['disk'] * 2**20 / of['pieces']:.1f}",
            ]
        )
    heads = ["put as documents", "s", "ms a piece", "GiB", "indexes, s", "GiB"]
    return markdown_table(["", *heads, "disk, GiB", "KiB a piece"], rows, labels=1)


def questions(values: Mapping[str, Values]) -> str:
    rows = []
    for store, of in values.items():
        opened = [one["opening"] for one in of["cold"]]
        first = [one["times"][0] for one in of["cold"]]
        for found in (number for number in NUMBERS if f"asked {number}" in of):
            times = of[f"asked {found}"]["times"]
            warm = times[WARM:] or times
            is_cold = found == NUMBERS[1]
            rows.append(
                [
                    f"{store}, {found} pieces",
                    *(_quantiles(cold) if is_cold else "" for cold in (opened, first)),
                    _quantiles(warm),
                    f"{of[f'asked {found}']['peak']:.2f}",
                ]
            )
    heads = ["opened, ms", "first, ms", "warm, ms (50 and 95 of 100 below)", "GiB"]
    return markdown_table(["", *heads], rows, labels=1)


def _quantiles(times: Sequence[float]) -> str:
    if not times:
        return ""
    half, most = np.quantile(times, (0.5, 0.95))
    return f"{half:.0f}, {most:.0f}"


def recall_table(
    sets: Mapping[str, Dataset],
    asks: Asked,
    spans: Mapping[str, Sequence[Any]],
    reference: Sequence[Any],
    label: str,
) -> str:
    right = recalls(sets, asks, reference)
    rows = [
        [label, *(f"{100 * np.mean(of):.1f}" for of in right), str(mean_of_sets(right))]
    ]
    for name, given in spans.items():
        own = recalls(sets, asks, given)
        gaps = [np.subtract(*pair).tolist() for pair in zip(own, right, strict=True)]
        cells = [f"{100 * np.mean(of):+.1f}" for of in gaps]
        rows.append([name, *cells, str(mean_of_sets(gaps))])
    return markdown_table(["", *sets, "mean"], rows, labels=1)


def left_out(
    sets: Mapping[str, Dataset],
    asks: Asked,
    spans: Mapping[str, Sequence[Any]],
    reference: Sequence[Any],
) -> str:
    """For each set the number that is best on the others, and the difference with it."""
    means = {
        name: [np.mean(of) for of in recalls(sets, asks, given)]
        for name, given in spans.items()
    }
    right = recalls(sets, asks, reference)
    told, gaps = [], []
    for number, name in enumerate(sets):
        best = max(means, key=lambda one: sum(np.delete(means[one], number)))
        own = recalls(sets, asks, spans[best])[number]
        gaps.append(np.subtract(own, right[number]).tolist())
        told.append(f"{name} {best.split()[0]}")
    return f"{', '.join(told)}; the mean difference with these is {mean_of_sets(gaps)}."


def more(values: Mapping[str, Values]) -> str:
    rows = []
    for store, of in values.items():
        piece = of["putting"]["cpu"] / of["putting"]["pieces"]
        piece += of["indexing"]["cpu"] / of["pieces"]
        for millions in MILLIONS:
            rows.append(
                [
                    f"{store}, {millions} million",
                    f"{millions * of['disk'] * 10**6 / of['pieces']:,.0f}",
                    f"{millions * piece * 10**6 / 3600:,.1f}",
                    f"{millions * 10**6 * 8 / GIB:.2f}",
                ]
            )
    heads = ["disk, GiB", "building, h", "row numbers, GiB"]
    return markdown_table(["", *heads], rows, labels=1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stores", nargs="+", default=["lancedb", "folder"])
    parser.add_argument(
        "--pieces",
        type=int,
        nargs="+",
        default=[1_000_000],
        help="of all stores, or of each",
    )
    parser.add_argument(
        "--made", type=int, default=MADE, help="pieces that are put as documents"
    )
    parser.add_argument("--questions", type=int, default=15, help="of each set")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(arguments)
    index, vectors, sets = real_pieces()
    chosen = {
        name: of_set.questions[:: max(1, len(of_set.questions) // options.questions)]
        for name, of_set in sets.items()
    }
    asks = [
        (name, of_set[place])
        for place in range(options.questions)
        for name, of_set in chosen.items()
        if place < len(of_set)
    ]
    kept = Kept(KEPT / "measured.json", options.again)
    texts = [question.question for _, question in asks]
    exact = {
        found: kept.of(f"real {found}", fresh, asked, str(index), vectors, texts, found)
        for found in (*NUMBERS, None)
    }
    sizes = options.pieces * (1 if len(options.pieces) > 1 else len(options.stores))
    values = {
        store: measured(kept, store, (n_pieces, options.made), index, vectors, asks)
        for store, n_pieces in zip(options.stores, sizes, strict=True)
    }
    text = page(values, exact, sets, asks, len(open_store(str(index))))
    print(text)
    save(RESULTS / "evidence_scale.md", text, __file__)


if __name__ == "__main__":
    main()
