"""One index in each store: what building, searching and changing it costs.

    python benchmarks/stores.py [--rows 10000] [--questions 100] [--stores folder LanceDB]
    python benchmarks/stores.py --retriever hiqa [--rows 5000]
    python benchmarks/stores.py --made [--rows 100000] [--stores ...]

Real texts of the evaluation data; copies of them, their words shuffled, where more rows are asked
for than there are. Vectors are made of words by a stand-in embedder of 384 dimensions. Each store
is filled in a process of its own, in groups as `Index.add` makes them, view "raw". A question is
eight words of a chunk that follow each other, asked of `MultiViewRetriever` (vectors and BM25, ten
hits); with `--retriever hiqa`, of `HiQARetriever` (critical keywords too, which it reads from all
chunks at the very first question). The first questions are those behind that one. Then 200 others
are asked, for a minute at most, and then as many new ones as at first: an engine keeps what it has
read by then. An update adds a document again that has changed, and keeps it. Overlap is the share
of the first ten hits that are those of the folder.

With `--made`, sections are made, without splitting and embedding, and stores of others take the
same; they are measured where their packages are installed. A document has 100 sections then.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.freshness import save
from benchmarks.ingestion import pieces
from benchmarks.machine import machine_line, versions_line
from benchmarks.question_sets import NAMES, DataMissing
from benchmarks.stores_made import PEERS, Made, Subject, own
from structrag import (
    FunctionEmbedder,
    HiQARetriever,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.records import Document
from structrag.text.terms import terms

RESULTS = Path(__file__).resolve().parent / "results"
STORES = {"folder": "{}", "LanceDB": "lancedb:{}", "Milvus Lite": "milvus:{}.db"}
DIMENSIONS = 384
RETRIEVERS: dict[str, Callable[..., Any]] = {
    "multiview": MultiViewRetriever,
    "hiqa": HiQARetriever,
}
UPDATES = 10
# Other questions between the first and the later ones.
BETWEEN, BETWEEN_SECONDS = 200, 60


def main() -> int:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000])
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--retriever", choices=RETRIEVERS, default="multiview")
    parser.add_argument(
        "--made", action="store_true", help="made sections, and others' stores"
    )
    parser.add_argument("--stores", nargs="+", choices=[*STORES, *PEERS])
    parser.add_argument("--results", type=Path)
    parser.add_argument(
        "--limit", type=float, default=3600.0, help="seconds for each store"
    )
    # The store that this process measures.
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.made and options.retriever != "multiview":
        parser.error(
            "--made goes with --retriever multiview alone; leave out one of them"
        )
    if options.one:
        (n_rows,) = options.rows
        kind = RETRIEVERS[options.retriever]
        figures = measured(
            options.one, n_rows, options.questions, made=options.made, kind=kind
        )
        print(json.dumps(figures))
        return 0
    try:
        next(pieces(NAMES[0]))
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 0
    names = options.stores or [*STORES, *(PEERS if options.made else ())]
    tables = [
        (n_rows, {name: in_process(name, n_rows, options) for name in names})
        for n_rows in options.rows
    ]
    page = rendered(tables, options)
    print(page)
    kind = "_made" if options.made else ""
    if options.retriever != "multiview":
        kind = f"_{options.retriever}"
    save(options.results or RESULTS / f"stores{kind}.md", page, __file__)
    return 0


def in_process(
    name: str, n_rows: int, options: argparse.Namespace
) -> dict[str, Any] | str:
    """`measured` in a process of its own, whose memory is its own; or why there is nothing."""
    command = [sys.executable, __file__, "--one", name, "--rows", n_rows]
    command += ["--questions", options.questions, "--retriever", options.retriever]
    command += ["--made"] if options.made else []
    try:
        outcome = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            timeout=options.limit,
        )
    except subprocess.TimeoutExpired:
        return f"not done in {options.limit:g} seconds"
    if outcome.returncode:
        return (
            outcome.stderr.strip().splitlines() or [f"ended by {outcome.returncode}"]
        )[-1]
    figures: dict[str, Any] = json.loads(outcome.stdout.splitlines()[-1])
    return figures


def measured(
    name: str,
    n_rows: int,
    questions: int,
    *,
    made: bool,
    kind: Callable[..., Any] = MultiViewRetriever,
) -> dict[str, Any]:
    """The figures of one store, and what a retriever of that kind found in it."""
    # Milvus Lite may still be joining segments.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "corpus"
        if name in PEERS:
            place.mkdir()
            subject = PEERS[name](place, Made(n_rows))
        elif made:
            subject = own(STORES[name].format(place), Made(n_rows))
        else:
            subject = real(STORES[name].format(place), n_rows, kind)
        build, build_cpu = timed(subject.fill)
        size = sum(
            file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()
        )
        texts = subject.questions(1 + questions + BETWEEN + questions)
        opening = timed(lambda: subject.ask(texts[0]))
        found: list[list[str]] = []

        def asked_each(asked: Sequence[str]) -> list[list[float]]:
            seconds = [timed(lambda q=q: found.append(subject.ask(q))) for q in asked]
            return (np.percentile(np.array(seconds), [50, 95], axis=0) * 1000).tolist()

        first = asked_each(texts[1 : 1 + questions])
        began = time.perf_counter()
        for text in texts[1 + questions : -questions]:
            if time.perf_counter() - began > BETWEEN_SECONDS:
                break
            subject.ask(text)
        later = asked_each(texts[-questions:])
        updates = np.array(
            [timed(partial(subject.update, number)) for number in range(UPDATES)]
        )
        return {
            "sections": subject.count(),
            "build": build,
            "build_cpu": build_cpu,
            "megabytes": size / 1e6,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "opening": [seconds * 1000 for seconds in opening],
            "first": first,
            "later": later,
            "updates": (np.median(updates, axis=0) * 1000).tolist(),
            "found": found,
        }


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    began, before = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - before


def real(address: str, n_rows: int, kind: Callable[..., Any]) -> Subject:
    """Our index at an address, of real texts."""
    documents = list(enough(n_rows))
    embedder = FunctionEmbedder(embedded, name="words")
    index = Index(embedder=embedder, views=["raw"], store=address)
    retriever = kind(index, k=10)

    def update(number: int) -> None:
        document = documents[number]
        index.add([replace(document, text=f"{document.text}\nIt has changed.\n")])

    return Subject(
        fill=lambda: index.add(documents),
        ask=lambda question: [hit.chunk.id for hit in retriever.search(question)],
        update=update,
        questions=lambda count: list(asked(index, count)),
        count=lambda: len(index),
    )


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
    seed = int.from_bytes(
        word.encode("utf-8", "surrogatepass")[:16].ljust(16, b" "), "big"
    )
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
    chunks = index.store.chunks()
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


def rendered(
    tables: Sequence[tuple[int, dict[str, dict[str, Any] | str]]],
    options: argparse.Namespace,
) -> str:
    """The page of results."""
    rows = " ".join(str(n_rows) for n_rows, _ in tables)
    kind = "--made " if options.made else ""
    if options.retriever != "multiview":
        kind = f"--retriever {options.retriever} "
    command = f"{kind}--rows {rows} --questions {options.questions}"
    if options.stores:
        command += f" --stores {' '.join(map(repr, options.stores))}"
    packages = ["lancedb", "pymilvus", "milvus-lite", "numpy"]
    if options.made:
        packages += ["chromadb", "qdrant-client", "llama-index-core", "langchain-core"]
    lines = [
        "# One index in each store",
        "",
        f"Measured by `python benchmarks/stores.py {command}`; what is measured stands in its "
        "head.",
        "",
        f"- machine: {machine_line()}",
        f"- {versions_line(packages)}",
        "- building, questions (median and 95th percentile) and updates by the clock, and in "
        "brackets by the processor, all threads together; memory is the peak of the whole "
        "process, embedder, documents and mapped files included",
        f"- between the first and the later questions lie {BETWEEN} others, or "
        f"{BETWEEN_SECONDS} seconds of them",
        "",
        "| store | sections | build, s | disk, MB | peak memory, MiB | very first question, ms "
        "| first ones p50, ms | p95, ms | later ones p50, ms | p95, ms | update, ms "
        "| first ten as in the folder |",
        f"|{' --- |' + ' ---: |' * 11}",
    ]
    for n_rows, by_store in tables:
        folder = by_store.get("folder", "")
        for name, figures in by_store.items():
            if isinstance(figures, str):
                lines.append(f"| {name} | {n_rows:,} | {figures} | | | | | | | | | |")
                continue
            asked = [
                f"{by_clock:.1f} ({by_processor:.1f})"
                for by_clock, by_processor in [
                    figures["opening"],
                    *figures["first"],
                    *figures["later"],
                ]
            ]
            update, update_cpu = figures["updates"]
            is_comparable = name in STORES and not isinstance(folder, str)
            same = overlap(figures["found"], folder["found"]) if is_comparable else None
            lines.append(
                f"| {name} | {figures['sections']:,} | "
                f"{figures['build']:.0f} ({figures['build_cpu']:.0f}) | "
                f"{figures['megabytes']:.0f} | {figures['memory']:.0f} | {' | '.join(asked)} | "
                f"{update:.0f} ({update_cpu:.0f}) | "
                f"{'' if same is None else f'{same:.3f}'} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
