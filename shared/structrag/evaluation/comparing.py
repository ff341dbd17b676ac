"""Splitters compared on the same documents: chunks, costs, self-test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np

from structrag.chunks.model_splitter import runner_for
from structrag.errors import check_at_least
from structrag.evaluation.aggregate import MeanEstimate, estimates
from structrag.evaluation.measure import Span, spans_of
from structrag.evaluation.needs import model_calls, split_counted
from structrag.evaluation.passages import Passages
from structrag.evaluation.references import PROSE, block_sentences
from structrag.evaluation.searched import Chunks, check_documents
from structrag.evaluation.selftest import (
    FEWEST,
    SelfTest,
    make_selftest,
    selftest_scores,
)
from structrag.evaluation.spans import chunking_error
from structrag.model_calls.progress import counted
from structrag.model_calls.requests import Progress
from structrag.models.embedders import as_embedder
from structrag.reading.outline import Outline
from structrag.reading.sections import parse
from structrag.records import Block, Chunk, Document

UNITS = ("sentence", "table", "code")


@dataclass(frozen=True, slots=True)
class MethodReport:
    """One method's chunks of all documents and what they cost.

    Example:
        >>> MethodReport("mc", 1, (9, 9, 9, 9), {"table": 0}, 0.01, 0, 1, 0).cut["table"]
        0
    """

    name: str
    chunks: int
    # Estimated tokens of a chunk's text: least, median, 95th percentile, most.
    tokens: tuple[int, int, int, int]
    # "sentence", "table" and "code" -> how many lie in no single chunk as a whole.
    cut: Mapping[str, int]
    seconds: float  # to split, with what it takes to find the sections
    embedded_to_split: int  # texts that were embedded to find where to cut
    embedded_to_index: int  # texts to embed to index the chunks once
    model_calls: int  # of a language model, if one were given


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """The recall of the self-test, by method.

    `structrag.evaluation.selftest` says what this tells.

    Example:
        >>> SelfTestReport(1000, 12, {}, {}, {}).budget
        1000
    """

    budget: int  # tokens
    headings: int  # in the documents
    left_out: Mapping[str, int]  # why a heading was not asked -> how many
    # Method -> kind of question ("heading", "reference") -> mean recall, in [0, 1].
    recall: Mapping[str, Mapping[str, MeanEstimate]]
    # The same, as the difference to the first method.
    difference: Mapping[str, Mapping[str, MeanEstimate]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`.

    Example:
        >>> from structrag.chunks.content_aware import ContentAwareSplitter
        >>> document = Document("# Nova\\n\\nA phone.\\n", id="nova.md", format="markdown")
        >>> compare([document], {"mc": ContentAwareSplitter()}).methods[0].chunks
        1
    """

    documents: int
    characters: int
    # "sentence", "table" and "code" -> how many the documents have.
    units: Mapping[str, int]
    embedder: str
    methods: tuple[MethodReport, ...]
    selftest: SelfTestReport | None
    no_selftest: str  # why there is none; "" where there is one


def compare(
    documents: Sequence[Document],
    splitters: Mapping[str, Any],
    *,
    embedder: Any = None,
    budget: int = 1000,
    progress: Progress | None = None,
) -> Comparison:
    """Split documents by several splitters and measure each.

    All are measured on the same units and the same questions.

    Args:
        documents: At least one that holds text, each with its own id.
        splitters: Name -> splitter, anything with `split(document)`, or `Passages()`, which makes
            no chunks and is only in the self-test. Differences are to the first.
        embedder: What `as_embedder` takes, for splitters that embed and for the self-test. None:
            LSA.
        budget: Tokens that the self-test hands over for a question.
        progress: Called as (what, done, total).

    Raises:
        InvalidParameter: there is no text or no splitter, two documents have the same id, or
            `budget` is below 20.
    """
    check_at_least("budget", budget, 20)
    documents = list(documents)
    check_documents(documents, splitters)
    model = None if embedder is None else as_embedder(embedder)
    units = _units([parse(document) for document in documents])
    texts = {document.id: document.text for document in documents}
    reports: list[MethodReport] = []
    chunks: dict[str, Chunks | Passages] = {}
    for name, splitter in splitters.items():
        if isinstance(splitter, Passages):
            chunks[name] = splitter
            continue
        report, chunks[name] = _measured(
            name, splitter, documents, units, texts, model, progress
        )
        reports.append(report)
    test = make_selftest(documents, budget=budget)
    return Comparison(
        documents=len(documents),
        characters=sum(map(len, texts.values())),
        units={kind: len(spans) for kind, spans in units.items()},
        embedder=as_embedder(model).name,
        methods=tuple(reports),
        selftest=_tested(test, documents, chunks, model, progress)
        if test.questions
        else None,
        no_selftest="" if test.questions else _why_none(test),
    )


def _measured(
    name: str,
    splitter: Any,
    documents: Sequence[Document],
    units: Mapping[str, Sequence[Span]],
    texts: Mapping[str, str],
    embedder: Any,
    progress: Progress | None,
) -> tuple[MethodReport, Chunks]:
    """The chunks of one splitter, and what they are like."""
    runner = runner_for(embedder, progress=progress)
    chunks: dict[str, Sequence[Chunk]] = {}
    embedded = 0
    seconds = 0.0
    for document in counted(progress, name, documents):
        # Every method pays for reading the document's structure.
        unparsed = copy(document)
        began = perf_counter()
        chunks[document.id], n_embedded = split_counted(splitter, unparsed, runner)
        seconds += perf_counter() - began
        embedded += n_embedded
    all_chunks = list(chain.from_iterable(chunks.values()))
    sizes = [chunk.n_tokens for chunk in all_chunks]
    middle, high = np.quantile(sizes, [0.5, 0.95]).tolist()
    report = MethodReport(
        name=name,
        chunks=len(all_chunks),
        tokens=(min(sizes), round(middle), round(high), max(sizes)),
        cut={kind: _cut(spans, all_chunks, texts) for kind, spans in units.items()},
        seconds=seconds,
        embedded_to_split=embedded,
        embedded_to_index=len(all_chunks),
        model_calls=sum(model_calls(splitter, document) for document in documents),
    )
    return report, chunks


def _units(outlines: Sequence[Outline]) -> dict[str, list[Span]]:
    """Return the spans that should stay whole: sentences of prose, tables, blocks of code."""
    units: dict[str, list[Span]] = {kind: [] for kind in UNITS}
    for outline in outlines:
        for section in outline.sections:
            for block in outline.blocks(section):
                if block.kind in ("table", "code"):
                    units[block.kind].append(
                        (outline.document.id, block.text_start, block.end)
                    )
                elif block.kind in PROSE:
                    units["sentence"] += _sentences(outline.document, block)
    return units


def _sentences(document: Document, block: Block) -> list[Span]:
    spans = []
    for start, end in block_sentences(document.text, block):
        if document.text[start:end].strip():
            spans.append((document.id, start, end))
    return spans


def _cut(
    spans: Sequence[Span], chunks: Sequence[Chunk], texts: Mapping[str, str]
) -> int:
    return round((chunking_error(spans, spans_of(chunks), texts) or 0.0) * len(spans))


def _tested(
    test: SelfTest,
    documents: Sequence[Document],
    chunks: Mapping[str, Chunks | Passages],
    embedder: Any,
    progress: Progress | None,
) -> SelfTestReport:
    """The self-test of every method's chunks."""
    base: dict[str, list[float]] = {}  # the first method's scores
    recall: dict[str, dict[str, MeanEstimate]] = {}
    difference: dict[str, dict[str, MeanEstimate]] = {}
    for name, of_method in chunks.items():
        scores = selftest_scores(
            test, documents, of_method, embedder=embedder, progress=progress
        )
        base = base or scores
        recall[name], difference[name] = estimates(scores, base)
    return SelfTestReport(test.budget, test.headings, test.left_out, recall, difference)


def _why_none(test: SelfTest) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in test.left_out.items())
    shown = f" ({reasons})" if reasons else ""
    return (
        f"No self-test: it needs at least {FEWEST} usable headings, or as many references to "
        f"sections. These documents have {test.headings} headings{shown}."
    )
