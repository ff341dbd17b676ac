"""Questions a second of each store, alone and while an ingestion writes to it.

    python benchmarks/queries.py [--rows 10000] [--more 5000] [--seconds 5]

Each store is filled by `ingest` with files of real texts, then asked by `MultiViewRetriever`
(vectors and BM25, ten hits) in 1, 2 and 4 threads of one process, and in as many processes that
opened it, for some seconds each. Then more files are ingested into the same store, by a process of
its own where the store allows, while two threads ask on; and a reader that was opened before
answers some questions again and again, which must give what it gave before. Milvus Lite may be
opened by one process at a time, so its ingestion runs in a thread and has no processor time of its
own. There the vectors' answers alone are compared, since BM25 may weigh all rows again, and until
the reader is told that what it read is gone, which is after a minute. Texts, vectors and questions
are those of `stores.py`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import ingestion_models
from benchmarks.freshness import save
from benchmarks.ingestion import pieces
from benchmarks.machine import machine_line, versions_line
from benchmarks.question_sets import NAMES, DataMissing
from benchmarks.stores import STORES, asked, embedded, enough
from structrag import Index, MultiViewRetriever, ingest
from structrag.errors import ModelFailed

RESULTS = Path(__file__).resolve().parent / "results" / "queries.md"
AT_ONCE = (1, 2, 4)
KINDS = ("in threads", "in processes")
WHILE = 2  # threads that ask while it is written to
ALONE = "Milvus Lite"  # which one process may open
N_QUESTIONS = 200
CHECKED = 40  # questions of the reader that was opened before


def main() -> int:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument(
        "--more", type=int, default=5_000, help="chunks that are added meanwhile"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each figure")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    try:
        next(pieces(NAMES[0]))
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        first, more = written(place / "files", options.rows, options.more)
        rows = [measured(name, place, first, more, options.seconds) for name in STORES]
    command = (
        f"--rows {options.rows} --more {options.more} --seconds {options.seconds:g}"
    )
    page = rendered(rows, command, len(first), len(more))
    print(page)
    save(options.results, page, __file__)
    return 0


def written(folder: Path, n_rows: int, n_more: int) -> tuple[list[str], list[str]]:
    """Files of about so many chunks, and of so many more."""
    folder.mkdir()
    paths = []
    chunks = 0
    n_first = 0
    for number, document in enumerate(enough(n_rows + n_more)):
        paths.append(str(folder / f"{number:06}.txt"))
        Path(paths[-1]).write_text(document.text, encoding="utf-8")
        chunks += 1 + len(document.text) // 1000
        if chunks <= n_rows:
            n_first = len(paths)
    return paths[:n_first], paths[n_first:]


def measured(
    name: str, place: Path, first: list[str], more: list[str], seconds: float
) -> dict[str, Any]:
    """The figures of one store."""
    address = STORES[name].format(place / name.replace(" ", ""))
    fill(address, first)
    index = opened(address)
    questions = list(asked(index, N_QUESTIONS))
    row: dict[str, Any] = {"name": name, "chunks": len(index)}
    retriever = MultiViewRetriever(index, k=10)
    for n in AT_ONCE:
        row[f"{n} {KINDS[0]}"] = by_threads(retriever, questions, n, lasting(seconds))
        if name != ALONE:
            row[f"{n} {KINDS[1]}"] = by_processes(address, questions, n, seconds)
    row |= during(name, address, index, questions, more)
    print(row, file=sys.stderr, flush=True)
    return row


def fill(address: str, files: Sequence[str]) -> None:
    report = ingest(files, address, make=ingestion_models.with_words, workers=1)
    assert not report.errors, report.errors


def opened(address: str) -> Index:
    return Index.load(address, embedder=ingestion_models.with_words().embedder)


def lasting(seconds: float) -> Callable[[], bool]:
    """Whether it is not over yet, from the first call on."""
    end: list[float] = []

    def goes_on() -> bool:
        if not end:
            end.append(time.perf_counter() + seconds)
        return time.perf_counter() < end[0]

    return goes_on


def by_threads(
    retriever: MultiViewRetriever,
    questions: Sequence[str],
    n: int,
    goes_on: Callable[[], bool],
) -> tuple[float, float]:
    """Questions a second, and processor milliseconds of each, asked by `n` threads."""
    retriever.search(questions[0])

    def ask(number: int) -> int:
        for answered in count():
            if not goes_on():
                return answered
            retriever.search(questions[(n * answered + number) % len(questions)])
        raise AssertionError

    with ThreadPoolExecutor(n) as pool:
        began, before = time.perf_counter(), time.process_time()
        answered = sum(pool.map(ask, range(n)))
        clock, processor = time.perf_counter() - began, time.process_time() - before
    return answered / clock, processor / max(answered, 1) * 1000


def by_processes(
    address: str, questions: Sequence[str], n: int, seconds: float
) -> tuple[float, float]:
    """The same by `n` processes with a thread each, which begin together."""
    context = multiprocessing.get_context("spawn")
    begin, figures = context.Barrier(n), context.Queue()
    arguments = (address, list(questions), seconds, begin, figures)
    children = [context.Process(target=child, args=arguments) for _ in range(n)]
    for process in children:
        process.start()
    answers = [figures.get() for _ in children]
    for process in children:
        process.join()
    rate = sum(rate for rate, _ in answers)
    return rate, sum(r * milliseconds for r, milliseconds in answers) / rate


def child(
    address: str, questions: list[str], seconds: float, begin: Any, figures: Any
) -> None:
    retriever = MultiViewRetriever(opened(address), k=10)
    retriever.search(questions[0])
    begin.wait()
    figures.put(by_threads(retriever, questions, 1, lasting(seconds)))


def during(
    name: str, address: str, index: Index, questions: Sequence[str], more: list[str]
) -> dict[str, Any]:
    """The figures while more files come in, and whether an earlier reader still says the same."""
    reader = index.reader()
    vectors = embedded(questions[:CHECKED])

    def answers() -> list[Any]:
        rankings = [reader.search_dense("raw", vector, 10) for vector in vectors]
        if name != ALONE:
            asked = questions[:CHECKED]
            rankings += [
                reader.search_lexical("raw", question, 10) for question in asked
            ]
        return rankings

    before, checks, is_over = answers(), 0, threading.Event()

    def add() -> None:
        try:
            if name == ALONE:
                fill(address, more)
                return
            code = (
                "import sys; from benchmarks.queries import fill; "
                "fill(sys.argv[1], sys.argv[2:])"
            )
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            }
            command = [sys.executable, "-c", code, address, *more]
            subprocess.run(command, check=True, env=environment)
        finally:
            is_over.set()

    with ThreadPoolExecutor(2) as pool:
        began = time.perf_counter()
        adding = pool.submit(add)
        retriever = MultiViewRetriever(index, k=10)
        call_settings = pool.submit(
            by_threads, retriever, questions, WHILE, lambda: not is_over.is_set()
        )
        with suppress(ModelFailed):  # the reader has become too old
            while not is_over.is_set():
                assert answers() == before, (
                    f"{name}: an earlier reader answers otherwise"
                )
                checks += 1
        adding.result()
        rate, milliseconds = call_settings.result()
    return {
        "during": (rate, None if name == ALONE else milliseconds),
        "checks": checks * len(before),
        "seconds": time.perf_counter() - began,
        "after": len(opened(address)),
    }


def rendered(
    rows: Sequence[dict[str, Any]], command: str, n_first: int, n_more: int
) -> str:
    """The page."""
    columns = [f"{n} {kind}" for kind in KINDS for n in AT_ONCE]
    lines = [
        "# Questions a second",
        "",
        f"Measured by `python benchmarks/queries.py {command}`, whose head says what.",
        "",
        f"- machine: {machine_line()}",
        f"- {versions_line(['lancedb', 'pymilvus', 'milvus-lite', 'numpy'])}",
        f"- {n_first:,} files, then {n_more:,} more; load average at the end "
        f"{os.getloadavg()[0]:.1f}: above {os.cpu_count()} others used the cores too",
        "- in brackets: milliseconds of the processor a question, of the processes that ask",
        "",
        f"| store | chunks | {' | '.join(columns)} | {WHILE} threads, while it is written to "
        "| chunks after |",
        f"| --- | ---: |{' ---: |' * (len(columns) + 2)}",
    ]
    for row in rows:
        cells = [cell(row.get(column)) for column in [*columns, "during"]]
        lines.append(
            f"| {row['name']} | {row['chunks']:,} | {' | '.join(cells)} | {row['after']:,} |"
        )
    checks = ", ".join(f"{row['checks']:,} of {row['name']}" for row in rows)
    return "\n".join(
        [
            *lines,
            "",
            "While the stores were written to, readers that had been opened before answered as "
            f"before: all of {checks} answers.",
            "",
        ]
    )


def cell(figures: tuple[float, float | None] | None) -> str:
    if figures is None:
        return "one process alone"
    rate, milliseconds = figures
    return f"{rate:.0f}" if milliseconds is None else f"{rate:.0f} ({milliseconds:.0f})"


if __name__ == "__main__":
    raise SystemExit(main())
