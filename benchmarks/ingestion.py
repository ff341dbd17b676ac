"""What `ingest` costs beside its work, and what it is like after kills.

    python benchmarks/ingestion.py [--files 10000] [--model-files 500] [--kills 20]

The files are the Markdown and HTML of the set `parsing`, whole, and the documents of the other
sets, cut at blank lines into pieces of a thousand characters and more.
Beside `ingest` by as many processes as there are cores runs a plain loop in one process: read,
add, save. Times are those of the processors, of all processes together; of the loop also what is
spent in reading, splitting and embedding, which is the work that cannot be spared. "Cores asked
for" are those on which its threads ran or waited to run, since others use the machine too. Then the
ingestion is begun again and again, its workers and itself killed at random, until it ends; the
index must be that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import ingestion_models
from benchmarks.freshness import save
from benchmarks.machine import machine_line, versions_line
from benchmarks.question_sets import NAMES, DataMissing, data_root, load
from structrag import (
    ContentAwareSplitter,
    Index,
    StructragError,
    find_files,
    ingest,
    read_file,
)
from structrag.index.store import Store
from structrag.models.embedders import SentenceTransformerEmbedder

RESULTS = Path(__file__).resolve().parent / "results" / "ingestion.md"
PIECE = 1000  # characters of a file that is cut, at least
SUFFIXES = {"markdown": ".md", "html": ".html", "text": ".txt", "rst": ".txt"}
WORKERS = os.cpu_count() or 1
ACCELERATOR = 3000  # texts a second


def main() -> int:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--files", type=int, default=10_000, help="with a stand-in embedder"
    )
    parser.add_argument(
        "--model-files", type=int, default=500, help="with all-MiniLM-L6-v2"
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of pages without headings
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        try:
            write_files(place / "files", options.files)
            write_files(place / "few", options.model_files)
        except DataMissing as error:
            print(error, file=sys.stderr)
            return 0
        rows = [
            measured(
                "stand-in", place / "files", place / "many", ingestion_models.stand_in
            ),
            measured(
                "all-MiniLM-L6-v2",
                place / "few",
                place / "model",
                ingestion_models.with_minilm,
            ),
        ]
        start = starting(place)
        fed = feeding(place)
        outcome = killed(place, options.kills) if options.kills else ""
    page = rendered(rows, start, fed, outcome)
    print(page)
    save(options.results, page, __file__)
    return 0


def write_files(folder: Path, count: int) -> None:
    """Files of all sets in turn."""
    # hotpotqa has paragraphs, no files
    sources = [whole_files(), *(pieces(name) for name in NAMES if name != "hotpotqa")]
    written = 0
    while sources and written < count:
        for source in list(sources):
            piece = next(source, None)
            if piece is None:
                sources.remove(source)
                continue
            name, text = piece
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            written += 1
            if written == count:
                break


def whole_files() -> Iterator[tuple[str, str]]:
    """Names and texts of the files of `parsing`."""
    root = data_root() / "parsing"
    for file in sorted(root.rglob("*")):
        if file.suffix in {".md", ".html"}:
            text = file.read_text(encoding="utf-8", errors="replace")
            yield f"parsing/{file.relative_to(root)}", text


def pieces(name: str) -> Iterator[tuple[str, str]]:
    """Names and texts of files made of a set's documents; pages of HTML whole."""
    for number, document in enumerate(load(name).documents):
        suffix = SUFFIXES[document.format]
        if document.format == "html":
            yield f"{name}/{number}{suffix}", document.text
            continue
        start = part = 0
        while start < len(document.text):
            stop = document.text.find("\n\n", start + PIECE)
            stop = len(document.text) if stop < 0 else stop + 2
            yield f"{name}/{number}-{part}{suffix}", document.text[start:stop]
            start, part = stop, part + 1


def measured(
    label: str, files: Path, place: Path, make: Callable[[], Index]
) -> dict[str, Any]:
    """Processor and clock seconds of a plain loop and of `ingest`."""
    began, before = time.perf_counter(), processor_seconds()
    with parts_timed() as parts:
        rows = plain_loop(files, place / "loop", make)
    loop, loop_clock = processor_seconds() - before, time.perf_counter() - began
    began, before = time.perf_counter(), processor_seconds()
    with asked_for() as tasks:
        report = ingest(files, place / "ingested", make=make, workers=WORKERS)
    many, clock = processor_seconds() - before, time.perf_counter() - began
    assert content(place / "ingested") == rows, "the rows differ"
    row = {
        "label": label,
        "files": report.added,
        "chunks": report.chunks,
        "megabytes": report.bytes / 1e6,
        "left_out": len(report.errors),
        "work": sum(parts.values()),
        "loop": loop,
        "loop_clock": loop_clock,
        "ingest": many,
        "clock": clock,
        "cores": sum(tasks.values()) / clock,
    }
    print(row, file=sys.stderr, flush=True)
    return row


@contextmanager
def parts_timed() -> Iterator[dict[str, float]]:
    """Processor seconds of reading, splitting and embedding, while it is entered."""
    places = (
        (sys.modules[__name__], "read_file"),
        (ContentAwareSplitter, "split"),
        (ingestion_models.StandIn, "embed"),
        (SentenceTransformerEmbedder, "embed"),
    )
    seconds: dict[str, float] = {}
    plain = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, call in plain:
        setattr(owner, name, timed(call, name, seconds))
    try:
        yield seconds
    finally:
        for owner, name, call in plain:
            setattr(owner, name, call)


def timed(
    call: Callable[..., Any], name: str, seconds: dict[str, float]
) -> Callable[..., Any]:
    """The same function, which counts its processor seconds."""

    def counting(*arguments: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return call(*arguments, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - began

    return counting


@contextmanager
def asked_for() -> Iterator[dict[str, float]]:
    """Seconds that threads of this process and its children ran or waited for a core. Where others
    take the cores too, it tells how many an ingestion would keep busy."""
    seconds: dict[str, float] = {}  # by the thread's place in /proc
    stop = threading.Event()

    def look() -> None:
        processes = [os.getpid()]
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):
                processes += map(int, (task / "children").read_text().split())
        for process in processes:
            for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
                with suppress(OSError, ValueError):
                    ran, waited, _ = map(int, task.read_text().split())
                    seconds[str(task)] = (ran + waited) / 1e9

    def keep_looking() -> None:
        while not stop.wait(0.2):
            look()

    look()
    before = dict(seconds)
    thread = threading.Thread(target=keep_looking)
    thread.start()
    try:
        yield seconds
    finally:
        stop.set()
        thread.join()
        for task, amount in before.items():
            seconds[task] -= amount


def plain_loop(
    files: Path, place: Path, make: Callable[[], Index]
) -> list[tuple[str, str]]:
    index = make()
    batch = []
    for file in find_files(files):
        try:
            batch.append(read_file(file))
        except StructragError:
            continue
        if len(batch) == 500:
            index.add(batch)
            batch = []
    index.add(batch)
    index.save(place)
    return content(place)


def content(place: Path) -> list[tuple[str, str]]:
    """Every chunk's id and text, in row order."""
    return [(chunk.id, chunk.text) for chunk in Store.load(place).reader().chunks()]


def processor_seconds() -> float:
    """Of this process and of those of it that have ended."""
    of = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(usage.ru_utime + usage.ru_stime for usage in of)


def killed(place: Path, kills: int) -> str:
    """Begin the ingestion again and again with someone killed, and compare what comes out."""
    drawn = random.Random(0)
    code = (
        "from benchmarks import ingestion_models; from structrag import ingest; "
        f"ingest({str(place / 'files')!r}, {str(place / 'killed')!r}, "
        f"make=ingestion_models.stand_in, workers={WORKERS}, save_every=1)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    of_workers = of_drivers = 0
    while of_workers + of_drivers < kills:
        driver = subprocess.Popen([sys.executable, "-c", code], env=environment)
        time.sleep(drawn.uniform(1, 12))
        workers = (
            Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        )
        for worker in workers[: drawn.randint(0, len(workers))]:
            os.kill(int(worker), signal.SIGKILL)
            of_workers += 1
        time.sleep(drawn.uniform(0, 1))
        driver.kill()
        of_drivers += 1
        driver.wait()
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    same = content(place / "killed") == content(place / "many" / "ingested")
    shutil.rmtree(place / "killed")
    return (
        f"{of_drivers} drivers and {of_workers} workers were killed; then it ended with "
        f"{'exactly the rows' if same else '**other rows than those**'} of the undisturbed run."
    )


def starting(place: Path) -> float:
    """Processor seconds of an ingestion of one file, by one worker."""
    file = place / "one.txt"
    # To be cut, by NLTK's Punkt.
    file.write_text("It is one sentence. " * 200, encoding="utf-8")
    before = processor_seconds()
    ingest(file, place / "one", make=ingestion_models.stand_in, workers=1)
    return processor_seconds() - before


def feeding(place: Path) -> list[str]:
    """How long a stand-in of an accelerator is busy, alone and fed by workers."""
    lines = []
    alone = ingestion_models.Accelerator(ACCELERATOR)
    began = time.perf_counter()
    plain_loop(
        place / "files", place / "alone", lambda: ingestion_models.on_accelerator(alone)
    )
    clock = time.perf_counter() - began
    chunks = len(Store.load(place / "alone"))
    lines.append(
        f"| one process | {clock:.1f} | {chunks / clock:,.0f} | {alone.busy / clock:.0%} |"
    )
    for workers in (WORKERS, 2 * WORKERS):
        fed = ingestion_models.Accelerator(ACCELERATOR)
        target = place / f"fed {workers}"
        make = ingestion_models.on_accelerator
        began = time.perf_counter()
        ingest(
            place / "files", target, fed, make=make, shared_model=True, workers=workers
        )
        clock = time.perf_counter() - began
        lines.append(
            f"| {workers} workers, one model | {clock:.1f} | {chunks / clock:,.0f} "
            f"| {fed.busy / clock:.0%} |"
        )
    return lines


def neighbours(cheap: dict[str, Any], model: dict[str, Any], start: float) -> str:
    """What an ingestion costs beside its work, and what that would be for a model. Computed."""
    cost = (cheap["ingest"] - cheap["work"]) / cheap["chunks"]
    work = model["work"] / model["chunks"]
    return (
        f"With the {cheap['label']} `ingest` spends {1000 * cost:.2f} ms a chunk beside reading, "
        f"splitting and embedding, the start of its processes included, each of which takes "
        f"{start:.1f} s, mostly to import NumPy, NLTK and what that imports. {model['label']} "
        f"takes {1000 * work:.0f} ms a chunk for those three, so in as many files it would be "
        f"{cost / work:.1%}, and the loading of a model in each process besides; computed."
    )


def rendered(
    rows: list[dict[str, Any]], start: float, fed: list[str], outcome: str
) -> str:
    """The page."""
    lines = [
        "# Many files into one index",
        "",
        "Measured by `python benchmarks/ingestion.py`.",
        "",
        f"- machine: {machine_line()}",
        f"- {versions_line(['numpy', 'sentence-transformers', 'torch'])}",
        f"- {WORKERS} workers; one view; processor seconds of all processes together",
        f"- load average at the end {os.getloadavg()[2]:.1f}: above {WORKERS} others used the "
        "cores too, and seconds of the clock, as in the second table, say little",
        "",
        "| embedder | files | MB | chunks | read, split, embed, CPU s | loop, CPU s "
        "| ingest, CPU s | of the loop | of read, split, embed | loop, s | ingest, s "
        "| cores asked for |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        lines.append(
            f"| {row['label']} | {row['files']:,} | {row['megabytes']:.1f} | {row['chunks']:,} "
            f"| {row['work']:.1f} | {row['loop']:.1f} | {row['ingest']:.1f} "
            f"| {row['ingest'] / row['loop']:.2f} | {row['ingest'] / row['work']:.2f} "
            f"| {row['loop_clock']:.1f} | {row['clock']:.1f} | {row['cores']:.2f} |"
        )
    lines += [
        "",
        "Cores asked for: on which threads ran or waited to run.",
        neighbours(*rows, start),
        "",
        f"An embedder in this process that takes {ACCELERATOR:,} texts a second and no processor:",
        "",
        "| | seconds | chunks a second | embedder busy |",
        "| --- | ---: | ---: | ---: |",
        *fed,
    ]
    return "\n".join([*lines, "", outcome, ""])


if __name__ == "__main__":
    raise SystemExit(main())
