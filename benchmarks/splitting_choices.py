"""What stands behind the default settings of PIC and IDMS, one setting changed at a time, and
behind `min_tokens` of ContentAwareSplitter: prints the tables and writes them.

    python benchmarks/splitting_choices.py [--sets qasper,covid_qa,qmsum,cuad]
    python benchmarks/splitting_choices.py --sections

With `--sections` only the second table is measured, and the first stays.

Only sentences are embedded: a chunk is the mean of its sentences' vectors, weighted by their
length. So a variant costs seconds, and its recall is a stand-in for that of
`benchmarks/methods.py`, which embeds the chunks of the chosen settings.
"""

from __future__ import annotations

import argparse
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import quality
from benchmarks.boundaries import DOCUMENTS, scores
from benchmarks.freshness import stamped
from benchmarks.methods import BUDGETS, measured, sample
from benchmarks.methods_peers import Peer, Splitting, by_size
from benchmarks.methods_systems import Models, System, fixed, given, reading
from benchmarks.quality_tables import markdown_table
from benchmarks.question_sets import Dataset, load
from benchmarks.unheaded import Unheaded, unheaded, unheaded_documents
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.chunks.pic.splitter import PICSplitter
from structrag.evaluation import paired_bootstrap
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Embed, Flow
from structrag.model_calls.runner import Runner
from structrag.models.embedders import FunctionEmbedder
from structrag.records import Chunk, Document
from structrag.text.sentences import sentence_spans
from structrag.text.tokens import TokenCounter, count_tokens

RECURSIVE = "LangChain recursive"
SETS = ("qasper", "covid_qa", "qmsum", "cuad")
POINTS = [f"both {budget}" for budget in BUDGETS]

PIC_CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"min_tokens": 40, "hysteresis": 0.0},
    {"hysteresis": 0.0},
    {"hysteresis": 1.0},
    {"min_tokens": 150},
    {"scope": "document"},
    {"pseudo_instruction": "mean"},
    {"respect_sections": False, "scope": "document"},
    {"context": False},
)
IDMS_CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"history": 5},
    {"min_tokens": 100},
    {"min_tokens": 60, "max_tokens": 200},
    {"min_tokens": 100, "max_tokens": 400},
    {"context": "window:2"},
    {"context": "window:8"},
    {"respect_sections": False},
    {"heading_path": False},
    {"margin": "words"},
)

SECTIONS = "## Small sections in one chunk"
SECTION_SETS = ("qasper", "nq", "cuad", "boards")
LIMITS = (300, 1024)
OFF, WHOLE = "off", "document within the limit as one chunk"
NOTES = """
Sections of fewer than `min_tokens` share a chunk with neighbours under one parent. Recall is the
mean of the sets {sets}, with vectors as above; its difference that of all {questions} questions.
*Right path*: of {gold} gold spans, those whose first character is in a chunk with the path of the
smallest section that holds the span. Intervals hold the central 95 % of 1,000 paired bootstrap
samples of the questions or spans. *Left out*: for each set the way, other than "off", with the best
recall on the other sets, and what it changes here.
"""


@dataclass(frozen=True)
class SentenceMeans:
    """Gives chunks the mean of their sentences' vectors, and questions their own."""

    dataset: Dataset
    # Document id -> spans, vectors.
    sentences: Mapping[str, tuple[list[tuple[int, int]], Any]]
    questions: Mapping[str, Any]  # text -> vector

    def embedder(self, chunks: Sequence[Sequence[Chunk]]) -> FunctionEmbedder:
        """An embedder that knows the index texts of these chunks and the questions."""
        known = {
            chunk.index_text: self._mean(chunk)
            for several in chunks
            for chunk in several
        }
        known.update(self.questions)
        return FunctionEmbedder(
            lambda texts: np.stack([known[text] for text in texts]),
            name="sentence means",
        )

    def _mean(self, chunk: Chunk) -> Any:
        spans, vectors = self.sentences[chunk.doc_id]
        first = max(0, bisect_right(spans, (chunk.start, sys.maxsize)) - 1)
        total = np.full(vectors.shape[1], 1e-9, dtype=np.float32)
        for (start, end), vector in zip(spans[first:], vectors[first:], strict=True):
            if start >= chunk.end:
                break
            total += max(0, min(end, chunk.end) - max(start, chunk.start)) * vector
        return total / np.linalg.norm(total)


def sentence_means(dataset: Dataset, runner: Runner) -> SentenceMeans:
    """Every sentence and question of a set embedded once."""
    sentences = {}
    for document in dataset.documents:
        spans = [
            (start, end)
            for start, end in sentence_spans(document.text)
            if document.text[start:end].strip()
        ]
        texts = tuple(document.text[start:end].strip() for start, end in spans)
        sentences[document.id] = (spans, runner.run(_vectors(texts)))
    asked = tuple(dict.fromkeys(question.question for question in dataset.questions))
    return SentenceMeans(
        dataset,
        sentences,
        dict(zip(asked, runner.run(_vectors(asked, query=True)), strict=True)),
    )


def variants(models: Models) -> dict[str, Splitting]:
    """What is compared, by name: splitters by size and by structure, then PIC and IDMS with one
    thing changed."""
    sized, _ = by_size({})
    found = {
        name: peer.split
        for name, peer in (fixed() | sized).items()
        if name.startswith(("fixed", RECURSIVE))
    }
    found |= {
        f"content-aware {size}": reading(ContentAwareSplitter(max_tokens=size), models)
        for size in (200, 300)
    }
    makers: tuple[tuple[str, Callable[..., Any], tuple[dict[str, Any], ...]], ...] = (
        ("PIC", PICSplitter, PIC_CHANGES),
        ("IDMS", IDMSSplitter, IDMS_CHANGES),
    )
    for name, make, changes in makers:
        for change in changes:
            label = (
                ", ".join(f"{key}={value!r}" for key, value in change.items())
                or "default"
            )
            found[f"{name}: {label}"] = reading(make(**change), models)
    return found


def row(
    split: Splitting,
    means: Sequence[SentenceMeans],
    unheaded_sets: Sequence[Sequence[Unheaded]],
    counter: TokenCounter,
) -> list[str]:
    """A variant's mean recall at each budget, their mean, its recall at 1,000 tokens set by set, Pk
    and WindowDiff on each document set."""
    by_set = []
    for mean in means:
        chunks = split(mean.dataset.documents)
        system = System("", "", partial(given, Peer(lambda _, chunks=chunks: chunks)))  # type: ignore[misc]
        found = measured(
            system, mean.dataset, Models(mean.embedder(chunks), None), counter
        )["recall"]
        by_set.append([100 * float(np.mean(found[point])) for point in POINTS])
    average = np.mean(by_set, axis=0)
    cells = [
        f"{value:.1f}"
        for value in (*average, average.mean(), *(one[1] for one in by_set))
    ]
    for documents in unheaded_sets:
        found_boundaries = scores(documents, {"": split})[""]
        cells += [f"{found_boundaries[0]:.3f}", f"{found_boundaries[1]:.3f}"]
    return cells


def joining(limit: int) -> dict[str, Callable[[Document], list[Chunk]]]:
    """Ways to put small sections together under a limit, by name."""
    plain = ContentAwareSplitter(max_tokens=limit, flat_max_tokens=limit)
    splitters = {
        f"min_tokens={least}": replace(plain, min_tokens=least)
        for least in sorted({100, 200, limit // 2, limit})
    }
    whole = splitters[f"min_tokens={limit}"]

    def by_size(document: Document) -> list[Chunk]:
        fits = count_tokens(document.text) <= limit
        return (whole if fits else plain).split(document)

    ways = {name: splitter.split for name, splitter in splitters.items()}
    return {OFF: plain.split, **ways, WHOLE: by_size}


def right_paths(dataset: Dataset, chunks: Sequence[Sequence[Chunk]]) -> list[float]:
    """1 for each gold span whose chunk has the path of the smallest section around it, else 0."""
    outline_of = ContentAwareSplitter().outline
    by_id = {
        document.id: (outline_of(document).sections, several)
        for document, several in zip(dataset.documents, chunks, strict=True)
    }
    right = []
    for doc_id, start, end in sorted(
        {gold for q in dataset.questions for gold in q.gold}
    ):
        sections, several = by_id[doc_id]
        around = [one for one in sections if one.start <= start and end <= one.end]
        smallest = min(around, key=lambda one: (one.end - one.start, -one.level))
        chunk = next(one for one in several if start < one.end)
        right.append(float(chunk.path == smallest.path))
    return right


def sections_page(runner: Runner, counter: TokenCounter) -> str:
    """The table of `min_tokens` at both limits."""
    means = [
        sentence_means(sample(name, False).dataset, runner) for name in SECTION_SETS
    ]
    parts = []
    for limit in LIMITS:
        found: dict[str, list[tuple[int, Any, list[float]]]] = {}
        for name, split in joining(limit).items():
            for mean in means:
                chunks = [split(document) for document in mean.dataset.documents]
                peer = Peer(lambda _, chunks=chunks: chunks)  # type: ignore[misc]
                models = Models(mean.embedder(chunks), None)
                system = System("", "", partial(given, peer))
                recall = measured(system, mean.dataset, models, counter)["recall"]
                values = np.array([recall[point] for point in POINTS])
                one = (
                    sum(map(len, chunks)),
                    100 * values,
                    right_paths(mean.dataset, chunks),
                )
                found.setdefault(name, []).append(one)
            print(limit, name, file=sys.stderr, flush=True)
        parts += [f"Chunks of at most {limit:,} tokens:", *_tables(found)]
    about = NOTES.format(
        sets=", ".join(SECTION_SETS),
        questions=sum(len(mean.dataset.questions) for mean in means),
        gold=sum(len(right) for _, _, right in found[OFF]),
    )
    return "\n".join([SECTIONS, about, "\n\n".join(parts), ""])


def _tables(found: Mapping[str, Sequence[tuple[int, Any, list[float]]]]) -> list[str]:
    """All ways side by side, then what a choice on the other sets gives on each."""
    rows = []
    for name, sets in found.items():
        average = np.mean([values.mean(axis=1) for _, values, _ in sets], axis=0)
        cells = [f"{sum(count for count, _, _ in sets):,}"]
        cells += [f"{value:.1f}" for value in (*average, average.mean())]
        cells += _gaps(found[OFF], sets)
        rows.append([name, *cells])
    head = ["way", "chunks", *(f"at {budget:,}" for budget in BUDGETS), "mean"]
    tail = ["recall minus off", "right path, %", "right path minus off"]
    left_out = []
    for place, set_name in enumerate(SECTION_SETS):
        best = max(
            (name for name in found if name != OFF),
            key=lambda name: sum(
                values.mean()
                for i, (_, values, _) in enumerate(found[name])
                if i != place
            ),
        )
        gaps = _gaps([found[OFF][place]], [found[best][place]])
        left_out.append([set_name, best, gaps[0], gaps[2]])
    return [
        markdown_table([*head, *tail], rows, labels=1),
        markdown_table(["left out", "chosen", tail[0], tail[2]], left_out, labels=2),
    ]


def _gaps(
    off: Sequence[tuple[int, Any, list[float]]],
    sets: Sequence[tuple[int, Any, list[float]]],
) -> list[str]:
    """Recall and right paths beside those without joining, with intervals."""
    recall = [
        [value for _, values, _ in some for value in values.mean(axis=0)]
        for some in (sets, off)
    ]
    right = [[100 * one for _, _, ones in some for one in ones] for some in (sets, off)]
    gaps = []
    for first, second in (recall, right):
        gap = paired_bootstrap(first, second)
        gaps.append(f"{gap.mean:+.1f} [{gap.low:+.1f}, {gap.high:+.1f}]")
    return [gaps[0], f"{np.mean(right[0]):.1f}", gaps[1]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every variant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS), help="some of them")
    parser.add_argument(
        "--sections", action="store_true", help="measure only the second table"
    )
    parser.add_argument(
        "--output", type=Path, default=quality.RESULTS, help="folder for the result"
    )
    options = parser.parse_args(arguments)
    names = options.sets.split(",")
    if set(names) - set(SETS):
        parser.error(f"--sets must be some of {', '.join(SETS)}; got {options.sets!r}.")
    embedder, label = quality.chosen_embedder("minilm")
    models = Models(embedder, Cache(quality.CACHE))
    counter, _ = quality.reader_counter()
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "splitting_choices.md"
    if options.sections:
        first = file.read_text(encoding="utf-8").partition(SECTIONS)[0]
    else:
        first = stamped(settings_page(names, models, label, counter), __file__)
    page = f"{first.rstrip()}\n\n"
    page += stamped(sections_page(models.runner(), counter), __file__)
    print(page)
    file.write_text(page, encoding="utf-8")


def settings_page(
    names: Sequence[str], models: Models, label: str, counter: TokenCounter
) -> str:
    """The table of the settings of PIC and IDMS."""
    means = [
        sentence_means(sample(name, False).dataset, models.runner()) for name in names
    ]
    papers = [
        made for made in map(unheaded, load("qasper").documents) if made is not None
    ]
    unheaded_sets = (unheaded_documents(DOCUMENTS), papers)
    rows = []
    for name, split in variants(models).items():
        rows.append([name, *row(split, means, unheaded_sets, counter)])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = [
        "splitter",
        *(f"at {budget:,}" for budget in BUDGETS),
        "mean",
        *(f"{name} at 1,000" for name in names),
    ]
    head += ["Pk, parsing", "WD, parsing", "Pk, papers", "WD, papers"]
    page = (
        f"# What the defaults of PIC and IDMS rest on\n\n- sentences by {label}; chunks by the "
        "mean of their sentences, with BM25\n\n"
    )
    return page + markdown_table(head, rows, labels=1) + "\n"


def _vectors(texts: tuple[str, ...], *, query: bool = False) -> Flow[Any]:
    (vectors,) = yield [Embed(texts, query)]
    return np.asarray(vectors)


if __name__ == "__main__":
    main()
